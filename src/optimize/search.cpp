#include "optimize/optimize.h"

#include "optimize/moves/move_support.h"
#include "verify/alignment.h"
#include "verify/minimise.h"
#include "verify/mutation/score.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace asmevo::optimize {

namespace {

using Clock = std::chrono::steady_clock;

/// Keeps the best accepted program while the budget lasts.
class Search {
 public:
  Search(const object::CodeObject& object, const dispatch::Dispatch& launches, device::Device& dev,
         isa::Codec& usedCodec, Options opts)
      : k0(object), dispatch(launches), device(dev), codec(usedCodec), options(std::move(opts)),
        deadline(Clock::now() +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.budgetSeconds))) {}

  Result<Outcome> run() {
    bestBytes.assign(k0.bytes().begin(), k0.bytes().end());
    // K0's own runs are the same for every candidate.
    ASMEVO_TRY(options.verify.baseline, verify::measureBaseline(k0, dispatch, device, options.verify));
    ASMEVO_TRY(outcome.baselineCycles, modelledCycles(k0, dispatch, device));
    outcome.finalCycles = outcome.baselineCycles;
    for (unsigned round = 0; effort <= options.maximumEffort && !expired(); ++round) {
      bool progressed = false;
      for (const Move* move : moveTable()) {
        if (std::ranges::find(options.disabledMoves, move->name()) != options.disabledMoves.end())
          continue;
        ASMEVO_TRY(const bool improved, tryMove(*move, round));
        progressed |= improved;
        if (expired())
          break;
      }
      effort += !progressed;
    }
    outcome.improved = !outcome.edits.empty();
    if (outcome.improved)
      outcome.k1 = bestBytes;
    return std::move(outcome);
  }

 private:
  bool expired() const { return Clock::now() >= deadline; }

  void report(const std::string& line) const {
    if (options.progress)
      options.progress(line);
  }

  /// Everything a move sees, of the best program so far. Its addresses are those of the best object, not of K0.
  struct View {
    object::CodeObject object;
    program::Program program;
    const object::Kernel* kernel = nullptr;
    timing::Estimate profile;
    std::vector<HotWindow> windows;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> inK0; ///< by block: the address range of its counterpart in K0

    /// K0's range for blocks that hold [begin, end] here.
    std::pair<std::uint64_t, std::uint64_t> k0Range(std::uint64_t begin, std::uint64_t end) const {
      const auto blockOf = [&](std::uint64_t address) {
        std::size_t at = 0;
        while (at + 1 < program.blocks.size() && program.blocks[at + 1].address <= address)
          ++at;
        return at;
      };
      if (inK0.empty())
        return {begin, end};
      return {inK0[blockOf(begin)].first, inK0[blockOf(end > begin ? end - 1 : begin)].second};
    }
  };

  struct Candidate {
    Proposal proposal;
    Bytes bytes;
    double cycles = 0;
    std::size_t number = 0; ///< in the order of proposal; breaks ties
  };

  Result<View> view() {
    ASMEVO_TRY(auto object, object::CodeObject::parse(bestBytes, k0.name()));
    ASMEVO_TRY(auto recovered, program::Program::recover(object, codec));
    for (auto& block : recovered.blocks)
      for (auto& instr : block.instrs)
        instr.inst = codec.complete(instr.inst);
    View v{std::move(object), std::move(recovered), nullptr, {}, {}, {}};
    const auto& launch = dispatch.cases.front();
    ASMEVO_TRY(v.kernel, v.object.findKernel(launch.kernel));
    ASMEVO_TRY(auto loaded, device.load(v.object, launch.kernel));
    // The heaviest case decides where to look.
    for (const auto& c : dispatch.cases) {
      ASMEVO_TRY(auto estimate, loaded->time(c));
      if (estimate.cycles >= v.profile.cycles)
        v.profile = std::move(estimate);
    }
    v.windows = rankWindows(v.object, v.program, *v.kernel, v.profile);
    ASMEVO_TRY(const auto pair, verify::recoverPair(k0, v.object));
    const auto alignment = verify::alignBlocks(k0, pair.k0, v.object, pair.k1);
    for (program::BlockId id = 0; id < v.program.blocks.size(); ++id) {
      const auto counterpart = alignment.toK0[id];
      v.inK0.push_back(addressRange(counterpart ? pair.k0.blocks[*counterpart] : v.program.blocks[id]));
    }
    return v;
  }

  Result<bool> tryMove(const Move& move, unsigned round) {
    ASMEVO_TRY(View v, view());
    if (outcome.windows.empty())
      outcome.windows = v.windows;
    const auto& wg = dispatch.cases.front().workgroupSize;
    const MoveContext context{v.object,
                              *v.kernel,
                              codec,
                              v.profile,
                              v.windows,
                              v.kernel->descriptor.accumOffset(v.object.target()),
                              wg[0] * wg[1] * wg[2],
                              effort,
                              &dispatch};
    report(fmt::format("round {}: {} (best {:.0f} cycles, {} tried)", round + 1, move.name(), outcome.finalCycles,
                       outcome.candidatesTried));
    std::vector<Candidate> candidates;
    for (Proposal& proposal : move.propose(v.program, context)) {
      if (expired())
        break;
      ++outcome.candidatesTried;
      if (auto candidate = price(v, std::move(proposal)))
        candidates.push_back(*std::move(candidate));
    }
    std::ranges::sort(candidates, {}, [](const Candidate& c) { return std::pair(c.cycles, c.number); });
    // Edits of different blocks usually add up: try them together first, then one by one.
    if (auto together = combine(v, candidates); together.size() > 1) {
      ASMEVO_TRY(const bool accepted, tryAccept(v, move, together));
      if (accepted)
        return true;
    }
    for (Candidate& candidate : candidates) {
      if (candidate.cycles >= outcome.finalCycles || expired())
        break;
      std::vector<Candidate> single;
      single.push_back(std::move(candidate));
      ASMEVO_TRY(const bool accepted, tryAccept(v, move, single));
      if (accepted)
        return true;
    }
    return false;
  }

  /// Candidates that improve on each other, each with the bytes and cycles of all up to it. Stops at a resource change,
  /// which a block-wise merge does not carry.
  std::vector<Candidate> combine(const View& v, const std::vector<Candidate>& candidates) {
    std::vector<Candidate> chain;
    std::set<program::BlockId> taken;
    for (const Candidate& candidate : candidates) {
      if (expired())
        break;
      const auto& edited = candidate.proposal.program;
      const bool mergeable = edited.blocks.size() == v.program.blocks.size() && edited.resources.empty();
      if (!mergeable)
        continue;
      const auto changed = changedBlocks(v.program, edited);
      if (std::ranges::any_of(changed, [&](program::BlockId id) { return taken.contains(id); }))
        continue;
      if (chain.empty()) {
        chain.push_back(candidate);
      } else {
        Proposal merged = candidate.proposal;
        merged.program = chain.back().proposal.program;
        for (const program::BlockId id : changed)
          merged.program.blocks[id] = edited.blocks[id];
        merged.program.relink();
        auto priced = price(v, std::move(merged));
        if (!priced || priced->cycles >= chain.back().cycles)
          continue;
        chain.push_back(*std::move(priced));
      }
      taken.insert(changed.begin(), changed.end());
    }
    return chain;
  }

  static std::vector<program::BlockId> changedBlocks(const program::Program& before, const program::Program& after) {
    std::vector<program::BlockId> changed;
    for (program::BlockId id = 0; id < before.blocks.size(); ++id)
      if (!std::ranges::equal(before.blocks[id].instrs, after.blocks[id].instrs,
                              [](const program::Instr& a, const program::Instr& b) { return a.inst == b.inst; }))
        changed.push_back(id);
    return changed;
  }

  /// Verifies the last of a chain, which holds all its edits, and makes it the best.
  Result<bool> tryAccept(const View& v, const Move& move, std::vector<Candidate>& chain) {
    Candidate& last = chain.back();
    ASMEVO_TRY(const auto object, object::CodeObject::parse(last.bytes, k0.name()));
    verify::Options gate = options.verify;
    gate.stopAtFirst = true;
    const auto start = Clock::now();
    ASMEVO_TRY(auto verdict, verify::verify(k0, object, dispatch, device, gate));
    if (verify::accepted(verdict.level) && verdict.level > verify::Level::proved) {
      ASMEVO_CHECK(scoreOnce());
      gate.mutationScore = options.verify.mutationScore;
      verify::applyMutationScore(verdict, gate);
    }
    outcome.attempts.push_back({std::string(move.name()), chain.size(), verdict.level, verdict.reason,
                                std::chrono::duration<double>(Clock::now() - start).count(), verdict.windows});
    if (!verify::accepted(verdict.level)) {
      ++outcome.candidatesRejected;
      report(fmt::format("{} rejected: {}", move.name(), verdict.reason));
      if (chain.size() > 1 && !expired())
        if (const auto least = verify::minimise(k0, object, dispatch, device, gate); least && *least)
          report(fmt::format("{}: {} of {} edited blocks are to blame, {}", move.name(), (*least)->places.size(),
                             (*least)->edits, fmt::join((*least)->places, ", ")));
      return false;
    }
    double before = outcome.finalCycles;
    for (const Candidate& candidate : chain) {
      const auto [begin, end] = v.k0Range(candidate.proposal.begin, candidate.proposal.end);
      outcome.edits.push_back(
          {std::string(move.name()), candidate.proposal.reason, begin, end, before, candidate.cycles, verdict.level});
      before = candidate.cycles;
    }
    outcome.finalCycles = last.cycles;
    outcome.verdict = std::move(verdict);
    bestBytes = std::move(last.bytes);
    return true;
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

  /// Rebuilds and times a proposal; nothing when either fails or it is not faster (cheap gates first).
  std::optional<Candidate> price(const View& v, Proposal proposal) {
    auto bytes = options.inPlace ? program::patchInPlace(v.object, proposal.program, codec)
                                 : program::rebuild(v.object, proposal.program, codec);
    if (!bytes) {
      ++outcome.candidatesRejected;
      return std::nullopt;
    }
    auto object = object::CodeObject::parse(*bytes, k0.name());
    if (!object) {
      ++outcome.candidatesRejected;
      return std::nullopt;
    }
    const auto cycles = modelledCycles(*object, dispatch, device);
    if (!cycles || *cycles >= outcome.finalCycles) {
      outcome.candidatesRejected += !cycles;
      return std::nullopt;
    }
    return Candidate{std::move(proposal), *std::move(bytes), *cycles, outcome.candidatesTried};
  }

  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  isa::Codec& codec;
  Options options;
  Clock::time_point deadline;
  Bytes bestBytes;
  unsigned effort = 0;
  Outcome outcome;
};

} // namespace

