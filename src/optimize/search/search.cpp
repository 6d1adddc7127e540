#include "optimize/moves/move_support.h"
#include "optimize/optimize.h"
#include "optimize/search/bandit.h"
#include "optimize/search/candidates.h"
#include "optimize/search/canonical.h"
#include "optimize/search/ledger.h"
#include "optimize/search/lineage.h"
#include "optimize/search/pricing.h"
#include "program/analysis/loops.h"
#include "verify/alignment.h"
#include "verify/minimise.h"
#include "verify/mutation/score.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>

namespace asmevo::optimize {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Windows of less than that share of the time are not worth an edit of their own.
constexpr double leastShare = 0.01;
constexpr std::size_t mostWindows = 12;
/// Candidates priced before the bandit chooses again.
constexpr std::size_t pullSize = 8;
/// A gain that is worth a verification at once; smaller ones wait for company.
constexpr double bigGain = 0.01;
/// How much more often an arm is tried that paid on the same window in another kernel.
constexpr double lessonBoost = 4;

/// A move on a window (or on all of them), of the program that the search stands on.
struct Arm {
  const Move* move = nullptr;
  std::vector<HotWindow> windows;
  std::string windowClass, form; ///< form: canonical, of the window
  double stake = 1;
  bool asked = false;
  std::deque<Proposal> queue;
  bool gained = false;
  bool isOver() const { return asked && queue.empty(); }
};

/// Everything that is derived from the program that the search stands on.
struct View {
  object::CodeObject object;
  program::Program program;
  const object::Kernel* kernel = nullptr;
  timing::Estimate profile;
  std::vector<HotWindow> windows;
  std::vector<Arm> arms;
  Gates gates;
  std::vector<double> perturbedByOne; ///< Pricer::perturbedByOne; empty where workgroups differ
};

class Search {
 public:
  Search(const object::CodeObject& object, const dispatch::Dispatch& launches, device::Device& dev,
         isa::Codec& usedCodec, Options opts)
      : k0(object), dispatch(launches), device(dev), codec(usedCodec), options(std::move(opts)),
        timed(options.timed ? *options.timed : dispatch), pricer(device, timed, options.perturbations),
        bandit(options.seed, moveTable().size()), start(Clock::now()) {}

  Result<Outcome> run() {
    dispatch::shareContents(timed);
    ASMEVO_TRY(ledger, Ledger::open(options.ledger));
    ASMEVO_TRY(const Ledger::Job job, ledger->begin(jobKey()));
    outcome.resumed = job.resumed;
    spentBefore = job.seconds;
    for (const LedgerArm& arm : job.arms)
      bandit.prior(arm.windowClass, arm.move, arm.pulls, arm.gains);
    report("pricing K0");
    Accepted original;
    original.bytes.assign(k0.bytes().begin(), k0.bytes().end());
    original.hash = sha256Hex(original.bytes);
    ASMEVO_TRY(original.cycles, pricer.cycles(k0));
    ASMEVO_TRY(original.perturbed, pricer.perturbed(k0));
    outcome.baselineCycles = outcome.finalCycles = original.cycles;
    seen.insert(original.hash);
    lineage.emplace(std::move(original));
    ASMEVO_CHECK(climb());
    ASMEVO_CHECK(ledger->spent(secondsSince(reported)));
    ASMEVO_CHECK(finish());
    outcome.seconds = secondsSince(start);
    return std::move(outcome);
  }

