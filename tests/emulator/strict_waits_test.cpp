// Strict delivery: registers change and memory is read or written when a wait says so, and uses before that are found.
#include "emulator/strict_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

using Rules = std::vector<std::string>;

Launch oneWave() {
  return {.buffers = {filled(64), iota(64, 1000)}};
}
Launch twoWaves() {
  return {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(128), iota(128, 1000)}};
}

TEST(StrictWaits, ALoadIsDeliveredByItsWait) {
  const auto out = runStrict(strictKernel(R"(
  global_load_dword v1, v2, s[6:7]
  s_waitcnt vmcnt(0)
)"),
                             oneWave());
  EXPECT_EQ(out.rules(), Rules{});
  EXPECT_EQ(out.out, iota(64, 1000));
}

TEST(StrictWaits, AReadWithoutWaitSeesTheOldRegisterAndIsNamed) {
  const auto out = runStrict(strictKernel(R"(
  v_mov_b32_e32 v3, 7
  global_load_dword v3, v2, s[6:7]
  v_mov_b32_e32 v1, v3
)"),
                             oneWave());
  EXPECT_EQ(out.rules(), Rules{"wait.vm.raw"});
  EXPECT_EQ(out.out, filled(64, 7));
  const StrictFinding& finding = out.finding("wait.vm.raw");
  EXPECT_EQ(finding.consumer - finding.producer, 8u);
  EXPECT_EQ(finding.wave, 0u);
  EXPECT_EQ(finding.lane, 0u);
  EXPECT_EQ(finding.count, 1u);
  EXPECT_NE(finding.message.find("\"v_mov_b32_e32 v1, v3\""), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("reads v3 while \"global_load_dword v3, v2, s[6:7]\""), std::string::npos)
      << finding.message;
  EXPECT_NE(finding.message.find("needs vmcnt(0), has no vmcnt wait"), std::string::npos) << finding.message;
}

TEST(StrictWaits, InWaveModeTheValueIsThereButTheUseIsNamed) {
  const auto out = runStrict(strictKernel(R"(
  v_mov_b32_e32 v3, 7
  global_load_dword v3, v2, s[6:7]
  v_mov_b32_e32 v1, v3
)"),
                             oneWave(), waitsOnly(Delivery::waveToBarrier));
  EXPECT_EQ(out.rules(), Rules{"wait.vm.raw"});
  EXPECT_EQ(out.out, iota(64, 1000));
}

TEST(StrictWaits, OnlyOlderOperationsAreCoveredByACount) {
  const std::string loads = R"(
  v_mov_b32_e32 v3, 7
  v_mov_b32_e32 v4, 8
  global_load_dword v3, v2, s[6:7]
  global_load_dword v4, v2, s[6:7] offset:4
  s_waitcnt vmcnt(1)
)";
  EXPECT_EQ(runStrict(strictKernel(loads + "  v_mov_b32_e32 v1, v3\n"), oneWave()).rules(), Rules{});
  const auto late = runStrict(strictKernel(loads + "  v_mov_b32_e32 v1, v4\n"), oneWave());
  EXPECT_EQ(late.rules(), Rules{"wait.vm.raw"});
  EXPECT_NE(late.result.findings[0].message.find("needs vmcnt(0), has at most vmcnt(1)"), std::string::npos);
  EXPECT_EQ(late.out, filled(64, 8));
}

TEST(StrictWaits, ALaneThatWasNotLoadedMayBeRead) {
  const std::string load = R"(
  v_mov_b32_e32 v3, 7
  s_mov_b64 exec, 0xf0
  global_load_dword v3, v2, s[6:7]
  s_mov_b64 exec, {}
  v_add_u32_e32 v5, 1, v3
  s_mov_b64 exec, -1
  v_mov_b32_e32 v1, v0
)";
  EXPECT_EQ(runStrict(strictKernel(fmt::format(fmt::runtime(load), "0x0f")), oneWave()).rules(), Rules{});
  const auto out = runStrict(strictKernel(fmt::format(fmt::runtime(load), "0x7f")), oneWave());
  EXPECT_EQ(out.rules(), Rules{"wait.vm.raw"});
  EXPECT_EQ(out.finding("wait.vm.raw").lane, 4u);
}

