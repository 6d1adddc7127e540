// Loads of conditional blocks and of several turns issued together: the same results whatever lanes and turns are
// skipped, and nothing where another order could be seen.
#include "optimize/moves/loops/batch_guarded_loads.h"

#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::position;
using Lines = std::vector<std::string>;

/// A kernel whose buffer holds different numbers, so that a load of another place shows. `first` is the first of them.
std::unique_ptr<MoveFixture> countingFixture(const std::string& lines, unsigned first = 5) {
  auto launches = dispatch::parseDispatch(
      fmt::format(R"({{"asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1], "grid_size": [128, 1, 1],
                       "buffers": {{"out": {{"dtype": "u32", "shape": [16384],
                                             "init": {{"iota": {{"start": {}, "step": 7}}}}}}}},
                       "args": [{{"buffer": "out"}}]}})",
                  first),
      ".", "text");
  EXPECT_TRUE(launches) << launches.error().message;
  return std::make_unique<MoveFixture>(tests::assembledObject(program::test::kernelFile(tests::bodyOf(lines))),
                                       *std::move(launches));
}

std::vector<Proposal> proposalsOf(MoveFixture& fixture) {
  MoveContext context = fixture.context();
  context.launches = &fixture.dispatch;
  return batchGuardedLoadsMove().propose(fixture.program, context);
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

void expectSameOutputs(MoveFixture& fixture, std::size_t least) {
  const auto list = proposalsOf(fixture);
  ASSERT_GE(list.size(), least);
  const auto expected = outputs(fixture, fixture.object);
  verify::Options options;
  options.seeds = {0};
  for (const Proposal& proposal : list) {
    SCOPED_TRACE(proposal.reason);
    const object::CodeObject k1 = fixture.rebuilt(proposal.program);
    EXPECT_EQ(outputs(fixture, k1), expected);
    const auto verdict = verify::verify(fixture.object, k1, fixture.dispatch, tests::simulator(), options);
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_TRUE(verdict->newFindings.empty()) << verdict->newFindings.front().message;
    EXPECT_TRUE(verdict->newStrictFindings.empty()) << verdict->newStrictFindings.front().message;
  }
}

/// Loads in two blocks, each for the lanes whose number has a bit; lanes without keep v2. `between` stands between the
/// blocks, `after` behind them.
std::string twoTaps(const std::string& first, const std::string& second, const std::string& between = "",
                    const std::string& after = "") {
  return fmt::format(R"(
  v_mov_b32_e32 v4, 3
  v_mov_b32_e32 v2, 11
  v_mov_b32_e32 v10, 0
  v_and_b32_e32 v5, {0}, v0
  v_cmp_ne_u32_e32 vcc, 0, v5
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz skip1
  v_add_u32_e32 v6, 0x100, v1
  global_load_dword v2, v6, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
skip1:
  s_or_b64 exec, exec, s[10:11]
  {2}
  v_and_b32_e32 v5, {1}, v0
  v_cmp_ne_u32_e32 vcc, 0, v5
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz skip2
  v_add_u32_e32 v6, 0x200, v1
  global_load_dword v2, v6, s[2:3]
  s_waitcnt vmcnt(0)
  v_lshl_add_u32 v4, v4, 1, v2
skip2:
  s_or_b64 exec, exec, s[10:11]
  {3}
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3] offset:2048
)",
                     first, second, between, after);
}

TEST(BatchGuardedLoads, LanesOffKeepWhatTheyHad) {
  for (const char* first : {"0", "1", "0xff"})
    for (const char* second : {"2", "0xff"}) {
      SCOPED_TRACE(fmt::format("{} {}", first, second));
      expectSameOutputs(*countingFixture(twoTaps(first, second)), 1);
    }
}

TEST(BatchGuardedLoads, BothLoadsStandInFrontOfTheFirstWait) {
  const auto fixture = countingFixture(twoTaps("1", "2"));
  const auto proposals = proposalsOf(*fixture);
  ASSERT_EQ(proposals.size(), 1u);
  const Lines lines = fixture->lines(proposals[0].program);
  const std::size_t one = position(lines, "global_load_dword "), two = position(lines, "global_load_dword ", one + 1);
  ASSERT_LT(two, lines.size());
  EXPECT_EQ(position(lines, "global_load_dword ", two + 1), lines.size());
  EXPECT_LT(two, position(lines, "s_waitcnt vmcnt"));
  EXPECT_LT(position(lines, "s_waitcnt vmcnt(1)"), position(lines, "s_waitcnt vmcnt(0)"));
}

