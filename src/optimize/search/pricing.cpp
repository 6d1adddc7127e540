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
                                const std::function<Status(device::TracedCase&)>& use) const {
  for (const auto& launch : launches.cases) {
    ASMEVO_TRY(const auto loaded, device.load(object, launch.kernel));
    ASMEVO_TRY(auto traced, loaded->trace(launch, {loaded->shapeOf(launch).workgroups / 2}));
    ASMEVO_CHECK(use(traced));
  }
  return {};
}

Result<Pricer::ByOne> Pricer::byOne(const object::CodeObject& object, const std::vector<double>& clocks) const {
  ByOne result;
  if (!device.chip()) {
    ASMEVO_TRY(result.cycles, cycles(object));
    return result;
  }
  ASMEVO_CHECK(withOneWorkgroup(object, [&](device::TracedCase& traced) -> Status {
    const std::size_t number = result.clockMhz.size();
    traced.shape.clockMhz = number < clocks.size() ? clocks[number] : 0;
    ASMEVO_TRY(const auto estimate, traced.estimate(*device.chip()));
    result.cycles += estimate.cycles;
    result.clockMhz.push_back(estimate.clockMhz);
    return {};
  }));
  return result;
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

Result<timing::Estimate> Pricer::profileByOne(const object::CodeObject& object) const {
  if (!device.chip())
    return heaviest(object);
  timing::Estimate most;
  ASMEVO_CHECK(withOneWorkgroup(object, [&](const device::TracedCase& traced) -> Status {
    ASMEVO_TRY(auto estimate, traced.estimate(*device.chip()));
    if (estimate.cycles >= most.cycles)
      most = std::move(estimate);
    return {};
  }));
  return most;
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