 private:
  /// What the search is a function of.
  std::string jobKey() const {
    std::string text = fmt::format("{}\n{}\n{} {} {} {} {} {} {}\n", sha256Hex(k0.bytes()), device.name(), options.seed,
                                   options.maximumEffort, options.inPlace, options.perturbations,
                                   options.mostSignChanges, options.mutants, fmt::join(options.verify.seeds, ","));
    text += fmt::format("{} {} {} {}\n", options.verify.dataVariants, options.verify.furtherRounds,
                        options.verify.strict, fmt::join(options.disabledMoves, ","));
    for (const auto* launches : {&dispatch, &timed})
      for (const auto& launch : launches->cases) {
        text += fmt::format("{} {} {} {}", launch.kernel, fmt::join(launch.workgroupSize, ","),
                            fmt::join(launch.gridSize, ","), launch.dynamicLdsBytes);
        for (const auto& buffer : launch.buffers)
          text += fmt::format(" {} {} {}", buffer.name, buffer.sparseBytes, sha256Hex(buffer.initial));
        for (const auto& argument : launch.arguments)
          text += fmt::format(" {} {} {}", argument.buffer, argument.offset, sha256Hex(argument.bytes));
        text += '\n';
      }
    return sha256Hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }

  double timeLeft() const { return options.budgetSeconds - spentBefore - secondsSince(start); }
  bool expired() const {
    return timeLeft() <= 0 || (options.maximumCandidates != 0 && outcome.candidatesTried >= options.maximumCandidates);
  }

  void report(std::string_view doing) {
    if (!options.progress)
      return;
    const double seconds = std::max(1e-3, secondsSince(start));
    const double gain = outcome.finalCycles > 0 ? outcome.baselineCycles / outcome.finalCycles : 1;
    options.progress(fmt::format(
        "best {:.3f}x ({:.0f} cycles), {} candidates, {:.0f}/s, {} accepted, {:.0f} s left: {}", gain,
        outcome.finalCycles, outcome.candidatesTried, static_cast<double>(outcome.candidatesTried) / seconds,
        lineage ? lineage->size() - 1 : 0, std::max(0.0, timeLeft()), doing));
  }

  Status climb() {
    bool stale = true;
    std::optional<View> view;
    while (!expired()) {
      if (stale) {
        ASMEVO_TRY(view, viewOf((*lineage)[lineage->best()]));
        if (outcome.windows.empty())
          outcome.windows = view->windows;
        pool.clear();
        stale = false;
      }
      // Moves on the whole kernel first: they are few, and what they change (occupancy above all) decides what else is
      // worth trying.
      const auto whole =
          std::ranges::find_if(view->arms, [](const Arm& arm) { return arm.form.empty() && !arm.isOver(); });
      std::vector<Bandit::Choice> choices;
      std::vector<std::size_t> which;
      for (std::size_t i = 0; i < view->arms.size(); ++i)
        if (const Arm& arm = view->arms[i]; !arm.isOver() && (whole == view->arms.end() || arm.form.empty())) {
          choices.push_back({arm.windowClass, std::string(arm.move->name()), arm.stake});
          which.push_back(i);
        }
      if (!choices.empty()) {
        ASMEVO_CHECK(pull(*view, view->arms[which[bandit.choose(choices)]]));
        const bool worthIt = !pool.empty() && pool.front().cycles < outcome.finalCycles * (1 - bigGain);
        if (!worthIt)
          continue;
      }
      ASMEVO_TRY(const bool progressed, acceptFromPool(*view));
      stale = progressed;
      if (progressed) {
        effort = 0;
      } else if (choices.empty()) {
        if (++effort > options.maximumEffort)
          break;
        stale = true;
      }
    }
    // What was found before the budget ended is worth a last look.
    if (view && !stale && !pool.empty()) {
      ASMEVO_TRY([[maybe_unused]] const bool progressed, acceptFromPool(*view));
    }
    return {};
  }

