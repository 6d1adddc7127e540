/// What the launches at hand show of a kernel that nothing in its program says. An edit that rests on it says so in
/// Proposal::assumptions.
#pragma once

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "object/code_object.h"
#include "verify/verify.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace asmevo::optimize {

/// LDS that launches reached.
struct LdsUse {
  emulator::LdsExtent extent;
  std::size_t verified = 0; ///< cases that it was measured on, all their workgroups
  std::size_t variants = 0; ///< and variants of them (verify/data_variants.h)
  std::size_t timed = 0;    ///< timed cases: a sample of workgroups
};

/// Measured when it is first asked for, as that takes runs of the kernel.
class LaunchEvidence {
 public:
  /// K0's runs on the cases that candidates are verified on, and on their variants: those that verification has anyway.
  using Baseline = std::function<Result<std::shared_ptr<const verify::Baseline>>()>;

  /// `timed`: further cases, whose sizes may be others. Everything outlives it.
  LaunchEvidence(Baseline baseline, const dispatch::Dispatch& timed, device::Device& device)
      : baseline(std::move(baseline)), timed(timed), device(device) {}

  /// How much LDS launches of K0 and of `object`, which it was made into, reach. Nothing where a launch cannot be
  /// measured, or adds dynamic LDS.
  std::optional<LdsUse> ldsUse(const object::CodeObject& object, const std::string& kernel) const;

 private:
  bool addVerified(const std::string& kernel, LdsUse& use) const;
  bool addTimed(const object::CodeObject& object, const std::string& kernel, LdsUse& use) const;

  Baseline baseline;
  const dispatch::Dispatch& timed;
  device::Device& device;
};

} // namespace asmevo::optimize
