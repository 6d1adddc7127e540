/// The vector value domain: 16 lanes at a time. Included by *_simd.cpp only, which are built once per host vector
/// level; everything here is inlined into them. All levels give the same bits: every NaN result is canonical, every
/// constant and every order of operations is spelled out, and of library functions only exact ones are called (fma,
/// floor and the like, where the level lacks the instruction).
#pragma once

#include "emulator/alu/mode_state.h"
#include "emulator/alu/two_over_pi.h"
#include "isa/semantics/domain.h"

#include <cstdint>

#include <immintrin.h>

#define ASMEVO_LANE [[gnu::always_inline]] inline

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace flt = isa::semantics::flt;

using U16x16 = std::uint16_t __attribute__((ext_vector_type(16)));
using U32x16 = std::uint32_t __attribute__((ext_vector_type(16)));
using I32x16 = std::int32_t __attribute__((ext_vector_type(16)));
using F32x16 = float __attribute__((ext_vector_type(16)));
using H16x16 = _Float16 __attribute__((ext_vector_type(16)));
using U64x16 = std::uint64_t __attribute__((ext_vector_type(16)));
using I64x16 = std::int64_t __attribute__((ext_vector_type(16)));
using F64x16 = double __attribute__((ext_vector_type(16)));
using Mask16 = bool __attribute__((ext_vector_type(16)));

ASMEVO_LANE Mask16 maskOf(I32x16 x) {
  return __builtin_convertvector(x, Mask16);
}
ASMEVO_LANE Mask16 maskOf(I64x16 x) {
  return __builtin_convertvector(x, Mask16);
}
ASMEVO_LANE Mask16 maskFromBits(std::uint16_t bits) {
  return __builtin_bit_cast(Mask16, bits);
}
ASMEVO_LANE std::uint16_t bitsFromMask(Mask16 m) {
  return __builtin_bit_cast(std::uint16_t, m);
}
ASMEVO_LANE U32x16 blend(Mask16 m, U32x16 a, U32x16 b) {
  const I32x16 wide = -__builtin_convertvector(m, I32x16);
  return wide ? a : b;
}
ASMEVO_LANE U64x16 blend(Mask16 m, U64x16 a, U64x16 b) {
  const I64x16 wide = -__builtin_convertvector(m, I64x16);
  return wide ? a : b;
}
ASMEVO_LANE F32x16 asF32(U32x16 x) {
  return __builtin_bit_cast(F32x16, x);
}
ASMEVO_LANE U32x16 asU32(F32x16 x) {
  return __builtin_bit_cast(U32x16, x);
}
ASMEVO_LANE F64x16 asF64(U64x16 x) {
  return __builtin_bit_cast(F64x16, x);
}
ASMEVO_LANE U64x16 asU64(F64x16 x) {
  return __builtin_bit_cast(U64x16, x);
}
#if defined(__F16C__)
ASMEVO_LANE F32x16 halfToFloat(U32x16 a) {
  return __builtin_convertvector(__builtin_bit_cast(H16x16, __builtin_convertvector(a, U16x16)), F32x16);
}
ASMEVO_LANE U32x16 floatToHalf(F32x16 a) {
  return __builtin_convertvector(__builtin_bit_cast(U16x16, __builtin_convertvector(a, H16x16)), U32x16);
}
#else
ASMEVO_LANE F32x16 halfToFloat(U32x16 a) {
  const U32x16 magnitude = (a & U32x16(0x7fff)) << U32x16(13), sign = (a & U32x16(0x8000)) << U32x16(16);
  // Exponent and fraction in f32's place are the number times 2^-112; an infinity or NaN keeps all ones.
  const U32x16 special = (U32x16)(magnitude >= U32x16(0x0f800000)) & U32x16(0x7f800000);
  return asF32(asU32(asF32(magnitude) * F32x16(0x1p112f)) | special | sign);
}
/// Rounds as MXCSR says, as the conversion instruction does.
ASMEVO_LANE U32x16 floatToHalf(F32x16 a) {
  const unsigned round = _mm_getcsr() >> 13 & 3; // 0 nearest, 1 down, 2 up, 3 to zero
  U32x16 r;
  for (unsigned i = 0; i < 16; ++i) {
    const std::uint32_t bits = asU32(a)[i], magnitude = bits & 0x7fffffff, sign = bits >> 31;
    const std::uint32_t exponent = magnitude >> 23;
    const std::uint32_t mantissa = (magnitude & 0x7fffff) | (exponent ? 0x800000u : 0u);
    const std::uint32_t shift = exponent >= 113 ? 13 : exponent >= 101 ? 126 - exponent : 25;
    const std::uint32_t quotient = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    const bool away = round == 0 ? rest > half || (rest == half && (quotient & 1)) : rest != 0 && round == 2 - sign;
    std::uint32_t code = quotient + away + (exponent >= 113 ? (exponent - 113) << 10 : 0);
    if (code >= 0x7c00)
      code = magnitude == 0x7f800000 || round == 0 || round == 2 - sign ? 0x7c00 : 0x7bff;
    if (magnitude > 0x7f800000)
      code = 0x7e00 | (magnitude >> 13 & 0x1ff);
    r[i] = code | sign << 15;
  }
  return r;
}
#endif
ASMEVO_LANE F64x16 widen(F32x16 a) {
  return __builtin_convertvector(a, F64x16);
}
ASMEVO_LANE F32x16 narrowed(F64x16 a) {
  return __builtin_convertvector(a, F32x16);
}
ASMEVO_LANE U64x16 splat64(std::uint64_t x) {
  return U64x16(x);
}
ASMEVO_LANE F64x16 fma64(F64x16 a, F64x16 b, F64x16 c) {
  return __builtin_elementwise_fma(a, b, c);
}

