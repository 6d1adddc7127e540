#include "emulator/bind.h"
#include "emulator/mfma/mfma_shape.h"

namespace asmevo::emulator {

namespace {

using mfma::Element;
using mfma::Plan;
using mfma::Shape;

bool isVector(const isa::Operand& operand) {
  return operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr;
}

ConstType accumulatorType(const Shape& shape) {
  return shape.a == Element::f64 ? ConstType::f64 : shape.a == Element::i8 ? ConstType::b32 : ConstType::f32;
}

/// Fills cbsz, abid, blgp and negation, or says which of them the hardware gives no meaning for this shape.
Status bindModifiers(const isa::Instruction& inst, const Shape& shape, Plan& plan) {
  const isa::Modifiers& m = inst.mods;
  const auto refuse = [&](std::string_view what) {
    return refused("'{}': {} has no defined meaning on {}", inst.text, what, shape.mnemonic);
  };
  unsigned negate = m.negLo & 7u;
  if (m.negHi != 0 || m.clamp || m.omod != 0)
    return refuse("neg_hi, clamp or omod");
  for (unsigned i = 1; i < inst.operands.size() && i < 4; ++i) {
    if (inst.operands[i].abs || inst.operands[i].sext)
      return refuse("an operand modifier");
    if (inst.operands[i].neg)
      negate |= 1u << (i - 1);
  }
  if (shape.a == Element::f64) {
    plan.negate = static_cast<std::uint8_t>(negate | (m.blgp & 7u)); // the same encoding bits by another name
  } else if (negate != 0) {
    return refuse("neg");
  } else if (m.blgp != 0) {
    if (!shape.permuteB)
      return refuse("blgp");
    plan.blgp = m.blgp & 7u;
  }
  if (shape.sparse) { // cbsz nonzero: the first set of indices; else abid selects the set
    const unsigned sets = shape.perLaneA() == 4 ? 4 : 2;
    if (m.cbsz == 0 && m.abid >= sets)
      return refuse("that abid");
    plan.cbsz = m.cbsz;
    plan.abid = m.cbsz == 0 ? m.abid : std::uint8_t{0};
    return {};
  }
  if (m.cbsz != 0 || m.abid != 0) {
    if (!shape.broadcastA || m.cbsz > 4 || (1u << m.cbsz) > shape.blocks || m.abid >= (1u << m.cbsz))
      return refuse("this cbsz and abid");
    plan.cbsz = m.cbsz;
    plan.abid = m.abid;
  }
  return {};
}

} // namespace

Status bindMfma(const isa::Instruction& inst, const BindContext& context, Op& op) {
  const Shape* shape = mfma::findShape(inst.base);
  if (!shape)
    return refused("matrix instruction '{}' is not modelled", inst.text);
  if (inst.operands.size() < 4 || !isVector(inst.operands[0]) || !isVector(inst.operands[1]) ||
      !isVector(inst.operands[2]))
    return refused("'{}': unexpected operands", inst.text);
  const isa::Operand& d = inst.operands[0];
  const unsigned third = shape->sparse ? 1 : shape->dwordsD();
  if (d.dwords != shape->dwordsD() || inst.operands[1].dwords != shape->dwordsA() ||
      inst.operands[2].dwords != shape->dwordsB() || (isVector(inst.operands[3]) && inst.operands[3].dwords != third) ||
      (shape->sparse && !isVector(inst.operands[3])))
    return refused("'{}': unexpected register widths", inst.text);

  Plan plan;
  plan.shape = shape;
  ASMEVO_CHECK(bindModifiers(inst, *shape, plan));
  op.src[0] = bindSource(inst.operands[1], ConstType::b32, context);
  op.src[1] = bindSource(inst.operands[2], ConstType::b32, context);
  op.src[2] = bindSource(inst.operands[3], accumulatorType(*shape), context);
  if (op.src[2].kind != SrcKind::vgpr && op.src[2].kind != SrcKind::constant)
    return refused("'{}': the accumulator is neither a vector register nor a constant", inst.text);
  op.dst = static_cast<std::uint16_t>(d.index + (d.kind == isa::OperandKind::agpr ? context.accumOffset : 0));
  op.dstDwords = static_cast<std::uint8_t>(shape->dwordsD());
  op.dstIsVgpr = true;
  op.extra = context.arena->make(plan);
  op.fn = atLevel(context.simd, &scalar::mfmaHandler, &avx2::mfmaHandler, &avx512::mfmaHandler)(*shape);
  return {};
}

} // namespace asmevo::emulator
