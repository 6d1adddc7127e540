/// Follows the pair of registers that s_getpc_b64 writes: which adds turn it into which address, and who jumps there.
#pragma once

#include "isa/codec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::program {

/// The 32-bit constant operand of a scalar two-operand instruction (SOP2 is encoded alike on every GCN and RDNA
/// target).
struct Sop2Constant {
  std::uint32_t value = 0;
  bool isLiteral = false; ///< in the last four bytes; else an inline constant
  bool isSource1 = false; ///< which source it is
  unsigned other = 0;     ///< encoding of the other source
};
std::optional<Sop2Constant> sop2Constant(const isa::Instruction& inst);
/// The same instruction with that constant as a literal of the given value; its encoded bytes (8).
std::vector<std::uint8_t> withSop2Literal(const isa::Instruction& inst, const Sop2Constant& old, std::uint32_t value);

bool isGetpc(const isa::Instruction& inst);

/// One resolved address: positions are indices into the straight-line code handed to followPc.
struct PcUse {
  std::size_t low = 0, high = 0; ///< the add and the add-with-carry
  std::uint64_t target = 0;      ///< virtual address
  bool negated = false;
  std::optional<std::size_t> jump; ///< the s_setpc or s_swappc that takes it, if it is in sight
};

/// What becomes of one s_getpc_b64.
struct PcTrace {
  std::vector<PcUse> uses;
  /// The raw program counter is read otherwise, or may be after the code in sight: its value cannot be kept up to date.
  bool escapes = false;
  /// The registers still hold the raw value at the end of the code in sight (first register), so that whoever comes
  /// next must not read it.
  std::optional<unsigned> liveAtEnd;
};

/// `code[0]` is the s_getpc_b64; `anchor` is the address after it. `code` ends where the basic block does; all
/// instructions must be complete.
PcTrace followPc(const std::vector<isa::InstRef>& code, std::uint64_t anchor);

} // namespace asmevo::program
