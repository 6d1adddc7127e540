// Control flow, scheduling, instruction counts, coverage and traces.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

#include <map>

namespace asmevo::emulator::test {
namespace {

TEST(MachineControl, CallsAndReturnsThroughRegisters) {
  KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 1
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, callee@rel32@lo+4
  s_addc_u32 s9, s9, callee@rel32@hi+12
  s_swappc_b64 s[10:11], s[8:9]
  s_call_b64 s[10:11], callee
)" + storeV1 + R"(
  s_endpgm
callee:
  v_lshl_or_b32 v1, v1, 4, v1
  s_setpc_b64 s[10:11]
)"};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 0x111));
}

TEST(MachineControl, TablesInRodataAreReachable) {
  KernelText text{loadPointers(1) + R"(
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, table@rel32@lo+4
  s_addc_u32 s9, s9, table@rel32@hi+12
  s_load_dword s10, s[8:9], 0x8
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s10
)" + storeV1};
  text.data = ".p2align 4\ntable:\n  .long 1, 2, 0xbeef, 4\n";
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 0xbeef));
}

TEST(MachineControl, RelativeRelocationsAreApplied) {
  // A pointer table in a writable section needs R_AMDGPU_RELATIVE64 (or ABS64) from the loader.
  KernelText text{loadPointers(1) + R"(
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, pointers@rel32@lo+4
  s_addc_u32 s9, s9, pointers@rel32@hi+12
  s_load_dwordx2 s[10:11], s[8:9], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s12, s[10:11], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s12
)" + storeV1};
  text.more = "  .data\n  .p2align 3\npointers:\n  .quad value\nvalue:\n  .long 4711\n";
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 4711));
}

TEST(MachineControl, UndefinedSymbolsAreRefusedByName) {
  KernelText text{R"(
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, elsewhere@gotpcrel32@lo+4
  s_addc_u32 s9, s9, elsewhere@gotpcrel32@hi+12
)"};
  text.linkOptions = "-Wl,--unresolved-symbols=ignore-all";
  const Error error = runError(text, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::refused);
  EXPECT_NE(error.message.find("undefined symbol 'elsewhere'"), std::string::npos) << error.message;
}

TEST(MachineControl, JumpsIntoALongInstructionRunItsSecondDword) {
  // The literal of v_mov is the encoding of "v_mov_b32_e32 v1, 7" followed by the common tail.
  KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 3
  s_getpc_b64 s[8:9]
.Lhere:
  s_add_u32 s8, s8, .Linside-.Lhere
  s_addc_u32 s9, s9, 0
  s_setpc_b64 s[8:9]
  s_nop 0
  .long 0x7e0402ff
.Linside:
  .long 0x7e020287
)" + storeV1};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 7));
  RunOptions instrumented;
  instrumented.coverage = true;
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}, instrumented).out, filled(64, 7));
}

TEST(MachineControl, JumpsOutsideTheCodeFault) {
  const Error error = runError({"  s_mov_b64 s[8:9], 64\n  s_setpc_b64 s[8:9]\n"}, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  EXPECT_NE(error.message.find("outside the code"), std::string::npos) << error.message;
}

TEST(MachineControl, EarlyEndedWavesCountAsArrived) {
  KernelText text{loadPointers(1) + R"(
  v_readfirstlane_b32 s6, v0
  s_cmp_lt_u32 s6, 64
  s_cbranch_scc0 .Lend
  s_barrier
  v_lshlrev_b32_e32 v1, 2, v0
  global_store_dword v1, v0, s[4:5]
.Lend:
)"};
  const Outcome outcome = run(text, {.workgroup = {256, 1, 1}, .grid = {256, 1, 1}, .buffers = {filled(256)}});
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(outcome.out[i], i < 64 ? i : 0xcccccccc) << i;
}

TEST(MachineControl, EndlessLoopsAreReportedWithPositions) {
  RunOptions options;
  options.maxInstructions = 100'000;
  const Error error = runError({R"(
  v_readfirstlane_b32 s6, v0
  s_cmp_lt_u32 s6, 64
  s_cbranch_scc1 .Lend
.Lloop:
  s_nop 3
  s_branch .Lloop
.Lend:
)"},
                               {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(1)}}, options);
  EXPECT_EQ(error.kind, ErrorKind::fault);
  for (const char* part : {"'k'", "100000 wave-instructions", "wave 0 has ended", "wave 1 is at 's_nop 3'"})
    EXPECT_NE(error.message.find(part), std::string::npos) << part << " in " << error.message;
}

