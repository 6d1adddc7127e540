// Operand forms and modifiers that the manual's vectors leave out: SGPR and constant sources, DPP, SDWA destinations,
// omod, DX10 clamp, register indexing, hardware registers. Expected values are worked out on the host.
#include "emulator/alu_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace asmevo::emulator {
namespace {

class AluForms : public ::testing::TestWithParam<SimdLevel> {};
INSTANTIATE_TEST_SUITE_P(Levels, AluForms, ::testing::ValuesIn(hostSimdLevels()),
                         [](const auto& info) { return levelName(info.param); });

TEST_P(AluForms, ScalarAndConstantSources) {
  AluRig rig(GetParam());
  rig.s(5) = std::bit_cast<std::uint32_t>(3.0f);
  rig.setFloat(2, 1.25f);
  rig.run("v_add_f32_e32 v1, s5, v2");
  EXPECT_EQ(rig.asFloat(1, 63), 4.25f);
  rig.run("v_add_f32_e32 v1, 0.5, v2");
  EXPECT_EQ(rig.asFloat(1, 17), 1.75f);
  rig.run("v_mul_f32_e32 v1, 0x40490fdb, v2");
  EXPECT_EQ(rig.asFloat(1, 0), 3.14159274f * 1.25f);
  rig.run("v_add_u32_e32 v1, -16, v2");
  EXPECT_EQ(rig.v(1, 5), std::bit_cast<std::uint32_t>(1.25f) - 16);
  rig.run("v_mul_f32_e32 v1, 0.15915494, v2");
  EXPECT_EQ(rig.asFloat(1, 0), std::bit_cast<float>(0x3e22f983u) * 1.25f);
  rig.run("v_fma_f32 v1, s5, v2, s5");
  EXPECT_EQ(rig.asFloat(1, 40), 3.0f * 1.25f + 3.0f);
}

TEST_P(AluForms, ConstantsTakeTheOperandsType) {
  AluRig rig(GetParam());
  rig.setAll(2, 0x3c00);
  rig.run("v_add_f16_e32 v1, 2.0, v2");
  EXPECT_EQ(rig.v(1, 3), 0x4200u); // 3.0 as a half
  rig.setAll(2, 0);
  rig.setAll(3, 0x3ff00000);
  rig.run("v_add_f64 v[4:5], v[2:3], 4.0");
  EXPECT_EQ(rig.asDouble(4, 9), 5.0);
  rig.run("v_cvt_f32_f64_e32 v4, 0x40240000");
  EXPECT_EQ(rig.asFloat(4, 9), 10.0f); // a literal is the upper half
  rig.setAll(2, 5);
  rig.setAll(3, 7);
  rig.run("v_lshl_add_u64 v[4:5], v[2:3], 2, -1");
  EXPECT_EQ(rig.v(4, 0), 19u);
  EXPECT_EQ(rig.v(5, 0), 28u);
  rig.run("v_pk_add_u16 v1, v2, -1 op_sel_hi:[1,0]");
  EXPECT_EQ(rig.v(1, 0), 0xffff0004u);
}

TEST_P(AluForms, ScalarPairsFeedPackedMath) {
  AluRig rig(GetParam());
  rig.s(4) = std::bit_cast<std::uint32_t>(2.0f);
  rig.s(5) = std::bit_cast<std::uint32_t>(10.0f);
  rig.setFloat(2, 1.5f);
  rig.setFloat(3, 2.5f);
  rig.run("v_pk_mul_f32 v[6:7], v[2:3], s[4:5]");
  EXPECT_EQ(rig.asFloat(6, 63), 3.0f);
  EXPECT_EQ(rig.asFloat(7, 63), 25.0f);
  rig.run("v_pk_mul_f32 v[6:7], v[2:3], s[4:5] op_sel_hi:[1,0]");
  EXPECT_EQ(rig.asFloat(7, 0), 5.0f);
  rig.run("v_pk_fma_f32 v[6:7], v[2:3], v[2:3], v[2:3] op_sel:[1,0,0] neg_lo:[0,0,1] neg_hi:[1,0,0]");
  EXPECT_EQ(rig.asFloat(6, 0), 2.5f * 1.5f - 1.5f);
  EXPECT_EQ(rig.asFloat(7, 0), -2.5f * 2.5f + 2.5f);
}

TEST_P(AluForms, InactiveLanesKeepTheirValues) {
  AluRig rig(GetParam());
  rig.wave.setPair(isa::sreg::execLo, 0xf0f0000000000001);
  for (const char* line : {"v_add_u32_e32 v1, v2, v3", "v_max3_u32 v1, v2, v3, v4", "v_mov_b32_e32 v1, s9"}) {
    rig.setAll(1, 77);
    rig.s(9) = 5;
    rig.run(line);
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(rig.v(1, lane) == 77, (0xf0f0000000000001u >> lane & 1) == 0) << line << " lane " << lane;
  }
}

TEST_P(AluForms, ComparisonsClearInactiveLanes) {
  AluRig rig(GetParam());
  rig.wave.setPair(isa::sreg::execLo, 0x00000000ffff0000);
  rig.wave.setPair(isa::sreg::vccLo, ~std::uint64_t{0});
  for (unsigned lane = 0; lane < 64; ++lane)
    rig.v(2, lane) = lane;
  rig.run("v_cmp_gt_u32_e32 vcc, 20, v2");
  EXPECT_EQ(rig.wave.vcc(), 0x000f0000u);
  rig.run("v_cmpx_lt_u32_e64 s[10:11], 18, v2");
  EXPECT_EQ(rig.wave.pair(10), 0xfff80000u);
  EXPECT_EQ(rig.wave.exec(), 0xfff80000u);
}

/// Lane that v_mov_b32_dpp reads, or -1 where the lane is left alone.
std::array<int, 64> dppLanes(AluRig& rig, const std::string& control) {
  std::array<int, 64> lanes{};
  for (unsigned lane = 0; lane < 64; ++lane)
    rig.v(2, lane) = lane;
  rig.setAll(1, 0xffffffff);
  rig.run("v_mov_b32_dpp v1, v2 " + control);
  for (unsigned lane = 0; lane < 64; ++lane)
    lanes[lane] = static_cast<int>(rig.v(1, lane));
  return lanes;
}

TEST_P(AluForms, DppControls) {
  AluRig rig(GetParam());
  const std::string all = " row_mask:0xf bank_mask:0xf";
  auto lanes = dppLanes(rig, "quad_perm:[3,0,1,2]" + all);
  EXPECT_EQ(lanes[0], 3);
  EXPECT_EQ(lanes[1], 0);
  EXPECT_EQ(lanes[62], 61);
  lanes = dppLanes(rig, "row_shl:3" + all);
  EXPECT_EQ(lanes[0], 3);
  EXPECT_EQ(lanes[12], 15);
  EXPECT_EQ(lanes[13], -1);
  EXPECT_EQ(lanes[48], 51);
  lanes = dppLanes(rig, "row_shr:3" + all);
  EXPECT_EQ(lanes[2], -1);
  EXPECT_EQ(lanes[3], 0);
  EXPECT_EQ(lanes[19], 16);
  lanes = dppLanes(rig, "row_ror:4" + all);
  EXPECT_EQ(lanes[0], 12);
  EXPECT_EQ(lanes[20], 16);
  lanes = dppLanes(rig, "wave_shl:1" + all);
  EXPECT_EQ(lanes[15], 16);
  EXPECT_EQ(lanes[63], -1);
  lanes = dppLanes(rig, "wave_ror:1" + all);
  EXPECT_EQ(lanes[0], 63);
  EXPECT_EQ(lanes[32], 31);
  lanes = dppLanes(rig, "row_mirror" + all);
  EXPECT_EQ(lanes[0], 15);
  EXPECT_EQ(lanes[31], 16);
  lanes = dppLanes(rig, "row_half_mirror" + all);
  EXPECT_EQ(lanes[0], 7);
  EXPECT_EQ(lanes[8], 15);
  lanes = dppLanes(rig, "row_bcast:15" + all);
  EXPECT_EQ(lanes[0], -1);
  EXPECT_EQ(lanes[16], 15);
  EXPECT_EQ(lanes[47], 31);
  EXPECT_EQ(lanes[63], 47);
  lanes = dppLanes(rig, "row_bcast:31" + all);
  EXPECT_EQ(lanes[31], -1);
  EXPECT_EQ(lanes[32], 31);
  EXPECT_EQ(lanes[63], 31);
  lanes = dppLanes(rig, "row_newbcast:5" + all);
  EXPECT_EQ(lanes[0], 5);
  EXPECT_EQ(lanes[63], 53);
}

TEST_P(AluForms, DppMasksAndBounds) {
  AluRig rig(GetParam());
  auto lanes = dppLanes(rig, "row_shr:1 row_mask:0xa bank_mask:0x3");
  EXPECT_EQ(lanes[1], -1);  // row 0 is masked off
  EXPECT_EQ(lanes[16], -1); // no lane to the left
  EXPECT_EQ(lanes[17], 16);
  EXPECT_EQ(lanes[24], -1); // bank 2 is masked off
  lanes = dppLanes(rig, "row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0");
  EXPECT_EQ(lanes[16], 0);
  EXPECT_EQ(lanes[17], 16);
  // An inactive source lane counts as missing.
  rig.wave.setPair(isa::sreg::execLo, ~std::uint64_t{0} ^ 0x10);
  lanes = dppLanes(rig, "row_shr:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(lanes[4], -1);
  EXPECT_EQ(lanes[5], -1);
  EXPECT_EQ(lanes[6], 5);
}

TEST_P(AluForms, DppWithArithmetic) {
  AluRig rig(GetParam());
  for (unsigned lane = 0; lane < 64; ++lane) {
    rig.v(2, lane) = std::bit_cast<std::uint32_t>(static_cast<float>(lane));
    rig.v(3, lane) = std::bit_cast<std::uint32_t>(100.0f);
  }
  rig.run("v_add_f32_dpp v1, -v2, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(rig.asFloat(1, 0), 99.0f);
  EXPECT_EQ(rig.asFloat(1, 63), 100.0f - 62.0f);
}

TEST_P(AluForms, SdwaSelectsAndDestinations) {
  AluRig rig(GetParam());
  rig.setAll(2, 0x80c3f2a1);
  rig.setAll(3, 1);
  rig.setAll(1, 0x11223344);
  rig.run("v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:DWORD");
  EXPECT_EQ(rig.v(1, 0), 0x1122c444u);
  rig.run("v_add_u32_sdwa v1, sext(v2), v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD");
  EXPECT_EQ(rig.v(1, 63), 0xffff80c4u);
  rig.run("v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD");
  EXPECT_EQ(rig.v(1, 0), 0x00a20000u);
  rig.run("v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:DWORD");
  EXPECT_EQ(rig.v(1, 0), 0xffffa200u);
  rig.setAll(2, 0x3c004000); // halves 2.0 and 1.0
  rig.run("v_cvt_f32_f16_sdwa v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1");
  EXPECT_EQ(rig.asFloat(1, 0), 1.0f);
}

TEST_P(AluForms, OutputModifiers) {
  AluRig rig(GetParam());
  rig.wave.mode = 0xc0; // f32 denormals flushed, not IEEE: omod applies
  rig.setFloat(2, 1.5f);
  rig.setFloat(3, 2.0f);
  rig.run("v_add_f32_e64 v1, v2, v3 mul:4");
  EXPECT_EQ(rig.asFloat(1, 0), 14.0f);
  rig.run("v_add_f32_e64 v1, v2, v3 div:2");
  EXPECT_EQ(rig.asFloat(1, 0), 1.75f);
  rig.wave.mode = 0xf0; // output denormals kept: ignored
  rig.run("v_add_f32_e64 v1, v2, v3 mul:4");
  EXPECT_EQ(rig.asFloat(1, 0), 3.5f);
}

TEST_P(AluForms, ClampAndNan) {
  AluRig rig(GetParam());
  rig.setFloat(2, 3.5f);
  rig.setFloat(3, -1.0f);
  rig.run("v_mul_f32_e64 v1, v2, v2 clamp");
  EXPECT_EQ(rig.asFloat(1, 0), 1.0f);
  rig.run("v_mul_f32_e64 v1, v2, v3 clamp");
  EXPECT_EQ(rig.v(1, 0), 0u);
  rig.setFloat(2, std::numeric_limits<float>::quiet_NaN());
  rig.wave.mode = 0x1f0; // DX10_CLAMP
  rig.run("v_add_f32_e64 v1, v2, v3 clamp");
  EXPECT_EQ(rig.v(1, 0), 0u);
  rig.wave.mode = 0xf0;
  rig.run("v_add_f32_e64 v1, v2, v3 clamp");
  EXPECT_TRUE(std::isnan(rig.asFloat(1, 0)));
}

TEST_P(AluForms, DenormalsByMode) {
  AluRig rig(GetParam());
  rig.setAll(2, 0x00000003);
  rig.setAll(3, 0x80000005);
  rig.wave.mode = 0xf0;
  rig.run("v_add_f32_e32 v1, v2, v2");
  EXPECT_EQ(rig.v(1, 0), 6u);
  rig.wave.mode = 0xc0;
  rig.run("v_add_f32_e32 v1, v3, v3");
  EXPECT_EQ(rig.v(1, 0), 0x80000000u);
  rig.setAll(4, 0x00fffffc); // normal; half of it is not
  rig.run("v_mul_f32_e32 v1, 0.5, v4");
  EXPECT_EQ(rig.v(1, 0), 0u);
  rig.wave.mode = 0xd0; // inputs kept, results flushed
  rig.setFloat(5, 0x1p30f);
  rig.run("v_mul_f32_e32 v1, v2, v5");
  EXPECT_EQ(rig.asFloat(1, 0), std::bit_cast<float>(3u) * 0x1p30f);
  rig.run("v_add_f32_e32 v1, v2, v2");
  EXPECT_EQ(rig.v(1, 0), 0u);
  rig.wave.mode = 0x30; // f16 and f64 flushed, f32 kept
  rig.run("v_add_f32_e32 v1, v2, v2");
  EXPECT_EQ(rig.v(1, 0), 6u);
  rig.setAll(2, 0x0001);
  rig.run("v_add_f16_e32 v1, v2, v2");
  EXPECT_EQ(rig.v(1, 0), 0u);
}

TEST_P(AluForms, NanResultsAreCanonical) {
  AluRig rig(GetParam());
  rig.setAll(2, 0xffc12345);
  rig.setAll(3, 0x7fabcdef);
  for (const char* line : {"v_add_f32_e32 v1, v2, v3", "v_add_f32_e32 v1, v3, v2", "v_fma_f32 v1, v2, v3, v3",
                           "v_mul_f32_e64 v1, -v2, v3"}) {
    rig.run(line);
    EXPECT_EQ(rig.v(1, 0), 0x7fc00000u) << line;
  }
}

TEST_P(AluForms, LaneAccess) {
  AluRig rig(GetParam());
  for (unsigned lane = 0; lane < 64; ++lane)
    rig.v(2, lane) = lane * lane;
  rig.s(7) = 64 + 9;
  rig.run("v_readlane_b32 s4, v2, s7");
  EXPECT_EQ(rig.s(4), 81u);
  rig.wave.setPair(isa::sreg::execLo, 0x0000010000000000);
  rig.run("v_readfirstlane_b32 s5, v2");
  EXPECT_EQ(rig.s(5), 1600u);
  rig.wave.setPair(isa::sreg::execLo, 0);
  rig.run("v_readfirstlane_b32 s5, v2");
  EXPECT_EQ(rig.s(5), 0u);
  rig.run("v_writelane_b32 v2, s4, 63");
  EXPECT_EQ(rig.v(2, 63), 81u);
  EXPECT_EQ(rig.v(2, 62), 62u * 62u);
}

TEST_P(AluForms, RegisterIndexing) {
  AluRig rig(GetParam());
  rig.s(4) = 3;
  rig.s(5) = 0xabcd;
  rig.wave.sgpr[isa::sreg::m0] = 0x00330000;
  // DST applies to v_writelane, SRC0 to the first source only.
  rig.run({"s_set_gpr_idx_on s4, gpr_idx(DST)", "v_writelane_b32 v10, s5, 1", "s_set_gpr_idx_off"}, true);
  EXPECT_EQ(rig.v(13, 1), 0xabcdu);
  EXPECT_EQ(rig.v(10, 1), 0x1000u * 10 + 1);
  EXPECT_EQ(rig.wave.sgpr[isa::sreg::m0], 0x00338003u);
  rig.run({"s_set_gpr_idx_on s4, gpr_idx(SRC0)", "v_add_u32_e32 v1, v2, v4", "s_set_gpr_idx_idx s6",
           "v_mov_b32_e32 v20, v8", "s_set_gpr_idx_off", "v_mov_b32_e32 v21, v8"},
          true);
  EXPECT_EQ(rig.v(1, 7), 0x1000u * 5 + 7 + 0x1000u * 4 + 7);
  EXPECT_EQ(rig.v(21, 0), 0x8000u);
}

TEST_P(AluForms, RegisterIndexOutsideTheFileStops) {
  AluRig rig(GetParam());
  object::Target target;
  target.processor = "gfx942";
  auto codec = isa::Codec::create(target);
  ASSERT_TRUE(codec);
  Arena arena;
  BindContext context;
  context.simd = GetParam();
  context.arena = &arena;
  context.gprIndexing = true;
  Op ops[2];
  ASSERT_TRUE(bindAlu(**(*codec)->assemble("v_mov_b32_e32 v1, v2"), context, ops[0]));
  ops[1].fn = [](Wave&, const Op*) {};
  rig.wave.gprIdx = 0x10000;
  rig.wave.sgpr[isa::sreg::m0] = 0x1000 | 200;
  rig.wave.runStart = ops;
  ops[0].fn(rig.wave, ops);
  EXPECT_EQ(rig.wave.stop, Stop::fault);
  EXPECT_NE(rig.wave.faultMessage.find("vector registers"), std::string::npos);
}

TEST_P(AluForms, ModeRegister) {
  AluRig rig(GetParam());
  rig.wave.mode = 0x3f0;
  rig.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0");
  EXPECT_EQ(rig.wave.mode, 0x3c0u);
  rig.run("s_getreg_b32 s4, hwreg(HW_REG_MODE, 6, 4)");
  EXPECT_EQ(rig.s(4), 0xfu);
  rig.s(5) = 0xffffffff;
  rig.run("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s5");
  EXPECT_EQ(rig.wave.mode, 0x3cfu);
  rig.run("s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS)");
  EXPECT_EQ(rig.s(4), 0u);
  EXPECT_NE(rig.refusal("s_getreg_b32 s4, hwreg(HW_REG_TMA_LO)").find("cannot use"), std::string::npos);
}

TEST_P(AluForms, Fp16OverflowSaturatesFp8) {
  AluRig rig(GetParam());
  rig.setFloat(2, 1000.0f);
  rig.setFloat(3, -1000.0f);
  rig.setAll(1, 0);
  rig.run("v_cvt_pk_fp8_f32 v1, v2, v3");
  EXPECT_EQ(rig.v(1, 0), 0x8080u); // NaN
  rig.wave.mode |= 1u << 23;
  rig.run("v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]");
  EXPECT_EQ(rig.v(1, 0), 0xff7f8080u); // 240 and -240 in the upper half
}

TEST_P(AluForms, EveryFp8CodeConvertsToItsValue) {
  AluRig rig(GetParam());
  for (unsigned code = 0; code < 256; code += 64) {
    for (unsigned lane = 0; lane < 64; ++lane)
      rig.v(2, lane) = code + lane;
    rig.run("v_cvt_f32_fp8_e32 v3, v2");
    rig.run("v_cvt_f32_bf8_e32 v4, v2");
    for (unsigned lane = 0; lane < 64; ++lane) {
      const unsigned x = code + lane, magnitude = x & 0x7f;
      if (x == 0x80) {
        EXPECT_TRUE(std::isnan(rig.asFloat(3, lane)));
        EXPECT_TRUE(std::isnan(rig.asFloat(4, lane)));
        continue;
      }
      const auto value = [&](unsigned bits, int bias) {
        const int field = static_cast<int>(magnitude >> bits);
        const auto fraction = static_cast<double>(magnitude & ((1u << bits) - 1));
        const double scale = static_cast<double>(1u << bits);
        const double v =
            field ? std::ldexp(1 + fraction / scale, field - bias) : std::ldexp(fraction / scale, 1 - bias);
        return static_cast<float>(x & 0x80 ? -v : v);
      };
      EXPECT_EQ(rig.asFloat(3, lane), value(3, 8)) << x;
      EXPECT_EQ(rig.asFloat(4, lane), value(2, 16)) << x;
    }
  }
}

TEST_P(AluForms, UnknownOpcodeIsRefusedByName) {
  AluRig rig(GetParam());
  EXPECT_EQ(rig.refusal("v_screen_partition_4se_b32_e32 v1, v2"),
            "opcode v_screen_partition_4se_b32_e32 is not modelled");
}

} // namespace
} // namespace asmevo::emulator
