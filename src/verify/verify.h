/// Is K1 the same as K0? Static waits, value proof of edited windows, and differential runs on identical dispatches.
#pragma once

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "object/code_object.h"
#include "support/result.h"
#include "verify/proof/value_proof.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

/// How sure we are (docs: design section 4), weakest last. Everything below tolerance is a rejection of its own kind.
enum class Level { identical, proved, exact, tolerance, differs, unsafe, refused, timeout, unknown };
std::string_view levelName(Level level);
inline bool accepted(Level level) {
  return level <= Level::tolerance;
}

/// A static finding.
struct Finding {
  std::string rule;                         ///< "wait.vm.raw", "wait.lgkm.raw", ...
  std::uint64_t producer = 0, consumer = 0; ///< virtual addresses in the object
  std::string message;
};

class Baseline;

struct Options {
  std::vector<std::uint64_t> seeds = {0, 1}; ///< wave interleavings and poison seeds of the differential runs
  bool prove = true;                         ///< try the value-graph proof of edited blocks
  double timeLimitSeconds = 0;               ///< 0: none
  /// Rounds of adversarial variants of each case: other data, and with the first round other sizes (data_variants.h).
  unsigned dataVariants = 1;
  unsigned firstVariant = 1; ///< number of the first round: other numbers are other data
  /// Further rounds, on which a K1 without a proof is run in order once nothing else speaks against it. None where
  /// dataVariants is 0.
  unsigned furtherRounds = 4;
  unsigned threads = 1; ///< host threads of a run; more than one makes atomics' order vary
  bool strict = true;   ///< run K0 and K1 strictly too, under every delivery of memory operations (emulator/strict.h)
  /// Wave-instructions of one strict run; of a larger dispatch a sample of workgroups runs.
  std::uint64_t strictBudget = 4'000'000;
  std::uint64_t variantBudget = 8'000'000;    ///< likewise of a run of a variant
  std::uint64_t variantStrictBudget = 50'000; ///< and of its strict run
  /// Cheapest gate first, and nothing after the first rejection: for many candidates of which most are wrong. The level
  /// is accepted or not as without; the report is not complete.
  bool stopAtFirst = false;
  /// What the cases notice of planted mutants (mutation/score.h). Below the threshold nothing is `exact` or
  /// `tolerance`.
  std::optional<double> mutationScore;
  double mutationThreshold = 0.99;
  std::function<void(const std::string&)> progress; ///< what is being done, in a few words; may be empty
  /// K0's own runs, measured once for many candidates (measureBaseline). Used only if it is of this K0 and these seeds.
  std::shared_ptr<const Baseline> baseline;
  /// Counterexamples of earlier candidates for this K0, which are run first and added to; may be empty.
  std::shared_ptr<KeptCounterexamples> kept;
};

struct CaseResult {
  std::string name;
  bool equal = false;
  bool skipped = false; ///< a variant that K0 is not made for: `detail` says why
  std::string detail;   ///< first difference, guard violation or fault
  std::uint64_t waveInstructions = 0;
};

/// The strict runs of one case.
struct StrictSummary {
  std::string name;       ///< of the case
  std::string workgroups; ///< "64 of 4096 workgroups"
  std::vector<std::string> deliveries;
  std::vector<std::string> notes; ///< what limits the judgement
};

/// One edit: a block of K0 with its counterpart, or a block that only one of the two has.
struct EditReport {
  std::uint64_t k0Begin = 0, k0End = 0; ///< both 0: new in K1
  std::uint64_t k1Begin = 0, k1End = 0; ///< both 0: gone
  std::size_t removed = 0, added = 0;   ///< instructions that the other does not have at this place
  Level level = Level::unknown;         ///< proved, exact, tolerance; unknown where neither proof nor run covers it
  std::string reason;                   ///< why it has this level
  std::size_t cases = 0;                ///< that execute it
  std::string firstCase;                ///< name of the first of them
  /// Of its instructions in strict runs: executions of waves with all lanes, some, none.
  std::uint64_t execFull = 0, execPartial = 0, execNone = 0;
  bool inLoop = false, backEdgeTaken = false; ///< in the strict runs
  std::vector<std::string> reach;             ///< not executed: what decides whether it is
};

