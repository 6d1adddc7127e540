#include "verify/differential.h"

#include <algorithm>
#include <chrono>

namespace asmevo::verify {

namespace {

using dispatch::Comparison;

/// Compares what one run of K1 left. Raises `level` to tolerance where a buffer is only within its tolerance.
/// `lenient`: the data are made to show every rounding or to overflow, on which no tolerance means anything.
std::optional<std::string> compareBuffers(const dispatch::Case& launch, const BaselineCase& k0,
                                          const std::vector<Bytes>& expected, const std::vector<Bytes>& actual,
                                          Level& level, bool lenient = false) {
  if (actual.size() != expected.size())
    return "another number of buffers came back";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const dispatch::Buffer& buffer = launch.buffers[i];
    if (actual[i] == expected[i])
      continue;
    const Comparison rule = launch.comparisonOf(buffer.name);
    if (rule.mode == Comparison::Mode::bitwise && k0.isUnstable(i))
      continue; // judged by the caller: nothing to compare with bit for bit
    const auto difference = dispatch::compareBuffer(buffer, rule, expected[i], actual[i]);
    if (difference && !(lenient && rule.mode == Comparison::Mode::tolerance))
      return describe(*difference);
    level = Level::tolerance;
  }
  return std::nullopt;
}

std::optional<std::string> compareRun(const dispatch::Case& launch, const BaselineCase& expected,
                                      const emulator::RunResult& run, Level& level, bool lenient) {
  if (const auto violation = newViolation(expected.guardViolations, run.guardViolations))
    return fmt::format("stores outside buffer '{}', at byte offset {}", violation->buffer, violation->offset);
  return compareBuffers(launch, expected, expected.buffers, run.buffers, level, lenient);
}

/// One strict run of K1 against K0's run in order: what the kernel is to compute. Where K0 itself computes something
/// else under this delivery, K1 may do as K0 does.
std::optional<std::string> compareStrict(const dispatch::Case& launch, const BaselineCase& k0, const StrictRun& before,
                                         const StrictRun& after, Level& level, bool lenient) {
  if (after.failure)
    return before.failure ? std::nullopt : std::optional(after.failure->message);
  if (const auto violation = newViolation(k0.guardViolations, after.guardViolations))
    if (newViolation(before.guardViolations, after.guardViolations))
      return fmt::format("stores outside buffer '{}', at byte offset {}", violation->buffer, violation->offset);
  Level reached = level;
  auto difference = compareBuffers(launch, k0, k0.strict->inOrder, after.buffers, reached, lenient);
  if (!difference) {
    level = reached;
    return std::nullopt;
  }
  if (before.failure || compareBuffers(launch, k0, k0.strict->inOrder, before.buffers, reached)) {
    reached = level;
    if (before.failure || !compareBuffers(launch, k0, before.buffers, after.buffers, reached))
      return std::nullopt;
  }
  return difference;
}

} // namespace

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

DifferentialRun::DifferentialRun(const Baseline& baseline, const object::CodeObject& k1, device::Device& device,
                                 const Options& options, double deadline)
    : baseline(baseline), k1(k1), device(device), options(options), deadline(deadline) {
  result.level = Level::exact;
}

void DifferentialRun::reject(Level level, const char* gate, std::string reason) {
  // The first rejection is the verdict's reason; later cases are still run for the report.
  if (!accepted(result.level))
    return;
  result.level = level;
  result.gate = gate;
  result.reason = std::move(reason);
}

bool DifferentialRun::isOver() const {
  return options.stopAtFirst && !accepted(result.level);
}

bool DifferentialRun::lenient(std::size_t c) const {
  if (!baseline.isVariant(c))
    return false;
  const VariantKind kind = baseline.variantOf(c).kind;
  return isFloatData(kind) && kind != VariantKind::permuted && kind != VariantKind::negative;
}

device::LoadedKernel* DifferentialRun::load(std::size_t c) {
  const BaselineCase& expected = baseline.cases[c];
  auto& kernel = kernels[expected.kernel];
  if (kernel)
    return kernel.get();
  auto loaded = device.load(k1, expected.kernel);
  if (!loaded) {
    CaseResult& report = result.cases[c];
    report.detail = loaded.error().message;
    reject(Level::refused, "differential", fmt::format("{}: {}", report.name, report.detail));
    return nullptr;
  }
  kernel = *std::move(loaded);
  return kernel.get();
}

