/// Where a dispatch's workgroups go and which of them stand for all.
#pragma once

#include "timing/memory_system.h"
#include "timing/timing.h"

#include <cstdint>
#include <vector>

namespace asmevo::timing {

/// Placement of a grid on a chip. Workgroup i goes to XCD i mod xcds, there to the CUs in turn
/// (AMD CDNA3 white paper; facts: hardware_traces.md "Dispatch").
struct Placement {
  std::uint64_t workgroups = 1;
  std::uint64_t cus = 1;     ///< of the chip
  std::uint64_t perCu = 1;   ///< workgroups of the most loaded CU
  unsigned residents = 1;    ///< at a time on a CU
  unsigned wavesPerSimd = 1; ///< slots per SIMD that registers and LDS leave
  std::string limiter;
  ChipLoad load;
};
Placement placementOf(const Chip& chip, const object::Target& target, const Launch& launch);

} // namespace asmevo::timing
