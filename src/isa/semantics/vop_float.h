/// Floating-point arithmetic of the vector unit, by format (CDNA3 ISA: VOP1, VOP2, VOP3A, VOP3B).
#pragma once

#include "isa/semantics/domain.h"
#include "isa/semantics/vop_int.h"

namespace asmevo::isa::semantics {

// Parts of a float's bits.
template <class F> ASMEVO_SEM valueBits(const auto& d, auto a) {
  if constexpr (F::bits == 16)
    return d.and_(a, d.c32(0xffff));
  else
    return a;
}
template <class F> ASMEVO_SEM fabsBits(const auto& d, auto a) {
  return d.and_(a, bitsOf<F>(d, flt::absMask<F>));
}
template <class F> ASMEVO_SEM fsignBits(const auto& d, auto a) {
  return d.and_(a, bitsOf<F>(d, flt::signBit<F>));
}
template <class F> ASMEVO_SEM fneg(const auto& d, auto a) {
  return d.xor_(a, bitsOf<F>(d, flt::signBit<F>));
}
template <class F> ASMEVO_SEM fracBits(const auto& d, auto a) {
  return d.and_(a, bitsOf<F>(d, flt::mantissaMask<F>));
}
template <class F> ASMEVO_SEM exponentOf(const auto& d, auto a) {
  return d.shr(fabsBits<F>(d, a), bitsOf<F>(d, F::mantissa));
}
template <class F> ASMEVO_SEM isNan(const auto& d, auto a) {
  return d.ult(bitsOf<F>(d, flt::infinity<F>), fabsBits<F>(d, a));
}
template <class F> ASMEVO_SEM isInf(const auto& d, auto a) {
  return d.eq(fabsBits<F>(d, a), bitsOf<F>(d, flt::infinity<F>));
}
template <class F> ASMEVO_SEM isZero(const auto& d, auto a) {
  return d.eq(fabsBits<F>(d, a), bitsOf<F>(d, 0));
}
template <class F> ASMEVO_SEM quiet(const auto& d, auto a) {
  return d.or_(valueBits<F>(d, a), bitsOf<F>(d, flt::quietBit<F>));
}

template <class F> ASMEVO_SEM fadd(const auto& d, auto a, auto b) {
  return d.fadd(F{}, a, b);
}
template <class F> ASMEVO_SEM fsub(const auto& d, auto a, auto b) {
  return d.fadd(F{}, a, fneg<F>(d, b));
}
template <class F> ASMEVO_SEM fsubrev(const auto& d, auto a, auto b) {
  return d.fadd(F{}, b, fneg<F>(d, a));
}
template <class F> ASMEVO_SEM fmul(const auto& d, auto a, auto b) {
  return d.fmul(F{}, a, b);
}
template <class F> ASMEVO_SEM ffma(const auto& d, auto a, auto b, auto c) {
  return d.ffma(F{}, a, b, c);
}
/// Product and sum rounded apart.
template <class F> ASMEVO_SEM fmad(const auto& d, auto a, auto b, auto c) {
  return d.fadd(F{}, d.fmul(F{}, a, b), c);
}
/// v_fmamk prints its constant second, v_fmaak last: both are source 0 times source 1 plus source 2 as printed.
template <class F> ASMEVO_SEM fmin_(const auto& d, auto a, auto b) {
  return d.fmin(F{}, a, b);
}
template <class F> ASMEVO_SEM fmax_(const auto& d, auto a, auto b) {
  return d.fmax(F{}, a, b);
}
template <class F> ASMEVO_SEM fmin3(const auto& d, auto a, auto b, auto c) {
  return d.fmin(F{}, d.fmin(F{}, a, b), c);
}
template <class F> ASMEVO_SEM fmax3(const auto& d, auto a, auto b, auto c) {
  return d.fmax(F{}, d.fmax(F{}, a, b), c);
}
template <class F> ASMEVO_SEM fmed3(const auto& d, auto a, auto b, auto c) {
  auto anyNan = d.mor(d.mor(isNan<F>(d, a), isNan<F>(d, b)), isNan<F>(d, c));
  auto largest = fmax3<F>(d, a, b, c);
  auto rest = d.select(d.feq(F{}, largest, a), d.fmax(F{}, b, c),
                       d.select(d.feq(F{}, largest, b), d.fmax(F{}, a, c), d.fmax(F{}, a, b)));
  return d.select(anyNan, fmin3<F>(d, a, b, c), rest);
}
/// 0 times anything is +0 (DX9 rule).
ASMEVO_SEM mul_legacy_f32(const auto& d, auto a, auto b) {
  auto zero = d.mor(isZero<flt::F32>(d, d.fin(flt::F32{}, a)), isZero<flt::F32>(d, d.fin(flt::F32{}, b)));
  return d.select(zero, d.c32(0), d.fmul(flt::F32{}, a, b));
}

template <class F> ASMEVO_SEM ffloor(const auto& d, auto a) {
  return d.ffloor(F{}, a);
}
template <class F> ASMEVO_SEM fceil(const auto& d, auto a) {
  return d.fceil(F{}, a);
}
template <class F> ASMEVO_SEM ftrunc(const auto& d, auto a) {
  return d.ftrunc(F{}, a);
}
template <class F> ASMEVO_SEM frndne(const auto& d, auto a) {
  return d.frndne(F{}, a);
}
/// x - floor(x), kept below 1.
template <class F> ASMEVO_SEM ffract(const auto& d, auto a) {
  auto r = d.fadd(F{}, a, fneg<F>(d, d.ffloor(F{}, a)));
  auto below = bitsOf<F>(d, flt::powerOfTwo<F>(0) - 1);
  return d.select(d.eq(valueBits<F>(d, r), bitsOf<F>(d, flt::powerOfTwo<F>(0))), below, r);
}
template <class F> ASMEVO_SEM fexp(const auto& d, auto a) {
  return d.fexp(F{}, a);
}
template <class F> ASMEVO_SEM flog(const auto& d, auto a) {
  return d.flog(F{}, a);
}
template <class F> ASMEVO_SEM frcp(const auto& d, auto a) {
  return d.frcp(F{}, a);
}
template <class F> ASMEVO_SEM frsq(const auto& d, auto a) {
  return d.frsq(F{}, a);
}
template <class F> ASMEVO_SEM fsqrt_(const auto& d, auto a) {
  return d.fsqrt(F{}, a);
}
template <class F> ASMEVO_SEM fsin_(const auto& d, auto a) {
  return d.fsin(F{}, a);
}
template <class F> ASMEVO_SEM fcos_(const auto& d, auto a) {
  return d.fcos(F{}, a);
}

template <class F> ASMEVO_SEM fldexp(const auto& d, auto a, auto n) {
  return d.fldexp(F{}, a, n);
}
/// The exponent is 16 bits, signed.
ASMEVO_SEM ldexp_f16(const auto& d, auto a, auto n) {
  return d.fldexp(flt::F16{}, a, sext16(d, n));
}

template <class F> ASMEVO_SEM narrow(const auto& d, auto x) {
  if constexpr (F::bits == 64)
    return d.lo(x);
  else
    return x;
}
/// C's frexp: exponent of a mantissa in [0.5, 1); 0 for zero, infinity and NaN.
template <class F> ASMEVO_SEM frexp_exp(const auto& d, auto a) {
  auto x = d.fin(F{}, a);
  auto field = exponentOf<F>(d, x);
  auto fraction = fracBits<F>(d, x);
  auto normal = d.sub(field, bitsOf<F>(d, F::bias - 1));
  constexpr unsigned container = F::bits == 64 ? 64 : 32;
  auto denormal = d.sub(bitsOf<F>(d, std::uint64_t{container} + 1 - F::bias - F::mantissa), d.clz(fraction));
  auto e = d.select(d.eq(field, bitsOf<F>(d, 0)), denormal, normal);
  auto none = d.mor(isZero<F>(d, x), d.eq(field, bitsOf<F>(d, F::exponentMax)));
  return narrow<F>(d, d.select(none, bitsOf<F>(d, 0), e));
}
ASMEVO_SEM frexp_exp_f16(const auto& d, auto a) {
  return lo16(d, frexp_exp<flt::F16>(d, a));
}
template <class F> ASMEVO_SEM frexp_mant(const auto& d, auto a) {
  auto x = valueBits<F>(d, d.fin(F{}, a));
  auto fraction = fracBits<F>(d, x);
  constexpr unsigned container = F::bits == 64 ? 64 : 32;
  auto up = d.sub(d.clz(fraction), bitsOf<F>(d, container - 1 - F::mantissa));
  auto isDenormal = d.eq(exponentOf<F>(d, x), bitsOf<F>(d, 0));
  auto scaled = d.and_(d.select(isDenormal, d.shl(fraction, up), fraction), bitsOf<F>(d, flt::mantissaMask<F>));
  auto r = d.or_(d.or_(fsignBits<F>(d, x), bitsOf<F>(d, flt::powerOfTwo<F>(-1))), scaled);
  auto kept = d.mor(isZero<F>(d, x), isInf<F>(d, x));
  return d.select(isNan<F>(d, x), bitsOf<F>(d, flt::quietNan<F>), d.select(kept, x, r));
}

// Cube map face, coordinates and major axis of (x, y, z).
ASMEVO_SEM absLess(const auto& d, auto a, auto b) {
  return d.flt(flt::F32{}, fabsBits<flt::F32>(d, a), fabsBits<flt::F32>(d, b));
}
ASMEVO_SEM absLessEqual(const auto& d, auto a, auto b) {
  return d.fle(flt::F32{}, fabsBits<flt::F32>(d, a), fabsBits<flt::F32>(d, b));
}
ASMEVO_SEM zMajor(const auto& d, auto x, auto y, auto z) {
  return d.mand(absLessEqual(d, x, z), absLessEqual(d, y, z));
}
ASMEVO_SEM yMajor(const auto& d, auto x, auto y) {
  return absLessEqual(d, x, y);
}
ASMEVO_SEM negative(const auto& d, auto a) {
  return d.flt(flt::F32{}, a, d.c32(0));
}
ASMEVO_SEM cubeid(const auto& d, auto x, auto y, auto z) {
  auto zFace = d.select(negative(d, z), d.c32(0x40a00000), d.c32(0x40800000));
  auto yFace = d.select(negative(d, y), d.c32(0x40400000), d.c32(0x40000000));
  auto xFace = d.select(negative(d, x), d.c32(0x3f800000), d.c32(0));
  return d.select(zMajor(d, x, y, z), zFace, d.select(yMajor(d, x, y), yFace, xFace));
}
ASMEVO_SEM cubesc(const auto& d, auto x, auto y, auto z) {
  auto zFace = d.select(negative(d, z), fneg<flt::F32>(d, x), x);
  auto xFace = d.select(negative(d, x), z, fneg<flt::F32>(d, z));
  return d.select(zMajor(d, x, y, z), zFace, d.select(yMajor(d, x, y), x, xFace));
}
ASMEVO_SEM cubetc(const auto& d, auto x, auto y, auto z) {
  auto down = fneg<flt::F32>(d, y);
  auto yFace = d.select(negative(d, y), fneg<flt::F32>(d, z), z);
  return d.select(zMajor(d, x, y, z), down, d.select(yMajor(d, x, y), yFace, down));
}
ASMEVO_SEM cubema(const auto& d, auto x, auto y, auto z) {
  auto axis = d.select(zMajor(d, x, y, z), z, d.select(yMajor(d, x, y), y, x));
  return d.fmul(flt::F32{}, axis, d.c32(0x40000000));
}

/// Steps of a full-precision division: numbers that would leave the normal range on the way are scaled by 2^64 (f64:
/// 128).
template <class F> ASMEVO_SEM div_scale(const auto& d, auto s0, auto s1, auto s2) {
  constexpr bool wide = F::bits == 64;
  constexpr std::uint64_t nearMax = wide ? 768 : 96, tiny = wide ? 53 : 23, least = F::bias - 1;
  auto up = d.fldexp(F{}, s0, d.c32(wide ? 128 : 64));
  auto down = d.fldexp(F{}, s0, d.c32(static_cast<std::uint32_t>(wide ? -128 : -64)));
  auto e1 = exponentOf<F>(d, s1);
  auto e2 = exponentOf<F>(d, s2);
  auto abs1 = fabsBits<F>(d, s1);
  auto abs2 = fabsBits<F>(d, s2);
  auto zero = d.mor(isZero<F>(d, s1), isZero<F>(d, s2));
  auto huge = d.sle(bitsOf<F>(d, nearMax), d.sub(e2, e1));
  auto denormalDivisor = d.eq(e1, bitsOf<F>(d, 0));
  auto denormalInverse = d.ult(bitsOf<F>(d, flt::powerOfTwo<F>(static_cast<int>(F::bias) - 1)), abs1);
  auto denormalQuotient =
      d.mand(d.ult(bitsOf<F>(d, least), e1), d.ult(abs2, d.sub(abs1, bitsOf<F>(d, least << F::mantissa))));
  auto tinyNumerator = d.ule(e2, bitsOf<F>(d, tiny));
  auto isDivisor = d.feq(F{}, s0, s1);
  auto isNumerator = d.feq(F{}, s0, s2);

  auto late = d.select(tinyNumerator, up, s0);
  auto quotient = d.select(isNumerator, up, s0);
  auto both = d.select(isDivisor, up, s0);
  auto r = d.select(denormalQuotient, quotient, late);
  r = d.select(denormalInverse, d.select(denormalQuotient, both, down), r);
  r = d.select(denormalDivisor, up, r);
  r = d.select(huge, both, r);
  r = d.select(zero, bitsOf<F>(d, flt::quietNan<F>), r);
  auto flag = d.mand(d.mnot(zero), d.mor(huge, d.mand(d.mnot(denormalDivisor), denormalQuotient)));
  return Out{r, flag};
}
/// The mask (VCC) says that v_div_scale scaled; the result is scaled back by the exponent of the addend.
template <class F> ASMEVO_SEM div_fmas(const auto& d, auto a, auto b, auto c, auto vcc) {
  constexpr int n = F::bits == 64 ? 128 : 64;
  auto r = d.ffma(F{}, a, b, c);
  auto large = d.ult(bitsOf<F>(d, F::bias), exponentOf<F>(d, c));
  auto amount = d.select(large, d.c32(static_cast<std::uint32_t>(n)), d.c32(static_cast<std::uint32_t>(-n)));
  return d.select(vcc, d.fldexp(F{}, r, amount), r);
}
/// Quotient s0 of s2 / s1 with the special cases put right.
template <class F> ASMEVO_SEM div_fixup(const auto& d, auto s0, auto s1, auto s2) {
  auto n = d.fin(F{}, s2);
  auto q = d.fin(F{}, s1);
  auto sign = fsignBits<F>(d, d.xor_(n, q));
  auto signedOf = [&](auto magnitude) { return d.or_(sign, magnitude); };
  auto infinite = bitsOf<F>(d, flt::infinity<F>);
  auto r = signedOf(fabsBits<F>(d, s0));
  if constexpr (F::bits != 16) {
    constexpr std::uint64_t least = F::bits == 64 ? 1075 : 150;
    auto underflow = d.slt(d.sub(exponentOf<F>(d, n), exponentOf<F>(d, q)), bitsOf<F>(d, 0 - least));
    r = d.select(underflow, sign, r);
  }
  r = d.select(d.mor(isInf<F>(d, q), isZero<F>(d, n)), sign, r);
  r = d.select(d.mor(isZero<F>(d, q), isInf<F>(d, n)), signedOf(infinite), r);
  auto undefined = d.mor(d.mand(isZero<F>(d, q), isZero<F>(d, n)), d.mand(isInf<F>(d, q), isInf<F>(d, n)));
  r = d.select(undefined, bitsOf<F>(d, flt::quietNan<F> | flt::signBit<F>), r);
  r = d.select(isNan<F>(d, q), quiet<F>(d, q), r);
  return d.select(isNan<F>(d, n), quiet<F>(d, n), r);
}
ASMEVO_SEM trig_preop(const auto& d, auto a, auto segment) {
  return d.trigPreop(a, d.and_(segment, d.c32(31)));
}

} // namespace asmevo::isa::semantics