  Result<View> viewOf(const Accepted& program) {
    ASMEVO_TRY(auto object, object::CodeObject::parse(program.bytes, k0.name()));
    ASMEVO_TRY(auto recovered, program::Program::recover(object, codec));
    for (auto& block : recovered.blocks)
      for (auto& instr : block.instrs)
        instr.inst = codec.complete(instr.inst);
    View v{std::move(object), std::move(recovered), nullptr, {}, {}, {}, {}, {}};
    ASMEVO_TRY(v.kernel, v.object.findKernel(dispatch.cases.front().kernel));
    ASMEVO_TRY(v.profile, pricer.heaviest(v.object));
    v.windows = rankWindows(v.object, v.program, *v.kernel, v.profile);
    ASMEVO_TRY(v.gates, gatesOf(v, program.cycles));
    if (v.gates.slack == 0) {
      ASMEVO_TRY(v.perturbedByOne, pricer.perturbedByOne(v.object));
    }
    ASMEVO_CHECK(makeArms(v));
    return v;
  }

  Result<Gates> gatesOf(const View& v, double cycles) const {
    Gates gates;
    gates.parentCycles = cycles;
    ASMEVO_TRY(gates.parentByOne, pricer.cyclesByOne(v.object));
    // One workgroup does not see what an edit does to those that behave otherwise.
    constexpr double unlikeSlack = 0.01;
    gates.slack = v.profile.behaviours > 1 ? unlikeSlack : 0;
    gates.accumOffset = v.kernel->descriptor.accumOffset(v.object.target());
    gates.hazards = program::hazardTargetOf(v.object.target());
    const auto kernel = static_cast<std::size_t>(v.kernel - v.object.kernels().data());
    if (lintsClean(v.program, kernel, gates.accumOffset, gates.hazards))
      gates.lintKernel = kernel;
    return gates;
  }

  Status makeArms(View& v) {
    std::set<program::BlockId> inLoops;
    if (const auto* function = v.program.functionOf(static_cast<std::size_t>(v.kernel - v.object.kernels().data())))
      for (const auto& loop : program::naturalLoops(v.program, *function))
        inLoops.insert(loop.blocks.begin(), loop.blocks.end());
    std::vector<HotWindow> hot;
    for (const HotWindow& window : v.windows)
      if (window.share >= leastShare && hot.size() < mostWindows)
        hot.push_back(window);
    // How many waves hide a latency decides what an edit is worth.
    const std::string around = fmt::format("{} {}", v.profile.wavesPerSimd, v.profile.occupancyLimiter);
    for (const Move* move : moveTable()) {
      if (std::ranges::find(options.disabledMoves, move->name()) != options.disabledMoves.end())
        continue;
      if (!move->isLocal()) {
        Arm arm;
        arm.move = move;
        arm.windows = v.windows;
        arm.windowClass = "kernel";
        v.arms.push_back(std::move(arm));
        continue;
      }
      for (const HotWindow& window : hot) {
        Arm arm;
        arm.move = move;
        arm.windows = {window};
        arm.form = canonicalForm(v.program.blocks[window.block].instrs) + around;
        if (useless.contains({arm.form, std::string(move->name()), effort}))
          continue;
        arm.windowClass = windowClass(v.program, window, inLoops.contains(window.block));
        arm.stake = window.share;
        ASMEVO_TRY(const auto lessons, ledger->lessons(arm.form));
        if (std::ranges::find(lessons, move->name()) != lessons.end())
          arm.stake *= lessonBoost;
        v.arms.push_back(std::move(arm));
      }
    }
    return {};
  }

