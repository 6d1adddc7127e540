#include "optimize/search/search.h"

#include "optimize/search/canonical.h"
#include "optimize/search/cleanup.h"
#include "support/file_io.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace asmevo::optimize {

namespace {

/// Windows of less than that share of the time are not worth an edit of their own.
constexpr double leastShare = 0.01;
constexpr std::size_t mostWindows = 12;
/// Candidates priced before the bandit chooses again.
constexpr std::size_t pullSize = 8;
/// A gain that is worth a verification at once; smaller ones wait for company.
constexpr double bigGain = 0.01;
/// How much less often an arm is tried that found nothing on the same window in another kernel.
constexpr double uselessDiscount = 0.125;
/// How much slower than the fastest a program of another shape may be that the search builds on, and one of the same.
constexpr double otherShapeSlack = 0.05, sameShapeSlack = 0.003;
/// Jobs of searches that would go other ways are others.
constexpr int generation = 2;

} // namespace

Search::Search(const object::CodeObject& object, const dispatch::Dispatch& launches, device::Device& dev,
               isa::Codec& usedCodec, Options opts)
    : k0(object), dispatch(launches), device(dev), codec(usedCodec), options(std::move(opts)),
      timed(options.timed ? *options.timed : dispatch), pricer(device, timed, options.perturbations),
      budget(options.budgetSeconds),
      gate(k0, dispatch, device, options, budget, [this](const std::string& doing) { report(doing); }),
      bandit(options.seed, moveTable().size()) {
  const auto isEnabled = [&](const Move* move) {
    return std::ranges::find(options.disabledMoves, move->name()) == options.disabledMoves.end();
  };
  std::ranges::copy_if(options.moves ? *options.moves : moveTable(), std::back_inserter(moves), isEnabled);
  std::ranges::copy_if(cleaningMoves(), std::back_inserter(cleaning),
                       [&](const Move* move) { return std::ranges::find(moves, move) != moves.end(); });
}

Result<Outcome> Search::run() {
  dispatch::shareContents(timed);
  ASMEVO_TRY(ledger, Ledger::open(options.ledger));
  ASMEVO_TRY(const Ledger::Job job, ledger->begin(jobKey()));
  outcome.resumed = job.resumed;
  budget.spentBefore(job.seconds);
  ASMEVO_TRY(acceptedBefore, ledger->acceptedCount());
  for (const LedgerArm& arm : job.arms)
    bandit.prior(arm.windowClass, arm.move, arm.pulls, arm.gains);
  report("the price of K0");
  Accepted original;
  original.bytes.assign(k0.bytes().begin(), k0.bytes().end());
  original.hash = sha256Hex(original.bytes);
  ASMEVO_TRY(original.cycles, pricer.cycles(k0));
  ASMEVO_TRY(original.perturbed, pricer.perturbed(k0));
  outcome.baselineCycles = outcome.finalCycles = original.cycles;
  seen.insert(original.hash);
  population.lead({original.bytes, original.hash, original.cycles, 0, {}, {}, {}, 0, 0}, otherShapeSlack);
  lineage.emplace(std::move(original));
  if (!expired()) {
    ASMEVO_CHECK(gate.baseline());
  }
  {
    const Budget::During during(budget, Phase::moves);
    ASMEVO_CHECK(climb());
  }
  ASMEVO_CHECK(ledger->spent(budget.elapsed() - reported));
  {
    const Budget::During during(budget, Phase::last);
    ASMEVO_CHECK(finish());
  }
  outcome.mutation = gate.mutation();
  outcome.seconds = budget.elapsed();
  for (std::size_t i = 0; i < phaseCount; ++i)
    outcome.phaseSeconds[std::string(phaseName(static_cast<Phase>(i)))] = budget.seconds(static_cast<Phase>(i));
  return std::move(outcome);
}

