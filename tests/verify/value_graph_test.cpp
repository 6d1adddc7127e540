#include "verify/value_graph.h"

#include "isa/codec.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

/// Executes assembly lines from a fresh state of variables.
class ValueGraph : public testing::Test {
 protected:
  void SetUp() override {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    auto created = isa::Codec::create(target);
    ASSERT_TRUE(created);
    codec = *std::move(created);
  }

  SymbolicState fresh() {
    SymbolicState state;
    for (std::uint32_t u = 0; u < isa::regUnitCount; ++u)
      state.units.push_back(terms.variable(u));
    state.ldsMemory = terms.variable(5000);
    state.globalMemory = terms.variable(5001);
    return state;
  }

  SymbolicState run(const std::vector<std::string>& lines) {
    SymbolicState state = fresh();
    SymbolicExecutor executor(terms, 128);
    for (const auto& line : lines) {
      auto inst = codec->assemble(line);
      EXPECT_TRUE(inst) << line << ": " << (inst ? "" : inst.error().message);
      std::string reason;
      EXPECT_TRUE(executor.execute(*codec->complete(*inst), "", state, reason)) << reason;
    }
    return state;
  }

  bool equal(const std::vector<std::string>& x, const std::vector<std::string>& y) {
    const SymbolicState a = run(x), b = run(y);
    return a.units == b.units && a.ldsMemory == b.ldsMemory && a.globalMemory == b.globalMemory;
  }

  std::unique_ptr<isa::Codec> codec;
  TermTable terms;
};

TEST_F(ValueGraph, IndependentWorkMayBeReordered) {
  EXPECT_TRUE(equal({"v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v5, v6"},
                    {"v_mul_f32_e32 v4, v5, v6", "v_add_f32_e32 v1, v2, v3"}));
  EXPECT_TRUE(equal({"ds_read_b32 v1, v2", "global_load_dword v3, v[4:5], off"},
                    {"global_load_dword v3, v[4:5], off", "ds_read_b32 v1, v2"}));
  EXPECT_TRUE(equal({"s_load_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x4"},
                    {"s_load_dword s5, s[0:1], 0x4", "s_load_dword s4, s[0:1], 0x0"}));
}

TEST_F(ValueGraph, DependentWorkMayNot) {
  EXPECT_FALSE(equal({"v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v1, v6"},
                     {"v_mul_f32_e32 v4, v1, v6", "v_add_f32_e32 v1, v2, v3"}));
  EXPECT_FALSE(equal({"s_cmp_eq_u32 s0, s1", "s_cselect_b32 s2, s3, s4", "s_add_u32 s5, s6, s7"},
                     {"s_cmp_eq_u32 s0, s1", "s_add_u32 s5, s6, s7", "s_cselect_b32 s2, s3, s4"}));
  EXPECT_FALSE(
      equal({"v_mov_b32_e32 v1, v2", "s_mov_b64 exec, s[4:5]"}, {"s_mov_b64 exec, s[4:5]", "v_mov_b32_e32 v1, v2"}));
}

TEST_F(ValueGraph, MemoryOrderIsKept) {
  EXPECT_FALSE(equal({"ds_write_b32 v1, v2", "ds_read_b32 v3, v4"}, {"ds_read_b32 v3, v4", "ds_write_b32 v1, v2"}));
  EXPECT_FALSE(equal({"global_store_dword v[0:1], v2, off", "global_load_dword v3, v[4:5], off"},
                     {"global_load_dword v3, v[4:5], off", "global_store_dword v[0:1], v2, off"}));
  EXPECT_FALSE(equal({"ds_write_b32 v1, v2", "s_barrier"}, {"s_barrier", "ds_write_b32 v1, v2"}));
  EXPECT_FALSE(equal({"ds_read_b32 v3, v4", "s_barrier"}, {"s_barrier", "ds_read_b32 v3, v4"}));
  EXPECT_FALSE(equal({"buffer_load_dword v1, s[4:7], 0 offen lds", "ds_read_b32 v3, v4"},
                     {"ds_read_b32 v3, v4", "buffer_load_dword v1, s[4:7], 0 offen lds"}));
}

