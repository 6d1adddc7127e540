#include "analysis_support.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/exec_mask.h"
#include "program/analysis/liveness.h"
#include "program/analysis/loops.h"
#include "program/analysis/memory_dependence.h"

#include <gtest/gtest.h>

namespace asmevo::program::test {
namespace {

constexpr unsigned accum = 64;

/// Live registers in front of instruction `number`, as names, without EXEC and MODE (nearly always live).
std::vector<std::string> liveAt(const Listing& l, std::size_t number) {
  const auto live = liveness(l.program, l.kernel(), accum);
  const auto [block, index] = l.place(number);
  std::vector<std::string> names;
  liveBefore(l.program, l.kernel(), live, block, accum)[index].forEach([&](isa::RegUnit unit) {
    if (unit != isa::sreg::execLo && unit != isa::sreg::execHi && unit != isa::sreg::mode)
      names.push_back(isa::regUnitName(unit));
  });
  return names;
}

using Names = std::vector<std::string>;

TEST(Liveness, StraightLine) {
  const Listing l = listing(R"(
    s_add_u32 s2, s0, s1
    v_mov_b32_e32 v1, s2
    global_store_dword v[2:3], v1, off
    s_endpgm
  )");
  // v1's old value may survive in inactive lanes: live throughout.
  EXPECT_EQ(liveAt(l, 0), (Names{"s0", "s1", "v1", "v2", "v3"}));
  EXPECT_EQ(liveAt(l, 1), (Names{"s2", "v1", "v2", "v3"}));
  EXPECT_EQ(liveAt(l, 3), Names{});
}

TEST(Liveness, FullExecEndsTheLifeOfAVgpr) {
  const Listing l = listing(R"(
    s_mov_b64 exec, -1
    v_mov_b32_e32 v1, s2
    global_store_dword v[2:3], v1, off
    s_endpgm
  )");
  EXPECT_EQ(liveAt(l, 0), (Names{"s2", "v2", "v3"}));
  const Listing partial = listing(R"(
    s_mov_b64 exec, -1
    s_and_saveexec_b64 s[4:5], vcc
    v_mov_b32_e32 v1, s2
    global_store_dword v[2:3], v1, off
    s_endpgm
  )");
  EXPECT_EQ(liveAt(partial, 0), (Names{"s2", "vcc_lo", "vcc_hi", "v1", "v2", "v3"}));
}

TEST(Liveness, ExecMustBeFullOnEveryPath) {
  const Listing l = listing(R"(
    s_cbranch_scc0 @other
    s_mov_b64 exec, -1
    s_branch @join
    other:
    s_mov_b64 exec, s[4:5]
    join:
    v_mov_b32_e32 v1, 0
    global_store_dword v[2:3], v1, off
    s_endpgm
  )");
  EXPECT_EQ(liveAt(l, 4), (Names{"v1", "v2", "v3"}));
}

TEST(Liveness, MfmaIgnoresExec) {
  const Listing l = listing(R"(
    v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0
    global_store_dword v[8:9], v3, off
    s_endpgm
  )");
  EXPECT_EQ(liveAt(l, 0), (Names{"v4", "v5", "v6", "v7", "v8", "v9"}));
}

TEST(Liveness, AccumulatorsArePhysical) {
  const Listing l = listing(R"(
    v_accvgpr_read_b32 v1, a2
    global_store_dword v[2:3], v1, off
    s_endpgm
  )");
  EXPECT_EQ(liveAt(l, 0), (Names{"v1", "v2", "v3", "v66"}));
}

TEST(Liveness, LoopAndCondition) {
  const Listing l = listing(R"(
    s_mov_b32 s2, 0
    loop:
    s_add_u32 s2, s2, s3
    s_cmp_lt_u32 s2, s4
    s_cbranch_scc1 @loop
    v_mov_b32_e32 v1, s2
    global_store_dword v[2:3], v1, off
    s_endpgm
  )");
  EXPECT_EQ(liveAt(l, 1), (Names{"s2", "s3", "s4", "v1", "v2", "v3"}));
  EXPECT_EQ(liveAt(l, 3), (Names{"s2", "s3", "s4", "scc", "v1", "v2", "v3"}));
  EXPECT_EQ(liveAt(l, 4), (Names{"s2", "v1", "v2", "v3"}));
}

TEST(Liveness, ConditionalMoveReadsItsDestination) {
  const Listing l = listing(R"(
    s_cmov_b32 s2, s3
    s_mov_b32 m0, s2
    s_sendmsg sendmsg(MSG_INTERRUPT)
    s_endpgm
  )");
  EXPECT_EQ(liveAt(l, 0), (Names{"s2", "s3", "scc"}));
}

/// Is EXEC known to be full in front of instruction `number`?
bool isFullAt(const Listing& l, std::size_t number, bool wholeWaves) {
  const auto [block, index] = l.place(number);
  return ExecMask(l.program, l.kernel(), wholeWaves).fullBefore(block)[index];
}

TEST(ExecMask, MasksThatWereFullArePutBack) {
  const Listing l = listing(R"(
    s_mov_b64 s[4:5], exec
    v_cmp_gt_u32_e32 vcc, 8, v0
    s_and_saveexec_b64 s[6:7], vcc
    v_mov_b32_e32 v1, 0
    s_or_b64 exec, exec, s[6:7]
    v_mov_b32_e32 v2, 0
    s_and_b64 exec, exec, vcc
    v_mov_b32_e32 v3, 0
    s_mov_b64 exec, s[4:5]
    v_mov_b32_e32 v4, 0
    s_mov_b32 s5, 0
    s_mov_b64 exec, s[4:5]
    v_mov_b32_e32 v5, 0
    s_endpgm
  )");
  for (const std::size_t full : {1u, 5u, 9u})
    EXPECT_TRUE(isFullAt(l, full, true)) << full;
  for (const std::size_t narrow : {3u, 7u, 12u})
    EXPECT_FALSE(isFullAt(l, narrow, true)) << narrow;
  for (const std::size_t each : {1u, 5u, 9u})
    EXPECT_FALSE(isFullAt(l, each, false)) << each;
}

TEST(ExecMask, WhereAPathNarrowsItNothingIsKnown) {
  const Listing l = listing(R"(
    s_mov_b64 s[4:5], exec
    s_cbranch_scc1 @join
    s_mov_b64 exec, s[8:9]
  join:
    v_mov_b32_e32 v1, 0
    s_mov_b64 exec, s[4:5]
    v_mov_b32_e32 v2, 0
    s_endpgm
  )");
  EXPECT_FALSE(isFullAt(l, 3, true));
  EXPECT_TRUE(isFullAt(l, 5, true));
}

TEST(Liveness, WholeWavesEndTheLifeOfOldValues) {
  const Listing l = listing(R"(
    v_mov_b32_e32 v1, 0
    v_add_u32_e32 v2, v1, v1
    s_endpgm
  )");
  const auto any = liveness(l.program, l.kernel(), accum), whole = liveness(l.program, l.kernel(), accum, true);
  EXPECT_TRUE(any.liveIn[0].test(isa::vgprUnit(1)));
  EXPECT_FALSE(whole.liveIn[0].test(isa::vgprUnit(1)));
}

TEST(Liveness, EverythingIsLiveAtCalls) {
  const Listing l = listing(R"(
    s_mov_b32 s5, 0
    s_swappc_b64 s[30:31], s[8:9]
    s_endpgm
  )");
  const auto live = liveness(l.program, l.kernel(), accum);
  EXPECT_EQ(liveBefore(l.program, l.kernel(), live, 0, accum)[1], allUnits());
  EXPECT_FALSE(liveBefore(l.program, l.kernel(), live, 0, accum)[0].test(5));
  EXPECT_FALSE(liveBefore(l.program, l.kernel(), live, 0, accum)[2].any());
}

TEST(Liveness, IndexedVgprsAreAllRead) {
  const Listing l = listing(R"(
    s_set_gpr_idx_on s2, gpr_idx(SRC0)
    v_mov_b32_e32 v1, v10
    s_set_gpr_idx_off
    s_endpgm
  )");
  const auto live = liveness(l.program, l.kernel(), accum);
  EXPECT_TRUE(live.liveIn[0].test(isa::vgprUnit(200)));
}

TEST(DefUse, LastWriterPerUnit) {
  const Listing l = listing(R"(
    s_mov_b32 s2, 1
    s_mov_b32 s2, 2
    s_add_u32 s3, s2, s4
    s_endpgm
  )");
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string>> uses;
  for (const auto& use : blockDefUse(l.program.blocks[0], accum).uses)
    uses.emplace_back(use.user, use.definition, isa::regUnitName(use.unit));
  EXPECT_EQ(uses, (std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string>>{{2, 1, "s2"},
                                                                                      {2, DefUse::entry, "s4"}}));
}

TEST(Dominators, DiamondAndLoop) {
  const Listing l = listing(R"(
    s_cbranch_scc0 @right
    s_nop 0
    s_branch @join
    right:
    s_nop 1
    join:
    s_cbranch_scc1 @join
    s_endpgm
  )");
  // Blocks: 0 head, 1 left, 2 right, 3 join, 4 end.
  const Dominators dominators(l.program, l.kernel());
  EXPECT_FALSE(dominators.immediate(0));
  EXPECT_EQ(dominators.immediate(1), 0u);
  EXPECT_EQ(dominators.immediate(2), 0u);
  EXPECT_EQ(dominators.immediate(3), 0u);
  EXPECT_EQ(dominators.immediate(4), 3u);
  EXPECT_TRUE(dominators.dominates(0, 4));
  EXPECT_FALSE(dominators.dominates(1, 3));
  EXPECT_TRUE(dominators.dominates(3, 3));
}

TEST(Loops, NestAndExits) {
  const Listing l = listing(R"(
    s_nop 0
    outer:
    s_nop 1
    inner:
    s_nop 2
    s_cbranch_scc1 @inner
    s_cbranch_vccz @outer
    s_endpgm
  )");
  // Blocks: 0 entry, 1 outer, 2 inner, 3 latch of outer, 4 end.
  const auto loops = naturalLoops(l.program, l.kernel());
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].header, 1u);
  EXPECT_EQ(loops[0].blocks, (std::vector<BlockId>{1, 2, 3}));
  EXPECT_EQ(loops[0].latches, (std::vector<BlockId>{3}));
  EXPECT_EQ(loops[0].exits, (std::vector<BlockId>{4}));
  EXPECT_FALSE(loops[0].innermost);
  EXPECT_FALSE(loops[0].parent);
  EXPECT_EQ(loops[1].header, 2u);
  EXPECT_EQ(loops[1].blocks, (std::vector<BlockId>{2}));
  EXPECT_EQ(loops[1].parent, 0u);
  EXPECT_TRUE(loops[1].innermost);
  EXPECT_TRUE(irreducibleBlocks(l.program, l.kernel()).empty());
}

