#include "verify/verify.h"

#include "program/analysis/dataflow.h"
#include "program/analysis/soft_clauses.h"
#include "verify/alignment.h"
#include "verify/data_variants.h"
#include "verify/differential.h"
#include "verify/finding_match.h"
#include "verify/frame.h"
#include "verify/lint_waits.h"
#include "verify/value_proof.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace asmevo::verify {

using program::Block;
using program::BlockId;

std::string_view levelName(Level level) {
  switch (level) {
  case Level::identical:
    return "identical";
  case Level::proved:
    return "proved";
  case Level::exact:
    return "exact";
  case Level::tolerance:
    return "tolerance";
  case Level::differs:
    return "differs";
  case Level::unsafe:
    return "unsafe";
  case Level::refused:
    return "refused";
  case Level::timeout:
    return "timeout";
  case Level::unknown:
    return "unknown";
  }
  return "unknown";
}

namespace {

/// How far a finding is from being none: a finding of K0 must not get worse.
std::uint64_t badness(const LintFinding& finding) {
  constexpr std::uint64_t noWait = 1 << 20;
  if (!finding.need)
    return 0;
  if (finding.kind == "wait_states")
    return *finding.need - std::min(finding.have.value_or(0), *finding.need);
  return finding.have ? *finding.have - std::min(*finding.need, *finding.have) : noWait;
}

/// One verification, gate by gate.
class Gate {
 public:
  Gate(const object::CodeObject& k0, const object::CodeObject& k1, const dispatch::Dispatch& given,
       device::Device& device, const Options& options)
      : k0(k0), k1(k1), dispatch(withDataVariants(given, options.dataVariants)), givenCases(given.cases.size()),
        device(device), options(options),
        deadline(options.timeLimitSeconds > 0 ? steadySeconds() + options.timeLimitSeconds
                                              : std::numeric_limits<double>::infinity()) {}

  Result<Verdict> run() {
    verdict.seeds = options.seeds;
    verdict.dataVariants = options.dataVariants;
    if (std::ranges::equal(k0.bytes(), k1.bytes()))
      return conclude(Level::identical, "same bytes");
    auto recovered = recoverPair(k0, k1);
    if (!recovered)
      return conclude(Level::refused, recovered.error().message);
    pair = *std::move(recovered);
    alignment = alignBlocks(k0, pair.k0, k1, pair.k1);
    collectEdits();
    const FrameDifferences frame = compareFrames(k0, k1, pair, alignment);
    verdict.otherChanges = frame.resources;
    if (!frame.violations.empty())
      return conclude(Level::unsafe, "K1 changes more than code: " + frame.violations.front());
    if (const Status status = compareFindings(); !status)
      return conclude(Level::refused, status.error().message);
    if (!verdict.newFindings.empty())
      return conclude(Level::unsafe, verdict.newFindings.front().message);

    std::string whyNotProved = frame.ldsChanged ? "the proof does not cover a changed LDS size" : "not tried";
    const bool proved = options.prove && prove(whyNotProved) && !frame.ldsChanged;
    return compareRuns(proved, whyNotProved);
  }

 private:
  const object::CodeObject& k0;
  const object::CodeObject& k1;
  const dispatch::Dispatch dispatch; ///< with its data variants
  std::size_t givenCases;
  device::Device& device;
  const Options& options;
  double deadline;
  ProgramPair pair;
  Alignment alignment;
  std::optional<FindingMatcher> matcher;
  std::vector<BlockId> edits;     ///< K0 blocks
  std::vector<BlockId> newBlocks; ///< K1 blocks
  Verdict verdict;

  Verdict conclude(Level level, std::string reason) {
    verdict.level = level;
    verdict.reason = std::move(reason);
    return std::move(verdict);
  }

  void collectEdits() {
    for (BlockId id = 0; id < pair.k0.blocks.size(); ++id)
      if (alignment.edited[id])
        edits.push_back(id);
    for (BlockId id = 0; id < pair.k1.blocks.size(); ++id) {
      const Block& block = pair.k1.blocks[id];
      if (!alignment.toK0[id] && !block.instrs.empty() && !isPadding(block))
        newBlocks.push_back(id);
    }
    verdict.editedBlocks = edits.size() + newBlocks.size();
  }

  Status compareFindings() {
    ASMEVO_TRY(const LintReport before, lint(k0, program::HazardScope::withLlvm));
    ASMEVO_TRY(const LintReport after, lint(k1, program::HazardScope::withLlvm));
    program::completeInstructions(pair.k0, *pair.codec);
    program::completeInstructions(pair.k1, *pair.codec);
    matcher.emplace(pair, alignment);
    const auto placed = [](const LintReport& report) {
      std::vector<PlacedFinding> list;
      for (const LintFinding& finding : report.findings)
        list.push_back({finding.rule, finding.producer, finding.address, badness(finding), finding.message});
      return list;
    };
    verdict.baselineFindings = before.findings.size();
    for (PlacedFinding& finding : matcher->newOnes(placed(before), placed(after)))
      verdict.newFindings.push_back({finding.rule, finding.producer, finding.consumer, std::move(finding.message)});
    compareSoftClauses(matcher->k0Names(), matcher->k1Names());
    return {};
  }