TEST(StrictWaits, OverwritingALoadsDestinationIsNamed) {
  const auto out = runStrict(strictKernel(R"(
  global_load_dword v1, v2, s[6:7]
  v_mov_b32_e32 v1, 5
)"),
                             oneWave());
  EXPECT_EQ(out.rules(), Rules{"wait.vm.waw"});
  EXPECT_EQ(out.out, iota(64, 1000)); // the load comes last
}

TEST(StrictWaits, LoadsOfOneCounterMayOverwriteEachOther) {
  const auto out = runStrict(strictKernel(R"(
  global_load_dword v1, v2, s[6:7]
  global_load_dword v1, v2, s[6:7] offset:4
  s_waitcnt vmcnt(0)
)"),
                             {.buffers = {filled(64), iota(65, 1000)}});
  EXPECT_EQ(out.rules(), Rules{});
  EXPECT_EQ(out.out, iota(64, 1001));
  const auto mixed = runStrict(strictKernel(R"(
  ds_write_b32 v2, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v1, v2
  global_load_dword v1, v2, s[6:7]
  s_waitcnt vmcnt(0) lgkmcnt(0)
)",
                                            256),
                               oneWave());
  EXPECT_EQ(mixed.rules(), Rules{"wait.lgkm.waw"});
}

TEST(StrictWaits, ScalarLoadsAreProvedByZeroOnly) {
  const std::string loads = R"(
  s_load_dword s8, s[6:7], 0
  s_load_dword s9, s[6:7], 4
  s_waitcnt lgkmcnt({})
  v_mov_b32_e32 v1, s8
)";
  const auto covered = runStrict(strictKernel(fmt::format(fmt::runtime(loads), 0)), oneWave());
  EXPECT_EQ(covered.rules(), Rules{});
  EXPECT_EQ(covered.out, filled(64, 1000));
  const auto partial = runStrict(strictKernel(fmt::format(fmt::runtime(loads), 1)), oneWave());
  EXPECT_EQ(partial.rules().front(), "wait.lgkm.raw");
}

TEST(StrictWaits, LdsReturnsInOrderAlsoNextToScalarLoads) {
  const std::string body = R"(
  ds_write_b32 v2, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, 9
  ds_read_b32 v1, v2
  s_load_dword s8, s[6:7], 0
  ds_read_b32 v4, v2
  s_waitcnt lgkmcnt({})
  v_add_u32_e32 v1, v1, v1
)";
  const auto covered = runStrict(strictKernel(fmt::format(fmt::runtime(body), 1), 256), oneWave());
  EXPECT_EQ(covered.rules(), Rules{});
  EXPECT_EQ(covered.out, iota(64, 0, 2));
  EXPECT_EQ(runStrict(strictKernel(fmt::format(fmt::runtime(body), 2), 256), oneWave()).rules(),
            Rules{"wait.lgkm.raw"});
}

TEST(StrictWaits, FlatNeedsBothCounters) {
  const std::string body = R"(
  v_mov_b32_e32 v4, s6
  v_mov_b32_e32 v5, s7
  v_mov_b32_e32 v1, 3
  flat_load_dword v1, v[4:5]
  s_waitcnt {}
  v_add_u32_e32 v1, 1, v1
)";
  const auto run = [&](const char* wait) {
    return runStrict(strictKernel(fmt::format(fmt::runtime(body), wait)), oneWave());
  };
  EXPECT_EQ(run("vmcnt(0) lgkmcnt(0)").rules(), Rules{});
  EXPECT_EQ(run("vmcnt(0) lgkmcnt(0)").out, filled(64, 1001));
  EXPECT_EQ(run("vmcnt(0)").rules(), Rules{"wait.lgkm.raw"});
  EXPECT_EQ(run("lgkmcnt(0)").rules(), Rules{"wait.vm.raw"});
}

