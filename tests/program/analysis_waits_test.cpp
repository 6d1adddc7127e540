#include "analysis_support.h"
#include "isa/waitcnt.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/wait_lint.h"
#include "program/analysis/waits.h"
#include "program_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace asmevo::program::test {
namespace {

using Kind = WaitFinding::Kind;

constexpr unsigned accum = 64;

std::vector<WaitFinding> findingsOf(const Listing& l) {
  return uncoveredUses(l.program, accum);
}

/// "3<-1 vm raw need 0 have -" for one finding, by instruction numbers.
std::string show(const Listing& l, const WaitFinding& f) {
  const char* kind = f.kind == Kind::readsInFlight ? "raw" : f.kind == Kind::overwritesInFlight ? "waw" : "dma";
  return fmt::format("{}<-{} {} {} need {} have {}", l.numberOf(f.consumer.block, f.consumer.index),
                     l.numberOf(f.producer.block, f.producer.index), f.counter == Counter::vm ? "vm" : "lgkm", kind,
                     f.needed, f.present ? fmt::format("{}", *f.present) : "-");
}

std::vector<std::string> shown(const std::string& text) {
  const Listing l = listing(text);
  std::vector<std::string> result;
  for (const auto& f : findingsOf(l))
    result.push_back(show(l, f));
  return result;
}

using Lines = std::vector<std::string>;

TEST(WaitLint, LoadIsCoveredByExactCountOnly) {
  const char* program = R"(
    global_load_dword v1, v[2:3], off
    global_load_dword v4, v[2:3], off offset:4
    global_load_dword v5, v[2:3], off offset:8
    s_waitcnt vmcnt({})
    v_add_u32_e32 v6, v1, v1
    s_endpgm
  )";
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), 2)), Lines{});
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), 0)), Lines{});
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), 3)), (Lines{"4<-0 vm raw need 2 have 3"}));
}

TEST(WaitLint, StoresCountInOrderWithLoads) {
  EXPECT_EQ(shown(R"(
    global_load_dword v1, v[2:3], off
    global_store_dword v[2:3], v7, off
    scratch_store_dword off, v7, s2
    s_waitcnt vmcnt(2)
    v_mov_b32_e32 v6, v1
    s_endpgm
  )"),
            Lines{});
}

TEST(WaitLint, CacheInvalidationIsNotCounted) {
  EXPECT_EQ(shown(R"(
    global_load_dword v1, v[2:3], off
    buffer_inv sc1
    s_waitcnt vmcnt(1)
    v_mov_b32_e32 v6, v1
    s_endpgm
  )"),
            (Lines{"3<-0 vm raw need 0 have 1"}));
}

TEST(WaitLint, ScalarLoadsHaveNoOrder) {
  EXPECT_EQ(shown(R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x8
    s_waitcnt lgkmcnt(1)
    v_mov_b32_e32 v2, s4
    s_endpgm
  )"),
            (Lines{"3<-0 lgkm raw need 0 have 1"}));
}

TEST(WaitLint, LdsKeepsItsOwnOrderAmongScalarLoads) {
  // One scalar load may return before or after; two of {load, read a, read b} back means read a is.
  EXPECT_EQ(shown(R"(
    ds_read_b32 v1, v9
    s_load_dword s6, s[0:1], 0x8
    ds_read_b32 v2, v9 offset:4
    s_waitcnt lgkmcnt(1)
    v_mov_b32_e32 v3, v1
    s_endpgm
  )"),
            Lines{});
  EXPECT_EQ(shown(R"(
    ds_read_b32 v1, v9
    s_load_dword s6, s[0:1], 0x8
    s_waitcnt lgkmcnt(1)
    v_mov_b32_e32 v3, v1
    s_endpgm
  )"),
            (Lines{"3<-0 lgkm raw need 0 have 1"}));
}

