// What an accepted edit says of chips near the nominal one, of its assumptions, and of the final cases.
#include "optimize/optimize.h"

#include "timing/perturb.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

constexpr const char* kernel = "histogram";

Options unhurried() {
  Options options;
  options.budgetSeconds = 3600;
  options.maximumCandidates = 24;
  options.maximumEffort = 0;
  options.perturbations = 4;
  options.mostSignChanges = 0;
  options.verify.seeds = {0};
  options.verify.furtherRounds = 0;
  return options;
}

Outcome search(const Options& options) {
  auto outcome = optimize(tests::kernelObject(kernel), tests::kernelDispatch(kernel), tests::simulator(), options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *std::move(outcome) : Outcome{};
}

/// By the device alone.
double cyclesOn(const object::CodeObject& object, const timing::Chip& chip) {
  double sum = 0;
  for (const auto& launch : tests::kernelDispatch(kernel).cases) {
    const auto loaded = tests::simulator().load(object, launch.kernel);
    EXPECT_TRUE(loaded);
    const auto traced = (*loaded)->sample(launch, chip);
    EXPECT_TRUE(traced);
    sum += traced->estimate(chip)->cycles;
  }
  return sum;
}

TEST(Robustness, AcceptedProgramsAreFasterOnEveryChipAsked) {
  const Outcome outcome = search(unhurried());
  ASSERT_TRUE(outcome.improved);
  const auto k1 = object::CodeObject::parse(outcome.k1, "K1");
  ASSERT_TRUE(k1);
  ASSERT_EQ(outcome.perturbedSpeedups.size(), 4u);
  const timing::Chip& nominal = *tests::simulator().chip();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const timing::Chip chip = timing::perturbed(nominal, seed);
    const double expected = cyclesOn(tests::kernelObject(kernel), chip) / cyclesOn(*k1, chip);
    EXPECT_NEAR(outcome.perturbedSpeedups[seed - 1], expected, 1e-9);
    EXPECT_GT(expected, 1);
  }
  for (const Edit& edit : outcome.edits) {
    ASSERT_EQ(edit.perturbedSpeedups.size(), 4u) << edit.move;
    for (const double speedup : edit.perturbedSpeedups)
      EXPECT_GT(speedup, 1) << edit.move;
  }
}

TEST(Robustness, WithoutPerturbationsNothingIsSaidOfThem) {
  Options options = unhurried();
  options.perturbations = 0;
  const Outcome outcome = search(options);
  ASSERT_TRUE(outcome.improved);
  EXPECT_TRUE(outcome.perturbedSpeedups.empty());
  for (const Edit& edit : outcome.edits)
    EXPECT_TRUE(edit.perturbedSpeedups.empty());
}

TEST(Assumptions, CapAProofOnly) {
  using enum verify::Level;
  const std::vector<std::string> none, some = {"buffers a and c do not overlap"};
  EXPECT_EQ(capped(proved, none), proved);
  EXPECT_EQ(capped(proved, some), exact);
  for (const verify::Level level : {exact, tolerance, differs, unsafe, refused, timeout, unknown})
    EXPECT_EQ(capped(level, some), level);
}

TEST(FinalCases, AreVerifiedOnceAndDecide) {
  Options options = unhurried();
  options.perturbations = 0;
  options.finalCases = tests::kernelDispatch(kernel);
  const Outcome passed = search(options);
  ASSERT_TRUE(passed.improved);
  ASSERT_TRUE(passed.finalVerdict);
  EXPECT_TRUE(verify::accepted(passed.finalVerdict->level));
  EXPECT_EQ(passed.finalVerdict->givenCases, options.finalCases->cases.size());

  // Cases that K0 itself cannot run say nothing for any program of the lineage: nothing is left of it.
  for (auto& launch : options.finalCases->cases)
    for (auto& argument : launch.arguments)
      if (!argument.buffer.empty())
        argument.offset += std::uint64_t{1} << 40;
  const Outcome failed = search(options);
  EXPECT_FALSE(failed.improved);
  EXPECT_TRUE(failed.k1.empty());
  EXPECT_TRUE(failed.edits.empty());
  EXPECT_DOUBLE_EQ(failed.finalCycles, failed.baselineCycles);
}

} // namespace
} // namespace asmevo::optimize
