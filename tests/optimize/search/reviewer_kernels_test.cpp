// Kernels that no move was made for improve too, and compute what the same source computes on the host.
#include "optimize/optimize.h"

#include "device/run_support.h"
#include "host/twins.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo {
namespace {

class ReviewerKernels : public testing::TestWithParam<std::string> {
 protected:
  static std::string source(const std::string& extension) {
    return std::string(ASMEVO_SOURCE_DIR) + "/kernels/reviewer/" + GetParam() + extension;
  }
  void expectTwinsResults(const object::CodeObject& object) const {
    const auto kernel = test::must(tests::simulator().load(object, GetParam()));
    for (const dispatch::Case& launch : dispatch.cases) {
      const std::vector<Bytes> expected = test::runTwin(GetParam(), launch);
      const emulator::RunResult result = test::must(kernel->launch(launch, {}));
      EXPECT_TRUE(result.guardViolations.empty()) << launch.name;
      EXPECT_EQ(result.buffers, expected) << launch.name;
    }
  }

  object::CodeObject k0 = test::loadObject(std::string(ASMEVO_BINARY_DIR) + "/kernels/reviewer/" + GetParam() + ".co");
  dispatch::Dispatch dispatch = test::loadDispatch(source(".dispatch.json"));
};

TEST_P(ReviewerKernels, Improve) {
  expectTwinsResults(k0);
  optimize::Options options;
  options.budgetSeconds = 3600;
  options.maximumCandidates = 16;
  options.timed = test::loadDispatch(source(".timing.json"));
  options.verify.seeds = {0};
  options.verify.dataVariants = 0; // the host's results are compared with below
  const auto outcome = test::must(optimize::optimize(k0, dispatch, tests::simulator(), options));
  ASSERT_TRUE(outcome.improved);
  EXPECT_TRUE(verify::accepted(outcome.verdict.level)) << outcome.verdict.reason;
  EXPECT_GT(outcome.baselineCycles / outcome.finalCycles, 1.01);
  const auto k1 = test::must(object::CodeObject::parse(outcome.k1, "K1"));
  EXPECT_DOUBLE_EQ(*optimize::modelledCycles(k1, *options.timed, tests::simulator()), outcome.finalCycles);
  std::size_t slower = 0;
  for (const double speedup : outcome.perturbedSpeedups)
    slower += speedup <= 1;
  EXPECT_EQ(outcome.perturbedSpeedups.size(), 10u);
  EXPECT_LE(slower, 2u);
  expectTwinsResults(k1);
}

INSTANTIATE_TEST_SUITE_P(All, ReviewerKernels, testing::ValuesIn(host::reviewerNames()),
                         [](const auto& i) { return i.param; });

} // namespace
} // namespace asmevo
