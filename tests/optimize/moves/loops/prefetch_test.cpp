// Prefetching over the back edge: what it makes of a loop, what that computes, and which loops it leaves alone.
#include "optimize/moves/loops/prefetch.h"

#include "optimize/edit/loop_slice.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::position;
using tests::textFixture;

/// A loop of `turns` that adds up dwords 256 bytes apart, from v1 on; `body` and `after` are put into it and behind it.
std::string loopText(const std::string& turns, const std::string& body = "", const std::string& after = "",
                     const std::string& before = "") {
  return fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, 0
  s_mov_b32 s9, {}
  {}
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, 1
  {}
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v3, v2, 3
  v_add_u32_e32 v4, v3, v4
  s_cmp_lg_u32 s8, s9
  s_cbranch_scc1 top
  {}
  global_store_dword v1, v4, s[2:3] offset:2048
)",
                     turns, before, body, after);
}

std::vector<Proposal> proposalsOf(MoveFixture& fixture) {
  MoveContext context = fixture.context();
  context.launches = &fixture.dispatch;
  return prefetchMove().propose(fixture.program, context);
}

verify::Verdict verdictOn(MoveFixture& fixture, const Proposal& proposal) {
  verify::Options options;
  options.seeds = {0, 1};
  auto verdict =
      verify::verify(fixture.object, fixture.rebuilt(proposal.program), fixture.dispatch, tests::simulator(), options);
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict ? *std::move(verdict) : verify::Verdict{};
}

void expectSameBuffers(MoveFixture& fixture, const Proposal& proposal) {
  const auto k0 = tests::simulator().load(fixture.object, "k"),
             k1 = tests::simulator().load(fixture.rebuilt(proposal.program), "k");
  ASSERT_TRUE(k0 && k1);
  const auto x = (*k0)->launch(fixture.dispatch.cases[0], {}), y = (*k1)->launch(fixture.dispatch.cases[0], {});
  ASSERT_TRUE(x && y);
  EXPECT_EQ(x->buffers, y->buffers);
  EXPECT_TRUE(y->guardViolations.empty());
}

std::size_t countOf(const std::vector<std::string>& lines, const std::string& prefix) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(prefix); }));
}

/// One turn and two end in either of the peeled iterations, more pass through both.
TEST(Prefetch, ComputesTheSameForEveryNumberOfTurns) {
  for (const char* turns : {"1", "2", "3", "4", "7"}) {
    SCOPED_TRACE(turns);
    const auto fixture = textFixture(loopText(turns));
    const auto proposals = proposalsOf(*fixture);
    ASSERT_EQ(proposals.size(), 2u) << "loads where the loop has them, and all at once";
    for (const Proposal& proposal : proposals) {
      const auto lines = fixture->lines(proposal.program);
      EXPECT_EQ(countOf(lines, "global_load_dword "), 3u) << "in front, and in each of the two turns";
      EXPECT_EQ(countOf(lines, "v_mul_lo_u32 "), 4u) << "two turns and two last ones";
      EXPECT_FALSE(proposal.assumptions.empty()) << "that waves are whole";
      expectSameBuffers(*fixture, proposal);
    }
  }
}

/// Loads of the next turn stay in flight over the waits of this one, and over a barrier behind them.
TEST(Prefetch, WaitsLeaveTheNextTurnsLoadsInFlight) {
  const auto fixture =
      textFixture(loopText("6", "global_load_dword v7, v5, s[2:3] offset:64\n  s_barrier", "", "v_mov_b32_e32 v7, 0"));
  const auto proposals = proposalsOf(*fixture);
  ASSERT_GE(proposals.size(), 2u);
  for (const Proposal& proposal : {proposals[0], proposals[1]}) {
    const auto lines = fixture->lines(proposal.program);
    const auto multiply = position(lines, "v_mul_lo_u32 ");
    const auto wait = std::find_if(lines.rbegin() + static_cast<std::ptrdiff_t>(lines.size() - multiply), lines.rend(),
                                   [](const std::string& line) { return line.starts_with("s_waitcnt"); });
    ASSERT_NE(wait, lines.rend());
    EXPECT_TRUE(*wait == "s_waitcnt vmcnt(2)" || *wait == "s_waitcnt vmcnt(3)") << *wait;
    expectSameBuffers(*fixture, proposal);
  }
}

