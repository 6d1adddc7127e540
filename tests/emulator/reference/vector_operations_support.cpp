// What each vector opcode computes for one lane (CDNA3 ISA, "Instructions": VOP1, VOP2, VOP3, VOP3P).
#include "emulator/reference/vector_operations.h"

#include <algorithm>
#include <cmath>

namespace asmevo::emulator::reference {

namespace {

using C = VectorContext;
using In = const std::uint64_t*;
using Function = std::uint64_t (*)(C&, In);
using Table = std::map<std::string_view, VectorOperation>;
using enum Type;

std::uint64_t u(std::int64_t x) {
  return static_cast<std::uint64_t>(x);
}
std::uint64_t low(std::uint64_t x, unsigned bits) {
  return x & maskOf(bits);
}
std::uint64_t byteAt(std::uint64_t x, unsigned i) {
  return x >> 8 * i & 255;
}
template <class T> T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
std::uint64_t saturate(std::int64_t x, std::int64_t least, std::int64_t most) {
  return u(std::clamp(x, least, most));
}

std::uint64_t highestBit(std::uint64_t x, unsigned value) { // distance from bit 31, -1 when there is none
  for (unsigned i = 0; i < 32; ++i)
    if ((x >> (31 - i) & 1) == value)
      return i;
  return 0xffffffff;
}
std::uint64_t reversed(std::uint64_t x) {
  std::uint64_t r = 0;
  for (unsigned i = 0; i < 32; ++i)
    r |= (x >> i & 1) << (31 - i);
  return r;
}
std::uint64_t bitsBelow(C& c, unsigned from) { // of the lane, in the half that starts at `from`
  return c.lane <= from ? 0 : maskOf(std::min(c.lane - from, 32u));
}
std::uint64_t absoluteDifference(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

std::uint64_t permuted(std::uint64_t high, std::uint64_t lowWord, std::uint64_t selector) {
  std::uint64_t r = 0;
  const std::uint64_t all = high << 32 | lowWord;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint64_t select = byteAt(selector, i);
    std::uint64_t byte = 0;
    if (select >= 13)
      byte = 0xff;
    else if (select == 12)
      byte = 0;
    else if (select >= 8) // sign of bytes 1, 3, 5, 7
      byte = all >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
    else
      byte = byteAt(all, static_cast<unsigned>(select));
    r |= byte << 8 * i;
  }
  return r;
}

std::uint64_t bfe(std::uint64_t x, std::uint64_t offset, std::uint64_t width, bool isSigned) {
  offset &= 31;
  width &= 31;
  if (width == 0)
    return 0;
  if (!isSigned)
    return x >> offset & maskOf(static_cast<unsigned>(width));
  if (offset + width < 32)
    return u(extended(x >> offset & maskOf(static_cast<unsigned>(width)), static_cast<unsigned>(width)));
  return u(extended(x, 32) >> offset);
}

std::uint64_t dot(In s, unsigned bits, bool isSigned, unsigned elements) {
  std::int64_t sum = isSigned ? extended(s[2], 32) : signed64(low(s[2], 32));
  for (unsigned i = 0; i < elements; ++i) {
    const std::uint64_t a = s[0] >> bits * i & maskOf(bits), b = s[1] >> bits * i & maskOf(bits);
    sum += isSigned ? extended(a, bits) * extended(b, bits) : signed64(a * b);
  }
  return u(sum);
}

/// frexp of a finite non-zero value; others: 0 and the value itself.
int exponentOf(double x) {
  int e = 0;
  if (std::isfinite(x) && x != 0)
    std::frexp(x, &e);
  return e;
}
std::uint64_t mantissaOf(C& c, Format f, std::uint64_t bits) {
  const std::uint64_t in = c.n.input(f, bits);
  const double x = valueOf(f, in);
  if (std::isnan(x))
    return quietNanOf(f);
  int e = 0;
  return std::isfinite(x) && x != 0 ? roundOrDouble(f, std::frexp(x, &e)) : in;
}

template <Format f> void floats(Table& t, Type type, const std::string& suffix) {
  static std::vector<std::string> names; // keys outlive the table
  names.reserve(64);
  const auto add = [&](const char* name, std::vector<Type> sources, Function run, bool accumulates = false,
                       bool keepsHigh = false) {
    names.push_back(name + suffix);
    t[names.back()] = {type, std::move(sources), run, accumulates, false, keepsHigh && f == Format::f16};
  };
  add("v_add_", {type, type}, [](C& c, In s) { return c.n.add(f, s[0], s[1]); });
  add("v_mul_", {type, type}, [](C& c, In s) { return c.n.mul(f, s[0], s[1]); });
  add("v_min_", {type, type}, [](C& c, In s) { return c.n.min(f, s[0], s[1]); });
  add("v_max_", {type, type}, [](C& c, In s) { return c.n.max(f, s[0], s[1]); });
  add("v_fma_", {type, type, type}, [](C& c, In s) { return c.n.fma(f, s[0], s[1], s[2]); }, false, true);
  add("v_fmac_", {type, type}, [](C& c, In s) { return c.n.fma(f, s[0], s[1], s[2]); }, true);
  add("v_floor_", {type}, [](C& c, In s) { return c.n.whole(f, s[0], Numbers::Whole::floor); });
  add("v_ceil_", {type}, [](C& c, In s) { return c.n.whole(f, s[0], Numbers::Whole::ceil); });
  add("v_trunc_", {type}, [](C& c, In s) { return c.n.whole(f, s[0], Numbers::Whole::trunc); });
  add("v_rndne_", {type}, [](C& c, In s) { return c.n.whole(f, s[0], Numbers::Whole::nearestEven); });
  add("v_ldexp_", {type, f == Format::f16 ? b16 : b32}, [](C& c, In s) {
    return c.n.ldexp(f, s[0], static_cast<int>(f == Format::f16 ? extended(s[1], 16) : extended(s[1], 32)));
  });
  add("v_frexp_mant_", {type}, [](C& c, In s) { return mantissaOf(c, f, s[0]); });
  if constexpr (f != Format::f64) {
    add("v_sub_", {type, type}, [](C& c, In s) { return c.n.sub(f, s[0], s[1]); });
    add("v_subrev_", {type, type}, [](C& c, In s) { return c.n.sub(f, s[1], s[0]); });
    add("v_rcp_", {type}, [](C& c, In s) { return c.n.rcp(f, s[0]); });
    add("v_sqrt_", {type}, [](C& c, In s) { return c.n.sqrt(f, s[0]); });
  }
}

void conversions(Table& t) {
  constexpr auto h = Format::f16, s32 = Format::f32, d = Format::f64;
  const auto add = [&](const char* name, Type to, std::vector<Type> from, Function run) { t[name] = {to, from, run}; };
  add("v_cvt_f32_f16", f32, {f16}, [](C& c, In s) { return c.n.convert(s32, h, s[0]); });
  add("v_cvt_f16_f32", f16, {f32}, [](C& c, In s) { return c.n.convert(h, s32, s[0]); });
  add("v_cvt_f64_f32", f64, {f32}, [](C& c, In s) { return c.n.convert(d, s32, s[0]); });
  add("v_cvt_f32_f64", f32, {f64}, [](C& c, In s) { return c.n.convert(s32, d, s[0]); });
  add("v_cvt_f32_i32", f32, {b32}, [](C& c, In s) { return c.n.fromInteger(s32, signed32(s[0])); });
  add("v_cvt_f32_u32", f32, {b32}, [](C& c, In s) { return c.n.fromInteger(s32, static_cast<double>(s[0])); });
  add("v_cvt_f64_i32", f64, {b32}, [](C& c, In s) { return c.n.fromInteger(d, signed32(s[0])); });
  add("v_cvt_f64_u32", f64, {b32}, [](C& c, In s) { return c.n.fromInteger(d, static_cast<double>(s[0])); });
  add("v_cvt_f16_i16", f16, {b16},
      [](C& c, In s) { return c.n.fromInteger(h, static_cast<double>(extended(s[0], 16))); });
  add("v_cvt_f16_u16", f16, {b16}, [](C& c, In s) { return c.n.fromInteger(h, static_cast<double>(s[0])); });
  add("v_cvt_i32_f32", b32, {f32},
      [](C& c, In s) { return u(static_cast<std::int64_t>(c.n.toInteger(s32, s[0], -0x1p31, 0x1p31 - 1))); });
  add("v_cvt_u32_f32", b32, {f32},
      [](C& c, In s) { return u(static_cast<std::int64_t>(c.n.toInteger(s32, s[0], 0, 0x1p32 - 1))); });
  add("v_cvt_i32_f64", b32, {f64},
      [](C& c, In s) { return u(static_cast<std::int64_t>(c.n.toInteger(d, s[0], -0x1p31, 0x1p31 - 1))); });
  add("v_cvt_u32_f64", b32, {f64},
      [](C& c, In s) { return u(static_cast<std::int64_t>(c.n.toInteger(d, s[0], 0, 0x1p32 - 1))); });
  add("v_cvt_i16_f16", b16, {f16},
      [](C& c, In s) { return u(static_cast<std::int64_t>(c.n.toInteger(h, s[0], -0x1p15, 0x1p15 - 1))); });
  add("v_cvt_u16_f16", b16, {f16},
      [](C& c, In s) { return u(static_cast<std::int64_t>(c.n.toInteger(h, s[0], 0, 0x1p16 - 1))); });
  add("v_cvt_f32_ubyte0", f32, {b32},
      [](C& c, In s) { return c.n.fromInteger(s32, static_cast<double>(byteAt(s[0], 0))); });
  add("v_cvt_f32_ubyte1", f32, {b32},
      [](C& c, In s) { return c.n.fromInteger(s32, static_cast<double>(byteAt(s[0], 1))); });
  add("v_cvt_f32_ubyte2", f32, {b32},
      [](C& c, In s) { return c.n.fromInteger(s32, static_cast<double>(byteAt(s[0], 2))); });
  add("v_cvt_f32_ubyte3", f32, {b32},
      [](C& c, In s) { return c.n.fromInteger(s32, static_cast<double>(byteAt(s[0], 3))); });
  add("v_cvt_pkrtz_f16_f32", b32, {f32, f32},
      [](C& c, In s) { return c.n.towardZeroF16(s[0]) | c.n.towardZeroF16(s[1]) << 16; });
  add("v_cvt_pk_u16_u32", b32, {b32, b32},
      [](C&, In s) { return std::min<std::uint64_t>(s[0], 0xffff) | std::min<std::uint64_t>(s[1], 0xffff) << 16; });
  add("v_cvt_pk_i16_i32", b32, {b32, b32}, [](C&, In s) {
    return low(saturate(signed32(s[0]), -32768, 32767), 16) | low(saturate(signed32(s[1]), -32768, 32767), 16) << 16;
  });
  add("v_frexp_exp_i32_f32", b32, {f32}, [](C& c, In s) { return u(exponentOf(valueOf(s32, c.n.input(s32, s[0])))); });
  add("v_frexp_exp_i32_f64", b32, {f64}, [](C& c, In s) { return u(exponentOf(valueOf(d, c.n.input(d, s[0])))); });
  add("v_frexp_exp_i16_f16", b16, {f16}, [](C& c, In s) { return u(exponentOf(valueOf(h, c.n.input(h, s[0])))); });
  t["v_fmaak_f32"] = {f32, {f32, f32, f32}, [](C& c, In s) { return c.n.fma(s32, s[0], s[1], s[2]); }};
  t["v_fmamk_f32"] = {f32, {f32, f32, f32}, [](C& c, In s) { return c.n.fma(s32, s[0], s[1], s[2]); }};
  const auto minMax3 = [&](const char* name, Type type, Function run) {
    t[name] = {type, {type, type, type}, run, false, false, type == f16};
  };
  minMax3("v_min3_f32", f32, [](C& c, In s) { return c.n.min(s32, c.n.min(s32, s[0], s[1]), s[2]); });
  minMax3("v_max3_f32", f32, [](C& c, In s) { return c.n.max(s32, c.n.max(s32, s[0], s[1]), s[2]); });
}

void integers(Table& t) {
  const auto add = [&](const char* name, unsigned sources, Function run) {
    t[name] = {b32, std::vector<Type>(sources, b32), run};
  };
  add("v_mov_b32", 1, [](C&, In s) { return s[0]; });
  add("v_not_b32", 1, [](C&, In s) { return ~s[0]; });
  add("v_bfrev_b32", 1, [](C&, In s) { return reversed(s[0]); });
  add("v_ffbh_u32", 1, [](C&, In s) { return highestBit(s[0], 1); });
  add("v_ffbl_b32", 1, [](C&, In s) {
    const auto r = highestBit(reversed(s[0]), 1);
    return r;
  });
  add("v_ffbh_i32", 1, [](C&, In s) { return highestBit(s[0], (s[0] >> 31 & 1) == 0); });
  add("v_add_u32", 2, [](C&, In s) { return s[0] + s[1]; });
  add("v_sub_u32", 2, [](C&, In s) { return s[0] - s[1]; });
  add("v_subrev_u32", 2, [](C&, In s) { return s[1] - s[0]; });
  add("v_add_i32", 2, [](C&, In s) { return s[0] + s[1]; });
  add("v_sub_i32", 2, [](C&, In s) { return s[0] - s[1]; });
  add("v_and_b32", 2, [](C&, In s) { return s[0] & s[1]; });
  add("v_or_b32", 2, [](C&, In s) { return s[0] | s[1]; });
  add("v_xor_b32", 2, [](C&, In s) { return s[0] ^ s[1]; });
  add("v_xnor_b32", 2, [](C&, In s) { return ~(s[0] ^ s[1]); });
  add("v_lshlrev_b32", 2, [](C&, In s) { return s[1] << (s[0] & 31); });
  add("v_lshrrev_b32", 2, [](C&, In s) { return low(s[1], 32) >> (s[0] & 31); });
  add("v_ashrrev_i32", 2, [](C&, In s) { return u(extended(s[1], 32) >> (s[0] & 31)); });
  add("v_min_i32", 2, [](C&, In s) { return u(std::min(extended(s[0], 32), extended(s[1], 32))); });
  add("v_max_i32", 2, [](C&, In s) { return u(std::max(extended(s[0], 32), extended(s[1], 32))); });
  add("v_min_u32", 2, [](C&, In s) { return std::min(s[0], s[1]); });
  add("v_max_u32", 2, [](C&, In s) { return std::max(s[0], s[1]); });
  add("v_mul_lo_u32", 2, [](C&, In s) { return s[0] * s[1]; });
  add("v_mul_hi_u32", 2, [](C&, In s) { return s[0] * s[1] >> 32; });
  add("v_mul_hi_i32", 2, [](C&, In s) { return u(extended(s[0], 32) * extended(s[1], 32) >> 32); });
  add("v_mul_u32_u24", 2, [](C&, In s) { return low(s[0], 24) * low(s[1], 24); });
  add("v_mul_i32_i24", 2, [](C&, In s) { return u(extended(s[0], 24) * extended(s[1], 24)); });
  add("v_mul_hi_u32_u24", 2, [](C&, In s) { return low(s[0], 24) * low(s[1], 24) >> 32; });
  add("v_mul_hi_i32_i24", 2, [](C&, In s) { return u(extended(s[0], 24) * extended(s[1], 24) >> 32); });
  add("v_bfm_b32", 2, [](C&, In s) { return maskOf(s[0] & 31) << (s[1] & 31); });
  add("v_bcnt_u32_b32", 2, [](C&, In s) { return u(std::popcount(low(s[0], 32))) + s[1]; });
  add("v_mbcnt_lo_u32_b32", 2, [](C& c, In s) { return u(std::popcount(low(s[0], 32) & bitsBelow(c, 0))) + s[1]; });
  add("v_mbcnt_hi_u32_b32", 2, [](C& c, In s) { return u(std::popcount(low(s[0], 32) & bitsBelow(c, 32))) + s[1]; });
  add("v_mad_u32_u24", 3, [](C&, In s) { return low(s[0], 24) * low(s[1], 24) + s[2]; });
  add("v_mad_i32_i24", 3, [](C&, In s) { return u(extended(s[0], 24) * extended(s[1], 24)) + s[2]; });
  add("v_add3_u32", 3, [](C&, In s) { return s[0] + s[1] + s[2]; });
  add("v_lshl_add_u32", 3, [](C&, In s) { return (s[0] << (s[1] & 31)) + s[2]; });
  add("v_add_lshl_u32", 3, [](C&, In s) { return (s[0] + s[1]) << (s[2] & 31); });
  add("v_lshl_or_b32", 3, [](C&, In s) { return s[0] << (s[1] & 31) | s[2]; });
  add("v_and_or_b32", 3, [](C&, In s) { return (s[0] & s[1]) | s[2]; });
  add("v_or3_b32", 3, [](C&, In s) { return s[0] | s[1] | s[2]; });
  add("v_xad_u32", 3, [](C&, In s) { return (s[0] ^ s[1]) + s[2]; });
  add("v_bfe_u32", 3, [](C&, In s) { return bfe(s[0], s[1], s[2], false); });
  add("v_bfe_i32", 3, [](C&, In s) { return bfe(s[0], s[1], s[2], true); });
  add("v_bfi_b32", 3, [](C&, In s) { return (s[0] & s[1]) | (~s[0] & s[2]); });
  add("v_alignbit_b32", 3, [](C&, In s) { return (s[0] << 32 | s[1]) >> (s[2] & 31); });
  add("v_alignbyte_b32", 3, [](C&, In s) { return (s[0] << 32 | s[1]) >> 8 * (s[2] & 3); });
  add("v_perm_b32", 3, [](C&, In s) { return permuted(s[0], s[1], s[2]); });
  add("v_min3_i32", 3,
      [](C&, In s) { return u(std::min({extended(s[0], 32), extended(s[1], 32), extended(s[2], 32)})); });
  add("v_max3_i32", 3,
      [](C&, In s) { return u(std::max({extended(s[0], 32), extended(s[1], 32), extended(s[2], 32)})); });
  add("v_med3_i32", 3, [](C&, In s) { return u(median(extended(s[0], 32), extended(s[1], 32), extended(s[2], 32))); });
  add("v_min3_u32", 3, [](C&, In s) { return std::min({s[0], s[1], s[2]}); });
  add("v_max3_u32", 3, [](C&, In s) { return std::max({s[0], s[1], s[2]}); });
  add("v_med3_u32", 3, [](C&, In s) { return median(s[0], s[1], s[2]); });
  add("v_lerp_u8", 3, [](C&, In s) {
    std::uint64_t r = 0;
    for (unsigned i = 0; i < 4; ++i)
      r |= ((byteAt(s[0], i) + byteAt(s[1], i) + (s[2] >> 8 * i & 1)) >> 1 & 255) << 8 * i;
    return r;
  });
  add("v_sad_u8", 3, [](C&, In s) {
    std::uint64_t r = s[2];
    for (unsigned i = 0; i < 4; ++i)
      r += absoluteDifference(byteAt(s[0], i), byteAt(s[1], i));
    return r;
  });
  add("v_sad_hi_u8", 3, [](C&, In s) {
    std::uint64_t r = 0;
    for (unsigned i = 0; i < 4; ++i)
      r += absoluteDifference(byteAt(s[0], i), byteAt(s[1], i));
    return (r << 16) + s[2];
  });
  add("v_sad_u16", 3, [](C&, In s) {
    return s[2] + absoluteDifference(s[0] & 0xffff, s[1] & 0xffff) +
           absoluteDifference(low(s[0], 32) >> 16, low(s[1], 32) >> 16);
  });
  add("v_sad_u32", 3, [](C&, In s) { return s[2] + absoluteDifference(s[0], s[1]); });
  add("v_dot4_i32_i8", 3, [](C&, In s) { return dot(s, 8, true, 4); });
  add("v_dot4_u32_u8", 3, [](C&, In s) { return dot(s, 8, false, 4); });
  add("v_dot8_i32_i4", 3, [](C&, In s) { return dot(s, 4, true, 8); });
  add("v_dot8_u32_u4", 3, [](C&, In s) { return dot(s, 4, false, 8); });
  t["v_dot2_i32_i16"] = {b32, {pkB16, pkB16, b32}, [](C&, In s) { return dot(s, 16, true, 2); }};
  t["v_dot2_u32_u16"] = {b32, {pkB16, pkB16, b32}, [](C&, In s) { return dot(s, 16, false, 2); }};
  t["v_cndmask_b32"] = {b32, {b32, b32}, [](C&, In s) { return s[2] ? s[1] : s[0]; }, false, true};
  t["v_mov_b64"] = {b64, {b64}, [](C&, In s) { return s[0]; }};
  t["v_lshlrev_b64"] = {b64, {b32, b64}, [](C&, In s) { return s[1] << (s[0] & 63); }};
  t["v_lshrrev_b64"] = {b64, {b32, b64}, [](C&, In s) { return s[1] >> (s[0] & 63); }};
  t["v_ashrrev_i64"] = {b64, {b32, b64}, [](C&, In s) { return u(signed64(s[1]) >> (s[0] & 63)); }};
  t["v_lshl_add_u64"] = {b64, {b64, b32, b64}, [](C&, In s) { return (s[0] << (s[1] & 7)) + s[2]; }};
}

void shortIntegers(Table& t) {
  const auto add = [&](const char* name, Function run, unsigned sources = 2, bool keeps = false) {
    t[name] = {b16, std::vector<Type>(sources, b16), run, false, false, keeps};
  };
  add("v_add_u16", [](C&, In s) { return s[0] + s[1]; });
  add("v_sub_u16", [](C&, In s) { return s[0] - s[1]; });
  add("v_subrev_u16", [](C&, In s) { return s[1] - s[0]; });
  add("v_mul_lo_u16", [](C&, In s) { return s[0] * s[1]; });
  add("v_lshlrev_b16", [](C&, In s) { return s[1] << (s[0] & 15); });
  add("v_lshrrev_b16", [](C&, In s) { return s[1] >> (s[0] & 15); });
  add("v_ashrrev_i16", [](C&, In s) { return u(extended(s[1], 16) >> (s[0] & 15)); });
  add("v_min_u16", [](C&, In s) { return std::min(s[0], s[1]); });
  add("v_max_u16", [](C&, In s) { return std::max(s[0], s[1]); });
  add("v_min_i16", [](C&, In s) { return u(std::min(extended(s[0], 16), extended(s[1], 16))); });
  add("v_max_i16", [](C&, In s) { return u(std::max(extended(s[0], 16), extended(s[1], 16))); });
  add("v_mad_u16", [](C&, In s) { return s[0] * s[1] + s[2]; }, 3, true);
  add("v_mad_i16", [](C&, In s) { return s[0] * s[1] + s[2]; }, 3, true);
  t["v_mad_u32_u16"] = {b32, {b16, b16, b32}, [](C&, In s) { return s[0] * s[1] + s[2]; }};
  t["v_mad_i32_i16"] = {
      b32, {b16, b16, b32}, [](C&, In s) { return u(extended(s[0], 16) * extended(s[1], 16)) + s[2]; }};
}

/// Two elements side by side.
template <unsigned bits, class F> std::uint64_t each(In s, F f) {
  return low(f(low(s[0], bits), low(s[1], bits), low(s[2], bits)), bits) |
         low(f(low(s[0] >> bits, bits), low(s[1] >> bits, bits), low(s[2] >> bits, bits)), bits) << bits;
}

void packed(Table& t) {
  using U = std::uint64_t;
  const auto shorts = [&](const char* name, Function run, unsigned n = 2) {
    t[name] = {pkB16, std::vector<Type>(n, pkB16), run};
  };
  shorts("v_pk_add_u16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return a + b; }); });
  shorts("v_pk_add_i16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return a + b; }); });
  shorts("v_pk_sub_u16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return a - b; }); });
  shorts("v_pk_sub_i16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return a - b; }); });
  shorts("v_pk_mul_lo_u16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return a * b; }); });
  shorts("v_pk_min_u16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return std::min(a, b); }); });
  shorts("v_pk_max_u16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return std::max(a, b); }); });
  shorts("v_pk_min_i16",
         [](C&, In s) { return each<16>(s, [](U a, U b, U) { return extended(a, 16) < extended(b, 16) ? a : b; }); });
  shorts("v_pk_max_i16",
         [](C&, In s) { return each<16>(s, [](U a, U b, U) { return extended(a, 16) > extended(b, 16) ? a : b; }); });
  shorts("v_pk_lshlrev_b16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return b << (a & 15); }); });
  shorts("v_pk_lshrrev_b16", [](C&, In s) { return each<16>(s, [](U a, U b, U) { return b >> (a & 15); }); });
  shorts("v_pk_ashrrev_i16",
         [](C&, In s) { return each<16>(s, [](U a, U b, U) { return u(extended(b, 16) >> (a & 15)); }); });
  shorts("v_pk_mad_u16", [](C&, In s) { return each<16>(s, [](U a, U b, U c) { return a * b + c; }); }, 3);
  shorts("v_pk_mad_i16", [](C&, In s) { return each<16>(s, [](U a, U b, U c) { return a * b + c; }); }, 3);
  const auto halves = [&](const char* name, Function run, unsigned n = 2) {
    t[name] = {pkF16, std::vector<Type>(n, pkF16), run};
  };
  constexpr auto h = Format::f16, s32 = Format::f32;
  halves("v_pk_add_f16", [](C& c, In s) { return each<16>(s, [&](U a, U b, U) { return c.n.add(h, a, b); }); });
  halves("v_pk_mul_f16", [](C& c, In s) { return each<16>(s, [&](U a, U b, U) { return c.n.mul(h, a, b); }); });
  halves("v_pk_min_f16", [](C& c, In s) { return each<16>(s, [&](U a, U b, U) { return c.n.min(h, a, b); }); });
  halves("v_pk_max_f16", [](C& c, In s) { return each<16>(s, [&](U a, U b, U) { return c.n.max(h, a, b); }); });
  halves("v_pk_fma_f16", [](C& c, In s) { return each<16>(s, [&](U a, U b, U d) { return c.n.fma(h, a, b, d); }); }, 3);
  const auto singles = [&](const char* name, Function run, unsigned n = 2) {
    t[name] = {pkF32, std::vector<Type>(n, pkF32), run};
  };
  singles("v_pk_add_f32", [](C& c, In s) { return each<32>(s, [&](U a, U b, U) { return c.n.add(s32, a, b); }); });
  singles("v_pk_mul_f32", [](C& c, In s) { return each<32>(s, [&](U a, U b, U) { return c.n.mul(s32, a, b); }); });
  singles(
      "v_pk_fma_f32", [](C& c, In s) { return each<32>(s, [&](U a, U b, U d) { return c.n.fma(s32, a, b, d); }); }, 3);
}

} // namespace

const std::map<std::string_view, VectorOperation>& vectorOperations() {
  static const Table table = [] {
    Table t;
    floats<Format::f16>(t, f16, "f16");
    floats<Format::f32>(t, f32, "f32");
    floats<Format::f64>(t, f64, "f64");
    conversions(t);
    integers(t);
    shortIntegers(t);
    packed(t);
    return t;
  }();
  return table;
}

} // namespace asmevo::emulator::reference
