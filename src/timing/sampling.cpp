#include "timing/sampling.h"

#include "object/kernel_descriptor.h"

#include <algorithm>

namespace asmevo::timing {
namespace {

/// Enough waves for the mix of behaviours, few enough that tracing them costs little.
constexpr std::uint64_t wavesToTrace = 64, mostOfOneCu = 10, mostSpread = 8;

std::uint64_t divideUp(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

} // namespace

Placement placementOf(const Chip& chip, const object::Target& target, const Launch& launch) {
  const unsigned waves = std::max(1U, launch.wavesPerWorkgroup);
  const object::Occupancy occupancy =
      object::occupancyOf(target, launch.vgprs, launch.sgprs, launch.ldsBytes, waves * 64);
  Placement result;
  result.workgroups = std::max<std::uint64_t>(1, launch.workgroups);
  result.cus = std::uint64_t{chip.xcds} * chip.cusPerXcd;
  result.perCu = divideUp(result.workgroups, result.cus);
  // A workgroup that no CU can hold is the dispatcher's error, not the model's: it is timed as if it ran alone.
  const unsigned fit = std::max(1U, occupancy.workgroupsPerCu);
  result.residents = static_cast<unsigned>(std::min<std::uint64_t>(fit, result.perCu));
  result.wavesPerSimd = std::max({1U, std::min(occupancy.wavesPerSimd, chip.maxWavesPerSimd),
                                  static_cast<unsigned>(divideUp(waves, chip.simdsPerCu))});
  result.limiter = occupancy.limiter;
  if (result.perCu < fit)
    result.limiter = "grid";
  const std::uint64_t perXcd = divideUp(result.workgroups, chip.xcds);
  result.load.activeXcds = static_cast<double>(std::min<std::uint64_t>(result.workgroups, chip.xcds));
  result.load.activeCusPerXcd = static_cast<double>(std::min<std::uint64_t>(perXcd, chip.cusPerXcd));
  result.load.workShare = static_cast<double>(result.perCu) / static_cast<double>(result.workgroups);
  result.load.workShareOfXcd = static_cast<double>(result.perCu) / static_cast<double>(perXcd);
  return result;
}

std::vector<std::uint64_t> sampleWorkgroups(const Chip& chip, const object::Target& target, const Launch& launch) {
  const Placement placement = placementOf(chip, target, launch);
  const std::uint64_t waves = std::max(1U, launch.wavesPerWorkgroup);
  std::vector<std::uint64_t> sample;
  const auto spread = [](std::uint64_t i, std::uint64_t count, std::uint64_t last) {
    return count > 1 ? i * last / (count - 1) : 0;
  };
  if (placement.perCu == 1) {
    // One per CU: the slowest one decides, so look at several places of the grid.
    const std::uint64_t count =
        std::min(placement.workgroups, std::clamp<std::uint64_t>(wavesToTrace / waves, 2, mostSpread));
    for (std::uint64_t i = 0; i < count; ++i)
      sample.push_back(spread(i, count, placement.workgroups - 1));
  } else {
    const std::uint64_t count =
        std::min(placement.perCu, std::clamp<std::uint64_t>(wavesToTrace / waves, 3, mostOfOneCu));
    for (std::uint64_t i = 0; i < count; ++i)
      sample.push_back(spread(i, count, placement.perCu - 1) * placement.cus);
    // Neighbours on other CUs of the XCD and on other XCDs tell which data is shared.
    for (const std::uint64_t probe : {std::uint64_t{1}, std::uint64_t{chip.xcds} / 2, std::uint64_t{chip.xcds},
                                      std::uint64_t{chip.xcds} * (chip.cusPerXcd / 2)})
      sample.push_back(probe);
  }
  std::sort(sample.begin(), sample.end());
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  std::erase_if(sample, [&](std::uint64_t i) { return i >= placement.workgroups; });
  return sample;
}

} // namespace asmevo::timing
