/// Runs of small kernels under one of the checks.
#pragma once

#include "emulator/machine_support.h"
#include "emulator/observe/finding_observer.h"

#include <memory>

namespace asmevo::emulator::test {

inline std::vector<StrictFinding> findings(FindingObserver& check, const KernelText& text, const Launch& launch,
                                           RunOptions options = {}) {
  options.observers = {&check};
  run(text, launch, options);
  return check.findings();
}

/// Findings as "rule: message".
inline std::string listing(const std::vector<StrictFinding>& findings) {
  std::string text;
  for (const StrictFinding& finding : findings)
    text += finding.rule + ": " + finding.message + "\n";
  return text;
}

} // namespace asmevo::emulator::test
