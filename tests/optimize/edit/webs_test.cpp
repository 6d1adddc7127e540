// Values that may move to other registers, and those that may not.
#include "optimize/edit/webs.h"
#include "optimize/optimize_support.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

struct Found {
  std::unique_ptr<tests::MoveFixture> fixture;
  std::vector<Web> webs;
  std::unique_ptr<MoveContext> context;
  std::unique_ptr<RegisterKit> kit;

  const Web* of(RegisterTuple registers, std::size_t n = 0) const {
    for (const Web& web : webs)
      if (web.registers == registers && n-- == 0)
        return &web;
    return nullptr;
  }
};

/// Webs of the entry block.
Found websIn(const std::string& lines, WholeWaves waves = WholeWaves::assumed) {
  Found found;
  found.fixture = tests::textFixture(lines);
  found.context = std::make_unique<MoveContext>(found.fixture->context());
  found.kit = std::make_unique<RegisterKit>(found.fixture->program, *found.context, waves);
  const program::Function& function = found.fixture->program.functions.front();
  found.webs = websOf(found.fixture->program, function, function.entryBlock, *found.kit, waves);
  return found;
}

constexpr RegisterTuple v(unsigned first, unsigned count = 1) {
  return {RegisterFile::vgpr, first, count};
}

constexpr const char* reused = R"(
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v0
  global_load_dword v2, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  global_store_dword v1, v4, s[2:3]
)";

TEST(Webs, TwoLivesOfOneRegister) {
  const Found found = websIn(reused);
  const Web *first = found.of(v(2), 0), *second = found.of(v(2), 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->places.size(), 2u);
  EXPECT_TRUE(first->loaded && second->loaded);
  EXPECT_FALSE(first->reuses);
  EXPECT_TRUE(second->reuses);
}

TEST(Webs, OldValuesLiveOnWhereLanesMayBeOff) {
  EXPECT_FALSE(websIn(reused, WholeWaves::unknown).of(v(2), 1));
  // Under a narrowed EXEC the second load leaves the first one's value in the other lanes.
  const Found narrowed = websIn(R"(
  global_load_dword v2, v1, s[2:3]
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[8:9], vcc
  global_load_dword v2, v1, s[2:3] offset:256
  s_mov_b64 exec, s[8:9]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[2:3]
)");
  const Web* both = narrowed.of(v(2));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->places.size(), 3u);
  EXPECT_FALSE(narrowed.of(v(2), 1));
}

TEST(Webs, RegistersThatOneInstructionReadsTogether) {
  const Found found = websIn(R"(
  v_mov_b32_e32 v6, 1
  v_mov_b32_e32 v7, 2
  v_mov_b32_e32 v8, 3
  global_store_dwordx2 v1, v[6:7], s[2:3]
  global_store_dword v1, v8, s[2:3] offset:1024
)");
  const Web* pair = found.of(v(6, 2));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->step, 2u);
  EXPECT_EQ(pair->places.size(), 3u);
  EXPECT_TRUE(found.of(v(8)));
  EXPECT_FALSE(found.of(v(6)));
}

TEST(Webs, PartialWritesBelongToTheOldValue) {
  const Found found = websIn(R"(
  v_mov_b32_e32 v6, 1
  global_load_short_d16_hi v6, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_fmac_f32_e32 v6, v0, v0
  global_store_dword v1, v6, s[2:3]
)");
  const Web* web = found.of(v(6));
  ASSERT_TRUE(web);
  EXPECT_EQ(web->places.size(), 4u);
}

TEST(Webs, WhatComesFromOutsideOrLeavesStays) {
  // v9 goes to the next block, v0 comes from the launch; v10 is loaded for nobody and comes back at any time.
  const Found found = websIn(R"(
  v_mov_b32_e32 v9, 1
  global_load_dword v10, v1, s[2:3]
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 next
  s_nop 0
next:
  global_store_dword v1, v9, s[2:3]
)");
  for (const unsigned each : {0u, 9u, 10u})
    EXPECT_FALSE(found.of(v(each))) << each;
}

TEST(Webs, SpreadingGivesReusedRegistersTheirOwn) {
  Found found = websIn(reused);
  program::Block block = found.fixture->program.blocks[found.fixture->program.functions.front().entryBlock];
  const program::BlockId blocks[] = {found.fixture->program.functions.front().entryBlock};
  isa::RegSet busy = found.kit->busyOver(blocks);
  EXPECT_EQ(spreadWebs(block, found.webs, *found.kit, busy, *found.fixture->codec, /*loadedOnly=*/true), 1u);
  std::vector<std::string> texts;
  for (const auto& instr : block.instrs)
    texts.push_back(instr.inst->text);
  const std::size_t load = tests::position(texts, "global_load_dword v3, v1, s[2:3] offset:256");
  ASSERT_LT(load, texts.size());
  EXPECT_EQ(texts[load + 2], "v_add_u32_e32 v4, v3, v4");
  EXPECT_LT(tests::position(texts, "global_load_dword v2, v1, s[2:3]"), load);
}

} // namespace
} // namespace asmevo::optimize
