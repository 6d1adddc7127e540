#include "emulator/alu/alu_internal.h"

#include <string>
#include <unordered_map>

namespace asmevo::emulator {

namespace sem = isa::semantics;
using sem::OperandType;

namespace {

template <class... Tables> std::unordered_map<std::string_view, const CoreEntry*> indexOf(const Tables&... tables) {
  std::unordered_map<std::string_view, const CoreEntry*> map;
  const auto add = [&](CoreTable table) {
    for (const CoreEntry& entry : table)
      map.emplace(entry.name, &entry);
  };
  (add(tables), ...);
  return map;
}

ConstType constTypeOf(OperandType type, std::string_view base) {
  switch (type) {
  case OperandType::f16:
    return ConstType::f16;
  case OperandType::b8:
  case OperandType::b16:
    return ConstType::b16;
  case OperandType::f32:
  case OperandType::mix:
    return ConstType::f32;
  case OperandType::f64:
    return ConstType::f64;
  case OperandType::b64:
    return base.find("_i64") != std::string_view::npos ? ConstType::u64 : ConstType::b64;
  case OperandType::pkB16:
  case OperandType::pkF16:
    return ConstType::pk16;
  case OperandType::pkF32:
  case OperandType::pkB32:
    return ConstType::pkF32;
  default:
    return ConstType::b32;
  }
}

/// The source lane of each lane and whether it exists (CDNA3 ISA, "Data parallel processing").
void planDpp(const isa::Modifiers& mods, AluPlan& plan) {
  plan.dpp = true;
  plan.dppZero = mods.boundCtrl;
  plan.dppValid = 0;
  plan.dppRows = 0;
  bool inRow = true;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const unsigned row = lane & ~15u, in = lane & 15u, n = mods.dppAmount;
    unsigned from = lane;
    bool valid = true;
    switch (mods.dpp) {
    case isa::DppCtrl::none:
      break;
    case isa::DppCtrl::quadPerm:
      from = (lane & ~3u) + mods.quadPerm[lane & 3];
      break;
    case isa::DppCtrl::rowShl:
      valid = in + n < 16;
      from = row + ((in + n) & 15);
      break;
    case isa::DppCtrl::rowShr:
      valid = in >= n;
      from = row + ((in - n) & 15);
      break;
    case isa::DppCtrl::rowRor:
      from = row + ((in - n) & 15);
      break;
    case isa::DppCtrl::waveShl:
      valid = lane < 63;
      from = (lane + 1) & 63;
      break;
    case isa::DppCtrl::waveRol:
      from = (lane + 1) & 63;
      break;
    case isa::DppCtrl::waveShr:
      valid = lane > 0;
      from = (lane - 1) & 63;
      break;
    case isa::DppCtrl::waveRor:
      from = (lane - 1) & 63;
      break;
    case isa::DppCtrl::rowMirror:
      from = row + (15 - in);
      break;
    case isa::DppCtrl::rowHalfMirror:
      from = (lane & ~7u) + (7 - (lane & 7));
      break;
    case isa::DppCtrl::rowBcast15:
      valid = lane >= 16;
      from = valid ? row - 1 : 0;
      break;
    case isa::DppCtrl::rowBcast31:
      valid = lane >= 32;
      from = 31;
      break;
    case isa::DppCtrl::rowNewBcast:
      from = row + (n & 15);
      break;
    }
    plan.dppLane[lane] = static_cast<std::uint8_t>(from);
    plan.dppIndex[lane / 16][in] = from & 15;
    inRow &= !valid || (from & ~15u) == row;
    plan.dppValid |= std::uint64_t{valid} << lane;
    const bool selected = (mods.rowMask >> (lane / 16) & 1) && (mods.bankMask >> (in / 4) & 1);
    plan.dppRows |= std::uint64_t{selected} << lane;
  }
  plan.dppInRow = inRow;
}

/// Field of the destination that an SDWA dst_sel names.
void planDestinationField(const isa::Modifiers& mods, AluPlan& plan) {
  switch (mods.dstSel) {
  case isa::SdwaSel::dword:
    return;
  case isa::SdwaSel::word0:
  case isa::SdwaSel::word1:
    plan.resultBits = 16;
    plan.resultShift = mods.dstSel == isa::SdwaSel::word1 ? 16 : 0;
    break;
  default:
    plan.resultBits = 8;
    plan.resultShift = static_cast<std::uint8_t>(8 * static_cast<unsigned>(mods.dstSel));
    break;
  }
  plan.insert = true;
  plan.insertPad = mods.dstUnused == isa::SdwaUnused::pad;
  plan.insertSext = mods.dstUnused == isa::SdwaUnused::sext;
}

/// Splats of a constant, one per dword of the operand.
void planConstant(const Src& src, OperandType type, AluPlan& plan, unsigned index) {
  // A 32-bit constant is both elements of a pair; 64-bit types have their own upper half.
  const bool pair = type == OperandType::pkF32 || type == OperandType::pkB32;
  for (unsigned lane = 0; lane < 16; ++lane) {
    plan.constants[index][0][lane] = static_cast<std::uint32_t>(src.constant);
    plan.constants[index][1][lane] = static_cast<std::uint32_t>(pair ? src.constant : src.constant >> 32);
  }
}

/// The modifiers of a source as keep and flip masks, where that says it all.
void planSigns(SourcePlan& s, const sem::OperandTypeInfo& info) {
  const bool pair = info.packed && info.dwords == 2;
  s.simple = !s.sext && s.sdwa == isa::SdwaSel::dword && s.type != OperandType::mix &&
             (pair || (!s.high && s.highHi)) && (!info.packed || !s.abs);
  if (pair) {
    s.flip[0] = s.neg ? 0x80000000u : 0;
    s.flip[1] = s.negHi ? 0x80000000u : 0;
  } else if (info.packed) {
    s.flip[0] = (s.neg ? 0x8000u : 0) | (s.negHi ? 0x80000000u : 0);
  } else {
    const unsigned dword = info.dwords == 2 ? 1 : 0;
    const std::uint32_t sign = info.elementBits == 16 ? 0x8000u : 0x80000000u;
    s.keep[dword] = s.abs ? ~sign : ~0u;
    s.flip[dword] = s.neg ? sign : 0;
  }
}

/// Modifiers of one printed source.
void planSource(const isa::Instruction& inst, const Src& src, unsigned printed, bool isMixOp, SourcePlan& s) {
  const isa::Modifiers& mods = inst.mods;
  const auto bit = [&](std::uint8_t bits) { return (bits >> printed & 1) != 0; };
  const sem::OperandTypeInfo info = sem::typeInfo(s.type);
  s.neg = src.neg;
  s.abs = src.abs;
  s.sext = src.sext;
  if (info.packed && !mods.isSdwa) {
    const bool moves = s.type == OperandType::pkB32;
    const bool isPrintedPacked = inst.base.starts_with("v_pk_") || inst.base.starts_with("v_dot2_");
    s.high = bit(mods.opSel);
    s.highHi = moves ? s.high : !isPrintedPacked || bit(mods.opSelHi);
    s.neg = bit(mods.negLo);
    s.negHi = bit(mods.negHi);
    s.packedSelect = s.high || !s.highHi || s.neg || s.negHi || (moves && !s.high);
  } else if (isMixOp) {
    s.high = bit(mods.opSel);
    s.mixHalf = mods.opSelHiPrinted && bit(mods.opSelHi);
  } else if (info.elementBits == 16) {
    s.high = bit(mods.opSel);
  }
  if (mods.isSdwa && printed < 2)
    s.sdwa = mods.srcSel[printed];
  s.dpp = mods.dpp != isa::DppCtrl::none && printed == 0;
  s.prepare =
      s.neg || s.abs || s.sext || s.packedSelect || s.mixHalf || s.high || s.dpp || s.sdwa != isa::SdwaSel::dword;
  planSigns(s, info);
}

bool fitsSource(const Src& src, OperandType type) {
  if (src.kind == SrcKind::vgpr)
    return src.dwords >= sem::typeInfo(type).dwords;
  if (src.kind == SrcKind::constant)
    return true;
  return src.kind == SrcKind::sgpr && src.reg != 254 && src.reg + 2u <= 256u;
}

/// Integer opcodes whose exact result always fits: clamp has nothing to do.
bool alwaysInRange(std::string_view base) {
  for (const std::string_view part : {"_min", "_max", "_med3", "_frexp_exp_", "_ffbh_", "_ffbl_", "_bcnt_"})
    if (base.find(part) != std::string_view::npos)
      return true;
  return false;
}

} // namespace

