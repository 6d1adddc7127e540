#include "optimize/search/full_gate.h"

#include "verify/mutation/score.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace asmevo::optimize {

Result<std::shared_ptr<const verify::Baseline>> FullGate::baseline() {
  if (!options.verify.baseline) {
    const Budget::During during(budget, Phase::baseline);
    const double begun = budget.elapsed();
    report("K0's own runs");
    ASMEVO_TRY(options.verify.baseline, verify::measureBaseline(k0, dispatch, device, options.verify));
    baselineSeconds = budget.elapsed() - begun;
  }
  return options.verify.baseline;
}

Result<verify::Verdict> FullGate::candidate(const object::CodeObject& k1, const std::vector<std::string>& assumptions,
                                            double mostSeconds) {
  ASMEVO_CHECK(baseline());
  const double begun = budget.elapsed();
  verify::Options gate = options.verify;
  gate.stopAtFirst = true;
  if (mostSeconds > 0 && (gate.timeLimitSeconds <= 0 || mostSeconds < gate.timeLimitSeconds))
    gate.timeLimitSeconds = mostSeconds;
  ASMEVO_TRY(auto verdict, verify::verify(k0, k1, dispatch, device, gate));
  verdict.level = capped(verdict.level, assumptions);
  slowest = std::max(slowest, budget.elapsed() - begun);
  if (verify::accepted(verdict.level) && verdict.level > verify::Level::proved) {
    ASMEVO_CHECK(scoreOnce());
    gate.mutationScore = options.verify.mutationScore;
    verify::applyMutationScore(verdict, gate);
  }
  return verdict;
}

Result<verify::Verdict> FullGate::whole(const object::CodeObject& k1, const std::vector<std::string>& assumptions) {
  ASMEVO_CHECK(baseline());
  report("the result on the verified cases");
  ASMEVO_TRY(auto verdict, verify::verify(k0, k1, dispatch, device, options.verify));
  verdict.level = capped(verdict.level, assumptions);
  if (!assumptions.empty())
    verdict.reason += fmt::format("; it rests on the dispatch: {}", fmt::join(assumptions, "; "));
  return verdict;
}

verify::Options FullGate::finalOptions() const {
  verify::Options once = options.verify;
  once.baseline = finalBaseline;
  once.seeds = {once.seeds.empty() ? 0 : once.seeds.front()};
  once.dataVariants = 0;
  return once;
}

Status FullGate::measureFinal() {
  if (!options.finalCases || finalBaseline)
    return {};
  const Budget::During during(budget, Phase::baseline);
  const double begun = budget.elapsed();
  report("K0's own runs on the final cases");
  ASMEVO_TRY(finalBaseline, verify::measureBaseline(k0, *options.finalCases, device, finalOptions()));
  finalSeconds = budget.elapsed() - begun;
  return {};
}

Result<verify::Verdict> FullGate::final(const object::CodeObject& k1, const std::vector<std::string>& assumptions) {
  ASMEVO_CHECK(measureFinal());
  report("the result on the final cases");
  ASMEVO_TRY(auto last, verify::verify(k0, k1, *options.finalCases, device, finalOptions()));
  // Production sizes need not reach every block: the verified cases do.
  const bool equal = last.newStrictFindings.empty() &&
                     std::ranges::all_of(last.cases, [](const verify::CaseResult& one) { return one.equal; });
  if (last.gate == "coverage" && equal) {
    last.level = verify::Level::exact;
    last.gate.clear();
    last.reason = "every buffer of every case is bit-equal; edited blocks that these do not execute the verified "
                  "cases do";
  }
  last.level = capped(last.level, assumptions);
  return last;
}

/// How much the cases notice, before anything rests on them alone.
Status FullGate::scoreOnce() {
  if (options.mutants == 0 || !score.is_null())
    return {};
  constexpr double shareOfBudget = 0.25, shortest = 5;
  verify::MutationOptions mutation;
  mutation.mutants = options.mutants;
  mutation.timeLimitSeconds =
      std::max(shortest, std::min(shareOfBudget * options.budgetSeconds, budget.left() - costOfLast()));
  mutation.gate = options.verify;
  mutation.progress = [&](std::size_t done, std::size_t all) {
    report(fmt::format("mutation score: {} of {} mutants judged", done, all));
  };
  ASMEVO_TRY(score, verify::cachedScore(k0, dispatch, device, mutation, options.scoreCache));
  options.verify.mutationScore = score["score"].get<double>();
  return {};
}

} // namespace asmevo::optimize
