/// What K0 does on every case of a dispatch and on the variants made of them: measured once, for many candidates.
#pragma once

#include "verify/data_variants.h"
#include "verify/lint/baseline.h"
#include "verify/strict_runs.h"
#include "verify/verify.h"

#include <map>
#include <mutex>
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

/// A buffer that K0 does not always compute alike.
struct Unstable {
  std::size_t buffer = 0;
  std::string detail; ///< cause and first difference
};

/// What K0 does on one case.
struct BaselineCase {
  std::string kernel;
  std::optional<Error> failure; ///< of K0 itself, on one of the dispatch's own cases
  std::string skipped;          ///< of a variant: why it is no test of K1; else empty
  /// What K1 is run under. Own cases: all there are. A variant: one of them, another each time.
  std::vector<Schedule> schedules;
  std::vector<std::uint64_t> workgroups; ///< of a variant: those that run; empty: all
  std::vector<Bytes> buffers;            ///< of the first schedule
  std::vector<emulator::GuardViolation> guardViolations;
  emulator::LdsExtent lds; ///< over all schedules
  std::vector<Unstable> unstable;
  std::uint64_t waveInstructions = 0; ///< largest of all schedules
  std::optional<StrictCase> strict;

  bool isUnstable(std::size_t buffer) const;
  /// What K1's runs of the case have in common; `schedule` is one of `schedules`.
  emulator::RunOptions runOptions(const Schedule& schedule, const Options& options) const;
  emulator::RunOptions strictOptions(const Options& options) const;
};

class Baseline {
 public:
  std::string k0Sha256;
  std::vector<std::uint64_t> seeds;
  unsigned dataVariants = 0, firstVariant = 1;
  bool strict = false;   ///< strict runs were made
  VariedDispatch varied; ///< the cases
  ComparedFindings lint;
  std::vector<BaselineCase> cases;
  std::set<std::uint64_t> executed;                     ///< addresses, over all cases
  std::map<std::uint64_t, emulator::ExecPatterns> exec; ///< of the strict runs
  std::size_t variantsSkipped = 0;                      ///< that K0 itself is not made for
  std::size_t sizesWithoutNews = 0;                     ///< that execute nothing that others do not

  /// See furtherBaseline().
  struct Further {
    std::mutex measuring;
    std::shared_ptr<const Baseline> baseline;
  };
  std::shared_ptr<Further> further = std::make_shared<Further>();

  bool isVariant(std::size_t c) const { return c >= varied.given; }
  const Variant& variantOf(std::size_t c) const { return varied.variants[c - varied.given]; }
  /// Was it measured for these?
  bool fits(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, const Options& options) const;
};

/// K0 on Options::furtherRounds of data beyond those of `baseline`, which keeps it: measured when it is first asked
/// for. Its strict runs are only there to leave out sizes that K0 is not made for.
Result<std::shared_ptr<const Baseline>> furtherBaseline(const Baseline& baseline, const object::CodeObject& k0,
                                                        const dispatch::Dispatch& dispatch, device::Device& device,
                                                        const Options& options);

/// Guard violations of K1 that K0 does not commit.
std::optional<emulator::GuardViolation> newViolation(const std::vector<emulator::GuardViolation>& k0,
                                                     const std::vector<emulator::GuardViolation>& k1);
/// Does K1 reach for LDS that a launch of K0 has and its own lacks? Says where, else empty. Beyond the end of both they
/// do alike: they read 0 and do not write.
std::string missingLds(const emulator::LdsExtent& k0, const emulator::LdsExtent& k1);
/// "buffer 'c' element 5: 1 instead of 2 (3 elements differ)"
std::string describe(const dispatch::Difference& difference);
void addCoverage(const emulator::RunResult& run, std::set<std::uint64_t>& executed);

} // namespace asmevo::verify
