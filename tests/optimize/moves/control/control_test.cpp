// Branches dropped or turned around: the gate must accept every proposal, and what is not safe must not be proposed.
#include "optimize/moves/control/drop_guards.h"
#include "optimize/moves/control/straighten.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::textFixture;
using Lines = std::vector<std::string>;

/// The kernel after the move's first proposal, which the gate must accept; empty where nothing is proposed.
Lines after(const Move& move, const std::string& code) {
  const auto fixture = textFixture(code);
  const auto proposals = fixture->propose(move);
  if (proposals.empty())
    return {};
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  for (const Proposal& proposal : proposals) {
    EXPECT_TRUE(proposal.assumptions.empty());
    const auto verdict = verify::verify(fixture->object, fixture->rebuilt(proposal.program), fixture->dispatch,
                                        tests::simulator(), options);
    EXPECT_TRUE(verdict) << verdict.error().message;
    if (verdict)
      EXPECT_LE(verdict->level, verify::Level::exact)
          << verdict->reason << fmt::format("\n{}", fmt::join(fixture->lines(proposal.program), "\n"));
  }
  return fixture->lines(proposals.front().program);
}

std::size_t count(const Lines& lines, const std::string& prefix) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(prefix); }));
}

/// Half of the lanes do `inner`; then everybody stores v8 and s[8:9] added up.
std::string guarded(const std::string& inner) {
  return R"(
  v_mov_b32_e32 v8, 7
  s_mov_b32 s8, 1
  s_mov_b32 s9, 2
  v_cmp_gt_u32_e32 vcc, 32, v0
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz skip
)" + inner +
         R"(
skip:
  s_or_b64 exec, exec, s[4:5]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_add_u32 s8, s8, s9
  v_add_u32_e32 v8, s8, v8
  global_store_dword v1, v8, s[2:3] offset:512
)";
}

TEST(DropGuards, WhatNeedsLanesMayRunWithoutThem) {
  const Lines lines = after(dropGuardsMove(), guarded("v_add_u32_e32 v8, 5, v8\n global_load_dword v8, v1, s[2:3]"));
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(count(lines, "s_cbranch"), 0u);
  EXPECT_EQ(count(lines, "global_load_dword"), 1u);
}

TEST(DropGuards, NestedGuardsGoInsideOut) {
  const Lines lines = after(dropGuardsMove(), guarded(R"(
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz inner
  global_load_dword v8, v1, s[2:3]
inner:
  s_or_b64 exec, exec, s[10:11]
  v_mov_b32_e32 v9, 0
)"));
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(count(lines, "s_cbranch"), 0u);
}

TEST(DropGuards, WhatLanesDoNotDecideIsSkippedStill) {
  // A scalar that is read behind, a scalar load, a barrier, one lane by number, another mask, other ways in.
  for (const char* inner :
       {"s_mov_b32 s8, 5", "s_load_dword s8, s[2:3], 0x0\n s_waitcnt lgkmcnt(0)", "s_barrier",
        "v_writelane_b32 v8, s9, 3", "v_readfirstlane_b32 s8, v8", "s_mov_b64 exec, s[4:5]\n v_mov_b32_e32 v8, 1",
        "v_cmp_eq_u32_e64 s[8:9], 0, v1", "v_mfma_f32_4x4x1_16b_f32 v[8:11], v1, v1, v[8:11]\n s_nop 7"})
    EXPECT_TRUE(after(dropGuardsMove(), guarded(inner)).empty()) << inner;
  EXPECT_TRUE(after(dropGuardsMove(),
                    "s_cmp_eq_u32 s6, 12345\n s_cbranch_scc1 in\n" + guarded("in:\n global_load_dword v8, v1, s[2:3]"))
                  .empty());
  // Tested the other way round, what follows runs without lanes only.
  EXPECT_TRUE(after(dropGuardsMove(), R"(
  v_mov_b32_e32 v8, 7
  s_cbranch_execnz skip
  v_mov_b32_e32 v8, 8
skip:
  global_store_dword v1, v8, s[2:3] offset:512
)")
                  .empty());
}

TEST(DropGuards, WithoutLanes) {
  const auto fixture = textFixture("v_nop");
  const auto harmless = [&](const char* text) {
    return harmlessWithoutLanes(*fixture->codec->complete(*fixture->codec->assemble(text)));
  };
  EXPECT_TRUE(harmless("buffer_store_dword v1, v2, s[4:7], 0 offen"));
  EXPECT_TRUE(harmless("global_atomic_add v1, v2, s[2:3]"));
  EXPECT_TRUE(harmless("ds_write_b32 v1, v2"));
  EXPECT_FALSE(harmless("buffer_load_dword v1, s[4:7], 0 offen lds"));
  EXPECT_FALSE(harmless("s_sleep 1"));
  EXPECT_FALSE(harmless("s_endpgm"));
  EXPECT_FALSE(harmless("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"));
}

/// A loop whose branch over `rare` is taken in all turns but the last of 40.
std::string loopAround(const std::string& rare) {
  return R"(
  v_mov_b32_e32 v8, 7
  s_mov_b32 s8, 40
top:
  s_cmp_lg_u32 s8, 1
  s_cbranch_scc1 usual
)" + rare +
         R"(
usual:
  v_add_u32_e32 v8, s8, v8
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 top
  global_store_dword v1, v8, s[2:3] offset:512
)";
}

