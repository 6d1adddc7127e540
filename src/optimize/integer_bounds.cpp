#include "optimize/integer_bounds.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <vector>

namespace asmevo::optimize {

using isa::Operand;
using isa::OperandKind;
using isa::RegUnit;

namespace {

constexpr std::uint64_t top = 0xffffffff;
/// Joins that widen a register before its interval is given up.
constexpr std::uint8_t patience = 6;

/// All ones up to the highest that `v` has.
std::uint32_t cover(std::uint32_t v) {
  return v ? static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(v)) - 1) : 0;
}

/// An interval, with what it says of bits; anything where it does not fit 32 bits.
Bounds interval(std::uint64_t min, std::uint64_t max, std::uint32_t bits = static_cast<std::uint32_t>(top)) {
  if (max > top)
    return Bounds::anything();
  const auto low = static_cast<std::uint32_t>(min), high = static_cast<std::uint32_t>(max);
  bits &= cover(high);
  return {std::min(low, bits), std::min(high, bits), bits};
}

/// Bits above the lowest that may be set.
std::uint32_t multiplesOf(unsigned zeros) {
  return zeros >= 32 ? 0 : static_cast<std::uint32_t>(top << zeros);
}
unsigned zerosBelow(std::uint32_t bits) {
  return static_cast<unsigned>(std::countr_zero(bits));
}

Bounds both(const Bounds& a, const Bounds& b) {
  return interval(0, std::min(a.max, b.max), a.bits & b.bits);
}

Bounds either(const Bounds& a, const Bounds& b, bool exclusive) {
  const std::uint32_t bits = a.bits | b.bits;
  const std::uint64_t most = std::min<std::uint64_t>(std::uint64_t{a.max} + b.max, bits);
  return interval(exclusive ? 0 : std::max(a.min, b.min), most, bits);
}

/// Wrapping around says nothing.
Bounds sum(const Bounds& a, const Bounds& b) {
  if ((a.bits & b.bits) == 0)
    return interval(std::uint64_t{a.min} + b.min, std::uint64_t{a.max} + b.max, a.bits | b.bits);
  return interval(std::uint64_t{a.min} + b.min, std::uint64_t{a.max} + b.max,
                  multiplesOf(std::min(zerosBelow(a.bits), zerosBelow(b.bits))));
}

Bounds difference(const Bounds& a, const Bounds& b) {
  if (a.min < b.max)
    return Bounds::anything();
  return interval(a.min - b.max, a.max - b.min, multiplesOf(std::min(zerosBelow(a.bits), zerosBelow(b.bits))));
}

Bounds product(const Bounds& a, const Bounds& b) {
  return interval(std::uint64_t{a.min} * b.min, std::uint64_t{a.max} * b.max,
                  multiplesOf(zerosBelow(a.bits) + zerosBelow(b.bits)));
}

/// The value of a register that is one number.
std::optional<std::uint32_t> only(const Bounds& a) {
  return a.min == a.max ? std::optional(a.max) : std::nullopt;
}

Bounds shiftedLeft(const Bounds& a, const Bounds& by) {
  const auto amount = only(by);
  if (!amount)
    return by.max < 32 ? interval(a.min, std::uint64_t{a.max} << by.max) : Bounds::anything();
  const unsigned n = *amount & 31;
  const auto bits = static_cast<std::uint32_t>(std::uint64_t{a.bits} << n);
  const std::uint64_t most = std::uint64_t{a.max} << n;
  return most > top ? interval(0, bits, bits) : interval(std::uint64_t{a.min} << n, most, bits);
}

Bounds shiftedRight(const Bounds& a, const Bounds& by) {
  const auto amount = only(by);
  if (!amount)
    return interval(0, a.max);
  const unsigned n = *amount & 31;
  return interval(a.min >> n, a.max >> n, a.bits >> n);
}

Bounds bitField(const Bounds& a, unsigned offset, unsigned width) {
  if (width == 0)
    return Bounds::constant(0);
  const Bounds shifted = shiftedRight(a, Bounds::constant(offset));
  return width >= 32 ? shifted : both(shifted, Bounds::constant((1u << width) - 1));
}

