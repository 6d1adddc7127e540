#include "emulator/memory/bind_memory.h"

namespace asmevo::emulator {

Status OperandReader::missing(const char* what) const {
  return refused("{}: operand {} is not {}", inst.base, next, what);
}

bool OperandReader::takeDestination(Op& op) {
  const isa::Operand* operand = peek();
  if (!operand || !operand->isDef)
    return false;
  ++next;
  op.dstIsVgpr = operand->kind != isa::OperandKind::sgpr;
  const unsigned shift = operand->kind == isa::OperandKind::agpr ? context.accumOffset : 0;
  op.dst = static_cast<std::uint16_t>(operand->index + shift);
  op.dstDwords = operand->dwords;
  return true;
}

Status OperandReader::takeVector(Src& out, unsigned dwords) {
  const isa::Operand* operand = peek();
  out = {};
  if (operand && operand->kind == isa::OperandKind::off) {
    ++next;
    return {};
  }
  const bool agpr = operand && operand->kind == isa::OperandKind::agpr;
  if (!operand || (!agpr && operand->kind != isa::OperandKind::vgpr) || operand->dwords < dwords)
    return missing("a vector register range of the size it needs");
  ++next;
  out.kind = SrcKind::vgpr;
  out.dwords = operand->dwords;
  out.reg = static_cast<std::uint16_t>(operand->index + (agpr ? context.accumOffset : 0));
  return {};
}

Status OperandReader::takeScalar(Src& out, unsigned dwords) {
  const isa::Operand* operand = peek();
  out = {};
  if (operand && operand->kind == isa::OperandKind::off) {
    ++next;
    return {};
  }
  if (!operand || operand->kind != isa::OperandKind::sgpr || operand->dwords < dwords)
    return missing("a scalar register range of the size it needs");
  if (operand->index >= isa::sreg::ttmp0 && operand->index < isa::sreg::m0)
    return missing("a register that a user-mode kernel can read");
  ++next;
  out.kind = SrcKind::sgpr;
  out.dwords = operand->dwords;
  out.reg = operand->index;
  return {};
}

Status OperandReader::takeScalarValue(Src& out) {
  const isa::Operand* operand = peek();
  if (!operand || (operand->kind != isa::OperandKind::sgpr && operand->kind != isa::OperandKind::imm &&
                   operand->kind != isa::OperandKind::fpImm))
    return missing("a scalar value");
  ++next;
  out = bindSource(*operand, ConstType::b32, context);
  return {};
}

Status bindMemory(const isa::Instruction& inst, const BindContext& context, Op& op) {
  switch (inst.cls) {
  case isa::InstClass::smem:
    return bindScalarMemory(inst, context, op);
  case isa::InstClass::lds:
    return bindLds(inst, context, op);
  default:
    return bindVectorMemory(inst, context, op);
  }
}

} // namespace asmevo::emulator