TEST(WaitLint, FlatNeedsBothCountersAtZero) {
  EXPECT_EQ(shown(R"(
    flat_load_dword v1, v[2:3]
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v3, v1
    s_endpgm
  )"),
            (Lines{"2<-0 lgkm raw need 0 have -"}));
  EXPECT_EQ(shown(R"(
    flat_load_dword v1, v[2:3]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_mov_b32_e32 v3, v1
    s_endpgm
  )"),
            Lines{});
}

TEST(WaitLint, OverwriteOfADestinationInFlight) {
  EXPECT_EQ(shown(R"(
    global_load_dword v1, v[2:3], off
    v_mov_b32_e32 v1, 0
    s_endpgm
  )"),
            (Lines{"1<-0 vm waw need 0 have -"}));
  // Two loads of a kind return in order; loads of different kinds do not.
  EXPECT_EQ(shown(R"(
    global_load_dword v1, v[2:3], off
    buffer_load_dword v1, off, s[4:7], 0
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v3, v1
    s_endpgm
  )"),
            Lines{});
  EXPECT_EQ(shown(R"(
    global_load_dword v1, v[2:3], off
    ds_read_b32 v1, v9
    s_endpgm
  )"),
            (Lines{"1<-0 vm waw need 0 have -"}));
}

TEST(WaitLint, StoreDataMayBeOverwrittenAtOnce) {
  EXPECT_EQ(shown(R"(
    global_store_dword v[2:3], v1, off
    v_mov_b32_e32 v1, 0
    ds_write_b32 v9, v1
    v_mov_b32_e32 v1, 1
    s_endpgm
  )"),
            Lines{});
}

TEST(WaitLint, HalfRegisterLoadsOfOneKindNeedNoWaitBetween) {
  EXPECT_EQ(shown(R"(
    global_load_short_d16 v1, v[2:3], off
    global_load_short_d16_hi v1, v[2:3], off offset:2
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v3, v1
    s_endpgm
  )"),
            Lines{});
}

TEST(WaitLint, AtomicReturnsIntoItsData) {
  EXPECT_EQ(shown(R"(
    global_atomic_add v1, v[2:3], v4, off sc0
    v_mov_b32_e32 v5, v1
    s_endpgm
  )"),
            (Lines{"1<-0 vm raw need 0 have -"}));
  EXPECT_EQ(shown(R"(
    global_atomic_add v[2:3], v4, off
    v_mov_b32_e32 v4, v2
    s_endpgm
  )"),
            Lines{});
}

TEST(WaitLint, WorstPathCounts) {
  // The branch that skips the second load leaves the first one younger.
  EXPECT_EQ(shown(R"(
    global_load_dword v1, v[2:3], off
    s_cbranch_scc0 @join
    global_load_dword v4, v[2:3], off offset:4
    join:
    s_waitcnt vmcnt(1)
    v_mov_b32_e32 v5, v1
    s_endpgm
  )"),
            (Lines{"4<-0 vm raw need 0 have 1"}));
}

TEST(WaitLint, LoopCarriedLoad) {
  const char* program = R"(
    global_load_dword v1, v[2:3], off
    loop:
    s_waitcnt vmcnt({})
    v_add_u32_e32 v5, v5, v1
    global_load_dword v1, v[2:3], off offset:4
    global_store_dword v[2:3], v5, off offset:8
    s_cbranch_scc1 @loop
    s_endpgm
  )";
  // Around the loop one store follows the load, from the entry none.
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), 0)), Lines{});
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), 1)), (Lines{"2<-0 vm raw need 0 have 1"}));
}

TEST(WaitLint, CallsCarryWhatIsInFlight) {
  const char* program = R"(
    global_load_dword v2, v[4:5], off
    {}
    s_swappc_b64 s[30:31], s[8:9] @f
    s_endpgm
    func f:
    v_add_u32_e32 v3, 1, v2
    s_setpc_b64 s[30:31]
  )";
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), "s_nop 0")), (Lines{"4<-0 vm raw need 0 have -"}));
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), "s_waitcnt vmcnt(0)")), Lines{});
}