  /// Prices the next proposals of an arm; faster ones go into the pool, fastest first.
  Status pull(const View& v, Arm& arm) {
    if (!arm.asked) {
      const auto& wg = timed.cases.front().workgroupSize;
      const MoveContext context{v.object,
                                *v.kernel,
                                codec,
                                v.profile,
                                arm.windows,
                                v.kernel->descriptor.accumOffset(v.object.target()),
                                wg[0] * wg[1] * wg[2],
                                effort,
                                &dispatch};
      for (Proposal& proposal : arm.move->propose(v.program, context))
        arm.queue.push_back(std::move(proposal));
      arm.asked = true;
    }
    report(arm.move->name());
    std::vector<Candidate> batch;
    while (!arm.queue.empty() && batch.size() < pullSize && !expired()) {
      Candidate candidate;
      candidate.proposal = std::move(arm.queue.front());
      candidate.move = arm.move;
      candidate.form = arm.form;
      candidate.windowClass = arm.windowClass;
      arm.queue.pop_front();
      if (!build(v, candidate))
        continue;
      candidate.number = ++outcome.candidatesTried;
      batch.push_back(std::move(candidate));
    }
    ASMEVO_TRY(const std::size_t fresh, priceAll(v.gates, batch));
    bool gained = false;
    for (Candidate& candidate : batch)
      if (candidate.cycles && *candidate.cycles < outcome.finalCycles) {
        gained = true;
        pool.push_back({std::move(candidate), 0});
        pool.back().cycles = *pool.back().candidate.cycles;
      }
    std::ranges::sort(pool, {}, [](const Pooled& p) { return std::pair(p.cycles, p.candidate.number); });
    arm.gained |= gained;
    if (!batch.empty() || arm.isOver())
      bandit.record(arm.windowClass, std::string(arm.move->name()), gained);
    if (fresh != 0)
      ASMEVO_CHECK(ledger->learn(arm.windowClass, std::string(arm.move->name()), gained));
    if (arm.isOver() && !arm.gained && arm.move->isLocal())
      useless.insert({arm.form, std::string(arm.move->name()), effort});
    if (secondsSince(reported) > 1) {
      ASMEVO_CHECK(ledger->spent(secondsSince(reported)));
      reported = Clock::now();
    }
    return {};
  }

  /// Lays a proposal out. False where that fails or the same bytes were tried before.
  bool build(const View& v, Candidate& candidate) {
    auto bytes = options.inPlace || !v.program.pinned.empty()
                     ? program::patchInPlace(v.object, candidate.proposal.program, codec)
                     : program::rebuild(v.object, candidate.proposal.program, codec);
    if (!bytes && !options.inPlace)
      bytes = program::patchInPlace(v.object, candidate.proposal.program, codec);
    if (!bytes) {
      ++outcome.candidatesRejected;
      return false;
    }
    candidate.bytes = *std::move(bytes);
    candidate.hash = sha256Hex(candidate.bytes);
    return seen.insert(candidate.hash).second;
  }

  /// Returns how many the ledger did not know.
  Result<std::size_t> priceAll(const Gates& gates, std::vector<Candidate>& batch) {
    std::vector<Candidate*> unknown;
    for (Candidate& candidate : batch) {
      ASMEVO_TRY(const auto known, ledger->price(candidate.hash));
      if (known) {
        candidate.cycles = known->cycles;
        ++outcome.fromLedger;
      } else {
        unknown.push_back(&candidate);
      }
    }
    priceInParallel(unknown, pricer, gates, k0.name(), options.threads);
    for (const Candidate* candidate : unknown) {
      outcome.candidatesRejected += !candidate->cycles;
      ASMEVO_CHECK(ledger->setPrice(candidate->hash, {candidate->cycles, {}}));
    }
    return unknown.size();
  }

  /// Edits of different blocks usually add up: tries them together first, then one by one.
  Result<bool> acceptFromPool(const View& v) {
    std::vector<Candidate> together = combine(v);
    if (together.size() > 1) {
      ASMEVO_TRY(const bool accepted, acceptMost(v, together));
      if (accepted)
        return true;
    }
    for (Pooled& pooled : std::exchange(pool, {})) {
      if (pooled.cycles >= outcome.finalCycles)
        break;
      std::vector<Candidate> single;
      single.push_back(std::move(pooled.candidate));
      ASMEVO_TRY(const bool accepted, tryAccept(v, single));
      if (accepted)
        return true;
      if (expired())
        break;
    }
    return false;
  }

