// VOP1, VOP2, VOP3, VOP3P and VOPC of the reference interpreter with DPP, SDWA and output modifiers (CDNA3 ISA, "Vector
// ALU operations").
#include "emulator/reference/machine.h"
#include "emulator/reference/vector_operations.h"

#include <cmath>

namespace asmevo::emulator::reference {

namespace {

using isa::DppCtrl;
using isa::OperandKind;
using isa::SdwaSel;

/// Lane that a DPP source is read from; -1: outside.
int dppSource(const isa::Modifiers& mods, int lane) {
  const int row = lane & ~15, in = lane & 15, amount = mods.dppAmount;
  switch (mods.dpp) {
  case DppCtrl::none:
    return lane;
  case DppCtrl::quadPerm:
    return (lane & ~3) + mods.quadPerm[static_cast<unsigned>(lane & 3)];
  case DppCtrl::rowShl:
    return in + amount < 16 ? lane + amount : -1;
  case DppCtrl::rowShr:
    return in >= amount ? lane - amount : -1;
  case DppCtrl::rowRor:
    return row + (in - amount + 16) % 16;
  case DppCtrl::waveShl:
    return lane < 63 ? lane + 1 : -1;
  case DppCtrl::waveRol:
    return (lane + 1) % 64;
  case DppCtrl::waveShr:
    return lane - 1;
  case DppCtrl::waveRor:
    return (lane + 63) % 64;
  case DppCtrl::rowMirror:
    return row + 15 - in;
  case DppCtrl::rowHalfMirror:
    return (lane & ~7) + 7 - (lane & 7);
  case DppCtrl::rowBcast15:
    return lane >= 16 ? row - 1 : -1;
  case DppCtrl::rowBcast31:
    return lane >= 32 ? 31 : -1;
  case DppCtrl::rowNewBcast:
    return row + amount;
  }
  return -1;
}

struct Field {
  unsigned lsb, bits;
};
Field fieldOf(SdwaSel sel) {
  switch (sel) {
  case SdwaSel::byte0:
    return {0, 8};
  case SdwaSel::byte1:
    return {8, 8};
  case SdwaSel::byte2:
    return {16, 8};
  case SdwaSel::byte3:
    return {24, 8};
  case SdwaSel::word0:
    return {0, 16};
  case SdwaSel::word1:
    return {16, 16};
  case SdwaSel::dword:
    break;
  }
  return {0, 32};
}

Format formatOf(Type t) {
  return t == Type::f16 || t == Type::pkF16 ? Format::f16 : t == Type::f64 ? Format::f64 : Format::f32;
}
bool isFloat(Type t) {
  return t == Type::f16 || t == Type::f32 || t == Type::f64 || t == Type::pkF16 || t == Type::pkF32;
}
bool isWide(Type t) {
  return t == Type::f64 || t == Type::b64 || t == Type::pkF32;
}
bool isPacked(Type t) {
  return t == Type::pkF16 || t == Type::pkB16 || t == Type::pkF32;
}
bool isHalf(Type t) {
  return t == Type::f16 || t == Type::b16;
}

std::uint64_t constantOf(const isa::Operand& operand, Type type) {
  if (operand.kind == OperandKind::fpImm) {
    switch (type) {
    case Type::f16:
    case Type::b16:
    case Type::pkF16:
    case Type::pkB16:
      return roundTo(Format::f16, operand.fp, 0);
    case Type::f64:
    case Type::b64:
      return std::bit_cast<std::uint64_t>(operand.fp);
    default:
      return roundTo(Format::f32, operand.fp, 0);
    }
  }
  return isWide(type) ? static_cast<std::uint64_t>(operand.imm) : static_cast<std::uint32_t>(operand.imm);
}

/// All bits of a source in the lane's view, before modifiers.
std::uint64_t rawSource(const Machine& m, const isa::Operand& operand, Type type, unsigned lane) {
  switch (operand.kind) {
  case OperandKind::vgpr:
  case OperandKind::agpr:
    return m.read(m.physical(operand), lane, isWide(type) ? 2 : 1);
  case OperandKind::imm:
  case OperandKind::fpImm:
    return constantOf(operand, type);
  default:
    return isWide(type) ? m.scalar64(operand) : m.scalar32(operand);
  }
}

std::uint64_t withSign(std::uint64_t x, Format f, bool abs, bool neg) {
  if (abs)
    x &= ~signOf(f);
  return neg ? x ^ signOf(f) : x;
}

/// Source `i` of a lane with its modifiers. Packed sources come out with their elements where op_sel puts them.
std::uint64_t source(const Machine& m, const isa::Instruction& inst, const isa::Operand& operand, unsigned i, Type type,
                     unsigned lane) {
  const isa::Modifiers& mods = inst.mods;
  std::uint64_t x = rawSource(m, operand, type, lane);
  if (isPacked(type)) {
    const unsigned bits = type == Type::pkF32 ? 32 : 16;
    const unsigned lowFrom = mods.opSel >> i & 1, highFrom = mods.opSelHi >> i & 1;
    std::uint64_t low = x >> lowFrom * bits & maskOf(bits), high = x >> highFrom * bits & maskOf(bits);
    if (isFloat(type)) {
      low = withSign(low, formatOf(type), false, mods.negLo >> i & 1);
      high = withSign(high, formatOf(type), false, mods.negHi >> i & 1);
    }
    return low | high << bits;
  }
  if (mods.isSdwa && i < 2) {
    const Field f = fieldOf(mods.srcSel[i]);
    x = x >> f.lsb & maskOf(f.bits);
    if (operand.sext)
      x = static_cast<std::uint32_t>(extended(x, f.bits));
  } else if (isHalf(type)) {
    x >>= mods.opSel >> i & 1 ? 16 : 0;
  }
  if (isHalf(type))
    x &= 0xffff;
  return isFloat(type) ? withSign(x, formatOf(type), operand.abs, operand.neg) : x;
}

std::uint64_t outputModifiers(const Numbers& n, const isa::Modifiers& mods, Format f, std::uint64_t x) {
  if (mods.omod != 0 && !n.keepsOutputs(f) && !n.ieee()) {
    x = n.mul(f, x, roundOrDouble(f, mods.omod == 1 ? 2.0 : mods.omod == 2 ? 4.0 : 0.5));
    if (x == signOf(f))
      x = 0;
  }
  if (mods.clamp) {
    if (isNan(f, x))
      return n.dx10Clamp() ? 0 : x;
    const double value = valueOf(f, x);
    x = std::signbit(value) ? 0 : value > 1 ? roundOrDouble(f, 1.0) : x;
  }
  return x;
}

std::uint64_t modified(const Numbers& n, const isa::Modifiers& mods, Type type, std::uint64_t x) {
  if (!isFloat(type) || (mods.omod == 0 && !mods.clamp))
    return x;
  if (!isPacked(type))
    return outputModifiers(n, mods, formatOf(type), x);
  const unsigned bits = type == Type::pkF32 ? 32 : 16;
  return outputModifiers(n, mods, formatOf(type), x & maskOf(bits)) |
         outputModifiers(n, mods, formatOf(type), x >> bits) << bits;
}

/// The register's new contents when a result goes to its place.
std::uint64_t placed(const isa::Modifiers& mods, const VectorOperation& operation, std::uint64_t old,
                     std::uint64_t result, unsigned sources) {
  if (mods.isSdwa) {
    const Field f = fieldOf(mods.dstSel);
    const std::uint64_t part = result & maskOf(f.bits);
    if (mods.dstUnused == isa::SdwaUnused::preserve)
      return (old & ~(maskOf(f.bits) << f.lsb)) | part << f.lsb;
    if (mods.dstUnused == isa::SdwaUnused::sext)
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(extended(part, f.bits)) << f.lsb);
    return part << f.lsb;
  }
  if (!isHalf(operation.result))
    return result;
  if (mods.opSel >> sources & 1)
    return (old & 0xffff) | result << 16;
  return operation.keepsHigh ? (old & 0xffff0000) | result : result;
}

/// Lanes that are written: active, not masked by DPP, and with a source to read (a zero where bound_ctrl says so).
struct LaneView {
  bool written = false;
  bool zero = false; ///< source 0 reads 0
  unsigned from = 0; ///< lane of source 0
};
LaneView viewOf(const Machine& m, const isa::Modifiers& mods, unsigned lane) {
  LaneView view{m.active(lane), false, lane};
  if (mods.dpp == DppCtrl::none || !view.written)
    return view;
  const int from = dppSource(mods, static_cast<int>(lane));
  view.written = (mods.rowMask >> lane / 16 & 1) && (mods.bankMask >> lane % 16 / 4 & 1);
  if (from >= 0 && m.active(static_cast<unsigned>(from)))
    view.from = static_cast<unsigned>(from);
  else if (mods.boundCtrl)
    view.zero = true;
  else
    view.written = false;
  return view;
}

struct Shape {
  std::vector<const isa::Operand*> results, sources;
};
Shape shapeOf(const isa::Instruction& inst) {
  Shape shape;
  for (const isa::Operand& operand : inst.operands)
    (operand.isDef ? shape.results : shape.sources).push_back(&operand);
  return shape;
}

std::uint64_t laneSource(const Machine& m, const isa::Instruction& inst, const Shape& shape, unsigned i, Type type,
                         unsigned lane, const LaneView& view) {
  if (i == 0 && view.zero) { // modifiers still apply
    const isa::Operand& operand = *shape.sources[0];
    return isFloat(type) && !isPacked(type) ? withSign(0, formatOf(type), operand.abs, operand.neg) : 0;
  }
  return source(m, inst, *shape.sources[i], i, type, i == 0 ? view.from : lane);
}

bool holds(std::string_view what, int order) {
  const bool lt = order == -1, eq = order == 0, gt = order == 1, unordered = order == 2;
  if (what == "f")
    return false;
  if (what == "lt")
    return lt;
  if (what == "eq")
    return eq;
  if (what == "le")
    return lt || eq;
  if (what == "gt")
    return gt;
  if (what == "lg" || what == "ne")
    return lt || gt;
  if (what == "ge")
    return gt || eq;
  if (what == "o")
    return !unordered;
  if (what == "u")
    return unordered;
  if (what == "nge")
    return !(gt || eq);
  if (what == "nlg")
    return !(lt || gt);
  if (what == "ngt")
    return !gt;
  if (what == "nle")
    return !(lt || eq);
  if (what == "neq")
    return !eq;
  if (what == "nlt")
    return !lt;
  return true; // t, tru
}

bool isClass(Format f, std::uint64_t x, std::uint64_t classes) {
  const bool negative = x & signOf(f);
  const std::uint64_t magnitude = x & ~signOf(f);
  unsigned bit;
  if (isNan(f, x))
    bit = isSignaling(f, x) ? 0 : 1;
  else if (magnitude == infinityOf(f))
    bit = negative ? 2 : 9;
  else if (magnitude == 0)
    bit = negative ? 5 : 6;
  else if (isDenormal(f, x))
    bit = negative ? 4 : 7;
  else
    bit = negative ? 3 : 8;
  return classes >> bit & 1;
}

bool stepCompare(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  const bool toExec = base.starts_with("v_cmpx_");
  const std::string_view rest = base.substr(toExec ? 7 : 6);
  const std::string_view what = rest.substr(0, rest.find('_')), kind = rest.substr(rest.find('_') + 1);
  const bool real = kind[0] == 'f', isSigned = kind[0] == 'i';
  const unsigned bits = kind.ends_with("16") ? 16 : kind.ends_with("64") ? 64 : 32;
  const Type type = real ? (bits == 16   ? Type::f16
                            : bits == 64 ? Type::f64
                                         : Type::f32)
                         : (bits == 16   ? Type::b16
                            : bits == 64 ? Type::b64
                                         : Type::b32);
  const Shape shape = shapeOf(inst);
  const Numbers numbers(m.mode);
  std::uint64_t result = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const LaneView view = viewOf(m, inst.mods, lane);
    if (!view.written)
      continue;
    const std::uint64_t a = laneSource(m, inst, shape, 0, type, lane, view);
    const std::uint64_t b = laneSource(m, inst, shape, 1, what == "class" ? Type::b32 : type, lane, view);
    bool is;
    if (what == "class")
      is = isClass(formatOf(type), a, b);
    else if (real)
      is = holds(what, numbers.compare(formatOf(type), a, b));
    else if (isSigned)
      is = holds(what, extended(a, bits) < extended(b, bits) ? -1 : extended(a, bits) > extended(b, bits));
    else
      is = holds(what, a < b ? -1 : a > b);
    result |= std::uint64_t{is} << lane;
  }
  const isa::Operand* to = shape.results.empty() ? nullptr : shape.results[0];
  m.setPair(to ? to->index : Machine::vccLo, result);
  if (toExec)
    m.setPair(Machine::execLo, result);
  return true;
}

