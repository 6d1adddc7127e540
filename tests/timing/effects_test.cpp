// Known effects of schedules and layouts (facts: cdna3.md sections 1.5 and 5): their sign and size.
#include "timing/lds_unit.h"
#include "timing/synthetic_gemm.h"
#include "timing_support.h"

#include <algorithm>
#include <functional>

namespace asmevo::timing::fixture {
namespace {

using Access = std::function<void(WaveBuilder&)>;

/// Clk between issues of back-to-back LDS instructions of each of `waves` waves, one per SIMD, in steady state.
double ldsInterval(const std::string& statement, std::size_t waves, const Access& access, const Chip& onChip) {
  constexpr unsigned count = 400;
  const Program program({statement});
  WaveBuilder wave(program);
  for (unsigned i = 0; i < count; ++i) {
    wave.step(0);
    access(wave);
  }
  wave.step(1);
  const Replay run = simulate(program, std::vector<emulator::WaveTrace>(waves, wave.trace), onChip);
  double sum = 0;
  for (std::size_t w = 0; w < waves; ++w)
    sum += static_cast<double>(run.gap(count / 4, count - 1, w)) / (count - 1 - count / 4);
  return sum / static_cast<double>(waves);
}

Access reads(unsigned bytes, unsigned strideBytes) {
  return [=](WaveBuilder& wave) { wave.lds(bytes, strideBytes); };
}

TEST(LdsConflicts, IssueIntervalByWaysOnMi350x) {
  // gfx950-gluon-tutorials, lds_throughput_validation: ds_read_b128 without, with 2, 4 and 8-way conflicts.
  const Chip& mi350x = chip("mi350x");
  const std::string read = "ds_read_b128 v[0:3], v4";
  const struct {
    unsigned stride;
    double oneWave, fourWaves;
  } measured[] = {{16, 8, 16}, {32, 8, 32}, {64, 16, 64}, {128, 32, 128}};
  for (const auto& m : measured) {
    EXPECT_NEAR(ldsInterval(read, 1, reads(16, m.stride), mi350x), m.oneWave, 0.05 * m.oneWave) << m.stride;
    EXPECT_NEAR(ldsInterval(read, 4, reads(16, m.stride), mi350x), m.fourWaves, 0.05 * m.fourWaves) << m.stride;
  }
}

TEST(LdsConflicts, RatesOnMi300x) {
  // pyhip: ds_read_b128 16 clk from one wave, 8 from four; ds_read_b32 4, lane stride 8 dwords 16, 32 dwords 64.
  const Chip& mi300x = chip("mi300x");
  EXPECT_NEAR(ldsInterval("ds_read_b128 v[0:3], v4", 1, reads(16, 16), mi300x), 16, 0.5);
  EXPECT_NEAR(ldsInterval("ds_read_b128 v[0:3], v4", 4, reads(16, 16), mi300x) / 4, 8, 0.25);
  EXPECT_NEAR(ldsInterval("ds_read_b32 v0, v4", 1, reads(4, 4), mi300x), 4, 0.1);
  EXPECT_NEAR(ldsInterval("ds_read_b32 v0, v4", 1, reads(4, 32), mi300x), 16, 0.5);
  EXPECT_NEAR(ldsInterval("ds_read_b32 v0, v4", 1, reads(4, 128), mi300x), 64, 1);
}

TEST(LdsConflicts, TimeByLaneStride) {
  // pyhip archive/bank-conflict, a fixed loop of ds_read_b32: 907.2, 1805.6, 3600.6 and 7196.0 us at a lane stride of
  // 4, 8, 16 and 32 dwords; odd strides, and every stride up to 3, near 358.
  const auto clk = [](unsigned dwords) {
    return ldsInterval("ds_read_b32 v0, v4", 4, reads(4, dwords * 4), chip("mi300x"));
  };
  const double worst = clk(32);
  EXPECT_NEAR(clk(4) / worst, 907.2 / 7196.0, 0.005);
  EXPECT_NEAR(clk(8) / worst, 1805.6 / 7196.0, 0.01);
  EXPECT_NEAR(clk(16) / worst, 3600.6 / 7196.0, 0.02);
  EXPECT_NEAR(clk(64) / worst, 7196.2 / 7196.0, 0.01);
  for (const unsigned odd : {1U, 3U, 5U, 9U, 17U, 33U, 65U, 129U})
    EXPECT_EQ(clk(odd), clk(1)) << odd;
  EXPECT_EQ(clk(0), clk(1)) << "broadcast";
  EXPECT_LT(clk(2) / worst, 0.07) << "474.4 us";
}

/// Clk per iteration of a loop that reads LDS at a lane stride and waits; with `load`, a load that comes from beyond L2
/// is awaited with it.
double conflictLoop(unsigned strideBytes, bool load) {
  const Program program({"global_load_dword v9, v1, s[6:7]", "ds_read_b32 v5, v2", "s_waitcnt vmcnt(0) lgkmcnt(0)",
                         "v_add_u32 v6, v6, v5", "v_add_u32 v6, v6, v9", "s_cbranch_scc1 0"});
  constexpr std::size_t iterations = 40;
  WaveBuilder wave(program);
  for (std::size_t i = 0; i < iterations; ++i) {
    if (load)
      wave.step(0).global(0x10'0000'0000 + i * 0x10000, 4);
    wave.step(1).lds(4, strideBytes);
    wave.run(2, 6);
  }
  wave.step(6);
  const std::size_t perIteration = load ? 6 : 5;
  return static_cast<double>(simulate(program, {wave.trace}).gap(8 * perIteration, 38 * perIteration)) / 30;
}

TEST(LdsConflicts, CostOnlyWhereNothingHidesThem) {
  const double exposed = conflictLoop(128, false) - conflictLoop(4, false);
  EXPECT_NEAR(exposed, 60, 4) << "64 bank clk in place of 4";
  const double hidden = conflictLoop(128, true), without = conflictLoop(4, true);
  EXPECT_GT(without, 400);
  EXPECT_NEAR(hidden, without, 0.01 * without) << "1.8 M conflicts removed gained 0 us in the MI308X log";
}

/// Clk per iteration of a GEMM-like loop on four SIMDs.
double loop(const std::string& order) {
  auto codec = isa::Codec::create(gfx942());
  EXPECT_TRUE(static_cast<bool>(codec));
  const auto clk = gemmClkPerIteration(chip("mi300x"), **codec, {order, 1});
  EXPECT_TRUE(static_cast<bool>(clk)) << (clk ? "" : clk.error().message);
  return clk ? *clk : 0;
}

TEST(Schedules, PartialVectorWaitsKeepLoadsInFlight) {
  // The load of this iteration is for the next one. vmcnt(0) waits for it, vmcnt(4) for the last one's only.
  const double drained = loop("G4 M24 v0"), partial = loop("G4 M24 v4");
  EXPECT_NEAR(partial, 24 * 16, 0.08 * 24 * 16) << "the matrix rate";
  EXPECT_GT(drained, 1.25 * partial) << "the latency beyond 384 clk shows";
  // With enough work under it, the difference goes.
  EXPECT_NEAR(loop("G4 M96 v0"), loop("G4 M96 v4"), 0.02 * loop("G4 M96 v4"));
}

TEST(Schedules, InterleavingMatrixAndMemoryOperations) {
  // The same work: reads awaited at once, reads spread under the MFMA of the iteration before.
  const double clustered = loop("B R8 l0 M32"),
               interleaved = loop("B R1 M4 R1 M4 R1 M4 R1 M4 R1 M4 R1 M4 R1 M4 R1 M4 l8");
  EXPECT_NEAR(interleaved, 32 * 16, 0.1 * 32 * 16);
  // Eight reads of four waves take 256 clk of the banks, and the latency.
  EXPECT_NEAR(clustered - interleaved, 256 + 48, 60);
  // Loads and matrix work: 1.13x in EvoKernel, 1.2 to 2.4x over baselines in HipKittens.
  const double gain = loop("G8 v0 M64") / loop("G1 M8 G1 M8 G1 M8 G1 M8 G1 M8 G1 M8 G1 M8 G1 M8 v8");
  EXPECT_GT(gain, 1.13);
  EXPECT_LT(gain, 2.4);
}

TEST(Schedules, OccupancyHidesLatency) {
  // Each wave waits for a line from beyond L2, alone or with others on its SIMD.
  const Program program({"global_load_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)", "v_add_u32 v2, v2, v0"});
  constexpr unsigned steps = 24, groupCount = 8;
  std::vector<emulator::WorkgroupTrace> groups(groupCount);
  for (unsigned g = 0; g < groupCount; ++g) {
    groups[g].index = g;
    for (unsigned w = 0; w < 4; ++w) {
      WaveBuilder wave(program);
      for (unsigned i = 0; i < steps; ++i)
        wave.step(0).strided(0x10'0000'0000 + ((g * 4 + w) * steps + i) * 128, 4, 0).run(1, 3);
      groups[g].waves.push_back(wave.step(3).trace);
    }
  }
  const auto end = [&](unsigned residents) {
    return static_cast<double>(simulateGroups(program, groups, residents).result.end);
  };
  const double one = end(1);
  EXPECT_NEAR(one / end(2), 2, 0.2);
  EXPECT_NEAR(one / end(4), 4, 0.5);
  EXPECT_NEAR(one / end(8), 8, 1.2);
}

TEST(LdsBanks, LaterRequestsFillTheGapsBetweenBookings) {
  Calendar banks;
  EXPECT_EQ(banks.book(0, 10, 0), 10);
  EXPECT_EQ(banks.book(20, 10, 0), 30);
  EXPECT_EQ(banks.book(5, 12, 0), 32) << "ten clk from 10 on, the rest after 30";
  EXPECT_EQ(banks.book(0, 1, 0), 33);
  EXPECT_EQ(banks.book(100, 4, 0), 104);
  EXPECT_EQ(banks.book(40, 4, 40), 44) << "before the one booked for later";
  EXPECT_EQ(banks.book(40, 60, 40), 108);
}

TEST(LdsDma, SharesThePathIntoLds) {
  // pyhip: buffer_load_dword ... lds 11 clk per instruction and CU. Warm lines, so that nothing else binds.
  const Program program(
      {"buffer_load_dword v1, s[4:7], 0 offen lds", "buffer_load_dword v2, v1, s[4:7], 0 offen", "s_waitcnt vmcnt(0)"});
  constexpr unsigned count = 40;
  const auto clk = [&](std::size_t load) {
    WaveBuilder wave(program);
    const auto round = [&] {
      for (unsigned i = 0; i < count; ++i) {
        wave.step(load).global(0x10'0000'0000 + i % 4 * 256, 4);
        wave.trace.accesses.back().ldsDma = load == 0;
      }
      wave.step(2);
    };
    round();
    round();
    wave.step(3);
    return static_cast<double>(simulate(program, {wave.trace}).gap(count + 1, 2 * count + 2)) / count;
  };
  EXPECT_NEAR(clk(0), 11, 3.5) << "the latency of the last included";
  EXPECT_LT(clk(1), 8);
}

} // namespace
} // namespace asmevo::timing::fixture
