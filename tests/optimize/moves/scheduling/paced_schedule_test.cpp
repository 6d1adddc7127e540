// Orders made against the queues and pipes of a compute unit, and the replay that judges them.
#include "optimize/moves/scheduling/block_replay.h"
#include "optimize/moves/scheduling/paced_scheduler.h"
#include "optimize/moves/scheduling/schedule.h"
#include "optimize/optimize_support.h"
#include "optimize/repair.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::position;
using tests::textFixture;
using Lines = std::vector<std::string>;

/// A loop of LDS reads, all in front of the matrix instructions that use them, with s_setprio around these.
std::unique_ptr<MoveFixture> readsThenMatrix() {
  std::string text = "  v_mov_b32_e32 v20, 0\n  s_mov_b32 s8, 8\n";
  for (unsigned r = 0; r < 16; ++r)
    text += fmt::format("  v_mov_b32_e32 v{}, 0\n", 64 + r);
  text += "loop:\n";
  for (unsigned k = 0; k < 8; ++k)
    text += fmt::format("  ds_read_b128 v[{}:{}], v20 offset:{}\n", 24 + 4 * k, 27 + 4 * k, 16 * k);
  text += "  s_setprio 1\n";
  for (unsigned k = 0; k < 8; ++k) {
    text += fmt::format("  s_waitcnt lgkmcnt({})\n", 7 - k);
    for (unsigned half = 0; half < 2; ++half)
      text += fmt::format("  v_mfma_f32_16x16x16_bf16 v[{0}:{1}], v[{2}:{3}], v[{2}:{3}], v[{0}:{1}]\n",
                          64 + 4 * (k % 2) + 8 * half, 67 + 4 * (k % 2) + 8 * half, 24 + 4 * k, 25 + 4 * k);
  }
  text += "  s_setprio 0\n  s_sub_u32 s8, s8, 1\n  s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 loop\n  s_nop 15\n";
  auto kernel = tests::bodyOf(text + "  global_store_dwordx4 v1, v[64:67], s[2:3]\n");
  kernel.descriptor = "    .amdhsa_group_segment_fixed_size 1024\n";
  std::string file = program::test::kernelFile(kernel);
  for (const std::string_view directive : {"vgpr 32", "accum_offset 32"})
    if (const std::size_t at = file.find(directive); at != std::string::npos)
      file.replace(at + directive.size() - 2, 2, "96");
  return std::make_unique<MoveFixture>(tests::assembledObject(file), tests::textDispatch());
}

program::BlockId loopOf(const MoveFixture& fixture) {
  for (program::BlockId id = 0; id < fixture.program.blocks.size(); ++id)
    if (std::ranges::find(fixture.program.blocks[id].successors, id) != fixture.program.blocks[id].successors.end())
      return id;
  ADD_FAILURE() << "no loop";
  return 0;
}

TEST(PacedSchedule, ReadsGoBetweenTheMatrixInstructions) {
  const auto fixture = readsThenMatrix();
  const auto proposals = fixture->propose(scheduleMove());
  ASSERT_FALSE(proposals.empty());
  std::size_t mixed = 0;
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(proposals.size(), 4); ++i) {
    const Lines lines = fixture->lines(proposals[i].program);
    const std::size_t lastRead = position(lines, "ds_read_b128 v[52:55]");
    mixed += position(lines, "v_mfma") < lastRead;
    const object::CodeObject k1 = fixture->rebuilt(proposals[i].program);
    const auto verdict = verify::verify(fixture->object, k1, fixture->dispatch, tests::simulator(), options);
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(verdict->level, verify::Level::proved) << verdict->reason;
  }
  EXPECT_GT(mixed, 0u);
  // The first proposal is what the replay liked best, and the whole kernel's model agrees.
  const auto before = modelledCycles(fixture->object, fixture->dispatch, tests::simulator());
  const auto after = modelledCycles(fixture->rebuilt(proposals.front().program), fixture->dispatch, tests::simulator());
  ASSERT_TRUE(before && after);
  EXPECT_LT(*after, *before * 0.97);
}

