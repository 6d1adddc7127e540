/// What a candidate costs: modelled cycles on the device's chip, and on chips near it.
#pragma once

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "object/code_object.h"

#include <vector>

namespace asmevo::optimize {

/// Usable from several threads.
class Pricer {
 public:
  /// `launches` are what is timed; both outlive it.
  Pricer(device::Device& device, const dispatch::Dispatch& launches, unsigned perturbations);

  /// Sum over all cases.
  Result<double> cycles(const object::CodeObject& object) const;
  /// Likewise on each perturbed chip, in the order of their seeds 1, 2, ...; empty on a device that does not model
  /// time.
  Result<std::vector<double>> perturbed(const object::CodeObject& object) const;
  /// The case that takes longest: it decides where to look.
  Result<timing::Estimate> heaviest(const object::CodeObject& object) const;

 private:
  device::Device& device;
  const dispatch::Dispatch& launches;
  std::vector<timing::Chip> chips;
};

} // namespace asmevo::optimize
