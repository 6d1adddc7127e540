#include "analysis_support.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/hazards.h"
#include "program_support.h"

#include <gtest/gtest.h>

namespace asmevo::program::test {
namespace {

constexpr unsigned accum = 128;

struct Case {
  const char* producer;
  const char* consumer;
  unsigned states;
};

// CDNA3 ISA section 4.5, table 11.
constexpr Case table11[] = {
    {"s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", "s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS)", 2},
    {"s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", "s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", 2},
    {"s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", "s_getreg_b32 s1, hwreg(HW_REG_HW_ID)", 0},
    {"s_setvskip s0, s1", "s_getreg_b32 s1, hwreg(HW_REG_MODE)", 2},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1", "v_mov_b32_e32 v1, v2", 2},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1", "v_mov_b32_e32 v1, v2", 0},
    {"v_cmp_lt_f32_e32 vcc, v1, v2", "v_mov_b32_e32 v3, src_vccz", 5},
    {"v_readlane_b32 s4, v1, s2", "v_readlane_b32 s5, v1, s4", 4},
    {"v_cmp_lt_f32_e64 s[4:5], v1, v2", "v_writelane_b32 v1, 5, s4", 4},
    {"v_cmp_lt_f32_e32 vcc, v1, v2", "v_div_fmas_f32 v3, v4, v5, v6", 4},
    {"buffer_store_dwordx4 v[4:7], v1, s[4:7], 0 offen", "v_mov_b32_e32 v7, 0", 2},
    {"buffer_store_dwordx4 v[4:7], v1, s[4:7], s8 offen", "v_mov_b32_e32 v7, 0", 1},
    {"buffer_store_dwordx4 v[4:7], v1, s[4:7], 0 offen", "v_mov_b32_e32 v8, 0", 0},
    {"buffer_store_dwordx2 v[4:5], v1, s[4:7], 0 offen", "v_mov_b32_e32 v4, 0", 0},
    {"global_store_dwordx3 v[8:9], v[4:6], off", "v_mov_b32_e32 v6, 0", 2},
    {"global_store_dwordx3 v[8:9], v[4:6], off", "v_mov_b32_e32 v8, 0", 0},
    {"global_store_dwordx4 v[8:9], v[4:7], off", "ds_read_b32 v4, v1", 1},
    {"flat_atomic_cmpswap_x2 v[0:1], v[2:3], v[4:7] sc0", "v_mov_b32_e32 v6, 0", 2},
    {"v_readfirstlane_b32 s4, v1", "buffer_load_dword v1, off, s[4:7], 0", 5},
    {"v_readfirstlane_b32 s9, v1", "buffer_load_dword v1, off, s[4:7], 0", 0},
    {"v_readfirstlane_b32 s9, v1", "buffer_load_dword v1, off, s[4:7], s9", 5},
    {"v_cmp_lt_f32_e32 vcc, v1, v2", "global_load_dword v1, v2, vcc", 5},
    {"s_mov_b32 m0, s2", "s_sendmsg sendmsg(MSG_INTERRUPT)", 1},
    {"s_mov_b32 m0, s2", "ds_read_addtid_b32 v1", 1},
    {"s_mov_b32 m0, s2", "ds_read_b32 v1, v2", 0},
    {"s_mov_b32 m0, s2", "global_load_lds_dword v[2:3], off", 1},
    {"s_mov_b32 m0, s2", "s_movrels_b32 s1, s2", 1},
    {"v_mov_b32_e32 v2, v1", "v_mov_b32_dpp v3, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", 2},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_mov_b32_dpp v3, v4 row_shl:1 row_mask:0xf bank_mask:0xf", 5},
    {"v_readfirstlane_b32 s4, v1", "v_mov_b32_e32 v2, s4", 2},
    {"v_readfirstlane_b32 s4, v1", "s_mov_b32 s5, s4", 0},
    // Masks per lane: 0 in the manual's row 17, 2 in LLVM (next test).
    {"v_cmp_lt_f32_e32 vcc, v1, v2", "v_cndmask_b32_e32 v3, v4, v5, vcc", 2},
    {"v_add_co_u32_e32 v1, vcc, v2, v3", "v_addc_co_u32_e32 v4, vcc, v5, v6, vcc", 2},
    {"v_cmp_lt_f32_e64 s[4:5], v1, v2", "v_mov_b32_e32 v3, s5", 2},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_mov_b32_e32 v3, exec_lo", 2},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_readfirstlane_b32 s4, v5", 4},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_mov_b32_e32 v3, v4", 0},
    {"v_mov_b32_e32 v1, v2", "v_readlane_b32 s4, v1, s2", 1},
    {"v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
     "v_mov_b32_e32 v2, v1", 1},
    {"v_fma_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v_mov_b32_e32 v2, v1", 1},
    {"v_fma_f16 v1, v2, v3, v4 op_sel:[1,0,0,0]", "v_mov_b32_e32 v2, v1", 0},
    {"v_rcp_f32_e32 v1, v2", "v_mul_f32_e32 v3, v1, v1", 1},
    {"v_rcp_f32_e32 v1, v2", "v_exp_f32_e32 v3, v1", 0},
    {"v_mov_b32_e32 v1, v2", "v_mov_b32_e32 v3, v1", 0},
};