/// Factors of multiplications that take 24 bits, signed ones positive.
bool fit24(const Bounds& a, const Bounds& b, bool isSigned) {
  const std::uint32_t limit = isSigned ? 1u << 23 : 1u << 24;
  return a.max < limit && b.max < limit;
}

bool arePositive(const Bounds& a, const Bounds& b) {
  return ((a.max | b.max) >> 31) == 0;
}

using Sources = std::span<const Bounds>;

std::optional<Bounds> unary(std::string_view base, const Bounds& a) {
  if (base == "v_mov_b32" || base == "s_mov_b32" || base == "v_readfirstlane_b32" || base == "v_accvgpr_write_b32" ||
      base == "v_accvgpr_read_b32" || base == "v_accvgpr_mov_b32")
    return a;
  if (base == "s_movk_i32") // sign-extended
    return a.max > 0x7fff ? Bounds::anything() : a;
  return std::nullopt;
}

std::optional<Bounds> binary(std::string_view base, Sources s) {
  const Bounds &a = s[0], &b = s[1];
  if (base == "v_and_b32" || base == "s_and_b32")
    return both(a, b);
  if (base == "v_or_b32" || base == "s_or_b32")
    return either(a, b, false);
  if (base == "v_xor_b32" || base == "s_xor_b32")
    return either(a, b, true);
  if (base == "v_add_u32" || base == "v_add_co_u32" || base == "s_add_u32" || base == "s_add_i32")
    return sum(a, b);
  if (base == "v_sub_u32" || base == "v_sub_co_u32" || base == "s_sub_u32" || base == "s_sub_i32")
    return difference(a, b);
  if (base == "v_subrev_u32" || base == "v_subrev_co_u32")
    return difference(b, a);
  if (base == "v_lshlrev_b32")
    return shiftedLeft(b, a);
  if (base == "s_lshl_b32")
    return shiftedLeft(a, b);
  if (base == "v_lshrrev_b32")
    return shiftedRight(b, a);
  if (base == "s_lshr_b32")
    return shiftedRight(a, b);
  if ((base == "v_mul_u32_u24" && fit24(a, b, false)) || (base == "v_mul_i32_i24" && fit24(a, b, true)) ||
      base == "v_mul_lo_u32" || base == "s_mul_i32")
    return product(a, b);
  if (base == "v_mbcnt_lo_u32_b32" || base == "v_mbcnt_hi_u32_b32") // lanes below, of 32
    return interval(b.min, std::uint64_t{b.max} + 32);
  const bool positive = arePositive(a, b);
  if (base == "v_min_u32" || base == "s_min_u32" || (positive && (base == "v_min_i32" || base == "s_min_i32")))
    return interval(std::min(a.min, b.min), std::min(a.max, b.max));
  if (base == "v_max_u32" || base == "s_max_u32" || (positive && (base == "v_max_i32" || base == "s_max_i32")))
    return interval(std::max(a.min, b.min), std::max(a.max, b.max));
  if (base == "v_cndmask_b32" || base == "s_cselect_b32")
    return a.joined(b);
  if (base == "v_readlane_b32")
    return a;
  if (base == "s_lshl1_add_u32" || base == "s_lshl2_add_u32" || base == "s_lshl3_add_u32" || base == "s_lshl4_add_u32")
    return sum(shiftedLeft(a, Bounds::constant(static_cast<std::uint32_t>(base[6] - '0'))), b);
  if (const auto field = only(b); base == "s_bfe_u32" && field)
    return bitField(a, *field & 31, *field >> 16 & 0x7f);
  return std::nullopt;
}

std::optional<Bounds> ternary(std::string_view base, Sources s) {
  const Bounds &a = s[0], &b = s[1], &c = s[2];
  if (base == "v_and_or_b32")
    return either(both(a, b), c, false);
  if (base == "v_lshl_add_u32")
    return sum(shiftedLeft(a, b), c);
  if (base == "v_add_lshl_u32")
    return shiftedLeft(sum(a, b), c);
  if (base == "v_lshl_or_b32")
    return either(shiftedLeft(a, b), c, false);
  if (base == "v_or3_b32")
    return either(either(a, b, false), c, false);
  if (base == "v_add3_u32")
    return sum(sum(a, b), c);
  if (base == "v_xad_u32")
    return sum(either(a, b, true), c);
  if (const auto offset = only(b), width = only(c); base == "v_bfe_u32" && offset && width)
    return bitField(a, *offset & 31, *width & 31);
  if ((base == "v_mad_u32_u24" && fit24(a, b, false)) || (base == "v_mad_i32_i24" && fit24(a, b, true)))
    return sum(product(a, b), c);
  return std::nullopt;
}

} // namespace