TEST(MachineControl, WorkgroupsMayWaitForLaterOnes) {
  // Workgroup 0 spins until workgroup 7, the last one, has stored a flag.
  const std::string spin = R"(
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lother
.Lwait:
  {}
  s_load_dword s6, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s6, 1
  s_cbranch_scc0 .Lwait
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 42
  global_store_dword v2, v3, s[4:5] offset:4
  s_endpgm
.Lother:
  s_cmp_eq_u32 s2, 7
  s_cbranch_scc0 .Lend
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1
  global_store_dword v2, v3, s[4:5]
.Lend:
)";
  for (const char* pause : {"s_sleep 1", "s_nop 0"})
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      RunOptions options;
      options.seed = seed;
      const Outcome outcome = run({loadPointers(1) + fmt::format(fmt::runtime(spin), pause)},
                                  {.grid = {512, 1, 1}, .buffers = {filled(2, 0)}}, options);
      EXPECT_EQ(outcome.out[1], 42u) << pause << " seed " << seed;
    }
}

/// A producer and consumer wave with barriers: each of 16 rounds, wave w writes LDS slot w and reads the other's.
KernelText pingPong() {
  KernelText text{loadPointers(1) + R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_xor_b32_e32 v3, 0x100, v2
  v_mov_b32_e32 v1, v0
  s_mov_b32 s8, 16
.Lround:
  ds_write_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_add_u32_e32 v1, v1, v4
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lround
)" + storeV1};
  text.ldsBytes = 512;
  return text;
}

TEST(MachineSchedule, EveryOrderGivesTheSameForRaceFreeCode) {
  const Launch launch{.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(128)}};
  const auto expected = [](unsigned i) { return 32768u * (i + (i ^ 64)); };
  std::vector<RunOptions> variants(6);
  variants[1].waveToBarrier = true;
  variants[2].seed = 1;
  variants[3].seed = 99;
  variants[4].threads = 2;
  variants[5].coverage = true;
  for (const RunOptions& options : variants) {
    const Outcome outcome = run(pingPong(), launch, options);
    for (unsigned i = 0; i < 128; ++i)
      ASSERT_EQ(outcome.out[i], expected(i)) << i;
    EXPECT_EQ(outcome.result.waves, 2u);
    // 2 waves of: 2 pointer instructions, 4 more, 16 rounds of 10, 5 stores, endpgm.
    EXPECT_EQ(outcome.result.waveInstructions, 2u * (2 + 4 + 160 + 5 + 1));
  }
}

TEST(MachineSchedule, CoverageCountsEveryInstruction) {
  RunOptions options;
  options.coverage = true;
  const Outcome outcome =
      run(pingPong(), {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(128)}}, options);
  std::uint64_t sum = 0;
  std::map<std::uint64_t, unsigned> histogram;
  for (const auto& [address, count] : outcome.result.coverage) {
    sum += count;
    ++histogram[count];
  }
  EXPECT_EQ(sum, outcome.result.waveInstructions);
  EXPECT_EQ(histogram, (std::map<std::uint64_t, unsigned>{{2, 12}, {32, 10}}));
  EXPECT_TRUE(std::is_sorted(outcome.result.coverage.begin(), outcome.result.coverage.end()));
}

TEST(MachineSchedule, TracesHoldPathAndAccesses) {
  RunOptions options;
  options.traceWorkgroups = {1};
  KernelText text{loadPointers(1) +
                  "  v_lshlrev_b32_e32 v2, 3, v0\n  ds_write_b32 v2, v0 offset:4\n  v_mov_b32_e32 v1, v0\n" + storeV1};
  text.ldsBytes = 1024;
  const Outcome outcome = run(text, {.grid = {160, 1, 1}, .buffers = {filled(160)}}, options);
  ASSERT_EQ(outcome.result.traces.size(), 1u);
  const WorkgroupTrace& group = outcome.result.traces[0];
  EXPECT_EQ(group.index, 1u);
  EXPECT_EQ(group.id, (std::array<std::uint32_t, 3>{1, 0, 0}));
  ASSERT_EQ(group.waves.size(), 1u);
  const WaveTrace& wave = group.waves[0];
  ASSERT_EQ(wave.path.size(), 11u);
  EXPECT_EQ(wave.path[0], 0u);
  EXPECT_EQ(wave.path[1], 8u);
  ASSERT_EQ(wave.accesses.size(), 3u);
  EXPECT_EQ(wave.accesses[0].space, Space::scalar);
  EXPECT_EQ(wave.accesses[0].step, 0u);
  EXPECT_EQ(wave.accesses[0].lineCount, 1u);
  EXPECT_EQ(wave.accesses[1].space, Space::lds);
  EXPECT_TRUE(wave.accesses[1].store);
  EXPECT_EQ(wave.ldsAddresses.at(wave.accesses[1].firstLane + 63), 63u * 8 + 4);
  EXPECT_EQ(wave.accesses[2].space, Space::global);
  EXPECT_TRUE(wave.accesses[2].store);
  EXPECT_EQ(wave.accesses[2].bytesPerLane, 4);
  EXPECT_EQ(wave.accesses[2].activeLanes, 64);
  EXPECT_EQ(wave.accesses[2].lineCount, 4u); // 256 bytes from a 256-byte boundary
  EXPECT_EQ(wave.lines.at(wave.accesses[2].firstLine + 1), wave.lines.at(wave.accesses[2].firstLine) + 1);
}

