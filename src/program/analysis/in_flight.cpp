#include "program/analysis/in_flight.h"

namespace asmevo::program {

using isa::InstClass;

Counting countingOf(const isa::Instruction& inst) {
  constexpr std::size_t vm = 0, lgkm = 1;
  Counting result;
  switch (inst.cls) {
  case InstClass::vmem:
    // Invalidations need no wait and are not counted (LLVM SIInsertWaitcnts: "BUFFER_INV"); leaving an operation out of
    // the count is the safe side.
    result.counts[vm] = result.inOrder[vm] = inst.base != "buffer_inv" && !inst.base.starts_with("buffer_wbinvl1");
    break;
  case InstClass::global:
  case InstClass::scratch:
    result.counts[vm] = result.inOrder[vm] = true;
    break;
  case InstClass::flat:
    result.counts = {true, true};
    break;
  case InstClass::lds:
    result.counts[lgkm] = true;
    result.inOrder[lgkm] = !inst.mods.gds && !inst.base.starts_with("ds_gws_");
    break;
  case InstClass::smem:
    result.counts[lgkm] = true;
    break;
  case InstClass::message:
    result.counts[lgkm] = inst.base.starts_with("s_sendmsg");
    break;
  default:
    break;
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
