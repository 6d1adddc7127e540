// From a few simulated workgroups to the whole dispatch: sampling, rounds, tails, uneven work, long loops, clocks.
#include "timing_support.h"

#include "timing/behaviour.h"
#include "timing/loop_fold.h"
#include "timing/sampling.h"
#include "timing/schedule.h"
#include "timing/whole_chip.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <thread>

namespace asmevo::timing::fixture {
namespace {

constexpr std::uint64_t arrayA = 0x10'0000'0000;

/// A kernel of which any workgroup's trace can be made.
struct Kernel {
  Program program;
  Launch launch;
  std::function<emulator::WaveTrace(const Program&, std::uint64_t workgroup, unsigned wave)> waveOf;

  emulator::WorkgroupTrace trace(std::uint64_t index) const {
    emulator::WorkgroupTrace result;
    result.index = index;
    for (unsigned wave = 0; wave < launch.wavesPerWorkgroup; ++wave)
      result.waves.push_back(waveOf(program, index, wave));
    return result;
  }
  std::vector<emulator::WorkgroupTrace> traces(const std::vector<std::uint64_t>& indices) const {
    std::vector<emulator::WorkgroupTrace> result;
    for (const std::uint64_t index : indices)
      result.push_back(trace(index));
    return result;
  }
};

Launch shape(std::array<std::uint64_t, 3> grid, unsigned waves, unsigned vgprs) {
  Launch launch;
  launch.grid = grid;
  launch.workgroups = grid[0] * grid[1] * grid[2];
  launch.wavesPerWorkgroup = waves;
  launch.vgprs = vgprs;
  launch.sgprs = 32;
  launch.footprintBytes = 8 << 20;
  return launch;
}

Estimate estimateOf(const Kernel& kernel, const Chip& onChip = chip()) {
  std::vector<std::uint64_t> sample = sampleWorkgroups(onChip, gfx942(), kernel.launch);
  std::vector<emulator::WorkgroupTrace> traces = kernel.traces(sample);
  std::ranges::move(kernel.traces(widerSample(kernel.launch, traces)), std::back_inserter(traces));
  std::ranges::sort(traces, {}, &emulator::WorkgroupTrace::index);
  auto result = estimate(onChip, gfx942(), kernel.launch, kernel.program.code(), 0, traces);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return *std::move(result);
}

/// 2 XCDs of 2 CUs with the numbers of an MI300X, so that all workgroups of a grid can be simulated.
Chip smallChip() {
  Chip small = chip();
  small.xcds = 2;
  small.cusPerXcd = 2;
  for (auto& [key, value] : small.parameters) {
    if (key == "xcds" || key == "cusPerXcd")
      value = 2;
    else if (key == "shaderEnginesPerXcd")
      value = 1;
  }
  return small;
}

/// The last CU's end when every workgroup is simulated: each CU gets every fourth one.
double simulateEverything(const Kernel& kernel, const Chip& onChip, double mhz) {
  std::vector<std::uint64_t> all(kernel.launch.workgroups);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  const auto traces = kernel.traces(all);
  const Parameters p = Parameters::of(onChip).atClock(mhz);
  const std::vector<StaticInst> code = analyseCode(kernel.program.code(), 0, p);
  const auto set = TraceSet::prepare(traces, code);
  if (!set) {
    ADD_FAILURE() << set.error().message;
    return 0;
  }
  const Placement placement = placementOf(onChip, gfx942(), kernel.launch);
  double last = 0;
  for (unsigned cu = 0; cu < placement.cus; ++cu) {
    CuLaunch launch;
    for (unsigned i = cu; i < all.size(); i += static_cast<unsigned>(placement.cus))
      launch.traces.push_back(i);
    launch.residents = placement.residents;
    launch.wavesPerSimd = placement.wavesPerSimd;
    launch.load = placement.load;
    launch.load.footprintBytes = kernel.launch.footprintBytes;
    launch.load.warmMall = p.mallWarm != 0 && kernel.launch.footprintBytes <= p.mallBytes;
    const auto run = simulateCu(p, code, *set, launch);
    if (!run) {
      ADD_FAILURE() << run.error().message;
      return 0;
    }
    last = std::max(last, static_cast<double>(run->end));
  }
  return last;
}

void expectBracketed(const char* name, const Kernel& kernel) {
  const Chip small = smallChip();
  const Estimate e = estimateOf(kernel, small);
  const double everything = simulateEverything(kernel, small, e.clockMhz);
  const double ramp = e.cycles - e.cuCycles;
  EXPECT_LE(e.cyclesLow - ramp, everything) << name;
  EXPECT_GE(e.cyclesHigh - ramp, everything) << name;
  EXPECT_LE(e.cyclesLow, e.cycles) << name;
  EXPECT_LE(e.cycles, e.cyclesHigh) << name;
  EXPECT_NEAR(e.cuCycles / everything, 1, 0.2) << name << ": not just a wide interval";
  EXPECT_LT(e.cyclesHigh / e.cyclesLow, 1.8) << name;
}

/// `count(workgroup)` VALU instructions per wave.
Kernel valuKernel(std::array<std::uint64_t, 3> grid, unsigned vgprs, std::function<unsigned(std::uint64_t)> count) {
  return {Program({"v_add_f32 v0, v1, v2"}), shape(grid, 4, vgprs),
          [count](const Program& program, std::uint64_t workgroup, unsigned) {
            WaveBuilder b(program);
            for (unsigned i = 0; i < count(workgroup); ++i)
              b.step(0);
            return b.step(1).trace;
          }};
}

/// Loads of 1 KB per wave from its own part of memory, a wait after every fourth.
Kernel streamKernel(std::array<std::uint64_t, 3> grid, unsigned loads, unsigned vgprs = 64) {
  return {Program({"global_load_dwordx4 v[0:3], v4, s[0:1]", "s_waitcnt vmcnt(0)"}), shape(grid, 4, vgprs),
          [loads](const Program& program, std::uint64_t workgroup, unsigned wave) {
            WaveBuilder b(program);
            for (std::uint64_t i = 0; i < loads; ++i) {
              b.step(0).global(arrayA + ((workgroup * 4 + wave) * loads + i) * 1024, 16);
              if (i % 4 == 3)
                b.step(1);
            }
            return b.step(2).trace;
          }};
}

/// A loop over LDS reads, arithmetic and a barrier.
Kernel ldsKernel(std::array<std::uint64_t, 3> grid, unsigned iterations) {
  return {Program({"ds_read_b128 v[0:3], v8", "s_waitcnt lgkmcnt(0)", "v_fma_f32 v4, v0, v1, v4",
                   "v_fma_f32 v5, v2, v3, v5", "ds_write_b32 v8, v4", "s_waitcnt lgkmcnt(0)", "s_barrier",
                   "s_cbranch_scc1 65528"}),
          shape(grid, 4, 128), [iterations](const Program& program, std::uint64_t, unsigned) {
            WaveBuilder b(program);
            for (unsigned i = 0; i < iterations; ++i)
              b.step(0).lds(16, 16).run(1, 5).lds(4, 4, true).run(5, 8);
            return b.step(8).trace;
          }};
}

TEST(WholeKernel, IntervalContainsEverythingSimulated) {
  expectBracketed("arithmetic", valuKernel({64, 1, 1}, 128, [](std::uint64_t) { return 300U; }));
  expectBracketed("stream", streamKernel({64, 1, 1}, 16));
  expectBracketed("LDS", ldsKernel({48, 1, 1}, 30));
  expectBracketed("one round", streamKernel({4, 1, 1}, 40));
  expectBracketed("many rounds", streamKernel({60, 1, 1}, 8, 512));
}

TEST(WholeKernel, UnevenWorkgroups) {
  // As causal attention: the later tile of a head has more to look at.
  expectBracketed("causal", valuKernel({16, 4, 1}, 256, [](std::uint64_t i) { return 40 * (1 + unsigned(i % 16)); }));
  // Persistent: one workgroup per CU goes over tiles; 30 tiles on 4 CUs.
  expectBracketed("persistent", valuKernel({4, 1, 1}, 512, [](std::uint64_t i) { return i < 2 ? 800U : 700U; }));
  // A ragged last row of tiles.
  expectBracketed("ragged", valuKernel({8, 8, 1}, 256, [](std::uint64_t i) { return i / 8 == 7 ? 50U : 400U; }));
  const Estimate e =
      estimateOf(valuKernel({16, 400, 1}, 256, [](std::uint64_t i) { return 40 * (1 + unsigned(i % 16)); }));
  EXPECT_GT(e.behaviours, 4U);
  EXPECT_GT(e.tracedWorkgroups, 16U);
}

TEST(WholeKernel, TailOfAPartlyFilledRound) {
  // One workgroup per CU at a time, arithmetic only: a workgroup more than fits costs a whole round more.
  const auto cycles = [](std::uint64_t workgroups) {
    return estimateOf(valuKernel({workgroups, 1, 1}, 512, [](std::uint64_t) { return 2000U; })).cycles;
  };
  const double three = cycles(3 * 304), oneMore = cycles(3 * 304 + 1), four = cycles(4 * 304);
  EXPECT_NEAR(oneMore / three, 4.0 / 3, 0.02);
  EXPECT_NEAR(oneMore / four, 1, 0.02);
  EXPECT_NEAR(cycles(3 * 304 - 1) / three, 1, 0.01) << "one CU idle in the last round changes nothing";
  EXPECT_NEAR(cycles(305) / cycles(304), 2, 0.05);
}

TEST(WholeKernel, TailOfAStreamHasTheMemoryForItself) {
  // Bandwidth-bound: the last workgroup alone is latency-bound and shorter than a round in which all share the memory.
  const auto estimated = [](std::uint64_t workgroups) {
    return estimateOf(streamKernel({workgroups, 1, 1}, 512, 512));
  };
  const Estimate three = estimated(3 * 304), oneMore = estimated(3 * 304 + 1), four = estimated(4 * 304);
  EXPECT_GT(oneMore.cycles, 1.02 * three.cycles);
  EXPECT_LT(oneMore.cycles, 0.97 * four.cycles);
  EXPECT_GE(oneMore.cyclesHigh, 0.98 * four.cycles) << "the last round at full load is inside the interval";
}

TEST(WholeKernel, TimeGrowsWithTheTailOfEveryRound) {
  double last = 0;
  for (const std::uint64_t workgroups : {100U, 304U, 305U, 500U, 608U, 609U, 912U}) {
    const double cycles = estimateOf(streamKernel({workgroups, 1, 1}, 64, 256)).cycles;
    EXPECT_GE(cycles, 0.999 * last) << workgroups;
    last = cycles;
  }
}

TEST(Schedule, RoundRobinOverXcds) {
  // Every eighth workgroup is long, so one of eight XCDs gets all of them.
  const auto long8 = [](std::uint64_t i) { return i % 8 == 0 ? 100.0 : 1.0; };
  EXPECT_EQ(scheduleClk(8 * 38 * 2, 8, 38, long8), 200);
  EXPECT_LT(scheduleClk(8 * 38 * 2, 1, 8 * 38, long8), 105) << "one XCD with all CUs would spread them";
  // Every seventh: spread evenly.
  EXPECT_LE(scheduleClk(7 * 38 * 8, 8, 38, [](std::uint64_t i) { return i % 7 == 0 ? 100.0 : 1.0; }), 206);
}

TEST(Schedule, FirstFreeSlotAndRounds) {
  EXPECT_EQ(scheduleClk(5, 1, 2, [](std::uint64_t) { return 10.0; }), 30);
  EXPECT_EQ(scheduleClk(1, 8, 38, [](std::uint64_t) { return 10.0; }), 10);
  EXPECT_EQ(scheduleClk(3, 1, 2, [](std::uint64_t i) { return i == 0 ? 30.0 : 10.0; }), 30)
      << "the third one is second";
  // A million alike: as many rounds, whether scheduled or not.
  EXPECT_NEAR(scheduleClk(1'000'000, 8, 304, [](std::uint64_t) { return 5.0; }), 5 * 412, 1e-6);
}

TEST(Behaviours, RaggedTilesAndTheirShares) {
  const auto count = [](std::uint64_t i) { return i % 10 == 9 ? 100U : 400U; };
  const Kernel kernel = valuKernel({10, 100, 1}, 64, count);
  std::vector<emulator::WorkgroupTrace> traces = kernel.traces(sampleWorkgroups(chip(), gfx942(), kernel.launch));
  ASSERT_TRUE(differ(traces)) << "the last of the row is in the first sample";
  std::ranges::move(kernel.traces(widerSample(kernel.launch, traces)), std::back_inserter(traces));
  std::ranges::sort(traces, {}, &emulator::WorkgroupTrace::index);
  const Parameters p = Parameters::of(chip());
  const std::vector<StaticInst> code = analyseCode(kernel.program.code(), 0, p);
  const auto set = TraceSet::prepare(traces, code);
  ASSERT_TRUE(set);
  const Behaviours behaviours = Behaviours::find(*set, code, kernel.launch.grid, p);
  ASSERT_EQ(behaviours.count(), 2U);
  EXPECT_LT(behaviours.uncertainty(), 0.1);
  const auto kindOf = [&](std::uint64_t i) { return behaviours.ofTrace(behaviours.traceFor(i)); };
  for (std::uint64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(kindOf(i), kindOf(count(i) == 100 ? 9 : 0)) << i;
  double share = 0;
  for (unsigned trace = 0; trace < traces.size(); ++trace)
    share += behaviours.ofTrace(trace) == kindOf(9) ? behaviours.shares()[trace] : 0;
  EXPECT_NEAR(share, 0.1, 0.001);
}

TEST(Sampling, MoreWhereWorkgroupsDiffer) {
  const Kernel even = valuKernel({64, 64, 1}, 64, [](std::uint64_t) { return 100U; });
  EXPECT_TRUE(widerSample(even.launch, even.traces({0, 1, 8, 4095})).empty());
  const Kernel uneven = valuKernel({64, 64, 1}, 64, [](std::uint64_t i) { return 10 * (1 + unsigned(i % 64)); });
  const auto more = widerSample(uneven.launch, uneven.traces({0, 1, 8, 4095}));
  std::set<std::uint64_t> columns;
  for (const std::uint64_t i : more) {
    EXPECT_LT(i, 4096U);
    columns.insert(i % 64);
  }
  EXPECT_GE(columns.size(), 12U);
  EXPECT_TRUE(columns.contains(0) && columns.contains(62) && columns.contains(63));
  EXPECT_LE(more.size() + 4, maxTraces);
}

TEST(LoopFold, KeepsBothEndsAndTheAccessesOfWhatIsLeft) {
  const Kernel kernel = ldsKernel({1, 1, 1}, 100);
  const std::vector<emulator::WorkgroupTrace> traces = {kernel.trace(0)};
  const FoldedTraces folded = foldLoops(traces, 0.2);
  const emulator::WaveTrace& wave = folded.traces[0].waves[0];
  ASSERT_EQ(wave.path.size(), 20U * 8 + 1);
  EXPECT_EQ(folded.instructions, 4 * wave.path.size());
  ASSERT_EQ(wave.accesses.size(), 40U);
  for (const emulator::MemoryAccess& access : wave.accesses) {
    const std::uint32_t at = wave.path[access.step];
    EXPECT_EQ(at, kernel.program.offset(access.store ? 4 : 0));
  }
  EXPECT_EQ(foldLoops(traces, 1).instructions, 4 * traces[0].waves[0].path.size());
  EXPECT_EQ(foldLoops(traces, 0.001).traces[0].waves[0].path.size(), fewestKept * 8 + 1);
}

TEST(LoopFold, WavesThatRepeatDifferentlyStayWhole) {
  const Kernel kernel = ldsKernel({1, 1, 1}, 100);
  emulator::WorkgroupTrace trace = kernel.trace(0);
  trace.waves[2] = ldsKernel({1, 1, 1}, 99).trace(0).waves[2];
  EXPECT_EQ(foldLoops({trace}, 0.2).traces[0].waves[0].path.size(), trace.waves[0].path.size());
}

/// One workgroup in a loop over arithmetic and a barrier.
Kernel loopKernel(unsigned iterations) {
  return {Program({"v_fma_f32 v4, v0, v1, v4", "v_exp_f32 v5, v5", "v_add_f32 v4, v4, v5", "s_barrier",
                   "s_cbranch_scc1 65531"}),
          shape({1, 1, 1}, 4, 128), [iterations](const Program& program, std::uint64_t, unsigned) {
            WaveBuilder b(program);
            for (unsigned i = 0; i < iterations; ++i)
              b.run(0, 5);
            return b.step(5).trace;
          }};
}

TEST(WholeKernel, LongLoopsContinueInAStraightLine) {
  const Estimate whole = estimateOf(loopKernel(40'000)), folded = estimateOf(loopKernel(120'000));
  ASSERT_LT(whole.waveInstructions, WholeChip::simulationBudget);
  ASSERT_GT(folded.waveInstructions, WholeChip::simulationBudget);
  EXPECT_NEAR(folded.cycles / whole.cycles, 3, 0.001);
  EXPECT_NEAR(folded.waveInstructions, 4 * (120'000 * 5 + 1), 20);
  EXPECT_LE(folded.cyclesLow, 3 * whole.cycles);
  EXPECT_GE(folded.cyclesHigh, 3 * whole.cycles);
  ASSERT_EQ(folded.instructions.size(), whole.instructions.size());
  for (std::size_t i = 0; i + 1 < folded.instructions.size(); ++i)
    EXPECT_NEAR(static_cast<double>(folded.instructions[i].issued) / static_cast<double>(whole.instructions[i].issued),
                3, 0.001);
}

TEST(Clock, FollowsTheLoad) {
  const Chip& c = chip();
  EXPECT_EQ(estimateOf(streamKernel({3040, 1, 1}, 16)).clockMhz, c.parameter("clock.memoryMhz"));
  EXPECT_NEAR(estimateOf(valuKernel({3040, 1, 1}, 64, [](std::uint64_t) { return 2000U; })).clockMhz,
              c.parameter("clock.vectorMhz"), 1);
  const Kernel matrix{Program({"v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]"}), shape({3040, 1, 1}, 4, 128),
                      [](const Program& program, std::uint64_t, unsigned) {
                        WaveBuilder b(program);
                        for (unsigned i = 0; i < 500; ++i)
                          b.step(0);
                        return b.step(1).trace;
                      }};
  EXPECT_NEAR(estimateOf(matrix).clockMhz, c.parameter("clock.matrixMhz"), 1);
}

TEST(Clock, MemoryBehindL2KeepsItsTime) {
  const Parameters p = Parameters::of(chip()), slow = p.atClock(p.peakMhz / 2);
  EXPECT_EQ(slow.l2Latency, p.l2Latency);
  EXPECT_EQ(slow.ldsLatency, p.ldsLatency);
  EXPECT_DOUBLE_EQ((slow.hbmLatency - slow.l2Latency) / slow.peakMhz, (p.hbmLatency - p.l2Latency) / p.peakMhz);
  EXPECT_DOUBLE_EQ(slow.fabricBytesPerClkPerXcd * slow.peakMhz, p.fabricBytesPerClkPerXcd * p.peakMhz);
  EXPECT_EQ(slow.hbmBytesPerSecond, p.hbmBytesPerSecond);
}

TEST(WholeKernel, SameToTheCycleFromAnyThread) {
  const Kernel kernel = streamKernel({5000, 1, 1}, 24);
  const Estimate reference = estimateOf(kernel);
  std::array<Estimate, 3> others;
  {
    std::vector<std::jthread> threads;
    for (Estimate& other : others)
      threads.emplace_back([&] { other = estimateOf(kernel); });
  }
  for (const Estimate& other : others) {
    EXPECT_EQ(other.cycles, reference.cycles);
    EXPECT_EQ(other.cyclesLow, reference.cyclesLow);
    EXPECT_EQ(other.cyclesHigh, reference.cyclesHigh);
    EXPECT_EQ(other.hbmBytes, reference.hbmBytes);
    EXPECT_EQ(other.utilisation, reference.utilisation);
    ASSERT_EQ(other.instructions.size(), reference.instructions.size());
    for (std::size_t i = 0; i < other.instructions.size(); ++i)
      EXPECT_EQ(other.instructions[i].byReason, reference.instructions[i].byReason);
  }
}

} // namespace
} // namespace asmevo::timing::fixture
