// Dominators, loops, liveness and reaching definitions against definitions written out on small random graphs and on
// production kernels.
#include "analysis_support.h"
#include "program/analysis/liveness.h"
#include "program/analysis/loops.h"
#include "program/analysis/reaching_definitions.h"
#include "program_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

namespace asmevo::program::test {
namespace {

constexpr unsigned accum = 64;
using Blocks = std::vector<BlockId>;

/// A function of `count` blocks that branch anywhere, with scalar code that reads, writes and partly writes s0 to s5.
std::string randomText(unsigned seed, unsigned count) {
  std::mt19937 random(seed);
  const auto reg = [&] { return fmt::format("s{}", random() % 6); };
  std::string text;
  for (unsigned b = 0; b < count; ++b) {
    text += fmt::format("b{}:\n", b);
    for (unsigned n = random() % 3; n > 0; --n)
      switch (random() % 4) {
      case 0:
        text += fmt::format("s_mov_b32 {}, {}\n", reg(), reg());
        break;
      case 1:
        text += fmt::format("s_add_u32 {}, {}, {}\n", reg(), reg(), reg());
        break;
      case 2:
        text += fmt::format("s_bitset1_b32 {}, {}\n", reg(), reg()); // keeps the other bits
        break;
      default:
        text += fmt::format("s_addc_u32 {}, {}, 1\n", reg(), reg());
      }
    switch (b + 1 == count ? 0 : random() % 6) {
    case 0:
      text += "s_endpgm\n";
      break;
    case 1:
      text += fmt::format("s_branch @b{}\n", random() % count);
      break;
    case 2:
      break;
    default:
      text += fmt::format("s_cbranch_scc1 @b{}\n", random() % count);
    }
  }
  return text;
}

/// Blocks reachable from `from` along `next` without entering `avoid`.
template <class Next> std::set<BlockId> reachable(const Blocks& from, const Next& next, std::optional<BlockId> avoid) {
  std::set<BlockId> seen;
  Blocks todo;
  const auto add = [&](BlockId block) {
    if (block != avoid && seen.insert(block).second)
      todo.push_back(block);
  };
  for (const BlockId block : from)
    add(block);
  while (!todo.empty()) {
    const BlockId block = todo.back();
    todo.pop_back();
    for (const BlockId n : next(block))
      add(n);
  }
  return seen;
}

/// Every answer about dominance, by taking each block out of the graph.
void expectDominanceIsRight(const Program& program, const Function& function, const std::string& what) {
  const auto successors = [&](BlockId b) { return program.blocks[b].successors; };
  const auto predecessors = [&](BlockId b) { return program.blocks[b].predecessors; };
  Blocks entries{function.entryBlock};
  if (function.preloadEntry)
    entries.push_back(*function.preloadEntry);
  const auto all = reachable(entries, successors, std::nullopt);
  Blocks exits;
  for (const BlockId block : all)
    if (program.blocks[block].successors.empty())
      exits.push_back(block);
  const auto canLeave = reachable(exits, predecessors, std::nullopt);
  const Dominators dominators(program, function);
  const PostDominators post(program, function);
  for (const BlockId a : all) {
    const auto without = reachable(entries, successors, a);
    const auto leaving = reachable(exits, predecessors, a);
    for (const BlockId b : all) {
      ASSERT_EQ(dominators.dominates(a, b), a == b || !without.contains(b)) << what << ": " << a << " over " << b;
      if (canLeave.contains(a) && canLeave.contains(b))
        ASSERT_EQ(post.postDominates(a, b), a == b || !leaving.contains(b)) << what << ": " << a << " after " << b;
    }
    ASSERT_EQ(post.contains(a), canLeave.contains(a)) << what;
  }
}

/// The region of every cycle: blocks that reach each other, and what the nesting promises.
void expectLoopForestIsRight(const Program& program, const Function& function, const std::string& what) {
  const auto successors = [&](BlockId b) { return program.blocks[b].successors; };
  const auto regions = loopForest(program, function);
  std::set<Blocks> outermost;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const LoopRegion& region = regions[i];
    if (!region.parent)
      outermost.insert(region.blocks);
    ASSERT_EQ(region.depth, region.parent ? regions[*region.parent].depth + 1 : 1u) << what;
    if (region.parent) {
      ASSERT_LT(*region.parent, i) << what;
      ASSERT_TRUE(std::ranges::includes(regions[*region.parent].blocks, region.blocks)) << what;
      ASSERT_LT(region.blocks.size(), regions[*region.parent].blocks.size()) << what;
    }
    // Entered exactly at its headers.
    for (const BlockId block : region.blocks) {
      bool entered = block == function.entryBlock;
      for (const BlockId from : program.blocks[block].predecessors)
        entered |= std::ranges::find(function.blocks, from) != function.blocks.end() &&
                   !std::ranges::binary_search(region.blocks, from);
      ASSERT_EQ(std::ranges::binary_search(region.headers, block), entered) << what;
    }
  }
  std::set<Blocks> components;
  for (const BlockId a : function.blocks) {
    Blocks component;
    const auto fromA = reachable(successors(a), successors, std::nullopt);
    for (const BlockId b : fromA)
      if (reachable(successors(b), successors, std::nullopt).contains(a) && fromA.contains(b))
        component.push_back(b);
    if (!component.empty())
      components.insert(component);
  }
  ASSERT_EQ(outermost, components) << what;
  // A natural loop whose header is no inner block of an irreducible region is a region of its own.
  std::set<BlockId> irreducible;
  for (const LoopRegion& region : regions)
    if (region.isIrreducible())
      irreducible.insert(region.blocks.begin(), region.blocks.end());
  for (const Loop& loop : naturalLoops(program, function))
    if (!irreducible.contains(loop.header))
      ASSERT_TRUE(std::ranges::any_of(regions, [&](const LoopRegion& r) {
        return r.headers == Blocks{loop.header} && r.blocks == loop.blocks;
      })) << what;
}

TEST(Structure, DominanceAndLoopsOfRandomGraphs) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Listing l = listing(randomText(seed, 3 + seed % 12));
    const std::string what = fmt::format("seed {}", seed);
    expectDominanceIsRight(l.program, l.kernel(), what);
    expectLoopForestIsRight(l.program, l.kernel(), what);
    if (HasFatalFailure())
      return;
  }
}

