// SOP1, SOP2, SOPC and SOPK of the reference interpreter (CDNA3 ISA, "SALU instructions").
#include "emulator/reference/machine.h"

#include <bit>
#include <cmath>

namespace asmevo::emulator::reference {

std::uint32_t Machine::scalar32(const isa::Operand& operand) const {
  if (operand.kind == isa::OperandKind::imm)
    return static_cast<std::uint32_t>(operand.imm);
  if (operand.kind == isa::OperandKind::fpImm)
    return static_cast<std::uint32_t>(roundTo(Format::f32, operand.fp, 0));
  return operand.index < 128 ? s[operand.index] : special(operand.index);
}

std::uint64_t Machine::scalar64(const isa::Operand& operand) const {
  if (operand.kind == isa::OperandKind::imm) // an inline constant extends its sign
    return static_cast<std::uint64_t>(operand.imm);
  if (operand.kind == isa::OperandKind::fpImm)
    return std::bit_cast<std::uint64_t>(operand.fp);
  return operand.index < 127 ? pair(operand.index) : special(operand.index);
}

namespace {

struct Scalar {
  Machine& m;
  std::uint64_t a, b, old;
  bool scc; ///< before; the operation sets it to its new value
  std::uint64_t exec;
};
using Operation = std::uint64_t (*)(Scalar&);
struct Entry {
  unsigned resultBits;
  Operation run;
};

std::uint64_t nonZero(Scalar& x, std::uint64_t r) {
  x.scc = r != 0;
  return r;
}
std::uint64_t nonZero32(Scalar& x, std::uint64_t r) {
  return nonZero(x, r & 0xffffffff);
}

std::uint64_t repeatQuads(std::uint64_t a, unsigned bits, bool spread) {
  std::uint64_t r = 0;
  for (unsigned quad = 0; quad < bits / 4; ++quad)
    if (a >> 4 * quad & 15)
      r |= spread ? std::uint64_t{15} << 4 * quad : std::uint64_t{1} << quad;
  return r;
}
std::uint64_t reversed(std::uint64_t a, unsigned bits) {
  std::uint64_t r = 0;
  for (unsigned i = 0; i < bits; ++i)
    r |= (a >> i & 1) << (bits - 1 - i);
  return r;
}
/// Lowest bit of a value, -1 when there is none.
std::uint64_t lowest(std::uint64_t a, unsigned bits, unsigned value) {
  for (unsigned i = 0; i < bits; ++i)
    if ((a >> i & 1) == value)
      return i;
  return 0xffffffff;
}
/// Zeros (or copies of the sign) above the highest other bit, -1 when there is no other.
std::uint64_t leading(std::uint64_t a, unsigned bits, bool sign) {
  const std::uint64_t fill = sign ? a >> (bits - 1) & 1 : 0;
  for (unsigned i = 0; i < bits; ++i)
    if ((a >> (bits - 1 - i) & 1) != fill)
      return i;
  return 0xffffffff;
}
std::uint64_t field(std::uint64_t a, std::uint64_t b, unsigned bits, bool sign) {
  const unsigned offset = static_cast<unsigned>(b) & (bits - 1);
  unsigned width = static_cast<unsigned>(b >> 16) & 127;
  if (width == 0)
    return 0;
  width = width > bits - offset ? bits - offset : width;
  const std::uint64_t raw = (a & maskOf(bits)) >> offset & maskOf(width);
  return sign ? static_cast<std::uint64_t>(extended(raw, width)) & maskOf(bits) : raw;
}

using S = Scalar;
const std::map<std::string_view, Entry>& operations() {
  static const std::map<std::string_view, Entry> table = {
      // SOP2
      {"s_add_u32",
       {32,
        [](S& x) {
          const auto r = x.a + x.b;
          x.scc = r >> 32;
          return r;
        }}},
      {"s_sub_u32",
       {32,
        [](S& x) {
          x.scc = x.b > x.a;
          return x.a - x.b;
        }}},
      {"s_add_i32",
       {32,
        [](S& x) {
          const auto r = std::int64_t{signed32(x.a)} + signed32(x.b);
          x.scc = r != signed32(static_cast<std::uint64_t>(r));
          return static_cast<std::uint64_t>(r);
        }}},
      {"s_sub_i32",
       {32,
        [](S& x) {
          const auto r = std::int64_t{signed32(x.a)} - signed32(x.b);
          x.scc = r != signed32(static_cast<std::uint64_t>(r));
          return static_cast<std::uint64_t>(r);
        }}},
      {"s_addc_u32",
       {32,
        [](S& x) {
          const auto r = x.a + x.b + x.scc;
          x.scc = r >> 32;
          return r;
        }}},
      {"s_subb_u32",
       {32,
        [](S& x) {
          const auto b = x.b + x.scc;
          x.scc = b > x.a;
          return x.a - b;
        }}},
      {"s_min_i32",
       {32,
        [](S& x) {
          x.scc = signed32(x.a) < signed32(x.b);
          return x.scc ? x.a : x.b;
        }}},
      {"s_min_u32",
       {32,
        [](S& x) {
          x.scc = x.a < x.b;
          return x.scc ? x.a : x.b;
        }}},
      {"s_max_i32",
       {32,
        [](S& x) {
          x.scc = signed32(x.a) >= signed32(x.b);
          return x.scc ? x.a : x.b;
        }}},
      {"s_max_u32",
       {32,
        [](S& x) {
          x.scc = x.a >= x.b;
          return x.scc ? x.a : x.b;
        }}},
      {"s_cselect_b32", {32, [](S& x) { return x.scc ? x.a : x.b; }}},
      {"s_cselect_b64", {64, [](S& x) { return x.scc ? x.a : x.b; }}},
      {"s_and_b32", {32, [](S& x) { return nonZero(x, x.a & x.b); }}},
      {"s_and_b64", {64, [](S& x) { return nonZero(x, x.a & x.b); }}},
      {"s_or_b32", {32, [](S& x) { return nonZero(x, x.a | x.b); }}},
      {"s_or_b64", {64, [](S& x) { return nonZero(x, x.a | x.b); }}},
      {"s_xor_b32", {32, [](S& x) { return nonZero(x, x.a ^ x.b); }}},
      {"s_xor_b64", {64, [](S& x) { return nonZero(x, x.a ^ x.b); }}},
      {"s_andn2_b32", {32, [](S& x) { return nonZero32(x, x.a & ~x.b); }}},
      {"s_andn2_b64", {64, [](S& x) { return nonZero(x, x.a & ~x.b); }}},
      {"s_orn2_b32", {32, [](S& x) { return nonZero32(x, x.a | ~x.b); }}},
      {"s_orn2_b64", {64, [](S& x) { return nonZero(x, x.a | ~x.b); }}},
      {"s_nand_b32", {32, [](S& x) { return nonZero32(x, ~(x.a & x.b)); }}},
      {"s_nand_b64", {64, [](S& x) { return nonZero(x, ~(x.a & x.b)); }}},
      {"s_nor_b32", {32, [](S& x) { return nonZero32(x, ~(x.a | x.b)); }}},
      {"s_nor_b64", {64, [](S& x) { return nonZero(x, ~(x.a | x.b)); }}},
      {"s_xnor_b32", {32, [](S& x) { return nonZero32(x, ~(x.a ^ x.b)); }}},
      {"s_xnor_b64", {64, [](S& x) { return nonZero(x, ~(x.a ^ x.b)); }}},
      {"s_lshl_b32", {32, [](S& x) { return nonZero32(x, x.a << (x.b & 31)); }}},
      {"s_lshl_b64", {64, [](S& x) { return nonZero(x, x.a << (x.b & 63)); }}},
      {"s_lshr_b32", {32, [](S& x) { return nonZero(x, x.a >> (x.b & 31)); }}},
      {"s_lshr_b64", {64, [](S& x) { return nonZero(x, x.a >> (x.b & 63)); }}},
      {"s_ashr_i32",
       {32, [](S& x) { return nonZero32(x, static_cast<std::uint64_t>(extended(x.a, 32) >> (x.b & 31))); }}},
      {"s_ashr_i64", {64, [](S& x) { return nonZero(x, static_cast<std::uint64_t>(signed64(x.a) >> (x.b & 63))); }}},
      {"s_bfm_b32", {32, [](S& x) { return maskOf(x.a & 31) << (x.b & 31); }}},
      {"s_bfm_b64", {64, [](S& x) { return maskOf(x.a & 63) << (x.b & 63); }}},
      {"s_mul_i32", {32, [](S& x) { return x.a * x.b; }}},
      {"s_mul_hi_u32", {32, [](S& x) { return x.a * x.b >> 32; }}},
      {"s_mul_hi_i32",
       {32, [](S& x) { return static_cast<std::uint64_t>(extended(x.a, 32) * extended(x.b, 32) >> 32); }}},
      {"s_bfe_u32", {32, [](S& x) { return nonZero(x, field(x.a, x.b, 32, false)); }}},
      {"s_bfe_i32", {32, [](S& x) { return nonZero(x, field(x.a, x.b, 32, true)); }}},
      {"s_bfe_u64", {64, [](S& x) { return nonZero(x, field(x.a, x.b, 64, false)); }}},
      {"s_bfe_i64", {64, [](S& x) { return nonZero(x, field(x.a, x.b, 64, true)); }}},
      {"s_absdiff_i32",
       {32,
        [](S& x) {
          const auto r = static_cast<std::uint32_t>(x.a - x.b);
          return nonZero(x, r >> 31 ? 0 - r : r);
        }}},
      {"s_lshl1_add_u32",
       {32,
        [](S& x) {
          const auto r = (x.a << 1) + x.b;
          x.scc = r >> 32 != 0;
          return r;
        }}},
      {"s_lshl2_add_u32",
       {32,
        [](S& x) {
          const auto r = (x.a << 2) + x.b;
          x.scc = r >> 32 != 0;
          return r;
        }}},
      {"s_lshl3_add_u32",
       {32,
        [](S& x) {
          const auto r = (x.a << 3) + x.b;
          x.scc = r >> 32 != 0;
          return r;
        }}},
      {"s_lshl4_add_u32",
       {32,
        [](S& x) {
          const auto r = (x.a << 4) + x.b;
          x.scc = r >> 32 != 0;
          return r;
        }}},
      {"s_pack_ll_b32_b16", {32, [](S& x) { return (x.a & 0xffff) | (x.b & 0xffff) << 16; }}},
      {"s_pack_lh_b32_b16", {32, [](S& x) { return (x.a & 0xffff) | (x.b & 0xffff0000); }}},
      {"s_pack_hh_b32_b16", {32, [](S& x) { return (x.a >> 16) | (x.b & 0xffff0000); }}},
      // SOP1
      {"s_mov_b32", {32, [](S& x) { return x.a; }}},
      {"s_mov_b64", {64, [](S& x) { return x.a; }}},
      {"s_cmov_b32", {32, [](S& x) { return x.scc ? x.a : x.old; }}},
      {"s_cmov_b64", {64, [](S& x) { return x.scc ? x.a : x.old; }}},
      {"s_not_b32", {32, [](S& x) { return nonZero32(x, ~x.a); }}},
      {"s_not_b64", {64, [](S& x) { return nonZero(x, ~x.a); }}},
      {"s_wqm_b32", {32, [](S& x) { return nonZero(x, repeatQuads(x.a, 32, true)); }}},
      {"s_wqm_b64", {64, [](S& x) { return nonZero(x, repeatQuads(x.a, 64, true)); }}},
      {"s_quadmask_b32", {32, [](S& x) { return nonZero(x, repeatQuads(x.a, 32, false)); }}},
      {"s_quadmask_b64", {64, [](S& x) { return nonZero(x, repeatQuads(x.a, 64, false)); }}},
      {"s_brev_b32", {32, [](S& x) { return reversed(x.a, 32); }}},
      {"s_brev_b64", {64, [](S& x) { return reversed(x.a, 64); }}},
      {"s_bcnt0_i32_b32",
       {32, [](S& x) { return nonZero(x, 32 - static_cast<unsigned>(std::popcount(x.a & 0xffffffff))); }}},
      {"s_bcnt0_i32_b64", {32, [](S& x) { return nonZero(x, 64 - static_cast<unsigned>(std::popcount(x.a))); }}},
      {"s_bcnt1_i32_b32",
       {32, [](S& x) { return nonZero(x, static_cast<unsigned>(std::popcount(x.a & 0xffffffff))); }}},
      {"s_bcnt1_i32_b64", {32, [](S& x) { return nonZero(x, static_cast<unsigned>(std::popcount(x.a))); }}},
      {"s_ff0_i32_b32", {32, [](S& x) { return lowest(x.a, 32, 0); }}},
      {"s_ff0_i32_b64", {32, [](S& x) { return lowest(x.a, 64, 0); }}},
      {"s_ff1_i32_b32", {32, [](S& x) { return lowest(x.a, 32, 1); }}},
      {"s_ff1_i32_b64", {32, [](S& x) { return lowest(x.a, 64, 1); }}},
      {"s_flbit_i32_b32", {32, [](S& x) { return leading(x.a, 32, false); }}},
      {"s_flbit_i32_b64", {32, [](S& x) { return leading(x.a, 64, false); }}},
      {"s_flbit_i32", {32, [](S& x) { return leading(x.a, 32, true); }}},
      {"s_flbit_i32_i64", {32, [](S& x) { return leading(x.a, 64, true); }}},
      {"s_sext_i32_i8", {32, [](S& x) { return static_cast<std::uint64_t>(extended(x.a, 8)); }}},
      {"s_sext_i32_i16", {32, [](S& x) { return static_cast<std::uint64_t>(extended(x.a, 16)); }}},
      {"s_bitset0_b32", {32, [](S& x) { return x.old & ~(std::uint64_t{1} << (x.a & 31)); }}},
      {"s_bitset1_b32", {32, [](S& x) { return x.old | std::uint64_t{1} << (x.a & 31); }}},
      {"s_bitset0_b64", {64, [](S& x) { return x.old & ~(std::uint64_t{1} << (x.a & 63)); }}},
      {"s_bitset1_b64", {64, [](S& x) { return x.old | std::uint64_t{1} << (x.a & 63); }}},
      {"s_abs_i32", {32, [](S& x) { return nonZero32(x, x.a >> 31 & 1 ? 0 - x.a : x.a); }}},
      {"s_bitreplicate_b64_b32",
       {64,
        [](S& x) {
          std::uint64_t r = 0;
          for (unsigned i = 0; i < 32; ++i)
            r |= (x.a >> i & 1) * 3 << 2 * i;
          return r;
        }}},
      // SOPK: a is the destination, b the constant
      {"s_movk_i32", {32, [](S& x) { return x.b; }}},
      {"s_cmovk_i32", {32, [](S& x) { return x.scc ? x.b : x.old; }}},
      {"s_addk_i32",
       {32,
        [](S& x) {
          const auto r = std::int64_t{signed32(x.old)} + signed32(x.b);
          x.scc = r != signed32(static_cast<std::uint64_t>(r));
          return static_cast<std::uint64_t>(r);
        }}},
      {"s_mulk_i32", {32, [](S& x) { return x.old * x.b; }}},
  };
  return table;
}

/// s_X_saveexec and s_X_wrexec: the new EXEC.
bool maskOperation(std::string_view name, std::uint64_t a, std::uint64_t exec, std::uint64_t& result) {
  if (name == "and")
    result = a & exec;
  else if (name == "or")
    result = a | exec;
  else if (name == "xor")
    result = a ^ exec;
  else if (name == "andn2")
    result = a & ~exec;
  else if (name == "orn2")
    result = a | ~exec;
  else if (name == "nand")
    result = ~(a & exec);
  else if (name == "nor")
    result = ~(a | exec);
  else if (name == "xnor")
    result = ~(a ^ exec);
  else if (name == "andn1")
    result = ~a & exec;
  else if (name == "orn1")
    result = ~a | exec;
  else
    return false;
  return true;
}

bool compareScalar(std::string_view name, std::uint64_t a, std::uint64_t b, bool& scc) {
  const bool isSigned = name.ends_with("_i32");
  const std::int64_t x = isSigned ? extended(a, 32) : signed64(a & 0xffffffff);
  const std::int64_t y = isSigned ? extended(b, 32) : signed64(b & 0xffffffff);
  const std::string_view what = name.substr(0, 2);
  if (name.ends_with("_u64"))
    scc = (a == b) == (what == "eq");
  else if (what == "eq")
    scc = x == y;
  else if (what == "lg")
    scc = x != y;
  else if (what == "gt")
    scc = x > y;
  else if (what == "ge")
    scc = x >= y;
  else if (what == "lt")
    scc = x < y;
  else if (what == "le")
    scc = x <= y;
  else
    return false;
  return true;
}

} // namespace

bool stepScalar(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  const auto& operands = inst.operands;
  if (base.starts_with("s_cmp_") || base.starts_with("s_cmpk_")) {
    const bool constant = base[5] == 'k';
    const bool wide = base.ends_with("_u64");
    const std::uint64_t a = wide ? m.scalar64(operands[0]) : m.scalar32(operands[0]);
    std::uint64_t b = wide ? m.scalar64(operands[1]) : m.scalar32(operands[1]);
    if (constant && base.ends_with("_u32"))
      b &= 0xffff;
    else if (constant)
      b = static_cast<std::uint64_t>(extended(b, 16));
    bool scc = false;
    if (!compareScalar(base.substr(constant ? 7 : 6), a, b, scc))
      return false;
    m.scc = scc;
    return true;
  }
  if (base.starts_with("s_bitcmp")) {
    const bool wide = base.ends_with("_b64");
    const std::uint64_t a = wide ? m.scalar64(operands[0]) : m.scalar32(operands[0]);
    m.scc = (a >> (m.scalar32(operands[1]) & (wide ? 63u : 31u)) & 1) == (base[8] == '1');
    return true;
  }
  if (base.ends_with("_saveexec_b64") || base.ends_with("_wrexec_b64")) {
    const bool save = base.ends_with("_saveexec_b64");
    const std::uint64_t before = m.exec(), a = m.scalar64(operands[1]);
    std::uint64_t after = 0;
    if (!maskOperation(base.substr(2, base.find('_', 2) - 2), a, before, after))
      return false;
    m.setPair(operands[0].index, save ? before : after);
    m.setPair(Machine::execLo, after);
    m.scc = after != 0;
    return true;
  }
  const auto found = operations().find(base);
  if (found == operations().end())
    return false;
  const auto wideSource = [&](std::size_t i) {
    // Shift amounts, field positions and bit numbers are 32 bits wide whatever the result is.
    if (i == 2 && (base.find("sh") != base.npos || base.find("bfe") != base.npos))
      return false;
    return base.ends_with("b64") || base.ends_with("i64") || base.ends_with("u64");
  };
  const bool narrowOnly = base.starts_with("s_bitset") || base.starts_with("s_bfm") || base == "s_bitreplicate_b64_b32";
  Scalar x{m, 0, 0, 0, m.scc != 0, m.exec()};
  const auto source = [&](std::size_t i) {
    return wideSource(i) && !narrowOnly ? m.scalar64(operands[i]) : m.scalar32(operands[i]);
  };
  const unsigned bits = found->second.resultBits;
  x.old = bits == 64 ? m.pair(operands[0].index) : m.s[operands[0].index];
  if (operands.size() > 2) {
    x.a = source(1);
    x.b = source(2);
  } else if (base.find("k_i32") != base.npos) {
    x.b = static_cast<std::uint32_t>(extended(m.scalar32(operands[1]), 16));
  } else {
    x.a = source(1);
  }
  const std::uint64_t r = found->second.run(x);
  if (bits == 64)
    m.setPair(operands[0].index, r);
  else
    m.s[operands[0].index] = static_cast<std::uint32_t>(r);
  m.scc = x.scc;
  return true;
}

} // namespace asmevo::emulator::reference
