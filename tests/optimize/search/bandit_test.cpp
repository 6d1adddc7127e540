#include "optimize/search/bandit.h"
#include "optimize/search/canonical.h"

#include "isa/codec.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

TEST(Bandit, PullsWhatPays) {
  Bandit bandit(7, 2);
  const std::vector<Bandit::Choice> choices = {{"loop", "poor", 1}, {"loop", "rich", 1}};
  dispatch::SplitMix64 world(3);
  std::size_t rich = 0;
  for (int i = 0; i < 400; ++i) {
    const std::size_t chosen = bandit.choose(choices);
    rich += chosen;
    bandit.record("loop", choices[chosen].move, world.unit() < (chosen == 1 ? 0.5 : 0.05));
  }
  EXPECT_GT(rich, 320u);
  EXPECT_NEAR(bandit.mean("loop", "rich"), 0.5, 0.1);
}

TEST(Bandit, StakesAndPriorsCount) {
  std::size_t large = 0, known = 0;
  Bandit fresh(11, 2);
  const std::vector<Bandit::Choice> stakes = {{"a", "move", 0.05}, {"b", "move", 0.9}};
  for (int i = 0; i < 200; ++i)
    large += fresh.choose(stakes);
  EXPECT_GT(large, 160u);
  Bandit taught(11, 2);
  taught.prior("loop", "useless", 1000, 0);
  taught.prior("loop", "useful", 1000, 900);
  const std::vector<Bandit::Choice> moves = {{"loop", "useless", 1}, {"loop", "useful", 1}};
  for (int i = 0; i < 200; ++i)
    known += taught.choose(moves);
  EXPECT_GT(known, 190u);
  // A thousand earlier pulls are no more than a start: eight of this search's own weigh as much.
  for (int i = 0; i < 8; ++i)
    taught.record("loop", "useful", false);
  EXPECT_LT(taught.mean("loop", "useful"), 0.6);
}

TEST(Bandit, SeedsRepeat) {
  const std::vector<Bandit::Choice> choices = {{"a", "x", 1}, {"a", "y", 1}, {"b", "x", 1}};
  std::vector<std::size_t> first, second;
  for (auto* list : {&first, &second}) {
    Bandit bandit(5, 3);
    for (int i = 0; i < 50; ++i) {
      list->push_back(bandit.choose(choices));
      bandit.record(choices[list->back()].windowClass, choices[list->back()].move, i % 3 == 0);
    }
  }
  EXPECT_EQ(first, second);
}

class Canonical : public testing::Test {
 protected:
  void SetUp() override {
    object::Target target;
    target.processor = "gfx942";
    auto made = isa::Codec::create(target);
    ASSERT_TRUE(made);
    codec = *std::move(made);
  }
  std::string form(const std::vector<std::string>& lines) {
    std::vector<program::Instr> instrs;
    for (const std::string& line : lines) {
      auto inst = codec->assemble(line);
      EXPECT_TRUE(inst) << line;
      program::Instr instr;
      instr.inst = codec->complete(*inst);
      instrs.push_back(instr);
    }
    return canonicalForm(instrs);
  }
  std::unique_ptr<isa::Codec> codec;
};

TEST_F(Canonical, RegistersAndBranchesDoNotMatter) {
  const std::string loop = form({"v_add_f32_e32 v1, v2, v3", "ds_write_b32 v4, v1", "s_cbranch_scc1 10"});
  EXPECT_EQ(loop, form({"v_add_f32_e32 v9, v7, v3", "ds_write_b32 v4, v9", "s_cbranch_scc1 99"}));
  EXPECT_NE(loop, form({"v_add_f32_e32 v1, v2, v3", "ds_write_b32 v4, v2", "s_cbranch_scc1 10"})) << "other dataflow";
  EXPECT_NE(loop, form({"v_sub_f32_e32 v1, v2, v3", "ds_write_b32 v4, v1", "s_cbranch_scc1 10"}));
  EXPECT_NE(loop, form({"v_add_f32_e32 v1, v2, v3", "ds_write_b32 v4, v1 offset:4", "s_cbranch_scc1 10"}));
}

TEST_F(Canonical, TuplesAreTheirRegisters) {
  EXPECT_EQ(form({"global_load_dwordx2 v[2:3], v0, s[4:5]", "v_mov_b32_e32 v1, v3"}),
            form({"global_load_dwordx2 v[6:7], v8, s[10:11]", "v_mov_b32_e32 v9, v7"}));
  EXPECT_NE(form({"global_load_dwordx2 v[2:3], v0, s[4:5]", "v_mov_b32_e32 v1, v3"}),
            form({"global_load_dwordx2 v[2:3], v0, s[4:5]", "v_mov_b32_e32 v1, v2"}));
  EXPECT_NE(form({"v_cndmask_b32_e32 v1, v2, v3, vcc"}), form({"v_cndmask_b32_e64 v1, v2, v3, s[0:1]"}));
}

} // namespace
} // namespace asmevo::optimize
