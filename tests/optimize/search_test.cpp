#include "optimize/optimize.h"

#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

/// Enough that no search of these kernels ends by the clock.
Options unhurried() {
  Options options;
  options.budgetSeconds = 3600;
  options.maximumEffort = 1;
  options.verify.seeds = {0};
  options.verify.dataVariants = 1;
  return options;
}

Outcome search(const std::string& kernel, const Options& options) {
  auto outcome = optimize(tests::kernelObject(kernel), tests::kernelDispatch(kernel), tests::simulator(), options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *std::move(outcome) : Outcome{};
}

void expectImproved(const std::string& kernel, const Outcome& outcome) {
  ASSERT_TRUE(outcome.improved);
  EXPECT_LT(outcome.finalCycles, outcome.baselineCycles);
  ASSERT_FALSE(outcome.edits.empty());
  EXPECT_DOUBLE_EQ(outcome.edits.front().cyclesBefore, outcome.baselineCycles);
  EXPECT_DOUBLE_EQ(outcome.edits.back().cyclesAfter, outcome.finalCycles);
  for (const Edit& edit : outcome.edits) {
    EXPECT_LT(edit.cyclesAfter, edit.cyclesBefore);
    EXPECT_TRUE(verify::accepted(edit.level));
    EXPECT_FALSE(edit.reason.empty());
  }
  const auto k0 = tests::kernelObject(kernel);
  const auto k1 = object::CodeObject::parse(outcome.k1, "K1");
  ASSERT_TRUE(k1) << k1.error().message;
  const auto dispatch = tests::kernelDispatch(kernel);
  EXPECT_DOUBLE_EQ(*modelledCycles(*k1, dispatch, tests::simulator()), outcome.finalCycles);
  EXPECT_DOUBLE_EQ(*modelledCycles(k0, dispatch, tests::simulator()), outcome.baselineCycles);
  const auto verdict = verify::verify(k0, *k1, dispatch, tests::simulator(), {});
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verify::accepted(verdict->level)) << verdict->reason;
}

TEST(Search, HistogramImprovesAndTwoSearchesAgree) {
  const Outcome first = search("histogram", unhurried());
  expectImproved("histogram", first);
  const Outcome second = search("histogram", unhurried());
  EXPECT_EQ(first.k1, second.k1);
  EXPECT_EQ(first.candidatesTried, second.candidatesTried);
}

TEST(Search, SoftmaxImprovesByOneMoveAlone) {
  Options options = unhurried();
  options.maximumEffort = 0;
  for (const Move* move : moveTable())
    if (move->name() != "schedule")
      options.disabledMoves.emplace_back(move->name());
  const Outcome outcome = search("softmax", options);
  expectImproved("softmax", outcome);
  for (const Edit& edit : outcome.edits)
    EXPECT_EQ(edit.move, "schedule");
}

TEST(Search, EveryCandidateThatTheGateAcceptsIsProved) {
  for (const char* kernel : {"histogram", "reduce_dpp", "matmul_tiled"}) {
    SCOPED_TRACE(kernel);
    Options options = unhurried();
    options.disabledMoves = {"batch-loads", "batch-guarded-loads", "prefetch"}; // the proof does not follow those
    const Outcome outcome = search(kernel, options);
    std::size_t edits = 0;
    for (const Attempt& attempt : outcome.attempts) {
      EXPECT_FALSE(attempt.reason.empty());
      if (!verify::accepted(attempt.level))
        continue;
      edits += attempt.edits;
      EXPECT_EQ(attempt.level, verify::Level::proved) << attempt.move << ": " << attempt.reason;
      EXPECT_FALSE(attempt.windows.empty());
      for (const verify::WindowProof& window : attempt.windows) {
        EXPECT_EQ(window.status, verify::ProofStatus::proved);
        EXPECT_GT(window.instructions, 0u);
      }
    }
    EXPECT_GT(edits, 0u);
    EXPECT_EQ(edits, outcome.edits.size());
  }
}

TEST(Search, WithoutAProofTheCasesAreJudgedByMutantsOnce) {
  Options options = unhurried();
  options.verify.prove = false;
  options.mutants = 12;
  options.scoreCache = testing::TempDir() + "asmevo_search_scores";
  options.verify.mutationThreshold = 0;
  const Outcome lenient = search("launch_shape", options);
  ASSERT_TRUE(lenient.improved);
  EXPECT_EQ(lenient.verdict.level, verify::Level::exact);
  ASSERT_FALSE(lenient.mutation.is_null());
  const double score = lenient.mutation["score"].get<double>();
  EXPECT_GT(score, 0.5);
  EXPECT_LE(score, 1);
  EXPECT_EQ(lenient.verdict.mutationScore, score);

  options.verify.mutationThreshold = 1.5;
  const Outcome strict = search("launch_shape", options);
  EXPECT_FALSE(strict.improved);
  EXPECT_EQ(strict.mutation, lenient.mutation);
  ASSERT_FALSE(strict.attempts.empty());
  for (const Attempt& attempt : strict.attempts) {
    EXPECT_EQ(attempt.level, verify::Level::unknown);
    EXPECT_NE(attempt.reason.find("planted mutants"), std::string::npos) << attempt.reason;
  }
}

TEST(Search, WithoutMovesNothingChanges) {
  Options options = unhurried();
  for (const Move* move : moveTable())
    options.disabledMoves.emplace_back(move->name());
  const Outcome outcome = search("histogram", options);
  EXPECT_FALSE(outcome.improved);
  EXPECT_TRUE(outcome.k1.empty());
  EXPECT_TRUE(outcome.edits.empty());
  EXPECT_EQ(outcome.candidatesTried, 0u);
  EXPECT_DOUBLE_EQ(outcome.finalCycles, outcome.baselineCycles);
  EXPECT_GT(outcome.baselineCycles, 0);
}

TEST(Search, NoCasesAndNoBudget) {
  const auto k0 = tests::kernelObject("vector_add");
  EXPECT_FALSE(optimize(k0, {}, tests::simulator(), unhurried()));
  Options none = unhurried();
  none.budgetSeconds = 0;
  const Outcome outcome = search("vector_add", none);
  EXPECT_FALSE(outcome.improved);
  EXPECT_EQ(outcome.candidatesTried, 0u);
}

} // namespace
} // namespace asmevo::optimize
