#include "verify/verify.h"

#include "program/analysis/dataflow.h"
#include "verify/alignment.h"
#include "verify/differential.h"
#include "verify/edit_coverage.h"
#include "verify/edit_proofs.h"
#include "verify/finding_match.h"
#include "verify/frame.h"
#include "verify/lint/baseline.h"
#include "verify/proof/value_proof.h"
#include "verify/synchronisation.h"

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

/// One verification, gate by gate.
class Gate {
 public:
  Gate(const object::CodeObject& k0, const object::CodeObject& k1, const dispatch::Dispatch& given,
       device::Device& device, const Options& options)
      : k0(k0), k1(k1), given(given), device(device), options(options),
        deadline(options.timeLimitSeconds > 0 ? steadySeconds() + options.timeLimitSeconds
                                              : std::numeric_limits<double>::infinity()) {}

  Result<Verdict> run() {
    verdict.seeds = options.seeds;
    verdict.dataVariants = options.dataVariants;
    verdict.givenCases = given.cases.size();
    if (std::ranges::equal(k0.bytes(), k1.bytes()))
      return conclude(Level::identical, "same bytes");
    auto recovered = recoverPair(k0, k1);
    if (!recovered)
      return reject("frame", Level::refused, recovered.error().message);
    pair = *std::move(recovered);
    alignment = alignBlocks(k0, pair.k0, k1, pair.k1);
    edits = editedBlocks(pair, alignment);
    verdict.editedBlocks = edits.k0.size() + edits.k1.size();
    const FrameDifferences frame = compareFrames(k0, k1, pair, alignment);
    ldsChanged = frame.ldsChanged;
    verdict.otherChanges = frame.resources;
    if (!frame.violations.empty())
      return reject("frame", Level::unsafe, "K1 changes more than code: " + frame.violations.front());
    if (!k0.target().isGfx9())
      if (const auto report = lint(k1); !report)
        return reject("lint", Level::refused, report.error().message);
    ASMEVO_TRY(baseline, usableBaseline());
    verdict.sizesWithoutNews = baseline->sizesWithoutNews;
    verdict.leftOut = baseline->varied.leftOut;

    DifferentialRun runs(*baseline, k1, device, options, deadline);
    if (options.stopAtFirst) {
      runs.runInOrder();
      if (!accepted(runs.result.level)) {
        verdict.cases = std::move(runs.result.cases);
        return reject(runs.result.gate, runs.result.level, runs.result.reason);
      }
    }
    ASMEVO_CHECK(compareFindings());
    if (!verdict.newFindings.empty())
      return reject("lint", Level::unsafe, verdict.newFindings.front().message);
    weaker = weakerSynchronisation(pair);
    if (!options.stopAtFirst || !weaker.empty())
      prove();
    if (!weaker.empty() && !proved)
      return reject("synchronisation", Level::unsafe, fmt::format("{}, and no proof covers it", weaker));
    if (!options.stopAtFirst)
      runs.runInOrder();
    runs.runStrict();
    if (options.stopAtFirst && accepted(runs.result.level))
      prove();
    return judgeRuns(runs.result);
  }

 private:
  const object::CodeObject& k0;
  const object::CodeObject& k1;
  const dispatch::Dispatch& given;
  device::Device& device;
  const Options& options;
  double deadline;
  ProgramPair pair;
  Alignment alignment;
  std::optional<FindingMatcher> matcher;
  EditedBlocks edits;
  std::shared_ptr<const Baseline> baseline;
  bool ldsChanged = false, proved = false, proofTried = false;
  EditProofs single;
  std::string weaker; ///< synchronisation that K1 lacks
  std::string whyNotProved = "not tried";
  Verdict verdict;

  Verdict conclude(Level level, std::string reason) {
    verdict.level = level;
    verdict.reason = std::move(reason);
    return std::move(verdict);
  }

  Verdict reject(std::string gate, Level level, std::string reason) {
    verdict.gate = std::move(gate);
    return conclude(level, std::move(reason));
  }

