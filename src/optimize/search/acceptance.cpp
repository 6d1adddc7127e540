// From candidates that are faster to verified programs, and from those to the result.
#include "optimize/moves/move_support.h"
#include "optimize/search/search.h"
#include "support/file_io.h"
#include "verify/alignment.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace asmevo::optimize {

namespace {

void addMissing(std::vector<std::string>& list, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    if (std::ranges::find(list, line) == list.end())
      list.push_back(line);
}

std::vector<std::string> assumptionsOf(const std::vector<Edit>& edits) {
  std::vector<std::string> lines;
  for (const Edit& edit : edits)
    addMissing(lines, edit.assumptions);
  return lines;
}

/// Edits that pay only together as one.
Edit joined(const std::vector<Edit>& edits, double before) {
  Edit all = edits.front();
  all.cyclesBefore = before;
  all.cyclesAfter = edits.back().cyclesAfter;
  all.assumptions = assumptionsOf(edits);
  for (const Edit& edit : std::span(edits).subspan(1)) {
    if (edit.move != all.move)
      all.move += "+" + edit.move;
    all.reason += "; then " + edit.reason;
    all.begin = std::min(all.begin, edit.begin);
    all.end = std::max(all.end, edit.end);
  }
  return all;
}

} // namespace

/// Whether a verification of a candidate, and the last one, still fit. Where nothing was accepted yet, a result that is
/// late by less than that is better than none.
bool Search::hasTimeToVerify() const {
  const double need = gate.costOfOne() + gate.costOfLast();
  return lineage->size() <= acceptedBefore || budget.left() >= (lineage->size() == 1 ? need / 2 : need);
}