/// The machine that sources are read from: with DPP a destination may be another lane's source.
struct Snapshot {
  Machine copy;
  const Machine& machine;
  Snapshot(const Machine& m, const isa::Instruction& inst)
      : copy(inst.mods.dpp == DppCtrl::none ? Machine() : m), machine(inst.mods.dpp == DppCtrl::none ? m : copy) {}
};

/// v_add_co_u32 and relatives: sources, a carry in, a mask out.
bool stepCarry(Machine& m, const isa::Instruction& inst) {
  const std::string_view name = std::string_view(inst.base).substr(2, inst.base.find("_co_") - 2);
  const bool takesCarry = name.ends_with("c") || name.starts_with("subb");
  const Shape shape = shapeOf(inst);
  const std::uint64_t carries = takesCarry ? m.pair(shape.sources[2]->index) : 0;
  const Snapshot snapshot(m, inst);
  std::uint64_t out = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const LaneView view = viewOf(m, inst.mods, lane);
    if (!view.written)
      continue;
    std::uint64_t a = laneSource(snapshot.machine, inst, shape, 0, Type::b32, lane, view);
    std::uint64_t b = laneSource(snapshot.machine, inst, shape, 1, Type::b32, lane, view);
    if (name.ends_with("rev"))
      std::swap(a, b);
    const std::uint64_t carry = carries >> lane & 1;
    const bool add = name.starts_with("add");
    std::uint64_t r = add ? a + b + carry : a - b - carry;
    const bool over = add ? r >> 32 != 0 : a < b + carry;
    if (inst.mods.clamp && over)
      r = add ? 0xffffffff : 0;
    out |= std::uint64_t{over} << lane;
    std::uint32_t& to = m.v[m.physical(*shape.results[0])][lane];
    to = static_cast<std::uint32_t>(inst.mods.isSdwa ? placed(inst.mods, {}, to, r & 0xffffffff, 2) : r);
  }
  m.setPair(shape.results[1]->index, out);
  return true;
}

