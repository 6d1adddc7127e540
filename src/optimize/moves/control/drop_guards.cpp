#include "optimize/moves/control/drop_guards.h"

#include "optimize/edit/exec_relation.h"
#include "optimize/moves/arithmetic/straight_code.h"
#include "optimize/moves/control/block_counts.h"
#include "optimize/moves/control/straighten.h"
#include "optimize/moves/move_support.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/liveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace asmevo::optimize {

namespace {

using program::Block;
using program::BlockId;
using program::Program;

constexpr std::size_t fewInstructions = 10; ///< guarded at most, at first: about what a taken branch costs
constexpr std::size_t hottestAlone = 4;     ///< guards that are proposed one by one

/// A branch that is taken where no lane is on, and the blocks behind it that it skips.
struct Guard {
  BlockId block = 0;
  std::uint64_t address = 0; ///< of the branch in K0
  std::uint64_t passed = 0, entered = 0;
};

class GuardFinder {
 public:
  GuardFinder(const Program& p, const MoveContext& c, std::size_t most) : program(p), context(c), limit(most) {
    if (const program::Function* function = kernelFunction(program, context))
      liveness = program::liveness(program, *function, context.accumOffset);
  }

  bool isGuard(BlockId id) const {
    const Block& block = program.blocks[id];
    if (block.opaque || block.instrs.empty() || liveness.liveIn.empty())
      return false;
    const program::Instr& branch = block.instrs.back();
    if (branch.inst->base != "s_cbranch_execz" || !branch.target || *branch.target <= id + 1 ||
        *branch.target >= program.blocks.size())
      return false;
    const BlockId end = *branch.target;
    ExecRelation exec = ExecRelation::atPoint(false);
    isa::RegSet written;
    std::size_t count = 0;
    for (BlockId inner = id + 1; inner < end; ++inner) {
      const Block& skipped = program.blocks[inner];
      if (skipped.opaque || skipped.entersByRegister || skipped.section != block.section ||
          std::ranges::any_of(skipped.predecessors, [&](BlockId p) { return p < id || p >= inner; }))
        return false;
      for (const program::Instr& instr : skipped.instrs) {
        if (++count > limit || instr.target || instr.codeTable != 0 || !harmlessWithoutLanes(*instr.inst))
          return false;
        exec.step(*instr.inst);
        if (exec.exec() == Lanes::other)
          return false;
        written |= instr.inst->writes(context.accumOffset);
      }
    }
    if (program.blocks[end].section != block.section)
      return false;
    // Of vector registers no lane is written, EXEC stays empty; any other register must not matter behind.
    bool dead = true;
    written.forEach([&](isa::RegUnit unit) {
      dead = dead && (unit >= isa::vgprBase || unit == isa::sreg::execLo || unit == isa::sreg::execHi ||
                      !liveness.liveIn[end].test(unit));
    });
    return dead;
  }

 private:
  const Program& program;
  const MoveContext& context;
  std::size_t limit;
  program::Liveness liveness;
};

class DropGuardsMove final : public Move {
 public:
  std::string_view name() const override { return "drop-guards"; }
  std::string_view purpose() const override {
    return "run a few vector instructions with no lane on instead of branching around them";
  }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    if (!function || program::usesGprIndexing(program, *function) || program::maySkipVectors(program, *function))
      return {};
    const std::size_t most = fewInstructions << std::min(context.effort, 3U);
    const auto counts = blockCounts(program, context.profile);
    const GuardFinder finder(program, context, most);
    std::vector<Guard> guards;
    for (const BlockId id : function->blocks)
      if (counts[id] != 0 && finder.isGuard(id))
        guards.push_back({id, program.blocks[id].instrs.back().address, counts[id], counts[id + 1]});
    std::ranges::sort(guards, {}, [](const Guard& g) { return std::pair(~g.passed, g.block); });
    std::vector<Proposal> proposals;
    // Guards that let most waves in, then all; nested ones become visible when inner ones are gone.
    for (const unsigned leastEntered : {7U, 0U})
      if (auto proposal = without(program, context, most, [&](BlockId, std::uint64_t passed, std::uint64_t entered) {
            return passed != 0 && entered * 8 >= passed * leastEntered;
          }))
        proposals.push_back(*std::move(proposal));
    for (std::size_t i = 0; guards.size() > 1 && i < std::min(guards.size(), hottestAlone); ++i)
      if (auto proposal = without(program, context, most,
                                  [&](BlockId id, std::uint64_t, std::uint64_t) { return id == guards[i].block; }))
        proposals.push_back(*std::move(proposal));
    return proposals;
  }

