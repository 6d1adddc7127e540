/// What a candidate costs: modelled cycles on the device's chip, and on chips near it.
#pragma once

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "object/code_object.h"

#include <functional>
#include <vector>

namespace asmevo::optimize {

/// Usable from several threads.
class Pricer {
 public:
  /// `launches` are what is timed; both outlive it.
  Pricer(device::Device& device, const dispatch::Dispatch& launches, unsigned perturbations);

  /// Sum over all cases.
  Result<double> cycles(const object::CodeObject& object) const;
  /// The same with one workgroup of each case standing for all of its grid: many times quicker, and what programs are
  /// compared by as long as workgroups are alike (timing::Estimate::behaviours).
  struct ByOne {
    double cycles = 0;
    std::vector<double> clockMhz; ///< that each case settles at
  };
  /// `clocks`: of a program much like it, which spares finding them out; empty: none.
  Result<ByOne> byOne(const object::CodeObject& object, const std::vector<double>& clocks = {}) const;
  /// Likewise on each perturbed chip.
  Result<std::vector<double>> perturbedByOne(const object::CodeObject& object) const;
  /// `cycles` on each perturbed chip, in the order of their seeds 1, 2, ...; empty on a device that does not model
  /// time.
  Result<std::vector<double>> perturbed(const object::CodeObject& object) const;
  /// Of the case that takes longest, by one workgroup.
  Result<timing::Estimate> profileByOne(const object::CodeObject& object) const;
  /// The case that takes longest: it decides where to look.
  Result<timing::Estimate> heaviest(const object::CodeObject& object) const;

 private:
  /// Hands `use` a trace of each case: of one workgroup in the middle of the grid, where edges do not show. Traces hold
  /// instructions of the loaded kernel and do not outlive the call.
  Status withOneWorkgroup(const object::CodeObject& object,
                          const std::function<Status(device::TracedCase&)>& use) const;

  device::Device& device;
  const dispatch::Dispatch& launches;
  std::vector<timing::Chip> chips;
};

} // namespace asmevo::optimize