TEST(BatchGuardedLoads, WhatStandsBetweenCounts) {
  // A store that the second load may see; scalar ones and atomics alike.
  EXPECT_TRUE(proposalsOf(*countingFixture(twoTaps("1", "2", "global_store_dword v1, v4, s[2:3] offset:512"))).empty());
  EXPECT_TRUE(proposalsOf(*countingFixture(twoTaps("1", "2", "global_atomic_add v1, v4, s[2:3] offset:512"))).empty());
  // A condition, or an address, that comes from the first load.
  EXPECT_TRUE(proposalsOf(*countingFixture(twoTaps("1", "v2"))).empty());
  EXPECT_TRUE(proposalsOf(*countingFixture(twoTaps("1", "2",
                                                   "v_lshlrev_b32_e32 v1, 2, v2\n"
                                                   "  v_and_b32_e32 v1, 0xfc, v1")))
                  .empty());
  // EXEC set to something that is no part of what it was.
  EXPECT_TRUE(proposalsOf(*countingFixture(twoTaps("1", "2", "s_not_b64 exec, exec\n  s_not_b64 exec, exec"))).empty());
  // A store to LDS hinders nothing, nor does work on registers that the address has not.
  expectSameOutputs(*countingFixture(twoTaps("1", "2", "v_mov_b32_e32 v9, v4")), 1);
}

TEST(BatchGuardedLoads, FlagsThatAreLiveComeBack) {
  // The replay stands between the first test and what takes VCC, and writes it; SCC: between a compare and its branch
  // in LoopsWithScalarSkipsAndExits.
  expectSameOutputs(*countingFixture(twoTaps("0x21", "2")), 1);
  // VCC of the first test is read again between the blocks.
  expectSameOutputs(*countingFixture(twoTaps("1", "2", "v_cndmask_b32_e32 v4, v4, v1, vcc")), 1);
}

TEST(BatchGuardedLoads, AnAddressWrittenInPartOfTheLanes) {
  // The second address is another one in the lanes that the first block has: the replay knows both.
  expectSameOutputs(*countingFixture(R"(
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v6, v1
  v_cmp_gt_u32_e32 vcc, 40, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz skip1
  global_load_dword v2, v1, s[2:3]
  v_add_u32_e32 v6, 0x400, v6
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
skip1:
  s_or_b64 exec, exec, s[10:11]
  v_cmp_lt_u32_e32 vcc, 20, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz skip2
  global_load_dword v3, v6, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v3, v4
skip2:
  s_or_b64 exec, exec, s[10:11]
  global_store_dword v1, v4, s[2:3] offset:2048
)"),
                    0);
}

/// Nested: a tap is taken where both of two tests hold.
std::string nestedTap(unsigned number, unsigned offset) {
  return fmt::format(R"(
  s_and_saveexec_b64 s[16:17], s[{0}:{1}]
  s_cbranch_execz out{2}
  v_cmp_gt_u32_e64 s[6:7], {3}, v0
  v_cmp_lt_u32_e64 s[8:9], {2}, v0
  s_and_b64 s[6:7], s[6:7], s[8:9]
  s_and_saveexec_b64 s[8:9], s[6:7]
  s_cbranch_execz in{2}
  v_add_u32_e32 v8, {4}, v1
  global_load_dword v3, v8, s[2:3]
  s_waitcnt vmcnt(0)
  v_max_u32_e32 v4, v4, v3
in{2}:
  s_or_b64 exec, exec, s[8:9]
out{2}:
  s_or_b64 exec, exec, s[16:17]
)",
                     number % 2 ? 20 : 22, number % 2 ? 21 : 23, number, 40 + number, offset);
}

TEST(BatchGuardedLoads, NestedConditions) {
  for (const unsigned bound : {0u, 30u, 64u}) {
    SCOPED_TRACE(bound);
    auto fixture = countingFixture(fmt::format("  v_mov_b32_e32 v4, 0\n  v_cmp_gt_u32_e64 s[20:21], {}, v0\n"
                                               "  v_cmp_ne_u32_e64 s[22:23], 5, v0\n",
                                               bound) +
                                   nestedTap(1, 0x100) + nestedTap(2, 0x180) + nestedTap(3, 0x340) +
                                   nestedTap(4, 0x200) + "  global_store_dword v1, v4, s[2:3] offset:2048\n");
    expectSameOutputs(*fixture, 1);
    const auto proposals = proposalsOf(*fixture);
    EXPECT_TRUE(std::ranges::any_of(proposals,
                                    [](const Proposal& proposal) { return proposal.reason.starts_with("4 loads"); }));
  }
}