TEST(Prefetch, FollowsALoopThatTestsVcc) {
  for (const char* turns : {"1", "2", "5"}) {
    SCOPED_TRACE(turns);
    const auto fixture = textFixture(fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  v_mov_b32_e32 v6, 0
  s_mov_b32 s9, {}
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  v_add_u32_e32 v6, 1, v6
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  v_cmp_ne_u32_e32 vcc, s9, v6
  s_and_b64 vcc, exec, vcc
  s_cbranch_vccnz top
  global_store_dword v1, v4, s[2:3] offset:2048
)",
                                                 turns));
    const auto proposals = proposalsOf(*fixture);
    ASSERT_EQ(proposals.size(), 2u);
    for (const Proposal& proposal : proposals)
      expectSameBuffers(*fixture, proposal);
  }
}

TEST(Prefetch, TheGateTakesItWhereCasesReachAllOfIt) {
  // The number of turns comes from memory, so that other data run both peeled iterations.
  const auto fixture = textFixture(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, 0
  s_and_b32 s9, s6, 3
  s_add_i32 s9, s9, 1
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, 1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  s_cmp_lg_u32 s8, s9
  s_cbranch_scc1 top
  global_store_dword v1, v4, s[2:3] offset:2048
)");
  const auto proposals = proposalsOf(*fixture);
  ASSERT_EQ(proposals.size(), 2u);
  const auto verdict = verdictOn(*fixture, proposals[0]);
  EXPECT_TRUE(verdict.newFindings.empty());
  EXPECT_TRUE(verdict.newStrictFindings.empty());
  EXPECT_TRUE(std::ranges::all_of(verdict.cases, [](const auto& one) { return one.skipped || one.equal; }));
}

TEST(Prefetch, LeavesAloneWhatItMust) {
  const auto none = [](const std::string& text) { return proposalsOf(*textFixture(text)).empty(); };
  EXPECT_FALSE(none(loopText("4")));
  EXPECT_TRUE(none(loopText("4", "global_store_dword v5, v4, s[2:3]"))) << "the load may read what was stored";
  EXPECT_TRUE(none(loopText("4", "global_atomic_add v5, v4, s[2:3]")));
  EXPECT_TRUE(none(loopText("4", "s_mov_b64 exec, s[10:11]", "", "s_mov_b64 s[10:11], exec"))) << "EXEC changes";
  EXPECT_TRUE(none(loopText("4", "s_waitcnt vmcnt(0)\n  v_add_u32_e32 v5, v2, v5"))) << "the address is loaded";
  EXPECT_TRUE(none(loopText("4", "", "v_add_u32_e32 v4, v2, v4"))) << "the loaded value is read behind the loop";
  EXPECT_TRUE(none(loopText("4", "", "s_cselect_b32 s10, 1, 0\n  v_mov_b32_e32 v4, s10")))
      << "what the test said is read behind the loop";
  EXPECT_TRUE(none(loopText("4", "v_readfirstlane_b32 s10, v2\n  s_add_i32 s8, s8, s10")))
      << "a loaded value decides how often it turns";
}

/// A load that the loop does not wait for in front of its barrier may be in flight there in every copy of the loop.
TEST(Prefetch, CopiesMayLeaveInFlightWhatTheLoopDid) {
  const auto fixture = textFixture(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, 0
  s_and_b32 s9, s6, 3
  s_add_i32 s9, s9, 1
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, 1
  s_waitcnt vmcnt(0)
  v_and_b32_e32 v6, 0x3fc, v4
  global_load_dword v7, v6, s[2:3]
  s_barrier
  v_add_u32_e32 v4, v2, v4
  s_waitcnt vmcnt(0)
  s_barrier
  v_add_u32_e32 v4, v7, v4
  s_cmp_lg_u32 s8, s9
  s_cbranch_scc1 top
  global_store_dword v1, v4, s[2:3] offset:2048
)");
  const auto proposals = proposalsOf(*fixture);
  ASSERT_EQ(proposals.size(), 2u);
  for (const Proposal& proposal : proposals) {
    const auto verdict = verdictOn(*fixture, proposal);
    EXPECT_TRUE(verdict.newFindings.empty()) << verdict.newFindings.size();
    EXPECT_TRUE(verdict.newStrictFindings.empty());
  }
}

