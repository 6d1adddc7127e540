/// Which block of K1 is which block of K0, and which of them were edited. Branch offsets and pc-relative literals that
/// only follow from where code lies do not count as edits.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/program.h"
#include "support/result.h"

#include <memory>
#include <optional>
#include <vector>

namespace asmevo::verify {

/// Both programs recovered with one codec, so that equal encodings are the same instruction object.
struct ProgramPair {
  std::unique_ptr<isa::Codec> codec;
  program::Program k0, k1;
};
/// Refused where the targets differ.
Result<ProgramPair> recoverPair(const object::CodeObject& k0, const object::CodeObject& k1);

struct Alignment {
  std::vector<std::optional<program::BlockId>> toK1; ///< by K0 block; nothing: gone
  std::vector<std::optional<program::BlockId>> toK0; ///< by K1 block; nothing: new. Ascending where present
  std::vector<bool> edited;                          ///< by K0 block: its counterpart differs or is missing
};

Alignment alignBlocks(const object::CodeObject& k0, const program::Program& p0, const object::CodeObject& k1,
                      const program::Program& p1);

/// Equal for instructions that are the same but for what follows from layout: a branch without its offset, a
/// pc-relative half without its constant.
std::uint64_t instructionKey(const program::Instr& instr);

/// True for the same instruction at corresponding places: equal bytes, or a branch or pc-relative half that refers to
/// corresponding places.
bool sameInstruction(const object::CodeObject& k0, const program::Program& p0, const object::CodeObject& k1,
                     const program::Program& p1, const Alignment& alignment, const program::Instr& a,
                     const program::Instr& b);

/// Virtual address of K0 code or data as K1 has it: code by corresponding blocks, data by section and offset.
std::optional<std::uint64_t> correspondingAddress(const object::CodeObject& k0, const program::Program& p0,
                                                  const object::CodeObject& k1, const program::Program& p1,
                                                  const Alignment& alignment, std::uint64_t address);

/// True for a block that nothing reaches and that holds only s_nop: alignment padding.
bool isPadding(const program::Block& block);

} // namespace asmevo::verify
