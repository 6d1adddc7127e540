#include "verify/proof/symbolic.h"

#include "isa/codec.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

/// Executes assembly lines from a fresh state of variables.
class Symbolic : public testing::Test {
 protected:
  void SetUp() override {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    auto created = isa::Codec::create(target);
    ASSERT_TRUE(created);
    codec = *std::move(created);
  }

  SymbolicState run(const std::vector<std::string>& lines) {
    SymbolicState state = initialState(terms);
    SymbolicExecutor executor(terms, 128, {});
    for (const auto& line : lines) {
      auto inst = codec->assemble(line);
      EXPECT_TRUE(inst) << line << ": " << (inst ? "" : inst.error().message);
      std::string reason;
      EXPECT_TRUE(executor.execute(*codec->complete(*inst), {}, "", state, reason)) << reason;
    }
    return state;
  }

  bool equal(const std::vector<std::string>& x, const std::vector<std::string>& y) {
    const SymbolicState a = run(x), b = run(y);
    return a.units == b.units && std::ranges::equal(a.effects, b.effects, {}, &Effect::payload, &Effect::payload);
  }

  TermId vgpr(const std::vector<std::string>& lines, unsigned number) {
    return run(lines).units[isa::vgprUnit(number)];
  }

  std::unique_ptr<isa::Codec> codec;
  TermTable terms;
};

TEST_F(Symbolic, IndependentWorkMayBeReordered) {
  EXPECT_TRUE(equal({"v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v5, v6"},
                    {"v_mul_f32_e32 v4, v5, v6", "v_add_f32_e32 v1, v2, v3"}));
  EXPECT_TRUE(equal({"ds_read_b32 v1, v2", "global_load_dword v3, v[4:5], off"},
                    {"global_load_dword v3, v[4:5], off", "ds_read_b32 v1, v2"}));
  EXPECT_TRUE(equal({"s_load_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x4"},
                    {"s_load_dword s5, s[0:1], 0x4", "s_load_dword s4, s[0:1], 0x0"}));
}

TEST_F(Symbolic, DependentWorkMayNot) {
  EXPECT_FALSE(equal({"v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v1, v6"},
                     {"v_mul_f32_e32 v4, v1, v6", "v_add_f32_e32 v1, v2, v3"}));
  EXPECT_FALSE(equal({"s_cmp_eq_u32 s0, s1", "s_cselect_b32 s2, s3, s4", "s_add_u32 s5, s6, s7"},
                     {"s_cmp_eq_u32 s0, s1", "s_add_u32 s5, s6, s7", "s_cselect_b32 s2, s3, s4"}));
  EXPECT_FALSE(
      equal({"v_mov_b32_e32 v1, v2", "s_mov_b64 exec, s[4:5]"}, {"s_mov_b64 exec, s[4:5]", "v_mov_b32_e32 v1, v2"}));
}

TEST_F(Symbolic, MemoryOrderIsKept) {
  EXPECT_FALSE(equal({"ds_write_b32 v1, v2", "ds_read_b32 v3, v4"}, {"ds_read_b32 v3, v4", "ds_write_b32 v1, v2"}));
  EXPECT_FALSE(equal({"global_store_dword v[0:1], v2, off", "global_load_dword v3, v[4:5], off"},
                     {"global_load_dword v3, v[4:5], off", "global_store_dword v[0:1], v2, off"}));
  EXPECT_FALSE(equal({"ds_write_b32 v1, v2", "s_barrier"}, {"s_barrier", "ds_write_b32 v1, v2"}));
  EXPECT_FALSE(equal({"ds_read_b32 v3, v4", "s_barrier"}, {"s_barrier", "ds_read_b32 v3, v4"}));
  EXPECT_FALSE(equal({"buffer_load_dword v1, s[4:7], 0 offen lds", "ds_read_b32 v3, v4"},
                     {"ds_read_b32 v3, v4", "buffer_load_dword v1, s[4:7], 0 offen lds"}));
}