TEST(WaitLint, CalleeLeavesItsLoadToTheCaller) {
  EXPECT_EQ(shown(R"(
    s_swappc_b64 s[30:31], s[8:9] @f
    v_mov_b32_e32 v1, v2
    s_endpgm
    func f:
    global_load_dword v2, v[4:5], off
    s_setpc_b64 s[30:31]
  )"),
            (Lines{"1<-3 vm raw need 0 have -"}));
}

TEST(WaitLint, WaitInTheCalleeCoversTheCaller) {
  EXPECT_EQ(shown(R"(
    global_load_dword v2, v[4:5], off
    s_swappc_b64 s[30:31], s[8:9] @f
    v_mov_b32_e32 v1, v2
    s_endpgm
    func f:
    s_waitcnt vmcnt(0)
    s_setpc_b64 s[30:31]
  )"),
            Lines{});
}

TEST(WaitLint, LdsDmaIsCoveredByVmcntOnly) {
  const char* program = R"(
    buffer_load_dword v1, s[4:7], 0 offen lds
    buffer_load_dword v1, s[4:7], 0 offen offset:4 lds
    s_waitcnt {}
    s_barrier
    ds_read_b32 v3, v2
    s_endpgm
  )";
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), "lgkmcnt(0)")), (Lines{"3<-0 vm dma need 0 have -"}));
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), "vmcnt(0)")), Lines{});
  EXPECT_EQ(shown(fmt::format(fmt::runtime(program), "vmcnt(1)")), Lines{}); // the older one has landed
}

/// Sufficient waits as texts, in order.
Lines sufficient(const std::string& text) {
  const Listing l = listing(text);
  Lines result;
  for (const auto& requirement : requiredWaits(l.program, l.kernel(), accum))
    result.push_back(requirement.sufficient == isa::noWait ? "none"
                                                           : isa::waitcntText(requirement.sufficient).substr(10));
  return result;
}

TEST(RequiredWaits, OverConservativeCountBecomesExact) {
  EXPECT_EQ(sufficient(R"(
    global_load_dword v1, v[2:3], off
    global_load_dword v4, v[2:3], off offset:4
    global_load_dword v5, v[2:3], off offset:8
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_add_u32_e32 v6, v1, v1
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v6, v4, v5
    s_endpgm
  )"),
            (Lines{"vmcnt(2)", "vmcnt(0)"}));
}

TEST(RequiredWaits, OnlyTheLastWaitInFrontOfAUseIsNeeded) {
  EXPECT_EQ(sufficient(R"(
    ds_read_b32 v1, v9
    s_waitcnt lgkmcnt(0)
    s_nop 0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v2, v1
    s_endpgm
  )"),
            (Lines{"none", "lgkmcnt(0)"}));
}

TEST(RequiredWaits, NothingIsNeededAtTheEnd) {
  EXPECT_EQ(sufficient(R"(
    global_store_dword v[2:3], v1, off
    s_waitcnt vmcnt(0)
    s_endpgm
  )"),
            (Lines{"none"}));
}

TEST(RequiredWaits, BarrierKeepsWhatWasComplete) {
  EXPECT_EQ(sufficient(R"(
    ds_write_b32 v9, v1
    s_waitcnt lgkmcnt(0)
    s_barrier
    s_endpgm
  )"),
            (Lines{"lgkmcnt(0)"}));
  EXPECT_EQ(sufficient(R"(
    buffer_load_dword v1, s[4:7], 0 offen lds
    buffer_load_dword v1, s[4:7], 0 offen offset:4 lds
    s_waitcnt vmcnt(1)
    s_barrier
    s_endpgm
  )"),
            (Lines{"vmcnt(1)"}));
}

