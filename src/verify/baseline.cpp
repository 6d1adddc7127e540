#include "verify/baseline.h"

#include "dispatch/random.h"
#include "program/analysis/dataflow.h"

#include <algorithm>

namespace asmevo::verify {

namespace {

using dispatch::Case;

/// Size variants of one case that are kept though they execute nothing new.
constexpr std::size_t keptSizes = 18;

std::optional<dispatch::Difference> bitDifference(const dispatch::Buffer& buffer, const Bytes& expected,
                                                  const Bytes& actual) {
  return expected == actual ? std::nullopt : dispatch::compareBuffer(buffer, {}, expected, actual);
}

/// Runs K0 once more where an output differs from the first schedule's, to tell wave order from undefined state.
Status measureStability(device::LoadedKernel& kernel, const Case& launch, const Schedule& first, const Schedule& other,
                        const emulator::RunResult& run, const Options& options, BaselineCase& into) {
  std::optional<emulator::RunResult> sameState;
  for (std::size_t i = 0; i < run.buffers.size() && i < into.buffers.size(); ++i) {
    const auto difference = bitDifference(launch.buffers[i], into.buffers[i], run.buffers[i]);
    if (!difference || into.isUnstable(i))
      continue;
    if (!sameState) {
      Schedule order = other;
      order.poison = first.poison;
      ASMEVO_TRY(sameState, kernel.launch(launch, into.runOptions(order, options)));
    }
    const bool byState = sameState->buffers[i] == into.buffers[i];
    into.unstable.push_back(
        {i, fmt::format("K0 itself computes {} differently {} ({})", launch.buffers[i].name,
                        byState ? "when registers and LDS hold something else at the start" : "in another wave order",
                        describe(*difference))});
  }
  return {};
}

/// Strict findings that say that a launch is not what the kernel is made for.
bool isMisuse(const emulator::StrictFinding& finding) {
  return finding.rule.starts_with("out_of_bounds") || finding.rule.ends_with("_race") ||
         finding.rule.starts_with("uninitialised");
}

class Measurement {
 public:
  Measurement(const object::CodeObject& k0, device::Device& device, const Options& options, Baseline& baseline)
      : k0(k0), device(device), options(options), baseline(baseline), schedules(schedulesOf(options)) {}

  void run() {
    for (std::size_t c = 0; c < baseline.varied.dispatch.cases.size(); ++c) {
      const bool own = c < baseline.varied.given;
      if (options.progress)
        options.progress(fmt::format("K0 on case {} of {}", c + 1, baseline.varied.dispatch.cases.size()));
      baseline.cases.push_back(own ? ownCase(c) : variant(c));
      if (!own && !baseline.cases.back().skipped.empty())
        forget(c);
    }
  }

 private:
  const Case& launchOf(std::size_t c) const { return baseline.varied.dispatch.cases[c]; }

  Result<device::LoadedKernel*> load(const std::string& name) {
    ASMEVO_TRY(const object::Kernel* kernel, k0.findKernel(name));
    auto& loaded = kernels[kernel->name];
    if (!loaded) {
      ASMEVO_TRY(loaded, device.load(k0, kernel->name));
    }
    return loaded.get();
  }

  BaselineCase ownCase(std::size_t c) {
    BaselineCase result;
    result.schedules = schedules;
    if (const Status status = measure(launchOf(c), schedules, result); !status)
      result.failure = status.error();
    else if (options.strict)
      result.strict = strictRuns(launchOf(c), options.strictBudget, everyDelivery(), result);
    if (!result.failure)
      baseline.executed.insert(fresh.begin(), fresh.end());
    return result;
  }