// CDNA3 ISA section 7.5, table 37; passes 2 (4x4), 4 (16x16), 8 (32x32), 16 (32x32 of two blocks).
constexpr Case table37[] = {
    {"v_mov_b32_e32 v2, v1", "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0", 2},
    {"v_accvgpr_write_b32 a3, v1", "v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[4:5], a[0:3]", 2},
    {"v_dot4_i32_i8 v2, v1, v1, v1", "v_dot4_i32_i8 v2, v1, v1, v2", 0},
    {"v_dot4_i32_i8 v2, v1, v1, v1", "v_dot4_i32_i8 v3, v2, v1, v1", 3},
    {"v_dot4_i32_i8 v2, v1, v1, v1", "v_mov_b32_e32 v3, v2", 3},
    {"v_dot4_i32_i8 v2, v1, v1, v1", "v_mov_b32_e32 v2, v3", 3},
    {"v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
     "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]", 2},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
     0},
    {"v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
     "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[4:5], v[6:7], v[2:5]", 3},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
     "v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], v[2:5]", 5},
    {"v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[0:15]",
     "v_mfma_f32_32x32x8_f16 v[32:47], v[20:21], v[22:23], v[2:17]", 9},
    {"v_mfma_f32_32x32x4_2b_f16 v[0:31], v[64:65], v[66:67], v[0:31]",
     "v_mfma_f32_32x32x4_2b_f16 v[68:99], v[64:65], v[66:67], v[2:33]", 17},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", 5},
    {"v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0", "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[0:1], v[6:7], 0", 5},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[6:7], 0", 7},
    {"v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], 0", "v_mfma_f32_32x32x8_f16 v[32:47], v[0:1], v[22:23], 0",
     11},
    {"v_mfma_f32_32x32x4_2b_f16 v[0:31], v[64:65], v[66:67], 0",
     "v_mfma_f32_32x32x4_2b_f16 v[32:63], v[64:65], v[0:1], 0", 19},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_smfmac_f32_16x16x32_f16 v[8:11], v[4:5], v[12:15], v0", 7},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_mov_b32_e32 v9, v3", 7},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_mov_b32_e32 v3, v9", 7},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "ds_write_b32 v9, v0", 7},
    {"v_mfma_f32_32x32x4_2b_f16 v[0:31], v[64:65], v[66:67], 0", "v_mov_b32_e32 v65, v3", 19},
    {"v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], 0", "v_accvgpr_read_b32 v1, a0", 7},
    {"v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, v[0:3]", "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, v[0:3]", 0},
    {"v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0", "v_mfma_f32_16x16x4_f32 v[8:11], v4, v5, v[2:5]", 8},
    {"v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0", "v_mov_b32_e32 v9, v3", 10},
    {"v_mfma_f32_32x32x2_f32 v[0:15], v20, v21, 0", "v_mov_b32_e32 v20, v3", 18},
    {"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
     "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]", 0},
    {"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0", "v_mfma_f64_16x16x4_f64 v[12:19], v[0:1], v[10:11], 0", 11},
    {"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0", "v_mov_b32_e32 v9, v7", 11},
    {"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0", "global_store_dword v[12:13], v7, off", 18},
    {"v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], v[0:1]", "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], v[0:1]",
     4},
    {"v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], 0", "v_mov_b32_e32 v9, v1", 6},
    {"v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], 0", "ds_write_b32 v9, v0", 9},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0", 4},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[8:11]", "v_mov_b32_e32 v8, 0", 3},
    {"v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[32:47]", "v_mov_b32_e32 v47, 0", 7},
    {"v_mfma_f32_32x32x4_2b_f16 v[0:31], v[64:65], v[66:67], v[32:63]", "v_mov_b32_e32 v40, 0", 15},
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[8:11]", "v_mov_b32_e32 v4, 0", 0},
};

