// What a kernel's memory accesses alone leave of its time: which order data allow, and the times that follow from it.
#include "timing/bound.h"

#include "timing_support.h"

#include "isa/waitcnt.h"

namespace asmevo::timing::fixture {
namespace {

constexpr std::uint64_t table = 0x10'0000'0000, results = 0x20'0000'0000;
constexpr std::uint64_t apart = 1 << 20; ///< between loads: every one goes to a line of its own

std::vector<emulator::WorkgroupTrace> oneWorkgroup(emulator::WaveTrace wave) {
  std::vector<emulator::WorkgroupTrace> traces(1);
  traces[0].waves.push_back(std::move(wave));
  return traces;
}

/// Statements of a reduced wave in their order, and "vmcnt(n)" for waits.
std::vector<std::string> stepsOf(const MemoryOnly& reduced) {
  std::vector<std::string> steps;
  for (const std::uint32_t offset : reduced.traces.at(0).waves.at(0).path) {
    const isa::Instruction& inst = *reduced.code.at(offset / 4);
    const isa::WaitCount wait = inst.waitCount();
    steps.push_back(inst.cls == isa::InstClass::waitcnt ? isa::waitcntText(wait) : inst.text);
  }
  return steps;
}

/// Loads that wait for each other's data although none needs them: v1 and v2 are sums, addresses come from v0 alone.
struct Sums {
  Program program{{"global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)", "v_add_f32 v2, v2, v1",
                   "global_load_dword v1, v0, s[2:3]", "s_waitcnt vmcnt(0)", "v_add_f32 v2, v2, v1",
                   "global_load_dword v1, v0, s[4:5]", "s_waitcnt vmcnt(0)", "v_add_f32 v2, v2, v1",
                   "global_store_dword v0, v2, s[6:7]"}};
  std::vector<emulator::WorkgroupTrace> traces() const {
    WaveBuilder b(program);
    for (std::size_t i = 0; i < 9; i += 3)
      b.step(i).global(table + i * apart, 4).run(i + 1, i + 3);
    b.step(9).global(results, 4, true).step(10);
    return oneWorkgroup(b.trace);
  }
};

/// Every address comes from the load before.
struct Chase {
  Program program{{"global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)", "v_lshlrev_b32 v2, 2, v1",
                   "global_load_dword v3, v2, s[0:1]", "s_waitcnt vmcnt(0)", "global_load_dword v4, v3, s[0:1]",
                   "s_waitcnt vmcnt(0)", "global_store_dword v0, v4, s[6:7]"}};
  std::vector<emulator::WorkgroupTrace> traces() const {
    WaveBuilder b(program);
    b.step(0).global(table, 4).run(1, 3).step(3).global(table + apart, 4).step(4);
    b.step(5).global(table + 2 * apart, 4).step(6).step(7).global(results, 4, true).step(8);
    return oneWorkgroup(b.trace);
  }
};

TEST(MemoryOnly, KeepsTheKernelsOrderAndWaits) {
  const Sums sums;
  const auto traces = sums.traces();
  EXPECT_EQ(stepsOf(memoryOnly(sums.program.code(), 0, traces, AccessOrder::written)),
            (std::vector<std::string>{"global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)",
                                      "global_load_dword v1, v0, s[2:3]", "s_waitcnt vmcnt(0)",
                                      "global_load_dword v1, v0, s[4:5]", "s_waitcnt vmcnt(0)",
                                      "global_store_dword v0, v2, s[6:7]", "s_endpgm"}));
}

TEST(MemoryOnly, ByDataflowOnlyAddressesAndDataWait) {
  const Sums sums;
  const auto traces = sums.traces();
  EXPECT_EQ(stepsOf(memoryOnly(sums.program.code(), 0, traces, AccessOrder::dataflow)),
            (std::vector<std::string>{"global_load_dword v1, v0, s[0:1]", "global_load_dword v1, v0, s[2:3]",
                                      "global_load_dword v1, v0, s[4:5]", "s_waitcnt vmcnt(0)",
                                      "global_store_dword v0, v2, s[6:7]", "s_endpgm"}));
  const Chase chase;
  const auto chain = chase.traces();
  EXPECT_EQ(stepsOf(memoryOnly(chase.program.code(), 0, chain, AccessOrder::dataflow)),
            (std::vector<std::string>{"global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)",
                                      "global_load_dword v3, v2, s[0:1]", "s_waitcnt vmcnt(0)",
                                      "global_load_dword v4, v3, s[0:1]", "s_waitcnt vmcnt(0)",
                                      "global_store_dword v0, v4, s[6:7]", "s_endpgm"}));
}

TEST(MemoryOnly, WaitsForTheLastNeededAccessOnly) {
  // The store of v1 needs the first of two loads: one may be outstanding. v5 comes through LDS from the second.
  const Program program{{"global_load_dword v1, v0, s[0:1]", "global_load_dword v2, v0, s[2:3]", "s_waitcnt vmcnt(0)",
                         "ds_write_b32 v0, v2", "s_waitcnt lgkmcnt(0)", "s_barrier", "ds_read_b32 v5, v0",
                         "s_waitcnt lgkmcnt(0)", "global_store_dword v0, v1, s[4:5]",
                         "global_store_dword v0, v5, s[6:7]"}};
  WaveBuilder b(program);
  b.step(0).global(table, 4).step(1).global(table + apart, 4).step(2).step(3).lds(4, 4, true).run(4, 6);
  b.step(6).lds(4, 4).step(7).step(8).global(results, 4, true).step(9).global(results + apart, 4, true).step(10);
  const auto traces = oneWorkgroup(b.trace);
  EXPECT_EQ(stepsOf(memoryOnly(program.code(), 0, traces, AccessOrder::dataflow)),
            (std::vector<std::string>{"global_load_dword v1, v0, s[0:1]", "global_load_dword v2, v0, s[2:3]",
                                      "s_waitcnt vmcnt(1)", "global_store_dword v0, v1, s[4:5]", "s_waitcnt vmcnt(1)",
                                      "global_store_dword v0, v5, s[6:7]", "s_endpgm"}));
}

TEST(MemoryOnly, ScalarLoadsComeFirstAndAreWaitedForAsAWhole) {
  const Program program{{"s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_load_dwordx2 s[4:5], s[0:1], 0x8",
                         "s_waitcnt lgkmcnt(0)", "global_load_dword v1, v0, s[2:3]",
                         "global_load_dword v2, v0, s[4:5]"}};
  WaveBuilder b(program);
  b.step(0).scalar(table, 8).step(1).scalar(table + 8, 8).step(2).step(3).global(results, 4);
  b.step(4).global(results + apart, 4).step(5);
  const auto traces = oneWorkgroup(b.trace);
  EXPECT_EQ(stepsOf(memoryOnly(program.code(), 0, traces, AccessOrder::dataflow)),
            (std::vector<std::string>{"s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_load_dwordx2 s[4:5], s[0:1], 0x8",
                                      "s_waitcnt lgkmcnt(0)", "global_load_dword v1, v0, s[2:3]",
                                      "global_load_dword v2, v0, s[4:5]", "s_endpgm"}));
}

struct Timed {
  Estimate estimate;
  Bound bound;
};

Timed timed(const Program& program, const std::vector<emulator::WorkgroupTrace>& traces) {
  Launch launch;
  launch.vgprs = launch.sgprs = 32;
  Timed result;
  const auto own = estimate(chip(), gfx942(), launch, program.code(), 0, traces);
  EXPECT_TRUE(own) << own.error().message;
  result.estimate = *own;
  const auto found = bound(chip(), gfx942(), launch, program.code(), 0, traces, *own);
  EXPECT_TRUE(found) << found.error().message;
  result.bound = *found;
  return result;
}

TEST(Bound, IndependentLoadsThatWaitAreFarFromIt) {
  const Sums sums;
  const Timed result = timed(sums.program, sums.traces());
  // The chip file: at least the Infinity Cache's 455 clk a load. Two of the three trips could be saved.
  EXPECT_GT(result.bound.written - result.bound.dataflow, 2 * 455);
  EXPECT_EQ(result.bound.cycles, result.bound.dataflow);
  EXPECT_GT(result.estimate.cycles, 2 * result.bound.cycles);
}

TEST(Bound, AChainOfLoadsIsAtIt) {
  const Chase chase;
  const Timed result = timed(chase.program, chase.traces());
  EXPECT_GT(result.bound.cycles, 3 * 455);
  EXPECT_LE(result.bound.cycles, result.estimate.cycles);
  EXPECT_LT(result.estimate.cycles, 1.05 * result.bound.cycles);
}

TEST(Bound, ABusyUnitIsOne) {
  // 400 transcendentals of 16 clk on one SIMD, and one load.
  std::vector<std::string> lines(400, "v_exp_f32 v2, v2");
  lines.insert(lines.begin(), "global_load_dword v1, v0, s[0:1]");
  const Program program(lines);
  WaveBuilder b(program);
  b.step(0).global(table, 4).run(1, 402);
  const Timed result = timed(program, oneWorkgroup(b.trace));
  // The utilisation is of four SIMDs, of which one works.
  EXPECT_NEAR(result.bound.busiestUnit, 400 * 16 / 4.0, 20);
  EXPECT_LT(result.bound.dataflow, result.estimate.cycles / 3);
  EXPECT_EQ(result.bound.cycles, std::max(result.bound.busiestUnit, result.bound.written));
}

} // namespace
} // namespace asmevo::timing::fixture