TEST_F(ValueGraph, ImmediatesOperandsAndModifiersAreMeaning) {
  EXPECT_FALSE(equal({"v_sub_f32_e32 v1, v2, v3"}, {"v_sub_f32_e32 v1, v3, v2"}));
  EXPECT_FALSE(equal({"v_add_u32_e32 v1, 4, v2"}, {"v_add_u32_e32 v1, 5, v2"}));
  EXPECT_FALSE(equal({"ds_read_b32 v1, v2 offset:4"}, {"ds_read_b32 v1, v2 offset:8"}));
  EXPECT_FALSE(equal({"v_add_f32_e64 v1, v2, v3"}, {"v_add_f32_e64 v1, -v2, v3"}));
  EXPECT_FALSE(equal({"v_add_f32_e64 v1, v2, v3"}, {"v_add_f32_e64 v1, v2, v3 clamp"}));
  EXPECT_FALSE(equal({"v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf"},
                     {"v_mov_b32_dpp v1, v2 row_shl:2 row_mask:0xf bank_mask:0xf"}));
  EXPECT_FALSE(equal({"global_load_dword v1, v[2:3], off sc1"}, {"global_load_dword v1, v[2:3], off"}));
}

TEST_F(ValueGraph, WaitsAndNopsHaveNoValue) {
  EXPECT_TRUE(equal({"ds_read_b32 v1, v2", "s_waitcnt lgkmcnt(0)", "s_nop 3", "v_add_u32_e32 v3, v1, v1"},
                    {"ds_read_b32 v1, v2", "v_add_u32_e32 v3, v1, v1"}));
}

TEST_F(ValueGraph, OverwrittenLanesDoNotCount) {
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

TEST_F(ValueGraph, WritesThatIgnoreExecAreNeverCoveredByOnesThatDoNot) {
  EXPECT_FALSE(equal({"v_writelane_b32 v1, s4, 5", "v_mov_b32_e32 v1, v2"}, {"v_mov_b32_e32 v1, v2"}));
  EXPECT_FALSE(equal({"v_mov_b32_e32 v1, v2", "v_writelane_b32 v1, s4, 5"},
                     {"v_writelane_b32 v1, s4, 5", "v_mov_b32_e32 v1, v2"}));
  // ... and EXEC may change before or after them.
  EXPECT_TRUE(equal({"v_writelane_b32 v1, s4, 5", "s_mov_b64 exec, s[6:7]"},
                    {"s_mov_b64 exec, s[6:7]", "v_writelane_b32 v1, s4, 5"}));
}

TEST_F(ValueGraph, RenamingKeepsTheValue) {
  EXPECT_EQ(run({"v_mul_f32_e32 v9, v2, v3", "v_add_f32_e32 v1, v9, v4"}).units[isa::vgprUnit(1)],
            run({"v_mul_f32_e32 v8, v2, v3", "v_add_f32_e32 v1, v8, v4"}).units[isa::vgprUnit(1)]);
}

TEST_F(ValueGraph, IndexedRegistersAreRefused) {
  SymbolicState state = fresh();
  SymbolicExecutor executor(terms, 128);
  for (const char* line :
       {"s_set_gpr_idx_on s0, gpr_idx(SRC0)", "s_movrels_b32 s0, s1", "s_swappc_b64 s[30:31], s[4:5]"}) {
    auto inst = codec->assemble(line);
    ASSERT_TRUE(inst) << line;
    std::string reason;
    EXPECT_FALSE(executor.execute(*codec->complete(*inst), "", state, reason)) << line;
    EXPECT_FALSE(reason.empty());
  }
}

} // namespace
} // namespace asmevo::verify
