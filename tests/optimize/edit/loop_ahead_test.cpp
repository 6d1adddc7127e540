// What a loop's loads run ahead must leave to those behind the loop.
#include "optimize/moves/loops/batch_loads.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

/// A loop that loads v2, lanes 0 to 31 given another v2 behind it, then `turn` and a use of v2.
std::string loopAndBranches(const std::string& turn) {
  return fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, 0
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, 1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  s_cmp_lg_u32 s8, 4
  s_cbranch_scc1 top
  v_cmp_gt_u32_e32 vcc, 32, v0
  s_and_saveexec_b64 s[12:13], vcc
  v_mov_b32_e32 v2, 7
  {}
  v_add_u32_e32 v4, v2, v4
  s_mov_b64 exec, s[12:13]
  global_store_dword v1, v4, s[2:3] offset:2048
)",
                     turn);
}

bool isBatched(const std::string& turn) {
  const auto fixture = tests::textFixture(loopAndBranches(turn));
  MoveContext context = fixture->context();
  context.launches = &fixture->dispatch;
  return !batchLoadsMove().propose(fixture->program, context).empty();
}

/// A write covers reads as long as EXEC gets no lanes that it lacked.
TEST(LoopAhead, AWriteInSomeLanesHidesTheLoopsValueFromThoseOnly) {
  EXPECT_TRUE(isBatched("s_nop 0"));
  EXPECT_TRUE(isBatched("s_and_b64 exec, exec, s[6:7]"));
  EXPECT_TRUE(isBatched("s_andn2_b64 exec, exec, s[6:7]"));
  EXPECT_TRUE(isBatched("s_andn1_saveexec_b64 s[14:15], s[6:7]")) << "EXEC = EXEC & ~source";
  EXPECT_FALSE(isBatched("s_andn2_saveexec_b64 s[14:15], s[12:13]")) << "EXEC = source & ~EXEC: the other lanes";
  EXPECT_FALSE(isBatched("s_mov_b64 exec, s[12:13]"));
  EXPECT_FALSE(isBatched("s_or_b64 exec, exec, s[6:7]"));
  EXPECT_FALSE(isBatched("v_readlane_b32 s14, v2, 40")) << "reads a lane that is off";
}

/// A loop whose loaded register serves the body as something else first: `first` in front of the load.
std::string loopThatReuses(const std::string& first) {
  return fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  v_mov_b32_e32 v2, 3
  s_mov_b32 s8, 0
top:
  {}
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, 1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  s_cmp_lg_u32 s8, 5
  s_cbranch_scc1 top
  global_store_dword v1, v4, s[2:3] offset:2048
)",
                     first);
}

TEST(LoopAhead, ALoadsRegisterMayHoldAnotherValueOfTheIterationBefore) {
  const auto fixture = tests::textFixture(loopThatReuses("v_lshlrev_b32_e32 v2, 1, v4\n  v_xor_b32_e32 v4, v2, v4"));
  MoveContext context = fixture->context();
  context.launches = &fixture->dispatch;
  const auto proposals = batchLoadsMove().propose(fixture->program, context);
  ASSERT_FALSE(proposals.empty());
  const auto k0 = tests::simulator().load(fixture->object, "k");
  ASSERT_TRUE(k0);
  const auto x = (*k0)->launch(fixture->dispatch.cases[0], {});
  ASSERT_TRUE(x);
  for (const Proposal& proposal : proposals) {
    SCOPED_TRACE(proposal.reason);
    const auto k1 = tests::simulator().load(fixture->rebuilt(proposal.program), "k");
    ASSERT_TRUE(k1);
    const auto y = (*k1)->launch(fixture->dispatch.cases[0], {});
    ASSERT_TRUE(y);
    EXPECT_EQ(x->buffers, y->buffers);
  }
}

TEST(LoopAhead, ALoadedValueOfTheLastIterationIsLeftAlone) {
  const auto fixture = tests::textFixture(loopThatReuses("v_xor_b32_e32 v4, v2, v4"));
  MoveContext context = fixture->context();
  context.launches = &fixture->dispatch;
  EXPECT_TRUE(batchLoadsMove().propose(fixture->program, context).empty());
}

} // namespace
} // namespace asmevo::optimize