  BaselineCase variant(std::size_t c) {
    const Variant& made = baseline.variantOf(c);
    const BaselineCase& parent = baseline.cases[made.parent];
    const Case& launch = launchOf(c);
    BaselineCase result;
    result.kernel = parent.kernel;
    if (parent.failure) {
      result.skipped = "K0 fails on the case itself";
      return result;
    }
    // Each under another schedule, and one more for what K0 does not always compute alike.
    const std::size_t turn = c % schedules.size();
    result.schedules = {schedules[turn]};
    result.workgroups =
        strictSample(workgroupsOf(launch), parent.waveInstructions, options.variantBudget, schedules[turn].seed + c);
    const bool sized = !isFloatData(made.kind);
    limit = parent.waveInstructions * 4 + 1'000'000;
    // What is read before anything writes it is something else there.
    Schedule other = schedules[(turn + 1) % schedules.size()];
    if (other.poison == schedules[turn].poison)
      other.poison = ~other.poison;
    const Status status = measure(launch, {schedules[turn], other}, result);
    limit = 0;
    if (!status) {
      result.skipped = "K0 itself: " + status.error().message;
      return result;
    }
    if (const auto violation = newViolation(parent.guardViolations, result.guardViolations)) {
      result.skipped = fmt::format("K0 itself stores outside buffer '{}'", violation->buffer);
      return result;
    }
    if (sized && !staysAsStable(parent, result))
      return result;
    const bool news = std::ranges::any_of(fresh, [&](auto pc) { return !baseline.executed.contains(pc); });
    if (made.kind == VariantKind::sizes && !news && sizesKept[made.parent] >= keptSizes) {
      ++baseline.sizesWithoutNews;
      result.skipped = "executes nothing that other sizes do not";
      return result;
    }
    if (sized && !moreOrders(launch, parent, result))
      return result;
    if (options.strict && parent.strict) {
      static constexpr emulator::Delivery late[] = {emulator::Delivery::late};
      result.strict = strictRuns(launch, options.variantStrictBudget, late, result);
      if (sized && (result.strict->runs.front().failure || misused(*parent.strict, *result.strict))) {
        result.skipped = "K0 itself races, leaves its buffers or uses what nothing has written there";
        return result;
      }
    }
    if (made.kind == VariantKind::sizes)
      ++sizesKept[made.parent];
    baseline.executed.insert(fresh.begin(), fresh.end());
    return result;
  }

  static bool staysAsStable(const BaselineCase& parent, BaselineCase& variant) {
    for (const Unstable& unstable : variant.unstable)
      if (!parent.isUnstable(unstable.buffer)) {
        variant.skipped = unstable.detail;
        return false;
      }
    return true;
  }

  /// At sizes that a kernel is not made for its workgroups may overlap, which few orders show.
  bool moreOrders(const Case& launch, const BaselineCase& parent, BaselineCase& variant) {
    constexpr std::uint64_t count = 3;
    const Schedule& first = variant.schedules.front();
    std::vector<Schedule> orders = {first};
    for (std::uint64_t extra = 1; extra <= count; ++extra) {
      const std::uint64_t seed = first.seed + 1000 * extra;
      orders.push_back({seed, false, first.poison, fmt::format("seed {}", seed)});
    }
    BaselineCase again;
    again.workgroups = variant.workgroups;
    const std::set<std::uint64_t> executed = fresh;
    const Status status = measure(launch, orders, again);
    fresh = executed;
    variant.unstable.insert(variant.unstable.end(), again.unstable.begin(), again.unstable.end());
    if (!status)
      variant.skipped = "K0 itself: " + status.error().message;
    return status && staysAsStable(parent, variant);
  }

  static bool misused(const StrictCase& parent, const StrictCase& variant) {
    std::set<std::pair<std::string, std::uint64_t>> known;
    for (const StrictRun& run : parent.runs)
      for (const emulator::StrictFinding& finding : run.findings)
        known.emplace(finding.rule, finding.consumer);
    for (const StrictRun& run : variant.runs)
      for (const emulator::StrictFinding& finding : run.findings)
        if (isMisuse(finding) && !known.contains({finding.rule, finding.consumer}))
          return true;
    return false;
  }

  /// `into` has what runOptions() needs. The first of `order` gives the buffers, the others what is unstable.
  Status measure(const Case& launch, const std::vector<Schedule>& order, BaselineCase& into) {
    fresh.clear();
    ASMEVO_TRY(device::LoadedKernel* const loaded, load(launch.kernel));
    ASMEVO_TRY(const object::Kernel* kernel, k0.findKernel(launch.kernel));
    into.kernel = kernel->name;
    for (std::size_t s = 0; s < order.size(); ++s) {
      emulator::RunOptions run = into.runOptions(order[s], options);
      run.coverage = s == 0;
      if (limit != 0)
        run.maxInstructions = limit;
      ASMEVO_TRY(auto outcome, loaded->launch(launch, run));
      into.waveInstructions = std::max(into.waveInstructions, outcome.waveInstructions);
      into.lds.merge(outcome.lds);
      for (const emulator::GuardViolation& violation : outcome.guardViolations)
        if (newViolation(into.guardViolations, {violation}))
          into.guardViolations.push_back(violation);
      if (s == 0) {
        addCoverage(outcome, fresh);
        into.buffers = std::move(outcome.buffers);
      } else {
        ASMEVO_CHECK(measureStability(*loaded, launch, order[0], order[s], outcome, options, into));
      }
    }
    return {};
  }