TEST(StrictWaits, AFullCounterWaitsForTheOldest) {
  std::string stores;
  for (unsigned i = 0; i < 63; ++i)
    stores += "  global_store_dword v2, v0, s[4:5]\n";
  const std::string load = "  global_load_dword v1, v2, s[6:7]\n", use = "  v_add_u32_e32 v1, 1, v1\n";
  const auto full = runStrict(strictKernel(load + stores + use), oneWave());
  EXPECT_EQ(full.rules(), Rules{}); // the 63rd store found the counter at 63
  EXPECT_EQ(full.out, iota(64, 1001));
  stores.erase(0, stores.find('\n') + 1);
  EXPECT_EQ(runStrict(strictKernel(load + stores + use), oneWave()).rules(), Rules{"wait.vm.raw"});

  std::string reads = "  ds_write_b32 v2, v0\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v1, v2\n";
  for (unsigned i = 0; i < 14; ++i)
    reads += "  ds_read_b32 v4, v2\n";
  EXPECT_EQ(runStrict(strictKernel(reads + use, 256), oneWave()).rules(), Rules{"wait.lgkm.raw"});
  EXPECT_EQ(runStrict(strictKernel(reads + "  ds_read_b32 v4, v2\n" + use, 256), oneWave()).rules(), Rules{});
}

// Wave 0 hands a value to wave 1 through LDS.
KernelText handOver(const std::string& afterWrite, const std::string& beforeRead = "") {
  return strictKernel(R"(
  v_mov_b32_e32 v3, 0
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_add_u32_e32 v3, 5, v0
  ds_write_b32 v2, v3
)" + afterWrite + "  s_barrier\n" +
                          beforeRead + R"(
  v_xor_b32_e32 v4, 0x100, v2
  ds_read_b32 v1, v4
  s_waitcnt lgkmcnt(0)
)",
                      512);
}

TEST(StrictWaits, AnLdsWriteWithoutWaitIsNotSeenBehindTheBarrier) {
  const auto right = runStrict(handOver("  s_waitcnt lgkmcnt(0)\n"), twoWaves());
  EXPECT_EQ(right.rules(), Rules{});
  const auto wrong = runStrict(handOver(""), twoWaves());
  // v2 of lane i of wave w is 4 * (64 w + i): each wave reads what the other wrote. Wave 0 reads before wave 1 has
  // waited for anything.
  for (unsigned i = 0; i < 128; ++i) {
    EXPECT_EQ(right.out[i], 5 + (i ^ 64));
    EXPECT_EQ(wrong.out[i], i < 64 ? 0 : 5 + (i ^ 64));
  }
}

// A read moved above the barrier that it must follow.
TEST(StrictWaits, AnEarlyLdsReadShowsInLdsEarlyMode) {
  const KernelText text = strictKernel(R"(
  v_mov_b32_e32 v3, 0
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_add_u32_e32 v3, 5, v0
  ds_write_b32 v2, v3
  v_xor_b32_e32 v4, 0x100, v2
  ds_read_b32 v1, v4
  s_waitcnt lgkmcnt(1)
  s_barrier
  s_waitcnt lgkmcnt(0)
)",
                                       512);
  const auto late = runStrict(text, twoWaves());
  const auto early = runStrict(text, twoWaves(), waitsOnly(Delivery::ldsEarly));
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(late.out[i], 5 + (i ^ 64)); // hidden
  EXPECT_EQ(early.out[0], 0u);
}

TEST(StrictWaits, OwnStoresAreSeenByOwnLoads) {
  const auto out = runStrict(strictKernel(R"(
  v_add_u32_e32 v3, 5, v0
  global_store_dword v2, v3, s[6:7]
  global_load_dword v1, v2, s[6:7]
  global_store_dword v2, v0, s[6:7]
  s_waitcnt vmcnt(1)
)"),
                             oneWave());
  EXPECT_EQ(out.rules(), Rules{});
  EXPECT_EQ(out.out, iota(64, 5));
  EXPECT_EQ(out.buffer(1), iota(64));
}

TEST(StrictWaits, AtomicsComeAfterOwnEarlierStores) {
  const auto out = runStrict(strictKernel(R"(
  v_add_u32_e32 v3, 5, v0
  global_store_dword v2, v3, s[6:7]
  global_atomic_add v1, v2, v3, s[6:7] sc0
  s_waitcnt vmcnt(0)
)"),
                             oneWave());
  EXPECT_EQ(out.rules(), Rules{});
  EXPECT_EQ(out.out, iota(64, 5));
  EXPECT_EQ(out.buffer(1), iota(64, 10, 2));
}

KernelText dmaKernel(const std::string& between) {
  return strictKernel(R"(
  s_mov_b32 s8, s6
  s_mov_b32 s9, s7
  s_mov_b32 s10, 256
  s_mov_b32 s11, 0x20000
  v_mov_b32_e32 v3, 0
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 0
  s_nop 0
  buffer_load_dword v2, s[8:11], 0 offen lds
)" + between + R"(
  ds_read_b32 v1, v2
  s_waitcnt lgkmcnt(0)
)",
                      256);
}

