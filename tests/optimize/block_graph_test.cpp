#include "optimize/block_graph.h"

#include "program/analysis/hazards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace asmevo::optimize {
namespace {

using Lines = std::vector<std::string>;

class BlockGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    codec = *isa::Codec::create(target);
  }

  BlockGraph build(const Lines& lines) {
    block = {};
    for (const auto& line : lines) {
      auto inst = codec->assemble(line);
      EXPECT_TRUE(inst) << line;
      program::Instr instr;
      instr.inst = codec->complete(*inst);
      block.instrs.push_back(instr);
    }
    return buildBlockGraph(block, entry, 128, SlotLatencies{}, options);
  }

  Lines write(const BlockGraph& graph, const std::vector<std::uint32_t>& order) {
    const auto instrs = writeBack(graph, order, *codec);
    EXPECT_TRUE(instrs) << instrs.error().message;
    Lines lines;
    for (const auto& instr : *instrs)
      lines.push_back(instr.inst->text);
    return lines;
  }

  static std::vector<std::uint32_t> sourceOrder(const BlockGraph& graph) {
    std::vector<std::uint32_t> order(graph.nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  }

  /// `to` stays behind `from`, directly or over others.
  static bool ordered(const BlockGraph& graph, std::uint32_t from, std::uint32_t to) {
    if (from == to)
      return true;
    return std::ranges::any_of(graph.successors[from],
                               [&](std::uint32_t e) { return ordered(graph, graph.edges[e].to, to); });
  }

  std::unique_ptr<isa::Codec> codec;
  program::Block block;
  InFlight entry;
  GraphOptions options;
};

TEST_F(BlockGraphTest, RegisterDependences) {
  const auto graph = build({"v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v1, v5", "v_mov_b32_e32 v2, 0",
                            "v_mov_b32_e32 v4, 1", "v_mov_b32_e32 v9, 2"});
  EXPECT_TRUE(ordered(graph, 0, 1));  // read after write
  EXPECT_TRUE(ordered(graph, 0, 2));  // write after read
  EXPECT_TRUE(ordered(graph, 1, 3));  // write after write
  EXPECT_FALSE(ordered(graph, 2, 4)); // nothing
  EXPECT_FALSE(ordered(graph, 1, 2));
}

TEST_F(BlockGraphTest, SccVccAndExecAreRegisters) {
  const auto graph = build({"s_cmp_eq_u32 s0, s1", "s_cselect_b32 s2, s3, s4", "s_add_u32 s5, s6, s7",
                            "v_mov_b32_e32 v1, v2", "s_mov_b64 exec, s[8:9]", "v_mov_b32_e32 v3, v4"});
  EXPECT_TRUE(ordered(graph, 0, 1));
  EXPECT_TRUE(ordered(graph, 1, 2));
  EXPECT_TRUE(ordered(graph, 3, 4));
  EXPECT_TRUE(ordered(graph, 4, 5));
  EXPECT_FALSE(ordered(graph, 2, 3));
}

TEST_F(BlockGraphTest, MemoryBarriersAndFences) {
  const auto graph =
      build({"ds_write_b32 v1, v2", "v_mov_b32_e32 v9, 0", "s_barrier", "ds_read_b32 v3, v4", "v_mov_b32_e32 v8, 0",
             "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", "v_mov_b32_e32 v7, 0"});
  EXPECT_TRUE(ordered(graph, 0, 2));
  EXPECT_TRUE(ordered(graph, 2, 3));
  EXPECT_FALSE(ordered(graph, 1, 2)); // ALU work may cross a barrier
  EXPECT_TRUE(ordered(graph, 4, 5));
  EXPECT_TRUE(ordered(graph, 5, 6));
}

