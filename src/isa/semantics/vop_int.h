/// Integer, bit and move instructions of the vector unit (CDNA3 ISA: VOP1, VOP2, VOP3A, VOP3B).
#pragma once

#include "isa/semantics/domain.h"

namespace asmevo::isa::semantics {

// Fields of a dword.
ASMEVO_SEM lo16(const auto& d, auto a) {
  return d.and_(a, d.c32(0xffff));
}
ASMEVO_SEM hi16(const auto& d, auto a) {
  return d.shr(a, d.c32(16));
}
ASMEVO_SEM sext16(const auto& d, auto a) {
  return d.sar(d.shl(a, d.c32(16)), d.c32(16));
}
ASMEVO_SEM sextHi16(const auto& d, auto a) {
  return d.sar(a, d.c32(16));
}
ASMEVO_SEM lo24(const auto& d, auto a) {
  return d.and_(a, d.c32(0xffffff));
}
ASMEVO_SEM sext24(const auto& d, auto a) {
  return d.sar(d.shl(a, d.c32(8)), d.c32(8));
}
ASMEVO_SEM pack16(const auto& d, auto low, auto high) {
  return d.or_(lo16(d, low), d.shl(high, d.c32(16)));
}
ASMEVO_SEM byteOf(const auto& d, auto a, unsigned index) {
  return d.and_(d.shr(a, d.c32(8 * index)), d.c32(0xff));
}
ASMEVO_SEM sextByteOf(const auto& d, auto a, unsigned index) {
  return d.sar(d.shl(a, d.c32(24 - 8 * index)), d.c32(24));
}

ASMEVO_SEM mov(const auto&, auto a) {
  return a;
}
ASMEVO_SEM not_b32(const auto& d, auto a) {
  return d.not_(a);
}
ASMEVO_SEM bfrev(const auto& d, auto a) {
  return d.brev(a);
}
ASMEVO_SEM add(const auto& d, auto a, auto b) {
  return d.add(a, b);
}
ASMEVO_SEM sub(const auto& d, auto a, auto b) {
  return d.sub(a, b);
}
ASMEVO_SEM subrev(const auto& d, auto a, auto b) {
  return d.sub(b, a);
}
ASMEVO_SEM and_b32(const auto& d, auto a, auto b) {
  return d.and_(a, b);
}
ASMEVO_SEM or_b32(const auto& d, auto a, auto b) {
  return d.or_(a, b);
}
ASMEVO_SEM xor_b32(const auto& d, auto a, auto b) {
  return d.xor_(a, b);
}
ASMEVO_SEM xnor_b32(const auto& d, auto a, auto b) {
  return d.not_(d.xor_(a, b));
}
ASMEVO_SEM min_u32(const auto& d, auto a, auto b) {
  return d.umin(a, b);
}
ASMEVO_SEM max_u32(const auto& d, auto a, auto b) {
  return d.umax(a, b);
}
ASMEVO_SEM min_i32(const auto& d, auto a, auto b) {
  return d.smin(a, b);
}
ASMEVO_SEM max_i32(const auto& d, auto a, auto b) {
  return d.smax(a, b);
}
ASMEVO_SEM lshlrev(const auto& d, auto n, auto a) {
  return d.shl(a, n);
}
ASMEVO_SEM lshrrev(const auto& d, auto n, auto a) {
  return d.shr(a, n);
}
ASMEVO_SEM ashrrev(const auto& d, auto n, auto a) {
  return d.sar(a, n);
}
ASMEVO_SEM lshlrev64(const auto& d, auto n, auto a) {
  return d.shl(a, d.zext(n));
}
ASMEVO_SEM lshrrev64(const auto& d, auto n, auto a) {
  return d.shr(a, d.zext(n));
}
ASMEVO_SEM ashrrev64(const auto& d, auto n, auto a) {
  return d.sar(a, d.zext(n));
}
ASMEVO_SEM mul_lo_u32(const auto& d, auto a, auto b) {
  return d.mul(a, b);
}
ASMEVO_SEM mul_hi_u32(const auto& d, auto a, auto b) {
  return d.mulHiU(a, b);
}
ASMEVO_SEM mul_hi_i32(const auto& d, auto a, auto b) {
  return d.mulHiS(a, b);
}
ASMEVO_SEM mul_u24(const auto& d, auto a, auto b) {
  return d.mul(lo24(d, a), lo24(d, b));
}
ASMEVO_SEM mul_i24(const auto& d, auto a, auto b) {
  return d.mul(sext24(d, a), sext24(d, b));
}
ASMEVO_SEM mul_hi_u24(const auto& d, auto a, auto b) {
  return d.mulHiU(lo24(d, a), lo24(d, b));
}
ASMEVO_SEM mul_hi_i24(const auto& d, auto a, auto b) {
  return d.mulHiS(sext24(d, a), sext24(d, b));
}
ASMEVO_SEM mad_u24(const auto& d, auto a, auto b, auto c) {
  return d.add(mul_u24(d, a, b), c);
}
ASMEVO_SEM mad_i24(const auto& d, auto a, auto b, auto c) {
  return d.add(mul_i24(d, a, b), c);
}
ASMEVO_SEM mad_u32_u16(const auto& d, auto a, auto b, auto c) {
  return d.add(d.mul(lo16(d, a), lo16(d, b)), c);
}
ASMEVO_SEM mad_i32_i16(const auto& d, auto a, auto b, auto c) {
  return d.add(d.mul(sext16(d, a), sext16(d, b)), c);
}
ASMEVO_SEM add3(const auto& d, auto a, auto b, auto c) {
  return d.add(d.add(a, b), c);
}
ASMEVO_SEM lshl_add(const auto& d, auto a, auto n, auto c) {
  return d.add(d.shl(a, n), c);
}
ASMEVO_SEM add_lshl(const auto& d, auto a, auto b, auto n) {
  return d.shl(d.add(a, b), n);
}
ASMEVO_SEM lshl_or(const auto& d, auto a, auto n, auto c) {
  return d.or_(d.shl(a, n), c);
}
ASMEVO_SEM and_or(const auto& d, auto a, auto b, auto c) {
  return d.or_(d.and_(a, b), c);
}
ASMEVO_SEM or3(const auto& d, auto a, auto b, auto c) {
  return d.or_(d.or_(a, b), c);
}
ASMEVO_SEM xad(const auto& d, auto a, auto b, auto c) {
  return d.add(d.xor_(a, b), c);
}
/// The amount has three bits.
ASMEVO_SEM lshl_add_u64(const auto& d, auto a, auto n, auto c) {
  return d.add(d.shl(a, d.zext(d.and_(n, d.c32(7)))), c);
}
ASMEVO_SEM min3_u32(const auto& d, auto a, auto b, auto c) {
  return d.umin(d.umin(a, b), c);
}
ASMEVO_SEM max3_u32(const auto& d, auto a, auto b, auto c) {
  return d.umax(d.umax(a, b), c);
}
ASMEVO_SEM med3_u32(const auto& d, auto a, auto b, auto c) {
  return d.umax(d.umin(a, b), d.umin(d.umax(a, b), c));
}
ASMEVO_SEM min3_i32(const auto& d, auto a, auto b, auto c) {
  return d.smin(d.smin(a, b), c);
}
ASMEVO_SEM max3_i32(const auto& d, auto a, auto b, auto c) {
  return d.smax(d.smax(a, b), c);
}
ASMEVO_SEM med3_i32(const auto& d, auto a, auto b, auto c) {
  return d.smax(d.smin(a, b), d.smin(d.smax(a, b), c));
}

// Carry chains. The mask is carry or borrow.
ASMEVO_SEM add_co(const auto& d, auto a, auto b) {
  auto r = d.add(a, b);
  return Out{r, d.ult(r, a)};
}
ASMEVO_SEM sub_co(const auto& d, auto a, auto b) {
  return Out{d.sub(a, b), d.ult(a, b)};
}
ASMEVO_SEM subrev_co(const auto& d, auto a, auto b) {
  return sub_co(d, b, a);
}
ASMEVO_SEM addc_co(const auto& d, auto a, auto b, auto carry) {
  auto s = d.add(a, b);
  auto r = d.add(s, d.bit(carry));
  return Out{r, d.mor(d.ult(s, a), d.ult(r, s))};
}
ASMEVO_SEM subb_co(const auto& d, auto a, auto b, auto borrow) {
  auto s = d.sub(a, b);
  auto r = d.sub(s, d.bit(borrow));
  return Out{r, d.mor(d.ult(a, b), d.ult(s, d.bit(borrow)))};
}
ASMEVO_SEM subbrev_co(const auto& d, auto a, auto b, auto borrow) {
  return subb_co(d, b, a, borrow);
}
ASMEVO_SEM mad_u64_u32(const auto& d, auto a, auto b, auto c) {
  auto product = d.mul(d.zext(a), d.zext(b));
  auto r = d.add(product, c);
  return Out{r, d.ult(r, product)};
}
/// The carry is bit 64 of the 65-bit signed sum.
ASMEVO_SEM mad_i64_i32(const auto& d, auto a, auto b, auto c) {
  auto product = d.mul(d.sext(a), d.sext(b));
  auto r = d.add(product, c);
  auto zero = d.c64(0);
  auto signs = d.mxor(d.slt(product, zero), d.slt(c, zero));
  return Out{r, d.mxor(signs, d.ult(r, product))};
}

// Saturating forms, chosen by clamp.
ASMEVO_SEM add_u32_sat(const auto& d, auto a, auto b) {
  auto r = d.add(a, b);
  return d.select(d.ult(r, a), d.c32(0xffffffff), r);
}
ASMEVO_SEM sub_u32_sat(const auto& d, auto a, auto b) {
  return d.select(d.ult(a, b), d.c32(0), d.sub(a, b));
}
ASMEVO_SEM subrev_u32_sat(const auto& d, auto a, auto b) {
  return sub_u32_sat(d, b, a);
}
/// The bound on the side of `a`'s sign.
ASMEVO_SEM boundOf(const auto& d, auto a) {
  return d.xor_(d.sar(a, d.c32(31)), d.c32(0x7fffffff));
}
ASMEVO_SEM add_i32_sat(const auto& d, auto a, auto b) {
  auto r = d.add(a, b);
  auto overflow = d.and_(d.xor_(a, r), d.xor_(b, r));
  return d.select(d.slt(overflow, d.c32(0)), boundOf(d, a), r);
}
ASMEVO_SEM sub_i32_sat(const auto& d, auto a, auto b) {
  auto r = d.sub(a, b);
  auto overflow = d.and_(d.xor_(a, b), d.xor_(a, r));
  return d.select(d.slt(overflow, d.c32(0)), boundOf(d, a), r);
}
/// The mask stays the carry or borrow.
ASMEVO_SEM add_co_sat(const auto& d, auto a, auto b) {
  auto r = add_co(d, a, b);
  return Out{d.select(r.mask, d.c32(0xffffffff), r.value), r.mask};
}
ASMEVO_SEM sub_co_sat(const auto& d, auto a, auto b) {
  auto r = sub_co(d, a, b);
  return Out{d.select(r.mask, d.c32(0), r.value), r.mask};
}
ASMEVO_SEM subrev_co_sat(const auto& d, auto a, auto b) {
  return sub_co_sat(d, b, a);
}
ASMEVO_SEM addc_co_sat(const auto& d, auto a, auto b, auto carry) {
  auto r = addc_co(d, a, b, carry);
  return Out{d.select(r.mask, d.c32(0xffffffff), r.value), r.mask};
}
ASMEVO_SEM subb_co_sat(const auto& d, auto a, auto b, auto borrow) {
  auto r = subb_co(d, a, b, borrow);
  return Out{d.select(r.mask, d.c32(0), r.value), r.mask};
}
ASMEVO_SEM subbrev_co_sat(const auto& d, auto a, auto b, auto borrow) {
  return subb_co_sat(d, b, a, borrow);
}
ASMEVO_SEM mad_u24_sat(const auto& d, auto a, auto b, auto c) {
  auto r = d.add(d.mul(d.zext(lo24(d, a)), d.zext(lo24(d, b))), d.zext(c));
  return d.lo(d.umin(r, d.c64(0xffffffff)));
}
ASMEVO_SEM clampI32(const auto& d, auto wide) {
  return d.lo(d.smax(d.smin(wide, d.c64(0x7fffffff)), d.c64(0xffffffff80000000)));
}
ASMEVO_SEM mad_i24_sat(const auto& d, auto a, auto b, auto c) {
  return clampI32(d, d.add(d.mul(d.sext(sext24(d, a)), d.sext(sext24(d, b))), d.sext(c)));
}
ASMEVO_SEM mad_u32_u16_sat(const auto& d, auto a, auto b, auto c) {
  return add_u32_sat(d, d.mul(lo16(d, a), lo16(d, b)), c);
}
ASMEVO_SEM mad_i32_i16_sat(const auto& d, auto a, auto b, auto c) {
  return add_i32_sat(d, d.mul(sext16(d, a), sext16(d, b)), c);
}

// Bit fields.
ASMEVO_SEM bfe_u32(const auto& d, auto a, auto offset, auto width) {
  auto w = d.and_(width, d.c32(31));
  return d.and_(d.shr(a, offset), d.sub(d.shl(d.c32(1), w), d.c32(1)));
}
ASMEVO_SEM bfe_i32(const auto& d, auto a, auto offset, auto width) {
  auto w = d.and_(width, d.c32(31));
  auto field = d.and_(d.sar(a, offset), d.sub(d.shl(d.c32(1), w), d.c32(1)));
  auto up = d.sub(d.c32(32), w);
  return d.select(d.eq(w, d.c32(0)), d.c32(0), d.sar(d.shl(field, up), up));
}
ASMEVO_SEM bfi(const auto& d, auto m, auto a, auto b) {
  return d.or_(d.and_(m, a), d.and_(d.not_(m), b));
}
ASMEVO_SEM bfm(const auto& d, auto width, auto offset) {
  return d.shl(d.sub(d.shl(d.c32(1), width), d.c32(1)), offset);
}
ASMEVO_SEM alignbit(const auto& d, auto high, auto low, auto n) {
  return d.lo(d.shr(d.pack(low, high), d.zext(d.and_(n, d.c32(31)))));
}
ASMEVO_SEM alignbyte(const auto& d, auto high, auto low, auto n) {
  return d.lo(d.shr(d.pack(low, high), d.zext(d.shl(d.and_(n, d.c32(3)), d.c32(3)))));
}
ASMEVO_SEM bcnt(const auto& d, auto a, auto b) {
  return d.add(d.popcount(a), b);
}
ASMEVO_SEM ffbh_u32(const auto& d, auto a) {
  return d.select(d.eq(a, d.c32(0)), d.c32(0xffffffff), d.clz(a));
}
ASMEVO_SEM ffbl_b32(const auto& d, auto a) {
  return d.select(d.eq(a, d.c32(0)), d.c32(0xffffffff), d.ctz(a));
}
/// Leading bits equal to the sign, all of them: -1.
ASMEVO_SEM ffbh_i32(const auto& d, auto a) {
  auto x = d.xor_(a, d.sar(a, d.c32(31)));
  return d.select(d.eq(x, d.c32(0)), d.c32(0xffffffff), d.clz(x));
}
ASMEVO_SEM cndmask(const auto& d, auto a, auto b, auto m) {
  return d.select(m, b, a);
}
/// Population count of the mask's bits below this lane, in its lower and upper half.
ASMEVO_SEM mbcnt_lo(const auto& d, auto m, auto base) {
  auto lane = d.lane();
  auto below = d.sub(d.shl(d.c32(1), lane), d.c32(1));
  auto all = d.select(d.ult(lane, d.c32(32)), below, d.c32(0xffffffff));
  return d.add(d.popcount(d.and_(m, all)), base);
}
ASMEVO_SEM mbcnt_hi(const auto& d, auto m, auto base) {
  auto lane = d.lane();
  auto below = d.sub(d.shl(d.c32(1), lane), d.c32(1));
  auto all = d.select(d.ult(lane, d.c32(32)), d.c32(0), below);
  return d.add(d.popcount(d.and_(m, all)), base);
}

/// One byte of v_perm: selector 0-3 byte of low, 4-7 of high, 8-11 the sign of bytes 1, 3 (low), 5, 7 (high), 12 zero,
/// above 0xff.
ASMEVO_SEM permByte(const auto& d, auto high, auto low, auto selector) {
  auto n = d.and_(selector, d.c32(0xff));
  auto isHigh = d.ne(d.and_(n, d.c32(4)), d.c32(0));
  auto plain = d.and_(d.shr(d.select(isHigh, high, low), d.shl(n, d.c32(3))), d.c32(0xff));
  auto signHigh = d.ne(d.and_(n, d.c32(2)), d.c32(0));
  auto signAt = d.or_(d.shl(n, d.c32(4)), d.c32(15));
  auto sign = d.sub(d.c32(0), d.and_(d.shr(d.select(signHigh, high, low), signAt), d.c32(1)));
  auto special =
      d.select(d.ult(n, d.c32(12)), d.and_(sign, d.c32(0xff)), d.select(d.eq(n, d.c32(12)), d.c32(0), d.c32(0xff)));
  return d.select(d.ult(n, d.c32(8)), plain, special);
}
ASMEVO_SEM perm(const auto& d, auto high, auto low, auto selector) {
  auto b0 = permByte(d, high, low, selector);
  auto b1 = permByte(d, high, low, d.shr(selector, d.c32(8)));
  auto b2 = permByte(d, high, low, d.shr(selector, d.c32(16)));
  auto b3 = permByte(d, high, low, d.shr(selector, d.c32(24)));
  return d.or_(d.or_(b0, d.shl(b1, d.c32(8))), d.or_(d.shl(b2, d.c32(16)), d.shl(b3, d.c32(24))));
}

// Sums of absolute differences.
ASMEVO_SEM absdiff(const auto& d, auto a, auto b) {
  return d.sub(d.umax(a, b), d.umin(a, b));
}
ASMEVO_SEM sad_u8(const auto& d, auto a, auto b, auto c) {
  auto s = d.add(absdiff(d, byteOf(d, a, 0), byteOf(d, b, 0)), absdiff(d, byteOf(d, a, 1), byteOf(d, b, 1)));
  auto t = d.add(absdiff(d, byteOf(d, a, 2), byteOf(d, b, 2)), absdiff(d, byteOf(d, a, 3), byteOf(d, b, 3)));
  return d.add(d.add(s, t), c);
}
ASMEVO_SEM sad_hi_u8(const auto& d, auto a, auto b, auto c) {
  return d.add(d.shl(sad_u8(d, a, b, d.c32(0)), d.c32(16)), c);
}
ASMEVO_SEM sad_u16(const auto& d, auto a, auto b, auto c) {
  return d.add(d.add(absdiff(d, lo16(d, a), lo16(d, b)), absdiff(d, hi16(d, a), hi16(d, b))), c);
}
ASMEVO_SEM sad_u32(const auto& d, auto a, auto b, auto c) {
  return d.add(absdiff(d, a, b), c);
}
/// Bytes whose reference (b) is 0 do not count.
ASMEVO_SEM maskedDiff(const auto& d, auto a, auto b) {
  return d.select(d.eq(b, d.c32(0)), d.c32(0), absdiff(d, a, b));
}
ASMEVO_SEM msad_u8(const auto& d, auto a, auto b, auto c) {
  auto s = d.add(maskedDiff(d, byteOf(d, a, 0), byteOf(d, b, 0)), maskedDiff(d, byteOf(d, a, 1), byteOf(d, b, 1)));
  auto t = d.add(maskedDiff(d, byteOf(d, a, 2), byteOf(d, b, 2)), maskedDiff(d, byteOf(d, a, 3), byteOf(d, b, 3)));
  return d.add(d.add(s, t), c);
}

#define ASMEVO_SATURATED(name)                                                                                         \
  ASMEVO_SEM name##_sat(const auto& d, auto a, auto b, auto c) {                                                       \
    return add_u32_sat(d, name(d, a, b, d.c32(0)), c);                                                                 \
  }