/// Two turns a pass, each skipped by a scalar test; the second of a pass may be beyond the end. A scalar load and a
/// vector load in each.
std::string scalarSkips(unsigned turns, unsigned least, const std::string& inTurn = "") {
  std::string text = fmt::format(R"(
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, {}
  s_mov_b64 s[12:13], s[2:3]
  s_branch head
latch:
  s_add_i32 s8, s8, -2
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc0 done
head:
)",
                                 2 * turns);
  for (const char* half : {"a", "b"})
    text += fmt::format(R"(
  s_and_b32 s9, s8, 6
  s_cmp_le_u32 s9, {1}
  s_cbranch_scc1 past_{0}
  global_load_dword v2, v5, s[2:3]
  s_load_dword s14, s[12:13], 0x10
  {2}
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v4, s14, v4
  s_waitcnt vmcnt(0)
  v_lshl_add_u32 v4, v4, 1, v2
past_{0}:
  v_add_u32_e32 v5, 0x40, v5
  s_add_u32 s12, s12, 12
  s_addc_u32 s13, s13, 0
)",
                        half, least, inTurn);
  return text + R"(
  s_branch latch
done:
  global_store_dword v1, v4, s[2:3] offset:2048
)";
}

TEST(BatchGuardedLoads, LoopsWithScalarSkipsAndExits) {
  for (const unsigned turns : {1u, 5u, 9u})
    for (const unsigned least : {0u, 2u}) {
      SCOPED_TRACE(fmt::format("{} turns, {}", turns, least));
      expectSameOutputs(*countingFixture(scalarSkips(turns, least)), 3);
    }
}

TEST(BatchGuardedLoads, ScalarLoadsOfAllTurnsBecomeVectorLoads) {
  const auto fixture = countingFixture(scalarSkips(8, 0));
  const auto proposals = proposalsOf(*fixture);
  ASSERT_GE(proposals.size(), 3u);
  const Lines lines = fixture->lines(proposals[0].program);
  const auto count = [&](const std::string& prefix) {
    return std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(prefix); });
  };
  // The first turn's stands in front of every wait where it is.
  EXPECT_EQ(count("global_load_dword "), 31);
  EXPECT_EQ(count("v_readfirstlane_b32 s14"), 15);
  EXPECT_EQ(count("s_load_dword s14"), 1);
}

TEST(BatchGuardedLoads, NoLoadGoesOverAStore) {
  const auto fixture = countingFixture(scalarSkips(4, 0, "global_store_dword v1, v4, s[2:3] offset:1024"));
  EXPECT_TRUE(proposalsOf(*fixture).empty());
}

/// A loop whose load points at another one.
std::string chase(unsigned turns, const std::string& test) {
  return fmt::format(R"(
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v1
  s_mov_b32 s8, {}
top:
  global_load_dword v2, v5, s[2:3]
  v_add_u32_e32 v5, 0x100, v5
  s_add_i32 s8, s8, -1
  s_waitcnt vmcnt(0)
  v_and_b32_e32 v2, 0x3fc, v2
  global_load_dwordx4 v[12:15], v2, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v12, v4
  v_lshl_add_u32 v4, v4, 1, v15
  {}
  global_store_dword v1, v4, s[2:3] offset:4032
)",
                     turns, test);
}

TEST(BatchGuardedLoads, TheIndicesOfAllTurnsComeFirst) {
  for (const unsigned turns : {1u, 3u, 8u, 9u}) {
    SCOPED_TRACE(turns);
    expectSameOutputs(*countingFixture(chase(turns, "s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 top")), 3);
    expectSameOutputs(*countingFixture(chase(turns, "s_cmp_eq_u32 s8, 0\n  s_cbranch_scc0 top")), 3);
  }
  // Lanes that leave one by one.
  expectSameOutputs(*countingFixture("  v_and_b32_e32 v7, 7, v0\n  s_mov_b64 s[10:11], exec\n" +
                                     chase(9, "v_cmp_le_u32_e32 vcc, s8, v7\n  s_andn2_b64 exec, exec, vcc\n"
                                              "  s_cbranch_execnz top\n  s_mov_b64 exec, s[10:11]")),
                    3);
}

} // namespace
} // namespace asmevo::optimize
