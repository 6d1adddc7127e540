// Loads issued as soon as their addresses are ready: where they may go, and where they must stay.
#include "optimize/moves/memory/hoist_loads.h"

#include "optimize/alias_evidence.h"
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

std::vector<Proposal> proposalsOf(const MoveFixture& fixture) {
  MoveContext context = fixture.context();
  context.launches = &fixture.dispatch;
  return hoistLoadsMove().propose(fixture.program, context);
}

verify::Verdict verdictOf(const MoveFixture& fixture, const Proposal& proposal, const dispatch::Dispatch& launches) {
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  auto verdict =
      verify::verify(fixture.object, fixture.rebuilt(proposal.program), launches, tests::simulator(), options);
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict ? *std::move(verdict) : verify::Verdict();
}

/// All proposals, each accepted by the gate.
std::vector<Proposal> accepted(const MoveFixture& fixture) {
  std::vector<Proposal> proposals = proposalsOf(fixture);
  for (const Proposal& proposal : proposals) {
    SCOPED_TRACE(proposal.reason);
    const verify::Verdict verdict = verdictOf(fixture, proposal, fixture.dispatch);
    EXPECT_TRUE(verify::accepted(verdict.level)) << verdict.reason;
  }
  return proposals;
}

/// Does a line with that beginning stand in front of the other one in some proposal?
bool someBefore(const MoveFixture& fixture, const std::vector<Proposal>& proposals, const std::string& first,
                const std::string& second) {
  return std::ranges::any_of(proposals, [&](const Proposal& proposal) {
    const auto lines = fixture.lines(proposal.program);
    const std::size_t a = position(lines, first), b = position(lines, second);
    EXPECT_LT(b, lines.size());
    return a < b;
  });
}

TEST(HoistLoads, RoundsOfLoadWaitAndUse) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, 1, v2
  global_load_dword v2, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3] offset:1024
)");
  const auto proposals = accepted(*fixture);
  ASSERT_FALSE(proposals.empty());
  const auto lines = fixture->lines(proposals.front().program);
  const std::size_t first = position(lines, "global_load_dword"),
                    second = position(lines, "global_load_dword", first + 1);
  const std::size_t use = position(lines, "v_add_u32_e32 v4, 1, v2");
  EXPECT_LT(second, use);
  // The first use leaves the second load in flight.
  const std::size_t wait = position(lines, "s_waitcnt vmcnt(1)");
  EXPECT_LT(second, wait);
  EXPECT_LT(wait, use);
}

TEST(HoistLoads, LeavesAloneWhatItMust) {
  const auto stays = [](const std::string& text, const std::string& load, const std::string& barrier) {
    const auto fixture = textFixture(text);
    return !someBefore(*fixture, accepted(*fixture), load, barrier);
  };
  EXPECT_TRUE(stays(R"(
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 skip
  global_load_dword v2, v1, s[2:3] offset:8
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[2:3] offset:1024
skip:
)",
                    "global_load_dword", "s_cbranch_scc1"))
      << "another path never loads";
  EXPECT_TRUE(stays(R"(
  v_cmp_gt_u32_e32 vcc, 32, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_nop 0
  s_waitcnt vmcnt(0)
  global_load_dword v2, v1, s[2:3] offset:8
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[2:3] offset:1024
)",
                    "global_load_dword", "s_and_saveexec_b64"))
      << "fewer lanes load";
  EXPECT_TRUE(stays(R"(
  v_mov_b32_e32 v3, 7
  global_store_dword v1, v3, s[2:3] offset:8
  s_waitcnt vmcnt(0)
  global_load_dword v2, v1, s[2:3] offset:12
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[2:3] offset:1024
)",
                    "global_load_dword", "global_store_dword"))
      << "a neighbour's store";
  EXPECT_TRUE(stays(R"(
  v_mov_b32_e32 v3, 7
  global_store_dword v1, v3, s[2:3]
  s_waitcnt vmcnt(0)
  s_barrier
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[2:3] offset:1024
)",
                    "global_load_dword", "s_barrier"))
      << "what others store in front of the barrier";
  EXPECT_TRUE(stays(R"(
  s_mov_b32 s8, 3
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v4, 0
top:
  v_add_u32_e32 v4, v2, v4
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[2:3]
  s_add_i32 s8, s8, -1
  s_waitcnt vmcnt(0)
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 top
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3] offset:1024
)",
                    "global_load_dword", "v_add_u32_e32 v4, v2, v4"))
      << "the last turn's value is still to be read";
  EXPECT_TRUE(stays(R"(
  global_load_dword v3, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_lshlrev_b32_e32 v3, 2, v3
  global_load_dword v2, v3, s[2:3] offset:8
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[2:3] offset:1024
)",
                    "global_load_dword v2", "s_waitcnt vmcnt(0)"))
      << "its address has not arrived";
}

