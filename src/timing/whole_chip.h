/// One CU's simulation carried over to the whole chip: rounds, the partly filled last one, workgroups that differ.
#pragma once

#include "timing/behaviour.h"
#include "timing/compute_unit.h"
#include "timing/sampling.h"
#include "timing/timeline.h"

#include <string>
#include <utility>
#include <vector>

namespace asmevo::timing {

/// Sums over simulated CU runs.
struct Totals {
  std::vector<InstructionCounters> counters; ///< by dword of code
  Traffic traffic;
  double clk = 0, valu = 0, mfma = 0, salu = 0, ldsPort = 0, ldsBank = 0, vmem = 0, l2 = 0, fabric = 0, hbm = 0;
  std::uint64_t instructions = 0, workgroups = 0;

  void add(const CuResult& run);
  /// Busy share of each unit: MFMA first, then VALU.
  std::vector<std::pair<std::string, double>> utilisation() const;
};

class WholeChip {
 public:
  /// Wave-instructions that one estimate simulates at most for its rounds (about a second).
  static constexpr std::uint64_t simulationBudget = 1'500'000;

  /// Keeps references to all of them.
  WholeChip(const Parameters& parameters, const std::vector<StaticInst>& staticCode, const TraceSet& traceSet,
            const Behaviours& behaviours, const Placement& placement)
      : p(parameters), code(staticCode), set(traceSet), kinds(behaviours), place(placement) {}

  Status run() { return place.perCu == 1 ? runSpread() : runRounds(); }

  /// The run that decides goes into `timeline` as well.
  void record(Timeline* into) { timeline = into; }

  double clk() const { return middle; } ///< from the first wave's start to the last one's end, dispatch ramp excluded
  double clkLow() const { return low; }
  double clkHigh() const { return high; }
  const Totals& totals() const { return sums; } ///< of the runs that stand for the whole
  std::uint64_t simulatedWorkgroups() const { return simulated; }

 private:
  /// One CU per traced workgroup: with at most one workgroup per CU the slowest is the dispatch's time.
  Status runSpread();
  /// A CU's first rounds, the rest of them extrapolated, the last, partly filled one by itself.
  Status runRounds();
  Result<CuResult> simulate(std::vector<unsigned> traces, unsigned residents, const ChipLoad& load,
                            bool recorded = false);
  /// `count` workgroups as a CU gets them: those traced of the first CU, or a mix by share where workgroups differ.
  std::vector<unsigned> sequence(std::uint64_t count) const;
  /// Clk of the workgroups after `run` up to `count` of them.
  double extrapolate(const CuResult& run, std::uint64_t count) const;
  /// Time of the partly filled last round, on top of the full ones.
  Result<double> tailClk(double full, double perGroup);
  /// Whole chip against one CU with the mean mix, from how long workgroups of each behaviour took in `run`.
  double imbalance(const CuResult& run, const std::vector<unsigned>& traces);
  void bracket(double relative);

  const Parameters& p;
  const std::vector<StaticInst>& code;
  const TraceSet& set;
  const Behaviours& kinds;
  const Placement& place;
  Totals sums;
  Timeline* timeline = nullptr;
  double middle = 0, low = 0, high = 0;
  double tailSlack = 0; ///< clk that the last round may take more
  double relativeSlack = 0;
  std::uint64_t simulated = 0, instructionsEach = 1;
};

} // namespace asmevo::timing