const CoreEntry* findCore(std::string_view name, SimdLevel level) {
#define ASMEVO_TABLES(ns)                                                                                              \
  indexOf(ns::intCores(), ns::int16Cores(), ns::floatCores(), ns::halfCores(), ns::doubleCores(),                      \
          ns::transcendentalCores(), ns::compareIntCores(), ns::compareFloatCores(), ns::packedCores(),                \
          ns::conversionCores())
  static const auto plain = ASMEVO_TABLES(scalar);
  static const auto narrow = ASMEVO_TABLES(avx2);
  static const auto wide = ASMEVO_TABLES(avx512);
#undef ASMEVO_TABLES
  const auto& map = *atLevel(level, &plain, &narrow, &wide);
  const auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

Status bindVector(const isa::Instruction& inst, const BindContext& context, const CoreEntry& entry, Op& op) {
  const sem::SignatureInfo& sig = entry.signature;
  const isa::Modifiers& mods = inst.mods;
  const auto& operands = inst.operands;
  const std::string_view base = inst.base;
  AluPlan plan;
  plan.core = entry.core;
  plan.round = entry.round;
  plan.sources = sig.sources;
  plan.dst = sig.dst;
  plan.unwritten = sig.unwritten;
  plan.maskOut = sig.maskOut || sig.dst == OperandType::mask;
  plan.execOut = base.starts_with("v_cmpx_");
  op.aux = plan.execOut;
  std::size_t at = 0;

  const auto maskRegister = [&](const isa::Operand& operand, std::uint16_t& reg, unsigned limit) -> Status {
    if (operand.kind != isa::OperandKind::sgpr || operand.index + 2u > limit)
      return refused("{}: expected a lane mask in scalar registers", inst.text);
    reg = operand.index;
    return {};
  };
  if (sig.dst != OperandType::mask) {
    if (operands.empty())
      return refused("{}: no destination", inst.text);
    const Src dst = bindSource(operands[0], ConstType::b32, context);
    op.dstDwords = sem::typeInfo(sig.dst).dwords;
    if (dst.kind != SrcKind::vgpr || dst.dwords < op.dstDwords)
      return refused("{}: destination is not modelled", inst.text);
    op.dst = dst.reg;
    op.dstIsVgpr = true;
    at = 1;
  }
  if (plan.maskOut) {
    if (at >= operands.size())
      return refused("{}: no mask destination", inst.text);
    ASMEVO_CHECK(maskRegister(operands[at++], op.sdst, 128));
  }

  const bool isMixOp = base.starts_with("v_fma_mix");
  bool allVgpr = true, general = false, simple = true;
  unsigned printed = 0;
  for (unsigned i = 0; i < sig.sources; ++i) {
    SourcePlan& s = plan.src[i];
    s.type = sig.src[i];
    if (s.type == OperandType::mask) {
      plan.maskIn = true;
      op.maskSrc = isa::sreg::vccLo; // v_div_fmas does not print it
      if (at < operands.size())
        ASMEVO_CHECK(maskRegister(operands[at++], op.maskSrc, 256));
      continue;
    }
    if (sig.old[i]) {
      s.old = true;
      op.src[i].kind = SrcKind::vgpr;
      op.src[i].reg = op.dst;
      op.src[i].dwords = op.dstDwords;
      continue;
    }
    if (at >= operands.size())
      return refused("{}: expected another source operand", inst.text);
    Src& src = op.src[i];
    src = bindSource(operands[at++], constTypeOf(s.type, base), context);
    if (!fitsSource(src, s.type))
      return refused("{}: source {} is not modelled", inst.text, i);
    if (src.kind == SrcKind::constant)
      planConstant(src, s.type, plan, i);
    planSource(inst, src, printed++, isMixOp, s);
    allVgpr &= src.kind == SrcKind::vgpr;
    general |= s.prepare;
    simple &= s.simple;
  }
  if (at != operands.size())
    return refused("{}: more operands than are modelled", inst.text);

  const sem::OperandTypeInfo dst = sem::typeInfo(sig.dst);
  if (mods.dpp != isa::DppCtrl::none)
    planDpp(mods, plan);
  if (mods.isSdwa && plan.dst != OperandType::mask) {
    planDestinationField(mods, plan);
  } else if (dst.elementBits < 32 && !dst.packed && sig.dst != OperandType::mask) {
    // op_sel has one more element for the destination: its half, or byte.
    const unsigned select = static_cast<unsigned>(mods.opSel) >> (sig.dst == OperandType::b8 ? 2 : printed);
    plan.resultBits = dst.elementBits;
    if (sig.dst == OperandType::b8)
      plan.resultShift = static_cast<std::uint8_t>(8 * (((select & 1) << 0) | (select & 2)));
    else
      plan.resultShift = select & 1 ? 16 : 0;
    if (base == "v_fma_mixhi_f16")
      plan.resultShift = 16;
    plan.insert = sig.unwritten == sem::Unwritten::keep || plan.resultShift != 0;
  }
  if (mods.clamp && sig.dst != OperandType::mask && dst.isFloat)
    plan.clamp = true;
  if (dst.isFloat && !dst.packed)
    plan.omod = mods.omod;
  simple &= (!plan.dpp || plan.dppInRow) && !plan.insert && !plan.clamp && plan.omod == 0 &&
            plan.unwritten == sem::Unwritten::zero;
  general |= plan.dpp || plan.insert || plan.clamp || plan.omod != 0;

  const Handler generic =
      atLevel(context.simd, &scalar::generalHandler, &avx2::generalHandler, &avx512::generalHandler);
  if (!entry.anyKind)
    op.fn = generic;
  else if (general)
    op.fn = simple ? entry.modified : generic;
  else
    op.fn = allVgpr ? entry.allVgpr : entry.anyKind;
  if (context.gprIndexing)
    makeIndexed(op, plan);
  op.extra = context.arena->make(plan);
  return {};
}

Status bindAlu(const isa::Instruction& inst, const BindContext& context, Op& op) {
  const std::string_view base = inst.base;
  Handler scalar = nullptr;
  sem::SignatureInfo signature;
  if (isSpecial(base))
    return bindSpecial(inst, context, op);
  if (findScalarHandler(base, scalar, signature))
    return bindScalar(inst, context, scalar, signature, op);
  const CoreEntry* entry = findCore(base, context.simd);
  if (!entry)
    return refused("opcode {} is not modelled", inst.mnemonic);
  if (inst.mods.clamp && !sem::typeInfo(entry->signature.dst).isFloat && entry->signature.dst != OperandType::mask) {
    // Conversions to integers saturate anyway.
    if (const CoreEntry* saturating = findCore(std::string(base) + "__clamp", context.simd))
      entry = saturating;
    else if (!base.starts_with("v_cvt_") && !alwaysInRange(base))
      return refused("opcode {} with clamp is not modelled", inst.mnemonic);
  }
  return bindVector(inst, context, *entry, op);
}

} // namespace asmevo::emulator