TEST_F(Symbolic, ImmediatesOperandsAndModifiersAreMeaning) {
  EXPECT_FALSE(equal({"v_sub_f32_e32 v1, v2, v3"}, {"v_sub_f32_e32 v1, v3, v2"}));
  EXPECT_FALSE(equal({"v_add_u32_e32 v1, 4, v2"}, {"v_add_u32_e32 v1, 5, v2"}));
  EXPECT_FALSE(equal({"ds_read_b32 v1, v2 offset:4"}, {"ds_read_b32 v1, v2 offset:8"}));
  EXPECT_FALSE(equal({"v_add_f32_e64 v1, v2, v3"}, {"v_add_f32_e64 v1, -v2, v3"}));
  EXPECT_FALSE(equal({"v_add_f32_e64 v1, v2, v3"}, {"v_add_f32_e64 v1, v2, v3 clamp"}));
  EXPECT_FALSE(equal({"v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf"},
                     {"v_mov_b32_dpp v1, v2 row_shl:2 row_mask:0xf bank_mask:0xf"}));
  EXPECT_FALSE(equal({"global_load_dword v1, v[2:3], off sc1"}, {"global_load_dword v1, v[2:3], off"}));
}

TEST_F(Symbolic, WaitsAndNopsHaveNoValue) {
  EXPECT_TRUE(equal({"ds_read_b32 v1, v2", "s_waitcnt lgkmcnt(0)", "s_nop 3", "v_add_u32_e32 v3, v1, v1"},
                    {"ds_read_b32 v1, v2", "v_add_u32_e32 v3, v1, v1"}));
}

TEST_F(Symbolic, OverwrittenLanesDoNotCount) {
  // Under one EXEC the second write covers every lane the first did.
  EXPECT_TRUE(equal({"v_mov_b32_e32 v1, v5", "v_mov_b32_e32 v1, v2"}, {"v_mov_b32_e32 v1, v2"}));
  EXPECT_FALSE(equal({"v_mov_b32_e32 v1, v5", "s_mov_b64 exec, s[4:5]", "v_mov_b32_e32 v1, v2"},
                     {"s_mov_b64 exec, s[4:5]", "v_mov_b32_e32 v1, v2"}));
  // A lane-wise reader under the same EXEC sees the new value only; a reader of other lanes does not.
  EXPECT_TRUE(
      run({"v_mov_b32_e32 v1, v2", "v_add_u32_e32 v3, v1, v1", "v_mov_b32_e32 v1, 0"}).units[isa::vgprUnit(3)] ==
      run({"v_mov_b32_e32 v6, v2", "v_add_u32_e32 v3, v6, v6"}).units[isa::vgprUnit(3)]);
  EXPECT_FALSE(run({"v_mov_b32_e32 v1, v2", "v_readlane_b32 s3, v1, 5"}).units[3] ==
               run({"v_readlane_b32 s3, v2, 5"}).units[3]);
}

TEST_F(Symbolic, WritesThatIgnoreExecAreNeverCoveredByOnesThatDoNot) {
  EXPECT_FALSE(equal({"v_writelane_b32 v1, s4, 5", "v_mov_b32_e32 v1, v2"}, {"v_mov_b32_e32 v1, v2"}));
  EXPECT_FALSE(equal({"v_mov_b32_e32 v1, v2", "v_writelane_b32 v1, s4, 5"},
                     {"v_writelane_b32 v1, s4, 5", "v_mov_b32_e32 v1, v2"}));
  // ... and EXEC may change before or after them.
  EXPECT_TRUE(equal({"v_writelane_b32 v1, s4, 5", "s_mov_b64 exec, s[6:7]"},
                    {"s_mov_b64 exec, s[6:7]", "v_writelane_b32 v1, s4, 5"}));
}

TEST_F(Symbolic, RenamingKeepsTheValue) {
  EXPECT_EQ(run({"v_mul_f32_e32 v9, v2, v3", "v_add_f32_e32 v1, v9, v4"}).units[isa::vgprUnit(1)],
            run({"v_mul_f32_e32 v8, v2, v3", "v_add_f32_e32 v1, v8, v4"}).units[isa::vgprUnit(1)]);
}

TEST_F(Symbolic, IndexedRegistersAreRefused) {
  SymbolicState state = initialState(terms);
  SymbolicExecutor executor(terms, 128, {});
  for (const char* line :
       {"s_set_gpr_idx_on s0, gpr_idx(SRC0)", "s_movrels_b32 s0, s1", "s_swappc_b64 s[30:31], s[4:5]"}) {
    auto inst = codec->assemble(line);
    ASSERT_TRUE(inst) << line;
    std::string reason;
    EXPECT_FALSE(executor.execute(*codec->complete(*inst), {}, "", state, reason)) << line;
    EXPECT_FALSE(reason.empty());
  }
}

