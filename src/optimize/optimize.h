/// The built-in search: hot windows, moves on recovered programs, one gate for every candidate.
#pragma once

#include "device/device.h"
#include "dispatch/dispatch.h"
#include "object/code_object.h"
#include "optimize/launch_evidence.h"
#include "program/program.h"
#include "support/result.h"
#include "timing/timing.h"
#include "verify/verify.h"

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::optimize {

/// A ranked region of a kernel: a basic block (or its innermost loop) and what it costs.
struct HotWindow {
  program::BlockId block = 0;
  std::uint64_t begin = 0, end = 0; ///< virtual addresses in K0
  double cycles = 0;                ///< modelled issue + stall cycles of all waves
  double share = 0;                 ///< of the kernel's total
  timing::Stall topStall = timing::Stall::none;
};

/// One edit of an accepted candidate.
struct Edit {
  std::string move;                         ///< name in the move table, or "agent"
  std::string reason;                       ///< one sentence a performance engineer would believe
  std::uint64_t begin = 0, end = 0;         ///< window in K0
  double cyclesBefore = 0, cyclesAfter = 0; ///< modelled, whole dispatch
  verify::Level level = verify::Level::unknown;
  std::vector<std::string> assumptions; ///< Proposal::assumptions
  /// Modelled speed-up over the program it was made of, on each perturbed chip (Options::perturbations); may be empty.
  std::vector<double> perturbedSpeedups;
  double seconds = 0; ///< of the search, when it was accepted
};

/// One candidate that went through the whole gate: a single edit, or several tried together.
struct Attempt {
  std::string move;
  std::size_t edits = 1;
  verify::Level level = verify::Level::unknown;
  std::string reason;                       ///< the verdict's
  double gateSeconds = 0;                   ///< in the gate
  std::vector<verify::WindowProof> windows; ///< compared by the proof
};

/// What a move may look at.
struct MoveContext {
  const object::CodeObject& object;
  const object::Kernel& kernel;
  isa::Codec& codec;
  const timing::Estimate& profile;       ///< of the program given
  const std::vector<HotWindow>& windows; ///< hottest first
  unsigned accumOffset = 0;
  unsigned workgroupSize = 64;
  /// Grows each time a round of all moves found nothing: a move that growsWithEffort() then tries other ways.
  unsigned effort = 0;
  const dispatch::Dispatch* launches = nullptr; ///< evidence for assumptions; may be null
  const LaunchEvidence* evidence = nullptr;     ///< what has to be measured on them; may be null
};

/// A proposal: the edited program and what it claims.
struct Proposal {
  program::Program program;
  std::string reason;
  std::uint64_t begin = 0, end = 0;
  /// What it rests on beyond the program: facts of the dispatch, such as buffers that do not overlap. Any caps the
  /// verdict at `exact` and is written into the receipt.
  std::vector<std::string> assumptions;
};

/// A kind of edit. Stateless. `propose` returns candidate programs, best guess first; each must be legal by
/// construction for every recovered program (the gate still checks it).
class Move {
 public:
  virtual ~Move() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view purpose() const = 0;
  /// Looks at one window at a time: the search hands it single ones. Other moves see all at once.
  virtual bool isLocal() const { return true; }
  /// Proposes other things at more effort. Others are asked once about a program.
  virtual bool growsWithEffort() const { return false; }
  /// Makes a loop anew: what other moves did to it before would be in the way or lost.
  virtual bool reshapes() const { return false; }
  virtual std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const = 0;
};

/// The one table of moves: registration, --help, --disable and the test of every move on every fixture read it.
const std::vector<const Move*>& moveTable();

struct Options {
  /// Of the whole call: K0's runs, the search, the last verification. The verification of a first result that has begun
  /// comes to its end.
  double budgetSeconds = 60;
  std::size_t maximumCandidates = 0; ///< priced, after which the search ends; 0: no limit
  std::uint64_t seed = 1;
  unsigned threads = 1; ///< that price candidates; the result depends on it only where the clock ends the search
  /// File of the ledger (ledger.h), which makes a search resumable and hands lessons on to others; empty: in memory.
  std::string ledger;
  /// Perturbed chips (timing/perturb.h) that every accepted edit is priced on; 0: none.
  unsigned perturbations = 10;
  unsigned mostSignChanges = 2; ///< of those: an edit that is slower on more of them is not accepted
  /// Rounds without progress, each at more effort, after which the search ends with budget left.
  unsigned maximumEffort = std::numeric_limits<unsigned>::max();
  const std::vector<const Move*>* moves = nullptr; ///< null: moveTable()
  std::vector<std::string> disabledMoves;
  verify::Options verify;
  /// Cases that are timed, where those are others than the ones verified: production sizes next to small ones.
  std::optional<dispatch::Dispatch> timed;
  /// Cases that only the final K1 is verified on as well: production sizes. An earlier program of the lineage takes its
  /// place where it fails.
  std::optional<dispatch::Dispatch> finalCases;
  bool inPlace = false; ///< write K1 by in-place patch only
  /// Mutants planted into K0 before the first result is called exact or tolerance (verify/mutation/score.h); 0: none.
  std::size_t mutants = 0;
  std::string scoreCache;                           ///< folder of mutation scores of earlier jobs
  std::function<void(const std::string&)> progress; ///< may be empty
};

struct Outcome {
  bool improved = false;
  Bytes k1;
  double baselineCycles = 0, finalCycles = 0; ///< modelled, sum over the timed cases
  /// K0's cycles over K1's on each perturbed chip.
  std::vector<double> perturbedSpeedups;
  bool resumed = false;           ///< an earlier run of the same job was taken up
  std::size_t fromLedger = 0;     ///< candidates whose price an earlier run had worked out
  double seconds = 0;             ///< of this run
  double secondsToNineTenths = 0; ///< of the search until nine tenths of its gain were there
  struct Step {
    double seconds = 0, cycles = 0;
  };
  std::vector<Step> steps;                    ///< every program that was accepted, in order
  std::map<std::string, double> phaseSeconds; ///< what this run spent its time on
  std::string ended;                          ///< why the search did: "budget", "candidates", "nothing left to try" ...
  std::vector<Edit> edits;
  std::vector<HotWindow> windows;
  std::vector<Attempt> attempts;               ///< in order
  verify::Verdict verdict;                     ///< of K1 on the dispatch
  std::optional<verify::Verdict> finalVerdict; ///< of K1 on Options::finalCases
  std::vector<std::string> assumptions;        ///< of all edits
  nlohmann::json mutation;                     ///< scoreJson(), where a score was asked for
  std::size_t candidatesTried = 0, candidatesRejected = 0;
};

Result<Outcome> optimize(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device,
                         const Options& options);

/// Ranks a kernel's basic blocks by modelled cost.
std::vector<HotWindow> rankWindows(const object::CodeObject& object, const program::Program& program,
                                   const object::Kernel& kernel, const timing::Estimate& profile);

/// "proved" and an assumption make `exact`.
verify::Level capped(verify::Level level, const std::vector<std::string>& assumptions);

/// Sum of the modelled cycles of all cases.
Result<double> modelledCycles(const object::CodeObject& object, const dispatch::Dispatch& dispatch,
                              device::Device& device);

/// One candidate through the whole gate: rebuild from `from` (the object `candidate` was recovered from), verify
/// against K0, time.
struct Judgement {
  verify::Verdict verdict;
  double cycles = 0; ///< modelled; 0 when rejected before timing
  Bytes bytes;
  std::string message; ///< why rejected, or ""
};
Result<Judgement> judge(const object::CodeObject& k0, const object::CodeObject& from, const program::Program& candidate,
                        const dispatch::Dispatch& dispatch, device::Device& device, isa::Codec& codec,
                        const Options& options);

} // namespace asmevo::optimize
