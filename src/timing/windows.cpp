#include "timing/windows.h"

#include <algorithm>

namespace asmevo::timing {
namespace {

/// A SIMD's turn comes every four clocks (facts: cdna3.md section 1.2).
constexpr double slotClk = 4;

} // namespace

double instructionCycles(const InstructionProfile& instruction) {
  return slotClk * static_cast<double>(instruction.issued) + instruction.stallCycles;
}

double totalCycles(const Estimate& estimate) {
  double total = 0;
  for (const InstructionProfile& instruction : estimate.instructions)
    total += instructionCycles(instruction);
  return total;
}

std::vector<RegionCost> rankRegions(const Estimate& estimate, std::span<const Region> regions) {
  const double total = totalCycles(estimate);
  std::vector<RegionCost> costs;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    RegionCost cost;
    cost.region = i;
    for (const auto& [begin, end] : regions[i])
      for (auto at = std::ranges::lower_bound(estimate.instructions, begin, {}, &InstructionProfile::offset);
           at != estimate.instructions.end() && at->offset < end; ++at) {
        cost.issued += at->issued;
        cost.cycles += instructionCycles(*at);
        for (std::size_t s = 0; s < stallCount; ++s)
          cost.byReason[s] += at->byReason[s];
      }
    if (cost.issued == 0 || total <= 0)
      continue;
    cost.share = cost.cycles / total;
    const auto worst = std::ranges::max_element(cost.byReason);
    if (*worst > 0)
      cost.topStall = static_cast<Stall>(worst - cost.byReason.begin());
    costs.push_back(cost);
  }
  std::ranges::sort(costs, [](const RegionCost& a, const RegionCost& b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : a.region < b.region;
  });
  return costs;
}

std::vector<RegionCost> rankBlocks(const Estimate& estimate, std::span<const std::uint32_t> boundaries,
                                   std::uint32_t end) {
  std::vector<Region> regions;
  regions.reserve(boundaries.size());
  for (std::size_t i = 0; i < boundaries.size(); ++i)
    regions.push_back({{boundaries[i], i + 1 < boundaries.size() ? boundaries[i + 1] : end}});
  return rankRegions(estimate, regions);
}

} // namespace asmevo::timing