  Result<std::shared_ptr<const Baseline>> usableBaseline() const {
    if (options.baseline && options.baseline->fits(k0, given, options))
      return options.baseline;
    return measureBaseline(k0, given, device, options);
  }

  Status compareFindings() {
    program::completeInstructions(pair.k0, *pair.codec);
    program::completeInstructions(pair.k1, *pair.codec);
    matcher.emplace(pair, alignment);
    ASMEVO_TRY(const BaselineLint judged, lintAgainst(k0, baseline->lint, k1, pair, alignment, false));
    verdict.baselineFindings = judged.inBaseline;
    for (const LintFinding& finding : judged.fresh.findings)
      verdict.newFindings.push_back({finding.rule, finding.producer, finding.address,
                                     fmt::format("{:#x}: {}", finding.address, finding.message)});
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

  void compareStrictFindings(const Differential& runs) {
    std::vector<const StrictCase*> before, after;
    for (const BaselineCase& entry : baseline->cases)
      if (entry.strict)
        before.push_back(&*entry.strict);
    for (const auto& entry : runs.strict)
      if (entry)
        after.push_back(&*entry);
    const std::vector<PlacedFinding> known = strictFindings(before);
    const auto plain = [](const PlacedFinding& finding) {
      return Finding{finding.rule, finding.producer, finding.consumer, finding.message};
    };
    for (const PlacedFinding& finding : known)
      verdict.knownStrictFindings.push_back(plain(finding));
    for (const PlacedFinding& finding : matcher->newOnes(known, strictFindings(after)))
      verdict.newStrictFindings.push_back(plain(finding));
    for (std::size_t c = 0; c < baseline->cases.size(); ++c) {
      const std::optional<StrictCase>& k0Case = baseline->cases[c].strict;
      if (!k0Case)
        continue;
      StrictSummary& summary = verdict.strict.emplace_back();
      summary.name = baseline->varied.dispatch.cases[c].name;
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
    collect(pair.k0, edits.k0);
    collect(pair.k1, edits.k1);
    return kernels;
  }

  /// Every workgroup of every case is a whole number of waves.
  bool startsWholeWaves() const {
    return std::ranges::all_of(given.cases, [](const dispatch::Case& launch) {
      const auto& size = launch.workgroupSize;
      const std::uint64_t items = std::uint64_t{size[0]} * size[1] * size[2];
      bool whole = items != 0 && items % 64 == 0;
      for (std::size_t d = 0; d < size.size(); ++d)
        whole = whole && size[d] != 0 && launch.gridSize[d] % size[d] == 0;
      return whole;
    });
  }

  void prove() {
    if (!options.prove || proofTried)
      return;
    proofTried = true;
    if (options.progress)
      options.progress(fmt::format("proof of {} edited blocks", verdict.editedBlocks));
    std::vector<std::string> names;
    for (const std::size_t index : editedKernels())
      names.push_back(k0.kernels()[index].name);
    bool all = true;
    const bool wholeWaves = startsWholeWaves();
    for (const std::string& name : names) {
      // For every launch first; then for those that start whole waves, as all of these do.
      auto proof = proveEquivalent(k0, k1, name, {.kept = wholeWaves ? nullptr : options.kept.get()});
      if (wholeWaves && proof && proof->status != ProofStatus::proved)
        proof = proveEquivalent(k0, k1, name, {.wholeWaves = true, .kept = options.kept.get()});
      const std::string line = proof ? proof->reason : proof.error().message;
      verdict.proof += fmt::format("{}{}: {}", verdict.proof.empty() ? "" : "; ", name, line);
      if (proof)
        verdict.windows.insert(verdict.windows.end(), proof->windows.begin(), proof->windows.end());
      if (proof)
        addAssumptions(proof->assumptions);
      if (proof && proof->status == ProofStatus::proved)
        continue;
      if (proof)
        verdict.counterexample = std::move(proof->counterexample);
      whyNotProved = line;
      all = false;
      break;
    }
    const std::string waits = weakerWaitAtBarrier(pair, alignment);
    if (all && waits.empty() && !ldsChanged) {
      proved = true;
      return;
    }
    verdict.proofAssumptions.clear();
    if (all)
      whyNotProved = waits.empty() ? "the proof does not cover a changed LDS size" : waits;
    else
      proveSingly(names, waits.empty() && !ldsChanged);
  }

  /// `count`: do proved edits count, as nothing else than values is in doubt?
  void proveSingly(const std::vector<std::string>& names, bool count) {
    single = proveEdits(k0, k1, names, startsWholeWaves());
    // A part of an edit that adds blocks need not do what K0 does.
    const auto reached = [](const program::Program& program) {
      return std::ranges::count_if(program.blocks, &program::Block::reachable);
    };
    if (!verdict.counterexample && reached(pair.k1) <= reached(pair.k0))
      verdict.counterexample = single.counterexample;
    const bool some = std::ranges::any_of(single.byBlock,
                                          [](const auto& entry) { return entry.second.status == ProofStatus::proved; });
    if (count && some)
      addAssumptions(single.assumptions);
    if (!count)
      single.byBlock.clear();
  }

  void addAssumptions(const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      if (std::ranges::find(verdict.proofAssumptions, line) == verdict.proofAssumptions.end())
        verdict.proofAssumptions.push_back(line);
  }

  /// What one edit is, given what the cases say of it.
  void judgeEdit(EditReport& edit, Level tested) const {
    const auto own = single.byBlock.find(edit.k0Begin);
    const bool alone = own != single.byBlock.end() && own->second.status == ProofStatus::proved;
    if (proved || alone) {
      edit.level = Level::proved;
      edit.reason = proved ? "part of the proof of the whole edit" : own->second.reason;
      return;
    }
    const bool covered = isCovered(edit, baseline->strict);
    edit.level = covered ? tested : Level::unknown;
    edit.reason = fmt::format("{}; not proved: {}",
                              !covered                     ? "not executed as it has to be"
                              : tested == Level::tolerance ? "equal within the stated tolerances"
                                                           : "bit-equal in every case",
                              own != single.byBlock.end() ? own->second.reason : whyNotProved);
  }

  bool statesTolerance() const {
    return std::ranges::any_of(given.cases, [](const dispatch::Case& launch) {
      return std::ranges::any_of(
          launch.compare, [](const auto& rule) { return rule.second.mode == dispatch::Comparison::Mode::tolerance; });
    });
  }

  /// A buffer to be bit-equal that K0 does not compute alike itself on one of the dispatch's own cases; on variants it
  /// is named only.
  bool collectUnstable() {
    bool unjudged = false;
    for (std::size_t c = 0; c < baseline->cases.size(); ++c) {
      const dispatch::Case& launch = baseline->varied.dispatch.cases[c];
      if (!baseline->cases[c].skipped.empty())
        continue;
      for (const Unstable& unstable : baseline->cases[c].unstable) {
        const auto rule = launch.comparisonOf(launch.buffers[unstable.buffer].name).mode;
        unjudged |= !baseline->isVariant(c) && rule == dispatch::Comparison::Mode::bitwise;
        verdict.nondeterminism.push_back(fmt::format("{}: {}", launch.name, unstable.detail));
      }
    }
    return unjudged;
  }

  Result<Verdict> judgeRuns(Differential& runs) {
    compareStrictFindings(runs);
    const bool unjudged = collectUnstable();
    verdict.edits = reportEdits(k0, k1, pair, alignment, edits, *baseline, runs);
    verdict.cases = std::move(runs.cases);
    for (const EditReport& edit : verdict.edits)
      if (edit.cases == 0 && edit.k0Begin != 0)
        verdict.uncoveredEdits.push_back(edit.k0Begin);
      else if (edit.cases == 0)
        verdict.uncoveredNew.push_back(edit.k1Begin);
    if (!accepted(runs.level))
      return reject(runs.gate, runs.level, runs.reason);
    if (!verdict.newStrictFindings.empty())
      return reject("strict", Level::unsafe, fmt::format("strict run: {}", verdict.newStrictFindings.front().message));
    const bool told = !proved && verdict.counterexample.has_value();
    const bool tolerated = runs.level == Level::tolerance || (told && statesTolerance());
    Level tested = tolerated ? Level::tolerance : Level::exact;
    for (EditReport& edit : verdict.edits)
      judgeEdit(edit, tested);
    if (proved)
      return conclude(Level::proved, verdict.proof.empty() ? "no instruction differs" : verdict.proof);
    if (unjudged)
      return reject("determinism", Level::refused,
                    fmt::format("{}; state a tolerance for it, or ignore it", verdict.nondeterminism.front()));
    for (const EditReport& edit : verdict.edits)
      if (edit.level == Level::unknown)
        return reject("coverage", Level::unknown, notCovered(edit));
    if (told && !tolerated)
      return reject("proof", Level::unknown,
                    fmt::format("every case is bit-equal, but the window at {:#x} does something else from another "
                                "state: {}",
                                verdict.counterexample->address, verdict.counterexample->difference));
    ASMEVO_TRY(const Level further, runFurther(tested));
    if (!accepted(further))
      return std::move(verdict);
    if (further != tested) {
      tested = further;
      for (EditReport& edit : verdict.edits)
        judgeEdit(edit, tested);
    }
    verdict.level = tested;
    verdict.reason = tested == Level::tolerance
                         ? "equal only within the tolerances that the dispatch states"
                         : fmt::format("every buffer of every case is bit-equal; not proved: {}", whyNotProved);
    applyMutationScore(verdict, options);
    return std::move(verdict);
  }

  /// The level after more data; of a rejection the verdict says why.
  Result<Level> runFurther(Level tested) {
    if (options.furtherRounds == 0 || options.dataVariants == 0)
      return tested;
    ASMEVO_TRY(const auto further, furtherBaseline(*baseline, k0, given, device, options));
    Options quick = options;
    quick.stopAtFirst = true;
    DifferentialRun runs(*further, k1, device, quick, deadline);
    runs.runInOrder();
    verdict.furtherRounds = options.furtherRounds;
    if (accepted(runs.result.level))
      return std::max(tested, runs.result.level);
    verdict.level = runs.result.level;
    verdict.gate = runs.result.gate;
    verdict.reason = fmt::format("further data, as nothing proves it: {}", runs.result.reason);
    for (EditReport& edit : verdict.edits)
      if (edit.level != Level::proved) {
        edit.level = Level::unknown;
        edit.reason = verdict.reason;
      }
    return verdict.level;
  }

  std::string notCovered(const EditReport& edit) const {
    const bool old = edit.k0Begin != 0;
    const std::string what =
        fmt::format("{} block at {:#x}", old ? "the edited" : "K1's new", old ? edit.k0Begin : edit.k1Begin);
    if (edit.cases != 0)
      return fmt::format("no case goes round the loop of {} more than once, and no proof covers it ({})", what,
                         whyNotProved);
    return fmt::format("no case executes {}, and no proof covers it ({}){}{}", what, whyNotProved,
                       edit.reach.empty() ? "" : ": ", edit.reach.empty() ? "" : edit.reach.front());
  }
};

} // namespace

void applyMutationScore(Verdict& verdict, const Options& options) {
  if (!options.mutationScore || (verdict.level != Level::exact && verdict.level != Level::tolerance))
    return;
  verdict.mutationScore = options.mutationScore;
  if (*options.mutationScore >= options.mutationThreshold)
    return;
  verdict.level = Level::unknown;
  verdict.gate = "mutation";
  verdict.reason = fmt::format("not proved, and the cases notice only {:.4f} of planted mutants, {} is asked for: {}",
                               *options.mutationScore, options.mutationThreshold, verdict.reason);
}

Result<Verdict> verify(const object::CodeObject& k0, const object::CodeObject& k1, const dispatch::Dispatch& dispatch,
                       device::Device& device, const Options& options) {
  return Gate(k0, k1, dispatch, device, options).run();
}

} // namespace asmevo::verify
