// What a kernel sees of the machine beside its memory: traps, fork and join, hardware registers, apertures, scalar
// scratch. Expected values follow the CDNA3 ISA and LLVM's AMDGPUUsage, worked out by hand.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

TEST(MachineSystem, LlvmTrapAbortsAndDebugTrapPasses) {
  const Error error = runError({"  s_trap 2\n"}, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  EXPECT_NE(error.message.find("the kernel aborts"), std::string::npos) << error.message;
  EXPECT_NE(runError({"  s_trap 7\n"}, {.buffers = {filled(1)}}).message.find("trap 7"), std::string::npos);
  const auto text = KernelText{loadPointers(1) + "  s_trap 3\n  v_mov_b32_e32 v1, 6\n" + storeV1};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 6));
}

/// The smaller side runs first; each side sees its own EXEC. s[0:3] is the stack's first entry.
TEST(MachineSystem, ForkAndJoinRunBothSides) {
  for (const bool fewTake : {true, false}) {
    const auto text = KernelText{loadPointers(1) +
                                 fmt::format(R"(
  s_mov_b32 s24, s2
  v_cmp_gt_u32_e32 vcc, {}, v0
  s_mov_b64 s[20:21], vcc
  s_mov_b32 s22, 0
  s_mov_b32 s23, 0
  v_mov_b32_e32 v1, 0
  s_cbranch_i_fork s[20:21], .Ltaken
  s_lshl_b32 s23, s23, 4
  s_or_b32 s23, s23, 1
  v_mov_b32_e32 v1, 5
  s_branch .Ljoin
.Ltaken:
  s_lshl_b32 s23, s23, 4
  s_or_b32 s23, s23, 2
  v_mov_b32_e32 v1, 9
.Ljoin:
  s_cbranch_join s22
  s_mov_b64 exec, -1
  s_mov_b32 s2, s24
  v_lshl_or_b32 v1, s23, 8, v1
)",
                                             fewTake ? 16 : 48) +
                                 storeV1};
    const auto out = run(text, {.buffers = {filled(64)}}).out;
    const std::uint32_t order = fewTake ? 0x21 : 0x12;
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], order << 8 | (i < (fewTake ? 16u : 48u) ? 9u : 5u)) << i;
  }
}

/// A branch that all lanes take, or none, leaves the stack alone.
TEST(MachineSystem, UniformForksDoNotPush) {
  const auto text = KernelText{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 1
  s_cbranch_i_fork exec, .Ltaken
  v_mov_b32_e32 v1, 2
.Ltaken:
  s_getreg_b32 s22, hwreg(HW_REG_MODE, 29, 3)
  v_lshl_or_b32 v1, s22, 8, v1
)" + storeV1};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 1));
}

TEST(MachineSystem, HardwareRegistersFollowTheLaunch) {
  KernelText text{loadPointers(1) + R"(
  s_getreg_b32 s8, hwreg(HW_REG_XCC_ID)
  s_getreg_b32 s9, hwreg(HW_REG_LDS_ALLOC)
  s_getreg_b32 s10, hwreg(HW_REG_GPR_ALLOC)
  s_getreg_b32 s11, hwreg(HW_REG_SH_MEM_BASES)
  s_getreg_b32 s12, hwreg(HW_REG_HW_ID, 8, 4)
  s_getreg_b32 s13, hwreg(HW_REG_IB_STS)
  s_mov_b32 s14, 0x15
  s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 7), s14
  s_getreg_b32 s14, hwreg(HW_REG_TRAPSTS)
  v_writelane_b32 v1, s8, 0
  v_writelane_b32 v1, s9, 1
  v_writelane_b32 v1, s10, 2
  v_writelane_b32 v1, s11, 3
  v_writelane_b32 v1, s12, 4
  v_writelane_b32 v1, s13, 5
  v_writelane_b32 v1, s14, 6
)" + storeV1};
  text.ldsBytes = 1000; // two granules of 512
  const auto out = run(text, {.grid = {64 * 34, 1, 1}, .buffers = {filled(64 * 34)}}).out;
  const std::size_t last = 64 * 33; // workgroup 33: XCD 1, its fifth compute unit: engine 0, unit 1
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[last], 1u);
  EXPECT_EQ(out[last + 1], 4u << 12);
  EXPECT_EQ(out[last + 2], 3u << 6 | 7u << 12 | 6u << 24); // 32 VGPRs, accum_offset 32, 112 SGPRs
  EXPECT_EQ(out[last + 3], 0x00010002u);
  EXPECT_EQ(out[last + 4], 1u);
  EXPECT_EQ(out[last + 5], 0u);
  EXPECT_EQ(out[last + 6], 0x15u);
}

TEST(MachineSystem, ApertureLimitsAreTheirBasesPlusFourGigabytes) {
  const auto text = KernelText{loadPointers(1) + R"(
  s_mov_b64 s[8:9], src_shared_base
  s_mov_b64 s[10:11], src_shared_limit
  s_mov_b64 s[12:13], src_private_base
  s_mov_b64 s[14:15], src_private_limit
  v_writelane_b32 v1, s8, 0
  v_writelane_b32 v1, s9, 1
  v_writelane_b32 v1, s10, 2
  v_writelane_b32 v1, s11, 3
  v_writelane_b32 v1, s12, 4
  v_writelane_b32 v1, s13, 5
  v_writelane_b32 v1, s14, 6
  v_writelane_b32 v1, s15, 7
)" + storeV1};
  auto out = run(text, {.buffers = {filled(64)}}).out;
  out.resize(8);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 0x10000, 0xffffffff, 0x10000, 0, 0x20000, 0xffffffff, 0x20000}));
}

