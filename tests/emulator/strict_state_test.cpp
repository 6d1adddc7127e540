// Strict runs: wait states, the descriptor's limits, and contents that nothing has written.
#include "emulator/strict_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

using Rules = std::vector<std::string>;

Rules rulesOf(const std::string& body, unsigned ldsBytes = 0) {
  return runStrict(strictKernel(body, ldsBytes), {.buffers = {filled(64), iota(64)}}).rules();
}

TEST(StrictDistance, VmemReadsAnSgprThatValuWroteFiveStatesLater) {
  const auto run = [&](unsigned nop) {
    const std::string text = fmt::format(fmt::runtime(R"(
  v_mov_b32_e32 v1, s6
  v_mov_b32_e32 v3, s7
  v_readfirstlane_b32 s8, v1
  v_readfirstlane_b32 s9, v3
  s_nop {}
  global_load_dword v1, v2, s[8:9]
)"),
                                         nop);
    return runStrict(strictKernel(text), {.buffers = {filled(64), iota(64)}});
  };
  EXPECT_EQ(run(4).rules(), Rules{});
  const auto near = run(3);
  ASSERT_EQ(near.rules(), Rules{"states.valu-sgpr-vmem"});
  EXPECT_NE(near.result.findings[0].message.find("needs 5 wait states after \"v_readfirstlane_b32 s9, v3\""),
            std::string::npos)
      << near.result.findings[0].message;
  EXPECT_NE(near.result.findings[0].message.find("has 4"), std::string::npos);
  EXPECT_EQ(near.out, iota(64)); // delivered all the same
}

TEST(StrictDistance, MatrixResultsTakeTheirPasses) {
  // 16x16x16 f16: 4 passes, so 7 states to a VALU read (CDNA3 ISA, table 37).
  const auto rules = [](unsigned nop) {
    return rulesOf(fmt::format(fmt::runtime(R"(
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  s_nop 1
  v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[4:5], v[8:11]
  s_nop {}
  v_mov_b32_e32 v1, v8
)"),
                               nop));
  };
  EXPECT_EQ(rules(6), Rules{});
  EXPECT_EQ(rules(5), Rules{"states.mfma-vector"});
}

TEST(StrictDistance, OneAccumulatorUnderTwoOpcodesNeedsTheOverlapDistance) {
  const auto rules = [](const char* second, unsigned nop) {
    return rulesOf(fmt::format(fmt::runtime(R"(
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  s_nop 1
  v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[4:5], v[8:11]
  s_nop {}
  {} v[8:11], v[4:5], v[4:5], v[8:11]
  s_nop 10
  v_mov_b32_e32 v1, v8
)"),
                               nop, second));
  };
  EXPECT_EQ(rules("v_mfma_f32_16x16x16_f16", 0), Rules{});
  EXPECT_EQ(rules("v_mfma_f32_16x16x16_bf16", 3), Rules{"states.mfma-srcc"});
  EXPECT_EQ(rules("v_mfma_f32_16x16x16_bf16", 4), Rules{});
}

TEST(StrictDistance, TheDistanceIsThatOfThePathTaken) {
  // Around the back edge v_cmp is 1 instruction before the reader of VCC as a constant.
  const Rules rules = rulesOf(R"(
  s_mov_b32 s8, 2
  s_mov_b64 vcc, 0
  v_mov_b32_e32 v1, 0
loop:
  v_mov_b32_e32 v1, vcc_lo
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  v_cmp_eq_u32_e32 vcc, 1, v0
  s_cbranch_scc1 loop
)");
  EXPECT_EQ(rules, Rules{"states.valu-sgpr-valu"});
}

TEST(StrictDescriptor, LdsBeyondTheAllocationIsNamed) {
  // 600 bytes are declared; the hardware allocates 1024.
  EXPECT_EQ(rulesOf("  ds_write_b32 v2, v0 offset:768\n  v_mov_b32_e32 v1, v0\n", 600), Rules{});
  const auto out = runStrict(strictKernel("  ds_write_b32 v2, v0 offset:772\n  v_mov_b32_e32 v1, v0\n", 600),
                             {.buffers = {filled(64), iota(64)}});
  ASSERT_EQ(out.rules(), Rules{"lds_bounds"});
  EXPECT_EQ(out.finding("lds_bounds").lane, 63u);
}

TEST(StrictDescriptor, ARegisterUnderTwoNamesIsNamed) {
  KernelText text = strictKernel(R"(
  v_mov_b32_e32 v12, v0
  v_accvgpr_read_b32 v1, a4
)");
  text.accumOffset = 8;
  text.vgprs = 40;
  text.body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0
  v_mov_b32_e32 v12, v0
  v_accvgpr_read_b32 v1, a4
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v1, s[4:5]
)";
  const auto out = runStrict(text, {.buffers = {filled(64)}});
  EXPECT_EQ(out.rules(), Rules{"accum_alias"});
  EXPECT_EQ(out.out, iota(64));
}