TEST(RequiredWaits, LaterWaitOfEqualStrengthServesTheBarrier) {
  // vmcnt(0), two more operations, vmcnt(2): the second completes all that the first did.
  EXPECT_EQ(sufficient(R"(
    global_store_dword v[2:3], v1, off
    s_waitcnt vmcnt(0)
    global_store_dword v[2:3], v1, off offset:4
    global_store_dword v[2:3], v1, off offset:8
    s_waitcnt vmcnt(2)
    s_barrier
    s_endpgm
  )"),
            (Lines{"vmcnt(0)", "vmcnt(2)"})); // the first also orders the stores among themselves
  EXPECT_EQ(sufficient(R"(
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    global_load_dword v5, v[2:3], off offset:4
    global_load_dword v6, v[2:3], off offset:8
    s_waitcnt vmcnt(2)
    s_barrier
    s_endpgm
  )"),
            (Lines{"none", "vmcnt(2)"}));
}

TEST(RequiredWaits, BarrierOnOnePathOnly) {
  EXPECT_EQ(sufficient(R"(
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    s_cbranch_scc0 @end
    s_barrier
    end:
    s_endpgm
  )"),
            (Lines{"vmcnt(0)"}));
}

TEST(RequiredWaits, PrologueWaitThatALoopBarrierDependsOn) {
  // The loop's own wait keeps three operations in flight; the prologue's must not be weakened to that.
  EXPECT_EQ(sufficient(R"(
    buffer_load_dword v1, s[4:7], 0 offen lds
    s_waitcnt vmcnt(0)
    loop:
    s_barrier
    buffer_load_dword v1, s[4:7], 0 offen lds
    buffer_load_dword v1, s[4:7], 0 offen offset:4 lds
    buffer_load_dword v1, s[4:7], 0 offen offset:8 lds
    s_waitcnt vmcnt(3)
    s_cbranch_scc1 @loop
    s_endpgm
  )"),
            (Lines{"vmcnt(0)", "vmcnt(3)"}));
}

TEST(RequiredWaits, ReleasePatternIsKept) {
  EXPECT_EQ(sufficient(R"(
    global_store_dword v[2:3], v1, off
    s_waitcnt vmcnt(0)
    global_store_dword v[4:5], v6, off
    s_endpgm
  )"),
            (Lines{"vmcnt(0)"}));
  EXPECT_EQ(sufficient(R"(
    global_load_dword v1, v[2:3], off
    s_waitcnt vmcnt(0)
    global_atomic_add v[4:5], v6, off
    s_endpgm
  )"),
            (Lines{"vmcnt(0)"}));
}

TEST(RequiredWaits, LdsReadKeepsTheDmaWait) {
  EXPECT_EQ(sufficient(R"(
    buffer_load_dword v1, s[4:7], 0 offen lds
    s_waitcnt vmcnt(0)
    ds_read_b32 v3, v2
    s_endpgm
  )"),
            (Lines{"vmcnt(0)"}));
}

TEST(RequiredWaits, ScalarLoadsNeedZero) {
  EXPECT_EQ(sufficient(R"(
    s_load_dword s6, s[0:1], 0x8
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_mov_b32 s7, s6
    s_endpgm
  )"),
            (Lines{"lgkmcnt(0)"}));
}

TEST(RequiredWaits, CallsKeepEverything) {
  EXPECT_EQ(sufficient(R"(
    global_load_dword v1, v[2:3], off
    s_waitcnt vmcnt(0)
    s_swappc_b64 s[30:31], s[8:9]
    s_endpgm
  )"),
            (Lines{"vmcnt(0)"}));
}

TEST(RequiredWaits, SetprioIsNoOrderingPoint) {
  EXPECT_EQ(sufficient(R"(
    global_load_dword v1, v[2:3], off
    s_waitcnt vmcnt(0)
    s_setprio 1
    s_endpgm
  )"),
            (Lines{"none"}));
}

/// Random programs are walked along random paths; what each wait completes is counted operation by operation, as the
/// hardware does, with the waits as they are and as weakened.
class PathWalk {
 public:
  PathWalk(const Program& present, const Program& weakened) : programs{&present, &weakened} {}