/// The private dwords of all 64 lanes lie side by side: an SGPR offset of 4 is the second dword of lane 0.
TEST(MachineSystem, ScalarScratchSeesTheLanesInterleaved) {
  KernelText text{loadPointers(1) + R"(
  v_add_u32_e32 v2, 100, v0
  scratch_store_dword off, v2, off offset:4
  s_waitcnt vmcnt(0)
  s_mov_b64 s[8:9], src_private_base
  s_mov_b32 s12, 4
  s_scratch_load_dwordx2 s[10:11], s[8:9], s12
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s13, 777
  s_scratch_store_dword s13, s[8:9], 0x10c
  s_waitcnt lgkmcnt(0)
  scratch_load_dword v1, off, off offset:4
  s_waitcnt vmcnt(0)
  v_writelane_b32 v1, s10, 60
  v_writelane_b32 v1, s11, 61
)" + storeV1};
  text.descriptor = ".amdhsa_private_segment_fixed_size 16\n .amdhsa_enable_private_segment 1";
  const auto out = run(text, {.buffers = {filled(64)}}).out;
  for (unsigned i = 0; i < 60; ++i)
    EXPECT_EQ(out[i], i == 3 ? 777u : 100 + i) << i; // 0x10c = 256 + 3 * 4
  EXPECT_EQ(out[60], 100u);
  EXPECT_EQ(out[61], 101u);
}

TEST(MachineSystem, FastMfmaIsAnOptionAndRoundsEachStep) {
  // D[0][0] = 1 + 16 * 2^-24: exact sums of 8 reach 1 + 2^-20, one product at a time is lost to rounding.
  KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v2, 0x0c000c00
  v_mov_b32_e32 v3, 0x0c000c00
  v_mov_b32_e32 v4, 1.0
  v_mov_b32_e32 v5, 1.0
  v_mov_b32_e32 v6, 1.0
  v_mov_b32_e32 v7, 1.0
  s_nop 4
  v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[2:3], v[4:7]
  s_nop 15
  v_mov_b32_e32 v1, v8
)" + storeV1};
  RunOptions fast;
  fast.fastMfma = true;
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 0x3f800008));
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}, fast).out, filled(64, 0x3f800000));
}

TEST(MachineSystem, EveryHostLevelGivesTheSameBits) {
  const auto text = KernelText{loadPointers(2) + R"(
  v_lshlrev_b32_e32 v2, 2, v0
  global_load_dword v3, v2, s[6:7]
  s_waitcnt vmcnt(0)
  v_exp_f32_e32 v4, v3
  v_log_f32_e32 v5, v3
  v_rsq_f32_e32 v6, v3
  v_sin_f32_e32 v7, v3
  v_fma_f32 v8, v3, v4, v6
  v_cvt_f16_f32_e32 v9, v3
  v_pk_fma_f16 v9, v9, v9, v3
  v_add_f32_dpp v8, v8, v8 row_shr:3 row_mask:0xf bank_mask:0xf
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 9
  v_mul_f32_e32 v10, v3, v8
  v_add_f16_e32 v11, v9, v3
  v_fma_f64 v[12:13], v[4:5], v[6:7], v[8:9]
  v_cvt_f32_f64_e32 v12, v[12:13]
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0
  v_mov_b32_e32 v16, v9
  v_mov_b32_e32 v17, v3
  s_nop 4
  v_mfma_f32_16x16x16_f16 v[20:23], v[16:17], v[16:17], 1.0
  v_mfma_i32_16x16x32_i8 v[24:27], v[16:17], v[16:17], 0
  s_nop 15
  v_xor_b32_e32 v1, v4, v5
  v_xor_b32_e32 v1, v1, v6
  v_xor_b32_e32 v1, v1, v7
  v_xor_b32_e32 v1, v1, v8
  v_xor_b32_e32 v1, v1, v10
  v_xor_b32_e32 v1, v1, v11
  v_xor_b32_e32 v1, v1, v12
  v_xor_b32_e32 v1, v1, v21
  v_xor_b32_e32 v1, v1, v26
)" + storeV1};
  const object::CodeObject object = build(text);
  std::vector<std::uint32_t> input(64);
  for (unsigned i = 0; i < 64; ++i)
    input[i] = (i * 0x01234567u) ^ 0x3f000000u;
  const dispatch::Case launch = caseOf({.buffers = {filled(64), input}});
  std::vector<Bytes> results;
  for (const SimdLevel level : hostSimdLevels()) {
    const auto kernel = Kernel::prepare(object, "k", level);
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result = (*kernel)->run(launch, {});
    ASSERT_TRUE(result) << result.error().message;
    results.push_back(result->buffers[0]);
    EXPECT_EQ(results.back(), results.front()) << "level " << static_cast<int>(level);
  }
  EXPECT_NE(results.front(), launch.buffers[0].initial);
}

} // namespace
} // namespace asmevo::emulator::test