  /// Findings of the strict runs of all cases and deliveries, one for each rule and pair of instructions.
  static std::vector<PlacedFinding> strictFindings(const std::vector<const StrictCase*>& cases) {
    std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, PlacedFinding> worst;
    for (const StrictCase* one : cases)
      for (const StrictRun& run : one->runs)
        for (const emulator::StrictFinding& finding : run.findings) {
          const auto [entry, fresh] = worst.try_emplace({finding.rule, finding.producer, finding.consumer});
          if (fresh || finding.shortfall > entry->second.badness)
            entry->second = {finding.rule, finding.producer, finding.consumer, finding.shortfall, finding.message};
        }
    std::vector<PlacedFinding> list;
    for (auto& [key, finding] : worst)
      list.push_back(std::move(finding));
    return list;
  }

  void compareStrictFindings(const Baseline& baseline, const Differential& runs) {
    std::vector<const StrictCase*> before, after;
    for (const BaselineCase& entry : baseline.cases)
      if (entry.strict)
        before.push_back(&*entry.strict);
    for (const StrictCase& entry : runs.strict)
      after.push_back(&entry);
    const std::vector<PlacedFinding> known = strictFindings(before);
    const auto plain = [](const PlacedFinding& finding) {
      return Finding{finding.rule, finding.producer, finding.consumer, finding.message};
    };
    for (const PlacedFinding& finding : known)
      verdict.knownStrictFindings.push_back(plain(finding));
    for (const PlacedFinding& finding : matcher->newOnes(known, strictFindings(after)))
      verdict.newStrictFindings.push_back(plain(finding));
    for (std::size_t c = 0; c < dispatch.cases.size(); ++c) {
      const std::optional<StrictCase>& k0Case = baseline.cases[c].strict;
      if (!k0Case)
        continue;
      StrictSummary& summary = verdict.strict.emplace_back();
      summary.name = dispatch.cases[c].name;
      summary.workgroups = k0Case->extent();
      for (const StrictRun& run : k0Case->runs) {
        summary.deliveries.emplace_back(emulator::deliveryName(run.delivery));
        if (run.failure)
          summary.notes.push_back(
              fmt::format("K0 itself, delivery {}: {}", summary.deliveries.back(), run.failure->message));
        for (const std::string& note : run.notes)
          summary.notes.push_back(note);
      }
      std::ranges::sort(summary.notes);
      summary.notes.erase(std::ranges::unique(summary.notes).begin(), summary.notes.end());
    }
  }

  /// Soft clauses matter where XNACK may be enabled. Most shipped kernels take no notice of them, so only what K0 keeps
  /// apart is held against K1.
  void compareSoftClauses(const std::vector<std::uint64_t>& name0, const std::vector<std::uint64_t>& name1) {
    if (k0.target().xnack == object::Feature::off)
      return;
    using Key = std::tuple<std::uint64_t, std::string, std::string>;
    const auto conflictsOf = [](const object::CodeObject& object, const program::Program& p,
                                const std::vector<std::uint64_t>& name) {
      std::multimap<Key, Finding> result;
      for (const program::Function& function : p.functions) {
        const unsigned accum = function.kernel
                                   ? object.kernels()[*function.kernel].descriptor.accumOffset(object.target())
                               : object.kernels().empty() ? 0
                                                          : object.kernels()[0].descriptor.accumOffset(object.target());
        for (const auto& conflict : program::softClauseConflicts(p, function, accum)) {
          const auto& first = p.blocks[conflict.first.block].instrs[conflict.first.index];
          const auto& second = p.blocks[conflict.second.block].instrs[conflict.second.index];
          result.emplace(Key{name[conflict.second.block], first.inst->text, second.inst->text},
                         Finding{"clause.xnack", first.address, second.address,
                                 fmt::format("{:#x}: {} may be replayed with {} at {:#x} in one soft clause "
                                             "(XNACK): K0 keeps them apart",
                                             second.address, second.inst->text, first.inst->text, first.address)});
        }
      }
      return result;
    };
    auto known = conflictsOf(k0, pair.k0, name0);
    for (auto& [key, finding] : conflictsOf(k1, pair.k1, name1)) {
      const auto excuse = known.find(key);
      if (excuse != known.end())
        known.erase(excuse);
      else
        verdict.newFindings.push_back(finding);
    }
  }