  /// One path; a description of the first lost guarantee, or nothing.
  std::string run(std::uint64_t seed) {
    state = seed;
    ops.clear();
    BlockId block = 0;
    for (int steps = 0; steps < 80;) {
      const Block& code = programs[0]->blocks[block];
      for (std::size_t i = 0; i < code.instrs.size(); ++i, ++steps)
        if (auto lost = step(block, i); !lost.empty())
          return lost;
      if (code.successors.empty())
        break;
      block = code.successors[draw() % code.successors.size()];
    }
    return {};
  }

  std::uint64_t draw() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  }

 private:
  struct Op {
    std::string text;
    Counting counting;
    isa::RegSet result;
    bool write = false, dma = false;
    std::array<std::array<bool, counterCount>, 2> open{}; ///< by program and counter
    bool complete(std::size_t which) const { return !open[which][0] && !open[which][1]; }
  };

  void wait(std::size_t which, const isa::WaitCount& count) {
    for (const Counter counter : {Counter::vm, Counter::lgkm}) {
      const auto c = static_cast<std::size_t>(counter);
      const unsigned limit = waitFor(count, counter);
      unsigned after = 0;
      for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
        if (!isNoWait(limit, counter) && (op->counting.inOrder[c] ? after >= limit : limit == 0))
          op->open[which][c] = false;
        after += op->counting.inOrder[c];
      }
    }
  }

  std::string step(BlockId block, std::size_t index) {
    const isa::Instruction& inst = *programs[0]->blocks[block].instrs[index].inst;
    if (inst.base == "s_waitcnt") {
      for (std::size_t which = 0; which < 2; ++which)
        wait(which, programs[which]->blocks[block].instrs[index].inst->waitCount());
      return {};
    }
    const Counting counting = countingOf(inst);
    const isa::RegSet reads = inst.reads(accum), writes = inst.writes(accum);
    const bool full = inst.cls == isa::InstClass::barrier || inst.isAtomic();
    for (const Op& op : ops) {
      const bool sameKind =
          (counting.inOrder[0] && op.counting.inOrder[0]) || (counting.inOrder[1] && op.counting.inOrder[1]);
      const bool uses = op.result.intersects(reads) || (op.result.intersects(writes) && !sameKind);
      const bool orders =
          full || (inst.mayStore && !inst.isLdsDma() && op.write) || (inst.cls == isa::InstClass::lds && op.dma);
      if ((uses || orders) && op.complete(0) && !op.complete(1))
        return fmt::format("\"{}\" is no longer complete at \"{}\"", op.text, inst.text);
    }
    if (counting.any()) {
      // A later load of the same kind into a register returns later: the earlier one's result is nobody's any more.
      for (Op& op : ops)
        if ((counting.inOrder[0] && op.counting.inOrder[0]) || (counting.inOrder[1] && op.counting.inOrder[1]))
          op.result.remove(writes);
      Op op{inst.text, counting, writes, inst.mayStore, inst.isLdsDma(), {}};
      op.open = {counting.counts, counting.counts};
      ops.push_back(op);
    }
    return {};
  }

  std::array<const Program*, 2> programs;
  std::vector<Op> ops;
  std::uint64_t state = 0;
};

