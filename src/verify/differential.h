/// K0 and K1 on the same launches: the same wave orders, the same poison, every buffer compared.
#pragma once

#include "verify/baseline.h"

#include <set>

namespace asmevo::verify {

struct Differential {
  std::vector<CaseResult> cases;
  Level level = Level::unknown; ///< exact, tolerance, differs, unsafe, refused or timeout
  std::string gate;             ///< of a rejection: "differential" or "strict"
  std::string reason;
  std::set<std::uint64_t> executed;                ///< K1 addresses
  std::vector<std::optional<StrictCase>> strict;   ///< of K1, by case
  std::vector<std::set<std::uint64_t>> executedBy; ///< K1 addresses, by case
};

/// Runs K1 as the baseline says, in order first, then strictly. `deadline`: seconds of steady time after which the
/// answer is timeout; infinity for none. With Options::stopAtFirst nothing runs after the first rejection.
class DifferentialRun {
 public:
  DifferentialRun(const Baseline& baseline, const object::CodeObject& k1, device::Device& device,
                  const Options& options, double deadline);
  /// Both may be called once, in this order. The second does nothing after a rejection.
  void runInOrder();
  void runStrict();
  Differential result;

 private:
  void reject(Level level, const char* gate, std::string reason);
  bool isOver() const;
  bool lenient(std::size_t c) const;
  device::LoadedKernel* load(std::size_t c);
  void runCase(std::size_t c);

  const Baseline& baseline;
  const object::CodeObject& k1;
  device::Device& device;
  const Options& options;
  double deadline;
  std::map<std::string, std::unique_ptr<device::LoadedKernel>> kernels;
};

/// Seconds of a steady clock.
double steadySeconds();

} // namespace asmevo::verify
