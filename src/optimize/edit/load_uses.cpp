#include "optimize/edit/load_uses.h"

#include "optimize/edit/hoist_path.h"
#include "optimize/edit/registers.h"
#include "program/analysis/exec_relation.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

using isa::RegSet;
using program::BlockId;
using program::ExecRelation;
using program::Lanes;
using program::Place;

struct Holds {
  bool reached = false;
  RegSet may;  ///< units that hold the load's value in some lane on some path
  RegSet must; ///< that hold it in every lane that the load had on, on all paths
  bool between = false;
  ExecRelation exec;
};

struct Problem {
  static constexpr program::Direction direction = program::Direction::forward;
  using State = Holds;
  const program::Program& program;
  const program::Function& function;
  Place load, to;
  const RegSet& units;
  bool full;
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
    const RegSet may = into.may, must = into.must;
    into.may |= from.may;
    into.must &= from.must;
    bool changed = !(may == into.may) || !(must == into.must);
    if (from.between && !into.between)
      changed = into.between = true;
    changed |= into.exec.join(from.exec);
    return changed;
  }
  void transfer(BlockId id, State& state, program::Solver<Problem>&) const {
    walk(id, state, [](Place, const isa::Instruction&, const State&, const RegSet&) {});
  }
  /// f(place, instruction, state, units read) at each instruction that reads units that may hold the value.
  template <class F> void walk(BlockId id, State& state, F&& f) const {
    const auto& instrs = program.blocks[id].instrs;
    for (std::size_t i = 0; state.reached && i < instrs.size(); ++i) {
      const Place here{id, static_cast<std::uint32_t>(i)};
      const isa::Instruction& inst = *instrs[i].inst;
      if (here == to)
        state.between = true;
      RegSet reads = inst.reads(accumOffset);
      reads &= state.may;
      // Code that is not seen may read anything.
      const bool unseen = inst.leavesFunction() || inst.cls == isa::InstClass::unknown || !inst.isComplete;
      if (reads.any() || (unseen && state.may.any()))
        f(here, inst, state, reads);
      if (here == load) {
        state.may = state.must = units;
        state.between = false;
        state.exec = ExecRelation::atPoint(full);
        continue;
      }
      RegSet writes = inst.writes(accumOffset);
      writes &= units;
      if (writes.any()) {
        state.must.remove(writes);
        if (state.exec.exec() == Lanes::same)
          state.may.remove(writes);
        else
          state.may.remove(inst.kills(accumOffset));
      }
      state.exec.step(inst);
    }
  }
};

/// Reads its vector sources in the lanes that are on, and nowhere else.
bool readsOwnLanes(const isa::Instruction& inst) {
  if (inst.cls == isa::InstClass::valu)
    return isLaneWise(inst) || inst.base.starts_with("v_accvgpr");
  if (inst.cls == isa::InstClass::lds)
    return !inst.base.starts_with("ds_bpermute") && !inst.base.starts_with("ds_permute") &&
           !inst.base.starts_with("ds_swizzle");
  return inst.isVectorMemory();
}

/// Operands of the instruction that read such units; nothing where one is not to be renamed.
bool addOperands(Place place, const isa::Instruction& inst, const RegSet& reads, const RegSet& units,
                 unsigned accumOffset, LoadUses& uses) {
  RegSet named;
  RegSet writes = inst.writes(accumOffset);
  writes &= reads;
  const bool inPlace = writes.any() && inst.tiedDest;
  for (std::size_t i = 0; i < inst.operands.size(); ++i) {
    const auto tuple = tupleOf(inst.operands[i]);
    if (!tuple)
      continue;
    const RegSet mine = unitsOf(*tuple, accumOffset);
    if (!mine.intersects(reads))
      continue;
    if (inst.operands[i].isDef) {
      if (inPlace)
        return false;
      continue;
    }
    RegSet beside = mine;
    beside.remove(units);
    if (beside.any())
      return false;
    named |= mine;
    uses.operands.push_back({place, i});
  }
  RegSet unnamed = reads;
  unnamed.remove(named);
  return !unnamed.any();
}

} // namespace

std::optional<LoadUses> usesOfLoad(const program::Program& program, const program::Function& function, Place load,
                                   Place to, const RegSet& units, bool full, unsigned accumOffset) {
  Problem problem{program, function, load, to, units, full, accumOffset};
  program::Solver<Problem> solver(program, program::reversePostOrder(program, function), problem);
  solver.run();
  LoadUses uses;
  bool fine = true;
  std::vector<bool> carries(program.blocks.size(), false), wanted(program.blocks.size(), false);
  std::vector<BlockId> work;
  for (const BlockId id : solver.blocks()) {
    Holds state = solver.at(id);
    carries[id] = state.may.any();
    problem.walk(id, state, [&](Place place, const isa::Instruction& inst, const Holds& at, const RegSet& reads) {
      RegSet others = reads;
      others.remove(at.must);
      const bool lanes = full || (at.exec.exec() != Lanes::other && readsOwnLanes(inst));
      fine = fine && place != load && !others.any() && !at.between && lanes && !inst.leavesFunction() &&
             inst.cls != isa::InstClass::unknown && addOperands(place, inst, reads, units, accumOffset, uses);
      if (!wanted[place.block]) {
        wanted[place.block] = true;
        work.push_back(place.block);
      }
    });
  }
  if (!fine)
    return std::nullopt;
  // Back from the uses, as far as the value is carried into blocks.
  while (!work.empty()) {
    const BlockId id = work.back();
    work.pop_back();
    uses.blocks.push_back(id);
    if (!carries[id])
      continue;
    for (const BlockId from : program.blocks[id].predecessors)
      if (!wanted[from]) {
        wanted[from] = true;
        work.push_back(from);
      }
  }
  return uses;
}

} // namespace asmevo::optimize
