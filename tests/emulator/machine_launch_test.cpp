// The state a kernel starts in (LLVM AMDGPUUsage, "Initial Kernel Execution State", gfx942).
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

#include <cstring>

namespace asmevo::emulator::test {
namespace {

TEST(MachineLaunch, WorkItemIdsArePackedAndPartialGroupsAreSmaller) {
  // Work-group (4,2,1), grid (6,3,1): the group at (1,1) has 2 x 1 work-items.
  KernelText text{R"(
  s_load_dwordx2 s[4:5], s[0:1], 0
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s6, s3, 1
  s_add_u32 s6, s6, s2
  s_lshl_b32 s6, s6, 5
  v_mbcnt_lo_u32_b32 v2, -1, 0
  v_mbcnt_hi_u32_b32 v2, -1, v2
  v_lshlrev_b32_e32 v2, 2, v2
  v_add_u32_e32 v2, s6, v2
  global_store_dword v2, v0, s[4:5]
)"};
  text.descriptor = ".amdhsa_system_sgpr_workgroup_id_y 1\n .amdhsa_system_vgpr_workitem_id 2";
  const auto out = run(text, {.workgroup = {4, 2, 1}, .grid = {6, 3, 1}, .buffers = {filled(32)}}).out;
  const std::uint32_t none = 0xcccccccc, y = 1 << 10;
  const std::vector<std::uint32_t> expected{0, 1, 2,    3,     y,    y + 1, y + 2, y + 3, // group (0,0): 4 x 2
                                            0, 1, y,    y + 1, none, none,  none,  none,  // group (1,0): 2 x 2
                                            0, 1, 2,    3,     none, none,  none,  none,  // group (0,1): 4 x 1
                                            0, 1, none, none,  none, none,  none,  none}; // group (1,1): 2 x 1
  EXPECT_EQ(out, expected);
}

TEST(MachineLaunch, PartialLastWaveHasFewerActiveLanes) {
  KernelText text{loadPointers(1) + R"(
  v_mov_b32_e32 v2, exec_lo
  v_mov_b32_e32 v3, exec_hi
  v_lshlrev_b32_e32 v4, 3, v0
  global_store_dwordx2 v4, v[2:3], s[4:5]
)"};
  const auto out = run(text, {.workgroup = {100, 1, 1}, .grid = {100, 1, 1}, .buffers = {filled(200)}}).out;
  EXPECT_EQ(out[0], 0xffffffffu);
  EXPECT_EQ(out[1], 0xffffffffu);
  EXPECT_EQ(out[2 * 64], 0xffffffffu);
  EXPECT_EQ(out[2 * 64 + 1], 0xfu);
}

TEST(MachineLaunch, UserSgprsComeInOrderAndThePacketDescribesTheLaunch) {
  // dispatch ptr s[0:1], queue ptr s[2:3], kernarg ptr s[4:5], dispatch id s[6:7], then the workgroup id s8.
  KernelText text{R"(
  s_load_dwordx2 s[10:11], s[4:5], 0
  s_load_dword s12, s[0:1], 0x4
  s_load_dword s13, s[0:1], 0xc
  s_load_dwordx2 s[14:15], s[0:1], 0x28
  s_load_dword s16, s[2:3], 0x40
  s_load_dword s17, s[0:1], 0x1c
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s14, s14, s4
  s_sub_u32 s15, s15, s5
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v4, s12
  v_mov_b32_e32 v5, s13
  v_mov_b32_e32 v6, s14
  v_mov_b32_e32 v7, s15
  global_store_dwordx4 v2, v[4:7], s[10:11]
  s_mov_b64 s[20:21], src_shared_base
  s_sub_u32 s16, s16, s21
  v_mov_b32_e32 v4, s16
  v_mov_b32_e32 v5, s17
  v_mov_b32_e32 v6, s6
  v_mov_b32_e32 v7, s8
  global_store_dwordx4 v2, v[4:7], s[10:11] offset:16
)"};
  text.userSgprs = ".amdhsa_user_sgpr_dispatch_ptr 1\n .amdhsa_user_sgpr_queue_ptr 1\n"
                   " .amdhsa_user_sgpr_kernarg_segment_ptr 1\n .amdhsa_user_sgpr_dispatch_id 1";
  text.ldsBytes = 300;
  const auto out =
      run(text, {.workgroup = {32, 2, 1}, .grid = {50, 2, 1}, .dynamicLds = 44, .buffers = {filled(8)}}).out;
  EXPECT_EQ(out[0], 32u | 2u << 16);
  EXPECT_EQ(out[1], 50u);
  EXPECT_EQ(out[2], 0u);
  EXPECT_EQ(out[3], 0u);
  EXPECT_EQ(out[4], 0u);
  EXPECT_EQ(out[5], 344u);
  EXPECT_EQ(out[6], 0u);
  EXPECT_LE(out[7], 1u);
}

TEST(MachineLaunch, KernargPreloadStartsBehindThePrologue) {
  // s[0:1] kernarg pointer, s[2:3] = first argument (out), s4 = first dword of the second; workgroup id in s5.
  KernelText text{R"(
  s_branch .Lnever
  .fill 63, 4, 0xbf800000
  v_mov_b32_e32 v1, s4
  v_lshlrev_b32_e32 v2, 2, v0
  s_lshl_b32 s6, s5, 8
  v_add_u32_e32 v2, s6, v2
  global_store_dword v2, v1, s[2:3]
  s_load_dword s7, s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s7
  global_store_dword v2, v1, s[2:3] offset:512
  s_endpgm
.Lnever:
  s_trap 2
)"};
  text.userSgprs = ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n .amdhsa_user_sgpr_kernarg_preload_length 3\n"
                   " .amdhsa_user_sgpr_kernarg_preload_offset 0";
  const auto out = run(text, {.grid = {128, 1, 1}, .buffers = {filled(256), filled(4)}}).out;
  // Both ways give the low half of the second buffer's address.
  for (unsigned i = 0; i < 128; ++i) {
    EXPECT_EQ(out[i], out[128 + i]);
    EXPECT_EQ(out[i], out[0]);
  }
  EXPECT_EQ(out[0] % 256, 0u);
}

TEST(MachineLaunch, WorkgroupInfoAndModeComeFromTheDescriptor) {
  KernelText text{loadPointers(1) + R"(
  s_getreg_b32 s8, hwreg(HW_REG_MODE, 0, 10)
  v_mov_b32_e32 v1, s8
  v_lshlrev_b32_e32 v2, 2, v0
  global_store_dword v2, v1, s[4:5]
)"};
  text.descriptor =
      ".amdhsa_float_round_mode_32 2\n .amdhsa_float_round_mode_16_64 1\n .amdhsa_float_denorm_mode_32 0\n"
      " .amdhsa_float_denorm_mode_16_64 3\n .amdhsa_dx10_clamp 0\n .amdhsa_ieee_mode 1";
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out[0], 2u | 1u << 2 | 0u << 4 | 3u << 6 | 0u << 8 | 1u << 9);
}

TEST(MachineLaunch, UninitialisedRegistersHoldPoisonThatFollowsTheSeed) {
  KernelText text{loadPointers(1) + "  v_mov_b32_e32 v1, v9\n  v_xor_b32_e32 v1, s40, v1\n" + storeV1};
  RunOptions a, b, off;
  b.poisonSeed = 77;
  off.poisonState = false;
  const auto first = run(text, {.buffers = {filled(64)}}, a).out;
  EXPECT_EQ(first, run(text, {.buffers = {filled(64)}}, a).out);
  EXPECT_NE(first, run(text, {.buffers = {filled(64)}}, b).out);
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}, off).out, filled(64, 0));
}

