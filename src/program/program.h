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

/// A pc-relative reference whose value lives in an instruction's constant: value = target - anchor - bias, where the
/// anchor is the address after the s_getpc_b64 (s_add_pc_i64 is its own anchor). Two halves of 32 bits, or `wide`.
struct PcReference {
  std::uint64_t target = 0;  ///< old virtual address referred to
  std::uint32_t getpcId = 0; ///< which s_getpc_b64 anchors it (Instr::getpcId of that instruction)
  bool high : 1 = false;     ///< the s_addc half
  bool negated : 1 = false;  ///< the s_sub/s_subb spelling: value = anchor - target
  bool wide : 1 = false;     ///< all 64 bits: s_add_nc_u64, s_add_pc_i64
  /// The other half is a fixed zero, so the distance must keep its sign (s_add_i32 of a label into a register that is
  /// added to the program counter, or subtracted after s_abs_i32).
  bool keepsSign : 1 = false;
  std::int16_t bias = 0; ///< what the code adds to the constant before it uses it
};

/// An instruction at a place in the program.
struct Instr {
  isa::InstRef inst = nullptr;
  std::uint64_t address = noAddress; ///< old virtual address; noAddress for inserted instructions
  /// Branch target block; on s_setpc the block it is known to reach, on s_swappc and s_call the callee's entry.
  std::optional<BlockId> target;
  std::optional<PcReference> pcRef;
  std::uint32_t getpcId = 0; ///< nonzero and unique on s_getpc_b64 and s_add_pc_i64
  /// On an s_setpc or s_swappc that takes its target from a table: its number in Program::codeTables, from 1.
  std::uint32_t codeTable = 0;
};

/// A table of code addresses, in a data section or between code: a jump table or a table of functions.
struct CodeTable {
  std::uint64_t address = 0; ///< old virtual address of the first entry
  unsigned entryBytes = 8;   ///< 8, or 4 where relative
  /// Entries are distances from `base`, or from the anchor of an s_getpc_b64 if `getpcId` is not 0, which rebuild
  /// writes anew. Otherwise they are addresses that dynamic relocations keep right.
  bool isRelative = false;
  bool isSigned = true; ///< relative entries of 4 bytes are sign-extended
  std::uint64_t base = 0;
  std::uint32_t getpcId = 0;
  std::vector<BlockId> targets; ///< entry by entry
};

/// A basic block. Fall-through goes to the next block in layout order.
struct Block {
  std::uint64_t address = noAddress; ///< old start address
  std::uint32_t size = 0;            ///< old size in bytes; 0 for inserted blocks
  std::size_t section = 0;           ///< section it belongs to (index into CodeObject::sections())
  bool opaque = false;               ///< data or undecodable words: kept byte for byte, `instrs` carry its bytes
  std::vector<Instr> instrs;
  std::vector<BlockId> successors, predecessors; ///< by branch, jump table and fall-through; calls fall through
  bool entersByRegister = false; ///< possible target of s_setpc/s_swappc, a relocation or a kernel entry
  bool reachable = false;        ///< from some entry
  std::uint32_t alignment = 0;   ///< of a function entry, which rebuild keeps by padding with s_nop; else 0
};

/// A kernel or device function: the blocks reachable from its entry without following calls.
struct Function {
  std::string name;
  std::uint64_t entry = 0; ///< old virtual address
  BlockId entryBlock = 0;
  /// Second entry of a kernel with preloaded arguments: hardware that preloads starts 256 bytes after the entry (LLVM
  /// AMDGPUUsage, "Preloaded Kernel Arguments"), so the code between stays exactly that long.
  std::optional<BlockId> preloadEntry;
  std::optional<std::size_t> kernel; ///< index into CodeObject::kernels()
  std::vector<BlockId> blocks;       ///< reachable, in layout order
};

/// Resource changes to go with an edit, by kernel index.
struct ResourceEdit {
  std::optional<unsigned> vgprs, accumOffset; ///< total registers and first AGPR
  std::optional<std::uint32_t> ldsBytes;
  /// Takes the place of K0's descriptor (its entry offset is worked out), before the numbers above.
  std::optional<object::KernelDescriptor> descriptor = std::nullopt;
};