TEST(StrictDescriptor, SgprsBeyondTheAllocationAreNamed) {
  KernelText text = strictKernel("  s_mov_b32 s90, 0\n  v_mov_b32_e32 v1, v0\n");
  text.sgprs = 40;
  EXPECT_EQ(runStrict(text, {.buffers = {filled(64), filled(64)}}).rules(), Rules{"sgpr_allocation"});
}

TEST(StrictUninitialised, AddressBranchAndStore) {
  EXPECT_EQ(rulesOf("  v_and_b32_e32 v5, 60, v5\n  global_load_dword v1, v5, s[6:7]\n  s_waitcnt vmcnt(0)\n"),
            Rules{"uninitialised_address"});
  EXPECT_EQ(rulesOf("  v_mov_b32_e32 v1, 0\n s_cmp_eq_u32 s40, 0\n s_cbranch_scc1 there\nthere:\n"),
            Rules{"uninitialised_branch"});
  EXPECT_EQ(rulesOf("  v_add_u32_e32 v1, v0, v5\n"), Rules{"uninitialised_store"});
  EXPECT_EQ(rulesOf("  v_add_u32_e32 v1, v0, v0\n"), Rules{});
  EXPECT_EQ(rulesOf("  v_mov_b32_e32 v1, s40\n"), Rules{"uninitialised_store"});
  EXPECT_EQ(rulesOf("  ds_read_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n", 256), Rules{"uninitialised_store"});
}

TEST(StrictUninitialised, TheMessageNamesTheOrigin) {
  const auto out = runStrict(strictKernel("  v_add_u32_e32 v6, v0, v5\n  v_mul_f32_e32 v1, v6, v0\n"),
                             {.buffers = {filled(64), filled(64)}});
  EXPECT_NE(out.finding("uninitialised_store").message.find("depends on v5, which nothing has written"),
            std::string::npos)
      << out.finding("uninitialised_store").message;
}

TEST(StrictUninitialised, OnlyLanesAndBitsThatCountCount) {
  // Only lane 3 of v1 stays unwritten.
  const auto lane = runStrict(strictKernel(R"(
  s_mov_b64 exec, -9
  v_mov_b32_e32 v1, 0
  s_mov_b64 exec, -1
)"),
                              {.buffers = {filled(64), filled(64)}});
  EXPECT_EQ(lane.rules(), Rules{"uninitialised_store"});
  EXPECT_EQ(lane.finding("uninitialised_store").lane, 3u);
  // The unwritten register is not selected, or masked away bit by bit.
  EXPECT_EQ(rulesOf("  s_mov_b64 vcc, 0\n  s_nop 4\n  v_cndmask_b32_e32 v1, v0, v9, vcc\n"), Rules{});
  EXPECT_EQ(rulesOf("  s_and_b32 s8, s40, 0\n  v_mov_b32_e32 v1, s8\n"), Rules{});
  EXPECT_EQ(rulesOf("  s_or_b32 s8, s40, -1\n  v_mov_b32_e32 v1, s8\n"), Rules{});
  EXPECT_EQ(rulesOf("  s_and_b32 s8, s40, 1\n  v_mov_b32_e32 v1, s8\n"), Rules{"uninitialised_store"});
  // A lane that is read by another.
  const std::string shift = "  s_nop 1\n  v_mov_b32_dpp v1, v9 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\n";
  EXPECT_EQ(rulesOf("  v_mov_b32_e32 v9, v0\n" + shift), Rules{});
  EXPECT_EQ(rulesOf("  s_mov_b64 exec, 2\n  v_mov_b32_e32 v9, v0\n  s_mov_b64 exec, -1\n" + shift),
            Rules{"uninitialised_store"});
  EXPECT_EQ(rulesOf("  v_readlane_b32 s8, v9, 3\n  s_nop 3\n  v_mov_b32_e32 v1, s8\n"), Rules{"uninitialised_store"});
  // Halves of a register are written one by one.
  EXPECT_EQ(rulesOf(R"(
  global_load_short_d16 v1, v2, s[6:7]
  global_load_short_d16_hi v1, v2, s[6:7]
  s_waitcnt vmcnt(0)
)"),
            Rules{});
  EXPECT_EQ(rulesOf("  global_load_short_d16 v1, v2, s[6:7]\n  s_waitcnt vmcnt(0)\n"), Rules{"uninitialised_store"});
}

TEST(StrictUninitialised, LdsCarriesTheMarks) {
  const std::string body = R"(
  ds_write_b32 v2, {}
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v1, v2
  s_waitcnt lgkmcnt(0)
)";
  EXPECT_EQ(rulesOf(fmt::format(fmt::runtime(body), "v0"), 256), Rules{});
  EXPECT_EQ(rulesOf(fmt::format(fmt::runtime(body), "v9"), 256), Rules{"uninitialised_store"});
}

} // namespace
} // namespace asmevo::emulator::test
