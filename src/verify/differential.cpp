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

BaselineCase measureCase(const object::CodeObject& k0, const dispatch::Case& launch, device::Device& device,
                         const Options& options, std::set<std::uint64_t>& executed) {
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
    return {};
  };
  if (const Status status = attempt(); !status)
    result.failure = status.error();
  return result;
}

/// Compares one run of K1. Raises `level` to tolerance where a buffer is only within its tolerance.
std::optional<std::string> compareRun(const dispatch::Case& launch, const BaselineCase& expected,
                                      const emulator::RunResult& run, Level& level) {
  if (const auto violation = newViolation(expected.guardViolations, run.guardViolations))
    return fmt::format("stores outside buffer '{}', at byte offset {}", violation->buffer, violation->offset);
  if (run.buffers.size() != expected.buffers.size())
    return "another number of buffers came back";
  for (std::size_t i = 0; i < run.buffers.size(); ++i) {
    const dispatch::Buffer& buffer = launch.buffers[i];
    if (run.buffers[i] == expected.buffers[i])
      continue;
    const Comparison rule = launch.comparisonOf(buffer.name);
    const bool unstable = std::ranges::any_of(expected.unstable, [&](const Unstable& u) { return u.buffer == i; });
    if (rule.mode == Comparison::Mode::bitwise && unstable)
      continue; // judged by the caller: nothing to compare with bit for bit
    if (const auto difference = dispatch::compareBuffer(buffer, rule, expected.buffers[i], run.buffers[i]))
      return describe(*difference);
    level = Level::tolerance;
  }
  return std::nullopt;
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
  for (const dispatch::Case& launch : varied.cases) {
    ASMEVO_TRY([[maybe_unused]] const object::Kernel* kernel, k0.findKernel(launch.kernel));
    baseline->cases.push_back(measureCase(k0, launch, device, options, baseline->executed));
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
    if (accepted(result.level))
      result.level = std::max(result.level, level);
  }
  return result;
}

} // namespace asmevo::verify
