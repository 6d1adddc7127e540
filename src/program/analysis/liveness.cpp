#include "program/analysis/liveness.h"

#include "program/analysis/dataflow.h"
#include "program/analysis/exec_mask.h"

namespace asmevo::program {

namespace {

class LivenessProblem {
 public:
  static constexpr Direction direction = Direction::backward;
  using State = isa::RegSet;

  LivenessProblem(const Program& p, const Function& f, unsigned accum, bool wholeWaves, bool onlyUseful = false)
      : program(p), accumOffset(accum), indexing(usesGprIndexing(p, f)), skipping(maySkipVectors(p, f)),
        useful(onlyUseful), exec(p, f, wholeWaves) {
    vgprs.setRange(isa::vgprBase, isa::regUnitCount - isa::vgprBase);
  }

  State initial(BlockId id) const {
    const Block& block = program.blocks[id];
    if (block.opaque)
      return allUnits();
    if (block.instrs.empty())
      return block.successors.empty() ? allUnits() : State();
    const Instr& last = block.instrs.back();
    switch (flowOf(last.inst)) {
    case Flow::end:
      return {};
    case Flow::always:
    case Flow::conditional:
    case Flow::jump:
      return last.target ? State() : allUnits();
    default:
      return block.successors.empty() ? allUnits() : State();
    }
  }
  bool join(State& into, const State& from) const {
    const State before = into;
    into |= from;
    return into != before;
  }
  void transfer(BlockId id, State& live, Solver<LivenessProblem>&) const {
    walk(id, live, [](std::size_t) {});
  }

  /// Steps backward; `f(i)` is called when `live` holds in front of instruction i.
  template <class F> void walk(BlockId id, State& live, F&& f) const {
    const Block& block = program.blocks[id];
    const std::vector<bool> full = exec.fullBefore(id);
    for (std::size_t i = block.instrs.size(); i-- > 0;) {
      step(*block.instrs[i].inst, block.opaque, full[i], live);
      f(i);
    }
  }

 private:
  void step(const isa::Instruction& inst, bool opaque, bool execAllOnes, State& live) const {
    if (inst.cls == isa::InstClass::endpgm) {
      live = {};
      return;
    }
    if (opaque || !inst.isComplete || inst.cls == isa::InstClass::unknown || inst.leavesFunction()) {
      live = allUnits();
      return;
    }
    const bool isVector = inst.cls == isa::InstClass::valu || inst.cls == isa::InstClass::mfma ||
                          inst.cls == isa::InstClass::lds || inst.isVectorMemory();
    if (useful && !(isVector && (indexing || skipping)) && isPureAlu(inst) && inst.writeRanges.size() &&
        !inst.writes(accumOffset).intersects(live))
      return;
    if (!(isVector && (indexing || skipping))) {
      live.remove(inst.kills(accumOffset));
      if (execAllOnes && isVector)
        live.remove(inst.writes(accumOffset));
    }
    live |= inst.reads(accumOffset);
    // What decides which registers are used, or whether anything is.
    if (isVector && (indexing || skipping))
      live.set(isa::sreg::mode);
    if (isVector && indexing) {
      live |= vgprs;
      live.set(isa::sreg::m0);
    }
  }

  const Program& program;
  unsigned accumOffset;
  bool indexing, skipping, useful;
  ExecMask exec;
  isa::RegSet vgprs;
};

} // namespace

namespace {

Liveness solve(const Program& program, const Function& function, LivenessProblem problem) {
  Liveness result;
  result.liveIn.resize(program.blocks.size());
  result.liveOut.resize(program.blocks.size());
  Solver<LivenessProblem> solver(program, reversePostOrder(program, function), problem);
  solver.run();
  for (const BlockId id : solver.blocks()) {
    result.liveOut[id] = solver.at(id);
    result.liveIn[id] = solver.at(id);
    problem.transfer(id, result.liveIn[id], solver);
  }
  return result;
}

} // namespace

Liveness liveness(const Program& program, const Function& function, unsigned accumOffset, bool wholeWaves) {
  return solve(program, function, LivenessProblem(program, function, accumOffset, wholeWaves));
}

Liveness usefulness(const Program& program, const Function& function, unsigned accumOffset, bool wholeWaves) {
  return solve(program, function, LivenessProblem(program, function, accumOffset, wholeWaves, true));
}

std::vector<isa::RegSet> liveBefore(const Program& program, const Function& function, const Liveness& liveness,
                                    BlockId block, unsigned accumOffset, bool wholeWaves) {
  const LivenessProblem problem(program, function, accumOffset, wholeWaves);
  std::vector<isa::RegSet> result(program.blocks[block].instrs.size() + 1);
  isa::RegSet live = liveness.liveOut[block];
  result.back() = live;
  problem.walk(block, live, [&](std::size_t i) { result[i] = live; });
  return result;
}

DefUse blockDefUse(const Block& block, unsigned accumOffset) {
  DefUse result;
  std::vector<std::uint32_t> writer(isa::regUnitCount, DefUse::entry);
  for (std::size_t i = 0; i < block.instrs.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    const isa::Instruction& inst = *block.instrs[i].inst;
    inst.reads(accumOffset).forEach([&](isa::RegUnit unit) { result.uses.push_back({writer[unit], index, unit}); });
    inst.writes(accumOffset).forEach([&](isa::RegUnit unit) { writer[unit] = index; });
  }
  return result;
}

} // namespace asmevo::program
