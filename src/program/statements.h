/// The statements of a printed program: what each instruction is called with labels for the places it refers to.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/labels.h"
#include "program/program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace asmevo::program {

class Statements {
 public:
  /// Keeps references to all three.
  Statements(const object::CodeObject& object, const Program& program, isa::Codec& codec);

  const Labels& labels() const { return places; }
  std::string blockLabel(BlockId id) const;
  /// Blocks without an old address that need a label because something branches to them.
  bool isReferenced(BlockId id) const { return referenced[id]; }

  /// The instruction as text: branch targets and pc-relative constants as labels. Undecodable bytes as words. Error
  /// where a branch has no target.
  Result<std::string> text(const Block& block, const Instr& instr);
  /// The same, but as words where the assembler would make other bytes of the text.
  Result<std::string> exact(const Block& block, const Instr& instr);

  /// Labels that stand behind an instruction: ".Lpc1" for the program counter that s_getpc_b64 reads, ".Lliteral_1774"
  /// for the end of a literal that the linker fills in.
  std::string labelBehind(const Block& block, const Instr& instr);

 private:
  const object::CodeObject& object;
  const Program& program;
  isa::Codec& codec;
  Labels places;
  std::unordered_map<isa::InstRef, bool> reproducible;
  std::map<std::uint32_t, std::size_t> anchors; ///< getpc id to section
  std::vector<bool> referenced;

  const object::Section* printedSection(std::uint64_t address) const;
  bool assemblesToItself(isa::InstRef inst);
  std::optional<std::string> referenceText(const Block& block, const Instr& instr) const;
};

/// ".long 0x..., 0x..." or ".byte 0x..." for the instruction's bytes.
std::string asWords(const isa::Instruction& inst);

} // namespace asmevo::program
