/// Opcodes without a lane-wise body: lane access, SGPR and VGPR indexing, the MODE register, v_swap.
#include "emulator/alu/alu_internal.h"
#include "emulator/control/hardware_registers.h"
#include "isa/semantics/table.h"

#include <algorithm>
#include <bit>

namespace asmevo::emulator {

namespace {

using isa::sreg::m0;

// M0 while VGPR indexing is on (CDNA3 ISA, "VGPR indexing"): index in 7:0, what it applies to in 15:12.
constexpr std::uint32_t indexOn = 0x10000;
constexpr unsigned indexSrc0 = 12, indexDst = 15;

void nopHandler(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

/// Lane of the lowest set bit of EXEC, 0 when there is none.
void readFirstLane(Wave& wave, const Op* op) {
  const std::uint64_t exec = wave.exec();
  const unsigned lane = exec ? static_cast<unsigned>(std::countr_zero(exec)) : 0;
  wave.sgpr[op->dst] = op->src[0].kind == SrcKind::vgpr ? wave.lanes(op->src[0].reg)[lane] : wave.scalar32(op->src[0]);
  ASMEVO_NEXT(wave, op);
}

void readLane(Wave& wave, const Op* op) {
  const unsigned lane = wave.scalar32(op->src[1]) & 63;
  wave.sgpr[op->dst] = op->src[0].kind == SrcKind::vgpr ? wave.lanes(op->src[0].reg)[lane] : wave.scalar32(op->src[0]);
  ASMEVO_NEXT(wave, op);
}

void writeLane(Wave& wave, const Op* op) {
  const unsigned lane = wave.scalar32(op->src[1]) & 63;
  wave.lanes(op->dst)[lane] = wave.scalar32(op->src[0]);
  ASMEVO_NEXT(wave, op);
}

void swapLanes(Wave& wave, const Op* op) {
  const std::uint64_t exec = wave.exec();
  std::uint32_t* a = wave.lanes(op->dst);
  std::uint32_t* b = wave.lanes(op->src[0].reg);
  for (unsigned lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1)
      std::swap(a[lane], b[lane]);
  ASMEVO_NEXT(wave, op);
}

/// SGPR indices reach s0 to s105 and VCC; aux: dwords moved.
constexpr std::uint32_t indexableSgprs = 108;

void moveRelativeSource(Wave& wave, const Op* op) {
  const std::uint64_t from = std::uint64_t{op->src[0].reg} + wave.sgpr[m0];
  if (from + op->aux > indexableSgprs)
    return wave.fail(op, ErrorKind::fault, "the index in m0 leads outside the scalar registers");
  for (unsigned i = 0; i < op->aux; ++i)
    wave.sgpr[op->dst + i] = wave.sgpr[from + i];
  ASMEVO_NEXT(wave, op);
}

void moveRelativeDestination(Wave& wave, const Op* op) {
  const std::uint64_t to = std::uint64_t{op->dst} + wave.sgpr[m0];
  if (to + op->aux > indexableSgprs)
    return wave.fail(op, ErrorKind::fault, "the index in m0 leads outside the scalar registers");
  const std::uint64_t value = op->aux == 2 ? wave.scalar64(op->src[0]) : wave.scalar32(op->src[0]);
  for (unsigned i = 0; i < op->aux; ++i)
    wave.sgpr[to + i] = static_cast<std::uint32_t>(value >> (32 * i));
  ASMEVO_NEXT(wave, op);
}

void gprIndexOn(Wave& wave, const Op* op) {
  wave.sgpr[m0] =
      (wave.sgpr[m0] & ~0xf0ffu) | (wave.scalar32(op->src[0]) & 0xff) | static_cast<std::uint32_t>(op->aux & 0xf) << 12;
  wave.gprIdx = indexOn;
  ASMEVO_NEXT(wave, op);
}
void gprIndexOff(Wave& wave, const Op* op) {
  wave.gprIdx = 0;
  ASMEVO_NEXT(wave, op);
}
void gprIndexMode(Wave& wave, const Op* op) {
  wave.sgpr[m0] = (wave.sgpr[m0] & ~0xf000u) | static_cast<std::uint32_t>(op->aux & 0xf) << 12;
  ASMEVO_NEXT(wave, op);
}
void gprIndexIndex(Wave& wave, const Op* op) {
  wave.sgpr[m0] = (wave.sgpr[m0] & ~0xffu) | (wave.scalar32(op->src[0]) & 0xff);
  ASMEVO_NEXT(wave, op);
}

/// Any vector op: applies the index to its VGPR numbers when indexing is on.
void indexedHandler(Wave& wave, const Op* op) {
  const auto& plan = *static_cast<const AluPlan*>(op->extra);
  if (!wave.gprIdx) [[likely]]
    [[clang::musttail]] return plan.inner(wave, op);
  const std::uint32_t index = wave.sgpr[m0] & 0xff;
  Op pair[2] = {*op, Op{}};
  pair[1].fn = [](Wave&, const Op*) {};
  bool outside = false;
  const auto shift = [&](std::uint16_t& reg, unsigned dwords, unsigned bit) {
    if (wave.sgpr[m0] >> bit & 1)
      reg = static_cast<std::uint16_t>(reg + index);
    outside |= reg + dwords > wave.vgprCount;
  };
  if (op->dstIsVgpr)
    shift(pair[0].dst, op->dstDwords, indexDst);
  for (unsigned i = 0; i < std::max<unsigned>(plan.sources, 1); ++i) {
    Src& src = pair[0].src[i];
    if (src.kind == SrcKind::vgpr)
      shift(src.reg, src.dwords, plan.src[i].old ? indexDst : indexSrc0 + i);
  }
  if (outside)
    return wave.fail(op, ErrorKind::fault, "the index in m0 leads outside the allocated vector registers");
  plan.inner(wave, pair);
  if (wave.stop == Stop::fault)
    return;
  ASMEVO_NEXT(wave, op);
}

/// A plan is needed only for the index wrapper.
Status finishLaneOp(const BindContext& context, Handler handler, Op& op) {
  op.fn = handler;
  if (context.gprIndexing) {
    AluPlan plan;
    plan.sources = 1;
    makeIndexed(op, plan);
    op.extra = context.arena->make(std::move(plan));
  }
  return {};
}

} // namespace

void makeIndexed(Op& op, AluPlan& plan) {
  plan.inner = op.fn;
  op.fn = &indexedHandler;
}

bool isSpecial(std::string_view base) {
  const auto names = isa::semantics::specialOpcodes();
  return std::find(names.begin(), names.end(), base) != names.end();
}

Status bindSpecial(const isa::Instruction& inst, const BindContext& context, Op& op) {
  const std::string_view base = inst.base;
  const auto& operands = inst.operands;
  const auto scalarDestination = [&](std::size_t i, unsigned dwords) {
    return i < operands.size() && operands[i].kind == isa::OperandKind::sgpr && operands[i].index + dwords <= 128u;
  };
  const auto scalarSource = [&](std::size_t i, unsigned dwords) {
    return i < operands.size() &&
           (operands[i].kind == isa::OperandKind::imm || operands[i].kind == isa::OperandKind::fpImm ||
            (operands[i].kind == isa::OperandKind::sgpr && operands[i].index + dwords <= 256u));
  };
  const auto vector = [&](std::size_t i) {
    return i < operands.size() &&
           (operands[i].kind == isa::OperandKind::vgpr || operands[i].kind == isa::OperandKind::agpr);
  };
  const auto source = [&](std::size_t i, ConstType type = ConstType::b32) {
    return bindSource(operands[i], type, context);
  };
  const auto malformed = [&] { return refused("{}: operands are not modelled", inst.text); };
  if (inst.mods.dpp != isa::DppCtrl::none || inst.mods.isSdwa || inst.mods.clamp || inst.mods.omod)
    return refused("{}: modifiers are not modelled for this opcode", inst.text);

  if (base == "v_nop" || base == "v_clrexcp") {
    op.fn = &nopHandler;
    return {};
  }
  if (base == "v_readfirstlane_b32" || base == "v_readlane_b32") {
    const bool first = base == "v_readfirstlane_b32";
    if (!scalarDestination(0, 1) || operands.size() < (first ? 2u : 3u) || (!vector(1) && !scalarSource(1, 1)) ||
        (!first && !scalarSource(2, 1)))
      return malformed();
    op.dst = operands[0].index;
    op.src[0] = source(1);
    if (!first)
      op.src[1] = source(2);
    return finishLaneOp(context, first ? &readFirstLane : &readLane, op);
  }
  if (base == "v_writelane_b32") {
    if (!vector(0) || !scalarSource(1, 1) || !scalarSource(2, 1))
      return malformed();
    op.dst = source(0).reg;
    op.dstIsVgpr = true;
    op.src[0] = source(1);
    op.src[1] = source(2);
    return finishLaneOp(context, &writeLane, op);
  }
  if (base == "v_swap_b32") {
    if (!vector(0) || !vector(1))
      return malformed();
    op.dst = source(0).reg;
    op.dstIsVgpr = true;
    op.src[0] = source(1);
    return finishLaneOp(context, &swapLanes, op);
  }
  if (base.starts_with("s_movrel")) {
    op.aux = base.ends_with("b64") ? 2 : 1;
    const auto dwords = static_cast<unsigned>(op.aux);
    if (!scalarDestination(0, dwords) || !scalarSource(1, dwords))
      return malformed();
    op.dst = operands[0].index;
    op.src[0] = source(1, op.aux == 2 ? ConstType::b64 : ConstType::b32);
    const bool relativeSource = base.starts_with("s_movrels");
    if (relativeSource && op.src[0].kind != SrcKind::sgpr)
      return malformed();
    op.fn = relativeSource ? &moveRelativeSource : &moveRelativeDestination;
    return {};
  }
  if (base == "s_set_gpr_idx_on" || base == "s_set_gpr_idx_idx") {
    if (!scalarSource(0, 1))
      return malformed();
    op.src[0] = source(0);
    op.aux = inst.simm16;
    op.fn = base == "s_set_gpr_idx_on" ? &gprIndexOn : &gprIndexIndex;
    return {};
  }
  if (base == "s_set_gpr_idx_off" || base == "s_set_gpr_idx_mode") {
    op.aux = inst.simm16;
    op.fn = base == "s_set_gpr_idx_off" ? &gprIndexOff : &gprIndexMode;
    return {};
  }
  if (base == "s_getreg_b32" || base == "s_setreg_b32" || base == "s_setreg_imm32_b32")
    return bindHardwareRegister(inst, context, op);
  return malformed();
}

} // namespace asmevo::emulator
