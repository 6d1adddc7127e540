// Whole-dispatch estimates: bandwidth, occupancy, sampling, determinism, attribution.
#include "timing_support.h"

#include "timing/sampling.h"
#include "timing/windows.h"

#include <algorithm>
#include <functional>
#include <set>

namespace asmevo::timing::fixture {
namespace {

constexpr std::uint64_t arrayA = 0x10'0000'0000, arrayB = 0x20'0000'0000, arrayC = 0x30'0000'0000;

Launch shape(std::uint64_t workgroups, unsigned waves, unsigned vgprs = 32) {
  Launch launch;
  launch.workgroups = workgroups;
  launch.wavesPerWorkgroup = waves;
  launch.vgprs = vgprs;
  launch.sgprs = 32;
  return launch;
}

using WaveOf = std::function<emulator::WaveTrace(std::uint64_t workgroup, unsigned wave)>;

Estimate estimateOf(const Program& program, const Launch& launch, const WaveOf& waveOf, const Chip& onChip = chip()) {
  std::vector<emulator::WorkgroupTrace> traces;
  for (const std::uint64_t index : sampleWorkgroups(onChip, gfx942(), launch)) {
    emulator::WorkgroupTrace& trace = traces.emplace_back();
    trace.index = index;
    for (unsigned wave = 0; wave < launch.wavesPerWorkgroup; ++wave)
      trace.waves.push_back(waveOf(index, wave));
  }
  auto result = estimate(onChip, gfx942(), launch, program.code(), 0, traces);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return *std::move(result);
}

/// c = a + b, four floats per lane.
struct VectorAdd {
  Program program{{"v_lshlrev_b32 v0, 4, v0", "global_load_dwordx4 v[4:7], v0, s[0:1]",
                   "global_load_dwordx4 v[8:11], v0, s[2:3]", "s_waitcnt vmcnt(0)", "v_add_f32 v4, v4, v8",
                   "v_add_f32 v5, v5, v9", "v_add_f32 v6, v6, v10", "v_add_f32 v7, v7, v11",
                   "global_store_dwordx4 v0, v[4:7], s[4:5]"}};
  Estimate run(std::uint64_t workgroups, const Chip& onChip = chip()) const {
    return estimateOf(
        program, shape(workgroups, 4),
        [&](std::uint64_t workgroup, unsigned wave) {
          const std::uint64_t at = (workgroup * 4 + wave) * 1024;
          WaveBuilder b(program);
          b.step(0).step(1).global(arrayA + at, 16).step(2).global(arrayB + at, 16).run(3, 9);
          return b.global(arrayC + at, 16, true).step(9).trace;
        },
        onChip);
  }
  static double bytes(std::uint64_t workgroups) { return static_cast<double>(workgroups) * 4 * 1024 * 3; }
};

TEST(Estimate, VectorAddReachesMemoryBandwidth) {
  const VectorAdd add;
  constexpr std::uint64_t workgroups = 65536; // 805 MB: more than the Infinity Cache holds
  for (const char* name : {"mi300x", "mi300a", "mi308x"}) {
    const Estimate e = add.run(workgroups, chip(name));
    const double achieved = VectorAdd::bytes(workgroups) / (e.cycles / (e.clockMhz * 1e6));
    const double peak = chip(name).parameter("hbm.bytesPerSecond");
    EXPECT_GT(achieved, 0.7 * peak) << name;
    EXPECT_LE(achieved, 1.02 * peak) << name;
    EXPECT_TRUE(e.bound == "HBM" || e.bound == "fabric") << name;
    EXPECT_NEAR(e.hbmBytes / VectorAdd::bytes(workgroups), 1, 0.08)
        << name << ": what L2 keeps at the end is not in it";
    EXPECT_NEAR(e.usedBytes / VectorAdd::bytes(workgroups), 1, 0.001) << name;
    EXPECT_NEAR(e.waveInstructions, workgroups * 4 * 10, 1) << name;
  }
}

TEST(Estimate, SmallDispatchIsLatencyNotBandwidth) {
  const VectorAdd add;
  const Estimate e = add.run(16);
  EXPECT_EQ(e.bound, "latency");
  EXPECT_EQ(e.workgroupsPerCu, 1U);
  EXPECT_EQ(e.occupancyLimiter, "grid");
  EXPECT_GT(e.cycles, 455) << "one load from the Infinity Cache at least";
  EXPECT_LT(e.cycles, 3000);
  EXPECT_NEAR(e.microseconds, e.cycles / e.clockMhz + chip().parameter("launch.floorMicroseconds"), 1e-9);
}

TEST(Estimate, TimeGrowsWithTheGrid) {
  const VectorAdd add;
  double last = 0;
  for (const std::uint64_t workgroups : {16U, 304U, 2432U, 9728U, 38912U}) {
    const double cycles = add.run(workgroups).cycles;
    EXPECT_GT(cycles, last) << workgroups;
    last = cycles;
  }
  EXPECT_NEAR(add.run(131072).cycles / add.run(65536).cycles, 2, 0.1);
}

TEST(Estimate, OccupancyHidesLatency) {
  // Dependent loads of private lines: one wave per SIMD waits alone, eight wait together.
  const Program program({"global_load_dword v0, v0, s[0:1]", "s_waitcnt vmcnt(0)"});
  const WaveOf chase = [&](std::uint64_t workgroup, unsigned wave) {
    WaveBuilder b(program);
    for (std::uint64_t i = 0; i < 20; ++i)
      b.step(0).strided(arrayA + ((workgroup * 4 + wave) * 20 + i) * 4096, 4, 0).step(1);
    return b.step(2).trace;
  };
  const auto cycles = [&](unsigned vgprs) { return estimateOf(program, shape(304 * 16, 4, vgprs), chase).cycles; };
  const double one = cycles(512), two = cycles(256), four = cycles(128), eight = cycles(64);
  EXPECT_NEAR(one / two, 2, 0.25);
  EXPECT_NEAR(one / four, 4, 0.6);
  EXPECT_NEAR(one / eight, 8, 1.6);
}

TEST(Estimate, SharedDataComesFromL2) {
  // Every workgroup reads the same 64 KB: the first reader of an XCD fetches it, the others hit.
  const Program program({"global_load_dwordx4 v[0:3], v4, s[0:1]", "s_waitcnt vmcnt(0)"});
  const Estimate e = estimateOf(program, shape(304 * 4, 4), [&](std::uint64_t, unsigned wave) {
    WaveBuilder b(program);
    for (std::uint64_t i = 0; i < 16; ++i)
      b.step(0).global(arrayA + (i * 4 + wave) * 1024, 16).step(1);
    return b.step(2).trace;
  });
  EXPECT_GT(e.l2HitRate, 0.9);
  EXPECT_LT(e.hbmBytes + e.mallBytes, 0.1 * e.l2Bytes);
}

TEST(Estimate, LoadsInFlightRaiseBandwidth) {
  // Streaming read with 1, 2, 4 and 8 loads per wait (facts: 2.59, 3.40, 3.74, 4.24 TB/s on MI300X).
  const Program program({"global_load_dwordx4 v[0:3], v4, s[0:1]", "s_waitcnt vmcnt(0)"});
  std::vector<double> cycles;
  for (const unsigned depth : {1U, 2U, 4U, 8U})
    cycles.push_back(estimateOf(program, shape(304, 4, 512), [&](std::uint64_t workgroup, unsigned wave) {
                       WaveBuilder b(program);
                       for (std::uint64_t i = 0; i < 256; ++i) {
                         b.step(0).global(arrayA + ((i * 304 + workgroup) * 4 + wave) * 1024, 16);
                         if (i % depth == depth - 1)
                           b.step(1);
                       }
                       return b.step(2).trace;
                     }).cycles);
  EXPECT_GT(cycles[0], 1.1 * cycles[1]);
  EXPECT_GE(cycles[1], cycles[2]);
  EXPECT_GE(cycles[2], cycles[3]);
}

TEST(Estimate, DeterministicToTheCycle) {
  const VectorAdd add;
  const Estimate a = add.run(5000), b = add.run(5000);
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_EQ(a.hbmBytes, b.hbmBytes);
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (std::size_t i = 0; i < a.instructions.size(); ++i) {
    EXPECT_EQ(a.instructions[i].issued, b.instructions[i].issued);
    EXPECT_EQ(a.instructions[i].byReason, b.instructions[i].byReason);
  }
}

TEST(Estimate, StallsAreChargedWhereTheyHappen) {
  const VectorAdd add;
  const Estimate e = add.run(4096);
  ASSERT_EQ(e.instructions.size(), 10U);
  for (const InstructionProfile& instruction : e.instructions) {
    EXPECT_EQ(instruction.issued, 4096U * 4);
    double sum = 0;
    for (const double s : instruction.byReason)
      sum += s;
    EXPECT_NEAR(sum, instruction.stallCycles, 1e-6 * (1 + sum));
  }
  const auto worst = std::ranges::max_element(e.instructions, {}, &InstructionProfile::stallCycles);
  EXPECT_EQ(worst->offset, add.program.offset(3)) << "the s_waitcnt";
  EXPECT_EQ(std::ranges::max_element(worst->byReason) - worst->byReason.begin(), static_cast<int>(Stall::waitVm));
}

TEST(Estimate, BadTracesAreErrors) {
  const Program program({"v_mov_b32 v0, v1"});
  emulator::WorkgroupTrace trace;
  trace.waves.resize(1);
  const auto error = [&] {
    const auto result = estimate(chip(), gfx942(), shape(1, 1), program.code(), 0, {trace});
    return result ? std::string() : result.error().message;
  };
  EXPECT_NE(error().find("without instructions"), std::string::npos);
  trace.waves[0].path = {0, 400};
  EXPECT_NE(error().find("0x190"), std::string::npos);
  trace.waves[0].path = {0, 4};
  trace.waves[0].accesses.resize(1);
  trace.waves[0].accesses[0].lineCount = 3;
  EXPECT_NE(error().find("outside its own tables"), std::string::npos);
  trace.waves[0].accesses.clear();
  EXPECT_EQ(error(), "");
  EXPECT_FALSE(estimate(chip(), gfx942(), shape(1, 1), program.code(), 0, {}));
}

TEST(Sampling, FirstCuOfTheFirstXcdAndNeighbours) {
  const std::vector<std::uint64_t> sample = sampleWorkgroups(chip(), gfx942(), shape(304 * 100, 4));
  const std::set<std::uint64_t> distinct(sample.begin(), sample.end());
  EXPECT_EQ(distinct.size(), sample.size());
  EXPECT_LE(sample.size(), 16U);
  EXPECT_GE(std::ranges::count_if(sample, [](std::uint64_t i) { return i % 304 == 0; }), 8);
  EXPECT_TRUE(distinct.contains(1)) << "another XCD";
  EXPECT_TRUE(distinct.contains(8)) << "another CU of the same XCD";
  EXPECT_LT(sample.back(), 304U * 100);
  EXPECT_EQ(sampleWorkgroups(chip(), gfx942(), shape(1, 4)), std::vector<std::uint64_t>{0});
  EXPECT_EQ(sampleWorkgroups(chip(), gfx942(), shape(3, 4)), (std::vector<std::uint64_t>{0, 1, 2}));
  const auto spread = sampleWorkgroups(chip(), gfx942(), shape(300, 4));
  EXPECT_EQ(spread.front(), 0U);
  EXPECT_EQ(spread.back(), 299U);
}

TEST(Sampling, PlacementOfTheGrid) {
  Launch launch = shape(305, 4, 128);
  EXPECT_EQ(placementOf(chip(), gfx942(), launch).perCu, 2U);
  launch.workgroups = 10000;
  Placement p = placementOf(chip(), gfx942(), launch);
  EXPECT_EQ(p.residents, 4U) << "128 VGPRs: 4 waves per SIMD";
  EXPECT_EQ(p.limiter, "VGPR");
  launch.ldsBytes = 32768;
  p = placementOf(chip(), gfx942(), launch);
  EXPECT_EQ(p.residents, 2U);
  EXPECT_EQ(p.limiter, "LDS");
}

TEST(Sampling, UnevenWorkgroupsTakeTheSlowest) {
  const Program program({"v_add_f32 v0, v1, v2"});
  const Estimate e = estimateOf(program, shape(8, 1), [&](std::uint64_t workgroup, unsigned) {
    WaveBuilder b(program);
    for (int i = 0; i < (workgroup == 5 ? 1000 : 10); ++i)
      b.step(0);
    return b.step(1).trace;
  });
  EXPECT_GE(e.cycles, 4000);
}

TEST(Windows, HottestFirstWithTheirStalls) {
  Estimate e;
  const auto add = [&](std::uint32_t offset, std::uint64_t issued, Stall why, double stall) {
    InstructionProfile& i = e.instructions.emplace_back();
    i.offset = offset;
    i.issued = issued;
    i.stallCycles = stall;
    i.byReason[static_cast<std::size_t>(why)] = stall;
  };
  add(0, 10, Stall::none, 0);
  add(8, 100, Stall::waitVm, 500);
  add(16, 100, Stall::barrier, 100);
  add(24, 10, Stall::none, 0);
  const std::vector<std::uint32_t> starts = {0, 8, 24, 40};
  const auto ranked = rankBlocks(e, starts, 48);
  ASSERT_EQ(ranked.size(), 3U) << "the block at 40 never ran";
  EXPECT_EQ(ranked[0].region, 1U);
  EXPECT_EQ(ranked[0].issued, 200U);
  EXPECT_EQ(ranked[0].cycles, 1400);
  EXPECT_NEAR(ranked[0].share, 1400.0 / 1480, 1e-12);
  EXPECT_EQ(ranked[0].topStall, Stall::waitVm);
  EXPECT_EQ(ranked[1].region, 0U);
  EXPECT_EQ(ranked[1].topStall, Stall::none);
  EXPECT_EQ(totalCycles(e), 1480);
  const std::vector<Region> loops = {{{0, 8}, {16, 20}}, {{100, 200}}};
  const auto overlapping = rankRegions(e, loops);
  ASSERT_EQ(overlapping.size(), 1U);
  EXPECT_EQ(overlapping[0].cycles, 40 + 500);
  EXPECT_EQ(overlapping[0].topStall, Stall::barrier);
}

} // namespace
} // namespace asmevo::timing::fixture
