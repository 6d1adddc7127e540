// Scheduling with values renamed, memory operations exchanged and loads over barriers: what it may do and what not.
#include "optimize/edit/registers.h"
#include "optimize/moves/scheduling/list_scheduler.h"
#include "optimize/moves/scheduling/raise_priority.h"
#include "optimize/moves/scheduling/schedule.h"
#include "optimize/moves/scheduling/trim_nops.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <functional>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::position;
using tests::textFixture;
using Lines = std::vector<std::string>;

std::vector<Proposal> proposalsOf(MoveFixture& fixture, const Move& move, unsigned effort = 0) {
  MoveContext context = fixture.context();
  context.launches = &fixture.dispatch;
  context.effort = effort;
  return move.propose(fixture.program, context);
}

/// Every proposal verifies; how many have `property`.
std::size_t countVerified(MoveFixture& fixture, const std::vector<Proposal>& proposals,
                          const std::function<bool(const Lines&)>& property) {
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  std::size_t count = 0;
  for (const Proposal& proposal : proposals) {
    SCOPED_TRACE(proposal.reason);
    count += property(fixture.lines(proposal.program));
    const auto verdict = verify::verify(fixture.object, fixture.rebuilt(proposal.program), fixture.dispatch,
                                        tests::simulator(), options);
    EXPECT_TRUE(verdict) << verdict.error().message;
    if (verdict) {
      EXPECT_LE(verdict->level, verify::Level::exact) << verdict->reason;
      EXPECT_TRUE(verdict->newFindings.empty()) << verdict->newFindings.front().message;
    }
  }
  return count;
}

TEST(ScheduleRenaming, ALoadThatWaitedForItsRegisterGoesUp) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v4, v2, v0
  v_mul_lo_u32 v4, v4, v2
  global_load_dword v2, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3]
)");
  const auto proposals = proposalsOf(*fixture, scheduleMove());
  const auto isEarly = [](const Lines& lines) {
    const std::size_t second = position(lines, "global_load_dword v3, v1, s[2:3] offset:256");
    return second < lines.size() && second < position(lines, "v_mul_lo_u32");
  };
  EXPECT_GT(countVerified(*fixture, proposals, isEarly), 0u);
  for (const Proposal& proposal : proposals)
    if (isEarly(fixture->lines(proposal.program)))
      EXPECT_EQ(proposal.assumptions, std::vector<std::string>{std::string(wholeWavesAssumption)});
}

TEST(ScheduleRenaming, NotWithoutKnowingThatWavesAreWhole) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v4, v2, v0
  global_load_dword v2, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3]
)");
  for (const Proposal& proposal : fixture->propose(scheduleMove())) {
    const Lines lines = fixture->lines(proposal.program);
    EXPECT_LT(position(lines, "global_load_dword v2, v1, s[2:3] offset:256"), lines.size());
  }
}

TEST(ScheduleRenaming, InALoopTheProofRestsOnWholeWaves) {
  const auto fixture = textFixture(R"(
  v_mov_b32_e32 v4, 0
  s_mov_b32 s8, 3
loop:
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v5, v2, v0
  global_load_dword v2, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0)
  v_readlane_b32 s9, v2, 60
  s_nop 3
  v_add_u32_e32 v4, v4, v5
  v_add_u32_e32 v4, s9, v4
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 loop
  global_store_dword v1, v4, s[2:3] offset:512
)");
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  dispatch::Dispatch partial = fixture->dispatch;
  partial.cases.front().workgroupSize = {48, 1, 1};
  partial.cases.front().gridSize = {48, 1, 1};
  std::size_t renamed = 0;
  for (const Proposal& proposal : proposalsOf(*fixture, scheduleMove())) {
    if (proposal.assumptions.empty())
      continue;
    ++renamed;
    const object::CodeObject k1 = fixture->rebuilt(proposal.program);
    const auto whole = verify::verify(fixture->object, k1, fixture->dispatch, tests::simulator(), options);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(whole->level, verify::Level::proved) << whole->reason;
    EXPECT_EQ(whole->proofAssumptions.size(), 1u);
    const auto other = verify::verify(fixture->object, k1, partial, tests::simulator(), options);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_NE(other->level, verify::Level::proved);
  }
  EXPECT_GT(renamed, 0u);
}