TEST(BlockReplay, AgreesWithTheKernelsProfile) {
  const auto fixture = readsThenMatrix();
  const MoveContext context = fixture->context();
  const program::BlockId loop = loopOf(*fixture);
  auto replay = BlockReplay::of(fixture->program, loop, context);
  ASSERT_TRUE(replay);
  const auto& instrs = fixture->program.blocks[loop].instrs;
  const auto clk = replay->clk(instrs, context.accumOffset);
  ASSERT_TRUE(clk);
  EXPECT_EQ(replay->clk(instrs, context.accumOffset), clk);
  // Issue and stalls that the profile has for the loop, by wave and time round, against three times round in the replay
  // with its start of a few dozen clk.
  double cycles = 0;
  std::uint64_t rounds = 0;
  for (const HotWindow& window : fixture->windows)
    if (window.block == loop)
      cycles = window.cycles;
  for (const auto& instruction : fixture->profile.instructions)
    rounds = std::max<std::uint64_t>(rounds, instruction.issued);
  ASSERT_GT(rounds, 0u);
  EXPECT_NEAR(*clk / 3, cycles / static_cast<double>(rounds), 0.2 * *clk / 3);
  // The same work without its LDS reads takes less, twice the matrix instructions more.
  std::vector<program::Instr> fewer, more;
  for (const program::Instr& instr : instrs) {
    if (instr.inst->cls != isa::InstClass::lds)
      fewer.push_back(instr);
    more.push_back(instr);
    if (instr.inst->cls == isa::InstClass::mfma)
      more.push_back(instr);
  }
  EXPECT_LT(*replay->clk(fewer, context.accumOffset), *clk);
  EXPECT_GE(*replay->clk(more, context.accumOffset), *clk + 3 * 16 * 16);
}

TEST(BlockReplay, NothingForABlockThatDidNotRun) {
  const auto fixture = textFixture(R"(
  s_cmp_eq_u32 s2, s2
  s_cbranch_scc1 done
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, 1
done:
  global_store_dword v1, v0, s[2:3]
)");
  std::size_t replays = 0;
  for (program::BlockId id = 0; id < fixture->program.blocks.size(); ++id) {
    const auto& instrs = fixture->program.blocks[id].instrs;
    const bool ran = instrs.empty() || instrs.front().inst->text.find("v_mov_b32_e32 v2, 1") == std::string::npos;
    const auto replay = BlockReplay::of(fixture->program, id, fixture->context());
    if (!ran)
      EXPECT_FALSE(replay);
    replays += replay.has_value();
  }
  EXPECT_GE(replays, 2u);
}

TEST(PacedScheduler, EveryOrderIsTopological) {
  const auto fixture = readsThenMatrix();
  const MoveContext context = fixture->context();
  const program::BlockId loop = loopOf(*fixture);
  auto replay = BlockReplay::of(fixture->program, loop, context);
  ASSERT_TRUE(replay);
  const InFlight entry;
  GraphOptions options;
  options.reorder = true;
  const BlockGraph graph =
      buildBlockGraph(fixture->program.blocks[loop], entry, context.accumOffset, SlotLatencies{}, options);
  const PacedMachine machine{replay->parameters(), replay->vectorLatency(), 1, 4, context.accumOffset};
  const PacedScheduler scheduler(graph, machine);
  for (const auto& [pace, words] : pacedOptions)
    for (const std::uint64_t seed : {0ull, 5ull}) {
      PacedOptions shaken = pace;
      shaken.seed = seed;
      const auto order = scheduler.order(shaken);
      ASSERT_EQ(order.size(), graph.nodes.size()) << words;
      std::vector<std::size_t> place(order.size());
      for (std::size_t i = 0; i < order.size(); ++i)
        place[order[i]] = i;
      for (const Edge& edge : graph.edges)
        EXPECT_LT(place[edge.from], place[edge.to]) << words;
    }
}

TEST(RepairWaitStates, ConsumersInARowShareTheStates) {
  // v_mfma of four passes: its result may be read by VALU after 7 other instructions (CDNA3 ISA, table of required wait
  // states). The edit takes the eight in between away.
  std::string text = "  v_mfma_f32_16x16x16_bf16 v[8:11], v[4:5], v[6:7], 0\n";
  for (unsigned i = 0; i < 8; ++i)
    text += fmt::format("  v_add_u32_e32 v{}, 1, v0\n", 20 + i);
  for (unsigned i = 0; i < 4; ++i)
    text += fmt::format("  v_add_u32_e32 v{0}, 1, v{0}\n", 8 + i);
  const auto fixture = textFixture(text + "  global_store_dwordx4 v1, v[8:11], s[2:3]\n");
  program::Program edited = fixture->program;
  for (program::Block& block : edited.blocks)
    std::erase_if(block.instrs, [](const program::Instr& instr) {
      return instr.inst->text.starts_with("v_add_u32_e32 v2") && instr.inst->text.ends_with("1, v0");
    });
  ASSERT_TRUE(repairWaitStates(fixture->program, edited, fixture->context()));
  const auto kernel = fixture->lines(edited);
  const std::size_t matrix = position(kernel, "v_mfma"), first = position(kernel, "v_add_u32_e32 v8"),
                    last = position(kernel, "v_add_u32_e32 v11");
  ASSERT_EQ(last, first + 3);
  unsigned states = 0;
  for (std::size_t i = matrix + 1; i < first; ++i) {
    ASSERT_TRUE(kernel[i].starts_with("s_nop ")) << kernel[i];
    states += static_cast<unsigned>(std::stoul(kernel[i].substr(6))) + 1;
  }
  EXPECT_EQ(states, 7u);
}

} // namespace
} // namespace asmevo::optimize