/// What the search is a function of.
std::string Search::jobKey() const {
  std::string text = fmt::format("{}\n{}\n{}\n{} {} {} {} {} {} {}\n", generation, sha256Hex(k0.bytes()), device.name(),
                                 options.seed, options.maximumEffort, options.inPlace, options.perturbations,
                                 options.mostSignChanges, options.mutants, fmt::join(options.verify.seeds, ","));
  text += fmt::format("{} {} {}", options.verify.dataVariants, options.verify.furtherRounds, options.verify.strict);
  for (const Move* move : moves)
    text += fmt::format(" {}", move->name());
  text += '\n';
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

/// What decides whether a move is of use to a window besides the window: the program around it and what it is timed on.
std::string Search::scopeOf(const View& v) const {
  std::string text = v.hash + device.name();
  for (const auto& launch : timed.cases)
    text +=
        fmt::format("\n{} {} {}", launch.kernel, fmt::join(launch.workgroupSize, ","), fmt::join(launch.gridSize, ","));
  return sha256Hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

bool Search::expired() const {
  if (options.maximumCandidates != 0 && outcome.candidatesTried >= options.maximumCandidates)
    return true;
  // What earlier runs of the job accepted is always found again.
  if (lineage && lineage->size() <= acceptedBefore)
    return false;
  return budget.isOver();
}

void Search::report(std::string_view doing) {
  if (!options.progress)
    return;
  const double seconds = std::max(1e-3, budget.elapsed());
  const double gain = outcome.finalCycles > 0 ? outcome.baselineCycles / outcome.finalCycles : 1;
  options.progress(
      fmt::format("best {:.3f}x ({:.0f} cycles), {} candidates, {:.0f}/s, {} accepted, {:.0f} s left, {}: {}", gain,
                  outcome.finalCycles, outcome.candidatesTried, static_cast<double>(outcome.candidatesTried) / seconds,
                  lineage ? lineage->size() - 1 : 0, std::max(0.0, budget.left()), phaseName(budget.phase()), doing));
}

Status Search::climb() {
  while (!expired()) {
    auto next = population.next(options.maximumEffort);
    if (!next) {
      outcome.ended = population.isExhausted() ? "nothing left to try" : "effort";
      return {};
    }
    standing = *std::move(next);
    const std::size_t before = outcome.candidatesTried;
    ASMEVO_TRY(const bool accepted, round());
    if (accepted) {
      const Accepted& best = (*lineage)[lineage->best()];
      population.lead({best.bytes, best.hash, best.cycles, lineage->best(), {}, {}, {}, 0, 0}, otherShapeSlack);
      if (lineage->size() - 1 == acceptedBefore)
        budget.countFromHere();
    } else {
      population.finished(standing.hash, outcome.candidatesTried != before);
    }
  }
  outcome.ended =
      options.maximumCandidates != 0 && outcome.candidatesTried >= options.maximumCandidates ? "candidates" : "budget";
  return {};
}

/// All arms of the parent whose round it is, until a faster program is accepted: true then.
Result<bool> Search::round() {
  if (!standing.pending.empty()) {
    // What it costs may have been an estimate.
    ASMEVO_TRY(const auto object, object::CodeObject::parse(standing.bytes, k0.name()));
    const auto cycles = pricer.cycles(object);
    if (!cycles || *cycles > fastest() * (1 + otherShapeSlack)) {
      population.remove(standing.hash);
      return false;
    }
    standing.cycles = *cycles;
  }
  // Rounds of the same program differ in effort alone.
  std::optional<View>& kept = standing.pending.empty() ? leaderView : otherView;
  if (!kept || kept->hash != standing.hash) {
    ASMEVO_TRY(kept, viewOf(standing.bytes, k0.name(), dispatch.cases.front().kernel, standing.cycles, codec, pricer));
  }
  View& view = *kept;
  if (outcome.windows.empty())
    outcome.windows = view.windows;
  pool.clear();
  budget.setAside(lineage->size() == 1 ? 0 : gate.costOfLast());
  ASMEVO_CHECK(makeArms(view));
  while (!expired()) {
    ASMEVO_TRY(Arm* const arm, nextArm(view));
    if (arm) {
      ASMEVO_CHECK(pull(view, *arm));
      const bool worthIt = !pool.empty() && pool.front().cycles < fastest() * (1 - bigGain);
      // Of all the ways to make a hot loop anew the best is wanted.
      if (!worthIt ||
          std::ranges::any_of(view.arms, [](const Arm& open) { return !open.isOver() && open.isReshaping(); }))
        continue;
    }
    ASMEVO_TRY(const bool accepted, acceptFromPool(view));
    if (accepted)
      return true;
    if (!arm)
      return false;
  }
  // What was found before the budget ended is worth a last look.
  return pool.empty() ? Result<bool>(false) : acceptFromPool(view);
}

Status Search::makeArms(View& v) {
  v.arms.clear();
  std::vector<HotWindow> hot;
  for (const HotWindow& window : v.windows)
    if (window.share >= leastShare && hot.size() < mostWindows)
      hot.push_back(window);
  // How many waves hide a latency decides what an edit is worth.
  const std::string around = fmt::format("{} {}", v.profile.wavesPerSimd, v.profile.occupancyLimiter);
  const std::string scope = scopeOf(v);
  for (const Move* move : moves) {
    if (standing.effort != 0 && !move->growsWithEffort())
      continue;
    const std::string name(move->name());
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
      arm.form = canonicalForm(v.program.blocks[window.block].instrs);
      arm.memo = arm.form + around;
      if (useless.contains({arm.memo, name, standing.effort}))
        continue;
      arm.windowClass = windowClass(v.program, window, v.inLoops.contains(window.block));
      arm.stake = window.share;
      ASMEVO_TRY(const auto use, ledger->useOf(scope, arm.memo, name, standing.effort));
      if (use == Ledger::Use::none)
        continue;
      if (use == Ledger::Use::noneElsewhere)
        arm.stake *= uselessDiscount;
      ASMEVO_TRY(const auto lessons, ledger->lessons(arm.form));
      for (const LedgerLesson& lesson : lessons)
        if (lesson.move == name)
          arm.lessons.push_back(lesson.reason);
      v.arms.push_back(std::move(arm));
    }
  }
  return {};
}

/// What paid on the same window in another kernel first. Then moves on the whole kernel: they are few, and what they
/// change (occupancy above all) decides what else is worth trying. Then what makes hot loops anew. Null: all are over.
Result<Arm*> Search::nextArm(View& v) {
  const auto open = [](auto&& is) { return [is](const Arm& arm) { return !arm.isOver() && is(arm); }; };
  const auto taught = std::ranges::find_if(v.arms, open([](const Arm& arm) { return !arm.lessons.empty(); }));
  if (taught != v.arms.end())
    return &*taught;
  const auto isWhole = [](const Arm& arm) { return arm.form.empty(); };
  const auto isReshaping = [](const Arm& arm) { return arm.isReshaping(); };
  const bool whole = std::ranges::any_of(v.arms, open(isWhole));
  const bool reshaping = !whole && std::ranges::any_of(v.arms, open(isReshaping));
  std::vector<Bandit::Choice> choices;
  std::vector<Arm*> which;
  for (Arm& arm : v.arms)
    if (!arm.isOver() && (!whole || isWhole(arm)) && (!reshaping || isReshaping(arm))) {
      choices.push_back({arm.windowClass, std::string(arm.move->name()), arm.stake});
      which.push_back(&arm);
    }
  return which.empty() ? nullptr : which[bandit.choose(choices)];
}

MoveContext Search::contextOf(const View& v, const std::vector<HotWindow>& windows) const {
  const auto& wg = timed.cases.front().workgroupSize;
  return {v.object,        *v.kernel, codec,    v.profile, windows, v.accumOffset(), wg[0] * wg[1] * wg[2],
          standing.effort, &dispatch, &evidence};
}

/// What a lesson is about comes first.
Status Search::propose(const View& v, Arm& arm) {
  report(arm.move->name());
  const auto isTaught = [&](const Proposal& proposal) {
    return std::ranges::find(arm.lessons, proposal.reason) != arm.lessons.end();
  };
  for (Proposal& proposal : arm.move->propose(v.program, contextOf(v, arm.windows)))
    arm.queue.push_back(std::move(proposal));
  if (const auto first = std::ranges::find_if(arm.queue, isTaught); first != arm.queue.end())
    std::rotate(arm.queue.begin(), first, first + 1);
  arm.asked = true;
  return {};
}

/// Prices the next proposals of an arm.
Status Search::pull(View& v, Arm& arm) {
  if (!arm.asked)
    ASMEVO_CHECK(propose(v, arm));
  // What is known to pay is tried alone.
  const bool taught =
      !arm.queue.empty() && std::ranges::find(arm.lessons, arm.queue.front().reason) != arm.lessons.end();
  if (!taught && !arm.lessons.empty()) {
    arm.lessons.clear();
    return {};
  }
  std::vector<Candidate> batch;
  while (!arm.queue.empty() && batch.size() < (taught ? 1 : pullSize) && !expired()) {
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
  arm.lessons.clear();
  ASMEVO_TRY(const std::size_t fresh, priceAll(v.gates, batch));
  ASMEVO_TRY(const std::size_t faster, sort(v, batch, arm));
  if (!pool.empty())
    budget.setAside(gate.costOfOne() + gate.costOfLast());
  const std::string name(arm.move->name());
  if (!batch.empty() || arm.isOver())
    bandit.record(arm.windowClass, name, faster != 0);
  if (fresh != 0)
    ASMEVO_CHECK(ledger->learn(arm.windowClass, name, faster != 0));
  if (arm.isOver() && !arm.isUseful && !arm.form.empty() && !expired()) {
    useless.insert({arm.memo, name, standing.effort});
    ASMEVO_CHECK(ledger->addUseless(scopeOf(v), arm.memo, name, standing.effort));
  }
  if (budget.elapsed() - reported > 1) {
    ASMEVO_CHECK(ledger->spent(budget.elapsed() - reported));
    reported = budget.elapsed();
  }
  return {};
}

Result<std::size_t> Search::sort(const View& v, std::vector<Candidate>& batch, Arm& arm) {
  std::size_t faster = 0;
  for (Candidate& candidate : batch) {
    if (!candidate.cycles)
      continue;
    if (*candidate.cycles < fastest() && !candidate.stoppedByOne) {
      ++faster;
      const double cycles = *candidate.cycles;
      pool.push_back({std::move(candidate), cycles});
    } else {
      ASMEVO_TRY(const bool offered, offer(v, candidate));
      arm.isUseful |= offered;
    }
  }
  arm.isUseful |= faster != 0;
  std::ranges::sort(pool, {}, [](const Pooled& p) { return std::pair(p.cycles, p.candidate.number); });
  return faster;
}

/// A candidate that is no faster than the fastest program but near it, from which a faster one may be reached.
Result<bool> Search::offer(const View& v, const Candidate& candidate) {
  const bool otherShape = candidate.standsAlone;
  const bool closer = !standing.pending.empty() && *candidate.cycles < standing.cycles;
  const double slack = otherShape || closer ? otherShapeSlack : sameShapeSlack;
  if (*candidate.cycles > fastest() * (1 + slack) || standing.pending.size() >= Population::mostPending ||
      !population.hasRoomFor(*candidate.cycles) || !passesLint(candidate, v.gates))
    return false;
  Parent parent;
  const std::span<const Candidate> one(&candidate, 1);
  ASMEVO_TRY(auto edits, editsOf(v, one, standing.cycles));
  parent.pending = standing.pending;
  parent.pending.insert(parent.pending.end(), std::make_move_iterator(edits.begin()),
                        std::make_move_iterator(edits.end()));
  parent.bytes = candidate.bytes;
  parent.hash = candidate.hash;
  parent.cycles = *candidate.cycles;
  parent.verified = standing.verified;
  parent.form = standing.pending.empty() ? candidate.form : standing.form;
  parent.place = fmt::format("{} {}", candidate.move->name(), candidate.form);
  population.offer(std::move(parent));
  return true;
}

/// Lays a proposal out, cleaned where it needs that. False where that fails or the same bytes were tried before.
bool Search::build(const View& v, Candidate& candidate) {
  const program::Program& edited = candidate.proposal.program;
  candidate.standsAlone = edited.blocks.size() != v.program.blocks.size() || !edited.resources.empty();
  auto bytes = options.inPlace || !v.program.pinned.empty() ? program::patchInPlace(v.object, edited, codec)
                                                            : program::rebuild(v.object, edited, codec);
  if (!bytes && !options.inPlace)
    bytes = program::patchInPlace(v.object, edited, codec);
  if (!bytes) {
    ++outcome.candidatesRejected;
    return false;
  }
  candidate.bytes = *std::move(bytes);
  if (!cleaning.empty() && needsCleaning(v.program, edited))
    clean(v, candidate);
  candidate.hash = sha256Hex(candidate.bytes);
  return seen.insert(candidate.hash).second;
}

void Search::clean(const View& v, Candidate& candidate) {
  auto result = cleaned(candidate.bytes, v.kernel->name, contextOf(v, v.windows), cleaning, pricer);
  if (!result)
    return;
  auto bytes = options.inPlace || !result->program.pinned.empty()
                   ? program::patchInPlace(result->object, result->program, codec)
                   : program::rebuild(result->object, result->program, codec);
  if (!bytes)
    return;
  candidate.bytes = *std::move(bytes);
  candidate.proposal.program = std::move(result->program);
  candidate.proposal.reason += fmt::format("; then {}", fmt::join(result->reasons, ", "));
  for (std::string& line : result->assumptions)
    if (std::ranges::find(candidate.proposal.assumptions, line) == candidate.proposal.assumptions.end())
      candidate.proposal.assumptions.push_back(std::move(line));
  candidate.standsAlone = true;
}

/// Returns how many the ledger did not know. Those that no time was left for are taken out.
Result<std::size_t> Search::priceAll(const Gates& gates, std::vector<Candidate>& batch) {
  const Budget::During during(budget, Phase::pricing);
  std::vector<Candidate*> unknown;
  for (Candidate& candidate : batch) {
    ASMEVO_TRY(const auto known, ledger->price(candidate.hash));
    if (known) {
      candidate.cycles = known->cycles;
      candidate.stoppedByOne = known->byOne;
      ++outcome.fromLedger;
    } else {
      unknown.push_back(&candidate);
    }
  }
  const bool isFree = lineage->size() <= acceptedBefore;
  const auto stop = [&] { return !isFree && budget.isOver(); };
  const std::size_t done = priceInParallel(unknown, pricer, gates, k0.name(), options.threads, stop);
  std::set<const Candidate*> late(unknown.begin() + static_cast<std::ptrdiff_t>(done), unknown.end());
  unknown.resize(done);
  for (const Candidate* candidate : unknown) {
    outcome.candidatesRejected += !candidate->cycles;
    ASMEVO_CHECK(ledger->setPrice(candidate->hash, {candidate->cycles, {}, candidate->stoppedByOne}));
  }
  outcome.candidatesTried -= std::min(late.size(), outcome.candidatesTried);
  std::erase_if(batch, [&](const Candidate& candidate) { return late.contains(&candidate); });
  return unknown.size();
}

Result<Outcome> optimize(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device,
                         const Options& options) {
  if (dispatch.cases.empty() || (options.timed && options.timed->cases.empty()))
    return badInput("{}: no cases to optimize for", dispatch.path);
  ASMEVO_TRY(auto codec, isa::Codec::create(k0));
  return Search(k0, dispatch, device, *codec, options).run();
}

} // namespace asmevo::optimize
