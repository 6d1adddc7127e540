#include "model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace asmevo::calibrate {

double SequenceTime::total(double floor, const HostCosts& host) const {
  double time = floor + (launchCount - 1) * host.chainedMicroseconds + copies * host.copyMicroseconds +
                synchronizations * host.synchronizeMicroseconds;
  if (copiedBytes > 0)
    time += copiedBytes / host.copyRate(copiedBytes / std::max(1.0, copies));
  for (const LaunchTime& launch : launches) {
    const double migration = launch.migratedBytes / 1024 * host.migrationNanosecondsPerKb / 1000;
    time += launch.weight * (launch.microseconds + std::max(0.0, migration - launch.idleMemory));
  }
  return time;
}

Result<SequenceTime> timeOf(const Sequence& sequence, const timing::Chip& chip) {
  SequenceTime time;
  time.launchCount = sequence.launchCount;
  time.copies = sequence.copies;
  time.copiedBytes = sequence.copiedBytes;
  time.synchronizations = sequence.synchronizations;
  const double floor = chip.parameter("launch.floorMicroseconds");
  for (const SequenceLaunch& launch : sequence.launches) {
    ASMEVO_TRY(const timing::Estimate estimate, launch.traced.estimate(chip));
    LaunchTime& own = time.launches.emplace_back();
    own.weight = launch.weight;
    own.microseconds = estimate.microseconds - floor;
    own.migratedBytes = launch.migratedBytes;
    if (estimate.bound == "dispatch") {
      const double bytesPerMicrosecond = chip.parameter("fabric.bytesPerClkPerXcd") * chip.xcds * estimate.clockMhz;
      own.idleMemory = std::max(0.0, own.microseconds - (estimate.mallBytes + estimate.hbmBytes) / bytesPerMicrosecond);
    }
  }
  return time;
}

timing::Chip withParameter(timing::Chip chip, const std::string& key, double value) {
  for (auto& [name, number] : chip.parameters)
    if (name == key)
      number = value;
  return chip;
}

std::vector<std::string> calibratedPrograms(std::span<const Row> rows) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    names.push_back(row.program);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < names.size(); i += 2)
    chosen.push_back(names[i]);
  return chosen;
}

ErrorSummary summarize(std::span<const Outcome> outcomes) {
  ErrorSummary summary;
  summary.points = outcomes.size();
  if (outcomes.empty())
    return summary;
  std::vector<double> errors;
  for (const Outcome& outcome : outcomes) {
    errors.push_back(std::abs(outcome.error()));
    summary.mean += errors.back();
    summary.bias += outcome.error();
  }
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  summary.mean /= count;
  summary.bias /= count;
  summary.most = errors.back();
  const std::size_t middle = errors.size() / 2;
  summary.median = errors.size() % 2 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  return summary;
}

std::vector<ProgramErrors> byProgram(std::span<const Outcome> outcomes) {
  std::map<std::string, std::vector<Outcome>> sorted;
  for (const Outcome& outcome : outcomes)
    sorted[outcome.row.program].push_back(outcome);
  std::vector<ProgramErrors> result;
  for (const auto& [program, own] : sorted)
    result.push_back({program, own.front().calibrated, summarize(own)});
  return result;
}

} // namespace asmevo::calibrate