/// How control leaves an instruction.
enum class Flow {
  next,        ///< falls through
  conditional, ///< branches or falls through
  always,      ///< branches
  jump,        ///< to an address in registers, never falls through
  call,        ///< comes back to the next instruction
  end,         ///< ends the wave
};
/// Instructions of class jump must be complete (Codec::complete); recovered and assembled ones are.
Flow flowOf(isa::InstRef inst);
/// True where control never reaches the next instruction.
inline bool neverFallsThrough(Flow flow) {
  return flow == Flow::always || flow == Flow::jump || flow == Flow::end;
}

/// How much of each instruction recovery fills in.
enum class Detail {
  full,        ///< operands, effects and text of all (Codec::complete)
  controlFlow, ///< of branches and jumps only: enough to lay out and emit, and several times faster
};

class Program {
 public:
  /// Recovers all code sections. Never fails on odd code (it becomes opaque blocks); fails only on inputs the container
  /// cannot describe (code section outside the file).
  static Result<Program> recover(const object::CodeObject& object, isa::Codec& codec, Detail detail = Detail::full);

  std::vector<Block> blocks; ///< in layout order; ids are positions
  std::vector<Function> functions;
  std::vector<CodeTable> codeTables;
  std::map<std::size_t, ResourceEdit> resources;
  /// New contents of sections without code, by section index, as long as the old ones. Descriptors and relocated
  /// addresses in them stay with rebuild.
  std::map<std::size_t, Bytes> data;
  /// Trailing bytes of each code section after the last whole instruction are opaque blocks as well.

  /// Why code must stay where it is (a branch into the middle of an instruction, an undecodable dword that is reached
  /// and may be a scalar instruction, a program counter used in a way that is not followed, ...); empty if it may move.
  /// It holds for all code of the file: what such code refers to, and who refers to it, can be anywhere. Undecodable
  /// vector and memory instructions do not pin: they are opaque blocks that control falls through, and move as they
  /// are. Edits that move nothing are possible all the same.
  std::string pinned;

  const Function* functionOf(std::size_t kernelIndex) const;
  /// Recomputes successors, predecessors, reachability and functions' block lists after structural edits.
  void relink();
  std::size_t instructionCount() const;

  /// Puts a new empty block of the given section in front of the block at `position` (blocks.size(): at the end) and
  /// renumbers all references. Links are stale until relink().
  void insertBlock(BlockId position, std::size_t section);
  /// Cuts a block in front of instruction `index` (0 < index < size); the tail becomes block `block` + 1.
  void splitBlock(BlockId block, std::size_t index);
  /// An id for a new or copied s_getpc_b64.
  std::uint32_t freshGetpcId() const;
  /// The block that starts at that old address.
  std::optional<BlockId> blockAt(std::uint64_t address) const;
};

/// Lays out, re-resolves branches (long branches repaired) and pc-relative references, re-derives descriptors and
/// symbols, and writes a new file. An unedited program gives the very bytes it came from.
/// Long branches go over islands (an s_branch placed within reach), which need no registers. Refused where code would
/// move that is `pinned`, or a kernarg-preload prologue grows past its 256 bytes.
Result<Bytes> rebuild(const object::CodeObject& object, const Program& program, isa::Codec& codec);

/// In-place patch: every edited block keeps its old size (shorter contents are filled with s_nop 0) and nothing else in
/// the file moves. Fails (refused) where a block grew. Inserted blocks share the room of the block before them.
Result<Bytes> patchInPlace(const object::CodeObject& object, const Program& program, isa::Codec& codec);

/// Stand-alone assembly that stock clang-22 (-x assembler -target amdgcn-amd-amdhsa -mcpu=...) turns into an object
/// with equal .text, descriptor values and metadata.
Result<std::string> printAssembly(const object::CodeObject& object, const Program& program, isa::Codec& codec);

} // namespace asmevo::program