  /// The longest part of a chain, from its start, that is accepted: all of it, else by bisection. The edit behind it is
  /// what was refused; those after that have their turn when the program they now belong to is looked at.
  Result<bool> acceptMost(const View& v, std::vector<Candidate>& chain) {
    std::size_t good = 0, bad = chain.size() + 1;
    for (std::size_t next = chain.size(); next > good; next = (good + bad) / 2) {
      ASMEVO_TRY(const bool accepted, tryAccept(v, std::span(chain).subspan(good, next - good)));
      (accepted ? good : bad) = next;
      if (expired())
        break;
    }
    return good > 0;
  }

  /// Candidates that improve on each other, each with the bytes and cycles of all up to it. Leaves out what changes
  /// resources or the graph, which a block-wise merge does not carry.
  std::vector<Candidate> combine(const View& v) {
    std::vector<Candidate> chain;
    std::set<program::BlockId> taken;
    for (const Pooled& pooled : pool) {
      const auto& edited = pooled.candidate.proposal.program;
      if (edited.blocks.size() != v.program.blocks.size() || !edited.resources.empty())
        continue;
      const auto changed = changedBlocks(v.program, edited);
      if (std::ranges::any_of(changed, [&](program::BlockId id) { return taken.contains(id); }))
        continue;
      if (chain.empty()) {
        Candidate first = pooled.candidate;
        if (!isRobustStep(v.perturbedByOne, first))
          continue;
        chain.push_back(std::move(first));
      } else {
        Candidate merged = pooled.candidate;
        merged.proposal.program = chain.back().proposal.program;
        for (const program::BlockId id : changed)
          merged.proposal.program.blocks[id] = edited.blocks[id];
        merged.proposal.program.relink();
        std::vector<Candidate> one;
        one.push_back(std::move(merged));
        if (!build(v, one.front()) || !priceAll(v.gates, one) || !one.front().cycles ||
            *one.front().cycles >= *chain.back().cycles || !isRobustStep(chain.back().perturbedByOne, one.front()))
          continue;
        chain.push_back(std::move(one.front()));
      }
      taken.insert(changed.begin(), changed.end());
    }
    return chain;
  }

  /// Whether the last edit of a chain is faster on chips near the nominal one as well. One workgroup tells, where they
  /// are alike: the chain as a whole is priced on the whole grid before it is accepted.
  bool isRobustStep(const std::vector<double>& before, Candidate& after) const {
    after.stepSpeedups.clear();
    const auto object = object::CodeObject::parse(after.bytes, k0.name());
    auto cycles =
        before.empty() || !object ? Result<std::vector<double>>(std::vector<double>()) : pricer.perturbedByOne(*object);
    after.perturbedByOne = cycles ? *std::move(cycles) : std::vector<double>();
    for (std::size_t i = 0; i < after.perturbedByOne.size(); ++i)
      after.stepSpeedups.push_back(before[i] / after.perturbedByOne[i]);
    return notRobust(before, after.perturbedByOne).empty();
  }

  /// Verifies the last of a chain, which holds all its edits, and makes it part of the lineage.
  Result<bool> tryAccept(const View& v, std::span<Candidate> chain) {
    Candidate& last = chain.back();
    const std::size_t parent = lineage->best();
    const std::string name = std::string(last.move->name());
    ASMEVO_TRY(auto perturbed, perturbedOf(last));
    if (const std::string why = notRobust((*lineage)[parent].perturbed, perturbed); !why.empty())
      return refuse(chain, {verify::Level::refused, why, "robustness"}, 0, {});
    std::vector<std::string> assumptions = outcome.assumptions;
    for (const Candidate& candidate : chain)
      for (const std::string& line : candidate.proposal.assumptions)
        if (std::ranges::find(assumptions, line) == assumptions.end())
          assumptions.push_back(line);
    const auto begun = Clock::now();
    ASMEVO_TRY(auto known, ledger->verdict(last.hash));
    std::vector<verify::WindowProof> windows;
    if (!known) {
      report(fmt::format("verifying {}", name));
      ASMEVO_TRY(known, verdictOf(last, assumptions, windows));
      ASMEVO_CHECK(ledger->setVerdict(last.hash, *known));
    }
    if (!verify::accepted(known->level))
      return refuse(chain, *known, secondsSince(begun), std::move(windows));
    outcome.attempts.push_back(
        {name, chain.size(), known->level, known->reason, secondsSince(begun), std::move(windows)});
    ASMEVO_CHECK(accept(v, chain, *known, std::move(perturbed), parent));
    outcome.assumptions = std::move(assumptions);
    return true;
  }

