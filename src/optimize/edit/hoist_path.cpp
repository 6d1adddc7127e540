#include "optimize/edit/hoist_path.h"

#include "program/analysis/memory_dependence.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using isa::RegSet;
using program::BlockId;
using program::Place;

struct PendingState {
  bool reached = false;
  std::array<program::Ages, program::counterCount> ages;
};

void step(const isa::Instruction& inst, PendingState& state, unsigned accumOffset) {
  if (inst.base == "s_waitcnt") {
    const isa::WaitCount wait = inst.waitCount();
    for (const auto counter : {program::Counter::vm, program::Counter::lgkm})
      if (!program::isNoWait(program::waitFor(wait, counter), counter))
        state.ages[static_cast<std::size_t>(counter)].complete(program::waitFor(wait, counter));
    return;
  }
  if (inst.cls == InstClass::unknown || program::flowOf(&inst) == program::Flow::call) {
    for (auto& ages : state.ages)
      program::allUnits().forEach([&](isa::RegUnit unit) { ages.issueInto(unit, false); });
    return;
  }
  const program::Counting counting = program::countingOf(inst);
  if (!counting.any())
    return;
  const RegSet writes = inst.writes(accumOffset);
  for (std::size_t c = 0; c < program::counterCount; ++c) {
    if (!counting.counts[c])
      continue;
    if (counting.inOrder[c])
      state.ages[c].advance(program::counterLimit[c]);
    writes.forEach([&](isa::RegUnit unit) { state.ages[c].issueInto(unit, counting.inOrder[c]); });
  }
}

struct PendingProblem {
  static constexpr program::Direction direction = program::Direction::forward;
  using State = PendingState;
  const program::Program& program;
  const program::Function& function;
  unsigned accumOffset;

  State initial(BlockId id) const {
    State state;
    state.reached = id == function.entryBlock || function.preloadEntry == id;
    return state;
  }
  bool join(State& into, const State& from) const {
    if (!from.reached)
      return false;
    if (!into.reached) {
      into = from;
      return true;
    }
    bool changed = false;
    for (std::size_t c = 0; c < program::counterCount; ++c)
      changed |= into.ages[c].join(from.ages[c]);
    return changed;
  }
  void transfer(BlockId id, State& state, program::Solver<PendingProblem>&) const {
    for (const program::Instr& instr : program.blocks[id].instrs)
      step(*instr.inst, state, accumOffset);
  }
};

} // namespace

Pending::Pending(const program::Program& p, const program::Function& function, unsigned accum)
    : program(p), accumOffset(accum), atEntry(p.blocks.size()) {
  PendingProblem problem{p, function, accum};
  program::Solver<PendingProblem> solver(p, program::reversePostOrder(p, function), problem);
  solver.run();
  for (const BlockId id : solver.blocks())
    atEntry[id] = solver.at(id).ages;
}

std::vector<RegSet> Pending::before(BlockId block) const {
  PendingState state{true, atEntry[block]};
  std::vector<RegSet> sets;
  const auto note = [&] {
    RegSet set;
    for (const auto& ages : state.ages)
      for (std::size_t unit = 0; unit < isa::regUnitCount; ++unit)
        if (ages.pending(unit))
          set.set(unit);
    sets.push_back(set);
  };
  for (const program::Instr& instr : program.blocks[block].instrs) {
    note();
    step(*instr.inst, state, accumOffset);
  }
  note();
  return sets;
}

HoistWay::HoistWay(const program::Program& p, const program::Function& function)
    : program(p), dominators(p, function), postDominators(p, function) {}

std::vector<bool> HoistWay::reachable(BlockId from, BlockId without, bool& reachesFrom) const {
  std::vector<bool> seen(program.blocks.size(), false);
  reachesFrom = false;
  std::vector<BlockId> work = program.blocks[from].successors;
  while (!work.empty()) {
    const BlockId id = work.back();
    work.pop_back();
    reachesFrom |= id == from;
    if (id == without || id == from || seen[id])
      continue;
    seen[id] = true;
    work.insert(work.end(), program.blocks[id].successors.begin(), program.blocks[id].successors.end());
  }
  return seen;
}

std::optional<std::vector<BlockId>> HoistWay::between(BlockId above, BlockId below) const {
  if (!dominators.contains(above) || !postDominators.contains(below) || !dominators.dominates(above, below) ||
      !postDominators.postDominates(below, above))
    return std::nullopt;
  bool again = false;
  const std::vector<bool> on = reachable(above, below, again);
  if (again)
    return std::nullopt;
  bool againBelow = false;
  reachable(below, above, againBelow);
  if (againBelow)
    return std::nullopt;
  std::vector<BlockId> blocks;
  for (BlockId id = 0; id < on.size(); ++id)
    if (on[id])
      blocks.push_back(id);
  return blocks;
}