TEST_F(BlockGraphTest, PriorityIsNoFence) {
  const auto graph = build({"v_mov_b32_e32 v1, v2", "s_setprio 1", "ds_read_b32 v3, v4", "s_setprio 0", "s_sleep 1",
                            "v_mov_b32_e32 v5, v6"});
  EXPECT_FALSE(ordered(graph, 0, 1));
  EXPECT_FALSE(ordered(graph, 1, 2));
  EXPECT_TRUE(ordered(graph, 1, 3));
  EXPECT_TRUE(ordered(graph, 0, 4)); // sleeping is
  EXPECT_TRUE(ordered(graph, 4, 5));
}

TEST_F(BlockGraphTest, NothingPassesAPinnedInstruction) {
  const Lines lines = {"ds_read_b32 v1, v2", "v_mov_b32_e32 v3, v4", "ds_read_b32 v5, v2", "v_mov_b32_e32 v6, v7"};
  const auto free = build(lines);
  EXPECT_FALSE(ordered(free, 0, 1));
  const std::set<std::uint32_t> pinned = {1};
  options.pinned = &pinned;
  const auto graph = build(lines);
  EXPECT_TRUE(ordered(graph, 0, 1));
  EXPECT_TRUE(ordered(graph, 1, 2));
  EXPECT_FALSE(ordered(graph, 1, 3));
  EXPECT_FALSE(ordered(graph, 0, 3));
}

TEST_F(BlockGraphTest, WaitStatesOfItsOwnEdgesWhereAsked) {
  // As many states as the hazard tables ask (tested against the manual's), two of them taken by others.
  const auto graph = build({"v_mfma_f32_16x16x16_bf16 v[8:11], v[4:5], v[6:7], 0", "v_mov_b32_e32 v20, v21",
                            "v_mov_b32_e32 v22, v23", "v_add_u32_e32 v24, 1, v8", "v_add_u32_e32 v25, 1, v9"});
  EXPECT_EQ(write(graph, sourceOrder(graph)).size(), 5u);
  Assembled assembled;
  const auto instrs = writeBack(graph, sourceOrder(graph), *codec, true, &assembled);
  ASSERT_TRUE(instrs);
  ASSERT_EQ(instrs->size(), 6u);
  const unsigned asked = program::requiredWaitStates(*(*instrs)[0].inst, *(*instrs)[4].inst, 0);
  EXPECT_GE(asked, 7u) << "four passes (CDNA3 ISA, required wait states)";
  EXPECT_EQ((*instrs)[3].inst->text, fmt::format("s_nop {}", asked - 2 - 1));
  EXPECT_EQ(assembled.size(), 1u);
}

TEST_F(BlockGraphTest, OperationsOfACounterKeepTheirOrder) {
  const auto graph = build({"global_load_dword v1, v2, s[2:3]", "ds_read_b32 v3, v4",
                            "global_load_dword v5, v2, s[2:3]", "ds_read_b32 v6, v4"});
  EXPECT_TRUE(ordered(graph, 0, 2));
  EXPECT_TRUE(ordered(graph, 1, 3));
  EXPECT_FALSE(ordered(graph, 0, 1));
  EXPECT_FALSE(ordered(graph, 1, 2));
}