  Result<bool> refuse(std::span<const Candidate> chain, const LedgerVerdict& verdict, double seconds,
                      std::vector<verify::WindowProof> windows) {
    const std::string name = std::string(chain.back().move->name());
    ++outcome.candidatesRejected;
    outcome.attempts.push_back({name, chain.size(), verdict.level, verdict.reason, seconds, std::move(windows)});
    report(fmt::format("{} rejected: {}", name, verdict.reason));
    return false;
  }

  Status accept(const View& v, std::span<Candidate> chain, const LedgerVerdict& verdict, std::vector<double> perturbed,
                std::size_t parent) {
    Candidate& last = chain.back();
    Accepted program;
    program.parent = parent;
    double before = (*lineage)[parent].cycles;
    ASMEVO_TRY(const auto places, placesInK0(v));
    for (const Candidate& candidate : chain) {
      const auto [begin, end] = rangeInK0(v, places, candidate.proposal.begin, candidate.proposal.end);
      Edit edit{std::string(candidate.move->name()),
                candidate.proposal.reason,
                begin,
                end,
                before,
                *candidate.cycles,
                verdict.level,
                candidate.proposal.assumptions,
                {}};
      if (chain.size() > 1)
        edit.perturbedSpeedups = candidate.stepSpeedups; // none where workgroups differ: only the whole step is known
      else
        for (std::size_t i = 0; i < perturbed.size(); ++i)
          edit.perturbedSpeedups.push_back((*lineage)[parent].perturbed[i] / perturbed[i]);
      if (!candidate.form.empty())
        ASMEVO_CHECK(ledger->addLesson(candidate.form, edit.move, before / *candidate.cycles));
      before = *candidate.cycles;
      program.edits.push_back(std::move(edit));
    }
    program.cycles = *last.cycles;
    program.bytes = std::move(last.bytes);
    program.hash = last.hash;
    program.perturbed = std::move(perturbed);
    ASMEVO_CHECK(ledger->setAccepted(lineage->size(), program.hash, program.bytes, editsJson(program.edits)));
    lineage->add(std::move(program));
    gains.emplace_back(secondsSince(start), (*lineage)[lineage->size() - 1].cycles);
    outcome.finalCycles = (*lineage)[lineage->best()].cycles;
    return {};
  }

  Result<std::vector<double>> perturbedOf(const Candidate& candidate) {
    if (options.perturbations == 0)
      return std::vector<double>();
    ASMEVO_TRY(auto known, ledger->price(candidate.hash));
    if (known && !known->perturbed.empty())
      return std::move(known->perturbed);
    ASMEVO_TRY(const auto object, object::CodeObject::parse(candidate.bytes, k0.name()));
    ASMEVO_TRY(auto perturbed, pricer.perturbed(object));
    ASMEVO_CHECK(ledger->setPrice(candidate.hash, {candidate.cycles, perturbed}));
    return perturbed;
  }

  /// An edit that only the nominal numbers of the chip like is not taken.
  std::string notRobust(const std::vector<double>& before, const std::vector<double>& after) const {
    std::size_t slower = 0;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
      slower += after[i] >= before[i];
    if (slower <= options.mostSignChanges)
      return {};
    return fmt::format("faster on the nominal chip, but not on {} of {} chips near it", slower, after.size());
  }

