#include "optimize/launch_evidence.h"

#include "verify/baseline.h"

namespace asmevo::optimize {

namespace {

/// Wave-instructions of the sample of one timed case.
constexpr std::uint64_t sampleInstructions = 200'000'000;

} // namespace

std::optional<LdsUse> LaunchEvidence::ldsUse(const object::CodeObject& object, const std::string& kernel) const {
  LdsUse use;
  if (!addVerified(kernel, use) || !addTimed(object, kernel, use) || use.verified + use.timed == 0)
    return std::nullopt;
  return use;
}

bool LaunchEvidence::addVerified(const std::string& kernel, LdsUse& use) const {
  const auto measured = baseline();
  if (!measured)
    return false;
  const verify::Baseline& k0 = **measured;
  for (std::size_t c = 0; c < k0.cases.size(); ++c) {
    const verify::BaselineCase& one = k0.cases[c];
    if (one.kernel != kernel || !one.skipped.empty())
      continue;
    if (one.failure || k0.varied.dispatch.cases[c].dynamicLdsBytes != 0)
      return false;
    use.extent.merge(one.lds);
    ++(k0.isVariant(c) ? use.variants : use.verified);
  }
  return true;
}

bool LaunchEvidence::addTimed(const object::CodeObject& object, const std::string& kernel, LdsUse& use) const {
  if (!device.chip())
    return false;
  for (const dispatch::Case& launch : timed.cases) {
    const auto named = object.findKernel(launch.kernel);
    if (!named || (*named)->name != kernel)
      continue;
    auto loaded = device.load(object, kernel);
    if (!loaded || launch.dynamicLdsBytes != 0)
      return false;
    emulator::RunOptions run;
    run.onlyWorkgroups = timing::sampleWorkgroups(*device.chip(), object.target(), (*loaded)->shapeOf(launch));
    run.fastMfma = true;
    run.onlyTraces = true;
    run.maxInstructions = sampleInstructions;
    auto outcome = (*loaded)->launch(launch, run);
    if (!outcome) {
      // Long workgroups, or such that wait for others: one has to do.
      run.onlyWorkgroups.resize(1);
      outcome = (*loaded)->launch(launch, run);
    }
    if (!outcome)
      return false;
    use.extent.merge(outcome->lds);
    ++use.timed;
  }
  return true;
}

} // namespace asmevo::optimize