ASMEVO_SATURATED(sad_u8)
ASMEVO_SATURATED(sad_hi_u8)
ASMEVO_SATURATED(sad_u16)
ASMEVO_SATURATED(sad_u32)
ASMEVO_SATURATED(msad_u8)
#undef ASMEVO_SATURATED
/// Dword at byte offset `n` of a pair.
ASMEVO_SEM window(const auto& d, auto a, unsigned n) {
  return d.lo(d.shr(a, d.c64(8 * n)));
}
ASMEVO_SEM half64(const auto& d, auto c, unsigned n) {
  return d.and_(d.lo(d.shr(c, d.c64(16 * n))), d.c32(0xffff));
}
ASMEVO_SEM qsad_pk_u16_u8(const auto& d, auto a, auto b, auto c) {
  auto r0 = sad_u8(d, window(d, a, 0), b, half64(d, c, 0));
  auto r1 = sad_u8(d, window(d, a, 1), b, half64(d, c, 1));
  auto r2 = sad_u8(d, window(d, a, 2), b, half64(d, c, 2));
  auto r3 = sad_u8(d, window(d, a, 3), b, half64(d, c, 3));
  return d.pack(pack16(d, r0, r1), pack16(d, r2, r3));
}
ASMEVO_SEM mqsad_pk_u16_u8(const auto& d, auto a, auto b, auto c) {
  auto r0 = msad_u8(d, window(d, a, 0), b, half64(d, c, 0));
  auto r1 = msad_u8(d, window(d, a, 1), b, half64(d, c, 1));
  auto r2 = msad_u8(d, window(d, a, 2), b, half64(d, c, 2));
  auto r3 = msad_u8(d, window(d, a, 3), b, half64(d, c, 3));
  return d.pack(pack16(d, r0, r1), pack16(d, r2, r3));
}
ASMEVO_SEM mqsad_u32_u8(const auto& d, auto a, auto b, auto c) {
  auto r0 = msad_u8(d, window(d, a, 0), b, c.d0);
  auto r1 = msad_u8(d, window(d, a, 1), b, c.d1);
  auto r2 = msad_u8(d, window(d, a, 2), b, c.d2);
  auto r3 = msad_u8(d, window(d, a, 3), b, c.d3);
  return Quad<decltype(r0)>{r0, r1, r2, r3};
}
/// Per byte (a + b + (c & 1)) >> 1.
ASMEVO_SEM lerpByte(const auto& d, auto a, auto b, auto c, unsigned n) {
  auto sum = d.add(d.add(byteOf(d, a, n), byteOf(d, b, n)), d.and_(byteOf(d, c, n), d.c32(1)));
  return d.shl(d.shr(sum, d.c32(1)), d.c32(8 * n));
}
ASMEVO_SEM lerp_u8(const auto& d, auto a, auto b, auto c) {
  return d.or_(d.or_(lerpByte(d, a, b, c, 0), lerpByte(d, a, b, c, 1)),
               d.or_(lerpByte(d, a, b, c, 2), lerpByte(d, a, b, c, 3)));
}