  /// Kernels whose code holds an edit, called functions included. All of them where an edit lies in no function.
  std::set<std::size_t> editedKernels() const {
    std::set<std::size_t> kernels;
    const auto collect = [&](const program::Program& program, const std::vector<BlockId>& blocks) {
      for (const BlockId id : blocks) {
        bool owned = false;
        for (const program::Function& function : program.functions)
          if (std::ranges::find(function.blocks, id) != function.blocks.end() && function.kernel) {
            kernels.insert(*function.kernel);
            owned = true;
          }
        if (!owned)
          for (std::size_t k = 0; k < k0.kernels().size(); ++k)
            kernels.insert(k);
      }
    };
    collect(pair.k0, edits);
    collect(pair.k1, newBlocks);
    return kernels;
  }

  bool prove(std::string& whyNot) {
    for (const std::size_t index : editedKernels()) {
      const std::string& name = k0.kernels()[index].name;
      const auto proof = proveEquivalent(k0, k1, name);
      const std::string line = proof ? proof->reason : proof.error().message;
      verdict.proof += fmt::format("{}{}: {}", verdict.proof.empty() ? "" : "; ", name, line);
      if (!proof || proof->status != ProofStatus::proved) {
        whyNot = line;
        return false;
      }
    }
    return true;
  }

  void collectUncovered(const std::set<std::uint64_t>& executed0, const std::set<std::uint64_t>& executed1) {
    const auto runs = [](const Block& block, const std::set<std::uint64_t>& executed) {
      const auto first = executed.lower_bound(block.address);
      return first != executed.end() && *first < block.address + block.size;
    };
    for (const BlockId id : edits)
      if (!runs(pair.k0.blocks[id], executed0))
        verdict.uncoveredEdits.push_back(pair.k0.blocks[id].address);
    for (const BlockId id : newBlocks)
      if (!runs(pair.k1.blocks[id], executed1))
        verdict.uncoveredNew.push_back(pair.k1.blocks[id].address);
  }

  std::shared_ptr<const Baseline> usableBaseline() const {
    const auto& given = options.baseline;
    const bool fits = given && given->seeds == options.seeds && given->dataVariants == options.dataVariants &&
                      given->strict == options.strict && given->cases.size() == dispatch.cases.size() &&
                      given->k0Sha256 == sha256Hex(k0.bytes());
    return fits ? given : nullptr;
  }

  Result<Verdict> compareRuns(bool proved, const std::string& whyNotProved) {
    std::shared_ptr<const Baseline> baseline = usableBaseline();
    if (!baseline) {
      ASMEVO_TRY(baseline, measureVaried(k0, dispatch, givenCases, device, options));
    }
    Differential runs = runDifferential(*baseline, k1, dispatch, device, options, deadline);
    verdict.cases = std::move(runs.cases);
    compareStrictFindings(*baseline, runs);
    bool unjudged = false; // a buffer to be bit-equal that K0 does not compute alike itself
    for (std::size_t c = 0; c < dispatch.cases.size(); ++c)
      for (const Unstable& unstable : baseline->cases[c].unstable) {
        const std::string& name = dispatch.cases[c].buffers[unstable.buffer].name;
        const bool bitwise = dispatch.cases[c].comparisonOf(name).mode == dispatch::Comparison::Mode::bitwise;
        unjudged |= bitwise;
        verdict.nondeterminism.push_back(fmt::format("{}: {}", dispatch.cases[c].name, unstable.detail));
      }
    collectUncovered(baseline->executed, runs.executed);
    if (!accepted(runs.level))
      return conclude(runs.level, runs.reason);
    if (!verdict.newStrictFindings.empty())
      return conclude(Level::unsafe, fmt::format("strict run: {}", verdict.newStrictFindings.front().message));
    if (proved)
      return conclude(Level::proved, verdict.proof.empty() ? "no instruction differs" : verdict.proof);
    if (unjudged)
      return conclude(Level::refused,
                      fmt::format("{}; state a tolerance for it, or ignore it", verdict.nondeterminism.front()));
    if (!verdict.uncoveredEdits.empty())
      return conclude(Level::unknown,
                      fmt::format("no case executes the edited block at {:#x}, and no proof covers it ({})",
                                  verdict.uncoveredEdits.front(), whyNotProved));
    if (!verdict.uncoveredNew.empty())
      return conclude(Level::unknown,
                      fmt::format("no case executes K1's new block at {:#x}, and no proof covers it ({})",
                                  verdict.uncoveredNew.front(), whyNotProved));
    if (runs.level == Level::tolerance)
      return conclude(Level::tolerance, "equal only within the tolerances that the dispatch states");
    return conclude(Level::exact, fmt::format("every buffer of every case is bit-equal; not proved: {}", whyNotProved));
  }
};

} // namespace

Result<Verdict> verify(const object::CodeObject& k0, const object::CodeObject& k1, const dispatch::Dispatch& dispatch,
                       device::Device& device, const Options& options) {
  return Gate(k0, k1, dispatch, device, options).run();
}

} // namespace asmevo::verify
