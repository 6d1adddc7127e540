#include "optimize/search/pricing.h"

#include "timing/perturb.h"

namespace asmevo::optimize {

Pricer::Pricer(device::Device& dev, const dispatch::Dispatch& cases, unsigned perturbations)
    : device(dev), launches(cases) {
  if (const timing::Chip* chip = device.chip())
    for (std::uint64_t seed = 1; seed <= perturbations; ++seed)
      chips.push_back(timing::perturbed(*chip, seed));
}

Result<double> Pricer::cycles(const object::CodeObject& object) const {
  double sum = 0;
  for (const auto& launch : launches.cases) {
    ASMEVO_TRY(auto loaded, device.load(object, launch.kernel));
    ASMEVO_TRY(const auto estimate, loaded->time(launch));
    sum += estimate.cycles;
  }
  return sum;
}

Result<std::vector<double>> Pricer::perturbed(const object::CodeObject& object) const {
  std::vector<double> sums(chips.size());
  if (chips.empty())
    return sums;
  for (const auto& launch : launches.cases) {
    ASMEVO_TRY(auto loaded, device.load(object, launch.kernel));
    // Which workgroups stand for all does not depend on what is perturbed: one trace does for all chips.
    ASMEVO_TRY(const auto traced, loaded->sample(launch, chips.front()));
    for (std::size_t i = 0; i < chips.size(); ++i) {
      ASMEVO_TRY(const auto estimate, traced.estimate(chips[i]));
      sums[i] += estimate.cycles;
    }
  }
  return sums;
}

Status Pricer::withOneWorkgroup(const object::CodeObject& object,
                                const std::function<Status(const device::TracedCase&)>& use) const {
  for (const auto& launch : launches.cases) {
    ASMEVO_TRY(const auto loaded, device.load(object, launch.kernel));
    ASMEVO_TRY(const auto traced, loaded->trace(launch, {loaded->shapeOf(launch).workgroups / 2}));
    ASMEVO_CHECK(use(traced));
  }
  return {};
}

Result<double> Pricer::cyclesByOne(const object::CodeObject& object) const {
  if (!device.chip())
    return cycles(object);
  double sum = 0;
  ASMEVO_CHECK(withOneWorkgroup(object, [&](const device::TracedCase& traced) -> Status {
    ASMEVO_TRY(const auto estimate, traced.estimate(*device.chip()));
    sum += estimate.cycles;
    return {};
  }));
  return sum;
}

Result<std::vector<double>> Pricer::perturbedByOne(const object::CodeObject& object) const {
  std::vector<double> sums(chips.size());
  if (chips.empty())
    return sums;
  ASMEVO_CHECK(withOneWorkgroup(object, [&](const device::TracedCase& traced) -> Status {
    for (std::size_t i = 0; i < chips.size(); ++i) {
      ASMEVO_TRY(const auto estimate, traced.estimate(chips[i]));
      sums[i] += estimate.cycles;
    }
    return {};
  }));
  return sums;
}

Result<timing::Estimate> Pricer::heaviest(const object::CodeObject& object) const {
  timing::Estimate most;
  for (const auto& launch : launches.cases) {
    ASMEVO_TRY(auto loaded, device.load(object, launch.kernel));
    ASMEVO_TRY(auto estimate, loaded->time(launch));
    if (estimate.cycles >= most.cycles)
      most = std::move(estimate);
  }
  return most;
}

} // namespace asmevo::optimize