struct Verdict {
  Level level = Level::unknown;
  std::string reason; ///< one line: why not better
  /// What rejected it: frame, lint, synchronisation, differential, strict, coverage, determinism, proof, mutation.
  /// Empty where accepted.
  std::string gate;
  std::vector<EditReport> edits;
  std::vector<CaseResult> cases;
  std::vector<Finding> newFindings;          ///< static findings of K1 that K0 does not have
  std::size_t baselineFindings = 0;          ///< what K0 itself violates
  std::vector<StrictSummary> strict;         ///< empty: no strict runs
  std::vector<Finding> newStrictFindings;    ///< findings of K1's strict runs that K0's do not have
  std::vector<Finding> knownStrictFindings;  ///< those of K0's strict runs, one for each pair of instructions
  std::vector<std::uint64_t> uncoveredEdits; ///< K0 addresses of edited blocks no case executes
  std::vector<std::uint64_t> uncoveredNew; ///< K1 addresses of blocks without a counterpart in K0 that no case executes
  std::vector<std::string> nondeterminism; ///< what K0 itself does not always compute alike, and why
  std::vector<std::string> otherChanges;   ///< resources K1 declares differently
  std::string proof;                       ///< outcome of the value proof per kernel, "" if not tried
  std::vector<WindowProof> windows;        ///< that it compared
  std::vector<std::string> proofAssumptions; ///< what a proof rests on beyond the semantics
  /// A state from which an edited window of K1 does something else than K0's. Then K1 is not `exact`, whatever the
  /// cases say: whether any launch reaches such a state is not known.
  std::optional<Counterexample> counterexample;
  std::vector<std::uint64_t> seeds;    ///< of the differential runs
  unsigned furtherRounds = 0;          ///< run in order since no proof was found
  unsigned dataVariants = 0;           ///< rounds for each case; their results follow the cases' own
  std::size_t givenCases = 0;          ///< the dispatch's own
  std::size_t sizesWithoutNews = 0;    ///< size variants not run, as they execute nothing that others do not
  std::optional<double> mutationScore; ///< of the cases, where it was asked for and mattered
  std::vector<std::string> leftOut;    ///< variants that were not made, and why
  std::size_t editedBlocks = 0;        ///< of K0, with those that are gone; plus new ones of K1
};

/// Every register read after a memory load is covered by a wait on every path (vm and lgkm counters, gfx9 rules:
/// facts 3.4), and no store's data or load's destination is overwritten while in flight.
Result<std::vector<Finding>> lintWaits(const object::CodeObject& object);

/// Runs K0 alone: reference outputs, what of it depends on wave order or on undefined state, and what it executes.
/// Errors only where nothing can be said at all (no such kernel, no cases); a K0 that faults is part of the baseline.
Result<std::shared_ptr<const Baseline>> measureBaseline(const object::CodeObject& k0,
                                                        const dispatch::Dispatch& dispatch, device::Device& device,
                                                        const Options& options);

/// The full gate. Errors only on inputs that cannot be compared at all; everything else is a verdict.
Result<Verdict> verify(const object::CodeObject& k0, const object::CodeObject& k1, const dispatch::Dispatch& dispatch,
                       device::Device& device, const Options& options);

/// Takes `exact` and `tolerance` away where Options::mutationScore is below the threshold. verify() does it itself.
void applyMutationScore(Verdict& verdict, const Options& options);

/// The receipt of the design (section 2) as json. Modelled numbers are labelled so by the caller's timing section.
nlohmann::json receipt(const object::CodeObject& k0, const object::CodeObject& k1, const Verdict& verdict,
                       const dispatch::Dispatch& dispatch, const device::Device& device);

} // namespace asmevo::verify
