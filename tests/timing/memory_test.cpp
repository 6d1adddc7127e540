// LDS, scalar and vector memory against measured latencies and rates (facts: pyhip gfx942, RRZE, MT4G, ATT traces).
#include "timing_support.h"

#include <algorithm>
#include <array>
#include <functional>

namespace asmevo::timing::fixture {
namespace {

/// Clk from issuing `memory` (statement 0) to the end of the wait for it.
Clk latency(const std::string& memory, const std::function<void(WaveBuilder&)>& access, unsigned repeat = 1) {
  const Program program({memory, "s_waitcnt vmcnt(0) lgkmcnt(0)", "v_mov_b32 v0, v1"});
  WaveBuilder wave(program);
  for (unsigned i = 0; i < repeat; ++i) {
    wave.step(0);
    access(wave);
    wave.step(1);
  }
  wave.run(2, 4);
  const Replay run = simulate(program, {wave.trace});
  return run.gap(2 * (repeat - 1), 2 * repeat);
}

/// Clk per instruction of `count` back-to-back `statement`s in each of `waves` waves: between the middle and the end
/// for one wave, over all for several.
double interval(const std::string& statement, const std::function<void(WaveBuilder&)>& access, unsigned count,
                std::size_t waves) {
  const Program program({statement});
  WaveBuilder wave(program);
  for (unsigned i = 0; i < count; ++i) {
    wave.step(0);
    access(wave);
  }
  wave.step(1);
  const Replay run = simulate(program, std::vector<emulator::WaveTrace>(waves, wave.trace));
  if (waves == 1)
    return static_cast<double>(run.gap(count / 2, count - 1)) / (count - 1 - count / 2);
  Clk last = 0;
  for (const auto& issue : run.issue)
    last = std::max(last, issue[count - 1]);
  return static_cast<double>(last - run.issue[0][0]) / static_cast<double>(count * waves);
}

TEST(Lds, LatencyByWidth) {
  EXPECT_EQ(latency("ds_read_b32 v0, v1", [](auto& w) { w.lds(4, 4); }), 52);
  EXPECT_EQ(latency("ds_read_b128 v[0:3], v4", [](auto& w) { w.lds(16, 16); }), 64);
  const Clk write = latency("ds_write_b32 v0, v1", [](auto& w) { w.lds(4, 4, true); });
  EXPECT_GE(write, 52);
  EXPECT_LE(write, 56);
}

TEST(Lds, RateOfOneWaveAndOfFour) {
  const auto b128 = [](auto& w) { w.lds(16, 16); };
  EXPECT_EQ(interval("ds_read_b128 v[0:3], v4", b128, 60, 1), 16);
  EXPECT_NEAR(interval("ds_read_b128 v[0:3], v4", b128, 600, 4), 8, 0.5);
  EXPECT_EQ(interval("ds_read_b32 v0, v1", [](auto& w) { w.lds(4, 4); }, 60, 1), 4);
}

TEST(Lds, WritesOfTwoSimdsShareAPort) {
  // AMD rocprofiler-compute docs: address and data share the pair's 64 B/clk input port, 20 clk for 1024 bytes (80 %).
  const auto b128 = [](auto& w) { w.lds(16, 16, true); };
  EXPECT_EQ(interval("ds_write_b128 v4, v[0:3]", b128, 40, 1), 20);
  EXPECT_NEAR(interval("ds_write_b128 v4, v[0:3]", b128, 400, 4) * 4, 40, 1);
}

TEST(Lds, ConflictClkByStride) {
  // pyhip MI300 ds_read_b32: stride 2 two-way, 4 four-way, 8, 16, 32 lanes on a bank; odd strides and broadcast free.
  const auto clk = [](unsigned strideDwords) {
    std::array<std::uint32_t, 64> lanes{};
    for (unsigned i = 0; i < 64; ++i)
      lanes[i] = i * strideDwords * 4;
    return ldsBankClk(lanes.data(), 4, false);
  };
  EXPECT_EQ(clk(0), 2U);
  EXPECT_EQ(clk(1), 2U);
  EXPECT_EQ(clk(2), 4U);
  EXPECT_EQ(clk(3), 2U);
  EXPECT_EQ(clk(4), 8U);
  EXPECT_EQ(clk(8), 16U);
  EXPECT_EQ(clk(16), 32U);
  EXPECT_EQ(clk(32), 64U);
  EXPECT_EQ(clk(33), 2U);
  std::array<std::uint32_t, 64> same{};
  EXPECT_EQ(ldsBankClk(same.data(), 4, true), 64U) << "atomics on one address do not broadcast";
  same.fill(0xffffffff);
  EXPECT_EQ(ldsBankClk(same.data(), 4, false), 0U);
}

TEST(Lds, ConflictGroupsOfWideAccesses) {
  const auto rows = [](unsigned bytes, unsigned stride) {
    std::array<std::uint32_t, 64> lanes{};
    for (unsigned i = 0; i < 64; ++i)
      lanes[i] = i * stride;
    return ldsBankClk(lanes.data(), bytes, false);
  };
  EXPECT_EQ(rows(8, 8), 4U);
  EXPECT_EQ(rows(16, 16), 8U) << "conflict free b128 takes 1024 B / 128 B";
  // Lanes 0-3 and 20-23 are one group: rows of 128 bytes swapped by 64 between them do not meet.
  std::array<std::uint32_t, 64> swizzled{};
  for (unsigned i = 0; i < 64; ++i)
    swizzled[i] = (i % 4) * 16 + ((i / 16) % 2) * 64 + (i / 4 % 4) * 512;
  EXPECT_EQ(ldsBankClk(swizzled.data(), 16, false), 8U);
  EXPECT_EQ(rows(16, 128), 64U) << "all lanes of a group on four banks";
}

TEST(Lds, ConflictsSlowTheWave) {
  const auto at = [](unsigned strideDwords) {
    return interval("ds_read_b32 v0, v1", [=](auto& w) { w.lds(4, 4 * strideDwords); }, 40, 1);
  };
  EXPECT_EQ(at(1), 4);
  EXPECT_EQ(at(8), 16);
  EXPECT_EQ(at(32), 64);
  const Program program({"ds_read_b32 v0, v1"});
  WaveBuilder wave(program);
  for (int i = 0; i < 40; ++i)
    wave.step(0).lds(4, 128);
  const Replay run = simulate(program, {wave.step(1).trace});
  EXPECT_GT(run.result.counters[0].stalls[static_cast<std::size_t>(Stall::ldsConflict)], 1000);
}

TEST(Scalar, CacheHitAndMiss) {
  const auto load = [](auto& w) { w.scalar(0x1000, 16); };
  EXPECT_EQ(latency("s_load_dwordx4 s[4:7], s[0:1], 0x0", load, 3), 40);
  const Clk cold = latency("s_load_dwordx4 s[4:7], s[0:1], 0x0", load);
  EXPECT_GE(cold, 740);
  EXPECT_LE(cold, 780);
}

TEST(Vector, LatencyByLevel) {
  const auto dword = [](auto& w) { w.strided(0x10000, 4, 0); };
  const Clk cold = latency("global_load_dword v0, v1, s[0:1]", dword);
  EXPECT_NEAR(static_cast<double>(cold), 771, 8) << "HBM, the page known";
  const Clk hit = latency("global_load_dword v0, v1, s[0:1]", dword, 3);
  EXPECT_GE(hit, 116);
  EXPECT_LE(hit, 120);
}

TEST(Vector, L1HitRate) {
  // RRZE: 64 B/clk per CU from L1. Two kilobytes over and over.
  const double clk =
      interval("global_load_dwordx4 v[0:3], v4, s[0:1]", [](auto& w) { w.global(0x10000, 16); }, 1000, 4);
  EXPECT_NEAR(1024 / clk, 64, 4);
}

TEST(Vector, ScatteredLanesCostMore) {
  const auto at = [](unsigned stride) {
    return interval("global_load_dword v0, v1, s[0:1]", [=](auto& w) { w.strided(0x10000, 4, stride); }, 200, 1);
  };
  EXPECT_EQ(at(4), 4);
  EXPECT_NEAR(at(64), 64, 2);
}

TEST(Vector, QueueTakesTwelveThenServiceRate) {
  const Program program({"global_load_dwordx4 v[0:3], v4, s[0:1]"});
  WaveBuilder wave(program);
  for (int i = 0; i < 40; ++i)
    wave.step(0).global(0x10000, 16);
  const Replay run = simulate(program, {wave.step(1).trace});
  EXPECT_EQ(run.gap(0, 8), 32) << "4 clk each while the queue has room";
  EXPECT_EQ(run.gap(30, 31), 16) << "then the service rate";
}

TEST(Waits, CountersAreInOrderAndPartial) {
  // Two loads of which only the first is waited for; the second misses.
  const Program program({"global_load_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)", "global_load_dword v2, v3, s[0:1]",
                         "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)", "v_mov_b32 v4, v5"});
  WaveBuilder wave(program);
  wave.step(0).global(0x10000, 4).step(1); // warms the line
  wave.step(0).global(0x10000, 4).step(2).global(0x90000, 4).step(3).step(4).run(5, 7);
  const Replay run = simulate(program, {wave.trace});
  EXPECT_LE(run.gap(2, 5), 140) << "vmcnt(1) waits for the hit only";
  EXPECT_GE(run.gap(2, 6), 771) << "vmcnt(0) for the miss";
  EXPECT_GT(run.result.counters[program.offset(4) / 4].stalls[static_cast<std::size_t>(Stall::waitVm)], 600);
}

TEST(Waits, ScalarLoadsOvertakeOnlyWithinTheirCounter) {
  const Program program(
      {"ds_read_b32 v0, v1", "ds_read_b32 v2, v3", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)", "v_mov_b32 v4, v5"});
  WaveBuilder wave(program);
  wave.step(0).lds(4, 4).step(1).lds(4, 128).run(2, 6); // the second conflicts for 64 clk
  const Replay run = simulate(program, {wave.trace});
  EXPECT_EQ(run.gap(0, 3), 52);
  EXPECT_GE(run.gap(0, 4), 112);
}

TEST(End, StoresAreAcknowledgedFirst) {
  const Program plain({"v_mov_b32 v0, v1"});
  const Replay quick = simulate(plain);
  EXPECT_EQ(quick.result.end - quick.issue[0].back(), 20);
  const Program storing({"global_store_dword v0, v1, s[0:1]"});
  const Replay slow = simulate(storing, {WaveBuilder(storing).step(0).global(0x1000, 4, true).step(1).trace});
  const Clk wait = slow.result.end - slow.issue[0].back();
  EXPECT_GE(wait, 186);
  EXPECT_LE(wait, 500);
}

} // namespace
} // namespace asmevo::timing::fixture