bool isLaneWise(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  return isPureAlu(inst) && inst.cls != InstClass::mfma && inst.mods.dpp == isa::DppCtrl::none &&
         !base.starts_with("v_readlane") && !base.starts_with("v_readfirstlane") && !base.starts_with("v_writelane") &&
         !base.starts_with("v_permlane") && !base.starts_with("v_accvgpr") && !base.starts_with("v_swap");
}

namespace {

/// One load on its way up.
class Climb {
 public:
  Climb(const program::Program& p, const HoistWay& w, const Pending& pend, unsigned accum, const HoistRules& r)
      : program(p), way(w), pending(pend), accumOffset(accum), rules(r) {}

  HoistPath run(Place load) {
    const isa::Instruction& inst = *instrAt(load).inst;
    vector = inst.cls != InstClass::smem;
    needed = sourcesOf(inst);
    path.crossed.push_back(load.block);
    if (!climbBlock(load.block, load.index) || !rules.overBlocks)
      return std::move(path);
    for (BlockId head = load.block;;) {
      const auto above = way.nextAbove(head);
      if (!above || program.blocks[head].entersByRegister)
        break;
      const auto sides = way.between(*above, load.block);
      if (!sides)
        break;
      bool clear = true;
      for (const BlockId side : *sides)
        if (std::ranges::find(path.crossed, side) == path.crossed.end()) {
          clear = clear && crossBlock(side);
          path.crossed.push_back(side);
        }
      if (!clear)
        break;
      path.crossed.push_back(*above);
      if (!climbBlock(*above, program.blocks[*above].instrs.size()))
        break;
      head = *above;
    }
    return std::move(path);
  }

 private:
  const program::Instr& instrAt(Place place) const { return program.blocks[place.block].instrs[place.index]; }

  /// EXEC is compared on its own.
  static RegSet sourcesOf(const isa::Instruction& inst, unsigned accum) {
    RegSet reads = inst.reads(accum);
    reads.reset(isa::sreg::execLo);
    reads.reset(isa::sreg::execHi);
    return reads;
  }
  RegSet sourcesOf(const isa::Instruction& inst) const { return sourcesOf(inst, accumOffset); }

  bool mayPass(Place place) {
    const program::Instr& instr = instrAt(place);
    const isa::Instruction& inst = *instr.inst;
    if (++looked > rules.mostCrossed || !inst.isComplete || inst.cls == InstClass::unknown || inst.leavesFunction() ||
        inst.cls == InstClass::endpgm || inst.entersGprIdxMode() || inst.base.starts_with("s_set_gpr") ||
        inst.base.starts_with("s_setvskip") || inst.base.starts_with("s_setreg"))
      return false;
    const bool matters = program::memoryEffect(inst).any() || inst.cls == InstClass::waitcnt;
    return !matters || rules.mayCross(place);
  }

  /// A block beside the way up: nothing in it may matter.
  bool crossBlock(BlockId id) {
    const program::Block& block = program.blocks[id];
    if (block.opaque || block.entersByRegister)
      return false;
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      const Place place{id, static_cast<std::uint32_t>(i)};
      if (!mayPass(place) || instrAt(place).inst->writes(accumOffset).intersects(needed))
        return false;
    }
    return true;
  }

  /// Up from `index`. False where the way ends in the block.
  bool climbBlock(BlockId id, std::size_t index) {
    const program::Block& block = program.blocks[id];
    if (block.opaque)
      return false;
    const std::vector<RegSet> inFlight = pending.before(id);
    while (index-- > 0) {
      const Place place{id, static_cast<std::uint32_t>(index)};
      if (!mayPass(place))
        return false;
      const isa::Instruction& inst = *block.instrs[index].inst;
      if (const RegSet writes = inst.writes(accumOffset); writes.intersects(needed)) {
        if (!isLaneWise(inst) || block.instrs[index].pcRef || path.chain.size() >= rules.mostChain ||
            (!vector && inst.cls == InstClass::valu))
          return false;
        path.chain.push_back(place);
        needed.remove(writes);
        needed |= sourcesOf(inst);
      }
      if (!inFlight[index].intersects(needed))
        path.steps.push_back({place, path.chain.size()});
    }
    return true;
  }

  const program::Program& program;
  const HoistWay& way;
  const Pending& pending;
  unsigned accumOffset;
  const HoistRules& rules;
  HoistPath path;
  RegSet needed;
  std::size_t looked = 0;
  bool vector = true;
};

} // namespace

HoistPath hoistPathOf(const program::Program& program, const HoistWay& way, const Pending& pending, Place load,
                      unsigned accumOffset, const HoistRules& rules) {
  return Climb(program, way, pending, accumOffset, rules).run(load);
}

} // namespace asmevo::optimize
