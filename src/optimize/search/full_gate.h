/// The expensive gate: verification against K0, with what all candidates share measured once.
#pragma once

#include "optimize/optimize.h"
#include "optimize/search/budget.h"

namespace asmevo::optimize {

class FullGate {
 public:
  using Report = std::function<void(const std::string&)>;
  /// Everything outlives it; the mutation score is filled into `options.verify`.
  FullGate(const object::CodeObject& original, const dispatch::Dispatch& cases, device::Device& dev, Options& opts,
           Budget& time, Report reporter)
      : k0(original), dispatch(cases), device(dev), options(opts), budget(time), report(std::move(reporter)) {}

  /// K0's own runs on the verified cases, measured when first asked for.
  Result<std::shared_ptr<const verify::Baseline>> baseline();

  /// Of one candidate; nothing after the first rejection. Level::timeout after `mostSeconds`; 0: no limit.
  Result<verify::Verdict> candidate(const object::CodeObject& k1, const std::vector<std::string>& assumptions,
                                    double mostSeconds);
  /// The whole report, for the receipt.
  Result<verify::Verdict> whole(const object::CodeObject& k1, const std::vector<std::string>& assumptions);
  /// On Options::finalCases, which there are.
  Result<verify::Verdict> final(const object::CodeObject& k1, const std::vector<std::string>& assumptions);
  /// K0's own runs on them, for what `final` will take.
  Status measureFinal();

  /// Seconds that a verification takes as far as is known, and the last one with the final cases.
  double costOfOne() const { return std::max(slowest, baselineSeconds); }
  double costOfLast() const { return costOfOne() + (options.finalCases ? 1.25 * finalSeconds : 0); }
  /// scoreJson(), where a score was asked for and mattered.
  const nlohmann::json& mutation() const { return score; }

 private:
  Status scoreOnce();
  verify::Options finalOptions() const;

  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  Options& options;
  Budget& budget;
  Report report;
  std::shared_ptr<const verify::Baseline> finalBaseline;
  nlohmann::json score;
  double baselineSeconds = 0, finalSeconds = 0, slowest = 0;
};

} // namespace asmevo::optimize