TEST(StrictWaits, AnLdsDmaIsThereAfterItsWait) {
  const auto right = runStrict(dmaKernel("  s_waitcnt vmcnt(0)\n"), oneWave());
  EXPECT_EQ(right.rules(), Rules{});
  EXPECT_EQ(right.out, iota(64, 1000));
  const auto wrong = runStrict(dmaKernel(""), oneWave());
  EXPECT_EQ(wrong.rules(), Rules{"wait.vm.lds-dma"});
  EXPECT_EQ(wrong.out, filled(64, 0));
  const auto wave = runStrict(dmaKernel(""), oneWave(), waitsOnly(Delivery::waveToBarrier));
  EXPECT_EQ(wave.rules(), Rules{"wait.vm.lds-dma"});
  EXPECT_EQ(wave.out, iota(64, 1000));
}

// Both ways into LDS are independent: the read below must have its data before the DMA may be issued.
TEST(StrictWaits, AnLdsDmaOverwritesWhatAReadInFlightStillNeeds) {
  const auto kernel = [](const std::string& between) {
    return strictKernel(R"(
  s_mov_b32 s8, s6
  s_mov_b32 s9, s7
  s_mov_b32 s10, 256
  s_mov_b32 s11, 0x20000
  v_mov_b32_e32 v3, 7
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 0
  ds_read_b32 v1, v2
)" + between + R"(
  buffer_load_dword v2, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
  s_waitcnt lgkmcnt(0)
)",
                        256);
  };
  const auto right = runStrict(kernel("  s_waitcnt lgkmcnt(0)\n"), oneWave());
  EXPECT_EQ(right.rules(), Rules{});
  EXPECT_EQ(right.out, filled(64, 7));
  const auto wrong = runStrict(kernel(""), oneWave());
  EXPECT_EQ(wrong.rules(), Rules{"wait.lgkm.war"});
  EXPECT_EQ(wrong.out, iota(64, 1000));
}

// Wave 0 never waits for its store and goes on reading scalar memory until wave 1 has seen it.
TEST(StrictWaits, AStoreWithoutAWaitIsSeenInTheEnd) {
  const auto out = runStrict(strictKernel(R"(
  v_readfirstlane_b32 s8, v0
  v_mov_b32_e32 v3, 1
  v_mov_b32_e32 v4, 0
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 second
  global_store_dword v4, v3, s[6:7]
first:
  s_load_dword s9, s[6:7], 0x4
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 first
  s_branch done
second:
  global_load_dword v5, v4, s[6:7] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v5
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 second
  global_store_dword v4, v3, s[6:7] offset:4
  s_waitcnt vmcnt(0)
done:
  v_mov_b32_e32 v1, v0
)"),
                             {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(128), filled(2, 0)}});
  EXPECT_EQ(out.rules(), Rules{});
  EXPECT_EQ(out.out, iota(128));
  EXPECT_EQ(out.buffer(1), filled(2, 1));
}

TEST(StrictWaits, SubDwordLoadsKeepTheOtherHalf) {
  const auto out = runStrict(strictKernel(R"(
  v_mov_b32_e32 v1, 0
  global_load_short_d16 v1, v2, s[6:7]
  global_load_sbyte_d16_hi v1, v2, s[6:7] offset:3
  s_waitcnt vmcnt(0)
)"),
                             {.buffers = {filled(64), filled(64, 0x80001234)}});
  EXPECT_EQ(out.rules(), Rules{});
  EXPECT_EQ(out.out, filled(64, 0xff801234));
}

TEST(StrictWaits, FindingsAreCountedOncePerPair) {
  const auto out = runStrict(strictKernel(R"(
  s_mov_b32 s8, 10
loop:
  global_load_dword v1, v2, s[6:7]
  v_add_u32_e32 v3, 1, v1
  s_waitcnt vmcnt(0)
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 loop
)"),
                             oneWave());
  ASSERT_EQ(out.result.findings.size(), 1u);
  EXPECT_EQ(out.result.findings[0].count, 10u);
}

} // namespace
} // namespace asmevo::emulator::test