// 16-bit integers: the low halves of the sources, the result in bits 15:0.
ASMEVO_SEM add_u16(const auto& d, auto a, auto b) {
  return lo16(d, d.add(a, b));
}
ASMEVO_SEM sub_u16(const auto& d, auto a, auto b) {
  return lo16(d, d.sub(a, b));
}
ASMEVO_SEM subrev_u16(const auto& d, auto a, auto b) {
  return lo16(d, d.sub(b, a));
}
ASMEVO_SEM mul_lo_u16(const auto& d, auto a, auto b) {
  return lo16(d, d.mul(a, b));
}
ASMEVO_SEM mad_u16(const auto& d, auto a, auto b, auto c) {
  return lo16(d, d.add(d.mul(a, b), c));
}
ASMEVO_SEM lshlrev_b16(const auto& d, auto n, auto a) {
  return lo16(d, d.shl(a, d.and_(n, d.c32(15))));
}
ASMEVO_SEM lshrrev_b16(const auto& d, auto n, auto a) {
  return d.shr(lo16(d, a), d.and_(n, d.c32(15)));
}
ASMEVO_SEM ashrrev_i16(const auto& d, auto n, auto a) {
  return lo16(d, d.sar(sext16(d, a), d.and_(n, d.c32(15))));
}
ASMEVO_SEM min_u16(const auto& d, auto a, auto b) {
  return d.umin(lo16(d, a), lo16(d, b));
}
ASMEVO_SEM max_u16(const auto& d, auto a, auto b) {
  return d.umax(lo16(d, a), lo16(d, b));
}
ASMEVO_SEM min_i16(const auto& d, auto a, auto b) {
  return lo16(d, d.smin(sext16(d, a), sext16(d, b)));
}
ASMEVO_SEM max_i16(const auto& d, auto a, auto b) {
  return lo16(d, d.smax(sext16(d, a), sext16(d, b)));
}
ASMEVO_SEM min3_u16(const auto& d, auto a, auto b, auto c) {
  return min3_u32(d, lo16(d, a), lo16(d, b), lo16(d, c));
}
ASMEVO_SEM max3_u16(const auto& d, auto a, auto b, auto c) {
  return max3_u32(d, lo16(d, a), lo16(d, b), lo16(d, c));
}
ASMEVO_SEM med3_u16(const auto& d, auto a, auto b, auto c) {
  return med3_u32(d, lo16(d, a), lo16(d, b), lo16(d, c));
}
ASMEVO_SEM min3_i16(const auto& d, auto a, auto b, auto c) {
  return lo16(d, min3_i32(d, sext16(d, a), sext16(d, b), sext16(d, c)));
}
ASMEVO_SEM max3_i16(const auto& d, auto a, auto b, auto c) {
  return lo16(d, max3_i32(d, sext16(d, a), sext16(d, b), sext16(d, c)));
}
ASMEVO_SEM med3_i16(const auto& d, auto a, auto b, auto c) {
  return lo16(d, med3_i32(d, sext16(d, a), sext16(d, b), sext16(d, c)));
}
ASMEVO_SEM clampU16(const auto& d, auto wide) {
  return d.smax(d.smin(wide, d.c32(0xffff)), d.c32(0));
}
ASMEVO_SEM clampI16(const auto& d, auto wide) {
  return lo16(d, d.smax(d.smin(wide, d.c32(0x7fff)), d.c32(0xffff8000)));
}
ASMEVO_SEM add_u16_sat(const auto& d, auto a, auto b) {
  return clampU16(d, d.add(lo16(d, a), lo16(d, b)));
}
ASMEVO_SEM sub_u16_sat(const auto& d, auto a, auto b) {
  return clampU16(d, d.sub(lo16(d, a), lo16(d, b)));
}
ASMEVO_SEM subrev_u16_sat(const auto& d, auto a, auto b) {
  return sub_u16_sat(d, b, a);
}
ASMEVO_SEM add_i16_sat(const auto& d, auto a, auto b) {
  return clampI16(d, d.add(sext16(d, a), sext16(d, b)));
}
ASMEVO_SEM sub_i16_sat(const auto& d, auto a, auto b) {
  return clampI16(d, d.sub(sext16(d, a), sext16(d, b)));
}
ASMEVO_SEM mad_u16_sat(const auto& d, auto a, auto b, auto c) {
  // The product is at most 0xfffe0001, so the sum does not wrap.
  return d.umin(d.add(d.mul(lo16(d, a), lo16(d, b)), lo16(d, c)), d.c32(0xffff));
}
ASMEVO_SEM mad_i16_sat(const auto& d, auto a, auto b, auto c) {
  return clampI16(d, d.add(d.mul(sext16(d, a), sext16(d, b)), sext16(d, c)));
}
/// Two signed halves to unsigned bytes with saturation.
ASMEVO_SEM clampU8(const auto& d, auto wide) {
  return d.smax(d.smin(wide, d.c32(0xff)), d.c32(0));
}
ASMEVO_SEM sat_pk_u8_i16(const auto& d, auto a) {
  return d.or_(clampU8(d, sext16(d, a)), d.shl(clampU8(d, sextHi16(d, a)), d.c32(8)));
}
ASMEVO_SEM pack_b32_f16(const auto& d, auto a, auto b) {
  return pack16(d, a, b);
}

// 64-bit moves are of two dwords.
ASMEVO_SEM mov64(const auto&, auto a) {
  return a;
}
ASMEVO_SEM pk_mov_b32(const auto&, auto a, auto b) {
  return Pair{a.lo, b.hi};
}

} // namespace asmevo::isa::semantics
