#include "verify/mutation/score.h"

#include "verify/baseline.h"
#include "verify/minimise.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <set>

namespace asmevo::verify {
namespace {

using tests::Editable;
using tests::edited;
using tests::kernelDispatch;
using tests::kernelObject;
using tests::simulator;

MutationScore scoreOf(const std::string& kernel, const dispatch::Dispatch& dispatch, std::size_t mutants) {
  MutationOptions options;
  options.mutants = mutants;
  options.seed = 7;
  auto score = scoreMutants(kernelObject(kernel), dispatch, simulator(), options);
  EXPECT_TRUE(score) << (score ? "" : score.error().message);
  return score ? *std::move(score) : MutationScore{};
}

TEST(Mutants, EveryKindIsMadeAndAssembles) {
  std::set<MutantKind> kinds;
  for (const char* name : {"softmax", "saxpy", "histogram"}) {
    Editable k0(kernelObject(name));
    const auto mutants = allMutants(k0.object, k0.program, *k0.codec, {0});
    EXPECT_GT(mutants.size(), 100u) << name;
    for (const Mutant& mutant : mutants) {
      kinds.insert(mutant.kind);
      const program::Block& block = k0.program.blocks.at(mutant.block);
      EXPECT_EQ(block.instrs.at(mutant.index).address, mutant.address);
      EXPECT_NE(block.instrs[mutant.index].inst->text, mutant.replacement);
    }
  }
  // No kernel of these uses cache scopes.
  EXPECT_EQ(kinds.size(), mutantKinds - 1) << "kinds made";
}

TEST(Mutants, SamplesAreSeededAndBalanced) {
  Editable k0(kernelObject("softmax"));
  const auto all = allMutants(k0.object, k0.program, *k0.codec, {0});
  const auto some = sampleMutants(all, 60, 3), again = sampleMutants(all, 60, 3), other = sampleMutants(all, 60, 4);
  ASSERT_EQ(some.size(), 60u);
  const auto names = [](const std::vector<Mutant>& list) {
    std::vector<std::string> result;
    for (const Mutant& mutant : list)
      result.push_back(mutant.description);
    return result;
  };
  EXPECT_EQ(names(some), names(again));
  EXPECT_NE(names(some), names(other));
  std::map<MutantKind, std::size_t> counts;
  for (const Mutant& mutant : some)
    ++counts[mutant.kind];
  for (const auto& [kind, count] : counts)
    EXPECT_LE(count, 6u) << mutantKindName(kind);
}

TEST(MutationScore, TheGateNoticesWhatIsPlanted) {
  for (const char* name : {"vector_add", "relu", "saxpy", "table_lookup", "launch_shape", "reduce_dpp"}) {
    const MutationScore score = scoreOf(name, kernelDispatch(name), 40);
    EXPECT_EQ(score.fates.size(), 40u);
    EXPECT_GE(score.value(), 0.99) << name << scoreJson(score).dump(1);
    EXPECT_GE(score.lowerBound(), 0.97) << name << scoreJson(score).dump(1); // one of 40 at most
    EXPECT_GT(score.count(MutantOutcome::killed), 30u);
    EXPECT_GT(score.killsByGate().at("differential"), 0u);
    EXPECT_GT(score.killsByGate().at("lint"), 0u);
    EXPECT_EQ(score.count(MutantOutcome::blindSpot), 0u);
  }
}

/// A dispatch that ignores what the kernel computes notices nothing of it.
TEST(MutationScore, AnIgnoredOutputIsABlindSpotOnlyOtherComparisonsShow) {
  dispatch::Dispatch blind = kernelDispatch("vector_add");
  blind.cases[0].compare["c"].mode = dispatch::Comparison::Mode::ignore;
  Options gate;
  gate.baseline = *measureBaseline(kernelObject("vector_add"), blind, simulator(), gate);
  const auto k0 = kernelObject("vector_add");
  const auto wider = measureWider(k0, kernelDispatch("vector_add"), simulator(), gate, 1);
  ASSERT_TRUE(wider) << wider.error().message;
  MutantJudge judge(k0, blind, simulator(), gate, *wider);
  ASSERT_TRUE(judge.prepare());
  std::size_t seen = 0;
  for (const Mutant& mutant : judge.mutants())
    if (mutant.kind == MutantKind::swappedOperands || mutant.description.find("v_add_f32") != std::string::npos)
      seen += judge.judge(mutant).outcome == MutantOutcome::blindSpot;
  EXPECT_GT(seen, 0u);
}

TEST(MutationScore, BelowTheThresholdNothingIsExact) {
  const auto k0 = kernelObject("vector_add");
  const auto k1 = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 3"); });
  Options options;
  options.prove = false;
  options.mutationScore = 0.98;
  const auto low = verify(k0, k1, kernelDispatch("vector_add"), simulator(), options);
  ASSERT_TRUE(low) << low.error().message;
  EXPECT_EQ(low->level, Level::unknown) << low->reason;
  EXPECT_EQ(low->gate, "mutation");
  options.mutationScore = 0.99;
  const auto enough = verify(k0, k1, kernelDispatch("vector_add"), simulator(), options);
  ASSERT_TRUE(enough) << enough.error().message;
  EXPECT_EQ(enough->level, Level::exact) << enough->reason;
}

TEST(Synchronisation, ADroppedBarrierNeedsAProof) {
  const auto k0 = kernelObject("softmax");
  for (std::size_t n = 0; n < 3; ++n) {
    const auto k1 = edited(k0, [&](Editable& e) { e.erase(e.find("s_barrier", n)); });
    const auto verdict = verify(k0, k1, kernelDispatch("softmax"), simulator(), {});
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(verdict->level, Level::unsafe) << verdict->reason;
    EXPECT_EQ(verdict->gate, "synchronisation");
  }
}

TEST(Minimise, FindsTheOneWrongBlockAmongHarmlessOnes) {
  const auto k0 = kernelObject("softmax");
  std::uint64_t wrong = 0;
  const auto k1 = edited(k0, [&](Editable& e) {
    for (const char* base : {"v_exp_f32", "s_barrier", "v_div_fixup_f32"})
      e.insert(e.find(base), "s_nop 0");
    const auto place = e.find("v_cmp_gt_f32", 2);
    wrong = e.program.blocks[place.block].address;
    std::string text = e.at(place).inst->text;
    text.replace(text.find("_gt_"), 4, "_lt_");
    e.replace(place, text);
  });
  const auto least = minimise(k0, k1, kernelDispatch("softmax"), simulator(), {});
  ASSERT_TRUE(least) << least.error().message;
  ASSERT_TRUE(*least);
  EXPECT_GE((*least)->edits, 4u);
  ASSERT_EQ((*least)->places.size(), 1u);
  EXPECT_EQ((*least)->places[0], fmt::format("block at {:#x}", wrong));
  EXPECT_EQ((*least)->verdict.level, Level::differs);
  ASSERT_TRUE((*least)->divergence);
  EXPECT_TRUE((*least)->divergence->first);
  const auto right = edited(k0, [](Editable& e) { e.insert(e.find("v_exp_f32"), "s_nop 0"); });
  const auto nothing = minimise(k0, right, kernelDispatch("softmax"), simulator(), {});
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_FALSE(*nothing);
}

/// Code for sizes that the dispatch does not have, and what its branch depends on.
TEST(EditCoverage, AnUnexecutedEditNamesTheArgumentThatWouldReachIt) {
  const auto k0 = kernelObject("vector_add");
  Editable e(kernelObject("vector_add"));
  dispatch::Dispatch nothing = kernelDispatch("vector_add");
  const std::int32_t zero = 0;
  std::memcpy(nothing.cases[0].arguments[3].bytes.data(), &zero, 4);
  const auto k1 = edited(k0, [](Editable& edit) { edit.insert(edit.find("v_add_f32"), "s_nop 3"); });
  Options options;
  options.prove = false;
  const auto verdict = verify(k0, k1, nothing, simulator(), options);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->level, Level::unknown) << verdict->reason;
  EXPECT_EQ(verdict->gate, "coverage");
  ASSERT_EQ(verdict->edits.size(), 1u);
  EXPECT_EQ(verdict->edits[0].cases, 0u);
  ASSERT_FALSE(verdict->edits[0].reach.empty());
  EXPECT_NE(verdict->edits[0].reach[0].find("argument 3"), std::string::npos) << verdict->edits[0].reach[0];
}

} // namespace
} // namespace asmevo::verify