  Result<LedgerVerdict> verdictOf(const Candidate& candidate, const std::vector<std::string>& assumptions,
                                  std::vector<verify::WindowProof>& windows) {
    ASMEVO_TRY(const auto object, object::CodeObject::parse(candidate.bytes, k0.name()));
    ASMEVO_CHECK(measureK0());
    verify::Options gate = options.verify;
    gate.stopAtFirst = true;
    ASMEVO_TRY(auto verdict, verify::verify(k0, object, dispatch, device, gate));
    verdict.level = capped(verdict.level, assumptions);
    if (verify::accepted(verdict.level) && verdict.level > verify::Level::proved) {
      ASMEVO_CHECK(scoreOnce());
      gate.mutationScore = options.verify.mutationScore;
      verify::applyMutationScore(verdict, gate);
    }
    windows = std::move(verdict.windows);
    return LedgerVerdict{verdict.level, verdict.reason, verdict.gate};
  }

  /// K0's own runs are the same for every candidate.
  Status measureK0() {
    if (options.verify.baseline)
      return {};
    report("K0's own runs");
    ASMEVO_TRY(options.verify.baseline, verify::measureBaseline(k0, dispatch, device, options.verify));
    return {};
  }

  /// How much the cases notice, before anything rests on them alone.
  Status scoreOnce() {
    if (options.mutants == 0 || !outcome.mutation.is_null())
      return {};
    constexpr double shareOfBudget = 0.25, shortest = 5;
    verify::MutationOptions mutation;
    mutation.mutants = options.mutants;
    mutation.timeLimitSeconds = std::max(shortest, shareOfBudget * options.budgetSeconds);
    mutation.gate = options.verify;
    mutation.progress = [&](std::size_t done, std::size_t all) {
      report(fmt::format("mutation score: {} of {} mutants judged", done, all));
    };
    ASMEVO_TRY(outcome.mutation, verify::cachedScore(k0, dispatch, device, mutation, options.scoreCache));
    options.verify.mutationScore = outcome.mutation["score"].get<double>();
    return {};
  }

  using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>; ///< by block: the range of its counterpart in K0

  Result<Places> placesInK0(const View& v) const {
    ASMEVO_TRY(const auto pair, verify::recoverPair(k0, v.object));
    const auto alignment = verify::alignBlocks(k0, pair.k0, v.object, pair.k1);
    Places places;
    for (program::BlockId id = 0; id < v.program.blocks.size(); ++id) {
      const auto counterpart = alignment.toK0[id];
      places.push_back(addressRange(counterpart ? pair.k0.blocks[*counterpart] : v.program.blocks[id]));
    }
    return places;
  }

  static std::pair<std::uint64_t, std::uint64_t> rangeInK0(const View& v, const Places& places, std::uint64_t begin,
                                                           std::uint64_t end) {
    const auto blockOf = [&](std::uint64_t address) {
      std::size_t at = 0;
      while (at + 1 < v.program.blocks.size() && v.program.blocks[at + 1].address <= address)
        ++at;
      return at;
    };
    return {places[blockOf(begin)].first, places[blockOf(end > begin ? end - 1 : begin)].second};
  }

  /// The verdict that goes into the receipt: of the fastest program that passes everything. Where it does not, a
  /// program between it and K0 that does, found by bisection of the lineage.
  Status finish() {
    std::vector<std::size_t> path; // K0 first
    for (std::size_t at = lineage->best(); at != 0; at = (*lineage)[at].parent)
      path.push_back(at);
    path.push_back(0);
    std::ranges::reverse(path);
    std::size_t good = 0, bad = path.size();
    for (std::size_t next = path.size() - 1; next > good; next = (good + bad) / 2) {
      ASMEVO_TRY(const bool passes, passesEverything(path[next]));
      (passes ? good : bad) = next;
    }
    if (good != 0)
      return {};
    outcome.edits.clear();
    outcome.assumptions.clear();
    outcome.finalCycles = outcome.baselineCycles;
    return {};
  }

