/// K0 and K1 on the same launches: the same wave orders, the same poison, every buffer compared.
#pragma once

#include "verify/strict_runs.h"
#include "verify/verify.h"

#include <set>

namespace asmevo::verify {

/// One way of running a case.
struct Schedule {
  std::uint64_t seed = 0; ///< wave interleaving
  bool waveToBarrier = false;
  std::uint64_t poison = 0;
  std::string name; ///< "seed 1", "waves to their barriers"
};
/// One per seed, then each wave run to its next barrier before the others.
std::vector<Schedule> schedulesOf(const Options& options);
emulator::RunOptions runOptions(const Schedule& schedule, const Options& options);

/// A buffer that K0 does not always compute alike.
struct Unstable {
  std::size_t buffer = 0;
  std::string detail; ///< cause and first difference
};

/// What K0 does on one case.
struct BaselineCase {
  std::string kernel;
  std::optional<Error> failure; ///< of K0 itself
  std::vector<Bytes> buffers;   ///< of the first schedule
  std::vector<emulator::GuardViolation> guardViolations;
  std::vector<Unstable> unstable;
  std::uint64_t waveInstructions = 0; ///< largest of all schedules
  std::optional<StrictCase> strict;   ///< of the dispatch's own cases
};

class Baseline {
 public:
  std::string k0Sha256;
  std::vector<std::uint64_t> seeds;
  unsigned dataVariants = 0;
  bool strict = false;        ///< strict runs were made
  std::size_t givenCases = 0; ///< of the dispatch itself; the rest are its data variants
  std::vector<BaselineCase> cases;
  std::set<std::uint64_t> executed; ///< addresses, over all cases
};

struct Differential {
  std::vector<CaseResult> cases;
  Level level = Level::unknown; ///< exact, tolerance, differs, refused or timeout
  std::string reason;
  std::set<std::uint64_t> executed; ///< K1 addresses
  std::vector<StrictCase> strict;   ///< of K1, on the dispatch's own cases
};

/// measureBaseline on a dispatch that has its data variants already; the first `givenCases` are its own.
Result<std::shared_ptr<const Baseline>> measureVaried(const object::CodeObject& k0, const dispatch::Dispatch& varied,
                                                      std::size_t givenCases, device::Device& device,
                                                      const Options& options);

/// `dispatch` as in measureVaried. `deadline`: seconds of steady time after which the answer is timeout; infinity for
/// none.
Differential runDifferential(const Baseline& baseline, const object::CodeObject& k1, const dispatch::Dispatch& dispatch,
                             device::Device& device, const Options& options, double deadline);
/// Seconds of a steady clock.
double steadySeconds();

} // namespace asmevo::verify
