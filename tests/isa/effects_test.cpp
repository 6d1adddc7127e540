// Register effects, stated by hand from the CDNA3 ISA.
#include "isa_support.h"

#include <gtest/gtest.h>

namespace asmevo::isa::test {
namespace {

constexpr unsigned accum = 128;

struct Effect {
  const char* text;
  const char* reads;
  const char* writes;
  const char* kills;
};

constexpr Effect effects[] = {
    {"v_add_f32_e32 v1, v2, v3", "exec_lo exec_hi mode v[2:3]", "v1", ""},
    {"v_add_u32_e32 v1, s4, v3", "s4 exec_lo exec_hi v3", "v1", ""},
    {"v_fmac_f32_e32 v1, v2, v3", "exec_lo exec_hi mode v[1:3]", "v1", ""},
    {"v_cmp_lt_f32_e32 vcc, v1, v2", "exec_lo exec_hi mode v[1:2]", "vcc_lo vcc_hi", "vcc_lo vcc_hi"},
    {"v_cmpx_lt_u32_e64 s[2:3], v1, v2", "exec_lo exec_hi v[1:2]", "s[2:3] exec_lo exec_hi", "s[2:3] exec_lo exec_hi"},
    {"v_cndmask_b32_e32 v1, v2, v3, vcc", "vcc_lo vcc_hi exec_lo exec_hi v[2:3]", "v1", ""},
    {"v_cndmask_b32_e64 v1, v2, v3, s[4:5]", "s[4:5] exec_lo exec_hi v[2:3]", "v1", ""},
    {"v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", "vcc_lo vcc_hi exec_lo exec_hi v[2:3]", "vcc_lo vcc_hi v1",
     "vcc_lo vcc_hi"},
    {"v_div_fmas_f32 v1, v2, v3, v4", "vcc_lo vcc_hi exec_lo exec_hi mode v[2:4]", "v1", ""},
    {"v_readfirstlane_b32 s0, v1", "exec_lo exec_hi v1", "s0", "s0"},
    {"v_readlane_b32 s0, v1, s2", "s2 v1", "s0", "s0"},
    {"v_writelane_b32 v1, s2, 5", "s2 v1", "v1", ""},
    {"v_swap_b32 v1, v2", "exec_lo exec_hi v[1:2]", "v[1:2]", ""},
    {"v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf", "exec_lo exec_hi v[1:2]", "v1", ""},
    {"v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
     "exec_lo exec_hi v[1:3]", "v1", ""},
    {"v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
     "exec_lo exec_hi v[2:3]", "v1", ""},
    {"v_cvt_pk_fp8_f32 v1, v2, v3", "exec_lo exec_hi mode v[1:3]", "v1", ""},
    {"v_pk_fmac_f16 v1, v2, v3", "exec_lo exec_hi mode v[1:3]", "v1", ""},
    {"v_cvt_pkaccum_u8_f32 v1, v2, v3", "exec_lo exec_hi mode v[1:3]", "v1", ""},
    {"v_madak_f16 v1, v2, v3, 0x3c00", "exec_lo exec_hi mode v[1:3]", "v1", ""},
    {"v_cvt_flr_i32_f32_e32 v1, v2", "exec_lo exec_hi mode v2", "v1", ""},
    {"v_fma_mixlo_f16 v1, v2, v3, v4", "exec_lo exec_hi mode v[1:4]", "v1", ""},
    {"v_mov_b32_e32 v1, src_vccz", "vcc_lo vcc_hi exec_lo exec_hi", "v1", ""},
    {"v_mov_b32_e32 v1, src_scc", "exec_lo exec_hi scc", "v1", ""},
    {"v_accvgpr_read_b32 v1, a2", "exec_lo exec_hi v130", "v1", ""},
    {"v_accvgpr_write_b32 a1, 5", "exec_lo exec_hi", "v129", ""},
    {"v_mfma_i32_16x16x32_i8 a[0:3], v[4:5], v[6:7], a[0:3]", "exec_lo exec_hi v[4:7] v[128:131]", "v[128:131]",
     "v[128:131]"},
    {"v_smfmac_i32_16x16x64_i8 v[0:3], v[4:5], v[6:9], v10", "exec_lo exec_hi v[0:10]", "v[0:3]", "v[0:3]"},
    {"buffer_load_dword v1, v2, s[4:7], s8 offen", "s[4:8] exec_lo exec_hi v2", "v1", ""},
    {"buffer_load_dwordx4 a[0:3], v2, s[4:7], 0 idxen", "s[4:7] exec_lo exec_hi v2", "v[128:131]", ""},
    {"buffer_load_dword v2, s[4:7], 0 offen lds", "s[4:7] m0 exec_lo exec_hi v2", "", ""},
    {"global_load_lds_dword v[2:3], off", "m0 exec_lo exec_hi v[2:3]", "", ""},
    {"global_load_short_d16_hi v1, v[2:3], off", "exec_lo exec_hi v[1:3]", "v1", ""},
    {"global_atomic_add v1, v[2:3], v4, off sc0", "exec_lo exec_hi v[2:4]", "v1", ""},
    {"global_atomic_add v[2:3], v4, off", "exec_lo exec_hi v[2:4]", "", ""},
    {"buffer_atomic_add v1, v2, s[4:7], 0 offen sc0", "s[4:7] exec_lo exec_hi v[1:2]", "v1", ""},
    {"flat_load_dword v1, v[2:3]", "flat_scratch_lo flat_scratch_hi exec_lo exec_hi v[2:3]", "v1", ""},
    {"scratch_load_dword v1, off, s2", "s2 flat_scratch_lo flat_scratch_hi exec_lo exec_hi", "v1", ""},
    {"ds_read_b32 v1, v2", "exec_lo exec_hi v2", "v1", ""}, // GFX9 needs no M0
    {"ds_read_addtid_b32 v1", "m0 exec_lo exec_hi", "v1", ""},
    {"ds_write2_b32 v1, v2, v3 offset1:1", "exec_lo exec_hi v[1:3]", "", ""},
    {"s_load_dwordx4 s[0:3], s[4:5], s6", "s[4:6]", "s[0:3]", "s[0:3]"},
    {"s_add_u32 s0, s1, s2", "s[1:2]", "s0 scc", "s0 scc"},
    {"s_addc_u32 s0, s1, s2", "s[1:2] scc", "s0 scc", "s0 scc"},
    {"s_cselect_b64 s[0:1], s[2:3], 0", "s[2:3] scc", "s[0:1]", "s[0:1]"},
    {"s_cmov_b32 s0, s1", "s[0:1] scc", "s0", "s0"},
    {"s_bitset1_b32 s0, s1", "s[0:1]", "s0", "s0"},
    {"s_and_saveexec_b64 s[0:1], vcc", "vcc_lo vcc_hi exec_lo exec_hi", "s[0:1] exec_lo exec_hi scc",
     "s[0:1] exec_lo exec_hi scc"},
    {"s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0", "s0 mode", "mode", "mode"},
    {"s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", "s0 hwreg", "hwreg", ""},
    {"s_getreg_b32 s0, hwreg(HW_REG_HW_ID)", "hwreg", "s0", "s0"},
    {"s_set_gpr_idx_on s0, gpr_idx(SRC0)", "s0 m0 mode", "m0 mode", "m0 mode"},
    {"s_cbranch_vccz 5", "vcc_lo vcc_hi", "", ""},
    {"s_cbranch_execz 5", "exec_lo exec_hi", "", ""},
    {"s_cbranch_scc1 5", "scc", "", ""},
    {"s_waitcnt vmcnt(0)", "", "", ""},
    {"s_nop 3", "", "", ""},
};

TEST(Effects, ByHand) {
  for (const Effect& effect : effects) {
    const InstRef inst = instruction(gfx942(), effect.text);
    EXPECT_EQ(units(inst->reads(accum)), effect.reads) << effect.text;
    EXPECT_EQ(units(inst->writes(accum)), effect.writes) << effect.text;
    EXPECT_EQ(units(inst->kills(accum)), effect.kills) << effect.text;
  }
}

TEST(Effects, IndirectScalarsTouchEverything) {
  const InstRef source = instruction(gfx942(), "s_movrels_b32 s0, s1");
  EXPECT_TRUE(source->reads(accum).test(77));
  EXPECT_TRUE(source->reads(accum).test(sreg::m0));
  const InstRef destination = instruction(gfx942(), "s_movreld_b32 s0, s1");
  EXPECT_TRUE(destination->writes(accum).test(77));
  EXPECT_FALSE(destination->kills(accum).any());
}

TEST(Effects, AccumulatorsFollowTheOffset) {
  const InstRef inst = instruction(gfx942(), "v_accvgpr_read_b32 v1, a255");
  EXPECT_TRUE(inst->reads(4).test(vgprUnit(259)));
  EXPECT_TRUE(inst->reads(256).test(vgprUnit(511)));
  EXPECT_FALSE(inst->reads(400).test(vgprUnit(511))); // beyond the file: nothing, not something else
}

/// Floating-point VALU operations read the rounding and denormal modes; integer ones do not.
TEST(Effects, ModeIsReadByFloatingPoint) {
  for (const char* text : {"v_mul_f32_e32 v1, v2, v3", "v_cvt_i32_f32_e32 v1, v2", "v_exp_f32_e32 v1, v2",
                           "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
                           "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_cvt_pkrtz_f16_f32 v1, v2, v3"})
    EXPECT_TRUE(instruction(gfx942(), text)->reads(accum).test(sreg::mode)) << text;
  for (const char* text : {"v_add_u32_e32 v1, v2, v3", "v_mov_b32_e32 v1, v2", "v_perm_b32 v1, v2, v3, v4",
                           "v_lshl_add_u64 v[0:1], v[2:3], 3, v[4:5]"})
    EXPECT_FALSE(instruction(gfx942(), text)->reads(accum).test(sreg::mode)) << text;
}

TEST(Registers, Names) {
  EXPECT_EQ(regUnitName(0), "s0");
  EXPECT_EQ(regUnitName(101), "s101");
  EXPECT_EQ(regUnitName(sreg::flatScratchLo), "flat_scratch_lo");
  EXPECT_EQ(regUnitName(sreg::vccHi), "vcc_hi");
  EXPECT_EQ(regUnitName(sreg::ttmp0 + 3), "ttmp3");
  EXPECT_EQ(regUnitName(sreg::m0), "m0");
  EXPECT_EQ(regUnitName(sreg::scc), "scc");
  EXPECT_EQ(regUnitName(vgprUnit(511)), "v511");
}

} // namespace
} // namespace asmevo::isa::test