  /// Fills in the outcome where it does.
  Result<bool> passesEverything(std::size_t at) {
    const Accepted& program = (*lineage)[at];
    ASMEVO_TRY(const auto object, object::CodeObject::parse(program.bytes, k0.name()));
    ASMEVO_CHECK(measureK0());
    report("the last verification");
    ASMEVO_TRY(auto verdict, verify::verify(k0, object, dispatch, device, options.verify));
    std::vector<Edit> edits = lineage->editsOf(at);
    std::vector<std::string> assumptions;
    for (const Edit& edit : edits)
      for (const std::string& line : edit.assumptions)
        if (std::ranges::find(assumptions, line) == assumptions.end())
          assumptions.push_back(line);
    verdict.level = capped(verdict.level, assumptions);
    if (!assumptions.empty())
      verdict.reason += fmt::format("; it rests on the dispatch: {}", fmt::join(assumptions, "; "));
    if (!verify::accepted(verdict.level))
      return false;
    if (options.finalCases) {
      report("verification on the final cases");
      verify::Options once = options.verify;
      once.baseline.reset();
      once.seeds = {once.seeds.empty() ? 0 : once.seeds.front()};
      once.dataVariants = 0;
      ASMEVO_TRY(auto last, verify::verify(k0, object, *options.finalCases, device, once));
      // Production sizes need not reach every block: the verified cases do.
      const bool equal = last.newStrictFindings.empty() &&
                         std::ranges::all_of(last.cases, [](const verify::CaseResult& one) { return one.equal; });
      if (last.gate == "coverage" && equal) {
        last.level = verify::Level::exact;
        last.gate.clear();
        last.reason = "every buffer of every case is bit-equal; edited blocks that these do not execute the verified "
                      "cases do";
      }
      last.level = capped(last.level, assumptions);
      if (!verify::accepted(last.level))
        return false;
      outcome.finalVerdict = std::move(last);
    }
    const double nineTenths = outcome.baselineCycles - 0.9 * (outcome.baselineCycles - program.cycles);
    const auto first = std::ranges::find_if(gains, [&](const auto& gain) { return gain.second <= nineTenths; });
    outcome.secondsToNineTenths = first == gains.end() ? 0 : first->first;
    outcome.improved = true;
    outcome.k1 = program.bytes;
    outcome.finalCycles = program.cycles;
    outcome.verdict = std::move(verdict);
    outcome.edits = std::move(edits);
    outcome.assumptions = std::move(assumptions);
    outcome.perturbedSpeedups.clear();
    for (std::size_t i = 0; i < program.perturbed.size(); ++i)
      outcome.perturbedSpeedups.push_back((*lineage)[0].perturbed[i] / program.perturbed[i]);
    return true;
  }

  struct Pooled {
    Candidate candidate;
    double cycles = 0;
  };

  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  isa::Codec& codec;
  Options options;
  dispatch::Dispatch timed;
  Pricer pricer;
  Bandit bandit;
  Clock::time_point start, reported = Clock::now();
  double spentBefore = 0;
  std::unique_ptr<Ledger> ledger;
  std::optional<Lineage> lineage;
  std::vector<Pooled> pool; ///< faster candidates of the view that wait for verification
  std::set<std::string> seen;
  std::set<std::tuple<std::string, std::string, unsigned>> useless; ///< window, move, effort
  unsigned effort = 0;
  std::vector<std::pair<double, double>> gains; ///< seconds and cycles of every accepted program
  Outcome outcome;
};

} // namespace

Result<Outcome> optimize(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device,
                         const Options& options) {
  if (dispatch.cases.empty() || (options.timed && options.timed->cases.empty()))
    return badInput("{}: no cases to optimize for", dispatch.path);
  ASMEVO_TRY(auto codec, isa::Codec::create(k0));
  return Search(k0, dispatch, device, *codec, options).run();
}

} // namespace asmevo::optimize
