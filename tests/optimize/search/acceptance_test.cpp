// What becomes of candidates that are faster: chains with a wrong edit in them, edits that only some chips like, final
// cases that say no, pairs of which the first alone is slower.
#include "optimize/search/search_support.h"

#include "optimize/search/pricing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::eraseText;
using tests::GivenMove;

Outcome search(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, const std::vector<const Move*>& moves,
               Options options) {
  options.moves = &moves;
  auto outcome = optimize(k0, dispatch, tests::simulator(), options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *std::move(outcome) : Outcome{};
}

GivenMove::Given erasing(const std::string& text, std::size_t count) {
  return {"erase " + text, [=](program::Program& program, isa::Codec&) { return eraseText(program, text, count); }};
}

std::vector<std::string> reasons(const Outcome& outcome) {
  std::vector<std::string> list;
  for (const Edit& edit : outcome.edits)
    list.push_back(edit.reason);
  return list;
}

/// Idle time in four blocks, less from one to the next.
object::CodeObject idleMatmul() {
  return tests::edited(tests::kernelObject("matmul_tiled"), [](tests::Editable& program) {
    const auto idle = [&](tests::Editable::Place place, const char* text, int count) {
      for (int i = 0; i < count; ++i)
        program.insert(place, text);
    };
    idle(program.find("v_bfe_u32"), "s_nop 11", 150);
    idle(program.find("v_lshl_add_u64"), "s_nop 13", 30);
    idle(program.find("ds_read_b128"), "s_nop 12", 8);
    idle(program.find("v_mad_u64_u32", 1), "s_nop 14", 2);
  });
}

TEST(Chains, AreCutBeforeTheEditThatIsWrong) {
  // The third by its gain loses a term of the sum.
  const GivenMove move("given", {erasing("s_nop 14", 2),
                                 {"wrong",
                                  [](program::Program& program, isa::Codec&) {
                                    return eraseText(program, "s_nop 12", 8) &&
                                           eraseText(program, "v_fmac_f32_e32 v3, v27, v43");
                                  }},
                                 erasing("s_nop 11", 150),
                                 erasing("s_nop 13", 30)});
  const Outcome outcome = search(idleMatmul(), tests::kernelDispatch("matmul_tiled"), {&move}, tests::runsOnly());
  ASSERT_TRUE(outcome.improved);
  EXPECT_EQ(reasons(outcome), (std::vector<std::string>{"erase s_nop 11", "erase s_nop 13", "erase s_nop 14"}));
  // All four, the first two, the third; then what is left, of the program that the first two made.
  std::vector<std::pair<std::size_t, bool>> attempts;
  for (const Attempt& attempt : outcome.attempts)
    attempts.emplace_back(attempt.edits, verify::accepted(attempt.level));
  EXPECT_EQ(attempts, (std::vector<std::pair<std::size_t, bool>>{{4, false}, {2, true}, {1, false}, {1, true}}));
  ASSERT_EQ(outcome.steps.size(), 2u);
  EXPECT_LT(outcome.steps[1].cycles, outcome.steps[0].cycles);
  EXPECT_DOUBLE_EQ(outcome.steps[1].cycles, outcome.finalCycles);
  for (const Edit& edit : outcome.edits)
    EXPECT_LE(edit.seconds, outcome.seconds);
}

object::CodeObject idleVectorAdd() {
  return tests::edited(tests::kernelObject("vector_add"), [](tests::Editable& program) {
    for (int i = 0; i < 40; ++i)
      program.insert(program.find("global_load_dword"), "s_nop 11");
    for (int i = 0; i < 20; ++i)
      program.insert(program.find("v_add_f32"), "s_nop 12");
  });
}

TEST(FinalCases, AnEarlierProgramTakesThePlaceOfOneThatTheyRefuse) {
  // Right where a is zero, as it is in the verified case alone.
  const GivenMove move("given", {{"b alone",
                                  [](program::Program& program, isa::Codec& codec) {
                                    return eraseText(program, "s_nop 12", 20) &&
                                           tests::replaceText(program, codec, "v_add_f32_e32 v2, v6, v7",
                                                              "v_mov_b32_e32 v2, v7");
                                  }},
                                 erasing("s_nop 11", 40)});
  dispatch::Dispatch zeros = tests::kernelDispatch("vector_add");
  std::ranges::fill(zeros.cases.front().buffers.front().initial, std::uint8_t{0});
  Options options = tests::runsOnly();
  const object::CodeObject k0 = idleVectorAdd();
  const Outcome without = search(k0, zeros, {&move}, options);
  EXPECT_EQ(reasons(without), (std::vector<std::string>{"erase s_nop 11", "b alone"}));

  options.finalCases = tests::kernelDispatch("vector_add");
  const Outcome with = search(k0, zeros, {&move}, options);
  ASSERT_TRUE(with.improved);
  EXPECT_EQ(reasons(with), (std::vector<std::string>{"erase s_nop 11"}));
  ASSERT_TRUE(with.finalVerdict);
  EXPECT_TRUE(verify::accepted(with.finalVerdict->level));
  ASSERT_EQ(with.steps.size(), 2u) << "the wrong one was accepted on the verified case";
  EXPECT_DOUBLE_EQ(with.finalCycles, with.steps.front().cycles);
  const auto k1 = object::CodeObject::parse(with.k1, "K1");
  ASSERT_TRUE(k1);
  EXPECT_TRUE(tests::findText(tests::Editable(*k1).program, "v_add_f32_e32 v2, v6, v7"));
}

TEST(Signs, AnEditThatOnlySomeChipsLikeIsNotTaken) {
  // One more read of memory, and an edit that waits about as long as that takes instead.
  const char *const load = "global_load_dword v2, v[4:5], off", *const wait = "s_waitcnt vmcnt(0)";
  const object::CodeObject k0 = tests::edited(tests::kernelObject("vector_add"), [&](tests::Editable& program) {
    program.insert(program.find("v_add_f32"), load);
    program.insert(program.find("v_add_f32"), "s_waitcnt vmcnt(0)");
  });
  const auto idleFor = [&](std::size_t states) {
    return [=](program::Program& program, isa::Codec& codec) {
      const auto at = tests::findText(program, load);
      if (!at)
        return false;
      auto& instrs = program.blocks[at->block].instrs;
      program::Instr idle = instrs[at->index];
      idle.address = program::noAddress;
      auto place = instrs.begin() + static_cast<std::ptrdiff_t>(at->index);
      EXPECT_EQ(place[1].inst->text, wait);
      place = instrs.erase(place, place + 2);
      for (std::size_t left = states, some = 0; left > 0; left -= some) {
        some = std::min<std::size_t>(left, 16);
        idle.inst = codec.complete(*codec.assemble("s_nop " + std::to_string(some - 1)));
        place = instrs.insert(place, idle);
      }
      return true;
    };
  };
  const dispatch::Dispatch dispatch = tests::kernelDispatch("vector_add");
  const Pricer pricer(tests::simulator(), dispatch, 10);
  const double before = *pricer.cycles(k0);
  const std::vector<double> near = *pricer.perturbed(k0);
  std::size_t count = 0, slower = 0;
  for (std::size_t tried = 1; tried < 400; ++tried) {
    const auto edited =
        tests::edited(k0, [&](tests::Editable& program) { idleFor(tried)(program.program, *program.codec); });
    if (*pricer.cycles(edited) >= before)
      break;
    count = tried;
    const std::vector<double> after = *pricer.perturbed(edited);
    slower = 0;
    for (std::size_t i = 0; i < near.size(); ++i)
      slower += after[i] >= near[i];
  }
  ASSERT_GT(count, 0u);
  ASSERT_GT(slower, 2u);
  ASSERT_LT(slower, 10u);

  const GivenMove move("given", {{"idle instead", idleFor(count)}});
  Options options = tests::runsOnly();
  options.perturbations = 10;
  const Outcome refused = search(k0, dispatch, {&move}, options);
  EXPECT_FALSE(refused.improved);
  ASSERT_EQ(refused.attempts.size(), 1u);
  EXPECT_EQ(refused.attempts.front().level, verify::Level::refused);
  EXPECT_NE(refused.attempts.front().reason.find("not on " + std::to_string(slower) + " of 10"), std::string::npos)
      << refused.attempts.front().reason;

  options.mostSignChanges = static_cast<unsigned>(slower);
  const Outcome taken = search(k0, dispatch, {&move}, options);
  ASSERT_TRUE(taken.improved);
  ASSERT_EQ(taken.edits.size(), 1u);
  EXPECT_EQ(static_cast<std::size_t>(
                std::ranges::count_if(taken.edits.front().perturbedSpeedups, [](double s) { return s <= 1; })),
            slower);
}

/// `first` alone is slower; `second` needs it.
TEST(Pairs, PayThoughTheFirstAloneIsSlower) {
  const GivenMove first("first", {{"a block of its own", [](program::Program& program, isa::Codec& codec) {
                                     const auto at = tests::findText(program, "v_add_f32_e32 v2, v6, v7");
                                     if (!at || tests::findText(program, "s_nop 3"))
                                       return false;
                                     program.splitBlock(at->block, at->index);
                                     auto& instrs = program.blocks[at->block + 1].instrs;
                                     program::Instr mark = instrs.front();
                                     mark.address = program::noAddress;
                                     mark.inst = codec.complete(*codec.assemble("s_nop 3"));
                                     instrs.insert(instrs.begin(), mark);
                                     program.relink();
                                     return true;
                                   }}});
  const GivenMove second("second", {{"nothing to wait for", [](program::Program& program, isa::Codec&) {
                                       return eraseText(program, "s_nop 3") && eraseText(program, "s_nop 11", 40);
                                     }}});
  Options options = tests::runsOnly();
  options.perturbations = 3;
  const object::CodeObject k0 = idleVectorAdd();
  const dispatch::Dispatch dispatch = tests::kernelDispatch("vector_add");
  EXPECT_FALSE(search(k0, dispatch, {&first, &second}, options).improved) << "without effort nothing slower is kept";
  options.maximumEffort = 2;
  const Outcome outcome = search(k0, dispatch, {&first, &second}, options);
  ASSERT_TRUE(outcome.improved);
  ASSERT_EQ(outcome.edits.size(), 1u);
  EXPECT_EQ(outcome.edits.front().move, "first+second");
  EXPECT_EQ(outcome.edits.front().reason, "a block of its own; then nothing to wait for");
  EXPECT_DOUBLE_EQ(outcome.edits.front().cyclesBefore, outcome.baselineCycles);
  EXPECT_DOUBLE_EQ(outcome.edits.front().cyclesAfter, outcome.finalCycles);
  EXPECT_EQ(outcome.edits.front().perturbedSpeedups, outcome.perturbedSpeedups);
  const auto plain =
      tests::edited(k0, [](tests::Editable& program) { ASSERT_TRUE(eraseText(program.program, "s_nop 11", 40)); });
  EXPECT_DOUBLE_EQ(outcome.finalCycles, *modelledCycles(plain, dispatch, tests::simulator()));
}

TEST(End, IsNamed) {
  const object::CodeObject k0 = idleVectorAdd();
  const dispatch::Dispatch dispatch = tests::kernelDispatch("vector_add");
  const GivenMove nothing("nothing", {});
  Options options = tests::runsOnly();
  EXPECT_EQ(search(k0, dispatch, {&nothing}, options).ended, "effort");
  options.maximumEffort = 1000;
  EXPECT_EQ(search(k0, dispatch, {&nothing}, options).ended, "nothing left to try");
  options.budgetSeconds = 0;
  EXPECT_EQ(search(k0, dispatch, {&nothing}, options).ended, "budget");
  options = tests::runsOnly();
  options.maximumCandidates = 1;
  const GivenMove move("given", {erasing("s_nop 11", 40), erasing("s_nop 12", 20)});
  const Outcome one = search(k0, dispatch, {&move}, options);
  EXPECT_EQ(one.ended, "candidates");
  EXPECT_EQ(one.candidatesTried, 1u);
  EXPECT_EQ(reasons(one), (std::vector<std::string>{"erase s_nop 11"}));
  double phases = 0;
  for (const auto& [phase, seconds] : one.phaseSeconds)
    phases += seconds;
  EXPECT_NEAR(phases, one.seconds, 1e-3 + 0.01 * one.seconds);
}

} // namespace
} // namespace asmevo::optimize
