/// A recovered program: all code of a code object as basic blocks that can be edited, laid out again and written back.
/// A value type: an edit is made on a copy.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "object/rewrite.h"
#include "support/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::program {

using BlockId = std::uint32_t;
inline constexpr std::uint64_t noAddress = ~std::uint64_t{0};

/// A pc-relative reference whose value lives in an instruction's literal: value = target - (anchor address after
/// s_getpc). `high` marks the s_addc half.
struct PcReference {
  std::uint64_t target = 0;     ///< old virtual address referred to
  std::uint32_t getpcId = 0;    ///< which s_getpc_b64 anchors it (Instr::getpcId of that instruction)
  bool high = false;
};

/// An instruction at a place in the program.
struct Instr {
  isa::InstRef inst = nullptr;
  std::uint64_t address = noAddress; ///< old virtual address; noAddress for inserted instructions
  std::optional<BlockId> target;     ///< branch target block
  std::optional<PcReference> pcRef;
  std::uint32_t getpcId = 0;         ///< nonzero on s_getpc_b64
};

/// A basic block. Fall-through goes to the next block in layout order.
struct Block {
  std::uint64_t address = noAddress; ///< old start address
  std::size_t section = 0;           ///< section it belongs to (index into CodeObject::sections())
  bool opaque = false;               ///< data or undecodable words: kept byte for byte
  std::vector<Instr> instrs;
  std::vector<BlockId> successors, predecessors; ///< by branch and fall-through; calls fall through
  bool entersByRegister = false;     ///< possible target of s_setpc/s_swappc, a relocation or a kernel entry
};

/// A kernel or device function: the blocks reachable from its entry without following calls.
struct Function {
  std::string name;
  std::uint64_t entry = 0;
  BlockId entryBlock = 0;
  std::optional<std::size_t> kernel; ///< index into CodeObject::kernels()
  std::vector<BlockId> blocks;       ///< reachable, in layout order
};

/// Resource changes to go with an edit, by kernel index.
struct ResourceEdit {
  std::optional<unsigned> vgprs, accumOffset; ///< total registers and first AGPR
  std::optional<std::uint32_t> ldsBytes;
};

class Program {
public:
  /// Recovers all code sections. Never fails on odd code (it becomes opaque blocks); fails only on inputs the container
  /// cannot describe (code section outside the file).
  static Result<Program> recover(const object::CodeObject& object, isa::Codec& codec);

  std::vector<Block> blocks; ///< in layout order; ids are positions
  std::vector<Function> functions;
  std::map<std::size_t, ResourceEdit> resources;
  /// Trailing bytes of each code section after the last whole instruction are opaque blocks as well.

  const Function* functionOf(std::size_t kernelIndex) const;
  /// Recomputes successors, predecessors and functions' block lists after structural edits.
  void relink();
  std::size_t instructionCount() const;
};

/// Lays out, re-resolves branches (long branches repaired) and pc-relative references, re-derives descriptors and
/// symbols, and writes a new file. An unedited program gives the very bytes it came from.
Result<Bytes> rebuild(const object::CodeObject& object, const Program& program, isa::Codec& codec);

/// In-place patch: every edited block keeps its old size (shorter contents are filled with s_nop 0) and nothing else in
/// the file moves. Fails (refused) where a block grew.
Result<Bytes> patchInPlace(const object::CodeObject& object, const Program& program, isa::Codec& codec);

/// Stand-alone assembly that stock clang-22 (-x assembler -target amdgcn-amd-amdhsa -mcpu=...) turns into an object with
/// equal .text, descriptor values and metadata.
Result<std::string> printAssembly(const object::CodeObject& object, const Program& program, isa::Codec& codec);

} // namespace asmevo::program
