// Branches turned around: the gate must accept every proposal, and what runs often must stay where it is.
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
