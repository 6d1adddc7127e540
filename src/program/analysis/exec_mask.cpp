#include "program/analysis/exec_mask.h"

#include <algorithm>

namespace asmevo::program {

namespace {

namespace sreg = isa::sreg;

bool touches(const std::vector<isa::RegRange>& ranges, unsigned unit) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const isa::RegRange& range) {
    return range.file == isa::RegRange::File::scalar && range.first <= unit &&
           unit < unsigned{range.first} + range.count;
  });
}

bool isAllOnes(const isa::Operand& operand) {
  return operand.kind == isa::OperandKind::imm && operand.imm == -1;
}

} // namespace

struct ExecMask::Problem {
  static constexpr Direction direction = Direction::forward;
  using State = Halves;
  const Program& program;
  const Function& function;

  State initial(BlockId id) const {
    const bool isEntry =
        id == function.entryBlock || function.preloadEntry == id || program.blocks[id].entersByRegister;
    return {isEntry, false, false};
  }
  bool join(State& into, const State& from) const {
    if (!from.reached)
      return false;
    const State before = into;
    into = into.reached ? State{true, into.low && from.low, into.high && from.high} : from;
    return into != before;
  }
  void transfer(BlockId id, State& state, Solver<Problem>&) const {
    if (!state.reached)
      return;
    if (program.blocks[id].opaque)
      state.low = state.high = false;
    for (const Instr& instr : program.blocks[id].instrs)
      step(*instr.inst, state);
  }
};

void ExecMask::step(const isa::Instruction& inst, Halves& halves) {
  if (inst.leavesFunction() || !inst.isComplete) {
    halves.low = halves.high = false;
    return;
  }
  const bool writesLow = touches(inst.writeRanges, sreg::execLo), writesHigh = touches(inst.writeRanges, sreg::execHi);
  if (!writesLow && !writesHigh)
    return;
  const bool moves = inst.base == "s_mov_b64" || inst.base == "s_mov_b32";
  const bool fills =
      (moves || inst.base.starts_with("s_or_saveexec_")) && inst.operands.size() == 2 && isAllOnes(inst.operands[1]);
  if (writesLow)
    halves.low = fills;
  if (writesHigh)
    halves.high = fills;
}

ExecMask::ExecMask(const Program& p, const Function& function) : program(p), atStart(p.blocks.size()) {
  Problem problem{p, function};
  Solver<Problem> solver(p, reversePostOrder(p, function), problem);
  solver.run();
  for (const BlockId id : solver.blocks())
    atStart[id] = solver.at(id);
}

std::vector<bool> ExecMask::fullBefore(BlockId block) const {
  const Block& b = program.blocks[block];
  std::vector<bool> result(b.instrs.size());
  Halves halves = atStart[block];
  for (std::size_t i = 0; i < b.instrs.size(); ++i) {
    const isa::Instruction& inst = *b.instrs[i].inst;
    // An instruction that reads the high half of EXEC acts on 64 lanes.
    result[i] = halves.low &&
                (halves.high || (touches(inst.readRanges, sreg::execLo) && !touches(inst.readRanges, sreg::execHi)));
    step(inst, halves);
  }
  return result;
}

} // namespace asmevo::program
