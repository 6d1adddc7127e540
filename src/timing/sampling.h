/// Where a dispatch's workgroups go and which of them stand for all.
#pragma once

#include "timing/memory_system.h"
#include "timing/timing.h"

#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::timing {

/// Placement of a grid on a chip. Workgroup i goes to XCD i mod xcds, there to the CUs in turn
/// (AMD CDNA3 white paper; facts: hardware_traces.md "Dispatch").
struct Placement {
  std::uint64_t workgroups = 1;
  std::array<std::uint64_t, 3> grid{1, 1, 1}; ///< workgroups per dimension
  std::uint64_t xcds = 1, cusPerXcd = 1;
  std::uint64_t cus = 1;     ///< of the chip
  std::uint64_t perCu = 1;   ///< workgroups of the most loaded CU
  unsigned residents = 1;    ///< at a time on a CU
  unsigned wavesPerSimd = 1; ///< slots per SIMD that registers and LDS leave
  std::string limiter;
  ChipLoad load; ///< while every CU that gets work at all is busy

  /// Workgroups that every CU gets; those beyond, `tail()`, leave the other CUs idle.
  std::uint64_t fullRounds() const { return workgroups / cus; }
  std::uint64_t tail() const { return workgroups % cus; }
};
Placement placementOf(const Chip& chip, const object::Target& target, const Launch& launch);

/// The load when `workgroups` run at the same time, at most one per CU.
ChipLoad loadOf(std::uint64_t workgroups, std::uint64_t xcds, std::uint64_t cusPerXcd);

} // namespace asmevo::timing