/// v_mad_u64_u32, v_mad_i64_i32.
bool stepWideMad(Machine& m, const isa::Instruction& inst) {
  const bool isSigned = inst.base == "v_mad_i64_i32";
  const Shape shape = shapeOf(inst);
  std::uint64_t out = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const LaneView view = viewOf(m, inst.mods, lane);
    if (!view.written)
      continue;
    const std::uint64_t a = laneSource(m, inst, shape, 0, Type::b32, lane, view);
    const std::uint64_t b = laneSource(m, inst, shape, 1, Type::b32, lane, view);
    const std::uint64_t c = laneSource(m, inst, shape, 2, Type::b64, lane, view);
    std::uint64_t r;
    bool over;
    if (isSigned) {
      const __int128 sum = static_cast<__int128>(extended(a, 32)) * extended(b, 32) + signed64(c);
      r = static_cast<std::uint64_t>(sum);
      over = sum >> 64 & 1; // bit 64 of the exact sum
    } else {
      const unsigned __int128 sum = static_cast<unsigned __int128>(a) * b + c;
      r = static_cast<std::uint64_t>(sum);
      over = sum >> 64 != 0;
    }
    out |= std::uint64_t{over} << lane;
    m.write(m.physical(*shape.results[0]), lane, r, 2);
  }
  m.setPair(shape.results[1]->index, out);
  return true;
}

} // namespace

