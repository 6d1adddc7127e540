/// Read-modify-write operations on memory: the new value from the old one, the first and the second data operand.
///
/// Integers follow the CDNA3 ISA's DS, MUBUF and FLAT chapters (12.12, 12.13, 12.15), floats its section 9.2: sums are
/// rounded to nearest even; a NaN among the operands comes through with its payload, quieted, memory's first. What is
/// done with denormals the domain decides (fin, fadd, feq, flt): LDS goes by MODE, device memory keeps them.
#pragma once

#include "isa/semantics/domain.h"

namespace asmevo::isa::semantics {

ASMEVO_SEM atomic_add(const auto& d, auto old, auto data, auto) {
  return d.add(old, data);
}
ASMEVO_SEM atomic_sub(const auto& d, auto old, auto data, auto) {
  return d.sub(old, data);
}
ASMEVO_SEM atomic_rsub(const auto& d, auto old, auto data, auto) {
  return d.sub(data, old);
}
ASMEVO_SEM atomic_umin(const auto& d, auto old, auto data, auto) {
  return d.umin(old, data);
}
ASMEVO_SEM atomic_umax(const auto& d, auto old, auto data, auto) {
  return d.umax(old, data);
}
ASMEVO_SEM atomic_smin(const auto& d, auto old, auto data, auto) {
  return d.smin(old, data);
}
ASMEVO_SEM atomic_smax(const auto& d, auto old, auto data, auto) {
  return d.smax(old, data);
}
ASMEVO_SEM atomic_and(const auto& d, auto old, auto data, auto) {
  return d.and_(old, data);
}
ASMEVO_SEM atomic_or(const auto& d, auto old, auto data, auto) {
  return d.or_(old, data);
}
ASMEVO_SEM atomic_xor(const auto& d, auto old, auto data, auto) {
  return d.xor_(old, data);
}
ASMEVO_SEM atomic_swap(const auto&, auto, auto data, auto) {
  return data;
}
/// Wraps to 0 above `data`.
ASMEVO_SEM atomic_inc(const auto& d, auto old, auto data, auto) {
  const auto zero = d.sub(old, old);
  return d.select(d.ule(data, old), zero, d.sub(old, d.not_(zero)));
}
/// Wraps to `data` at 0 and above `data`.
ASMEVO_SEM atomic_dec(const auto& d, auto old, auto data, auto) {
  const auto zero = d.sub(old, old);
  return d.select(d.mor(d.eq(old, zero), d.ult(data, old)), data, d.add(old, d.not_(zero)));
}
ASMEVO_SEM atomic_cmpswap(const auto& d, auto old, auto data, auto compare) {
  return d.select(d.eq(old, compare), data, old);
}
/// The mask is the first data operand.
ASMEVO_SEM atomic_mskor(const auto& d, auto old, auto mask, auto data) {
  return d.or_(d.and_(old, d.not_(mask)), data);
}
ASMEVO_SEM atomic_wrap(const auto& d, auto old, auto data, auto second) {
  return d.select(d.ule(data, old), d.sub(old, data), d.add(old, second));
}
/// Each half whose bit 31 is set in the data replaces memory's, that bit cleared.
ASMEVO_SEM atomic_condxchg32(const auto& d, auto old, auto data, auto) {
  const auto half = [&](auto was, auto now) {
    return d.select(d.slt(now, d.c32(0)), d.and_(now, d.c32(0x7fffffff)), was);
  };
  return d.pack(half(d.lo(old), d.lo(data)), half(d.hi(old), d.hi(data)));
}

/// A NaN operand quieted, else `r`; memory's NaN goes first.
template <class F> ASMEVO_SEM atomicWithNans(const auto& d, auto old, auto data, auto r) {
  const auto quiet = [&](auto x) { return d.or_(x, bitsOf<F>(d, flt::quietBit<F>)); };
  const auto fromData = d.select(d.funord(F{}, data, data), quiet(data), r);
  return d.select(d.funord(F{}, old, old), quiet(old), fromData);
}
template <class F> ASMEVO_SEM atomic_fadd(const auto& d, auto old, auto data, auto) {
  return atomicWithNans<F>(d, old, data, d.fadd(F{}, old, data));
}

template <class F> ASMEVO_SEM atomicIsSignaling(const auto& d, auto x) {
  const auto quiet = bitsOf<F>(d, flt::quietBit<F>);
  return d.mand(d.funord(F{}, x, x), d.ne(d.and_(x, quiet), quiet));
}
/// A signaling NaN comes out quieted; else a number wins over a NaN. -0 is below +0. The result is not flushed.
template <class F, bool Max> ASMEVO_SEM atomicMinMax(const auto& d, auto old, auto data) {
  const auto quiet = [&](auto x) { return d.or_(x, bitsOf<F>(d, flt::quietBit<F>)); };
  const auto zeros = Max ? d.and_(old, data) : d.or_(old, data);
  const auto less = Max ? d.flt(F{}, old, data) : d.flt(F{}, data, old);
  const auto absolute = bitsOf<F>(d, flt::absMask<F>);
  const auto bothZero = d.eq(d.or_(d.and_(old, absolute), d.and_(data, absolute)), d.sub(old, old));
  auto r = d.select(less, data, d.select(bothZero, zeros, old));
  r = d.select(d.funord(F{}, old, old), data, r);
  r = d.select(atomicIsSignaling<F>(d, data), quiet(data), r);
  return d.select(atomicIsSignaling<F>(d, old), quiet(old), r);
}
template <class F> ASMEVO_SEM atomic_fmin(const auto& d, auto old, auto data, auto) {
  return atomicMinMax<F, false>(d, old, data);
}
template <class F> ASMEVO_SEM atomic_fmax(const auto& d, auto old, auto data, auto) {
  return atomicMinMax<F, true>(d, old, data);
}
/// Equal as numbers; what is stored is flushed as an input is.
template <class F> ASMEVO_SEM atomic_fcmpswap(const auto& d, auto old, auto data, auto compare) {
  return d.select(d.feq(F{}, old, compare), d.fin(F{}, data), old);
}

ASMEVO_SEM atomicHalves(const auto& d, auto old, auto data, auto f) {
  const auto mask = d.c32(0xffff), shift = d.c32(16);
  const auto low = f(d.and_(old, mask), d.and_(data, mask)), high = f(d.shr(old, shift), d.shr(data, shift));
  return d.or_(d.and_(low, mask), d.shl(high, shift));
}
ASMEVO_SEM atomic_pk_add_f16(const auto& d, auto old, auto data, auto second) {
  return atomicHalves(d, old, data, [&](auto a, auto b) { return atomic_fadd<flt::F16>(d, a, b, second); });
}
/// The sum of two bf16 rounds to f32 without harm: f32 has more than twice the precision and two bits.
ASMEVO_SEM atomic_pk_add_bf16(const auto& d, auto old, auto data, auto second) {
  return atomicHalves(d, old, data, [&](auto a, auto b) {
    const auto shift = d.c32(16);
    const auto sum = atomic_fadd<flt::F32>(d, d.shl(a, shift), d.shl(b, shift), second);
    const auto top = d.shr(sum, shift);
    const auto rounded = d.shr(d.add(sum, d.add(d.c32(0x7fff), d.and_(top, d.c32(1)))), shift);
    return d.select(d.funord(flt::F32{}, sum, sum), top, rounded);
  });
}

} // namespace asmevo::isa::semantics
