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

} // namespace

struct ExecMask::Problem {
  static constexpr Direction direction = Direction::forward;
  using State = Ones;
  const Program& program;
  const Function& function;
  bool wholeWaves;

  State initial(BlockId id) const {
    const bool isStart = id == function.entryBlock || function.preloadEntry == id;
    Ones ones;
    ones.reached = isStart || program.blocks[id].entersByRegister;
    if (isStart && wholeWaves)
      ones.units[1] = std::uint64_t{3} << (sreg::execLo - 64);
    return ones;
  }
  bool join(State& into, const State& from) const {
    if (!from.reached)
      return false;
    const State before = into;
    if (!into.reached)
      into = from;
    for (std::size_t w = 0; w < into.units.size(); ++w)
      into.units[w] &= from.units[w];
    return into != before;
  }
  void transfer(BlockId id, State& state, Solver<Problem>&) const {
    if (!state.reached)
      return;
    if (program.blocks[id].opaque)
      state.units = {};
    for (const Instr& instr : program.blocks[id].instrs)
      step(*instr.inst, state);
  }
};

void ExecMask::step(const isa::Instruction& inst, Ones& ones) {
  if (inst.leavesFunction() || !inst.isComplete) {
    ones.units = {};
    return;
  }
  if (inst.cls != isa::InstClass::salu && ones.units == decltype(ones.units){})
    return;
  const auto isOnes = [&](const isa::Operand& operand) {
    if (operand.kind == isa::OperandKind::imm)
      return operand.imm == -1;
    if (operand.kind != isa::OperandKind::sgpr)
      return false;
    for (unsigned i = 0; i < operand.dwords; ++i)
      if (!ones.test(operand.index + i))
        return false;
    return true;
  };
  const bool execOnes = ones.test(sreg::execLo) && ones.test(sreg::execHi);
  const std::string_view base = inst.base;
  const bool moves = base == "s_mov_b64" || base == "s_mov_b32";
  const bool saves = base.find("_saveexec_b") != std::string_view::npos;
  // What the destination and, of the forms that save it, EXEC will be.
  bool result = false, exec = false;
  if (inst.cls == isa::InstClass::salu && saves && inst.operands.size() == 2) {
    const bool narrow = base.ends_with("_b32");
    const bool before = narrow ? ones.test(sreg::execLo) : execOnes;
    result = before;
    if (base.starts_with("s_or_saveexec"))
      exec = before || isOnes(inst.operands[1]);
    else if (base.starts_with("s_and_saveexec"))
      exec = before && isOnes(inst.operands[1]);
  } else if (inst.cls == isa::InstClass::salu && moves && inst.operands.size() == 2) {
    result = isOnes(inst.operands[1]);
  } else if ((base == "s_or_b64" || base == "s_or_b32") && inst.operands.size() == 3) {
    result = isOnes(inst.operands[1]) || isOnes(inst.operands[2]);
  } else if ((base == "s_and_b64" || base == "s_and_b32") && inst.operands.size() == 3) {
    result = isOnes(inst.operands[1]) && isOnes(inst.operands[2]);
  }
  const isa::Operand* destination = result ? &inst.operands[0] : nullptr;
  for (const isa::RegRange& range : inst.writeRanges) {
    if (range.file != isa::RegRange::File::scalar)
      continue;
    for (unsigned unit = range.first; unit < unsigned{range.first} + range.count && unit < 128; ++unit) {
      const bool named = destination && destination->kind == isa::OperandKind::sgpr && destination->index <= unit &&
                         unit < unsigned{destination->index} + destination->dwords;
      const bool isExec = unit == sreg::execLo || unit == sreg::execHi;
      const std::uint64_t bit = std::uint64_t{1} << (unit & 63);
      if (saves && isExec ? exec : named)
        ones.units[unit >> 6] |= bit;
      else
        ones.units[unit >> 6] &= ~bit;
    }
  }
}

ExecMask::ExecMask(const Program& p, const Function& function, bool wholeWaves) : program(p), atStart(p.blocks.size()) {
  Problem problem{p, function, wholeWaves};
  Solver<Problem> solver(p, reversePostOrder(p, function), problem);
  solver.run();
  for (const BlockId id : solver.blocks())
    atStart[id] = solver.at(id);
}

std::vector<bool> ExecMask::fullBefore(BlockId block) const {
  const Block& b = program.blocks[block];
  std::vector<bool> result(b.instrs.size());
  Ones ones = atStart[block];
  for (std::size_t i = 0; i < b.instrs.size(); ++i) {
    const isa::Instruction& inst = *b.instrs[i].inst;
    // An instruction that reads the high half of EXEC acts on 64 lanes.
    result[i] = ones.test(sreg::execLo) && (ones.test(sreg::execHi) || (touches(inst.readRanges, sreg::execLo) &&
                                                                        !touches(inst.readRanges, sreg::execHi)));
    step(inst, ones);
  }
  return result;
}

} // namespace asmevo::program