TEST(Structure, DominanceAndLoopsOfProductionKernels) {
  for (const char* path :
       {"gfx942/fmoe_int8_g1u0.co", "gfx942/pa/pa_bf16_noquant_gqa8_1tg_4w.co",
        "gfx942/fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne.co", "gfx942/topksoftmax/topksoftmax_12x256x8.co"}) {
    auto bytes = readFile(corpusPath(path));
    ASSERT_TRUE(bytes) << path << " (scripts/corpus brings the production objects)";
    const Loaded loaded = load(*std::move(bytes), path);
    for (const Function& function : loaded.program.functions) {
      expectDominanceIsRight(loaded.program, function, path);
      expectLoopForestIsRight(loaded.program, function, path);
      if (HasFatalFailure())
        return;
    }
  }
}

TEST(Structure, NestOfAnIrreducibleRegion) {
  // 1 and 2 are entered both from 0; inside, 3 loops on itself.
  const Listing l = listing(R"(
    s_cbranch_scc0 @b
    a:
    s_nop 0
    b:
    s_nop 1
    c:
    s_nop 2
    s_cbranch_scc1 @c
    s_cbranch_scc0 @a
    s_endpgm
  )");
  const auto regions = loopForest(l.program, l.kernel());
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].blocks, (Blocks{1, 2, 3, 4}));
  EXPECT_EQ(regions[0].headers, (Blocks{1, 2}));
  EXPECT_TRUE(regions[0].isIrreducible());
  EXPECT_EQ(regions[1].blocks, (Blocks{3}));
  EXPECT_EQ(regions[1].parent, 0u);
  EXPECT_EQ(regions[1].depth, 2u);
  const PostDominators post(l.program, l.kernel());
  EXPECT_TRUE(post.postDominates(5, 0));
  EXPECT_FALSE(post.postDominates(1, 0));
  EXPECT_EQ(post.immediate(0), 2u);
}

struct Point {
  BlockId block;
  std::size_t index;
  auto operator<=>(const Point&) const = default;
};

/// Points where control may be after an instruction.
std::vector<Point> after(const Program& program, Point at) {
  std::vector<Point> next;
  if (at.index < program.blocks[at.block].instrs.size())
    next.push_back({at.block, at.index + 1});
  else
    for (const BlockId block : program.blocks[at.block].successors)
      next.push_back({block, 0});
  return next;
}

const isa::Instruction* instructionAt(const Program& program, Point at) {
  const auto& instrs = program.blocks[at.block].instrs;
  return at.index < instrs.size() ? instrs[at.index].inst : nullptr;
}

/// Everything a value of `unit` that is there at `from` may flow to: points passed before a whole overwrite.
std::set<Point> flowOfValue(const Program& program, Point from, std::size_t unit) {
  std::set<Point> seen;
  std::vector<Point> todo{from};
  while (!todo.empty()) {
    const Point at = todo.back();
    todo.pop_back();
    if (!seen.insert(at).second)
      continue;
    const isa::Instruction* inst = instructionAt(program, at);
    const bool replaces = inst && inst->kills(accum).test(unit) && !inst->reads(accum).test(unit);
    if (replaces || (inst && inst->cls == isa::InstClass::endpgm))
      continue;
    // Where an instruction reads and wholly writes a unit, the old value ends there too.
    if (inst && inst->kills(accum).test(unit) && !inst->tiedDest)
      continue;
    for (const Point next : after(program, at))
      todo.push_back(next);
  }
  return seen;
}

TEST(Structure, LivenessOfRandomGraphs) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Listing l = listing(randomText(seed, 3 + seed % 10));
    const auto live = liveness(l.program, l.kernel(), accum);
    for (const BlockId block : l.kernel().blocks) {
      const auto before = liveBefore(l.program, l.kernel(), live, block, accum);
      for (std::size_t i = 0; i < before.size(); ++i)
        for (const std::size_t unit :
             {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{isa::sreg::scc}}) {
          bool read = false;
          for (const Point at : flowOfValue(l.program, {block, i}, unit)) {
            const isa::Instruction* inst = instructionAt(l.program, at);
            read |= inst && inst->reads(accum).test(unit);
          }
          ASSERT_EQ(before[i].test(unit), read) << "seed " << seed << " block " << block << " instruction " << i << " "
                                                << isa::regUnitName(static_cast<isa::RegUnit>(unit));
        }
    }
  }
}

