#include "verify/differential.h"

#include "verify/data_variants.h"

#include <algorithm>
#include <chrono>

namespace asmevo::verify {

namespace {

using dispatch::Comparison;

/// Spreads small seeds over all bits (SplitMix64's finalizer).
std::uint64_t scramble(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string describe(const dispatch::Difference& difference) {
  return fmt::format("buffer '{}' element {}: {} instead of {} ({} elements differ)", difference.buffer,
                     difference.element, difference.actual, difference.expected, difference.count);
}

std::optional<dispatch::Difference> bitDifference(const dispatch::Buffer& buffer, const Bytes& expected,
                                                  const Bytes& actual) {
  return expected == actual ? std::nullopt : dispatch::compareBuffer(buffer, {}, expected, actual);
}

/// Guard violations of K1 that K0 does not commit.
std::optional<emulator::GuardViolation> newViolation(const std::vector<emulator::GuardViolation>& k0,
                                                     const std::vector<emulator::GuardViolation>& k1) {
  for (const emulator::GuardViolation& violation : k1)
    if (std::ranges::none_of(k0, [&](const emulator::GuardViolation& known) {
          return known.buffer == violation.buffer && known.offset == violation.offset;
        }))
      return violation;
  return std::nullopt;
}

void addCoverage(const emulator::RunResult& run, std::set<std::uint64_t>& executed) {
  for (const auto& [address, count] : run.coverage)
    if (count != 0)
      executed.insert(address);
}

/// Runs K0 once more where an output differs from the first schedule's, to tell wave order from undefined state.
Status measureStability(device::LoadedKernel& kernel, const dispatch::Case& launch, const Schedule& first,
                        const Schedule& other, const emulator::RunResult& run, const Options& options,
                        BaselineCase& into) {
  std::optional<emulator::RunResult> sameState;
  for (std::size_t i = 0; i < run.buffers.size() && i < into.buffers.size(); ++i) {
    const auto difference = bitDifference(launch.buffers[i], into.buffers[i], run.buffers[i]);
    const bool known = std::ranges::any_of(into.unstable, [&](const Unstable& u) { return u.buffer == i; });
    if (!difference || known)
      continue;
    if (!sameState) {
      Schedule order = other;
      order.poison = first.poison;
      ASMEVO_TRY(sameState, kernel.launch(launch, runOptions(order, options)));
    }
    const bool byState = sameState->buffers[i] == into.buffers[i];
    into.unstable.push_back(
        {i, fmt::format("K0 itself computes {} differently {} ({})", launch.buffers[i].name,
                        byState ? "when registers and LDS hold something else at the start" : "in another wave order",
                        describe(*difference))});
  }
  return {};
}

/// What both objects' strict runs have in common.
emulator::RunOptions strictOptions(const Options& options, std::uint64_t k0Instructions) {
  emulator::RunOptions run = runOptions(schedulesOf(options).front(), options);
  // Strict runs of a candidate are as long as K0's, or it is of no use.
  run.maxInstructions = k0Instructions * 4 + 1'000'000;
  return run;
}

/// K0's strict runs; `buffers`: what all workgroups leave in order. A sample that cannot run alone, because its
/// workgroups wait for others, gives way to all of them.
StrictCase measureStrict(device::LoadedKernel& kernel, const dispatch::Case& launch, std::uint64_t instructions,
                         const std::vector<Bytes>& buffers, const Options& options) {
  const emulator::RunOptions run = strictOptions(options, instructions);
  std::vector<std::uint64_t> sample = strictSample(workgroupsOf(launch), instructions, options.strictBudget,
                                                   options.seeds.empty() ? 0 : options.seeds[0]);
  std::vector<Bytes> inOrder = buffers;
  if (!sample.empty()) {
    emulator::RunOptions alone = run;
    alone.onlyWorkgroups = sample;
    if (auto outcome = kernel.launch(launch, alone))
      inOrder = std::move(outcome->buffers);
    else
      sample.clear();
  }
  StrictCase result = runStrictly(kernel, launch, run, std::move(sample));
  result.inOrder = std::move(inOrder);
  return result;
}

BaselineCase measureCase(const object::CodeObject& k0, const dispatch::Case& launch, device::Device& device,
                         const Options& options, bool strict, std::set<std::uint64_t>& executed) {
  BaselineCase result;
  const auto attempt = [&]() -> Status {
    ASMEVO_TRY(const object::Kernel* kernel, k0.findKernel(launch.kernel));
    result.kernel = kernel->name;
    ASMEVO_TRY(const auto loaded, device.load(k0, kernel->name));
    const std::vector<Schedule> schedules = schedulesOf(options);
    for (std::size_t s = 0; s < schedules.size(); ++s) {
      emulator::RunOptions run = runOptions(schedules[s], options);
      run.coverage = s == 0;
      ASMEVO_TRY(auto outcome, loaded->launch(launch, run));
      result.waveInstructions = std::max(result.waveInstructions, outcome.waveInstructions);
      for (const emulator::GuardViolation& violation : outcome.guardViolations)
        if (newViolation(result.guardViolations, {violation}))
          result.guardViolations.push_back(violation);
      if (s == 0) {
        addCoverage(outcome, executed);
        result.buffers = std::move(outcome.buffers);
      } else {
        ASMEVO_CHECK(measureStability(*loaded, launch, schedules[0], schedules[s], outcome, options, result));
      }
    }
    if (strict)
      result.strict = measureStrict(*loaded, launch, result.waveInstructions, result.buffers, options);
    return {};
  };
  if (const Status status = attempt(); !status)
    result.failure = status.error();
  return result;
}

/// Compares what one run of K1 left. Raises `level` to tolerance where a buffer is only within its tolerance.
std::optional<std::string> compareBuffers(const dispatch::Case& launch, const BaselineCase& k0,
                                          const std::vector<Bytes>& expected, const std::vector<Bytes>& actual,
                                          Level& level) {
  if (actual.size() != expected.size())
    return "another number of buffers came back";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const dispatch::Buffer& buffer = launch.buffers[i];
    if (actual[i] == expected[i])
      continue;
    const Comparison rule = launch.comparisonOf(buffer.name);
    const bool unstable = std::ranges::any_of(k0.unstable, [&](const Unstable& u) { return u.buffer == i; });
    if (rule.mode == Comparison::Mode::bitwise && unstable)
      continue; // judged by the caller: nothing to compare with bit for bit
    if (const auto difference = dispatch::compareBuffer(buffer, rule, expected[i], actual[i]))
      return describe(*difference);
    level = Level::tolerance;
  }
  return std::nullopt;
}

std::optional<std::string> compareRun(const dispatch::Case& launch, const BaselineCase& expected,
                                      const emulator::RunResult& run, Level& level) {
  if (const auto violation = newViolation(expected.guardViolations, run.guardViolations))
    return fmt::format("stores outside buffer '{}', at byte offset {}", violation->buffer, violation->offset);
  return compareBuffers(launch, expected, expected.buffers, run.buffers, level);
}

/// One strict run of K1 against K0's run in order: what the kernel is to compute. Where K0 itself computes something
/// else under this delivery, K1 may do as K0 does.
std::optional<std::string> compareStrict(const dispatch::Case& launch, const BaselineCase& k0, const StrictRun& before,
                                         const StrictRun& after, Level& level) {
  if (after.failure)
    return before.failure ? std::nullopt : std::optional(after.failure->message);
  if (const auto violation = newViolation(k0.guardViolations, after.guardViolations))
    if (newViolation(before.guardViolations, after.guardViolations))
      return fmt::format("stores outside buffer '{}', at byte offset {}", violation->buffer, violation->offset);
  Level reached = level;
  auto difference = compareBuffers(launch, k0, k0.strict->inOrder, after.buffers, reached);
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

std::vector<Schedule> schedulesOf(const Options& options) {
  std::vector<Schedule> schedules;
  for (const std::uint64_t seed : options.seeds)
    schedules.push_back({seed, false, scramble(seed), fmt::format("seed {}", seed)});
  if (schedules.empty())
    schedules.push_back({0, false, scramble(0), "seed 0"});
  schedules.push_back({schedules[0].seed, true, schedules[0].poison, "each wave to its next barrier"});
  return schedules;
}

emulator::RunOptions runOptions(const Schedule& schedule, const Options& options) {
  emulator::RunOptions run;
  run.threads = options.threads;
  run.seed = schedule.seed;
  run.waveToBarrier = schedule.waveToBarrier;
  run.poisonSeed = schedule.poison;
  return run;
}

Result<std::shared_ptr<const Baseline>> measureVaried(const object::CodeObject& k0, const dispatch::Dispatch& varied,
                                                      std::size_t givenCases, device::Device& device,
                                                      const Options& options) {
  if (varied.cases.empty())
    return badInput("{}: no cases to compare on", varied.path);
  auto baseline = std::make_shared<Baseline>();
  baseline->k0Sha256 = sha256Hex(k0.bytes());
  baseline->seeds = options.seeds;
  baseline->dataVariants = options.dataVariants;
  baseline->givenCases = givenCases;
  baseline->strict = options.strict;
  for (std::size_t c = 0; c < varied.cases.size(); ++c) {
    const dispatch::Case& launch = varied.cases[c];
    ASMEVO_TRY([[maybe_unused]] const object::Kernel* kernel, k0.findKernel(launch.kernel));
    const bool strict = options.strict && c < givenCases;
    baseline->cases.push_back(measureCase(k0, launch, device, options, strict, baseline->executed));
  }
  return std::shared_ptr<const Baseline>(std::move(baseline));
}

Result<std::shared_ptr<const Baseline>> measureBaseline(const object::CodeObject& k0,
                                                        const dispatch::Dispatch& dispatch, device::Device& device,
                                                        const Options& options) {
  return measureVaried(k0, withDataVariants(dispatch, options.dataVariants), dispatch.cases.size(), device, options);
}

Differential runDifferential(const Baseline& baseline, const object::CodeObject& k1, const dispatch::Dispatch& dispatch,
                             device::Device& device, const Options& options, double deadline) {
  Differential result;
  result.level = Level::exact;
  const auto reject = [&](Level level, std::string reason) {
    // The first rejection is the verdict's reason; later cases are still run for the report.
    if (accepted(result.level)) {
      result.level = level;
      result.reason = std::move(reason);
    }
  };
  const std::vector<Schedule> schedules = schedulesOf(options);
  for (std::size_t c = 0; c < dispatch.cases.size(); ++c) {
    const dispatch::Case& launch = dispatch.cases[c];
    const BaselineCase& expected = baseline.cases[c];
    CaseResult& report = result.cases.emplace_back();
    report.name = launch.name;
    if (expected.failure && c >= baseline.givenCases) {
      // Permuted data may be outside what the kernel is made for; K0 says so by failing.
      report.equal = true;
      report.detail = "not compared, K0 itself: " + expected.failure->message;
      continue;
    }
    if (expected.failure) {
      report.detail = "K0 itself: " + expected.failure->message;
      reject(Level::refused, fmt::format("{}: {}", launch.name, report.detail));
      continue;
    }
    auto loaded = device.load(k1, expected.kernel);
    if (!loaded) {
      report.detail = loaded.error().message;
      reject(Level::refused, fmt::format("{}: {}", launch.name, report.detail));
      continue;
    }
    report.equal = true;
    Level level = Level::exact;
    for (std::size_t s = 0; s < schedules.size() && report.equal; ++s) {
      if (steadySeconds() > deadline) {
        report.equal = false;
        report.detail = "out of time";
        reject(Level::timeout, fmt::format("{}: out of time before {}", launch.name, schedules[s].name));
        break;
      }
      emulator::RunOptions run = runOptions(schedules[s], options);
      run.coverage = s == 0;
      // A candidate that needs several times K0's instructions is either endless or of no use.
      run.maxInstructions = expected.waveInstructions * 4 + 1'000'000;
      auto outcome = (*loaded)->launch(launch, run);
      if (!outcome) {
        report.equal = false;
        report.detail = fmt::format("{}: {}", schedules[s].name, outcome.error().message);
        reject(outcome.error().kind == ErrorKind::fault ? Level::differs : Level::refused,
               fmt::format("{}: K1, {}", launch.name, report.detail));
        break;
      }
      report.waveInstructions = std::max(report.waveInstructions, outcome->waveInstructions);
      if (s == 0)
        addCoverage(*outcome, result.executed);
      if (const auto difference = compareRun(launch, expected, *outcome, level)) {
        report.equal = false;
        report.detail = fmt::format("{}: {}", schedules[s].name, *difference);
        reject(Level::differs, fmt::format("{}: {}", launch.name, report.detail));
      }
    }
    if (expected.strict && accepted(result.level) && steadySeconds() <= deadline) {
      const StrictCase& strict = result.strict.emplace_back(runStrictly(
          **loaded, launch, strictOptions(options, expected.waveInstructions), expected.strict->workgroups));
      for (std::size_t r = 0; r < strict.runs.size() && report.equal; ++r)
        if (const auto difference = compareStrict(launch, expected, expected.strict->runs[r], strict.runs[r], level)) {
          report.equal = false;
          report.detail = fmt::format("with memory delivered {}, {}: {}",
                                      emulator::deliveryName(strict.runs[r].delivery), strict.extent(), *difference);
          reject(Level::unsafe, fmt::format("{}: {}", launch.name, report.detail));
        }
    }
    if (accepted(result.level))
      result.level = std::max(result.level, level);
  }
  return result;
}

} // namespace asmevo::verify
