// Objects that Triton's compiler made of kernels of our own (suites/triton/fixtures): recovery, values, optimization.
#include "optimize/optimize.h"

#include "device/run_support.h"
#include "program/program_support.h"
#include "verify/verify_support.h"

#include "support/file_io.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace asmevo::optimize {
namespace {

using test::must;

struct Fixture {
  const char* name;
  const char* output;
  double relative, absolute; ///< of NumPy's doubles; 0: the bits
};

void PrintTo(const Fixture& fixture, std::ostream* out) {
  *out << fixture.name;
}

class TritonObject : public testing::TestWithParam<Fixture> {
 protected:
  std::string path(const char* ending) const {
    return test::dataFile(std::string("triton/") + GetParam().name + ending);
  }
  object::CodeObject object() const { return test::loadObject(path(".hsaco")); }
  dispatch::Dispatch dispatch() const { return test::loadDispatch(path(".dispatch.json")); }

  void expectNumPysValues(const object::CodeObject& of) const {
    const dispatch::Case launch = dispatch().cases.at(0);
    const auto kernel = must(tests::simulator().load(of, launch.kernel));
    const emulator::RunResult result = must(kernel->launch(launch, {}));
    EXPECT_TRUE(result.guardViolations.empty());
    std::vector<Bytes> wanted = result.buffers;
    for (std::size_t i = 0; i < launch.buffers.size(); ++i)
      if (launch.buffers[i].name == GetParam().output)
        wanted[i] = must(readFile(path(".expected.bin")));
    const auto got = test::elements(launch, result.buffers, GetParam().output);
    const auto want = test::elements(launch, wanted, GetParam().output);
    ASSERT_EQ(got.size(), want.size());
    ASSERT_FALSE(want.empty());
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_LE(std::abs(got[i] - want[i]), GetParam().absolute + GetParam().relative * std::abs(want[i])) << i;
  }
};

TEST_P(TritonObject, ComputesWhatNumPyDoes) {
  expectNumPysValues(object());
}

TEST_P(TritonObject, IsRecoveredAndRebuiltToTheBit) {
  const Bytes bytes = must(readFile(path(".hsaco")));
  const program::test::Loaded loaded = program::test::load(bytes, GetParam().name);
  EXPECT_TRUE(std::ranges::equal(must(rebuild(loaded.object, loaded.program, *loaded.codec)), bytes));
  // With an instruction more every address behind it moves.
  program::test::Loaded moved = program::test::load(bytes, GetParam().name);
  const program::Function& function = moved.program.functions.at(0);
  program::test::insert(moved, function.preloadEntry.value_or(function.entryBlock), 0, "s_nop 0");
  const Bytes other = must(rebuild(moved.object, moved.program, *moved.codec));
  EXPECT_NE(other, bytes);
  expectNumPysValues(must(object::CodeObject::parse(other, "moved")));
}

TEST_P(TritonObject, OptimizedObjectsAreAcceptedAndComputeTheSame) {
  Options options;
  options.budgetSeconds = 3600;
  options.maximumCandidates = 6;
  options.maximumEffort = 1;
  options.mutants = 0;
  options.verify.seeds = {0};
  options.verify.furtherRounds = 0;
  const std::vector<std::string_view> moves = {"schedule", "relax-waits", "propagate-copies", "dead-code"};
  for (const Move* move : moveTable())
    if (std::ranges::find(moves, move->name()) == moves.end())
      options.disabledMoves.emplace_back(move->name());
  const object::CodeObject k0 = object();
  const Outcome outcome = must(optimize(k0, dispatch(), tests::simulator(), options));
  EXPECT_GT(outcome.candidatesTried, 0u);
  // The gate may refuse what these small cases do not reach, never what a move got wrong.
  for (const Attempt& attempt : outcome.attempts)
    EXPECT_TRUE(verify::accepted(attempt.level) || attempt.level == verify::Level::unknown)
        << attempt.move << ": " << attempt.reason;
  ASSERT_TRUE(outcome.improved);
  EXPECT_LT(outcome.finalCycles, outcome.baselineCycles);
  const object::CodeObject k1 = must(object::CodeObject::parse(outcome.k1, "K1"));
  const verify::Verdict verdict = must(verify::verify(k0, k1, dispatch(), tests::simulator(), {}));
  EXPECT_TRUE(verify::accepted(verdict.level)) << verdict.reason;
  expectNumPysValues(k1);
}

// f32 sums and exponentials in another order than NumPy's doubles: some units in the last place of 2^-23.
INSTANTIATE_TEST_SUITE_P(Own, TritonObject,
                         testing::Values(Fixture{"softmax_row", "out", 4e-6, 0}, Fixture{"gemm_tile", "c", 1e-6, 1e-5},
                                         Fixture{"masked_sum", "out", 0, 0}, Fixture{"gather_rows", "out", 0, 0}),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace asmevo::optimize