TEST(Loops, CycleWithTwoEntriesIsIrreducible) {
  const Listing l = listing(R"(
    s_cbranch_scc0 @b
    a:
    s_nop 0
    b:
    s_nop 1
    s_cbranch_scc1 @a
    s_endpgm
  )");
  EXPECT_TRUE(naturalLoops(l.program, l.kernel()).empty());
  EXPECT_EQ(irreducibleBlocks(l.program, l.kernel()), (std::vector<BlockId>{1, 2}));
}

bool depends(const std::string& first, const std::string& second, bool sameBases = true) {
  const Listing l = listing(first + "\n" + second + "\ns_endpgm\n");
  const bool forward = mayDepend(l.at(0), l.at(1), sameBases);
  EXPECT_EQ(forward, mayDepend(l.at(1), l.at(0), sameBases));
  return forward;
}

TEST(MemoryDependence, SpacesAndReads) {
  EXPECT_FALSE(depends("ds_read_b32 v1, v2", "global_store_dword v[2:3], v4, off"));
  EXPECT_FALSE(depends("global_load_dword v1, v[2:3], off", "buffer_load_dword v4, off, s[0:3], 0"));
  EXPECT_FALSE(depends("ds_read_b32 v1, v2", "ds_read_b32 v3, v4"));
  EXPECT_TRUE(depends("ds_write_b32 v1, v2", "ds_read_b32 v3, v4"));
  EXPECT_TRUE(depends("s_load_dword s4, s[0:1], 0x0", "global_store_dword v[2:3], v4, off"));
  EXPECT_FALSE(depends("scratch_store_dword off, v1, s2", "global_load_dword v1, v[2:3], off"));
  EXPECT_TRUE(depends("scratch_store_dword off, v1, s2", "flat_load_dword v1, v[2:3]"));
  EXPECT_TRUE(depends("flat_store_dword v[2:3], v1", "ds_read_b32 v3, v4"));
}