Result<double> modelledCycles(const object::CodeObject& object, const dispatch::Dispatch& dispatch,
                              device::Device& device) {
  double sum = 0;
  for (const auto& launch : dispatch.cases) {
    ASMEVO_TRY(auto loaded, device.load(object, launch.kernel));
    ASMEVO_TRY(const auto estimate, loaded->time(launch));
    sum += estimate.cycles;
  }
  return sum;
}

Result<Outcome> optimize(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device,
                         const Options& options) {
  if (dispatch.cases.empty())
    return badInput("{}: no cases to optimize for", dispatch.path);
  ASMEVO_TRY(auto codec, isa::Codec::create(k0));
  return Search(k0, dispatch, device, *codec, options).run();
}

Result<Judgement> judge(const object::CodeObject& k0, const object::CodeObject& from, const program::Program& candidate,
                        const dispatch::Dispatch& dispatch, device::Device& device, isa::Codec& codec,
                        const Options& options) {
  Judgement judgement;
  auto bytes =
      options.inPlace ? program::patchInPlace(from, candidate, codec) : program::rebuild(from, candidate, codec);
  if (!bytes) {
    judgement.verdict.level = verify::Level::refused;
    judgement.message = bytes.error().message;
    return judgement;
  }
  judgement.bytes = *std::move(bytes);
  ASMEVO_TRY(const auto object, object::CodeObject::parse(judgement.bytes, k0.name()));
  ASMEVO_TRY(judgement.verdict, verify::verify(k0, object, dispatch, device, options.verify));
  if (!verify::accepted(judgement.verdict.level)) {
    judgement.message = judgement.verdict.reason;
    return judgement;
  }
  ASMEVO_TRY(judgement.cycles, modelledCycles(object, dispatch, device));
  return judgement;
}

} // namespace asmevo::optimize
