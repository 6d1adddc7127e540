#include "program/analysis/liveness.h"

#include "program/analysis/dataflow.h"

#include <algorithm>

namespace asmevo::program {

namespace {

/// EXEC as far as whole-wave writes need it.
enum class Exec : std::uint8_t { unreached, allOnes, unknown };

Exec execAfter(const isa::Instruction& inst, Exec before) {
  if (inst.leavesFunction())
    return Exec::unknown;
  const bool writes = std::any_of(inst.writeRanges.begin(), inst.writeRanges.end(), [](const isa::RegRange& range) {
    return range.file == isa::RegRange::File::scalar && range.first <= isa::sreg::execHi &&
           range.first + range.count > isa::sreg::execLo;
  });
  if (!writes)
    return before;
  const bool fill = inst.base == "s_mov_b64" && inst.operands.size() == 2 &&
                    inst.operands[0].index == isa::sreg::execLo && inst.operands[1].kind == isa::OperandKind::imm &&
                    inst.operands[1].imm == -1;
  return fill ? Exec::allOnes : Exec::unknown;
}

/// Forward: is EXEC all ones at the beginning of each block?
struct ExecProblem {
  static constexpr Direction direction = Direction::forward;
  using State = Exec;
  const Program& program;
  const Function& function;

  State initial(BlockId id) const {
    const Block& block = program.blocks[id];
    const bool isEntry = id == function.entryBlock || function.preloadEntry == id || block.entersByRegister;
    return isEntry ? Exec::unknown : Exec::unreached;
  }
  bool join(State& into, State from) const {
    const State merged = into == Exec::unreached                   ? from
                         : from == Exec::unreached || from == into ? into
                                                                   : Exec::unknown;
    return std::exchange(into, merged) != merged;
  }
  void transfer(BlockId id, State& state, Solver<ExecProblem>&) const {
    const Block& block = program.blocks[id];
    if (block.opaque)
      state = Exec::unknown;
    for (const Instr& instr : block.instrs)
      state = execAfter(*instr.inst, state);
  }
};

class LivenessProblem {
 public:
  static constexpr Direction direction = Direction::backward;
  using State = isa::RegSet;

  LivenessProblem(const Program& p, const Function& f, unsigned accum)
      : program(p), accumOffset(accum), indexing(usesGprIndexing(p, f)), skipping(maySkipVectors(p, f)),
        execProblem{p, f}, exec(p, reversePostOrder(p, f), execProblem) {
    exec.run();
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
    std::vector<Exec> before(block.instrs.size());
    Exec state = exec.covers(id) ? exec.at(id) : Exec::unknown;
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      before[i] = state;
      state = execAfter(*block.instrs[i].inst, state);
    }
    for (std::size_t i = block.instrs.size(); i-- > 0;) {
      step(*block.instrs[i].inst, block.opaque, before[i] == Exec::allOnes, live);
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
    if (!(isVector && (indexing || skipping))) {
      live.remove(inst.kills(accumOffset));
      if (execAllOnes && isVector)
        live.remove(inst.writes(accumOffset));
    }
    live |= inst.reads(accumOffset);
    if (indexing && inst.cls == isa::InstClass::valu)
      live |= vgprs;
  }

  const Program& program;
  unsigned accumOffset;
  bool indexing, skipping;
  ExecProblem execProblem;
  Solver<ExecProblem> exec;
  isa::RegSet vgprs;
};

} // namespace

Liveness liveness(const Program& program, const Function& function, unsigned accumOffset) {
  Liveness result;
  result.liveIn.resize(program.blocks.size());
  result.liveOut.resize(program.blocks.size());
  LivenessProblem problem(program, function, accumOffset);
  Solver<LivenessProblem> solver(program, reversePostOrder(program, function), problem);
  solver.run();
  for (const BlockId id : solver.blocks()) {
    result.liveOut[id] = solver.at(id);
    result.liveIn[id] = solver.at(id);
    problem.transfer(id, result.liveIn[id], solver);
  }
  return result;
}

std::vector<isa::RegSet> liveBefore(const Program& program, const Function& function, const Liveness& liveness,
                                    BlockId block, unsigned accumOffset) {
  const LivenessProblem problem(program, function, accumOffset);
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
