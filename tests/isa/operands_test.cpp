// Operands, modifiers and classes of printed instructions, stated by hand from the CDNA3 ISA.
#include "isa_support.h"

#include <gtest/gtest.h>

namespace asmevo::isa::test {
namespace {

struct Form {
  const char* text; ///< as LLVM prints it
  const char* base;
  InstClass cls;
  const char* operands;
};

constexpr Form forms[] = {
    {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[0,1,1] neg_lo:[1,0,0]", "v_pk_fma_f32", InstClass::valu,
     "=v[0:1] v[2:3] v[4:5] v[6:7]"},
    {"v_add_f32_sdwa v1, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_0", "v_add_f32",
     InstClass::valu, "=v1 v2 v3"},
    {"v_add_u32_sdwa v1, sext(v2), v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_0",
     "v_add_u32", InstClass::valu, "=v1 sext(v2) v3"},
    {"v_mov_b32_dpp v1, v2 row_newbcast:3 row_mask:0xf bank_mask:0x5 bound_ctrl:1", "v_mov_b32", InstClass::valu,
     "=v1 v2"},
    {"v_fmac_f32_dpp v1, -v2, |v3| row_ror:3 row_mask:0xf bank_mask:0xf", "v_fmac_f32", InstClass::valu,
     "=v1 -v2 |v3|"},
    {"v_cmp_eq_u32_sdwa s[0:1], v1, v2 src0_sel:BYTE_0 src1_sel:WORD_1", "v_cmp_eq_u32", InstClass::valu,
     "=s[0:1] v1 v2"},
    {"v_cmp_lt_f32_e32 vcc, v1, v2", "v_cmp_lt_f32", InstClass::valu, "=s[106:107] v1 v2"},
    {"v_cmpx_lt_f32_e64 s[2:3], v1, v2", "v_cmpx_lt_f32", InstClass::valu, "=s[2:3] v1 v2"},
    {"v_add_co_u32_e32 v1, vcc, v2, v3", "v_add_co_u32", InstClass::valu, "=v1 =s[106:107] v2 v3"},
    {"v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", "v_addc_co_u32", InstClass::valu, "=v1 =s[106:107] v2 v3 s[106:107]"},
    {"v_addc_co_u32_e64 v1, s[0:1], v2, v3, s[4:5]", "v_addc_co_u32", InstClass::valu, "=v1 =s[0:1] v2 v3 s[4:5]"},
    {"v_cndmask_b32_e32 v1, v2, v3, vcc", "v_cndmask_b32", InstClass::valu, "=v1 v2 v3 s[106:107]"},
    {"v_div_scale_f32 v1, vcc, v2, v3, v4", "v_div_scale_f32", InstClass::valu, "=v1 =s[106:107] v2 v3 v4"},
    {"v_mad_u64_u32 v[0:1], s[2:3], v4, v5, v[6:7]", "v_mad_u64_u32", InstClass::valu, "=v[0:1] =s[2:3] v4 v5 v[6:7]"},
    {"v_swap_b32 v1, v2", "v_swap_b32", InstClass::valu, "=v1 =v2"},
    {"v_add_f32_e64 v1, -|v2|, -1.0 clamp mul:2", "v_add_f32", InstClass::valu, "=v1 -|v2| -1f"},
    {"v_add_f32_e64 v1, s2, |s2| div:2", "v_add_f32", InstClass::valu, "=v1 s2 |s2|"},
    {"v_mul_f32_e32 v1, 0x40490fdb, v2", "v_mul_f32", InstClass::valu, "=v1 1078530011 v2"},
    {"v_mul_f32_e32 v1, 0.15915494, v2", "v_mul_f32", InstClass::valu, "=v1 0.15915494f v2"},
    {"v_add_u32_e32 v1, -16, v2", "v_add_u32", InstClass::valu, "=v1 -16 v2"},
    {"v_fmamk_f32 v1, v2, 0x40490fdb, v3", "v_fmamk_f32", InstClass::valu, "=v1 v2 1078530011 v3"},
    {"v_add_f64 v[0:1], -v[2:3], |v[4:5]|", "v_add_f64", InstClass::valu, "=v[0:1] -v[2:3] |v[4:5]|"},
    {"v_fma_mix_f32 v1, -v2, |v3|, v4 op_sel:[0,1,0] op_sel_hi:[1,1,0]", "v_fma_mix_f32", InstClass::valu,
     "=v1 -v2 |v3| v4"},
    {"v_fma_f16 v1, v2, v3, v4 op_sel:[1,0,0,1]", "v_fma_f16", InstClass::valu, "=v1 v2 v3 v4"},
    {"v_readfirstlane_b32 s0, v1", "v_readfirstlane_b32", InstClass::valu, "=s0 v1"},
    {"v_readlane_b32 s0, v1, s2", "v_readlane_b32", InstClass::valu, "=s0 v1 s2"},
    {"v_writelane_b32 v1, s2, 5", "v_writelane_b32", InstClass::valu, "=v1 s2 5"},
    {"v_mov_b32_e32 v1, src_shared_base", "v_mov_b32", InstClass::valu, "=v1 s235"},
    {"v_mov_b32_e32 v1, src_vccz", "v_mov_b32", InstClass::valu, "=v1 s251"},
    {"v_accvgpr_read_b32 v1, a2", "v_accvgpr_read_b32", InstClass::valu, "=v1 a2"},
    {"v_accvgpr_write_b32 a1, 5", "v_accvgpr_write_b32", InstClass::valu, "=a1 5"},
    {"v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15] cbsz:1 abid:2 blgp:3", "v_mfma_f32_32x32x8_f16",
     InstClass::mfma, "=a[0:15] v[0:1] v[2:3] a[0:15]"},
    {"v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[16:17], v[18:19], 0", "v_mfma_f32_32x32x16_fp8_fp8", InstClass::mfma,
     "=v[0:15] v[16:17] v[18:19] 0"},
    {"v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10 cbsz:1", "v_smfmac_f32_16x16x32_f16", InstClass::mfma,
     "=v[0:3] v[4:5] v[6:9] v10"},
    {"buffer_load_dword v1, v2, s[4:7], s8 offen offset:64 sc0 nt sc1", "buffer_load_dword", InstClass::vmem,
     "=v1 v2 s[4:7] s8"},
    {"buffer_load_dword v2, s[4:7], 0 offen lds", "buffer_load_dword", InstClass::vmem, "v2 s[4:7] 0"},
    {"buffer_load_dword off, s[4:7], 0 lds", "buffer_load_dword", InstClass::vmem, "off s[4:7] 0"},
    {"buffer_store_dwordx4 v[4:7], off, s[8:11], 0 offset:16", "buffer_store_dwordx4", InstClass::vmem,
     "v[4:7] off s[8:11] 0"},
    {"buffer_atomic_add v1, v2, s[4:7], 0 offen sc0", "buffer_atomic_add", InstClass::vmem, "=v1 v2 s[4:7] 0"},
    {"buffer_atomic_add v1, v2, s[4:7], 0 offen", "buffer_atomic_add", InstClass::vmem, "v1 v2 s[4:7] 0"},
    {"tbuffer_load_format_x v1, off, s[0:3], 0 format:[BUF_DATA_FORMAT_16_16]", "tbuffer_load_format_x",
     InstClass::vmem, "=v1 off s[0:3] 0"},
    {"buffer_wbl2 sc1", "buffer_wbl2", InstClass::vmem, ""},
    {"global_load_dwordx2 v[0:1], v2, s[4:5] offset:-16", "global_load_dwordx2", InstClass::global,
     "=v[0:1] v2 s[4:5]"},
    {"global_load_dwordx2 v[0:1], v[2:3], off sc0", "global_load_dwordx2", InstClass::global, "=v[0:1] v[2:3] off"},
    {"global_load_lds_dword v[2:3], off", "global_load_lds_dword", InstClass::global, "v[2:3] off"},
    {"global_store_dword v0, v1, s[0:1]", "global_store_dword", InstClass::global, "v0 v1 s[0:1]"},
    {"global_atomic_add v1, v[2:3], v4, off sc0", "global_atomic_add", InstClass::global, "=v1 v[2:3] v4 off"},
    {"global_atomic_add v[2:3], v4, off", "global_atomic_add", InstClass::global, "v[2:3] v4 off"},
    {"flat_atomic_cmpswap v1, v[2:3], v[4:5] sc0", "flat_atomic_cmpswap", InstClass::flat, "=v1 v[2:3] v[4:5]"},
    {"scratch_load_dword v1, off, s2 offset:4", "scratch_load_dword", InstClass::scratch, "=v1 off s2"},
    {"scratch_store_dword v1, v2, off", "scratch_store_dword", InstClass::scratch, "v1 v2 off"},
    {"ds_read2_b64 v[0:3], v4 offset0:1 offset1:2", "ds_read2_b64", InstClass::lds, "=v[0:3] v4"},
    {"ds_write_b64 v1, v[2:3] offset:65528", "ds_write_b64", InstClass::lds, "v1 v[2:3]"},
    {"ds_add_rtn_u32 v1, v2, v3", "ds_add_rtn_u32", InstClass::lds, "=v1 v2 v3"},
    {"ds_swizzle_b32 v1, v2 offset:swizzle(QUAD_PERM,1,0,3,2)", "ds_swizzle_b32", InstClass::lds, "=v1 v2"},
    {"s_load_dwordx4 s[0:3], s[4:5], 0x10", "s_load_dwordx4", InstClass::smem, "=s[0:3] s[4:5] 16"},
    {"s_load_dwordx4 s[0:3], s[4:5], s6 offset:0x10", "s_load_dwordx4", InstClass::smem, "=s[0:3] s[4:5] s6"},
    {"s_store_dword s1, s[2:3], 0x4", "s_store_dword", InstClass::smem, "s1 s[2:3] 4"},
    {"s_memtime s[0:1]", "s_memtime", InstClass::smem, "=s[0:1]"},
    {"s_mov_b32 m0, s2", "s_mov_b32", InstClass::salu, "=s124 s2"},
    {"s_mov_b64 exec, -1", "s_mov_b64", InstClass::salu, "=s[126:127] -1"},
    {"s_and_saveexec_b64 s[0:1], vcc", "s_and_saveexec_b64", InstClass::salu, "=s[0:1] s[106:107]"},
    {"s_cmp_eq_u32 s0, s1", "s_cmp_eq_u32", InstClass::salu, "s0 s1"},
    {"s_addk_i32 s0, 0xfffb", "s_addk_i32", InstClass::salu, "=s0 65531"},
    // HW_ID is register 4: id, offset 8 in bits 10:6, size - 1 in 15:11.
    {"s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)", "s_getreg_b32", InstClass::salu, "=s0 hwreg:6660"},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3", "s_setreg_imm32_b32", InstClass::salu, "hwreg:6401 3"},
    {"s_set_gpr_idx_on s0, gpr_idx(SRC0,DST)", "s_set_gpr_idx_on", InstClass::salu, "s0 other:9"},
    {"s_sendmsg sendmsg(MSG_INTERRUPT)", "s_sendmsg", InstClass::message, "other:1"},
    {"s_getpc_b64 s[0:1]", "s_getpc_b64", InstClass::salu, "=s[0:1]"},
    {"s_swappc_b64 s[0:1], s[2:3]", "s_swappc_b64", InstClass::jump, "=s[0:1] s[2:3]"},
    {"s_call_b64 s[0:1], 100", "s_call_b64", InstClass::jump, "=s[0:1] 100"},
    {"s_cbranch_scc0 65533", "s_cbranch_scc0", InstClass::branch, "65533"},
    {"s_waitcnt vmcnt(3) lgkmcnt(0)", "s_waitcnt", InstClass::waitcnt, ""},
    {"s_nop 5", "s_nop", InstClass::nop, "5"},
    {"s_barrier", "s_barrier", InstClass::barrier, ""},
    {"s_endpgm", "s_endpgm", InstClass::endpgm, ""},
    {"s_setprio 1", "s_setprio", InstClass::message, "1"},
    {"s_dcache_wb", "s_dcache_wb", InstClass::message, ""},
};

TEST(Operands, PrintedForms) {
  for (const Form& form : forms) {
    const InstRef inst = instruction(gfx942(), form.text);
    EXPECT_EQ(inst->text, form.text);
    EXPECT_EQ(inst->base, form.base);
    EXPECT_EQ(className(inst->cls), className(form.cls)) << form.text;
    EXPECT_EQ(operands(*inst), form.operands) << form.text;
    EXPECT_EQ(inst->mnemonic, std::string(form.text).substr(0, std::string(form.text).find(' ')));
  }
}

TEST(Operands, TextRangeIsTheRegisterItself) {
  const InstRef inst = instruction(gfx942(), "v_add_f32_e64 v1, -|v2|, s[3]");
  ASSERT_EQ(inst->operands.size(), 3u);
  const auto cut = [&](const Operand& operand) {
    return inst->text.substr(operand.textBegin, operand.textEnd - operand.textBegin);
  };
  EXPECT_EQ(cut(inst->operands[0]), "v1");
  EXPECT_EQ(cut(inst->operands[1]), "v2");
  EXPECT_EQ(cut(inst->operands[2]), "s3");
}

Modifiers mods(const std::string& text) {
  return instruction(gfx942(), text)->mods;
}

TEST(Modifiers, Memory) {
  EXPECT_EQ(operands(*instruction(gfx942(), "buffer_load_dword v1, v[2:3], s[4:7], s8 idxen offen")),
            "=v1 v[2:3] s[4:7] s8");
  const auto plain = mods("buffer_load_dword v1, v2, s[4:7], s8 offen offset:4095 sc0 nt sc1");
  EXPECT_EQ(plain.offset, 4095);
  EXPECT_TRUE(plain.offen && plain.sc0 && plain.sc1 && plain.nt);
  EXPECT_FALSE(plain.idxen || plain.lds);
  EXPECT_TRUE(mods("buffer_load_dword off, s[4:7], 0 lds").lds);
  EXPECT_EQ(mods("global_load_dword v1, v[2:3], off offset:-4096").offset, -4096);
  EXPECT_EQ(mods("ds_read2_b64 v[0:3], v4 offset0:1 offset1:255").offset1, 255);
  EXPECT_EQ(mods("ds_write_b32 v1, v2 offset:65535").offset, 65535);
  EXPECT_EQ(mods("s_load_dword s0, s[4:5], s6 offset:0x10").offset, 16);
  EXPECT_EQ(mods("s_atomic_add s1, s[2:3], 0x0 glc").sc0, true);
  EXPECT_EQ(mods("tbuffer_load_format_x v1, off, s[0:3], 0 format:5").format, 5);
  // QUAD_PERM is 0x8000 | perm, 1 | 0 << 2 | 3 << 4 | 2 << 6 (CDNA3 ISA, DS_SWIZZLE_B32).
  EXPECT_EQ(mods("ds_swizzle_b32 v1, v2 offset:swizzle(QUAD_PERM,1,0,3,2)").offset, 0x80b1);
}

TEST(Modifiers, Selects) {
  const auto packed =
      mods("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_hi:[0,0,1]");
  EXPECT_EQ(packed.opSel, 1);
  EXPECT_EQ(packed.opSelHi, 6);
  EXPECT_EQ(packed.negHi, 4);
  EXPECT_TRUE(packed.opSelPrinted && packed.opSelHiPrinted);
  EXPECT_EQ(mods("v_pk_add_f16 v1, v2, v3").opSelHi & 3, 3);  // default: both halves
  EXPECT_EQ(mods("v_fma_mix_f32 v1, v2, v3, v4").opSelHi, 0); // default: f32 sources
  EXPECT_EQ(mods("v_fma_f16 v1, v2, v3, v4 op_sel:[1,0,0,1]").opSel, 9);
  EXPECT_EQ(mods("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], v[6:7] neg:[1,0,0]").negLo, 1);
  const auto mfma = mods("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15] cbsz:1 abid:2 blgp:3");
  EXPECT_EQ(mfma.cbsz, 1);
  EXPECT_EQ(mfma.abid, 2);
  EXPECT_EQ(mfma.blgp, 3);
  const auto sdwa =
      mods("v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_3 dst_unused:UNUSED_SEXT src0_sel:WORD_1 src1_sel:BYTE_2");
  EXPECT_TRUE(sdwa.isSdwa);
  EXPECT_EQ(sdwa.dstSel, SdwaSel::byte3);
  EXPECT_EQ(sdwa.dstUnused, SdwaUnused::sext);
  EXPECT_EQ(sdwa.srcSel[0], SdwaSel::word1);
  EXPECT_EQ(sdwa.srcSel[1], SdwaSel::byte2);
  EXPECT_EQ(mods("v_add_f32_e64 v1, v2, v3 mul:2").omod, 1);
  EXPECT_EQ(mods("v_add_f32_e64 v1, v2, v3 mul:4").omod, 2);
  EXPECT_EQ(mods("v_add_f32_e64 v1, v2, v3 div:2").omod, 3);
  EXPECT_TRUE(mods("v_add_f32_e64 v1, v2, v3 clamp").clamp);
}

TEST(Modifiers, Dpp) {
  struct Case {
    const char* control;
    DppCtrl ctrl;
    unsigned amount;
  };
  for (const Case& c :
       {Case{"row_shl:1", DppCtrl::rowShl, 1}, Case{"row_shr:15", DppCtrl::rowShr, 15},
        Case{"row_ror:4", DppCtrl::rowRor, 4}, Case{"wave_shl:1", DppCtrl::waveShl, 1},
        Case{"wave_rol:1", DppCtrl::waveRol, 1}, Case{"wave_shr:1", DppCtrl::waveShr, 1},
        Case{"wave_ror:1", DppCtrl::waveRor, 1}, Case{"row_mirror", DppCtrl::rowMirror, 0},
        Case{"row_half_mirror", DppCtrl::rowHalfMirror, 0}, Case{"row_bcast:15", DppCtrl::rowBcast15, 15},
        Case{"row_bcast:31", DppCtrl::rowBcast31, 31}, Case{"row_newbcast:7", DppCtrl::rowNewBcast, 7}}) {
    const auto m = mods(fmt::format("v_mov_b32_dpp v1, v2 {} row_mask:0xa bank_mask:0x5", c.control));
    EXPECT_EQ(m.dpp, c.ctrl) << c.control;
    EXPECT_EQ(m.dppAmount, c.amount) << c.control;
    EXPECT_EQ(m.rowMask, 0xa);
    EXPECT_EQ(m.bankMask, 5);
    EXPECT_FALSE(m.boundCtrl);
  }
  const auto quad = mods("v_mov_b32_dpp v1, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf bound_ctrl:1");
  EXPECT_EQ(quad.dpp, DppCtrl::quadPerm);
  EXPECT_EQ(quad.quadPerm, (std::array<std::uint8_t, 4>{3, 2, 1, 0}));
  EXPECT_TRUE(quad.boundCtrl);
}

TEST(Instruction, ControlFlow) {
  const InstRef branch = instruction(gfx942(), "s_branch 5");
  EXPECT_EQ(branch->branchOffset, 5);
  EXPECT_TRUE(branch->isTerminator && !branch->isConditional);
  const InstRef back = instruction(gfx942(), "s_cbranch_scc0 -3");
  EXPECT_EQ(back->branchOffset, -3);
  EXPECT_TRUE(back->isTerminator && back->isConditional);
  EXPECT_EQ(instruction(gfx942(), "s_call_b64 s[0:1], -1")->branchOffset, -1);
  EXPECT_FALSE(instruction(gfx942(), "s_call_b64 s[0:1], -1")->isTerminator);
  EXPECT_TRUE(instruction(gfx942(), "s_setpc_b64 s[0:1]")->isTerminator);
  EXPECT_FALSE(instruction(gfx942(), "s_setpc_b64 s[0:1]")->branchOffset);
  EXPECT_TRUE(instruction(gfx942(), "s_trap 2")->leavesFunction());
  EXPECT_TRUE(instruction(gfx942(), "s_set_gpr_idx_mode gpr_idx(SRC0)")->entersGprIdxMode());
}

TEST(Instruction, MemoryFlags) {
  const auto flags = [](const char* text) {
    const InstRef inst = instruction(gfx942(), text);
    return fmt::format("{}{}{}{}", inst->mayLoad ? "L" : "", inst->mayStore ? "S" : "", inst->isAtomic() ? "A" : "",
                       inst->isLdsDma() ? "D" : "");
  };
  EXPECT_EQ(flags("global_load_dword v1, v[2:3], off"), "L");
  EXPECT_EQ(flags("global_store_dword v[2:3], v1, off"), "S");
  EXPECT_EQ(flags("global_atomic_add v[2:3], v1, off"), "LSA");
  EXPECT_EQ(flags("buffer_load_dword off, s[4:7], 0 lds"), "LSD");
  EXPECT_EQ(flags("global_load_lds_dword v[2:3], off"), "LSD");
  EXPECT_EQ(flags("ds_add_u32 v1, v2"), "LSA");
  EXPECT_EQ(flags("ds_bpermute_b32 v1, v2, v3"), "");
  EXPECT_EQ(flags("s_waitcnt vmcnt(0)"), "");
  EXPECT_EQ(flags("s_barrier"), "");
}

TEST(Instruction, WideEncodings) {
  EXPECT_TRUE(instruction(gfx942(), "v_add_f32_e64 v1, v2, v3")->isVop3);
  EXPECT_TRUE(instruction(gfx942(), "v_pk_add_f16 v1, v2, v3")->isVop3);
  EXPECT_TRUE(instruction(gfx942(), "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0")->isVop3);
  EXPECT_FALSE(instruction(gfx942(), "v_add_f32_e32 v1, 0x12345678, v3")->isVop3);
  EXPECT_FALSE(instruction(gfx942(), "v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf")->isVop3);
  EXPECT_FALSE(instruction(gfx942(), "s_mov_b32 s0, 0x12345678")->isVop3);
}

} // namespace
} // namespace asmevo::isa::test