/// An index is loaded, and what it leads to: both for the next turn, the second once the first has arrived.
std::string chaseText(const std::string& turns, const std::string& between = "", const std::string& bottom = "") {
  return fmt::format(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, 0
  s_mov_b32 s9, {}
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_waitcnt vmcnt(0)
  v_and_b32_e32 v2, 0x3fc, v2
  {}
  global_load_dword v3, v2, s[2:3]
  s_add_i32 s8, s8, 1
  v_lshlrev_b32_e32 v4, 1, v4
  v_xor_b32_e32 v4, s8, v4
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v3, v4
  {}
  s_cmp_lg_u32 s8, s9
  s_cbranch_scc1 top
  global_store_dword v1, v4, s[2:3] offset:2048
)",
                     turns, between, bottom);
}

TEST(Prefetch, FollowsAPointerChase) {
  for (const char* turns : {"1", "2", "3", "6"}) {
    SCOPED_TRACE(turns);
    const auto fixture = textFixture(chaseText(turns));
    const auto proposals = proposalsOf(*fixture);
    const auto staged = std::ranges::count_if(proposals, [](const Proposal& proposal) {
      return proposal.reason.find("brought their addresses") != std::string::npos;
    });
    EXPECT_GE(staged, 2);
    for (const Proposal& proposal : proposals)
      expectSameBuffers(*fixture, proposal);
  }
}

TEST(Prefetch, LeavesAloneChasesItCannotTakeApart) {
  const auto staged = [](const std::string& text) {
    return std::ranges::any_of(proposalsOf(*textFixture(text)), [](const Proposal& proposal) {
      return proposal.reason.find("brought their addresses") != std::string::npos;
    });
  };
  EXPECT_TRUE(staged(chaseText("4")));
  EXPECT_FALSE(staged(chaseText("4", "", "v_add_u32_e32 v5, v3, v5"))) << "what is loaded leads to the next index";
  EXPECT_FALSE(staged(chaseText("4", "v_cndmask_b32_e32 v2, 0, v2, vcc", "v_cmp_lt_u32_e32 vcc, 7, v5")))
      << "VCC of the turn before";
}

/// A barrier may be what makes another wave's stores visible: not if no store comes before any.
TEST(Prefetch, LoadsStayBehindABarrierThatStoresMayReach) {
  EXPECT_FALSE(proposalsOf(*textFixture(loopText("4", "s_barrier"))).empty());
  const auto stores = textFixture(loopText("4", "s_barrier", "", "global_store_dword v1, v4, s[2:3] offset:4032"));
  EXPECT_TRUE(proposalsOf(*stores).empty());
}

/// VCC behind the loop may come from in front of it, as long as what runs ahead does not write it.
TEST(Prefetch, FlagsOfOthersSurvive) {
  const std::string before = "v_cmp_eq_u32_e32 vcc, 0, v0", after = "v_cndmask_b32_e32 v4, 7, v4, vcc";
  EXPECT_FALSE(proposalsOf(*textFixture(loopText("4", "", after, before))).empty());
  const auto clobbers = textFixture(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  v_mov_b32_e32 v6, 0
  s_mov_b32 s8, 0
top:
  v_add_co_u32_e32 v5, vcc, 0x100, v5
  v_addc_co_u32_e32 v6, vcc, 0, v6, vcc
  global_load_dword v2, v5, s[2:3]
  s_add_i32 s8, s8, 1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  s_cmp_lg_u32 s8, 4
  s_cbranch_scc1 top
  v_cndmask_b32_e32 v4, 7, v4, vcc
  global_store_dword v1, v4, s[2:3] offset:2048
)");
  EXPECT_TRUE(proposalsOf(*clobbers).empty());
}

/// A tuple of a loaded register and another one is copied together.
TEST(Prefetch, ATupleMayHoldMoreThanWasLoaded) {
  const auto fixture = textFixture(R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v8, v1
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v5, 0
  s_mov_b32 s8, 0
top:
  global_load_dword v2, v8, s[2:3]
  v_add_u32_e32 v8, 0x100, v8
  s_add_i32 s8, s8, 1
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v3, s8
  v_lshl_add_u64 v[4:5], v[2:3], 0, v[4:5]
  s_cmp_lg_u32 s8, 5
  s_cbranch_scc1 top
  global_store_dwordx2 v1, v[4:5], s[2:3] offset:2048
)");
  const auto proposals = proposalsOf(*fixture);
  ASSERT_EQ(proposals.size(), 2u);
  for (const Proposal& proposal : proposals)
    expectSameBuffers(*fixture, proposal);
}

} // namespace
} // namespace asmevo::optimize