std::uint64_t roundOrDouble(Format f, double x) {
  return f == Format::f64 ? std::bit_cast<std::uint64_t>(x) : roundTo(f, x, 0);
}

bool stepVector(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  if (base.starts_with("v_cmp"))
    return stepCompare(m, inst);
  if (base.find("_co_u32") != base.npos)
    return stepCarry(m, inst);
  if (base == "v_mad_u64_u32" || base == "v_mad_i64_i32")
    return stepWideMad(m, inst);
  const auto found = vectorOperations().find(base);
  if (found == vectorOperations().end())
    return false;
  const VectorOperation& operation = found->second;
  const Shape shape = shapeOf(inst);
  const unsigned to = m.physical(*shape.results[0]);
  const unsigned dwords = isWide(operation.result) ? 2 : 1;
  const Numbers numbers(m.mode);
  const Snapshot snapshot(m, inst);
  const Machine& before = snapshot.machine;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const LaneView view = viewOf(before, inst.mods, lane);
    if (!view.written)
      continue;
    std::uint64_t in[4]{};
    unsigned count = 0;
    for (; count < operation.sources.size() && count < shape.sources.size(); ++count)
      in[count] = laneSource(before, inst, shape, count, operation.sources[count], lane, view);
    const std::uint64_t old = before.read(to, lane, dwords);
    if (operation.accumulates)
      in[count] = isHalf(operation.result) ? old & 0xffff : old;
    else if (operation.takesMask)
      in[count] = before.scalar64(*shape.sources[count]) >> lane & 1;
    VectorContext context{numbers, before, lane, old};
    std::uint64_t result = operation.run(context, in);
    if (isHalf(operation.result))
      result &= 0xffff;
    result = modified(numbers, inst.mods, operation.result, result);
    m.write(to, lane, placed(inst.mods, operation, old, result, count), dwords);
  }
  return true;
}