TEST(Straighten, RareCodeStandsBehindTheKernel) {
  const Lines lines = after(straightenMove(), loopAround("v_mul_lo_u32 v8, v8, 3"));
  ASSERT_FALSE(lines.empty());
  const auto end = tests::position(lines, "s_endpgm");
  EXPECT_EQ(tests::position(lines, "v_mul_lo_u32"), end + 1);
  EXPECT_EQ(tests::position(lines, "s_branch"), end + 2);
  EXPECT_EQ(lines[tests::position(lines, "s_cmp_lg_u32 s8, 1") + 1], "s_cbranch_scc0");
}

TEST(Straighten, SeveralBlocksGoTogether) {
  const Lines lines = after(straightenMove(), loopAround(R"(
  v_cmp_gt_u32_e32 vcc, 32, v0
  s_cbranch_vccz one
  v_mul_lo_u32 v8, v8, 3
one:
  v_xor_b32_e32 v8, 1, v8
)"));
  ASSERT_FALSE(lines.empty());
  const auto end = tests::position(lines, "s_endpgm");
  EXPECT_GT(tests::position(lines, "v_mul_lo_u32"), end);
  EXPECT_GT(tests::position(lines, "v_xor_b32"), tests::position(lines, "v_mul_lo_u32"));
}

TEST(Straighten, WhatRunsOftenStays) {
  // Entered in every other turn.
  EXPECT_TRUE(after(straightenMove(), R"(
  v_mov_b32_e32 v8, 7
  s_mov_b32 s8, 40
top:
  s_bitcmp1_b32 s8, 0
  s_cbranch_scc1 usual
  v_mul_lo_u32 v8, v8, 3
usual:
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 top
  global_store_dword v1, v8, s[2:3] offset:512
)")
                  .empty());
}

TEST(Straighten, BlocksInAnotherOrderKeepTheirReferences) {
  const auto fixture = textFixture(loopAround("v_mul_lo_u32 v8, v8, 3"));
  program::Program edited = fixture->program;
  std::vector<program::BlockId> same;
  for (program::BlockId id = 0; id < edited.blocks.size(); ++id)
    same.push_back(id);
  reorderBlocks(edited, same);
  edited.relink();
  EXPECT_EQ(fixture->lines(edited), fixture->lines(fixture->program));
}

} // namespace
} // namespace asmevo::optimize
