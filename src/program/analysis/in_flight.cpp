#include "program/analysis/in_flight.h"

namespace asmevo::program {

Counting countingOf(const isa::Instruction& inst) {
  static const WaitModel gfx9(WaitModel::Generation::gfx9);
  Counting result;
  for (const CounterUse& use : gfx9.usesOf(inst))
    if (const auto counter = static_cast<std::size_t>(use.counter); counter < counterCount) {
      result.counts[counter] = true;
      result.inOrder[counter] = use.stream != Stream::none;
    }
  return result;
}

isa::RegSet issueReads(const isa::Instruction& inst, unsigned accumOffset) {
  isa::RegSet reads = inst.reads(accumOffset);
  if (!inst.tiedDest || !inst.mayLoad || inst.isAtomic())
    return reads;
  reads.remove(inst.writes(accumOffset));
  for (const isa::Operand& operand : inst.operands) {
    if (operand.isDef)
      continue;
    if (operand.kind == isa::OperandKind::vgpr)
      reads.setRange(isa::vgprBase + operand.index, operand.dwords);
    else if (operand.kind == isa::OperandKind::agpr)
      reads.setRange(
          std::min<std::size_t>(isa::vgprBase + accumOffset + operand.index, isa::regUnitCount - operand.dwords),
          operand.dwords);
  }
  return reads;
}

} // namespace asmevo::program