/// Two pointers: s[2:3] is read at the lane's place and one element on, s[8:9] is written in between.
constexpr const char* twoBuffers = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x8
  v_mov_b32_e32 v6, 7
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, v2, v6
  global_store_dword v1, v4, s[8:9]
  global_load_dword v2, v1, s[2:3] offset:4
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[8:9] offset:1024
)";

dispatch::Dispatch launchOf(const std::string& second) {
  auto parsed = dispatch::parseDispatch(
      fmt::format(R"({{"asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1], "grid_size": [64, 1, 1],
    "buffers": {{"x": {{"dtype": "u32", "shape": [4096], "init": "zero"}},
                 "y": {{"dtype": "u32", "shape": [4096], "init": "zero"}}}},
    "args": [{{"buffer": "x"}}, {{"buffer": "{}"}}]}})",
                  second),
      ".", "two");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

/// The text of kernelFile with a second pointer argument.
std::string withTwoArguments(std::string text) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  const std::string first =
      "      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}\n";
  replace(".amdhsa_kernarg_size 8", ".amdhsa_kernarg_size 16");
  replace(".kernarg_segment_size: 8", ".kernarg_segment_size: 16");
  replace(first,
          first + "      - {.name: y, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}\n");
  return text;
}

std::unique_ptr<MoveFixture> twoBufferFixture(const std::string& second) {
  const std::string text = withTwoArguments(program::test::kernelFile(tests::bodyOf(twoBuffers)));
  return std::make_unique<MoveFixture>(tests::assembledObject(text), launchOf(second));
}

bool passesTheStore(const MoveFixture& fixture, const Proposal& proposal) {
  const auto lines = fixture.lines(proposal.program);
  const std::size_t first = position(lines, "global_load_dword");
  return position(lines, "global_load_dword", first + 1) < position(lines, "global_store_dword");
}

TEST(HoistLoads, PassesAStoreToAnotherBufferAndSaysSo) {
  const auto fixture = twoBufferFixture("y");
  const auto proposals = accepted(*fixture);
  const auto found =
      std::ranges::find_if(proposals, [&](const Proposal& proposal) { return passesTheStore(*fixture, proposal); });
  ASSERT_NE(found, proposals.end());
  ASSERT_FALSE(found->assumptions.empty());
  EXPECT_TRUE(std::ranges::any_of(found->assumptions, [](const std::string& sentence) {
    return sentence == "the buffers of arguments 1 ('y') and 0 ('x') do not overlap, and no access leaves its buffer";
  }));
  EXPECT_EQ(capped(verify::Level::proved, found->assumptions), verify::Level::exact);
  // A launch that breaks the assumption: both pointers are one buffer, and the program as edited reads too early.
  const verify::Verdict broken = verdictOf(*fixture, *found, launchOf("x"));
  EXPECT_FALSE(verify::accepted(broken.level));
}

TEST(HoistLoads, StaysBehindAStoreWhereTheLaunchHasOneBuffer) {
  const auto fixture = twoBufferFixture("x");
  for (const Proposal& proposal : accepted(*fixture))
    EXPECT_FALSE(passesTheStore(*fixture, proposal)) << proposal.reason;
}

TEST(AliasEvidence, BuffersOfTheLaunch) {
  const auto fixture = twoBufferFixture("y");
  std::vector<std::uint64_t> loads, stores;
  for (const auto& block : fixture->program.blocks)
    for (const auto& instr : block.instrs)
      if (instr.inst->cls == isa::InstClass::global)
        (instr.inst->mayStore ? stores : loads).push_back(instr.address);
  ASSERT_EQ(loads.size(), 2u);
  ASSERT_EQ(stores.size(), 2u);
  const AliasEvidence apart(fixture->object, *fixture->kernel, fixture->dispatch);
  EXPECT_TRUE(apart.mayCross(stores[0], loads[1]));
  EXPECT_EQ(apart.isNeverWritten(loads[0]),
            "the kernel writes nothing to the buffers of arguments 0 ('x'), and no access leaves its buffer");
  EXPECT_FALSE(apart.mayCross(stores[0], stores[1])) << "one buffer";
  EXPECT_FALSE(apart.mayCross(stores[0], 4)) << "never executed";
  const auto one = launchOf("x");
  const AliasEvidence same(fixture->object, *fixture->kernel, one);
  EXPECT_FALSE(same.mayCross(stores[0], loads[1]));
  EXPECT_FALSE(same.isNeverWritten(loads[0]));
  // One case is enough to deny it.
  dispatch::Dispatch both = fixture->dispatch;
  both.cases.push_back(one.cases.front());
  const AliasEvidence mixed(fixture->object, *fixture->kernel, both);
  EXPECT_FALSE(mixed.mayCross(stores[0], loads[1]));
}

} // namespace
} // namespace asmevo::optimize