// LLVM GCNHazardRecognizer, gfx950.
constexpr Case gfx950[] = {
    {"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], v[2:5]", 6},
    {"v_mfma_f32_32x32x4_2b_f16 v[32:63], v[2:3], v[4:5], v[32:63]", "v_mov_b32_e32 v1, v32", 20},
    {"v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], 0", "v_mov_b32_e32 v1, v3", 12},
    {"v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0", "v_mov_b32_e32 v1, v3", 8},
    {"v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0", "v_mov_b32_e32 v1, v3", 5},
    {"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0", "v_mov_b32_e32 v9, v7", 19},
    {"v_mov_b32_e32 v1, v2", "v_permlane16_swap_b32 v1, v3", 2},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_permlane32_swap_b32 v5, v3", 4},
};

void check(const Case& c, const std::string& processor, HazardTarget target) {
  const Listing l = listing(std::string(c.producer) + "\n" + c.consumer + "\ns_endpgm\n", processor);
  ASSERT_GE(l.program.instructionCount(), 3u) << c.producer;
  EXPECT_EQ(requiredHazard(l.at(0), l.at(1), accum, target).states, c.states) << c.producer << " -> " << c.consumer;
  if (target == HazardTarget::gfx940) {
    EXPECT_GE(requiredWaitStates(l.at(0), l.at(1), accum), c.states);
  }
}

TEST(Hazards, Table11) {
  for (const Case& c : table11)
    check(c, "gfx942", HazardTarget::gfx940);
}
TEST(Hazards, Table37) {
  for (const Case& c : table37)
    check(c, "gfx942", HazardTarget::gfx940);
}
TEST(Hazards, Gfx950) {
  for (const Case& c : gfx950)
    check(c, "gfx950", HazardTarget::gfx950);
}

TEST(Hazards, LlvmOnlyRulesAreMarked) {
  const Listing l = listing(R"(
    s_mov_b32 m0, s2
    buffer_load_dword v1, s[4:7], 0 offen lds
    s_endpgm
  )");
  const Hazard hazard = requiredHazard(l.at(0), l.at(1), accum, HazardTarget::gfx940);
  EXPECT_EQ(hazard.states, 1u);
  EXPECT_TRUE(hazard.llvmOnly);
  EXPECT_TRUE(unmetWaitStates(l.program, l.kernel(), accum, HazardTarget::gfx940).empty());
  EXPECT_EQ(unmetWaitStates(l.program, l.kernel(), accum, HazardTarget::gfx940, HazardScope::withLlvm).size(), 1u);
}

// clang puts s_nop 1 between a compare and the v_cndmask that selects by it; the manual does not ask for it.
TEST(Hazards, LanesMasksAreHeldToLlvmsDistanceInComparisonsOnly) {
  const Listing l = listing(R"(
    v_cmp_lt_f32_e32 vcc, v1, v2
    v_cndmask_b32_e32 v3, v4, v5, vcc
    s_endpgm
  )");
  EXPECT_TRUE(requiredHazard(l.at(0), l.at(1), accum, HazardTarget::gfx940).llvmOnly);
  EXPECT_TRUE(unmetWaitStates(l.program, l.kernel(), accum, HazardTarget::gfx940).empty());
  const auto findings = unmetWaitStates(l.program, l.kernel(), accum, HazardTarget::gfx940, HazardScope::withLlvm);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].needed, 2u);
  EXPECT_EQ(findings[0].present, 0u);
}

TEST(Hazards, Passes) {
  const auto passes = [](const std::string& text, HazardTarget target, const std::string& processor) {
    const Listing l = listing(text + "\n", processor);
    return mfmaPasses(l.at(0), target);
  };
  // Cycles of the AMD matrix instruction calculator divided by 4.
  EXPECT_EQ(passes("v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[16:17], v[18:19], 0", HazardTarget::gfx940, "gfx942"), 8u);
  EXPECT_EQ(passes("v_mfma_i32_16x16x32_i8 v[0:3], v[16:17], v[18:19], 0", HazardTarget::gfx940, "gfx942"), 4u);
  EXPECT_EQ(passes("v_mfma_f32_16x16x8_xf32 v[0:3], v[16:17], v[18:19], 0", HazardTarget::gfx940, "gfx942"), 4u);
  EXPECT_EQ(passes("v_mfma_f32_16x16x1_4b_f32 v[0:15], v16, v18, 0", HazardTarget::gfx940, "gfx942"), 8u);
  EXPECT_EQ(passes("v_smfmac_f32_32x32x16_f16 v[0:15], v[16:17], v[20:23], v24", HazardTarget::gfx940, "gfx942"), 8u);
  EXPECT_EQ(passes("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0", HazardTarget::gfx940, "gfx942"), 8u);
  EXPECT_EQ(passes("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0", HazardTarget::gfx950, "gfx950"), 16u);
  EXPECT_EQ(
      passes("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], 0 cbsz:4 blgp:4", HazardTarget::gfx950, "gfx950"),
      4u);
  EXPECT_EQ(passes("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], 0", HazardTarget::gfx950, "gfx950"), 8u);
  EXPECT_EQ(passes("v_mov_b32_e32 v0, v1", HazardTarget::gfx940, "gfx942"), 0u);
}