 private:
  template <class Wanted>
  static std::optional<Proposal> without(const Program& program, const MoveContext& context, std::size_t most,
                                         const Wanted& wanted) {
    const auto counts = blockCounts(program, context.profile);
    Proposal proposal;
    proposal.program = program;
    proposal.begin = program::noAddress;
    std::vector<bool> opened(program.blocks.size());
    std::size_t dropped = 0;
    for (bool again = true; again;) {
      again = false;
      const GuardFinder finder(proposal.program, context, most);
      for (BlockId id = 0; id + 1 < proposal.program.blocks.size(); ++id) {
        if (!wanted(id, counts[id], counts[id + 1]) || !finder.isGuard(id))
          continue;
        Block& block = proposal.program.blocks[id];
        const Block& last = program.blocks[*block.instrs.back().target - 1];
        block.instrs.pop_back();
        opened[id] = true;
        proposal.begin = std::min(proposal.begin, block.address);
        proposal.end = std::max(proposal.end, last.address + last.size);
        ++dropped;
        again = true;
      }
      if (again)
        proposal.program.relink();
    }
    if (dropped == 0)
      return std::nullopt;
    joinBlocks(proposal.program, opened);
    if (!finishEdit(program, proposal, context))
      return std::nullopt;
    proposal.reason = fmt::format("{} branches around code that does nothing without lanes dropped", dropped);
    return proposal;
  }

  /// One block of each that lost its branch, what it guarded and what follows, as far as nobody else comes in.
  static void joinBlocks(Program& program, const std::vector<bool>& opened) {
    std::vector<BlockId> order;
    for (BlockId id = 0; id < program.blocks.size(); ++id) {
      const Block& block = program.blocks[id];
      const bool joins = id != 0 && !block.entersByRegister && block.predecessors == std::vector<BlockId>{id - 1} &&
                         (opened[id - 1] || (id > 1 && opened[id - 2])) && !order.empty() &&
                         program.blocks[id - 1].successors.size() == 1;
      if (!joins) {
        order.push_back(id);
        continue;
      }
      auto& into = program.blocks[order.back()].instrs;
      into.insert(into.end(), block.instrs.begin(), block.instrs.end());
    }
    reorderBlocks(program, order);
  }
};

} // namespace

bool harmlessWithoutLanes(const isa::Instruction& inst) {
  // Instructions that do not ask EXEC: V_READLANE reads a lane by number (a scalar result), the others write (CDNA3
  // ISA, "Instructions that ignore EXEC": V_WRITELANE, matrix operations).
  constexpr std::array anyLane = {std::string_view("v_writelane_b32"), std::string_view("v_swaprel_b32")};
  const std::string_view base = inst.base;
  switch (inst.cls) {
  case isa::InstClass::valu:
    return std::ranges::find(anyLane, base) == anyLane.end() && !base.starts_with("v_movrel") &&
           !inst.writes(256).test(isa::sreg::mode) && !inst.choosesVgprBank && !inst.leavesFunction();
  case isa::InstClass::vmem:
  case isa::InstClass::flat:
  case isa::InstClass::global:
    return !inst.isLdsDma() && !base.starts_with("buffer_inv") && !base.starts_with("buffer_wb") &&
           !base.starts_with("buffer_gl") && (inst.mayLoad || inst.mayStore);
  case isa::InstClass::lds:
    return !inst.mods.gds &&
           (base.starts_with("ds_read") || base.starts_with("ds_write") || base.starts_with("ds_bpermute") ||
            base.starts_with("ds_permute") || base.starts_with("ds_swizzle"));
  case isa::InstClass::salu:
    return isPureAlu(inst);
  case isa::InstClass::nop:
    return true;
  case isa::InstClass::waitcnt:
    return inst.base == "s_waitcnt";
  default:
    return false;
  }
}

const Move& dropGuardsMove() {
  static const DropGuardsMove move;
  return move;
}

} // namespace asmevo::optimize
