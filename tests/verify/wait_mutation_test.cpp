// Waits and wait states of real kernels made too weak: strict mode sees every edit that matters on the executed paths,
// and is quiet about the others. The program wait_mutations does the same with any number of edits and objects.
#include "emulator/machine_support.h"
#include "verify/verify_support.h"
#include "verify/wait_mutation.h"

#include <gtest/gtest.h>

namespace asmevo::tests {
namespace {

constexpr std::uint64_t seed = 20;

struct Counts {
  std::size_t live = 0, caught = 0, harmless = 0;
  std::set<std::string> rules; ///< by which live ones were caught
  std::string survivors, falseAlarms;
};

/// Runs up to `live` mutants that the oracle calls live and `harmless` that it does not.
Counts plant(object::CodeObject object, const dispatch::Case& launch, std::vector<std::uint64_t> workgroups,
             std::size_t live, std::size_t harmless) {
  MutationTarget target(std::move(object), launch, std::move(workgroups));
  Counts counts;
  for (const std::size_t i : mixedOrder(target.mutants(), seed)) {
    const WaitMutant& mutant = target.mutants()[i];
    const std::string why = target.whyLive(mutant);
    std::size_t& done = why.empty() ? counts.harmless : counts.live;
    if (done == (why.empty() ? harmless : live))
      continue;
    ++done;
    const auto trial = target.run(mutant);
    if (why.empty()) {
      // A race is one whatever the data: the oracle passes over stores that changed nothing in its run.
      if (trial.caught && trial.by != "lds_race" && trial.by != "global_race")
        counts.falseAlarms += mutant.description + " (" + trial.by + ")\n";
      continue;
    }
    counts.caught += trial.caught;
    counts.rules.insert(trial.by);
    if (!trial.caught)
      counts.survivors += mutant.description + " (" + why + ")\n";
  }
  return counts;
}

struct KernelCase {
  const char* name;
  std::size_t live; ///< mutants to run; every kernel has as many
};

class WaitMutation : public testing::TestWithParam<KernelCase> {};

TEST_P(WaitMutation, EveryLiveOneIsCaught) {
  const auto [name, live] = GetParam();
  const dispatch::Dispatch dispatch = kernelDispatch(name);
  const Counts counts = plant(kernelObject(name), dispatch.cases.front(), {0, 1}, live, 6);
  EXPECT_EQ(counts.live, live);
  EXPECT_EQ(counts.caught, counts.live) << counts.survivors;
  EXPECT_EQ(counts.falseAlarms, "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, WaitMutation,
                         testing::Values(KernelCase{"device_call", 8}, KernelCase{"histogram", 10},
                                         KernelCase{"launch_shape", 4}, KernelCase{"layernorm", 12},
                                         KernelCase{"matmul_mfma", 8}, KernelCase{"matmul_tiled", 12},
                                         KernelCase{"reduce_dpp", 12}, KernelCase{"relu", 6}, KernelCase{"saxpy", 6},
                                         KernelCase{"softmax", 12}, KernelCase{"table_lookup", 8},
                                         KernelCase{"transpose", 8}, KernelCase{"vector_add", 6}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WaitMutationOfShippedObject, EveryLiveOneIsCaught) {
  const auto object = object::CodeObject::load(
      ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_12x256x8.co");
  ASSERT_TRUE(object) << object.error().message;
  const auto dispatch =
      dispatch::loadDispatch(ASMEVO_SOURCE_DIR "/tests/data/dispatch/topksoftmax_12x256x8.dispatch.json");
  ASSERT_TRUE(dispatch) << dispatch.error().message;
  const Counts counts = plant(*object, dispatch->cases.front(), {0}, 30, 10);
  EXPECT_EQ(counts.live, 30u);
  EXPECT_EQ(counts.caught, counts.live) << counts.survivors;
  EXPECT_EQ(counts.falseAlarms, "");
}

// Compilers rarely leave an s_nop behind a matrix operation: distances of exactly what table 37 of the CDNA3 ISA asks.
TEST(WaitMutationOfMatrixDistances, EveryLiveOneIsCaught) {
  namespace machine = emulator::test;
  // Without the first s_nop the kernel has findings of its own, which hide nothing.
  for (const std::string before : {"  s_nop 1\n", ""}) {
    const machine::KernelText text{machine::loadPointers(1) + R"(
  v_cvt_f32_u32_e32 v2, v0
  v_mov_b32_e32 v3, 1.0
  v_mov_b32_e32 v16, 2.0
  v_mov_b32_e32 v17, 2.0
)" + before + R"(
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[16:17], 0
  v_mov_b32_e32 v18, 0
  s_nop 5
  v_mfma_f32_4x4x4_16b_f16 v[8:11], v[4:5], v[16:17], 0
  s_nop 1
  v_mfma_f32_4x4x4_16b_f16 v[12:15], v[16:17], v[16:17], v[8:11]
  v_mov_b32_e32 v19, 0
  s_nop 3
  v_add_f32_e32 v1, v12, v4
)" + machine::storeV1};
    const dispatch::Case launch = machine::caseOf({.buffers = {machine::filled(64)}});
    const Counts counts = plant(machine::build(text), launch, {0}, 100, 100);
    EXPECT_GE(counts.live, 12u);
    EXPECT_EQ(counts.caught, counts.live) << counts.survivors;
    EXPECT_EQ(counts.falseAlarms, "");
    EXPECT_TRUE(counts.rules.contains("states.mfma-srcab"));
    EXPECT_TRUE(counts.rules.contains("states.mfma-vector"));
  }
}

} // namespace
} // namespace asmevo::tests