/// "2 needs 7 has 1" by instruction number.
std::vector<std::string> unmet(const std::string& text, HazardTarget target = HazardTarget::gfx940) {
  const Listing l = listing(text);
  std::vector<std::string> result;
  for (const auto& finding : unmetWaitStates(l.program, l.kernel(), accum, target))
    result.push_back(fmt::format("{} {} needs {} has {}", l.numberOf(finding.consumer.block, finding.consumer.index),
                                 hazardRuleName(finding.rule), finding.needed, finding.present));
  return result;
}
using Lines = std::vector<std::string>;

TEST(UnmetWaitStates, NopsCountTheirValuePlusOne) {
  EXPECT_EQ(unmet("v_readfirstlane_b32 s4, v1\ns_nop 3\nbuffer_load_dword v1, off, s[4:7], 0\ns_endpgm\n"),
            (Lines{"2 valu-sgpr-vmem needs 5 has 4"}));
  EXPECT_EQ(unmet("v_readfirstlane_b32 s4, v1\ns_nop 4\nbuffer_load_dword v1, off, s[4:7], 0\ns_endpgm\n"), Lines{});
  EXPECT_EQ(unmet("v_readfirstlane_b32 s4, v1\ns_nop 2\ns_waitcnt vmcnt(0)\ns_mov_b32 s9, 0\n"
                  "buffer_load_dword v1, off, s[4:7], 0\ns_endpgm\n"),
            Lines{});
}

TEST(UnmetWaitStates, ShortestPathDecides) {
  EXPECT_EQ(unmet(R"(
    v_readfirstlane_b32 s4, v1
    s_cbranch_scc0 @join
    s_nop 7
    join:
    buffer_load_dword v1, off, s[4:7], 0
    s_endpgm
  )"),
            (Lines{"3 valu-sgpr-vmem needs 5 has 1"}));
}

TEST(UnmetWaitStates, AcrossALoopEdge) {
  EXPECT_EQ(unmet(R"(
    loop:
    v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0
    s_nop 15
    v_mov_b32_e32 v4, v0
    s_cbranch_scc1 @loop
    s_endpgm
  )"),
            (Lines{"0 valu-mfma needs 2 has 1"}));
}

TEST(UnmetWaitStates, MatrixPipeBetweenCounts) {
  // The second of three MFMAs cannot issue before 4 passes are over, so 4 + 3 states separate the first from the move.
  EXPECT_EQ(unmet(R"(
    v_mfma_f32_16x16x16_f16 v[0:3], v[20:21], v[22:23], 0
    v_mfma_f32_16x16x16_f16 v[4:7], v[20:21], v[22:23], 0
    s_nop 2
    v_mov_b32_e32 v9, v0
    s_endpgm
  )"),
            Lines{});
  EXPECT_EQ(unmet(R"(
    v_mfma_f32_16x16x16_f16 v[0:3], v[20:21], v[22:23], 0
    v_mfma_f32_16x16x16_f16 v[4:7], v[20:21], v[22:23], 0
    s_nop 1
    v_mov_b32_e32 v9, v0
    s_endpgm
  )"),
            (Lines{"3 mfma-vector needs 7 has 6"}));
}

/// LLVM places the wait states of our own kernels; ours must not ask for more.
TEST(UnmetWaitStates, CompiledKernelsAreClean) {
  const auto kernels = ownKernels();
  ASSERT_GE(kernels.size(), 10u);
  for (const std::string& path : kernels) {
    const auto object = object::CodeObject::load(path);
    ASSERT_TRUE(object) << path;
    const auto codec = *isa::Codec::create(object->target());
    auto program = *Program::recover(*object, *codec);
    completeInstructions(program, *codec);
    const unsigned accumOffset = object->kernels().front().descriptor.accumOffset(object->target());
    for (const Function& function : program.functions) {
      EXPECT_TRUE(unmetWaitStates(program, function, accumOffset, HazardTarget::gfx940).empty()) << path;
      EXPECT_TRUE(uncoveredUses(program, function, accumOffset).empty()) << path;
    }
  }
}

} // namespace
} // namespace asmevo::program::test