  /// K0's strict runs. A sample that cannot run alone, because its workgroups wait for others, gives way to all of
  /// them.
  StrictCase strictRuns(const Case& launch, std::uint64_t budget, std::span<const emulator::Delivery> deliveries,
                        const BaselineCase& measured) {
    device::LoadedKernel& kernel = *kernels.at(measured.kernel);
    const emulator::RunOptions run = measured.strictOptions(options);
    const std::uint64_t all = workgroupsOf(launch);
    std::vector<std::uint64_t> sample =
        measured.workgroups.empty()
            ? strictSample(all, measured.waveInstructions, budget, options.seeds.empty() ? 0 : options.seeds[0])
            : measured.workgroups;
    if (!measured.workgroups.empty() && measured.waveInstructions > budget && sample.size() > 2)
      sample.resize(std::max<std::size_t>(2, sample.size() * budget / measured.waveInstructions));
    std::vector<Bytes> inOrder = measured.buffers;
    if (!sample.empty() && sample != measured.workgroups) {
      emulator::RunOptions alone = run;
      alone.onlyWorkgroups = sample;
      if (auto outcome = kernel.launch(launch, alone))
        inOrder = std::move(outcome->buffers);
      else
        sample = measured.workgroups;
    }
    StrictCase result = runStrictly(kernel, launch, run, std::move(sample), deliveries);
    result.inOrder = std::move(inOrder);
    for (const auto& [pc, patterns] : result.exec)
      baseline.exec[pc] += patterns;
    return result;
  }

  /// A variant that tells nothing does not keep its data.
  void forget(std::size_t c) {
    ++baseline.variantsSkipped;
    baseline.cases[c].buffers.clear();
    baseline.cases[c].strict.reset();
    for (dispatch::Buffer& buffer : baseline.varied.dispatch.cases[c].buffers)
      buffer.initial = {};
  }