TEST(ScheduleExchange, EachUseWaitsForItsOwnLoad) {
  // The second load's data is wanted first.
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v4, v3, v0
  v_mul_lo_u32 v4, v4, v3
  v_mul_lo_u32 v4, v4, v0
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3]
)");
  const auto proposals = proposalsOf(*fixture, scheduleMove(), /*effort=*/1);
  EXPECT_GT(countVerified(*fixture, proposals,
                          [](const Lines& lines) {
                            return position(lines, "global_load_dword v3") < position(lines, "global_load_dword v2") &&
                                   position(lines, "s_waitcnt vmcnt(1)") < position(lines, "v_mul_lo_u32");
                          }),
            0u);
}

/// In a block without scalar loads, which would share the counter.
constexpr const char* ldsPair = R"(
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 next
  s_nop 0
next:
  v_mbcnt_lo_u32_b32 v8, -1, 0
  v_mbcnt_hi_u32_b32 v8, -1, v8
  v_lshlrev_b32_e32 v8, 2, v8
  v_mul_lo_u32 v5, v0, v0
  v_mul_lo_u32 v5, v5, v0
  ds_write_b32 v8, v5 offset:{}
  ds_read_b32 v6, v8 offset:1024
  s_waitcnt lgkmcnt(0)
  v_mul_lo_u32 v7, v6, v6
  global_store_dword v1, v7, s[2:3]
)";

/// Proposals in which the LDS read comes before the write.
std::size_t readsFirst(unsigned offset) {
  const auto fixture = textFixture(fmt::format(fmt::runtime(ldsPair), offset));
  return countVerified(*fixture, proposalsOf(*fixture, scheduleMove(), /*effort=*/1), [](const Lines& lines) {
    return position(lines, "ds_read_b32") < position(lines, "ds_write_b32");
  });
}

TEST(ScheduleExchange, LdsAccessesOfOneBaseByTheirOffsets) {
  EXPECT_GT(readsFirst(0), 0u);    // lanes 0 to 63 write bytes 0 to 255
  EXPECT_EQ(readsFirst(1024), 0u); // the same bytes
  EXPECT_EQ(readsFirst(896), 0u);  // lane 32 writes what lane 0 reads
}

TEST(ScheduleBarrier, LoadsGoUpOverBarriersOnlyWhereNothingWasStored) {
  const auto body = [](const char* store) {
    return fmt::format(R"(
  v_mov_b32_e32 v5, 7
  ds_write_b32 v1, v5
  {}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  ds_read_b32 v6, v1
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, v2, v6
  global_store_dword v1, v4, s[2:3] offset:1024
)",
                       store);
  };
  const auto above = [](const Lines& lines) {
    return position(lines, "global_load_dword v2") < position(lines, "s_barrier");
  };
  const auto clean = textFixture(body("s_nop 0"));
  EXPECT_GT(countVerified(*clean, proposalsOf(*clean, scheduleMove()), above), 0u);
  const auto stores = textFixture(body("global_store_dword v1, v5, s[2:3]"));
  EXPECT_EQ(countVerified(*stores, proposalsOf(*stores, scheduleMove()), above), 0u);
  // Never down over one.
  const auto before = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  v_mov_b32_e32 v5, 7
  s_barrier
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v5
  global_store_dword v1, v4, s[2:3] offset:1024
)");
  EXPECT_EQ(countVerified(*before, proposalsOf(*before, scheduleMove(), 1),
                          [&](const Lines& lines) { return !above(lines); }),
            0u);
}