// Polynomials in double precision, evaluated by Horner's rule from the highest power. Errors stay below 2^-50 relative,
// so that rounding to f32 (24 bits) or f16 gives the correctly rounded result but for values within 2^-26 ulp of a tie.
// The coefficients of the first two interpolate the function at the Chebyshev nodes of the interval, in 80 decimal
// digits.
template <std::size_t N> ASMEVO_LANE F64x16 polynomial(const double (&c)[N], F64x16 x) {
  F64x16 p = F64x16(c[0]);
#pragma clang loop unroll(full)
  for (std::size_t i = 1; i < N; ++i)
    p = fma64(p, x, F64x16(c[i]));
  return p;
}

/// 2^x for |x| <= 1000: 1 + r * q(r) for the part r in [-1/2, 1/2], scaled by the integer part.
ASMEVO_LANE F64x16 exp2Double(F64x16 x) {
  constexpr double q[] = {0x1.e5e9f548e5726p-28, 0x1.b6571de2f2351p-24, 0x1.62bfe46117445p-20, 0x1.ffcb76789860fp-17,
                          0x1.4309130378460p-13, 0x1.5d87fe908f88ap-10, 0x1.3b2ab6fba385fp-7,  0x1.c6b08d7044119p-5,
                          0x1.ebfbdff82c590p-3,  0x1.62e42fefa39f7p-1};
  const F64x16 magic = F64x16(0x1.8p52); // adding it leaves the nearest integer in the low bits
  const F64x16 shifted = x + magic;
  const F64x16 r = x - (shifted - magic);
  const F64x16 p = fma64(polynomial(q, r), r, F64x16(1.0));
  const U64x16 scale = (asU64(shifted) + splat64(1023)) << splat64(52);
  return p * asF64(scale);
}

/// log2 of a positive, normal, finite double: exponent plus s * g(s * s), s = (m - 1) / (m + 1) of the mantissa m in
/// [sqrt(1/2), sqrt(2)).
ASMEVO_LANE F64x16 log2Double(F64x16 x) {
  constexpr double g[] = {0x1.b597fa24f2a0ap-3, 0x1.c46d962875e48p-3, 0x1.0ca162bd4a289p-2, 0x1.484afb6f51a25p-2,
                          0x1.a61762d6ae235p-2, 0x1.2776c50ee38ecp-1, 0x1.ec709dc3a047dp-1, 0x1.71547652b82fep+1};
  const U64x16 bits = asU64(x);
  const U64x16 fraction = bits & splat64(0x000fffffffffffff);
  const Mask16 high = maskOf(fraction >= splat64(0x6a09e667f3bcd));
  const U64x16 up = blend(high, splat64(1), splat64(0));
  const F64x16 m = asF64(fraction | ((splat64(1023) - up) << splat64(52)));
  const F64x16 magic = F64x16(0x1.8p52);
  const F64x16 e = asF64(asU64(magic) + (bits >> splat64(52)) + up - splat64(1023)) - magic;
  const F64x16 s = (m - F64x16(1.0)) / (m + F64x16(1.0));
  return fma64(polynomial(g, s * s), s, e);
}