  const object::CodeObject& k0;
  device::Device& device;
  const Options& options;
  Baseline& baseline;
  std::vector<Schedule> schedules;
  std::map<std::string, std::unique_ptr<device::LoadedKernel>> kernels;
  std::map<std::size_t, std::size_t> sizesKept; ///< by parent
  std::set<std::uint64_t> fresh;                ///< executed by the case under measurement
  std::uint64_t limit = 0;                      ///< of wave-instructions; 0: the emulator's own
};

bool sameCase(const Case& a, const Case& b) {
  const auto sameBuffer = [](const dispatch::Buffer& x, const dispatch::Buffer& y) {
    return x.name == y.name && x.initial == y.initial;
  };
  const auto sameArgument = [](const dispatch::Argument& x, const dispatch::Argument& y) {
    return x.buffer == y.buffer && x.offset == y.offset && x.bytes == y.bytes && x.at == y.at;
  };
  return a.name == b.name && a.kernel == b.kernel && a.gridSize == b.gridSize && a.workgroupSize == b.workgroupSize &&
         a.dynamicLdsBytes == b.dynamicLdsBytes && std::ranges::equal(a.buffers, b.buffers, sameBuffer) &&
         std::ranges::equal(a.arguments, b.arguments, sameArgument);
}

} // namespace

std::vector<Schedule> schedulesOf(const Options& options) {
  const auto scramble = [](std::uint64_t seed) { return dispatch::SplitMix64(seed).next(); };
  std::vector<Schedule> schedules;
  for (const std::uint64_t seed : options.seeds)
    schedules.push_back({seed, false, scramble(seed), fmt::format("seed {}", seed)});
  if (schedules.empty())
    schedules.push_back({0, false, scramble(0), "seed 0"});
  schedules.push_back({schedules[0].seed, true, schedules[0].poison, "each wave to its next barrier"});
  return schedules;
}

bool BaselineCase::isUnstable(std::size_t buffer) const {
  return std::ranges::any_of(unstable, [&](const Unstable& u) { return u.buffer == buffer; });
}

emulator::RunOptions BaselineCase::runOptions(const Schedule& schedule, const Options& options) const {
  emulator::RunOptions run;
  run.threads = options.threads;
  run.seed = schedule.seed;
  run.waveToBarrier = schedule.waveToBarrier;
  run.poisonSeed = schedule.poison;
  run.onlyWorkgroups = workgroups;
  return run;
}

emulator::RunOptions BaselineCase::strictOptions(const Options& options) const {
  emulator::RunOptions run = runOptions(schedules.front(), options);
  // Strict runs of a candidate are as long as K0's, or it is of no use.
  run.maxInstructions = waveInstructions * 4 + 1'000'000;
  return run;
}

bool Baseline::fits(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, const Options& options) const {
  return seeds == options.seeds && dataVariants == options.dataVariants && firstVariant == options.firstVariant &&
         strict == options.strict && varied.given == dispatch.cases.size() &&
         std::ranges::equal(dispatch.cases, std::span(varied.dispatch.cases).first(varied.given), sameCase) &&
         k0Sha256 == sha256Hex(k0.bytes());
}

std::optional<emulator::GuardViolation> newViolation(const std::vector<emulator::GuardViolation>& k0,
                                                     const std::vector<emulator::GuardViolation>& k1) {
  for (const emulator::GuardViolation& violation : k1)
    if (std::ranges::none_of(k0, [&](const emulator::GuardViolation& known) {
          return known.buffer == violation.buffer && known.offset == violation.offset;
        }))
      return violation;
  return std::nullopt;
}

std::string missingLds(const emulator::LdsExtent& k0, const emulator::LdsExtent& k1) {
  if (k1.beyond >= k0.allocated || k1.beyond >= k0.beyond)
    return {};
  return fmt::format("reaches byte {} of the LDS and has {} of K0's {} bytes", k1.beyond, k1.allocated, k0.allocated);
}

std::string describe(const dispatch::Difference& difference) {
  return fmt::format("buffer '{}' element {}: {} instead of {} ({} elements differ)", difference.buffer,
                     difference.element, difference.actual, difference.expected, difference.count);
}

void addCoverage(const emulator::RunResult& run, std::set<std::uint64_t>& executed) {
  for (const auto& [address, count] : run.coverage)
    if (count != 0)
      executed.insert(address);
}

Result<std::shared_ptr<const Baseline>> furtherBaseline(const Baseline& baseline, const object::CodeObject& k0,
                                                        const dispatch::Dispatch& dispatch, device::Device& device,
                                                        const Options& options) {
  Options wider = options;
  wider.firstVariant = baseline.firstVariant + baseline.dataVariants;
  wider.dataVariants = options.furtherRounds;
  const auto last = std::ranges::max_element(options.seeds);
  wider.seeds = {last == options.seeds.end() ? 1 : *last + 1};
  wider.strictBudget = options.variantStrictBudget;
  const std::lock_guard lock(baseline.further->measuring);
  std::shared_ptr<const Baseline>& kept = baseline.further->baseline;
  if (!kept || !kept->fits(k0, dispatch, wider)) {
    ASMEVO_TRY(kept, measureBaseline(k0, dispatch, device, wider));
  }
  return kept;
}

Result<std::shared_ptr<const Baseline>> measureBaseline(const object::CodeObject& k0,
                                                        const dispatch::Dispatch& dispatch, device::Device& device,
                                                        const Options& options) {
  if (dispatch.cases.empty())
    return badInput("{}: no cases to compare on", dispatch.path);
  for (const Case& launch : dispatch.cases) {
    ASMEVO_TRY([[maybe_unused]] const object::Kernel* kernel, k0.findKernel(launch.kernel));
  }
  auto baseline = std::make_shared<Baseline>();
  baseline->k0Sha256 = sha256Hex(k0.bytes());
  baseline->seeds = options.seeds;
  baseline->dataVariants = options.dataVariants;
  baseline->firstVariant = options.firstVariant;
  baseline->strict = options.strict;
  baseline->varied = withVariants(dispatch, options.dataVariants, options.firstVariant);
  ASMEVO_TRY(const auto codec, isa::Codec::create(k0));
  ASMEVO_TRY(program::Program code, program::Program::recover(k0, *codec));
  program::completeInstructions(code, *codec);
  ASMEVO_TRY(baseline->lint, comparedFindings(k0, code));
  Measurement(k0, device, options, *baseline).run();
  return std::shared_ptr<const Baseline>(std::move(baseline));
}

} // namespace asmevo::verify