bool stepLane(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  const auto& operands = inst.operands;
  const auto value = [&](const isa::Operand& operand, unsigned lane) {
    return static_cast<std::uint32_t>(rawSource(m, operand, Type::b32, lane));
  };
  if (base == "v_readlane_b32") {
    m.s[operands[0].index] = value(operands[1], m.scalar32(operands[2]) & 63);
  } else if (base == "v_readfirstlane_b32") {
    unsigned lane = 0;
    while (lane < 64 && !m.active(lane))
      ++lane;
    m.s[operands[0].index] = value(operands[1], lane == 64 ? 0 : lane);
  } else if (base == "v_writelane_b32") {
    m.v[m.physical(operands[0])][m.scalar32(operands[2]) & 63] = m.scalar32(operands[1]);
  } else if (base == "v_swap_b32") {
    for (unsigned lane = 0; lane < 64; ++lane)
      if (m.active(lane))
        std::swap(m.v[m.physical(operands[0])][lane], m.v[m.physical(operands[1])][lane]);
  } else if (base == "v_accvgpr_read_b32" || base == "v_accvgpr_write_b32" || base == "v_accvgpr_mov_b32") {
    for (unsigned lane = 0; lane < 64; ++lane)
      if (m.active(lane))
        m.v[m.physical(operands[0])][lane] = value(operands[1], lane);
  } else {
    return false;
  }
  return true;
}

bool step(Machine& machine, const isa::Instruction& inst) {
  switch (inst.cls) {
  case isa::InstClass::salu:
    return stepScalar(machine, inst);
  case isa::InstClass::valu:
    return stepLane(machine, inst) || stepVector(machine, inst);
  case isa::InstClass::mfma:
    return stepMatrix(machine, inst);
  case isa::InstClass::lds:
    return stepLds(machine, inst);
  default:
    return stepMemory(machine, inst);
  }
}

} // namespace asmevo::emulator::reference