void DifferentialRun::runInOrder() {
  const std::size_t count = baseline.varied.dispatch.cases.size();
  for (std::size_t c = 0; c < count; ++c)
    result.cases.emplace_back().name = baseline.varied.dispatch.cases[c].name;
  result.executedBy.resize(count);
  result.strict.resize(count);
  for (std::size_t c = 0; c < count && !isOver(); ++c)
    runCase(c);
}

void DifferentialRun::runCase(std::size_t c) {
  const dispatch::Case& launch = baseline.varied.dispatch.cases[c];
  const BaselineCase& expected = baseline.cases[c];
  CaseResult& report = result.cases[c];
  if (!expected.skipped.empty()) {
    report.equal = report.skipped = true;
    report.detail = "not compared: " + expected.skipped;
    return;
  }
  if (expected.failure) {
    report.detail = "K0 itself: " + expected.failure->message;
    reject(Level::refused, "differential", fmt::format("{}: {}", launch.name, report.detail));
    return;
  }
  device::LoadedKernel* kernel = load(c);
  if (!kernel)
    return;
  report.equal = true;
  Level level = Level::exact;
  for (std::size_t s = 0; s < expected.schedules.size() && report.equal; ++s) {
    const Schedule& schedule = expected.schedules[s];
    if (steadySeconds() > deadline) {
      report.equal = false;
      report.detail = "out of time";
      reject(Level::timeout, "differential", fmt::format("{}: out of time before {}", launch.name, schedule.name));
      return;
    }
    emulator::RunOptions run = expected.runOptions(schedule, options);
    run.coverage = s == 0;
    // A candidate that needs several times K0's instructions is either endless or of no use.
    run.maxInstructions = expected.waveInstructions * 4 + 1'000'000;
    auto outcome = kernel->launch(launch, run);
    if (!outcome) {
      report.equal = false;
      report.detail = fmt::format("{}: {}", schedule.name, outcome.error().message);
      reject(outcome.error().kind == ErrorKind::fault ? Level::differs : Level::refused, "differential",
             fmt::format("{}: K1, {}", launch.name, report.detail));
      return;
    }
    report.waveInstructions = std::max(report.waveInstructions, outcome->waveInstructions);
    if (s == 0) {
      addCoverage(*outcome, result.executedBy[c]);
      result.executed.insert(result.executedBy[c].begin(), result.executedBy[c].end());
    }
    if (const auto difference = compareRun(launch, expected, *outcome, level, lenient(c))) {
      report.equal = false;
      report.detail = fmt::format("{}: {}", schedule.name, *difference);
      reject(Level::differs, "differential", fmt::format("{}: {}", launch.name, report.detail));
    }
  }
  if (accepted(result.level))
    result.level = std::max(result.level, level);
}

void DifferentialRun::runStrict() {
  for (std::size_t c = 0; c < baseline.cases.size(); ++c) {
    if (!accepted(result.level) || steadySeconds() > deadline)
      return;
    const BaselineCase& expected = baseline.cases[c];
    CaseResult& report = result.cases[c];
    if (!expected.strict || !report.equal)
      continue;
    const dispatch::Case& launch = baseline.varied.dispatch.cases[c];
    device::LoadedKernel* kernel = load(c);
    if (!kernel)
      return;
    std::vector<emulator::Delivery> deliveries;
    for (const StrictRun& run : expected.strict->runs)
      deliveries.push_back(run.delivery);
    const StrictCase& strict = result.strict[c].emplace(
        runStrictly(*kernel, launch, expected.strictOptions(options), expected.strict->workgroups, deliveries));
    Level level = result.level;
    for (std::size_t r = 0; r < strict.runs.size() && report.equal; ++r)
      if (const auto difference =
              compareStrict(launch, expected, expected.strict->runs[r], strict.runs[r], level, lenient(c))) {
        report.equal = false;
        report.detail = fmt::format("with memory delivered {}, {}: {}", emulator::deliveryName(strict.runs[r].delivery),
                                    strict.extent(), *difference);
        reject(Level::unsafe, "strict", fmt::format("{}: {}", launch.name, report.detail));
      }
    if (accepted(result.level))
      result.level = std::max(result.level, level);
  }
}

} // namespace asmevo::verify