std::string randomProgram(std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const auto draw = [&](std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  std::string text;
  constexpr int blocks = 5;
  for (int block = 0; block < blocks; ++block) {
    text += fmt::format("b{}:\n", block);
    for (std::uint64_t i = 0, n = 2 + draw(7); i < n; ++i) {
      const auto reg = 1 + draw(6);
      switch (draw(14)) {
      case 0:
      case 1:
        text += fmt::format("global_load_dword v{}, v[20:21], off\n", reg);
        break;
      case 2:
        text += fmt::format("global_store_dword v[20:21], v{}, off\n", reg);
        break;
      case 3:
        text += fmt::format("ds_read_b32 v{}, v22\n", reg);
        break;
      case 4:
        text += fmt::format("ds_write_b32 v22, v{}\n", reg);
        break;
      case 5:
        text += "buffer_load_dword v22, s[4:7], 0 offen lds\n";
        break;
      case 6:
        text += fmt::format("s_load_dword s{}, s[0:1], 0x0\n", 20 + reg);
        break;
      case 7:
        text += draw(3) == 0 ? fmt::format("flat_load_dword v{}, v[20:21]\n", reg) : "s_nop 0\n";
        break;
      case 8:
        text += draw(2) == 0 ? "s_barrier\n" : "global_atomic_add v[20:21], v23, off\n";
        break;
      case 9:
        text += fmt::format("v_add_u32_e32 v30, v{}, v{}\n", reg, 1 + draw(6));
        break;
      case 10:
        text += fmt::format("v_mov_b32_e32 v{}, s{}\n", reg, 20 + 1 + draw(6));
        break;
      default:
        text += draw(2) == 0 ? fmt::format("s_waitcnt vmcnt({})\n", draw(5))
                             : fmt::format("s_waitcnt lgkmcnt({})\n", draw(4));
      }
    }
    if (block + 1 < blocks)
      text += draw(3) == 0 ? "" : fmt::format("s_cbranch_scc1 @b{}\n", draw(blocks));
  }
  return text + "s_endpgm\n";
}

TEST(RequiredWaits, RandomProgramsKeepTheirGuarantees) {
  std::size_t weakened = 0;
  object::Target target;
  target.processor = "gfx942";
  const auto codec = *isa::Codec::create(target);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string text = randomProgram(seed);
    const Listing l = listing(text, *codec);
    Program edited = l.program;
    for (const auto& requirement : requiredWaits(l.program, l.kernel(), accum)) {
      ASSERT_TRUE(isa::covers(requirement.present, requirement.sufficient)) << text;
      weakened += !(requirement.present == requirement.sufficient);
      edited.blocks[requirement.place.block].instrs[requirement.place.index].inst =
          *codec->assemble(isa::waitcntText(requirement.sufficient));
    }
    PathWalk walk(l.program, edited);
    for (std::uint64_t path = 0; path < 50; ++path)
      ASSERT_EQ(walk.run(seed * 1000 + path), "") << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(weakened, 1000u);
}

/// Weakening every wait of production kernels must not make a single new uncovered use.
TEST(RequiredWaits, WeakenedProductionKernelsStayCovered) {
  const std::string root = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942";
  ASSERT_TRUE(std::filesystem::exists(root)) << "run scripts/corpus";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".co")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::size_t weakened = 0;
  for (std::size_t i = 0; i < files.size(); i += 100) {
    const auto object = object::CodeObject::load(files[i]);
    ASSERT_TRUE(object) << files[i];
    const auto codec = *isa::Codec::create(object->target());
    auto program = *Program::recover(*object, *codec);
    completeInstructions(program, *codec);
    for (const Function& function : program.functions) {
      if (!function.kernel)
        continue;
      const unsigned accumOffset = object->kernels()[*function.kernel].descriptor.accumOffset(object->target());
      const auto before = uncoveredUses(program, function, accumOffset);
      Program edited = program;
      for (const auto& requirement : requiredWaits(program, function, accumOffset)) {
        ASSERT_TRUE(isa::covers(requirement.present, requirement.sufficient));
        if (requirement.sufficient == requirement.present)
          continue;
        ++weakened;
        edited.blocks[requirement.place.block].instrs[requirement.place.index].inst =
            *codec->assemble(isa::waitcntText(requirement.sufficient));
      }
      const auto after = uncoveredUses(edited, function, accumOffset);
      ASSERT_EQ(before.size(), after.size()) << files[i];
      for (std::size_t k = 0; k < before.size(); ++k) {
        EXPECT_EQ(before[k].consumer, after[k].consumer) << files[i];
        EXPECT_EQ(before[k].unit, after[k].unit) << files[i];
      }
    }
  }
  EXPECT_GT(weakened, 20u);
}

} // namespace
} // namespace asmevo::program::test