TEST_F(BlockGraphTest, WaitsAreTakenApartAndPutTogether) {
  const Lines lines = {"global_load_dword v1, v2, s[2:3]", "ds_read_b32 v3, v4",
                       "global_load_dword v5, v2, s[2:3]", "s_waitcnt vmcnt(1) lgkmcnt(0)",
                       "v_add_u32_e32 v6, v1, v3",         "s_waitcnt vmcnt(0)",
                       "v_add_u32_e32 v6, v6, v5"};
  const auto graph = build(lines);
  ASSERT_EQ(graph.nodes.size(), 8u);
  EXPECT_EQ(graph.nodes[3].counter, Counter::vm);
  EXPECT_EQ(graph.nodes[3].completes, 1);
  EXPECT_EQ(graph.nodes[4].counter, Counter::lgkm);
  EXPECT_EQ(graph.nodes[4].completes, 1);
  EXPECT_FALSE(graph.nodes[4].fixedCount);
  EXPECT_EQ(graph.nodes[6].completes, 2);
  EXPECT_TRUE(ordered(graph, 0, 3));
  EXPECT_TRUE(ordered(graph, 3, 5));  // the use of v1
  EXPECT_TRUE(ordered(graph, 4, 5));  // and of v3
  EXPECT_FALSE(ordered(graph, 2, 3)); // the second load may come after the first wait
  EXPECT_EQ(write(graph, sourceOrder(graph)), lines);
  // With the second load behind the wait, nothing may be left in flight at it.
  EXPECT_EQ(write(graph, {0, 1, 3, 4, 5, 2, 6, 7}),
            (Lines{"global_load_dword v1, v2, s[2:3]", "ds_read_b32 v3, v4", "s_waitcnt vmcnt(0) lgkmcnt(0)",
                   "v_add_u32_e32 v6, v1, v3", "global_load_dword v5, v2, s[2:3]", "s_waitcnt vmcnt(0)",
                   "v_add_u32_e32 v6, v6, v5"}));
}

TEST_F(BlockGraphTest, WaitsForOperationsFromBeforeTheBlock) {
  entry.destinations[0].set(isa::vgprUnit(9));
  const auto graph = build({"s_waitcnt vmcnt(2)", "v_mov_b32_e32 v1, v9", "global_load_dword v5, v2, s[2:3]"});
  EXPECT_EQ(graph.nodes[0].completes, -2);
  EXPECT_TRUE(ordered(graph, 0, 1));
  EXPECT_FALSE(ordered(graph, 0, 2));
  EXPECT_EQ(write(graph, {2, 0, 1}),
            (Lines{"global_load_dword v5, v2, s[2:3]", "s_waitcnt vmcnt(3)", "v_mov_b32_e32 v1, v9"}));
}

TEST_F(BlockGraphTest, CountsAboveTheCounterAreItsLargest) {
  // 6 bits of vmcnt, 4 of lgkmcnt, all ones meaning no wait.
  Lines lines = {"s_waitcnt vmcnt(0)"};
  for (int i = 0; i < 70; ++i)
    lines.push_back("global_load_dword v5, v2, s[2:3]");
  const auto graph = build(lines);
  std::vector<std::uint32_t> order(70);
  std::iota(order.begin(), order.end(), 1u);
  order.push_back(0);
  EXPECT_EQ(write(graph, order).back(), "s_waitcnt vmcnt(62)");
  order.assign(63, 0);
  std::iota(order.begin(), order.end(), 1u);
  EXPECT_EQ(write(graph, order).size(), 63u);
}

TEST_F(BlockGraphTest, ScalarLoadsFixTheirCounter) {
  const auto graph = build({"s_load_dword s4, s[0:1], 0x0", "ds_read_b32 v3, v4", "s_waitcnt lgkmcnt(0)",
                            "v_add_u32_e32 v6, s4, v3", "ds_read_b32 v7, v4"});
  EXPECT_TRUE(graph.nodes[2].fixedCount);
  EXPECT_TRUE(ordered(graph, 0, 2));
  EXPECT_TRUE(ordered(graph, 1, 2));
  EXPECT_TRUE(ordered(graph, 2, 3));
  EXPECT_TRUE(ordered(graph, 2, 4)); // or the zero would wait for it too
}

TEST_F(BlockGraphTest, FencesThatCountAreOperations) {
  const auto graph = build({"s_memtime s[4:5]", "ds_read_b32 v3, v4", "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v6, s4",
                            "v_mov_b32_e32 v7, v3"});
  EXPECT_EQ(graph.nodes[2].completes, 2);
  EXPECT_TRUE(ordered(graph, 1, 2));
  EXPECT_TRUE(ordered(graph, 2, 3));
  EXPECT_TRUE(ordered(graph, 2, 4));
}

