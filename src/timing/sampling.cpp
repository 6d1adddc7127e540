#include "timing/sampling.h"

#include "object/kernel_descriptor.h"
#include "timing/behaviour.h"

#include <algorithm>

namespace asmevo::timing {
namespace {

/// Enough waves for the mix of behaviours, few enough that tracing them costs little.
constexpr std::uint64_t wavesToTrace = 64, mostOfOneCu = 10, mostSpread = 8;
/// Of a wider sample: workgroups along each dimension of the grid, scattered ones, and their wave-instructions
/// together.
constexpr std::uint64_t alongDimension = 7, scattered = 16, widerInstructions = 4'000'000;

std::uint64_t divideUp(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// The i-th of `count` evenly spread over 0 to `last`.
std::uint64_t spread(std::uint64_t i, std::uint64_t count, std::uint64_t last) {
  return count > 1 ? i * last / (count - 1) : 0;
}

std::array<std::uint64_t, 3> gridOf(const Launch& launch) {
  const auto& g = launch.grid;
  if (g[0] && g[1] && g[2] && g[0] * g[1] * g[2] == launch.workgroups)
    return g;
  return {std::max<std::uint64_t>(1, launch.workgroups), 1, 1};
}

void sortUnique(std::vector<std::uint64_t>& list) {
  std::ranges::sort(list);
  const auto rest = std::ranges::unique(list);
  list.erase(rest.begin(), rest.end());
}

} // namespace

ChipLoad loadOf(std::uint64_t workgroups, std::uint64_t xcds, std::uint64_t cusPerXcd) {
  ChipLoad load;
  const std::uint64_t active = std::min(workgroups, xcds * cusPerXcd), perXcd = divideUp(active, xcds);
  load.activeXcds = static_cast<double>(std::min(active, xcds));
  load.activeCusPerXcd = static_cast<double>(perXcd);
  load.workShare = 1 / static_cast<double>(active);
  load.workShareOfXcd = 1 / static_cast<double>(perXcd);
  return load;
}

Placement placementOf(const Chip& chip, const object::Target& target, const Launch& launch) {
  const unsigned waves = std::max(1U, launch.wavesPerWorkgroup);
  const object::Occupancy occupancy =
      object::occupancyOf(target, launch.vgprs, launch.sgprs, launch.ldsBytes, waves * 64);
  Placement result;
  result.workgroups = std::max<std::uint64_t>(1, launch.workgroups);
  result.grid = gridOf(launch);
  result.xcds = chip.xcds;
  result.cusPerXcd = chip.cusPerXcd;
  result.cus = result.xcds * result.cusPerXcd;
  result.perCu = divideUp(result.workgroups, result.cus);
  // A workgroup that no CU can hold is the dispatcher's error, not the model's: it is timed as if it ran alone.
  const unsigned fit = std::max(1U, occupancy.workgroupsPerCu);
  result.residents = static_cast<unsigned>(std::min<std::uint64_t>(fit, result.perCu));
  result.wavesPerSimd = std::max({1U, std::min(occupancy.wavesPerSimd, chip.maxWavesPerSimd),
                                  static_cast<unsigned>(divideUp(waves, chip.simdsPerCu))});
  result.limiter = occupancy.limiter;
  if (result.perCu < fit)
    result.limiter = "grid";
  result.load = loadOf(result.workgroups, result.xcds, result.cusPerXcd);
  result.load.concurrentWorkgroups = std::min(result.workgroups, result.cus * result.residents);
  return result;
}

std::vector<std::uint64_t> sampleWorkgroups(const Chip& chip, const object::Target& target, const Launch& launch,
                                            unsigned most) {
  const Placement placement = placementOf(chip, target, launch);
  const std::uint64_t waves = std::max(1U, launch.wavesPerWorkgroup);
  const std::uint64_t last = placement.workgroups - 1;
  const auto& grid = placement.grid;
  std::vector<std::uint64_t> sample;
  if (placement.perCu == 1) {
    // One per CU: the slowest one decides, so look at several places of the grid.
    const std::uint64_t wanted = std::clamp<std::uint64_t>(wavesToTrace / waves, 2, mostSpread);
    const std::uint64_t count = std::min({placement.workgroups, wanted, std::uint64_t{std::max(most, 1U)}});
    for (std::uint64_t i = 0; i < count; ++i)
      sample.push_back(spread(i, count, last));
  } else {
    const std::uint64_t wanted = std::clamp<std::uint64_t>(wavesToTrace / waves, 3, mostOfOneCu);
    const std::uint64_t count = std::min({placement.perCu, wanted, std::uint64_t{std::max(most / 2, 1U)}});
    for (std::uint64_t i = 0; i < count; ++i)
      sample.push_back(spread(i, count, (placement.workgroups - 1) / placement.cus) * placement.cus);
    // Neighbours on other CUs of the XCD and on other XCDs tell which data is shared.
    for (const std::uint64_t probe :
         {std::uint64_t{1}, placement.xcds / 2, placement.xcds, placement.xcds * (placement.cusPerXcd / 2)})
      sample.push_back(probe);
  }
  // Ragged tiles are at the ends of the dimensions.
  if (sample.size() < most) {
    sample.push_back(last);
    sample.push_back(grid[0] - 1);
  }
  sortUnique(sample);
  std::erase_if(sample, [&](std::uint64_t i) { return i > last; });
  return sample;
}

std::vector<std::uint64_t> widerSample(const Launch& launch, const std::vector<emulator::WorkgroupTrace>& traces) {
  if (traces.empty() || !differ(traces))
    return {};
  std::uint64_t instructions = 0;
  for (const emulator::WorkgroupTrace& trace : traces)
    for (const emulator::WaveTrace& wave : trace.waves)
      instructions += wave.path.size();
  const std::uint64_t each = std::max<std::uint64_t>(1, instructions / traces.size());
  const std::uint64_t room = std::min<std::uint64_t>(maxTraces - std::min(maxTraces, traces.size()),
                                                     std::max<std::uint64_t>(2, widerInstructions / each));
  const std::array<std::uint64_t, 3> grid = gridOf(launch);
  const std::uint64_t workgroups = grid[0] * grid[1] * grid[2];
  std::vector<std::uint64_t> wanted; // most telling first
  const auto want = [&](std::uint64_t index) {
    const bool traced = std::ranges::any_of(traces, [&](const auto& t) { return t.index == index; });
    if (!traced && std::ranges::find(wanted, index) == wanted.end())
      wanted.push_back(index);
  };
  const std::array<std::uint64_t, 3> step = {1, grid[0], grid[0] * grid[1]};
  const std::uint64_t middle = grid[0] / 2 * step[0] + grid[1] / 2 * step[1] + grid[2] / 2 * step[2];
  want(middle);
  // Ends and the places next to them, then what lies between, in every dimension through the middle.
  for (const bool ends : {true, false})
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint64_t extent = grid[d], base = middle - extent / 2 * step[d];
      if (extent < 2)
        continue;
      if (ends)
        for (const std::uint64_t at :
             {std::uint64_t{0}, extent - 1, std::min<std::uint64_t>(1, extent - 1), extent - 2})
          want(base + at * step[d]);
      else
        for (std::uint64_t i = 1; i + 1 < alongDimension; ++i)
          want(base + spread(i, alongDimension, extent - 1) * step[d]);
    }
  // Scattered by the golden ratio: no period of the grid is met twice.
  constexpr double golden = 0.6180339887498949;
  double at = 0.5;
  for (std::uint64_t i = 0; i < scattered; ++i) {
    at += golden;
    at -= at >= 1 ? 1 : 0;
    want(std::min(workgroups - 1, static_cast<std::uint64_t>(at * static_cast<double>(workgroups))));
  }
  if (wanted.size() > room)
    wanted.resize(room);
  sortUnique(wanted);
  return wanted;
}

} // namespace asmevo::timing
