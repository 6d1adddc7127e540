// Loads of several turns issued together: the same results for every number of turns, whole waves and lanes that leave.
#include "optimize/moves/loops/batch_loads.h"

#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::textFixture;

std::vector<Proposal> proposalsOf(MoveFixture& fixture) {
  MoveContext context = fixture.context();
  context.launches = &fixture.dispatch;
  return batchLoadsMove().propose(fixture.program, context);
}

/// What one launch leaves in the buffers.
std::vector<Bytes> outputs(const MoveFixture& fixture, const object::CodeObject& object) {
  const auto loaded = tests::simulator().load(object, "k");
  EXPECT_TRUE(loaded) << loaded.error().message;
  auto run = (*loaded)->launch(fixture.dispatch.cases[0], {});
  EXPECT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->guardViolations.empty());
  return run->buffers;
}

void expectSameOutputs(MoveFixture& fixture, std::size_t proposals) {
  const auto list = proposalsOf(fixture);
  ASSERT_EQ(list.size(), proposals);
  const auto expected = outputs(fixture, fixture.object);
  for (const Proposal& proposal : list) {
    SCOPED_TRACE(proposal.reason);
    EXPECT_EQ(outputs(fixture, fixture.rebuilt(proposal.program)), expected);
  }
}

/// Adds up every 64th dword, `turns` of them.
std::string scalarLoop(unsigned turns, const std::string& test) {
  return fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, {}
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, -1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  {}
  global_store_dword v1, v4, s[2:3] offset:4032
)",
                     turns, test);
}

TEST(BatchLoads, EveryNumberOfTurns) {
  // Twice eight and one: two whole rounds of every width, and every shorter one.
  for (unsigned turns = 1; turns <= 17; ++turns) {
    SCOPED_TRACE(turns);
    expectSameOutputs(*textFixture(scalarLoop(turns, "s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 top")), 3);
    expectSameOutputs(*textFixture(scalarLoop(turns, "s_cmp_eq_u32 s8, 0\n  s_cbranch_scc0 top")), 3);
  }
}

/// Each lane takes (lane & `mask`) + 1 turns and leaves.
std::string leavingLoop(unsigned mask, const std::string& body = "", const std::string& after = "") {
  return fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  v_and_b32_e32 v6, {}, v0
  s_mov_b64 s[10:11], exec
  s_mov_b64 s[12:13], 0
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  v_cmp_eq_u32_e64 s[14:15], 0, v6
  v_add_u32_e32 v6, -1, v6
  s_or_b64 s[12:13], s[14:15], s[12:13]
  {}
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  s_andn2_b64 exec, exec, s[12:13]
  s_cbranch_execnz top
  s_mov_b64 exec, s[10:11]
  {}
  global_store_dword v1, v4, s[2:3] offset:4032
)",
                     mask, body, after);
}

TEST(BatchLoads, LanesLeaveOneByOne) {
  for (const unsigned mask : {0u, 1u, 3u, 7u, 10u}) {
    SCOPED_TRACE(mask);
    expectSameOutputs(*textFixture(leavingLoop(mask)), 3);
  }
}

TEST(BatchLoads, TheLoadsOfARoundStandTogether) {
  const auto fixture = textFixture(scalarLoop(9, "s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 top"));
  const auto proposals = proposalsOf(*fixture);
  ASSERT_EQ(proposals.size(), 3u);
  for (const auto& [proposal, turns] : {std::pair(0, 8), std::pair(1, 4), std::pair(2, 2)}) {
    const auto lines = fixture->lines(proposals[static_cast<std::size_t>(proposal)].program);
    const auto count = [&](const std::string& prefix) {
      return std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(prefix); });
    };
    EXPECT_EQ(count("global_load_dword "), turns);
    EXPECT_EQ(count("v_add_u32_e32 v4, "), 2 * turns - 1) << "a round, and a last one that is shorter";
    // The first use of a round waits for the oldest of its loads only.
    EXPECT_EQ(count(fmt::format("s_waitcnt vmcnt({})", turns - 1)), 1);
  }
}

TEST(BatchLoads, LeavesAloneWhatItMust) {
  const auto none = [](const std::string& text) { return proposalsOf(*textFixture(text)).empty(); };
  EXPECT_TRUE(none(leavingLoop(3, "global_store_dword v5, v4, s[2:3]"))) << "the load may read what was stored";
  EXPECT_TRUE(none(leavingLoop(3, "s_or_b64 exec, exec, s[10:11]"))) << "EXEC changes in the middle";
  EXPECT_TRUE(none(leavingLoop(3, "s_waitcnt vmcnt(0)\n  v_and_b32_e32 v6, v6, v2"))) << "loads decide who leaves";
  EXPECT_TRUE(none(leavingLoop(3, "", "v_add_u32_e32 v4, v2, v4"))) << "the last loaded value is read behind the loop";
  EXPECT_TRUE(none(leavingLoop(3, "s_waitcnt vmcnt(0)\n  v_mov_b32_dpp v7, v2 row_shr:1 row_mask:0xf bank_mask:0xf")))
      << "lanes that have left are read";
  // Written in the lanes that read it: what the loop left there is not looked at.
  EXPECT_FALSE(none(leavingLoop(3, "", "v_mov_b32_e32 v2, 1\n  v_add_u32_e32 v4, v2, v4")));
  EXPECT_TRUE(none(leavingLoop(3, "",
                               "s_mov_b64 exec, 1\n  v_mov_b32_e32 v2, 1\n  s_mov_b64 exec, s[10:11]\n"
                               "  v_add_u32_e32 v4, v2, v4")))
      << "written in one lane, read in all";
}

} // namespace
} // namespace asmevo::optimize
