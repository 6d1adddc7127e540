// ALU instructions: sources with their modifiers, the shared body, and what is done with its result (CDNA3 ISA 6,
// "Vector ALU operations": DPP, SDWA, op_sel, abs, neg, clamp, omod).
#include "emulator/bind.h"
#include "verify/proof/alu_rows.h"
#include "verify/proof/symbolic.h"

#include <fmt/format.h>

#include <optional>

namespace asmevo::verify {

using emulator::ConstType;
using isa::Instruction;
using isa::Modifiers;
using isa::Operand;
using isa::OperandKind;
using isa::semantics::OperandType;
using isa::semantics::typeInfo;
using isa::semantics::Unwritten;

namespace flt = isa::semantics::flt;

namespace {

bool isVector(const Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

ConstType constantType(OperandType type, std::string_view base) {
  const auto info = typeInfo(type);
  if (type == OperandType::b64)
    return base.find("_i64") != std::string_view::npos ? ConstType::u64 : ConstType::b64;
  if (type == OperandType::f64)
    return ConstType::f64;
  if (info.packed)
    return info.dwords == 2 ? ConstType::pkF32 : ConstType::pk16;
  if (info.elementBits <= 16)
    return info.isFloat ? ConstType::f16 : ConstType::b16;
  return info.isFloat ? ConstType::f32 : ConstType::b32;
}

/// Bits of a constant operand, or of a scalar source that is a constant of the dispatch; nothing for registers.
std::optional<std::uint64_t> constantBits(const Operand& operand, ConstType type) {
  static const emulator::BindContext context;
  const emulator::Src src = emulator::bindSource(operand, type, context);
  return src.kind == emulator::SrcKind::constant ? std::optional(src.constant) : std::nullopt;
}

struct Field {
  unsigned shift = 0, bits = 32;
};

Field fieldOf(isa::SdwaSel sel) {
  const auto number = static_cast<unsigned>(sel);
  if (sel == isa::SdwaSel::dword)
    return {};
  if (sel >= isa::SdwaSel::word0)
    return {16 * (number - static_cast<unsigned>(isa::SdwaSel::word0)), 16};
  return {8 * number, 8};
}

std::uint32_t fieldMask(const Field& field) {
  return (field.bits == 32 ? ~0u : (1u << field.bits) - 1) << field.shift;
}

/// Source lane of DPP; nothing where the lane has none.
std::optional<unsigned> dppLane(const Modifiers& mods, unsigned lane) {
  const unsigned row = lane / 16, in = lane % 16, n = mods.dppAmount;
  const auto inRow = [&](unsigned i) { return row * 16 + i % 16; };
  switch (mods.dpp) {
  case isa::DppCtrl::quadPerm:
    return lane / 4 * 4 + mods.quadPerm[lane % 4];
  case isa::DppCtrl::rowShl:
    return in + n > 15 ? std::nullopt : std::optional(lane + n);
  case isa::DppCtrl::rowShr:
    return in < n ? std::nullopt : std::optional(lane - n);
  case isa::DppCtrl::rowRor:
    return inRow(in + 16 - n % 16);
  case isa::DppCtrl::waveShl:
    return lane == 63 ? std::nullopt : std::optional(lane + 1);
  case isa::DppCtrl::waveRol:
    return (lane + 1) % 64;
  case isa::DppCtrl::waveShr:
    return lane == 0 ? std::nullopt : std::optional(lane - 1);
  case isa::DppCtrl::waveRor:
    return (lane + 63) % 64;
  case isa::DppCtrl::rowMirror:
    return inRow(15 - in);
  case isa::DppCtrl::rowHalfMirror:
    return lane / 8 * 8 + 7 - lane % 8;
  case isa::DppCtrl::rowBcast15:
    return row == 0 ? std::nullopt : std::optional(row * 16 - 1);
  case isa::DppCtrl::rowBcast31:
    return row < 2 ? std::nullopt : std::optional(31u);
  case isa::DppCtrl::rowNewBcast:
    return inRow(n);
  case isa::DppCtrl::none:
    break;
  }
  return lane;
}

/// Integer opcodes whose exact result always fits: clamp has nothing to do.
bool clampIsIdle(std::string_view base) {
  for (const std::string_view part : {"v_cvt_", "_min", "_max", "_med3", "_frexp_exp_", "_ffbh_", "_ffbl_", "_bcnt_"})
    if (base.find(part) != std::string_view::npos)
      return true;
  return false;
}

TermId signsApplied(TermTable& t, TermId value, std::uint32_t sign, bool abs, bool neg) {
  if (abs)
    value = t.and_(value, t.word(~sign));
  return neg ? t.xor_(value, t.word(sign)) : value;
}

/// V_PERM_B32 with a known selector of plain bytes (0 to 3 of `low`, 4 to 7 of `high`): neighbours that stay neighbours
/// move together, so that packed halves have the form that masks and shifts give them.
std::optional<TermId> pickedBytes(TermTable& t, TermId high, TermId low, TermId selector) {
  const auto known = t.constantOf(selector);
  if (!known)
    return std::nullopt;
  const auto number = [&](unsigned byte) { return static_cast<unsigned>(*known >> (8 * byte) & 0xff); };
  TermId result = t.word(0);
  for (unsigned first = 0, next = 0; first < 4; first = next) {
    if (number(first) > 7)
      return std::nullopt;
    std::uint32_t mask = 0;
    for (next = first;
         next < 4 && number(next) == number(first) + (next - first) && number(next) / 4 == number(first) / 4; ++next)
      mask |= 0xffu << (8 * next);
    const TermId source = number(first) >= 4 ? high : low;
    const unsigned from = number(first) % 4;
    const TermId moved =
        from >= first ? t.shr(source, t.word(8 * (from - first))) : t.shl(source, t.word(8 * (first - from)));
    result = t.or_(result, t.and_(moved, t.word(mask)));
  }
  return result;
}

/// Everything but DPP that happens to a source on its way in.
SourceTerms prepared(const TermDomain& d, const Instruction& inst, const Operand& operand, OperandType type,
                     unsigned printed, SourceTerms s) {
  TermTable& t = d.t;
  const Modifiers& mods = inst.mods;
  const auto info = typeInfo(type);
  const auto bit = [&](std::uint8_t bits) { return (bits >> printed & 1) != 0; };
  if (mods.isSdwa && printed < 2) {
    const Field field = fieldOf(mods.srcSel[printed]);
    if (field.bits != 32 || operand.sext) {
      const TermId top = t.shl(s[0], t.word(32 - field.bits - field.shift)), down = t.word(32 - field.bits);
      s[0] = operand.sext ? t.sar(top, down) : t.shr(top, down);
    }
  }
  const bool isPrintedPacked = inst.base.starts_with("v_pk_") || inst.base.starts_with("v_dot2_");
  if (info.packed && !mods.isSdwa) {
    const bool moves = type == OperandType::pkB32;
    const bool high = bit(mods.opSel), highHi = moves ? high : !isPrintedPacked || bit(mods.opSelHi);
    const bool neg = bit(mods.negLo), negHi = bit(mods.negHi);
    if (info.dwords == 2) {
      const SourceTerms from = s;
      s[0] = signsApplied(t, from[high ? 1 : 0], 0x80000000u, false, neg);
      s[1] = signsApplied(t, from[highHi ? 1 : 0], 0x80000000u, false, negHi);
      return s;
    }
    const TermId low = high ? t.shr(s[0], t.word(16)) : t.and_(s[0], t.word(0xffff));
    const TermId top = highHi ? t.and_(s[0], t.word(0xffff0000u)) : t.shl(s[0], t.word(16));
    const std::uint32_t flip = (neg ? 0x8000u : 0u) | (negHi ? 0x80000000u : 0u);
    s[0] = high || !highHi ? t.or_(low, top) : s[0];
    if (flip)
      s[0] = t.xor_(s[0], t.word(flip));
    return s;
  }
  if (type == OperandType::mix) {
    if (mods.opSelHiPrinted && bit(mods.opSelHi))
      s[0] = d.f32FromF16(TermDomain::B32{bit(mods.opSel) ? t.shr(s[0], t.word(16)) : s[0]}).id;
  } else if (info.elementBits == 16 && bit(mods.opSel)) {
    s[0] = t.shr(s[0], t.word(16));
  }
  if (operand.abs || operand.neg) {
    TermId& top = s[info.dwords == 2 ? 1 : 0];
    top = signsApplied(t, top, info.elementBits == 16 ? 0x8000u : 0x80000000u, operand.abs, operand.neg);
  }
  return s;
}

template <class F> TermId finished(const TermDomain& d, TermId value, const Modifiers& mods, bool omod) {
  using V = std::conditional_t<F::bits == 64, TermDomain::B64, TermDomain::B32>;
  V v{value};
  if (omod)
    v = d.modified<F>(fmt::format("omod{}", mods.omod), v);
  return mods.clamp ? d.modified<F>("clamp", v).id : v.id;
}

/// Clamp and omod of a floating-point result.
void finishFloat(const TermDomain& d, const Modifiers& mods, OperandType type, AluResult& r) {
  TermTable& t = d.t;
  const auto info = typeInfo(type);
  const bool omod = mods.omod != 0 && !info.packed;
  if (!info.isFloat || (!mods.clamp && !omod))
    return;
  if (type == OperandType::pkF16) {
    const TermId low = finished<flt::F16>(d, r.dwords[0], mods, false);
    const TermId high = finished<flt::F16>(d, t.shr(r.dwords[0], t.word(16)), mods, false);
    r.dwords[0] = t.or_(low, t.shl(high, t.word(16)));
  } else if (info.elementBits == 64) {
    const TermId value = finished<flt::F64>(d, t.pack(r.dwords[0], r.dwords[1]), mods, omod);
    r.dwords[0] = t.lo(value);
    r.dwords[1] = t.hi(value);
  } else {
    for (unsigned k = 0; k < r.count; ++k)
      r.dwords[k] = info.elementBits == 16 ? finished<flt::F16>(d, r.dwords[k], mods, omod)
                                           : finished<flt::F32>(d, r.dwords[k], mods, omod);
  }
}

} // namespace

bool SymbolicExecutor::dppSource(const Instruction& inst, SymbolicState& state, TermId& value, TermId& lanes) {
  const TermId seen = active(state);
  std::string table = "lanes";
  std::uint64_t valid = 0, rows = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const auto from = dppLane(inst.mods, lane);
    table += from ? fmt::format(" {}", *from) : std::string(" -");
    valid |= std::uint64_t{from.has_value()} << lane;
    const bool selected = (inst.mods.rowMask >> lane / 16 & 1) && (inst.mods.bankMask >> lane % 16 / 4 & 1);
    rows |= std::uint64_t{selected} << lane;
  }
  value = t.permuted(table, value, seen);
  lanes = t.and_(lanes, t.laneBit(t.wide(rows)));
  if (!inst.mods.boundCtrl) {
    // Lanes whose source is missing or inactive are not written.
    const TermId readable = t.constantOf(seen) == 1 ? t.laneBit(t.wide(valid))
                                                    : t.apply("readable " + table, Sort::bit, std::array{seen}, true);
    lanes = t.and_(lanes, readable);
  }
  return true;
}

bool SymbolicExecutor::vectorAlu(const Instruction& inst, SymbolicState& state) {
  const std::string_view base = inst.base;
  const Modifiers& mods = inst.mods;
  const AluRow* row = findVectorRow(base);
  if (!row)
    return false;
  if (mods.clamp && !typeInfo(row->signature.dst).isFloat && row->signature.dst != OperandType::mask) {
    if (const AluRow* saturating = findVectorRow(std::string(base) + "__clamp"))
      row = saturating;
    else if (!clampIsIdle(base))
      return false;
  }
  const auto& signature = row->signature;
  const auto& operands = inst.operands;
  const bool vectorResult = signature.dst != OperandType::mask;
  const bool writesMask = signature.maskOut || !vectorResult;
  const TermDomain d{t, state.units[isa::sreg::mode], row->rounding};
  std::size_t at = 0;
  unsigned destination = 0, maskDestination = 0;
  const auto dstDwords = typeInfo(signature.dst).dwords;
  if (vectorResult) {
    if (operands.empty() || !isVector(operands[0]) || operands[0].dwords < dstDwords)
      return false;
    destination = physical(operands[at++]);
  }
  const auto isMaskOperand = [&](std::size_t i) {
    return i < operands.size() && operands[i].kind == OperandKind::sgpr && operands[i].index + 1u < 128u;
  };
  if (writesMask) {
    if (!isMaskOperand(at))
      return false;
    maskDestination = operands[at++].index;
  }
  const TermId seen = active(state);
  TermId lanes = seen;
  std::array<SourceTerms, 4> sources{};
  unsigned printed = 0;
  for (unsigned i = 0; i < signature.sources; ++i) {
    const OperandType type = signature.src[i];
    const unsigned dwords = typeInfo(type).dwords;
    if (type == OperandType::mask) {
      unsigned index = isa::sreg::vccLo; // V_DIV_FMAS does not print it
      if (at < operands.size()) {
        if (const auto c = constantBits(operands[at], ConstType::b64)) {
          sources[i][0] = t.under(seen, t.laneBit(t.wide(*c)));
          ++at;
          continue;
        }
        if (!isMaskOperand(at))
          return false;
        index = operands[at++].index;
      }
      sources[i][0] = t.under(seen, t.laneBit(scalarPair(state, index)));
      continue;
    }
    if (signature.old[i]) {
      for (unsigned k = 0; k < dwords; ++k)
        sources[i][k] = vectorValue(state, destination + k);
      continue;
    }
    if (at >= operands.size())
      return false;
    const Operand& operand = operands[at++];
    SourceTerms s{};
    if (isVector(operand)) {
      if (operand.dwords < dwords)
        return false;
      for (unsigned k = 0; k < dwords; ++k)
        s[k] = vectorValue(state, physical(operand) + k);
    } else if (const auto c = constantBits(operand, constantType(type, base))) {
      const bool pair = typeInfo(type).packed && dwords == 2;
      for (unsigned k = 0; k < dwords; ++k)
        s[k] = t.word(static_cast<std::uint32_t>(k == 0 || pair ? *c : k == 1 ? *c >> 32 : 0));
    } else if (operand.kind == OperandKind::sgpr) {
      if (operand.index + dwords > 128u && operand.index < 251)
        return false;
      for (unsigned k = 0; k < dwords; ++k)
        s[k] = operand.index >= 251 ? (k == 0 ? scalar32(state, operand.index) : t.word(0))
                                    : state.units[operand.index + k];
    } else {
      return false;
    }
    if (mods.dpp != isa::DppCtrl::none && printed == 0)
      for (unsigned k = 0; k < dwords; ++k) {
        TermId whole = seen;
        dppSource(inst, state, s[k], whole);
        if (k == 0)
          lanes = whole;
      }
    sources[i] = prepared(d, inst, operand, type, printed, s);
    ++printed;
  }
  if (at != operands.size())
    return false;

  AluResult r;
  row->run(d, sources, r);
  if (base == "v_perm_b32")
    if (const auto picked = pickedBytes(t, sources[0][0], sources[1][0], sources[2][0]))
      r.dwords[0] = *picked;
  finishFloat(d, mods, signature.dst, r);

  Field field;
  bool insert = false, pad = false, extend = false;
  const auto dst = typeInfo(signature.dst);
  if (mods.isSdwa && vectorResult) {
    field = fieldOf(mods.dstSel);
    insert = field.bits != 32;
    pad = mods.dstUnused == isa::SdwaUnused::pad;
    extend = mods.dstUnused == isa::SdwaUnused::sext;
  } else if (vectorResult && dst.elementBits < 32 && !dst.packed) {
    const unsigned select = static_cast<unsigned>(mods.opSel) >> (signature.dst == OperandType::b8 ? 2 : printed);
    field.bits = dst.elementBits;
    field.shift = signature.dst == OperandType::b8 ? 8 * ((select & 1) | (select & 2)) : select & 1 ? 16 : 0;
    if (base == "v_fma_mixhi_f16")
      field.shift = 16;
    insert = signature.unwritten == Unwritten::keep || field.shift != 0;
  }
  if (insert) {
    const std::uint32_t mask = fieldMask(field);
    const TermId placed = t.and_(t.shl(r.dwords[0], t.word(field.shift)), t.word(mask));
    if (pad) {
      r.dwords[0] = placed;
    } else if (extend) {
      const TermId up = t.word(32 - field.bits - field.shift);
      r.dwords[0] = t.sar(t.shl(placed, up), up);
    } else {
      r.dwords[0] = t.or_(placed, t.and_(vectorValue(state, destination), t.word(~mask)));
    }
  }
  for (unsigned k = 0; k < dstDwords && vectorResult; ++k)
    writeVector(state, destination + k, lanes, r.dwords[k]);
  if (writesMask) {
    const TermId mask = t.ballot(t.and_(r.mask, lanes));
    setPair(state, maskDestination, mask);
    if (base.starts_with("v_cmpx_"))
      setPair(state, isa::sreg::execLo, mask);
  }
  return true;
}

bool SymbolicExecutor::scalarAlu(const Instruction& inst, SymbolicState& state) {
  const AluRow* row = findScalarRow(inst.base);
  if (!row)
    return false;
  const auto& signature = row->signature;
  const auto& operands = inst.operands;
  const TermDomain d{t, state.units[isa::sreg::mode], Rounding::nearest};
  std::size_t at = 0;
  unsigned destination = 0;
  const unsigned dwords = signature.dst == OperandType::mask ? 0 : typeInfo(signature.dst).dwords;
  if (dwords != 0) {
    if (operands.empty() || operands[0].kind != OperandKind::sgpr || operands[0].index + dwords > 128u)
      return false;
    destination = operands[at++].index;
  }
  std::array<SourceTerms, 4> sources{};
  for (unsigned i = 0; i < signature.sources; ++i) {
    const OperandType type = signature.src[i];
    SourceTerms& s = sources[i];
    if (type == OperandType::mask) {
      s[0] = state.units[isa::sreg::scc];
    } else if (type == OperandType::exec || signature.old[i]) {
      const unsigned index = type == OperandType::exec ? isa::sreg::execLo : destination;
      for (unsigned k = 0; k < typeInfo(type).dwords; ++k)
        s[k] = state.units[index + k];
    } else if (type == OperandType::simm16 || type == OperandType::uimm16) {
      s[0] =
          t.word(type == OperandType::uimm16
                     ? inst.simm16 & 0xffff
                     : static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(inst.simm16))));
    } else {
      if (at >= operands.size())
        return false;
      const Operand& operand = operands[at++];
      const bool wide = type == OperandType::b64;
      if (const auto c = constantBits(operand, wide ? ConstType::b64 : ConstType::b32)) {
        s[0] = t.word(static_cast<std::uint32_t>(*c));
        s[1] = t.word(static_cast<std::uint32_t>(*c >> 32));
      } else if (operand.kind == OperandKind::sgpr && operand.index >= 251) {
        s[0] = scalar32(state, operand.index);
        s[1] = t.word(0);
      } else if (operand.kind == OperandKind::sgpr && operand.index + (wide ? 2u : 1u) <= 128u) {
        s[0] = state.units[operand.index];
        if (wide)
          s[1] = state.units[operand.index + 1u];
      } else {
        return false;
      }
    }
  }
  AluResult r;
  row->run(d, sources, r);
  for (unsigned k = 0; k < dwords; ++k)
    state.units[destination + k] = r.dwords[k];
  if (r.hasExec)
    setPair(state, isa::sreg::execLo, r.exec);
  if (r.hasMask)
    state.units[isa::sreg::scc] = r.mask;
  return true;
}