TEST_F(BlockGraphTest, LaneExchangesComeBackThroughTheCounter) {
  const auto graph = build({"ds_bpermute_b32 v1, v2, v3", "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v4, v1"});
  EXPECT_TRUE(ordered(graph, 0, 1));
  EXPECT_TRUE(ordered(graph, 1, 2));
}

TEST_F(BlockGraphTest, ShortNopsAreLeftOutLongOnesStay) {
  const auto graph =
      build({"v_mov_b32_e32 v1, 0", "s_nop 3", "v_mov_b32_e32 v2, 0", "s_nop 11", "v_mov_b32_e32 v3, 0"});
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_TRUE(ordered(graph, 0, 2));
  EXPECT_TRUE(ordered(graph, 2, 3));
  EXPECT_EQ(write(graph, sourceOrder(graph)),
            (Lines{"v_mov_b32_e32 v1, 0", "v_mov_b32_e32 v2, 0", "s_nop 11", "v_mov_b32_e32 v3, 0"}));
}

TEST_F(BlockGraphTest, ReorderedOperationsAreWaitedForOneByOne) {
  options.reorder = true;
  const auto graph =
      build({"global_load_dword v1, v2, s[2:3]", "global_load_dword v3, v2, s[2:3]", "global_load_dword v9, v2, s[2:3]",
             "s_waitcnt vmcnt(1)", "v_add_u32_e32 v6, v3, v3", "v_add_u32_e32 v7, v1, v1"});
  ASSERT_EQ(graph.nodes.size(), 8u); // a wait for what came before, and one for each of the first two loads
  EXPECT_FALSE(ordered(graph, 0, 1));
  EXPECT_FALSE(ordered(graph, 0, 6));
  EXPECT_TRUE(ordered(graph, 1, 6));
  EXPECT_TRUE(ordered(graph, 0, 7));
  // In the given order v3's use comes first and waits for both; v1's needs none.
  EXPECT_EQ(
      write(graph, sourceOrder(graph)),
      (Lines{"global_load_dword v1, v2, s[2:3]", "global_load_dword v3, v2, s[2:3]", "global_load_dword v9, v2, s[2:3]",
             "s_waitcnt vmcnt(1)", "v_add_u32_e32 v6, v3, v3", "v_add_u32_e32 v7, v1, v1"}));
  EXPECT_EQ(
      write(graph, {1, 0, 2, 3, 4, 5, 6, 7}),
      (Lines{"global_load_dword v3, v2, s[2:3]", "global_load_dword v1, v2, s[2:3]", "global_load_dword v9, v2, s[2:3]",
             "s_waitcnt vmcnt(2)", "v_add_u32_e32 v6, v3, v3", "s_waitcnt vmcnt(1)", "v_add_u32_e32 v7, v1, v1"}));
}

TEST_F(BlockGraphTest, WhatLeavesTheBlockInFlightKeepsItsOrder) {
  options.reorder = true;
  const auto graph = build({"global_load_dword v1, v2, s[2:3]", "global_load_dword v3, v2, s[2:3]"});
  EXPECT_TRUE(ordered(graph, 0, 1));
}

TEST_F(BlockGraphTest, ReorderedWaitsForOperationsFromBefore) {
  options.reorder = true;
  entry.destinations[0].set(isa::vgprUnit(9));
  const auto graph = build({"global_load_dword v5, v2, s[2:3]", "s_waitcnt vmcnt(2)", "v_mov_b32_e32 v1, v9"});
  EXPECT_TRUE(ordered(graph, 1, 2));
  // One of the older operations may stay, whatever was issued since.
  EXPECT_EQ(write(graph, {1, 2, 0}),
            (Lines{"s_waitcnt vmcnt(1)", "v_mov_b32_e32 v1, v9", "global_load_dword v5, v2, s[2:3]"}));
}

