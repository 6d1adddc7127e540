/// May two memory instructions of one wave be exchanged?
#pragma once

#include "program/program.h"

#include <cstdint>

namespace asmevo::program {

/// Address spaces as bits. Kernel arguments and constants read by SMEM are global memory.
namespace space {
inline constexpr std::uint8_t global = 1, lds = 2, scratch = 4, gds = 8;
}

struct MemoryEffect {
  std::uint8_t reads = 0, writes = 0; ///< spaces
  /// Atomics, cache control and accesses with scope bits (sc0, sc1; glc): other waves may be watching their order.
  bool ordered = false;
  bool any() const { return reads || writes || ordered; }
};
MemoryEffect memoryEffect(const isa::Instruction& inst);

/// False only if the order of the two cannot be observed by this wave or, through scope bits, by others: different
/// address spaces, two plain reads, or scalar addresses from the same registers with disjoint ranges (`sameBases` says
/// that no address register of either is written between them). Addresses in VGPRs are never told apart by their
/// offsets: lane i's base plus one offset may be lane j's base plus the other.
bool mayDepend(const isa::Instruction& first, const isa::Instruction& second, bool sameBases);

} // namespace asmevo::program