Bounds Bounds::upTo(std::uint32_t max) {
  return {0, max, cover(max)};
}

Bounds Bounds::joined(const Bounds& other) const {
  return {std::min(min, other.min), std::max(max, other.max), bits | other.bits};
}

RegisterBounds::RegisterBounds() {
  std::fill_n(units.begin(), isa::vgprBase, Bounds::anything());
}

bool RegisterBounds::join(const RegisterBounds& other) {
  bool changed = false;
  for (std::size_t u = 0; u < units.size(); ++u) {
    Bounds wider = units[u].joined(other.units[u]);
    if (wider == units[u])
      continue;
    // Bits can only be added 32 times; an interval might grow for ever.
    if (growth[u] < patience)
      ++growth[u];
    else
      wider = {0, wider.bits, wider.bits};
    units[u] = wider;
    changed = true;
  }
  return changed;
}

std::optional<RegUnit> RegisterBounds::unitOf(const Operand& operand, unsigned accumOffset) const {
  switch (operand.kind) {
  case OperandKind::vgpr:
    return isa::vgprUnit(operand.index);
  case OperandKind::agpr:
    return isa::vgprUnit(accumOffset + operand.index);
  case OperandKind::sgpr:
    return operand.index < isa::sreg::count ? std::optional(RegUnit(operand.index)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

Bounds RegisterBounds::source(const Operand& operand, unsigned accumOffset) const {
  if (operand.neg || operand.abs || operand.sext || operand.dwords != 1)
    return Bounds::anything();
  if (operand.kind == OperandKind::imm)
    return operand.imm < 0 || static_cast<std::uint64_t>(operand.imm) > top
               ? Bounds::anything()
               : Bounds::constant(static_cast<std::uint32_t>(operand.imm));
  const auto unit = unitOf(operand, accumOffset);
  return unit && *unit < units.size() ? units[*unit] : Bounds::anything();
}

std::optional<Bounds> RegisterBounds::result(const isa::Instruction& inst, unsigned accumOffset) const {
  if (inst.mods.isSdwa || inst.mods.dpp != isa::DppCtrl::none || inst.mods.clamp || inst.mods.opSel)
    return std::nullopt;
  std::vector<Bounds> sources;
  for (const Operand& operand : inst.operands)
    if (!operand.isDef)
      sources.push_back(source(operand, accumOffset));
  std::optional<Bounds> bounds;
  if (sources.size() == 1)
    bounds = unary(inst.base, sources[0]);
  if (sources.size() >= 2)
    bounds = binary(inst.base, sources);
  if (!bounds && sources.size() >= 3)
    bounds = ternary(inst.base, sources);
  return bounds;
}

void RegisterBounds::step(const isa::Instruction& inst, unsigned accumOffset, bool allLanes) {
  const auto isDef = [](const Operand& operand) { return operand.isDef; };
  const auto dest = std::ranges::find_if(inst.operands, isDef);
  const bool alu = inst.cls == isa::InstClass::salu || inst.cls == isa::InstClass::valu;
  std::optional<RegUnit> unit;
  std::optional<Bounds> bounds;
  if (alu && dest != inst.operands.end() && dest->dwords == 1) {
    unit = unitOf(*dest, accumOffset);
    if (unit && *unit < units.size())
      bounds = result(inst, accumOffset);
  }
  if (bounds && *unit >= isa::vgprBase && !allLanes)
    bounds = bounds->joined(units[*unit]);
  inst.writes(accumOffset).forEach([&](RegUnit u) { units[u] = Bounds::anything(); });
  if (bounds)
    units[*unit] = *bounds;
}

} // namespace asmevo::optimize
