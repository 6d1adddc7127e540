/// Where the modelled time goes, by code regions: what the optimizer ranks and the profile shows.
#pragma once

#include "timing/timing.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace asmevo::timing {

/// Cost of a stretch of code, all waves of the dispatch.
struct RegionCost {
  std::size_t region = 0;   ///< index into the regions given
  std::uint64_t issued = 0; ///< wave-instructions
  double cycles = 0;        ///< issue slots plus stalls
  double share = 0;         ///< of the whole kernel
  std::array<double, stallCount> byReason{};
  Stall topStall = Stall::none; ///< none when nothing stalls
};

/// Half-open ranges of byte offsets from the code base that form one region, such as the blocks of a loop.
using Region = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Issue slots of four clocks plus stalls of one instruction.
double instructionCycles(const InstructionProfile& instruction);
/// Issue slots plus stalls of all of them.
double totalCycles(const Estimate& estimate);

/// Regions that executed, hottest first; ties by order given. Regions may overlap (a loop and its blocks).
std::vector<RegionCost> rankRegions(const Estimate& estimate, std::span<const Region> regions);

/// Likewise for the stretches between sorted `boundaries` (starts of basic blocks); the last one ends at `end`.
std::vector<RegionCost> rankBlocks(const Estimate& estimate, std::span<const std::uint32_t> boundaries,
                                   std::uint32_t end);

} // namespace asmevo::timing
