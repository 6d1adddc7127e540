#include "verify/strict_runs.h"

#include "dispatch/random.h"
#include "emulator/coherence/coherence_checker.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace asmevo::verify {

namespace {

using emulator::Delivery;

constexpr Delivery allDeliveries[] = {Delivery::late, Delivery::ldsEarly, Delivery::waveToBarrier};

} // namespace

std::span<const Delivery> everyDelivery() {
  return allDeliveries;
}

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
  dispatch::SplitMix64 random(seed);
  while (chosen.size() < wanted)
    chosen.insert(random.next() % workgroups);
  return {chosen.begin(), chosen.end()};
}

StrictCase runStrictly(device::LoadedKernel& kernel, const dispatch::Case& launch, const emulator::RunOptions& run,
                       std::vector<std::uint64_t> sample, std::span<const Delivery> deliveries) {
  StrictCase result;
  result.workgroupsInAll = workgroupsOf(launch);
  result.workgroups = std::move(sample);
  emulator::RunOptions options = run;
  options.onlyWorkgroups = result.workgroups;
  for (const Delivery delivery : deliveries) {
    StrictRun& entry = result.runs.emplace_back();
    entry.delivery = delivery;
    options.strict = emulator::StrictOptions{.delivery = delivery, .llvmDistances = true};
    const auto coverage = result.exec.empty() ? emulator::makeExecCoverage() : nullptr;
    const auto coherence = delivery == Delivery::late ? emulator::makeCoherenceChecker() : nullptr;
    options.observers.clear();
    if (coverage)
      options.observers.push_back(coverage.get());
    if (coherence)
      options.observers.push_back(coherence.get());
    auto outcome = kernel.launch(launch, options);
    if (!outcome) {
      entry.failure = outcome.error();
      continue;
    }
    if (coverage) {
      result.exec = coverage->patterns();
      result.edges = coverage->edges();
    }
    entry.buffers = std::move(outcome->buffers);
    entry.findings = std::move(outcome->findings);
    entry.notes = std::move(outcome->strictNotes);
    if (coherence) {
      std::ranges::move(coherence->findings(), std::back_inserter(entry.findings));
      std::ranges::move(coherence->notes(), std::back_inserter(entry.notes));
    }
    entry.guardViolations = std::move(outcome->guardViolations);
  }
  return result;
}

} // namespace asmevo::verify
