#include "verify/strict_runs.h"

#include <algorithm>

namespace asmevo::verify {

namespace {

using emulator::Delivery;

constexpr Delivery everyDelivery[] = {Delivery::late, Delivery::ldsEarly, Delivery::waveToBarrier};

std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace

std::string StrictCase::extent() const {
  if (workgroups.empty())
    return fmt::format("all {} workgroups", workgroupsInAll);
  return fmt::format("{} of {} workgroups", workgroups.size(), workgroupsInAll);
}

std::uint64_t workgroupsOf(const dispatch::Case& launch) {
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < 3; ++d)
    count *= (std::uint64_t{launch.gridSize[d]} + launch.workgroupSize[d] - 1) / launch.workgroupSize[d];
  return count;
}

std::vector<std::uint64_t> strictSample(std::uint64_t workgroups, std::uint64_t instructions, std::uint64_t budget,
                                        std::uint64_t seed) {
  if (instructions <= budget || workgroups <= 2)
    return {};
  const std::uint64_t each = std::max<std::uint64_t>(1, instructions / workgroups);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(budget / each, 2, workgroups);
  if (wanted == workgroups)
    return {};
  std::set<std::uint64_t> chosen{0, workgroups - 1};
  while (chosen.size() < wanted)
    chosen.insert(mix(seed) % workgroups);
  return {chosen.begin(), chosen.end()};
}

StrictCase runStrictly(device::LoadedKernel& kernel, const dispatch::Case& launch, const emulator::RunOptions& run,
                       std::vector<std::uint64_t> sample) {
  StrictCase result;
  result.workgroupsInAll = workgroupsOf(launch);
  result.workgroups = std::move(sample);
  emulator::RunOptions options = run;
  options.onlyWorkgroups = result.workgroups;
  for (const Delivery delivery : everyDelivery) {
    StrictRun& entry = result.runs.emplace_back();
    entry.delivery = delivery;
    options.strict = emulator::StrictOptions{.delivery = delivery, .llvmDistances = true};
    auto outcome = kernel.launch(launch, options);
    if (!outcome) {
      entry.failure = outcome.error();
      continue;
    }
    entry.buffers = std::move(outcome->buffers);
    entry.findings = std::move(outcome->findings);
    entry.notes = std::move(outcome->strictNotes);
    entry.guardViolations = std::move(outcome->guardViolations);
  }
  return result;
}

} // namespace asmevo::verify
