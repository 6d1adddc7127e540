/// Packed math and dot products (CDNA3 ISA: VOP3P). op_sel, op_sel_hi and neg have been applied to the sources: low and
/// high element of each stand in the low and high half (of a pair: dword).
#pragma once

#include "isa/semantics/vop_float.h"

namespace asmevo::isa::semantics {

ASMEVO_SEM bothHalves(const auto& d, auto a, auto b, auto f) {
  return pack16(d, f(a, b), f(hi16(d, a), hi16(d, b)));
}
ASMEVO_SEM bothHalves3(const auto& d, auto a, auto b, auto c, auto f) {
  return pack16(d, f(a, b, c), f(hi16(d, a), hi16(d, b), hi16(d, c)));
}
#define ASMEVO_PACKED2(name, op)                                                                                       \
  ASMEVO_SEM name(const auto& d, auto a, auto b) {                                                                     \
    return bothHalves(d, a, b, [&](auto x, auto y) { return op(d, x, y); });                                           \
  }
#define ASMEVO_PACKED3(name, op)                                                                                       \
  ASMEVO_SEM name(const auto& d, auto a, auto b, auto c) {                                                             \
    return bothHalves3(d, a, b, c, [&](auto x, auto y, auto z) { return op(d, x, y, z); });                            \
  }
ASMEVO_PACKED2(pk_add_u16, add_u16)
ASMEVO_PACKED2(pk_sub_u16, sub_u16)
ASMEVO_PACKED2(pk_mul_lo_u16, mul_lo_u16)
ASMEVO_PACKED2(pk_min_u16, min_u16)
ASMEVO_PACKED2(pk_max_u16, max_u16)
ASMEVO_PACKED2(pk_min_i16, min_i16)
ASMEVO_PACKED2(pk_max_i16, max_i16)
ASMEVO_PACKED2(pk_lshlrev_b16, lshlrev_b16)
ASMEVO_PACKED2(pk_lshrrev_b16, lshrrev_b16)
ASMEVO_PACKED2(pk_ashrrev_i16, ashrrev_i16)
ASMEVO_PACKED2(pk_add_u16_sat, add_u16_sat)
ASMEVO_PACKED2(pk_sub_u16_sat, sub_u16_sat)
ASMEVO_PACKED2(pk_add_i16_sat, add_i16_sat)
ASMEVO_PACKED2(pk_sub_i16_sat, sub_i16_sat)
ASMEVO_PACKED3(pk_mad_u16, mad_u16)
ASMEVO_PACKED3(pk_mad_u16_sat, mad_u16_sat)
ASMEVO_PACKED3(pk_mad_i16_sat, mad_i16_sat)
ASMEVO_PACKED2(pk_add_f16, fadd<flt::F16>)
ASMEVO_PACKED2(pk_mul_f16, fmul<flt::F16>)
ASMEVO_PACKED2(pk_min_f16, fmin_<flt::F16>)
ASMEVO_PACKED2(pk_max_f16, fmax_<flt::F16>)
ASMEVO_PACKED3(pk_fma_f16, ffma<flt::F16>)
#undef ASMEVO_PACKED2
#undef ASMEVO_PACKED3

ASMEVO_SEM pk_add_f32(const auto& d, auto a, auto b) {
  return Pair{d.fadd(flt::F32{}, a.lo, b.lo), d.fadd(flt::F32{}, a.hi, b.hi)};
}
ASMEVO_SEM pk_mul_f32(const auto& d, auto a, auto b) {
  return Pair{d.fmul(flt::F32{}, a.lo, b.lo), d.fmul(flt::F32{}, a.hi, b.hi)};
}
ASMEVO_SEM pk_fma_f32(const auto& d, auto a, auto b, auto c) {
  return Pair{d.ffma(flt::F32{}, a.lo, b.lo, c.lo), d.ffma(flt::F32{}, a.hi, b.hi, c.hi)};
}

// v_fma_mix: the sources have been widened to f32.
ASMEVO_SEM fma_mix_f32(const auto& d, auto a, auto b, auto c) {
  return d.ffma(flt::F32{}, a, b, c);
}
ASMEVO_SEM fma_mix_f16(const auto& d, auto a, auto b, auto c) {
  return d.f16FromF32(d.ffma(flt::F32{}, a, b, c));
}

ASMEVO_SEM dot2_f32_f16(const auto& d, auto a, auto b, auto c) {
  auto low = d.ffma(flt::F32{}, d.f32FromF16(a), d.f32FromF16(b), c);
  return d.ffma(flt::F32{}, d.f32FromF16(hi16(d, a)), d.f32FromF16(hi16(d, b)), low);
}
ASMEVO_SEM dot2_i32_i16(const auto& d, auto a, auto b, auto c) {
  return d.add(d.add(d.mul(sext16(d, a), sext16(d, b)), d.mul(sextHi16(d, a), sextHi16(d, b))), c);
}
ASMEVO_SEM dot2_u32_u16(const auto& d, auto a, auto b, auto c) {
  return d.add(d.add(d.mul(lo16(d, a), lo16(d, b)), d.mul(hi16(d, a), hi16(d, b))), c);
}
ASMEVO_SEM dot4_i32_i8(const auto& d, auto a, auto b, auto c) {
  auto product = [&](unsigned n) { return d.mul(sextByteOf(d, a, n), sextByteOf(d, b, n)); };
  return d.add(d.add(d.add(product(0), product(1)), d.add(product(2), product(3))), c);
}
ASMEVO_SEM dot4_u32_u8(const auto& d, auto a, auto b, auto c) {
  auto product = [&](unsigned n) { return d.mul(byteOf(d, a, n), byteOf(d, b, n)); };
  return d.add(d.add(d.add(product(0), product(1)), d.add(product(2), product(3))), c);
}
ASMEVO_SEM dot8_i32_i4(const auto& d, auto a, auto b, auto c) {
  auto field = [&](auto x, unsigned n) { return d.sar(d.shl(x, d.c32(28 - 4 * n)), d.c32(28)); };
  auto product = [&](unsigned n) { return d.mul(field(a, n), field(b, n)); };
  auto low = d.add(d.add(product(0), product(1)), d.add(product(2), product(3)));
  auto high = d.add(d.add(product(4), product(5)), d.add(product(6), product(7)));
  return d.add(d.add(low, high), c);
}
ASMEVO_SEM dot8_u32_u4(const auto& d, auto a, auto b, auto c) {
  auto field = [&](auto x, unsigned n) { return d.and_(d.shr(x, d.c32(4 * n)), d.c32(15)); };
  auto product = [&](unsigned n) { return d.mul(field(a, n), field(b, n)); };
  auto low = d.add(d.add(product(0), product(1)), d.add(product(2), product(3)));
  auto high = d.add(d.add(product(4), product(5)), d.add(product(6), product(7)));
  return d.add(d.add(low, high), c);
}

// With a clamp: the exact sum, saturated once. Four and eight narrow products cannot overflow by themselves.
ASMEVO_SEM dot2_i32_i16_sat(const auto& d, auto a, auto b, auto c) {
  auto low = d.sext(d.mul(sext16(d, a), sext16(d, b))), high = d.sext(d.mul(sextHi16(d, a), sextHi16(d, b)));
  return clampI32(d, d.add(d.add(low, high), d.sext(c)));
}
ASMEVO_SEM dot2_u32_u16_sat(const auto& d, auto a, auto b, auto c) {
  auto low = d.zext(d.mul(lo16(d, a), lo16(d, b))), high = d.zext(d.mul(hi16(d, a), hi16(d, b)));
  return d.lo(d.umin(d.add(d.add(low, high), d.zext(c)), d.c64(0xffffffff)));
}
ASMEVO_SEM dot4_i32_i8_sat(const auto& d, auto a, auto b, auto c) {
  return add_i32_sat(d, dot4_i32_i8(d, a, b, d.c32(0)), c);
}
ASMEVO_SEM dot4_u32_u8_sat(const auto& d, auto a, auto b, auto c) {
  return add_u32_sat(d, dot4_u32_u8(d, a, b, d.c32(0)), c);
}
ASMEVO_SEM dot8_i32_i4_sat(const auto& d, auto a, auto b, auto c) {
  return add_i32_sat(d, dot8_i32_i4(d, a, b, d.c32(0)), c);
}
ASMEVO_SEM dot8_u32_u4_sat(const auto& d, auto a, auto b, auto c) {
  return add_u32_sat(d, dot8_u32_u4(d, a, b, d.c32(0)), c);
}

} // namespace asmevo::isa::semantics