TEST_F(Symbolic, TermsHaveOneNormalForm) {
  const TermId x = terms.variable(1, Sort::word, true), y = terms.variable(2, Sort::word, true);
  EXPECT_EQ(terms.sub(terms.add(x, y), y), x);
  EXPECT_EQ(terms.not_(terms.not_(x)), x);
  EXPECT_EQ(terms.add(terms.not_(x), terms.word(1)), terms.sub(terms.word(0), x));
  EXPECT_EQ(terms.shl(terms.add(x, x), terms.word(1)), terms.mul(x, terms.word(4)));
  EXPECT_EQ(terms.pack(terms.lo(terms.pack(x, y)), terms.hi(terms.pack(x, y))), terms.pack(x, y));
  EXPECT_EQ(terms.hi(terms.mul(terms.zext(x), terms.wide(std::uint64_t{1} << 32))), x);
  EXPECT_EQ(terms.and_(terms.shl(x, terms.word(8)), terms.word(0xff)), terms.word(0));
  EXPECT_EQ(terms.or_(terms.and_(x, terms.word(0xff)), terms.shl(y, terms.word(8))),
            terms.add(terms.shl(y, terms.word(8)), terms.and_(x, terms.word(0xff))));
  EXPECT_NE(terms.or_(x, y), terms.add(x, y));
  EXPECT_EQ(terms.shr(terms.shl(x, terms.word(16)), terms.word(16)), terms.and_(x, terms.word(0xffff)));
  EXPECT_EQ(terms.constantOf(terms.mul(terms.word(0x10001), terms.word(0x10000))), 0x10000u);
  EXPECT_EQ(terms.constantOf(terms.ult(terms.word(3), terms.word(0xffffffff))), 1u);
  EXPECT_EQ(terms.constantOf(terms.slt(terms.word(3), terms.word(0xffffffff))), 0u);
  EXPECT_EQ(terms.constantOf(terms.sar(terms.word(0x80000000), terms.word(31))), 0xffffffffu);
  EXPECT_EQ(terms.constantOf(terms.unary(TermOp::clz, terms.word(1))), 31u);
  EXPECT_EQ(terms.constantOf(terms.unary(TermOp::brev, terms.word(1))), 0x80000000u);
}

TEST_F(Symbolic, MasksAreLaneBits) {
  const TermId p = terms.variable(1, Sort::bit, true), q = terms.variable(2, Sort::bit, true);
  EXPECT_EQ(terms.laneBit(terms.ballot(p)), p);
  EXPECT_EQ(terms.and_(terms.ballot(p), terms.ballot(q)), terms.ballot(terms.and_(p, q)));
  EXPECT_EQ(terms.and_(p, terms.not_(p)), terms.truth(false));
  EXPECT_EQ(terms.under(terms.and_(p, q), terms.select(p, terms.word(1), terms.word(2))), terms.word(1));
  EXPECT_EQ(terms.under(terms.not_(p), terms.select(p, terms.word(1), terms.word(2))), terms.word(2));
  EXPECT_EQ(terms.under(q, terms.select(p, terms.word(1), terms.word(2))),
            terms.select(p, terms.word(1), terms.word(2)));
}

TEST_F(Symbolic, PackedAndScalarHalvesAreTheSameTerms) {
  const std::vector<std::string> packed = {"s_mov_b64 exec, -1", "v_pk_mul_f32 v[4:5], v[2:3], v[6:7]"};
  EXPECT_EQ(vgpr(packed, 4), vgpr({"s_mov_b64 exec, -1", "v_mul_f32_e32 v4, v2, v6"}, 4));
  EXPECT_EQ(vgpr(packed, 5), vgpr({"s_mov_b64 exec, -1", "v_mul_f32_e32 v5, v7, v3"}, 5));
  EXPECT_NE(vgpr(packed, 5), vgpr({"s_mov_b64 exec, -1", "v_mul_f32_e32 v5, v7, v2"}, 5));
}

TEST_F(Symbolic, ModeIsAnArgumentOfFloatingPoint) {
  EXPECT_NE(vgpr({"v_add_f32_e32 v1, v2, v3"}, 1),
            vgpr({"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "v_add_f32_e32 v1, v2, v3"}, 1));
  EXPECT_EQ(vgpr({"v_add_u32_e32 v1, v2, v3"}, 1),
            vgpr({"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "v_add_u32_e32 v1, v2, v3"}, 1));
}

} // namespace
} // namespace asmevo::verify