TEST(MachineSchedule, OnlyTracedRunsNoOtherWorkgroup) {
  RunOptions options;
  options.traceWorkgroups = {2, 77};
  options.onlyWorkgroups = {2, 77};
  const Outcome outcome = run({loadPointers(1) + "  v_mov_b32_e32 v1, v0\n" + storeV1},
                              {.grid = {256, 1, 1}, .buffers = {filled(256)}}, options);
  EXPECT_EQ(outcome.result.waves, 1u);
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(outcome.out[i], i / 64 == 2 ? i % 64 : 0xcccccccc) << i;
}

TEST(MachineSchedule, ThreadsShareAtomics) {
  RunOptions options;
  options.threads = 4;
  const Outcome outcome = run({loadPointers(1) + "  v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v3, 1\n"
                                                 "  global_atomic_add v2, v3, s[4:5]\n"},
                              {.workgroup = {256, 1, 1}, .grid = {65536, 1, 1}, .buffers = {filled(1, 0)}}, options);
  EXPECT_EQ(outcome.out[0], 65536u);
}

TEST(MachineRefusal, UnknownWordsMatterOnlyWhenReached) {
  EXPECT_EQ(run({loadPointers(1) + "  v_mov_b32_e32 v1, 1\n" + storeV1 + "  s_endpgm\n  .long 0xffffffff\n"},
                {.buffers = {filled(64)}})
                .out,
            filled(64, 1));
  const Error error = runError({"  s_nop 0\n  .long 0xffffffff\n"}, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::refused);
  EXPECT_NE(error.message.find(".long 0xffffffff"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("kernel 'k'"), std::string::npos) << error.message;
}

TEST(MachineRefusal, RegistersBeyondTheDescriptorAreRefusedWhenReached) {
  KernelText text{"  v_mov_b32_e32 v32, 0\n"};
  text.vgprs = 32;
  const Error error = runError(text, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::refused);
  EXPECT_NE(error.message.find("uses v32, but the descriptor allocates 32"), std::string::npos) << error.message;
}

TEST(MachineRefusal, HaltsAndReturnsFromTrapsAreRefused) {
  for (const char* body : {"  s_sethalt 1\n", "  s_rfe_b64 s[4:5]\n", "  s_sendmsghalt sendmsg(MSG_INTERRUPT)\n"}) {
    const Error error = runError({body}, {.buffers = {filled(1)}});
    EXPECT_EQ(error.kind, ErrorKind::refused) << body;
  }
}

TEST(MachineControl, VskipSkipsVectorInstructionsOnly) {
  KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 5
  s_mov_b32 s8, 4
  s_setvskip s8, 2
  v_mov_b32_e32 v1, 6
  s_mov_b32 s9, 100
  global_store_dword v0, v1, s[4:5] offset:4
  s_cbranch_execz .Lskip
  s_setvskip s8, 1
.Lskip:
  v_add_u32_e32 v1, s9, v1
)" + storeV1};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 105));
  RunOptions instrumented;
  instrumented.coverage = true;
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}, instrumented).out, filled(64, 105));
}

TEST(MachineControl, RunningPastTheCodeFaults) {
  const object::CodeObject object = build({"  s_endpgm\n  .fill 2, 4, 0xbf800000\n  .size k, 4\n"});
  EXPECT_TRUE(Kernel::prepare(object, "k"));
  const Error error = runError({"  s_branch .Lend_k\n"}, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
}

} // namespace
} // namespace asmevo::emulator::test
