/// Comparisons: lane masks (CDNA3 ISA: VOPC).
#pragma once

#include "isa/semantics/vop_float.h"

namespace asmevo::isa::semantics {

ASMEVO_SEM cmp_f(const auto& d, auto, auto) {
  return d.cmask(false);
}
ASMEVO_SEM cmp_t(const auto& d, auto, auto) {
  return d.cmask(true);
}
ASMEVO_SEM cmp_eq(const auto& d, auto a, auto b) {
  return d.eq(a, b);
}
ASMEVO_SEM cmp_ne(const auto& d, auto a, auto b) {
  return d.ne(a, b);
}
ASMEVO_SEM cmp_lt_u(const auto& d, auto a, auto b) {
  return d.ult(a, b);
}
ASMEVO_SEM cmp_le_u(const auto& d, auto a, auto b) {
  return d.ule(a, b);
}
ASMEVO_SEM cmp_gt_u(const auto& d, auto a, auto b) {
  return d.ult(b, a);
}
ASMEVO_SEM cmp_ge_u(const auto& d, auto a, auto b) {
  return d.ule(b, a);
}
ASMEVO_SEM cmp_lt_i(const auto& d, auto a, auto b) {
  return d.slt(a, b);
}
ASMEVO_SEM cmp_le_i(const auto& d, auto a, auto b) {
  return d.sle(a, b);
}
ASMEVO_SEM cmp_gt_i(const auto& d, auto a, auto b) {
  return d.slt(b, a);
}
ASMEVO_SEM cmp_ge_i(const auto& d, auto a, auto b) {
  return d.sle(b, a);
}

ASMEVO_SEM cmp_eq_16(const auto& d, auto a, auto b) {
  return d.eq(lo16(d, a), lo16(d, b));
}
ASMEVO_SEM cmp_ne_16(const auto& d, auto a, auto b) {
  return d.ne(lo16(d, a), lo16(d, b));
}
ASMEVO_SEM cmp_lt_u16(const auto& d, auto a, auto b) {
  return d.ult(lo16(d, a), lo16(d, b));
}
ASMEVO_SEM cmp_le_u16(const auto& d, auto a, auto b) {
  return d.ule(lo16(d, a), lo16(d, b));
}
ASMEVO_SEM cmp_gt_u16(const auto& d, auto a, auto b) {
  return d.ult(lo16(d, b), lo16(d, a));
}
ASMEVO_SEM cmp_ge_u16(const auto& d, auto a, auto b) {
  return d.ule(lo16(d, b), lo16(d, a));
}
ASMEVO_SEM cmp_lt_i16(const auto& d, auto a, auto b) {
  return d.slt(sext16(d, a), sext16(d, b));
}
ASMEVO_SEM cmp_le_i16(const auto& d, auto a, auto b) {
  return d.sle(sext16(d, a), sext16(d, b));
}
ASMEVO_SEM cmp_gt_i16(const auto& d, auto a, auto b) {
  return d.slt(sext16(d, b), sext16(d, a));
}
ASMEVO_SEM cmp_ge_i16(const auto& d, auto a, auto b) {
  return d.sle(sext16(d, b), sext16(d, a));
}

template <class F> ASMEVO_SEM fcmp_lt(const auto& d, auto a, auto b) {
  return d.flt(F{}, a, b);
}
template <class F> ASMEVO_SEM fcmp_eq(const auto& d, auto a, auto b) {
  return d.feq(F{}, a, b);
}
template <class F> ASMEVO_SEM fcmp_le(const auto& d, auto a, auto b) {
  return d.fle(F{}, a, b);
}
template <class F> ASMEVO_SEM fcmp_gt(const auto& d, auto a, auto b) {
  return d.flt(F{}, b, a);
}
template <class F> ASMEVO_SEM fcmp_lg(const auto& d, auto a, auto b) {
  return d.mor(d.flt(F{}, a, b), d.flt(F{}, b, a));
}
template <class F> ASMEVO_SEM fcmp_ge(const auto& d, auto a, auto b) {
  return d.fle(F{}, b, a);
}
template <class F> ASMEVO_SEM fcmp_o(const auto& d, auto a, auto b) {
  return d.mnot(d.funord(F{}, a, b));
}
template <class F> ASMEVO_SEM fcmp_u(const auto& d, auto a, auto b) {
  return d.funord(F{}, a, b);
}
template <class F> ASMEVO_SEM fcmp_nge(const auto& d, auto a, auto b) {
  return d.mnot(d.fle(F{}, b, a));
}
template <class F> ASMEVO_SEM fcmp_nlg(const auto& d, auto a, auto b) {
  return d.mnot(fcmp_lg<F>(d, a, b));
}
template <class F> ASMEVO_SEM fcmp_ngt(const auto& d, auto a, auto b) {
  return d.mnot(d.flt(F{}, b, a));
}
template <class F> ASMEVO_SEM fcmp_nle(const auto& d, auto a, auto b) {
  return d.mnot(d.fle(F{}, a, b));
}
template <class F> ASMEVO_SEM fcmp_neq(const auto& d, auto a, auto b) {
  return d.mnot(d.feq(F{}, a, b));
}
template <class F> ASMEVO_SEM fcmp_nlt(const auto& d, auto a, auto b) {
  return d.mnot(d.flt(F{}, a, b));
}

/// The class bits of b: 0 signaling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8
/// +normal, 9 +inf.
template <class F> ASMEVO_SEM cmp_class(const auto& d, auto a, auto b) {
  auto field = exponentOf<F>(d, a);
  auto negative = d.ne(fsignBits<F>(d, a), bitsOf<F>(d, 0));
  auto bySign = [&](unsigned minus, unsigned plus) { return d.select(negative, d.c32(minus), d.c32(plus)); };
  auto isQuiet = d.ne(d.and_(a, bitsOf<F>(d, flt::quietBit<F>)), bitsOf<F>(d, 0));
  auto n = d.select(isZero<F>(d, a), bySign(5, 6), bySign(4, 7));
  n = d.select(d.ne(field, bitsOf<F>(d, 0)), bySign(3, 8), n);
  n = d.select(isInf<F>(d, a), bySign(2, 9), n);
  n = d.select(isNan<F>(d, a), d.select(isQuiet, d.c32(1), d.c32(0)), n);
  return d.ne(d.and_(d.shr(b, n), d.c32(1)), d.c32(0));
}

} // namespace asmevo::isa::semantics