/// Sine (cosine) of x revolutions: exact reduction to an eighth of a turn, Taylor series.
template <bool Cosine> ASMEVO_LANE F64x16 sinTurns(F64x16 x) {
  const F64x16 r = x - __builtin_elementwise_roundeven(x);
  const F64x16 magic = F64x16(0x1.8p52);
  const F64x16 shifted = r * F64x16(4.0) + magic;
  const F64x16 y = (r - (shifted - magic) * F64x16(0.25)) * F64x16(0x1.921fb54442d18p+2);
  const F64x16 z = y * y;
  constexpr double sc[] = {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                           -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  constexpr double cc[] = {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                           1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0,        -0.5};
  const F64x16 sp = polynomial(sc, z), cp = polynomial(cc, z);
  const F64x16 s = fma64(sp, z * y, y);
  const F64x16 c = fma64(cp, z, F64x16(1.0));
  const U64x16 quadrant = asU64(shifted) + splat64(Cosine ? 1 : 0);
  const Mask16 swap = maskOf((quadrant & splat64(1)) != splat64(0));
  const U64x16 sign = (quadrant & splat64(2)) << splat64(62);
  return asF64(blend(swap, asU64(c), asU64(s)) ^ sign);
}

/// P: FixedMode (flags known when compiling) or ModeState.
template <class P> struct Lanes {
  using B32 = U32x16;
  using B64 = U64x16;
  using Mask = Mask16;
  const P& mode;
  unsigned firstLane = 0;

  // Constants.
  ASMEVO_LANE B32 c32(std::uint32_t x) const { return B32(x); }
  ASMEVO_LANE B64 c64(std::uint64_t x) const { return B64(x); }
  ASMEVO_LANE Mask cmask(bool x) const { return maskFromBits(x ? 0xffff : 0); }
  ASMEVO_LANE B32 lane() const {
    constexpr B32 iota = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return iota + B32(firstLane);
  }

  // Integers.
  template <class V> ASMEVO_LANE V add(V a, V b) const { return a + b; }
  template <class V> ASMEVO_LANE V sub(V a, V b) const { return a - b; }
  template <class V> ASMEVO_LANE V mul(V a, V b) const { return a * b; }
  template <class V> ASMEVO_LANE V and_(V a, V b) const { return a & b; }
  template <class V> ASMEVO_LANE V or_(V a, V b) const { return a | b; }
  template <class V> ASMEVO_LANE V xor_(V a, V b) const { return a ^ b; }
  template <class V> ASMEVO_LANE V not_(V a) const { return ~a; }
  ASMEVO_LANE B32 shl(B32 a, B32 n) const { return a << (n & B32(31)); }
  ASMEVO_LANE B64 shl(B64 a, B64 n) const { return a << (n & B64(63)); }
  ASMEVO_LANE B32 shr(B32 a, B32 n) const { return a >> (n & B32(31)); }
  ASMEVO_LANE B64 shr(B64 a, B64 n) const { return a >> (n & B64(63)); }
  ASMEVO_LANE B32 sar(B32 a, B32 n) const { return (B32)((I32x16)a >> (I32x16)(n & B32(31))); }
  ASMEVO_LANE B64 sar(B64 a, B64 n) const { return (B64)((I64x16)a >> (I64x16)(n & B64(63))); }
  template <class V> ASMEVO_LANE Mask eq(V a, V b) const { return maskOf(a == b); }
  template <class V> ASMEVO_LANE Mask ne(V a, V b) const { return maskOf(a != b); }
  template <class V> ASMEVO_LANE Mask ult(V a, V b) const { return maskOf(a < b); }
  template <class V> ASMEVO_LANE Mask ule(V a, V b) const { return maskOf(a <= b); }
  ASMEVO_LANE Mask slt(B32 a, B32 b) const { return maskOf((I32x16)a < (I32x16)b); }
  ASMEVO_LANE Mask slt(B64 a, B64 b) const { return maskOf((I64x16)a < (I64x16)b); }
  ASMEVO_LANE Mask sle(B32 a, B32 b) const { return maskOf((I32x16)a <= (I32x16)b); }
  ASMEVO_LANE Mask sle(B64 a, B64 b) const { return maskOf((I64x16)a <= (I64x16)b); }
  template <class V> ASMEVO_LANE V select(Mask m, V a, V b) const { return blend(m, a, b); }
  template <class V> ASMEVO_LANE V umin(V a, V b) const { return __builtin_elementwise_min(a, b); }
  template <class V> ASMEVO_LANE V umax(V a, V b) const { return __builtin_elementwise_max(a, b); }
  ASMEVO_LANE B32 smin(B32 a, B32 b) const { return (B32)__builtin_elementwise_min((I32x16)a, (I32x16)b); }
  ASMEVO_LANE B32 smax(B32 a, B32 b) const { return (B32)__builtin_elementwise_max((I32x16)a, (I32x16)b); }
  ASMEVO_LANE B64 smin(B64 a, B64 b) const { return (B64)__builtin_elementwise_min((I64x16)a, (I64x16)b); }
  ASMEVO_LANE B64 smax(B64 a, B64 b) const { return (B64)__builtin_elementwise_max((I64x16)a, (I64x16)b); }
  template <class V> ASMEVO_LANE V popcount(V a) const { return __builtin_elementwise_popcount(a); }
  template <class V> ASMEVO_LANE V brev(V a) const { return __builtin_elementwise_bitreverse(a); }
  ASMEVO_LANE B32 clz(B32 a) const { return __builtin_elementwise_clzg(a, B32(32)); }
  ASMEVO_LANE B64 clz(B64 a) const { return __builtin_elementwise_clzg(a, B64(64)); }
  ASMEVO_LANE B32 ctz(B32 a) const { return __builtin_elementwise_ctzg(a, B32(32)); }
  ASMEVO_LANE B64 ctz(B64 a) const { return __builtin_elementwise_ctzg(a, B64(64)); }
  ASMEVO_LANE B64 zext(B32 a) const { return __builtin_convertvector(a, B64); }
  ASMEVO_LANE B64 sext(B32 a) const { return (B64) __builtin_convertvector((I32x16)a, I64x16); }
  ASMEVO_LANE B32 lo(B64 a) const { return __builtin_convertvector(a, B32); }
  ASMEVO_LANE B32 hi(B64 a) const { return __builtin_convertvector(a >> B64(32), B32); }
  ASMEVO_LANE B64 pack(B32 low, B32 high) const { return zext(low) | (zext(high) << B64(32)); }
  ASMEVO_LANE B32 mulHiU(B32 a, B32 b) const { return hi(zext(a) * zext(b)); }
  ASMEVO_LANE B32 mulHiS(B32 a, B32 b) const { return hi(sext(a) * sext(b)); }
  ASMEVO_LANE B32 bit(Mask m) const { return blend(m, B32(1), B32(0)); }

  // Masks.
  ASMEVO_LANE Mask mand(Mask a, Mask b) const { return a & b; }
  ASMEVO_LANE Mask mor(Mask a, Mask b) const { return a | b; }
  ASMEVO_LANE Mask mxor(Mask a, Mask b) const { return a ^ b; }
  ASMEVO_LANE Mask mnot(Mask a) const { return a ^ cmask(true); }

  // Denormals. A denormal becomes a zero of its sign.
  ASMEVO_LANE B32 flushed(flt::F32, B32 a) const {
    return blend(maskOf((a & B32(0x7f800000)) == B32(0)), a & B32(0x80000000), a);
  }
  ASMEVO_LANE B32 flushed(flt::F16, B32 a) const {
    return blend(maskOf((a & B32(0x7c00)) == B32(0)), a & B32(0x8000), a);
  }
  ASMEVO_LANE B64 flushed(flt::F64, B64 a) const {
    return blend(maskOf((a & B64(0x7ff0000000000000)) == B64(0)), a & B64(0x8000000000000000), a);
  }
  ASMEVO_LANE B32 fin(flt::F32 f, B32 a) const { return mode.in32 ? flushed(f, a) : a; }
  ASMEVO_LANE B32 fin(flt::F16 f, B32 a) const { return mode.in64 ? flushed(f, a) : a; }
  ASMEVO_LANE B64 fin(flt::F64 f, B64 a) const { return mode.in64 ? flushed(f, a) : a; }
  ASMEVO_LANE B32 fout(flt::F32 f, B32 a) const { return mode.out32 ? flushed(f, a) : a; }
  ASMEVO_LANE B32 fout(flt::F16 f, B32 a) const { return mode.out64 ? flushed(f, a) : a; }
  ASMEVO_LANE B64 fout(flt::F64 f, B64 a) const { return mode.out64 ? flushed(f, a) : a; }

  // From bits to host floats and back; f16 computes in f32, where + and * need no second look (24 >= 2 * 11 + 2 bits).
  ASMEVO_LANE F32x16 load(flt::F32 f, B32 a) const { return asF32(fin(f, a)); }
  ASMEVO_LANE F32x16 load(flt::F16 f, B32 a) const { return halfToFloat(fin(f, a)); }
  ASMEVO_LANE F64x16 load(flt::F64 f, B64 a) const { return asF64(fin(f, a)); }
  ASMEVO_LANE B32 canonical(F32x16 r) const { return blend(maskOf(r != r), B32(0x7fc00000), asU32(r)); }
  ASMEVO_LANE B64 canonical(F64x16 r) const { return blend(maskOf(r != r), B64(0x7ff8000000000000), asU64(r)); }
  ASMEVO_LANE B32 store(flt::F32 f, F32x16 r) const { return fout(f, canonical(r)); }
  ASMEVO_LANE B32 store(flt::F16 f, F32x16 r) const { return fout(f, floatToHalf(asF32(canonical(r)))); }
  ASMEVO_LANE B64 store(flt::F64 f, F64x16 r) const { return fout(f, canonical(r)); }

  // Arithmetic.
  template <class F, class V> ASMEVO_LANE V fadd(F f, V a, V b) const { return store(f, load(f, a) + load(f, b)); }
  template <class F, class V> ASMEVO_LANE V fmul(F f, V a, V b) const { return store(f, load(f, a) * load(f, b)); }
  template <class F, class V> ASMEVO_LANE V ffma(F f, V a, V b, V c) const {
    if constexpr (F::bits == 16)
      return store(f, halfFma(load(f, a), load(f, b), load(f, c)));
    else
      return store(f, __builtin_elementwise_fma(load(f, a), load(f, b), load(f, c)));
  }
  /// The f32 product of two halfs is exact; the sum is rounded to odd, so that rounding to half is the only rounding.
  ASMEVO_LANE F32x16 halfFma(F32x16 a, F32x16 b, F32x16 c) const {
    const F32x16 p = a * b;
    const F32x16 s = p + c;
    if (!mode.nearest)
      return s;
    const F32x16 part = s - p;
    const F32x16 error = (p - (s - part)) + (c - part);
    const U32x16 bits = asU32(s);
    const U32x16 step = blend(maskOf((asU32(error) ^ bits) >= U32x16(0x80000000)), U32x16(0xffffffff), U32x16(1));
    const Mask16 inexact = maskOf(error < F32x16(0)) | maskOf(error > F32x16(0));
    const Mask16 even = maskOf((bits & U32x16(1)) == U32x16(0));
    return asF32(blend(inexact & even, bits + step, bits));
  }
  template <class F, class V> ASMEVO_LANE V ffloor(F f, V a) const {
    return store(f, __builtin_elementwise_floor(load(f, a)));
  }
  template <class F, class V> ASMEVO_LANE V fceil(F f, V a) const {
    return store(f, __builtin_elementwise_ceil(load(f, a)));
  }
  template <class F, class V> ASMEVO_LANE V ftrunc(F f, V a) const {
    return store(f, __builtin_elementwise_trunc(load(f, a)));
  }
  template <class F, class V> ASMEVO_LANE V frndne(F f, V a) const {
    return store(f, __builtin_elementwise_roundeven(load(f, a)));
  }
  template <class F, class V> ASMEVO_LANE Mask feq(F f, V a, V b) const { return maskOf(load(f, a) == load(f, b)); }
  template <class F, class V> ASMEVO_LANE Mask flt(F f, V a, V b) const { return maskOf(load(f, a) < load(f, b)); }
  template <class F, class V> ASMEVO_LANE Mask fle(F f, V a, V b) const { return maskOf(load(f, a) <= load(f, b)); }
  template <class F, class V> ASMEVO_LANE Mask funord(F f, V a, V b) const {
    const auto x = load(f, a), y = load(f, b);
    return maskOf(x != x) | maskOf(y != y);
  }
  template <class F, class V> ASMEVO_LANE V bitsLike(F, V, std::uint64_t x) const {
    if constexpr (F::bits == 64)
      return V(x);
    else
      return V(static_cast<std::uint32_t>(x));
  }
  template <class F, class V> ASMEVO_LANE V fmin(F f, V a, V b) const { return minMax<false>(f, a, b); }
  template <class F, class V> ASMEVO_LANE V fmax(F f, V a, V b) const { return minMax<true>(f, a, b); }
  /// +0 is above -0. IEEE mode: a signaling NaN is quieted and wins; else a number wins over a NaN, and the second
  /// operand over the first of two NaNs.
  template <bool Max, class F, class V> ASMEVO_LANE V minMax(F f, V a, V b) const {
    V x = fin(f, a), y = fin(f, b);
    if constexpr (F::bits == 16) {
      x &= V(0xffff);
      y &= V(0xffff);
    }
    const auto p = hostOf(f, x), q = hostOf(f, y);
    const V tie = Max ? x & y : x | y;
    V r = blend(maskOf(p == q), tie, y);
    r = blend(Max ? maskOf(q < p) : maskOf(p < q), x, r);
    r = blend(maskOf(q != q) & maskOf(p == p), x, r); // of two NaNs the second stays
    if (mode.ieee) {
      const V quietBit = bitsLike(f, x, flt::quietBit<F>), zero = bitsLike(f, x, 0);
      r = blend(maskOf(q != q) & maskOf((y & quietBit) == zero), y | quietBit, r);
      r = blend(maskOf(p != p) & maskOf((x & quietBit) == zero), x | quietBit, r);
    }
    return r;
  }
  ASMEVO_LANE F32x16 hostOf(flt::F32, B32 a) const { return asF32(a); }
  ASMEVO_LANE F32x16 hostOf(flt::F16, B32 a) const { return halfToFloat(a); }
  ASMEVO_LANE F64x16 hostOf(flt::F64, B64 a) const { return asF64(a); }

  /// a * 2^n, rounded once.
  ASMEVO_LANE B32 fldexp(flt::F32 f, B32 a, B32 n) const {
    const B32 bounded = smax(smin(n, B32(300)), B32(static_cast<std::uint32_t>(-300)));
    const F64x16 scale = asF64((sext(bounded) + B64(1023)) << B64(52));
    return store(f, narrowed(widen(load(f, a)) * scale));
  }
  ASMEVO_LANE B32 fldexp(flt::F16 f, B32 a, B32 n) const {
    const B32 bounded = smax(smin(n, B32(60)), B32(static_cast<std::uint32_t>(-60)));
    return store(f, load(f, a) * asF32((bounded + B32(127)) << B32(23)));
  }
  ASMEVO_LANE B64 fldexp(flt::F64 f, B64 a, B32 n) const {
    const B64 bounded = sext(smax(smin(n, B32(4200)), B32(static_cast<std::uint32_t>(-4200))));
    const F64x16 x = load(f, a);
    // Denormals are made normal first; then the exponent field is set, 64 above the wanted one where that is not
    // normal, and one multiplication rounds.
    const Mask16 denormal = maskOf((asU64(x) & B64(0x7ff0000000000000)) == B64(0));
    const F64x16 normal = asF64(blend(denormal, asU64(x * F64x16(0x1p64)), asU64(x)));
    const B64 field = (asU64(normal) >> B64(52)) & B64(0x7ff);
    const B64 wanted = field + bounded - blend(denormal, B64(64), B64(0));
    const Mask16 low = slt(wanted, B64(1));
    const B64 lifted = smax(wanted + B64(64), B64(1));
    const Mask16 high = slt(B64(2046), wanted);
    const B64 fraction = asU64(normal) & B64(0x800fffffffffffff);
    const F64x16 inRange = asF64(fraction | (blend(low, lifted, blend(high, B64(2046), wanted)) << B64(52)));
    const F64x16 last =
        asF64(blend(low, B64(0x3bf0000000000000), blend(high, B64(0x4000000000000000), B64(0x3ff0000000000000))));
    // Above the range: 2^1023 * 2 or more overflows by the rounding mode.
    const Mask16 kept = maskOf(x == F64x16(0)) | maskOf(field == B64(0x7ff));
    return store(f, asF64(blend(kept, asU64(x), asU64(inRange * last))));
  }

  // Transcendentals.
  ASMEVO_LANE B32 fexp(flt::F32 f, B32 a) const { return flushed(f, canonical(expOf(asF32(flushed(f, a))))); }
  ASMEVO_LANE B32 fexp(flt::F16 f, B32 a) const { return store(f, expOf<true>(load(f, a))); }
  ASMEVO_LANE B32 flog(flt::F32 f, B32 a) const { return flushed(f, canonical(logOf(asF32(flushed(f, a))))); }
  ASMEVO_LANE B32 flog(flt::F16 f, B32 a) const { return store(f, logOf(load(f, a))); }
  ASMEVO_LANE B32 frcp(flt::F32 f, B32 a) const { return flushed(f, canonical(F32x16(1.0f) / asF32(flushed(f, a)))); }
  ASMEVO_LANE B32 frcp(flt::F16 f, B32 a) const { return store(f, F32x16(1.0f) / load(f, a)); }
  ASMEVO_LANE B64 frcp(flt::F64 f, B64 a) const { return store(f, F64x16(1.0) / load(f, a)); }
  ASMEVO_LANE B32 fsqrt(flt::F32 f, B32 a) const { return canonical(__builtin_elementwise_sqrt(asF32(flushed(f, a)))); }
  ASMEVO_LANE B32 fsqrt(flt::F16 f, B32 a) const { return store(f, __builtin_elementwise_sqrt(load(f, a))); }
  ASMEVO_LANE B64 fsqrt(flt::F64 f, B64 a) const { return store(f, __builtin_elementwise_sqrt(load(f, a))); }
  ASMEVO_LANE F32x16 rsqOf(F32x16 x) const { return narrowed(F64x16(1.0) / __builtin_elementwise_sqrt(widen(x))); }
  ASMEVO_LANE B32 frsq(flt::F32 f, B32 a) const { return canonical(rsqOf(asF32(flushed(f, a)))); }
  ASMEVO_LANE B32 frsq(flt::F16 f, B32 a) const { return store(f, rsqOf(load(f, a))); }
  /// One correction step takes 1/sqrt from two roundings to (nearly always) the correctly rounded value.
  ASMEVO_LANE B64 frsq(flt::F64 f, B64 a) const {
    const F64x16 x = load(f, a);
    const F64x16 y = F64x16(1.0) / __builtin_elementwise_sqrt(x);
    const F64x16 product = x * y;
    const F64x16 productError = fma64(x, y, -product);
    const F64x16 residual = fma64(-product, y, F64x16(1.0)) - productError * y;
    const F64x16 better = fma64(y * F64x16(0.5), residual, y);
    const Mask16 ordinary = maskOf(x > F64x16(0)) & maskOf(x < F64x16(__builtin_inf()));
    return store(f, asF64(blend(ordinary, asU64(better), asU64(y))));
  }
  /// A positive number as f32; of the two next to an inexact one that with an odd last place, so that rounding it to
  /// half is the only rounding.
  ASMEVO_LANE F32x16 narrowedToOdd(F64x16 a) const {
    const F32x16 r = narrowed(a);
    if (!mode.nearest)
      return r;
    const U32x16 bits = asU32(r), step = blend(maskOf(widen(r) < a), U32x16(1), U32x16(0xffffffff));
    const Mask16 even = maskOf((bits & U32x16(1)) == U32x16(0));
    return asF32(blend(maskOf(widen(r) != a) & even, bits + step, bits));
  }
  template <bool ToOdd = false> ASMEVO_LANE F32x16 expOf(F32x16 x) const {
    const F32x16 bounded = __builtin_elementwise_min(__builtin_elementwise_max(x, F32x16(-400.0f)), F32x16(400.0f));
    const F64x16 wide = exp2Double(widen(bounded));
    const F32x16 r = ToOdd ? narrowedToOdd(wide) : narrowed(wide);
    // NaN and +inf are their own result; a round mode would keep the latter finite.
    return asF32(blend(maskOf(x < F32x16(__builtin_inff())), asU32(r), asU32(x)));
  }
  ASMEVO_LANE F32x16 logOf(F32x16 x) const {
    const F32x16 infinity = F32x16(__builtin_inff());
    const Mask16 ordinary = maskOf(x > F32x16(0)) & maskOf(x < infinity);
    const F32x16 safe = asF32(blend(ordinary, asU32(x), asU32(F32x16(1.0f))));
    const F32x16 r = narrowed(log2Double(widen(safe)));
    const U32x16 special = blend(maskOf(x == F32x16(0)), U32x16(0xff800000),
                                 blend(maskOf(x == infinity), U32x16(0x7f800000), U32x16(0x7fc00000)));
    return asF32(blend(ordinary, asU32(r), special));
  }
  ASMEVO_LANE B32 fsin(flt::F32 f, B32 a) const {
    return flushed(f, canonical(narrowed(sinTurns<false>(widen(asF32(flushed(f, a)))))));
  }
  ASMEVO_LANE B32 fcos(flt::F32 f, B32 a) const {
    return flushed(f, canonical(narrowed(sinTurns<true>(widen(asF32(flushed(f, a)))))));
  }
  ASMEVO_LANE B32 fsin(flt::F16 f, B32 a) const { return store(f, narrowed(sinTurns<false>(widen(load(f, a))))); }
  ASMEVO_LANE B32 fcos(flt::F16 f, B32 a) const { return store(f, narrowed(sinTurns<true>(widen(load(f, a))))); }

  // Conversions.
  ASMEVO_LANE B32 f32FromF16(B32 a) const { return canonical(load(flt::F16{}, a)); }
  ASMEVO_LANE B32 f16FromF32(B32 a) const { return store(flt::F16{}, load(flt::F32{}, a)); }
  ASMEVO_LANE B32 f16FromF32Rtz(B32 a) const { return fout(flt::F16{}, halfTowardZero(fin(flt::F32{}, a))); }
  /// Truncation on the bits: no conversion instruction with a fixed mode is needed.
  ASMEVO_LANE B32 halfTowardZero(B32 a) const {
    const B32 sign = (a >> B32(16)) & B32(0x8000);
    const B32 magnitude = a & B32(0x7fffffff);
    const B32 normal = (magnitude - B32(112u << 23)) >> B32(13);
    const B32 mantissa = (magnitude & B32(0x7fffff)) | B32(0x800000);
    const B32 amount = umin(B32(126) - (magnitude >> B32(23)), B32(31));
    const B32 small = blend(ult(magnitude, B32(102u << 23)), B32(0), mantissa >> amount);
    B32 r = blend(ult(magnitude, B32(113u << 23)), small, normal);
    r = blend(ule(B32(143u << 23), magnitude), B32(0x7bff), r);
    r = blend(eq(magnitude, B32(0x7f800000)), B32(0x7c00), r);
    return blend(ult(B32(0x7f800000), magnitude), B32(0x7e00), r | sign);
  }
  ASMEVO_LANE B64 f64FromF32(B32 a) const { return canonical(widen(load(flt::F32{}, a))); }
  ASMEVO_LANE B32 f32FromF64(B64 a) const { return store(flt::F32{}, narrowed(load(flt::F64{}, a))); }
  ASMEVO_LANE B32 f32FromI32(B32 a) const { return asU32(__builtin_convertvector((I32x16)a, F32x16)); }
  /// One rounding, of an exact product and sum: a difference of large numbers would give -0 for 0 when rounding down.
  ASMEVO_LANE B32 f32FromU32(B32 a) const {
    const F32x16 high = __builtin_convertvector((I32x16)(a >> B32(16)), F32x16);
    const F32x16 low = __builtin_convertvector((I32x16)(a & B32(0xffff)), F32x16);
    return asU32(__builtin_elementwise_fma(high, F32x16(65536.0f), low));
  }
  ASMEVO_LANE B64 f64FromI32(B32 a) const { return asU64(__builtin_convertvector((I32x16)a, F64x16)); }
  /// 2^52 + a is exact; rounding down, 0 would come out negative.
  ASMEVO_LANE B64 f64FromU32(B32 a) const {
    return asU64(asF64(zext(a) | B64(0x4330000000000000)) - F64x16(0x1p52)) & B64(0x7fffffffffffffff);
  }
  ASMEVO_LANE B32 i32FromF32(B32 a) const {
    const F32x16 x = asF32(a);
    const Mask16 inside = maskOf(x >= F32x16(-0x1p31f)) & maskOf(x < F32x16(0x1p31f));
    const F32x16 safe = asF32(blend(inside, a, B32(0)));
    const B32 r = (B32) __builtin_convertvector(safe, I32x16);
    return saturated(inside, r, maskOf(x >= F32x16(0x1p31f)), 0x7fffffff, maskOf(x < F32x16(-0x1p31f)), 0x80000000);
  }
  ASMEVO_LANE B32 u32FromF32(B32 a) const { return u32FromF64(asU64(widen(asF32(a)))); }
  ASMEVO_LANE B32 i32FromF64(B64 a) const {
    const F64x16 x = asF64(a);
    const Mask16 inside = maskOf(x > F64x16(-2147483649.0)) & maskOf(x < F64x16(2147483648.0));
    const F64x16 safe = asF64(blend(inside, a, B64(0)));
    const B32 r = (B32) __builtin_convertvector(safe, I32x16);
    return saturated(inside, r, maskOf(x >= F64x16(2147483648.0)), 0x7fffffff, maskOf(x <= F64x16(-2147483649.0)),
                     0x80000000);
  }
  /// trunc(x) + 2^52 holds the integer in its low bits.
  ASMEVO_LANE B32 u32FromF64(B64 a) const {
    const F64x16 x = asF64(a);
    const Mask16 inside = maskOf(x >= F64x16(0.0)) & maskOf(x < F64x16(0x1p32));
    const F64x16 safe = __builtin_elementwise_trunc(asF64(blend(inside, a, B64(0))));
    return saturated(inside, lo(asU64(safe + F64x16(0x1p52))), maskOf(x >= F64x16(0x1p32)), 0xffffffff, cmask(false),
                     0);
  }
  ASMEVO_LANE B32 saturated(Mask16 inside, B32 r, Mask16 above, std::uint32_t top, Mask16 below,
                            std::uint32_t bottom) const {
    return blend(inside, r, blend(above, B32(top), blend(below, B32(bottom), B32(0))));
  }

  // FNUZ 8-bit floats: no infinity, no -0, 0x80 is NaN; e4m3 has bias 8, e5m2 bias 16. Their bits moved into an f32's
  // exponent and fraction are the number times a power of two, denormals included.
  ASMEVO_LANE B32 f32FromFp8(B32 a) const { return smallFloat<20>(a, 0x1p119f); }
  ASMEVO_LANE B32 f32FromBf8(B32 a) const { return smallFloat<21>(a, 0x1p111f); }
  template <unsigned Shift> ASMEVO_LANE B32 smallFloat(B32 a, float scale) const {
    const B32 magnitude = (a & B32(0x7f)) << B32(Shift);
    const B32 r = asU32(asF32(magnitude) * F32x16(scale)) | ((a & B32(0x80)) << B32(24));
    return blend(eq(a, B32(0x80)), B32(0x7fc00000), r);
  }
  ASMEVO_LANE B32 fp8FromF32(B32 a) const { return toSmallFloat<20, 119>(a, B32(0), false); }
  ASMEVO_LANE B32 bf8FromF32(B32 a) const { return toSmallFloat<21, 111>(a, B32(0), false); }
  ASMEVO_LANE B32 fp8FromF32Sr(B32 a, B32 random) const { return toSmallFloat<20, 119>(a, random, true); }
  ASMEVO_LANE B32 bf8FromF32Sr(B32 a, B32 random) const { return toSmallFloat<21, 111>(a, random, true); }
  /// Drop: fraction bits that go away; Rebias: f32 exponent field of the result's field 0. Nearest-even, or the random
  /// bits added below the kept ones and the rest cut off. MODE.FP16_OVFL: finite overflow gives the largest number.
  template <unsigned Drop, unsigned Rebias> ASMEVO_LANE B32 toSmallFloat(B32 x, B32 random, bool stochastic) const {
    const B32 a = fin(flt::F32{}, x);
    const B32 magnitude = a & B32(0x7fffffff);
    const B32 field = magnitude >> B32(23);
    const B32 mantissa = (magnitude & B32(0x7fffff)) | blend(eq(field, B32(0)), B32(0), B32(0x800000));
    const Mask16 normal = ult(B32(Rebias), field);
    const B32 amount = blend(normal, B32(Drop), umin(B32(Drop + Rebias + 1) - field, B32(26)));
    const B32 nearest = (B32(1) << (amount - B32(1))) - B32(1) + ((mantissa >> amount) & B32(1));
    const B32 addend = stochastic ? random >> (B32(32) - amount) : nearest;
    const B32 quotient = (mantissa + addend) >> amount;
    const B32 code = quotient + blend(normal, (field - B32(Rebias + 1)) << B32(23 - Drop), B32(0));
    const Mask16 special = ule(B32(0x7f800000), magnitude);
    const Mask16 over = ult(B32(0x7f), code);
    const B32 sign = (a >> B32(24)) & B32(0x80);
    const B32 limit = mode.fp16Ovfl ? B32(0x7f) | sign : B32(0x80);
    const B32 r = blend(eq(code, B32(0)), B32(0), code | sign);
    return blend(special, B32(0x80), blend(over, limit, r));
  }

  /// 53 bits of 2/pi from bit 53 * segment after the point on (more for large exponents), as a number of that weight.
  ASMEVO_LANE B64 trigPreop(B64 a, B32 segment) const {
    B64 r = B64(0);
    for (unsigned i = 0; i < 16; ++i)
      r[i] = trigPreopOf(a[i], segment[i]);
    return r;
  }
};

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
