/// Strict runs of kernels written inside a test.
#pragma once

#include "emulator/machine_support.h"

#include <string>
#include <vector>

namespace asmevo::emulator::test {

struct StrictOutcome : Outcome {
  /// Rules of the findings in their order, without repetitions.
  std::vector<std::string> rules() const;
  /// The finding of a rule; throws when there is none.
  const StrictFinding& finding(const std::string& rule) const;
};

/// Options of a strict run without the race detector.
StrictOptions waitsOnly(Delivery delivery = Delivery::late);
StrictOutcome runStrict(const KernelText& text, const Launch& launch, const StrictOptions& strict = waitsOnly());

/// A kernel with buffers "out" in s[4:5] and "in" in s[6:7], lane * 4 in v2, and `body`, which leaves its result in v1.
KernelText strictKernel(const std::string& body, unsigned ldsBytes = 0);

} // namespace asmevo::emulator::test