TEST(MachineLaunch, ImpossibleLaunchesAreRefusedWithTheReason) {
  const KernelText text{"  s_nop 0\n"};
  EXPECT_NE(runError(text, {.workgroup = {1025, 1, 1}, .buffers = {filled(1)}}).message.find("at most 1024"),
            std::string::npos);
  EXPECT_NE(runError(text, {.dynamicLds = 65537, .buffers = {filled(1)}}).message.find("65536"), std::string::npos);
  EXPECT_NE(runError(text, {.workgroup = {0, 1, 1}, .buffers = {filled(1)}}).message.find("positive"),
            std::string::npos);
  KernelText wide = text;
  wide.vgprs = 512;
  wide.accumOffset = 256;
  EXPECT_NE(runError(wide, {.workgroup = {512, 1, 1}, .buffers = {filled(1)}}).message.find("do not fit"),
            std::string::npos);
}

TEST(MachineLaunch, OtherTargetsAreRefusedByName) {
  KernelText text{"  s_nop 0\n"};
  text.cpu = "gfx9-4-generic";
  EXPECT_TRUE(Kernel::prepare(build(text), "k"));
  text.cpu = "gfx950";
  const auto kernel = Kernel::prepare(build(text), "k");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind, ErrorKind::refused);
  EXPECT_NE(kernel.error().message.find("gfx950"), std::string::npos);
}

} // namespace
} // namespace asmevo::emulator::test