TEST(MemoryDependence, LdsDmaWritesLds) {
  EXPECT_TRUE(depends("buffer_load_dword v1, s[4:7], 0 offen lds", "ds_read_b32 v3, v4"));
  EXPECT_TRUE(depends("buffer_load_dword v1, s[4:7], 0 offen lds", "global_store_dword v[2:3], v4, off"));
  EXPECT_FALSE(depends("buffer_load_dword v1, s[4:7], 0 offen lds", "global_load_dword v4, v[2:3], off"));
}

TEST(MemoryDependence, OrderedAccesses) {
  EXPECT_TRUE(depends("global_atomic_add v[2:3], v4, off", "global_load_dword v1, v[6:7], off"));
  EXPECT_TRUE(depends("global_load_dword v1, v[6:7], off sc1", "global_load_dword v2, v[6:7], off"));
  EXPECT_TRUE(depends("buffer_wbl2 sc1", "global_load_dword v2, v[6:7], off"));
  EXPECT_TRUE(depends("s_barrier", "ds_read_b32 v3, v4"));
  EXPECT_FALSE(depends("s_setprio 1", "ds_read_b32 v3, v4"));
  EXPECT_FALSE(depends("v_mov_b32_e32 v1, v2", "ds_read_b32 v3, v4"));
}

TEST(MemoryDependence, OffsetsSeparateScalarAddressesOnly) {
  EXPECT_FALSE(depends("s_store_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x4"));
  EXPECT_TRUE(depends("s_store_dwordx2 s[4:5], s[0:1], 0x0", "s_load_dword s6, s[0:1], 0x4"));
  EXPECT_TRUE(depends("s_store_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x4", false));
  EXPECT_TRUE(depends("s_store_dword s4, s[0:1], 0x0", "s_load_dword s5, s[2:3], 0x4"));
  // Lane i's address plus 4 may be lane i + 1's address.
  EXPECT_TRUE(depends("ds_write_b32 v1, v2", "ds_read_b32 v3, v1 offset:4"));
}

} // namespace
} // namespace asmevo::program::test
