/// Conversions between number formats (CDNA3 ISA: V_CVT_*).
#pragma once

#include "isa/semantics/vop_float.h"

namespace asmevo::isa::semantics {

ASMEVO_SEM cvt_f32_i32(const auto& d, auto a) {
  return d.f32FromI32(a);
}
ASMEVO_SEM cvt_f32_u32(const auto& d, auto a) {
  return d.f32FromU32(a);
}
ASMEVO_SEM cvt_i32_f32(const auto& d, auto a) {
  return d.i32FromF32(a);
}
ASMEVO_SEM cvt_u32_f32(const auto& d, auto a) {
  return d.u32FromF32(a);
}
ASMEVO_SEM cvt_f64_i32(const auto& d, auto a) {
  return d.f64FromI32(a);
}
ASMEVO_SEM cvt_f64_u32(const auto& d, auto a) {
  return d.f64FromU32(a);
}
ASMEVO_SEM cvt_i32_f64(const auto& d, auto a) {
  return d.i32FromF64(a);
}
ASMEVO_SEM cvt_u32_f64(const auto& d, auto a) {
  return d.u32FromF64(a);
}
ASMEVO_SEM cvt_f32_f64(const auto& d, auto a) {
  return d.f32FromF64(a);
}
ASMEVO_SEM cvt_f64_f32(const auto& d, auto a) {
  return d.f64FromF32(a);
}
ASMEVO_SEM cvt_f16_f32(const auto& d, auto a) {
  return d.f16FromF32(a);
}
ASMEVO_SEM cvt_f32_f16(const auto& d, auto a) {
  return d.f32FromF16(a);
}
ASMEVO_SEM cvt_pkrtz_f16_f32(const auto& d, auto a, auto b) {
  return pack16(d, d.f16FromF32Rtz(a), d.f16FromF32Rtz(b));
}
ASMEVO_SEM cvt_f32_ubyte0(const auto& d, auto a) {
  return d.f32FromU32(byteOf(d, a, 0));
}
ASMEVO_SEM cvt_f32_ubyte1(const auto& d, auto a) {
  return d.f32FromU32(byteOf(d, a, 1));
}
ASMEVO_SEM cvt_f32_ubyte2(const auto& d, auto a) {
  return d.f32FromU32(byteOf(d, a, 2));
}
ASMEVO_SEM cvt_f32_ubyte3(const auto& d, auto a) {
  return d.f32FromU32(byteOf(d, a, 3));
}
ASMEVO_SEM cvt_flr_i32_f32(const auto& d, auto a) {
  return d.i32FromF32(d.ffloor(flt::F32{}, a));
}
/// floor(x + 0.5) of the exact sum.
ASMEVO_SEM cvt_rpi_i32_f32(const auto& d, auto a) {
  auto down = d.ffloor(flt::F32{}, a);
  auto part = d.fadd(flt::F32{}, a, fneg<flt::F32>(d, down));
  auto up = d.fadd(flt::F32{}, down, d.c32(0x3f800000));
  return d.i32FromF32(d.select(d.fle(flt::F32{}, d.c32(0x3f000000), part), up, down));
}
/// Signed 4-bit number divided by 16.
ASMEVO_SEM cvt_off_f32_i4(const auto& d, auto a) {
  return d.fmul(flt::F32{}, d.f32FromI32(d.sar(d.shl(a, d.c32(28)), d.c32(28))), d.c32(0x3d800000));
}

ASMEVO_SEM cvt_f16_i16(const auto& d, auto a) {
  return d.f16FromF32(d.f32FromI32(sext16(d, a)));
}
ASMEVO_SEM cvt_f16_u16(const auto& d, auto a) {
  return d.f16FromF32(d.f32FromU32(lo16(d, a)));
}
ASMEVO_SEM cvt_i16_f16(const auto& d, auto a) {
  return clampI16(d, d.i32FromF32(d.f32FromF16(a)));
}
ASMEVO_SEM cvt_u16_f16(const auto& d, auto a) {
  return clampU16(d, d.i32FromF32(d.f32FromF16(a)));
}

/// Normalized: [-1, 1] to 16-bit integers, to nearest.
ASMEVO_SEM snorm16(const auto& d, auto a) {
  auto scaled = d.fmul(flt::F64{}, d.f64FromF32(a), d.c64(0x40dfffc000000000)); // 32767
  auto r = d.i32FromF64(d.frndne(flt::F64{}, scaled));
  return lo16(d, d.smax(d.smin(r, d.c32(32767)), d.c32(static_cast<std::uint32_t>(-32767))));
}
ASMEVO_SEM unorm16(const auto& d, auto a) {
  auto scaled = d.fmul(flt::F64{}, d.f64FromF32(a), d.c64(0x40efffe000000000)); // 65535
  return clampU16(d, d.i32FromF64(d.frndne(flt::F64{}, scaled)));
}
ASMEVO_SEM cvt_norm_i16_f16(const auto& d, auto a) {
  return snorm16(d, d.f32FromF16(a));
}
ASMEVO_SEM cvt_norm_u16_f16(const auto& d, auto a) {
  return unorm16(d, d.f32FromF16(a));
}
ASMEVO_SEM cvt_pknorm_i16_f32(const auto& d, auto a, auto b) {
  return pack16(d, snorm16(d, a), snorm16(d, b));
}
ASMEVO_SEM cvt_pknorm_u16_f32(const auto& d, auto a, auto b) {
  return pack16(d, unorm16(d, a), unorm16(d, b));
}
ASMEVO_SEM cvt_pknorm_i16_f16(const auto& d, auto a, auto b) {
  return pack16(d, cvt_norm_i16_f16(d, a), cvt_norm_i16_f16(d, b));
}
ASMEVO_SEM cvt_pknorm_u16_f16(const auto& d, auto a, auto b) {
  return pack16(d, cvt_norm_u16_f16(d, a), cvt_norm_u16_f16(d, b));
}
ASMEVO_SEM cvt_pk_u16_u32(const auto& d, auto a, auto b) {
  return pack16(d, d.umin(a, d.c32(0xffff)), d.umin(b, d.c32(0xffff)));
}
ASMEVO_SEM cvt_pk_i16_i32(const auto& d, auto a, auto b) {
  return pack16(d, clampI16(d, a), clampI16(d, b));
}
/// A byte of the last source replaced by the first as an unsigned integer, to nearest.
ASMEVO_SEM cvt_pk_u8_f32(const auto& d, auto a, auto index, auto into) {
  auto value = clampU8(d, d.i32FromF32(d.frndne(flt::F32{}, a)));
  auto at = d.shl(d.and_(index, d.c32(3)), d.c32(3));
  return d.or_(d.and_(into, d.not_(d.shl(d.c32(0xff), at))), d.shl(value, at));
}

// 8-bit floats: FNUZ on gfx942.
ASMEVO_SEM cvt_f32_fp8(const auto& d, auto a) {
  return d.f32FromFp8(d.and_(a, d.c32(0xff)));
}
ASMEVO_SEM cvt_f32_bf8(const auto& d, auto a) {
  return d.f32FromBf8(d.and_(a, d.c32(0xff)));
}
ASMEVO_SEM cvt_pk_f32_fp8(const auto& d, auto a) {
  return Pair{d.f32FromFp8(byteOf(d, a, 0)), d.f32FromFp8(byteOf(d, a, 1))};
}
ASMEVO_SEM cvt_pk_f32_bf8(const auto& d, auto a) {
  return Pair{d.f32FromBf8(byteOf(d, a, 0)), d.f32FromBf8(byteOf(d, a, 1))};
}
ASMEVO_SEM cvt_pk_fp8_f32(const auto& d, auto a, auto b) {
  return d.or_(d.fp8FromF32(a), d.shl(d.fp8FromF32(b), d.c32(8)));
}
ASMEVO_SEM cvt_pk_bf8_f32(const auto& d, auto a, auto b) {
  return d.or_(d.bf8FromF32(a), d.shl(d.bf8FromF32(b), d.c32(8)));
}
ASMEVO_SEM cvt_sr_fp8_f32(const auto& d, auto a, auto random) {
  return d.fp8FromF32Sr(a, random);
}
ASMEVO_SEM cvt_sr_bf8_f32(const auto& d, auto a, auto random) {
  return d.bf8FromF32Sr(a, random);
}

} // namespace asmevo::isa::semantics