/// Edits of different blocks usually add up: tries them together first, then one by one.
Result<bool> Search::acceptFromPool(const View& v) {
  std::vector<Candidate> together = combine(v);
  if (together.size() > 1) {
    ASMEVO_TRY(const bool accepted, acceptMost(v, together));
    if (accepted)
      return true;
  }
  for (Pooled& pooled : std::exchange(pool, {})) {
    if (pooled.cycles >= fastest())
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
Result<bool> Search::acceptMost(const View& v, std::vector<Candidate>& chain) {
  if (!standing.pending.empty()) // its parts need not be faster than the fastest
    return tryAccept(v, chain);
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
std::vector<Candidate> Search::combine(const View& v) {
  std::vector<Candidate> chain;
  std::set<program::BlockId> taken;
  for (const Pooled& pooled : pool) {
    if (pooled.candidate.standsAlone)
      continue;
    const auto& edited = pooled.candidate.proposal.program;
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
      if (!build(v, one.front()) || !priceAll(v.gates, one) || one.empty() || !one.front().cycles ||
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
bool Search::isRobustStep(const std::vector<double>& before, Candidate& after) const {
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
Result<bool> Search::tryAccept(const View& v, std::span<Candidate> chain) {
  Candidate& last = chain.back();
  if (!hasTimeToVerify())
    return false;
  const std::size_t from = standing.pending.empty() ? lineage->best() : standing.verified;
  ASMEVO_TRY(auto perturbed, perturbedOf(last));
  // Not only than what it was made of: it takes the place of the fastest.
  for (const std::size_t other : {from, lineage->best()})
    if (const std::string why = notRobust((*lineage)[other].perturbed, perturbed); !why.empty())
      return refuse(chain, {verify::Level::refused, why, "robustness"}, 0, {});
  std::vector<std::string> assumptions = assumptionsOf(lineage->editsOf(from));
  addMissing(assumptions, assumptionsOf(standing.pending));
  for (const Candidate& candidate : chain)
    addMissing(assumptions, candidate.proposal.assumptions);
  const double begun = budget.elapsed();
  ASMEVO_TRY(auto known, ledger->verdict(last.hash));
  std::vector<verify::WindowProof> windows;
  if (!known) {
    const Budget::During during(budget, Phase::verification);
    report(last.move->name());
    ASMEVO_TRY(const auto object, object::CodeObject::parse(last.bytes, k0.name()));
    // Once there is a result, none that may be better makes it late.
    const bool isBound = lineage->size() > 1 && lineage->size() > acceptedBefore;
    const double most = isBound ? std::max(0.1, budget.left() - gate.costOfLast()) : 0;
    ASMEVO_TRY(auto verdict, gate.candidate(object, assumptions, most));
    windows = std::move(verdict.windows);
    known = LedgerVerdict{verdict.level, verdict.reason, verdict.gate};
    if (known->level != verify::Level::timeout)
      ASMEVO_CHECK(ledger->setVerdict(last.hash, *known));
  }
  if (!verify::accepted(known->level)) {
    // What comes of a parent that is wrong is wrong.
    if (!standing.pending.empty())
      population.remove(standing.hash);
    return refuse(chain, *known, budget.elapsed() - begun, std::move(windows));
  }
  outcome.attempts.push_back({std::string(last.move->name()), chain.size() + standing.pending.size(), known->level,
                              known->reason, budget.elapsed() - begun, std::move(windows)});
  ASMEVO_CHECK(accept(v, chain, *known, std::move(perturbed), from));
  outcome.assumptions = std::move(assumptions);
  return true;
}

Result<bool> Search::refuse(std::span<const Candidate> chain, const LedgerVerdict& verdict, double seconds,
                            std::vector<verify::WindowProof> windows) {
  const std::string name = std::string(chain.back().move->name());
  ++outcome.candidatesRejected;
  outcome.attempts.push_back(
      {name, chain.size() + standing.pending.size(), verdict.level, verdict.reason, seconds, std::move(windows)});
  report(fmt::format("{} rejected: {}", name, verdict.reason));
  return false;
}

Result<std::vector<Edit>> Search::editsOf(const View& v, std::span<const Candidate> chain, double before) {
  ASMEVO_TRY(const auto places, placesInK0(v));
  const auto placeOf = [&](std::uint64_t address) {
    std::size_t at = 0;
    while (at + 1 < v.program.blocks.size() && v.program.blocks[at + 1].address <= address)
      ++at;
    return places[at];
  };
  std::vector<Edit> edits;
  for (const Candidate& candidate : chain) {
    const Proposal& proposal = candidate.proposal;
    Edit edit;
    edit.move = std::string(candidate.move->name());
    edit.reason = proposal.reason;
    edit.begin = placeOf(proposal.begin).first;
    edit.end = placeOf(proposal.end > proposal.begin ? proposal.end - 1 : proposal.begin).second;
    edit.cyclesBefore = before;
    edit.cyclesAfter = before = *candidate.cycles;
    edit.assumptions = proposal.assumptions;
    edit.perturbedSpeedups = candidate.stepSpeedups; // none where workgroups differ: only the whole step is known
    edits.push_back(std::move(edit));
  }
  return edits;
}

Status Search::accept(const View& v, std::span<Candidate> chain, const LedgerVerdict& verdict,
                      std::vector<double> perturbed, std::size_t from) {
  Candidate& last = chain.back();
  const Accepted& parent = (*lineage)[from];
  Accepted program;
  program.parent = from;
  ASMEVO_TRY(program.edits, editsOf(v, chain, standing.pending.empty() ? parent.cycles : standing.cycles));
  std::string form = standing.form;
  if (!standing.pending.empty()) {
    std::vector<Edit> all = standing.pending;
    all.insert(all.end(), program.edits.begin(), program.edits.end());
    const LedgerLesson lesson{all.front().move, all.front().reason, parent.cycles / *last.cycles};
    if (!standing.form.empty())
      ASMEVO_CHECK(ledger->addLesson(standing.form, lesson));
    program.edits = {joined(all, parent.cycles)};
  } else {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const Edit& edit = program.edits[i];
      if (!chain[i].form.empty())
        ASMEVO_CHECK(ledger->addLesson(chain[i].form, {edit.move, edit.reason, edit.cyclesBefore / edit.cyclesAfter}));
    }
  }
  if (program.edits.size() == 1) {
    program.edits.front().perturbedSpeedups.clear();
    for (std::size_t i = 0; i < perturbed.size(); ++i)
      program.edits.front().perturbedSpeedups.push_back(parent.perturbed[i] / perturbed[i]);
  }
  for (Edit& edit : program.edits) {
    edit.level = verdict.level;
    edit.seconds = budget.elapsed();
  }
  program.cycles = *last.cycles;
  program.bytes = std::move(last.bytes);
  program.hash = last.hash;
  program.perturbed = std::move(perturbed);
  ASMEVO_CHECK(ledger->setAccepted(lineage->size(), program.hash, program.bytes, editsJson(program.edits)));
  outcome.steps.push_back({budget.elapsed(), program.cycles});
  lineage->add(std::move(program));
  outcome.finalCycles = fastest();
  if (lineage->size() == 2)
    ASMEVO_CHECK(gate.measureFinal());
  budget.setAside(gate.costOfLast());
  return {};
}

Result<std::vector<double>> Search::perturbedOf(const Candidate& candidate) {
  if (options.perturbations == 0)
    return std::vector<double>();
  ASMEVO_TRY(auto known, ledger->price(candidate.hash));
  if (known && !known->perturbed.empty())
    return std::move(known->perturbed);
  const Budget::During during(budget, Phase::pricing);
  ASMEVO_TRY(const auto object, object::CodeObject::parse(candidate.bytes, k0.name()));
  ASMEVO_TRY(auto perturbed, pricer.perturbed(object));
  ASMEVO_CHECK(ledger->setPrice(candidate.hash, {candidate.cycles, perturbed, candidate.stoppedByOne}));
  return perturbed;
}

/// An edit that only the nominal numbers of the chip like is not taken.
std::string Search::notRobust(const std::vector<double>& before, const std::vector<double>& after) const {
  std::size_t slower = 0;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    slower += after[i] >= before[i];
  if (slower <= options.mostSignChanges)
    return {};
  return fmt::format("faster on the nominal chip, but not on {} of {} chips near it", slower, after.size());
}

Result<Search::Places> Search::placesInK0(const View& v) const {
  ASMEVO_TRY(const auto pair, verify::recoverPair(k0, v.object));
  const auto alignment = verify::alignBlocks(k0, pair.k0, v.object, pair.k1);
  Places places;
  for (program::BlockId id = 0; id < v.program.blocks.size(); ++id) {
    const auto counterpart = alignment.toK0[id];
    places.push_back(addressRange(counterpart ? pair.k0.blocks[*counterpart] : v.program.blocks[id]));
  }
  return places;
}

/// The verdict that goes into the receipt: of the fastest program that passes everything. Where it does not, a program
/// between it and K0 that does, found by bisection of the lineage.
Status Search::finish() {
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
Result<bool> Search::passesEverything(std::size_t at) {
  const Accepted& program = (*lineage)[at];
  ASMEVO_TRY(const auto object, object::CodeObject::parse(program.bytes, k0.name()));
  std::vector<Edit> edits = lineage->editsOf(at);
  std::vector<std::string> assumptions = assumptionsOf(edits);
  ASMEVO_TRY(auto verdict, gate.whole(object, assumptions));
  if (!verify::accepted(verdict.level))
    return false;
  if (options.finalCases) {
    ASMEVO_TRY(outcome.finalVerdict, gate.final(object, assumptions));
    if (!verify::accepted(outcome.finalVerdict->level))
      return false;
  }
  const double nineTenths = outcome.baselineCycles - 0.9 * (outcome.baselineCycles - program.cycles);
  const auto first =
      std::ranges::find_if(outcome.steps, [&](const Outcome::Step& step) { return step.cycles <= nineTenths; });
  outcome.secondsToNineTenths = first == outcome.steps.end() ? 0 : first->seconds;
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

} // namespace asmevo::optimize
