// Runs that never end, and those that only look like it.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

void expectParts(const Error& error, std::initializer_list<const char*> parts) {
  EXPECT_EQ(error.kind, ErrorKind::fault);
  for (const char* part : parts)
    EXPECT_NE(error.message.find(part), std::string::npos) << part << " in " << error.message;
}

TEST(Schedule, LoopsThatRepeatTheirStateAreEndless) {
  const KernelText text{R"(
  s_mov_b32 s8, 0
.Lloop:
  s_add_u32 s8, s8, 1
  s_and_b32 s8, s8, 7
  s_branch .Lloop
)"};
  for (const std::uint64_t seed : {0u, 5u}) {
    RunOptions options;
    options.seed = seed;
    expectParts(runError(text, {.buffers = {filled(1)}}, options),
                {"kernel 'k' never ends", "registers, LDS and memory are as they were", "wave 0 goes round through"});
  }
}

TEST(Schedule, BarrierThatSpinningWavesNeverReach) {
  // Wave 1 waits in LDS for what wave 0 stores only after the barrier.
  KernelText text{R"(
  v_readfirstlane_b32 s6, v0
  v_mov_b32_e32 v1, 0
  s_cmp_lt_u32 s6, 64
  s_cbranch_scc0 .Lspin
  ds_write_b32 v1, v1
  s_barrier
  s_endpgm
.Lspin:
  s_sleep 1
  ds_read_b32 v2, v1 offset:64
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s8, v2
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 .Lspin
  s_barrier
)"};
  text.ldsBytes = 512;
  RunOptions options;
  expectParts(runError(text, {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(1)}}, options),
              {"never ends", "waves wait at a barrier for others that do not get there",
               "wave 0 waits at the barrier before 's_endpgm'", "wave 1 goes round through"});
}

/// Every workgroup counts up, then waits until as many as `total` have come.
KernelText gridBarrier(unsigned total) {
  return {loadPointers(1) + R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b64 exec, 1
  global_atomic_add v1, v2, s[4:5]
.Lspin:
  global_load_dword v3, v1, s[4:5] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_lt_u32 s8, )" +
          std::to_string(total) + R"(
  s_cbranch_scc1 .Lspin
)"};
}

TEST(Schedule, GridBarriersPassWhenAllWorkgroupsAreResident) {
  for (const std::uint64_t seed : {0u, 9u}) {
    RunOptions options;
    options.seed = seed;
    const Outcome outcome = run(gridBarrier(300), {.grid = {300 * 64, 1, 1}, .buffers = {{0, 0}}}, options);
    EXPECT_EQ(outcome.out[0], 300u);
  }
}

TEST(Schedule, GridBarriersOfMoreWorkgroupsThanCanBeResident) {
  // The emulator keeps 4096 workgroups at a time.
  const KernelText text = gridBarrier(5000);
  RunOptions options;
  options.maxInstructions = 2'000'000'000;
  expectParts(runError(text, {.grid = {5000 * 64, 1, 1}, .buffers = {{0, 0}}}, options),
              {"never ends", "workgroups have not started", "are all that can be resident", "and "});
}

TEST(Schedule, SlowProgressIsNoEndlessLoop) {
  // A counter in one lane of a vector register, the scalars always the same at the loop's head.
  const KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 0
  s_mov_b32 s9, 0xc00000
.Lloop:
  v_add_u32_e32 v1, 1, v1
  v_cmp_lt_u32_e32 vcc, v1, v2
  v_readfirstlane_b32 s8, v1
  s_cmp_lt_u32 s8, s9
  s_mov_b32 s8, 0
  s_cbranch_scc1 .Lloop
)" + storeV1};
  RunOptions options;
  const Outcome outcome = run(text, {.buffers = {filled(64)}}, options);
  EXPECT_EQ(outcome.out, filled(64, 0xc00000));
  EXPECT_GT(outcome.result.waveInstructions, 64'000'000u);
}

TEST(Schedule, CountingInMemoryIsNoEndlessLoop) {
  // All registers come again, the counter in memory does not.
  const KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b64 exec, 1
.Lloop:
  global_atomic_add v3, v1, v2, s[4:5] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  v_mov_b32_e32 v3, 0
  s_cmp_lt_u32 s8, 0x600000
  s_mov_b32 s8, 0
  s_cbranch_scc1 .Lloop
)"};
  EXPECT_EQ(run(text, {.buffers = {{0, 0}}}).out[0], 0x600001u);
}

TEST(Schedule, SpinningOnAClockIsLeftToTheLimit) {
  const KernelText text{R"(
.Lloop:
  s_memtime s[8:9]
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[8:9], 0
  s_branch .Lloop
)"};
  RunOptions options;
  options.maxInstructions = 40'000'000;
  expectParts(runError(text, {.buffers = {filled(1)}}, options), {"still running after 40000000", "wave 0 is at"});
}

} // namespace
} // namespace asmevo::emulator::test
