#include "verify/differential.h"

#include "dispatch/element.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace asmevo::verify {

namespace {

using dispatch::Comparison;

/// NaN, infinity and finite values of a floating-point format.
class ValueClass {
 public:
  ValueClass(dispatch::DType type, const Comparison& rule) : type(type) {
    const dispatch::FloatFormat& format = dispatch::floatFormat(type);
    infinities = format.infinities;
    // All ones below the top exponent, or below the only NaN of formats without infinities.
    const std::uint64_t infinity = ((std::uint64_t{1} << format.exponentBits) - 1) << format.fractionBits;
    const std::uint64_t magnitudes = infinity | ((std::uint64_t{1} << format.fractionBits) - 1);
    const double largest = dispatch::decodeFloat(type, infinities    ? infinity - 1
                                                       : format.fnuz ? magnitudes
                                                                     : magnitudes - 1);
    nearOverflow = (largest - rule.atol) / (1 + rule.rtol);
  }

  /// An overflow may stand for a finite value of its sign that the tolerance takes to the largest one.
  bool same(std::uint64_t expected, std::uint64_t actual) const {
    const double a = dispatch::decodeFloat(type, expected), b = dispatch::decodeFloat(type, actual);
    if (std::isfinite(a) && std::isfinite(b))
      return true;
    if (std::isnan(a) && std::isnan(b))
      return true;
    return a == b || overflowOf(a, b) || overflowOf(b, a);
  }

 private:
  bool overflowOf(double finite, double other) const {
    if (!std::isfinite(finite) || std::fabs(finite) < nearOverflow)
      return false;
    return infinities ? std::isinf(other) && std::signbit(other) == std::signbit(finite) : std::isnan(other);
  }

  dispatch::DType type;
  bool infinities;
  double nearOverflow;
};

/// The first element that is NaN or infinite on one side only, as far as the buffer holds floats.
std::optional<dispatch::Difference> classDifference(const dispatch::Buffer& buffer, const Comparison& rule,
                                                    const Bytes& expected, const Bytes& actual) {
  if (!dispatch::isFloat(buffer.dtype))
    return std::nullopt;
  const ValueClass classes(buffer.dtype, rule);
  const std::size_t size = dispatch::dtypeSize(buffer.dtype);
  dispatch::Difference difference{buffer.name, 0, 0, "", ""};
  for (std::size_t at = 0; at + size <= std::min(expected.size(), actual.size()); at += size) {
    const std::uint64_t want = dispatch::loadElement(buffer.dtype, expected.data() + at);
    const std::uint64_t have = dispatch::loadElement(buffer.dtype, actual.data() + at);
    if (want == have || classes.same(want, have) || difference.count++ != 0)
      continue;
    difference.element = at / size;
    difference.expected = fmt::format("{}", dispatch::decodeFloat(buffer.dtype, want));
    difference.actual = fmt::format("{}", dispatch::decodeFloat(buffer.dtype, have));
  }
  return difference.count == 0 ? std::nullopt : std::optional(difference);
}

/// Compares what one run of K1 left. Raises `level` to tolerance where a buffer is only within its tolerance.
/// `lenient`: the data are made to show every rounding, so that finite values need not be within a tolerance; NaN and
/// infinities have to be where K0 has them.
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
    auto difference = dispatch::compareBuffer(buffer, rule, expected[i], actual[i]);
    if (difference && lenient && rule.mode == Comparison::Mode::tolerance)
      difference = classDifference(buffer, rule, expected[i], actual[i]);
    if (difference)
      return describe(*difference);
    level = Level::tolerance;
  }
  return std::nullopt;
}

std::optional<std::string> compareRun(const dispatch::Case& launch, const BaselineCase& expected,
                                      const emulator::RunResult& run, Level& level, bool lenient) {
  if (const auto violation = newViolation(expected.guardViolations, run.guardViolations))
    return fmt::format("stores outside buffer '{}', at byte offset {}", violation->buffer, violation->offset);
  if (std::string missing = missingLds(expected.lds, run.lds); !missing.empty())
    return missing;
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
  if (options.progress)
    options.progress(fmt::format("K1 on case {} of {}", c + 1, baseline.cases.size()));
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
    if (options.progress)
      options.progress(fmt::format("K1 strictly on case {} of {}", c + 1, baseline.cases.size()));
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