TEST(Structure, ReachingDefinitionsOfRandomGraphs) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Listing l = listing(randomText(seed, 3 + seed % 10));
    const ReachingDefinitions reaching(l.program, l.kernel(), accum);
    for (const isa::RegUnit unit : {isa::RegUnit{0}, isa::RegUnit{3}, isa::RegUnit{isa::sreg::scc}}) {
      std::map<Point, std::set<Point>> expected; // by use
      const auto spread = [&](Point from, Point definition) {
        for (const Point at : flowOfValue(l.program, from, unit))
          expected[at].insert(definition);
      };
      const Point entry{~BlockId{0}, 0};
      spread({l.kernel().entryBlock, 0}, entry);
      for (const BlockId block : l.kernel().blocks)
        for (std::size_t i = 0; i < l.program.blocks[block].instrs.size(); ++i)
          if (l.program.blocks[block].instrs[i].inst->writes(accum).test(unit))
            spread({block, i + 1}, {block, i});
      for (const BlockId block : l.kernel().blocks)
        for (std::uint32_t i = 0; i < l.program.blocks[block].instrs.size(); ++i) {
          const auto found = reaching.before({block, i}, unit);
          std::set<Point> got;
          if (found.outside)
            got.insert(entry);
          for (const Place place : found.places)
            got.insert({place.block, place.index});
          ASSERT_EQ(got, (expected[Point{block, i}])) << "seed " << seed << " block " << block << " instruction " << i;
          for (const Place place : found.places)
            if (instructionAt(l.program, {block, i})->reads(accum).test(unit))
              ASSERT_TRUE(std::ranges::binary_search(reaching.usesOf(place, unit), Place{block, i})) << "seed " << seed;
        }
    }
  }
}

TEST(ReachingDefinitions, PartialWritesKeepOlderOnes) {
  const Listing l = listing(R"(
    s_mov_b64 exec, -1
    v_mov_b32_e32 v2, 0
    v_mov_b32_e32 v3, 0
    s_and_saveexec_b64 s[4:5], vcc
    v_mov_b32_e32 v2, 1
    v_mov_b32_e32 v3, 1
    s_mov_b64 exec, -1
    v_mov_b32_e32 v3, 2
    v_cvt_pk_fp8_f32 v3, v6, v7 op_sel:[0,0,1]
    global_store_dwordx2 v[4:5], v[2:3], off
    s_endpgm
  )");
  const ReachingDefinitions reaching(l.program, l.kernel(), accum);
  const auto [block, index] = l.place(9);
  const auto numbers = [&](isa::RegUnit unit) {
    std::vector<std::size_t> result;
    for (const Place place : reaching.before({block, index}, unit).places)
      result.push_back(l.numberOf(place.block, place.index));
    return result;
  };
  EXPECT_EQ(numbers(isa::vgprUnit(2)), (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(numbers(isa::vgprUnit(3)), (std::vector<std::size_t>{7, 8}));
  EXPECT_FALSE(reaching.before({block, index}, isa::vgprUnit(2)).outside);
  EXPECT_TRUE(reaching.before({block, index}, isa::vgprUnit(4)).outside);
}

TEST(ReachingDefinitions, CallsAreOutside) {
  const Listing l = listing(R"(
    s_mov_b32 s4, 0
    s_swappc_b64 s[30:31], s[2:3] @f
    s_mov_b32 s5, s4
    s_endpgm
    func f:
    s_setpc_b64 s[30:31]
  )");
  const ReachingDefinitions reaching(l.program, l.kernel(), accum);
  const auto [block, index] = l.place(2);
  const auto found = reaching.before({block, index}, 4);
  EXPECT_TRUE(found.outside);
  EXPECT_EQ(found.places.size(), 1u);
}

TEST(Liveness, HalfOfExecIsEnoughForThirtyTwoLanes) {
  const auto codec = [&](unsigned waveSize) {
    object::Target target;
    target.processor = "gfx1100";
    return *isa::Codec::create(target, waveSize);
  };
  const char* text = "s_mov_b32 exec_lo, -1\nv_mov_b32_e32 v1, s2\nglobal_store_b32 v[2:3], v1, off\ns_endpgm\n";
  for (const unsigned waveSize : {32u, 64u}) {
    const auto shared = codec(waveSize);
    const Listing l = listing(text, *shared);
    const auto live = liveness(l.program, l.kernel(), accum);
    EXPECT_EQ(live.liveIn[0].test(isa::vgprUnit(1)), waveSize == 64) << waveSize;
    EXPECT_EQ(live.liveIn[0].test(isa::sreg::execHi), waveSize == 64) << waveSize;
  }
}

} // namespace
} // namespace asmevo::program::test