bool SymbolicExecutor::special(const Instruction& inst, SymbolicState& state) {
  const std::string_view base = inst.base;
  const auto& operands = inst.operands;
  if (inst.mods.dpp != isa::DppCtrl::none || inst.mods.isSdwa)
    return false;
  const auto value = [&](const Operand& operand) -> std::optional<TermId> {
    if (const auto c = constantBits(operand, ConstType::b32))
      return t.word(static_cast<std::uint32_t>(*c));
    if (isVector(operand))
      return state.units[isa::vgprUnit(physical(operand))];
    if (operand.kind == OperandKind::sgpr && (operand.index < 128 || operand.index >= 251))
      return scalar32(state, operand.index);
    return std::nullopt;
  };
  if (base == "v_readfirstlane_b32" || base == "v_readlane_b32") {
    const bool first = base == "v_readfirstlane_b32";
    if (operands.size() != (first ? 2u : 3u) || operands[0].kind != OperandKind::sgpr || operands[0].index >= 128)
      return false;
    const auto from = value(operands[1]), number = first ? from : value(operands[2]);
    if (!from || !number)
      return false;
    state.units[operands[0].index] = first ? t.readFirstLane(*from, exec(state)) : t.readLane(*from, *number);
    return true;
  }
  if (base == "v_writelane_b32") {
    if (operands.size() < 3 || !isVector(operands[0]))
      return false;
    const auto from = value(operands[1]), number = value(operands[2]);
    if (!from || !number)
      return false;
    TermId& unit = state.units[isa::vgprUnit(physical(operands[0]))];
    unit = t.select(t.eq(t.lane(), t.and_(*number, t.word(63))), *from, unit);
    return true;
  }
  if (base == "v_swap_b32") {
    if (operands.size() < 2 || !isVector(operands[0]))
      return false;
    const Operand& other = isVector(operands.back()) ? operands.back() : operands[1];
    if (!isVector(other))
      return false;
    const unsigned x = physical(operands[0]), y = physical(other);
    const TermId seen = active(state), first = vectorValue(state, x), second = vectorValue(state, y);
    writeVector(state, x, seen, second);
    writeVector(state, y, seen, first);
    return true;
  }
  return base == "v_nop";
}

} // namespace asmevo::verify