TEST(ScheduleEffort, MoreEffortGivesOtherOrdersAndTheSameOnesAgain) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  v_mul_lo_u32 v5, v0, v0
  v_mul_lo_u32 v6, v5, v0
  v_mul_lo_u32 v7, v0, v1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v6
  v_add_u32_e32 v4, v4, v7
  global_store_dword v1, v4, s[2:3]
)");
  const auto linesOf = [&](unsigned effort) {
    std::vector<Lines> all;
    for (const Proposal& proposal : proposalsOf(*fixture, scheduleMove(), effort))
      all.push_back(fixture->lines(proposal.program));
    return all;
  };
  EXPECT_EQ(linesOf(2), linesOf(2));
  EXPECT_GT(linesOf(1).size(), linesOf(0).size());
  EXPECT_NE(linesOf(1), linesOf(2));
}

constexpr const char* loads = R"(
  v_mov_b32_e32 v5, 7
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  {}
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v3
  global_store_dword v1, v4, s[2:3]
)";

TEST(RaisePriority, AroundTheLoadsOfABlock) {
  const auto fixture = textFixture(fmt::format(fmt::runtime(loads), "s_nop 0"));
  fixture->profile.wavesPerSimd = 2;
  const auto proposals = proposalsOf(*fixture, raisePriorityMove());
  ASSERT_EQ(proposals.size(), 1u);
  // The first load of bodyOf is scalar, so the stretch begins with v2's.
  EXPECT_EQ(countVerified(*fixture, proposals,
                          [](const Lines& lines) {
                            const std::size_t up = position(lines, "s_setprio 1"),
                                              down = position(lines, "s_setprio 0");
                            return up + 1 == position(lines, "global_load_dword v2") &&
                                   down == position(lines, "global_load_dword v3") + 1;
                          }),
            1u);
}

TEST(RaisePriority, NotBesideAKernelsOwnNorForOneWave) {
  const auto own = textFixture(fmt::format(fmt::runtime(loads), "s_setprio 2"));
  own->profile.wavesPerSimd = 2;
  EXPECT_TRUE(proposalsOf(*own, raisePriorityMove()).empty());
  const auto single = textFixture(fmt::format(fmt::runtime(loads), "s_nop 0"));
  single->profile.wavesPerSimd = 1;
  EXPECT_TRUE(proposalsOf(*single, raisePriorityMove()).empty());
}

TEST(TrimNops, OnlyWhatNoPairNeeds) {
  // A transcendental result needs one state before another kind of VALU reads it (CDNA3 ISA, table 11); the rest is
  // idle. 16 states are there for their time.
  const auto fixture = textFixture(R"(
  v_rcp_f32_e32 v2, v0
  s_nop 4
  v_add_f32_e32 v3, v2, v2
  s_nop 3
  v_add_f32_e32 v4, v0, v0
  s_nop 15
  v_add_f32_e32 v4, v4, v3
  global_store_dword v1, v4, s[2:3]
)");
  const auto proposals = proposalsOf(*fixture, trimNopsMove());
  ASSERT_EQ(proposals.size(), 1u);
  const Lines lines = fixture->lines(proposals[0].program);
  const std::size_t rcp = position(lines, "v_rcp_f32");
  EXPECT_EQ(
      Lines(lines.begin() + static_cast<std::ptrdiff_t>(rcp), lines.begin() + static_cast<std::ptrdiff_t>(rcp) + 6),
      (Lines{"v_rcp_f32_e32 v2, v0", "s_nop 0", "v_add_f32_e32 v3, v2, v2", "v_add_f32_e32 v4, v0, v0", "s_nop 15",
             "v_add_f32_e32 v4, v4, v3"}));
  EXPECT_EQ(proposals[0].reason, "8 wait states of s_nops that no path needs");
  EXPECT_EQ(countVerified(*fixture, proposals, [](const Lines&) { return true; }), 1u);
}

TEST(TrimNops, NothingWhereAllAreNeeded) {
  const auto fixture = textFixture(R"(
  v_rcp_f32_e32 v2, v0
  s_nop 0
  v_add_f32_e32 v3, v2, v2
  global_store_dword v1, v3, s[2:3]
)");
  EXPECT_TRUE(proposalsOf(*fixture, trimNopsMove()).empty());
}

} // namespace
} // namespace asmevo::optimize
