/// What the timing model says of rows, and how far it is off.
#pragma once

#include "dataset.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace asmevo::calibrate {

/// A launch's time, launch floor excluded.
struct LaunchTime {
  double weight = 1, microseconds = 0;
  double idleMemory = 0;    ///< part of it in which the way to memory has nothing to do: the dispatcher is the limit
  double migratedBytes = 0; ///< see HostCosts
};

/// A sequence's time as a sum: the launches' part needs the model, the rest is arithmetic.
struct SequenceTime {
  std::vector<LaunchTime> launches;
  double launchCount = 1, copies = 0, copiedBytes = 0, synchronizations = 0;
  double total(double floor, const HostCosts& host) const;
};
Result<SequenceTime> timeOf(const Sequence& sequence, const timing::Chip& chip);

/// Copies `chip` with one parameter changed. The chip has the parameter.
timing::Chip withParameter(timing::Chip chip, const std::string& key, double value);

/// The split, fixed before any fit: programs sorted by name, the first calibrated on, the second unseen, and so on.
std::vector<std::string> calibratedPrograms(std::span<const Row> rows);

struct ErrorSummary {
  std::size_t points = 0;
  double mean = 0, median = 0, most = 0, bias = 0; ///< of |relative error|; bias: mean signed error
};
ErrorSummary summarize(std::span<const Outcome> outcomes);

struct ProgramErrors {
  std::string program;
  bool calibrated = false;
  ErrorSummary errors;
};
/// By program, in order of name.
std::vector<ProgramErrors> byProgram(std::span<const Outcome> outcomes);

} // namespace asmevo::calibrate