TEST_F(BlockGraphTest, ScalarLoadsKeepTheOrderOfTheirCounter) {
  options.reorder = true;
  const auto graph =
      build({"s_load_dword s4, s[0:1], 0x0", "ds_read_b32 v3, v4", "ds_read_b32 v5, v4", "s_waitcnt lgkmcnt(0)"});
  EXPECT_TRUE(ordered(graph, 1, 2));
}

TEST_F(BlockGraphTest, LatenciesComeFromTheProducer) {
  const auto graph = build({"v_exp_f32_e32 v1, v2", "v_add_f32_e32 v3, v1, v1"});
  ASSERT_EQ(graph.edges.size(), 1u);
  EXPECT_GE(graph.edges[0].latency, SlotLatencies{}.transcendental);
}

} // namespace
} // namespace asmevo::optimize

namespace asmevo::optimize {
namespace {

/// A straight block, a loop on itself, and the end.
std::vector<InFlight> loopInFlight(const std::vector<std::string>& before, const std::vector<std::string>& body) {
  object::Target target;
  target.processor = "gfx942";
  target.xnack = target.sramecc = object::Feature::any;
  const auto codec = *isa::Codec::create(target);
  program::Program program;
  const auto add = [&](const std::vector<std::string>& lines, std::vector<program::BlockId> successors) {
    program::Block block;
    for (const auto& line : lines) {
      const auto inst = codec->assemble(line);
      EXPECT_TRUE(inst) << line;
      program::Instr instr;
      instr.inst = codec->complete(*inst);
      block.instrs.push_back(instr);
    }
    block.successors = std::move(successors);
    program.blocks.push_back(std::move(block));
  };
  add(before, {1});
  add(body, {1, 2});
  add({"s_endpgm"}, {});
  program::Function function;
  function.blocks = {0, 1, 2};
  return inFlightAtEntry(program, function, 128);
}

TEST(InFlightAtEntry, AFullWaitEndsWhatCameBefore) {
  const auto entry =
      loopInFlight({"s_load_dword s4, s[0:1], 0x0", "global_load_dword v1, v2, s[2:3]", "s_waitcnt lgkmcnt(0)"},
                   {"ds_read_b32 v5, v6", "s_waitcnt vmcnt(0)"});
  EXPECT_FALSE(entry[1].unordered);
  EXPECT_FALSE(entry[1].destinations[1].test(4));
  // The vector load is in flight on the way in, the LDS read on the way round.
  EXPECT_TRUE(entry[1].destinations[0].test(isa::vgprUnit(1)));
  EXPECT_TRUE(entry[1].destinations[1].test(isa::vgprUnit(5)));
  EXPECT_FALSE(entry[2].destinations[0].any());
  EXPECT_TRUE(entry[2].destinations[1].test(isa::vgprUnit(5)));
}

TEST(InFlightAtEntry, ScalarLoadsStayUnorderedUntilAZero) {
  const auto entry = loopInFlight({"s_load_dword s4, s[0:1], 0x0"}, {"ds_read_b32 v5, v6", "s_waitcnt lgkmcnt(1)"});
  EXPECT_TRUE(entry[1].unordered);
  EXPECT_TRUE(entry[2].unordered);
  EXPECT_TRUE(entry[2].destinations[1].test(4));
  const auto waited = loopInFlight({"s_load_dword s4, s[0:1], 0x0"}, {"s_waitcnt lgkmcnt(0)", "ds_read_b32 v5, v6"});
  EXPECT_TRUE(waited[1].unordered);
  EXPECT_FALSE(waited[2].unordered);
}

TEST(InFlightAtEntry, LdsDmaIsAPropertyOfTheFunction) {
  EXPECT_TRUE(loopInFlight({"s_nop 0"}, {"buffer_load_dword v1, s[4:7], 0 offen lds"})[0].ldsDma);
  EXPECT_FALSE(loopInFlight({"s_nop 0"}, {"buffer_load_dword v2, v1, s[4:7], 0 offen"})[1].ldsDma);
}

} // namespace
} // namespace asmevo::optimize
