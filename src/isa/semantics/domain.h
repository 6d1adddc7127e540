/// The value domain that instruction bodies are written over.
///
/// A body is a function template `auto name(const D& d, ...)`. It holds no host type and no branch on a value, so that
/// the same text gives the emulator's lanes, the scalar unit and the prover's terms. D has
///
/// Types
///   D::B32, D::B64  bits of a register or register pair; 16-bit values lie in the low half of a B32, whatever is
///   above. D::Mask         one truth value (per lane in a vector domain; SCC in the scalar one).
/// Constants
///   c32(x) c64(x) cmask(bool)
/// Integers, overloaded on B32 and B64
///   add sub mul and_ or_ xor_ not_   shl shr sar(x, n)  the amount is taken modulo the width
///   eq ne ult ule slt sle -> Mask    select(mask, a, b)  umin umax smin smax
///   popcount ctz clz (width when zero) brev    zext(B32) sext(B32) -> B64   lo(B64) hi(B64)   pack(lo, hi)
///   mulHiU mulHiS(B32)   bit(mask) -> B32 0 or 1
/// Masks
///   mand mor mxor mnot   lane() -> B32: the lane's number
///
/// Floating point. The first argument is the format, flt::F16 (low half of a B32), flt::F32 (B32) or flt::F64 (B64).
/// Every operation reads its inputs and rounds its result as the MODE register says (denormals flushed or kept by type,
/// round mode by type); a NaN that it computes is the format's positive quiet NaN with an otherwise zero payload.
///   fadd fmul ffma (one rounding) ffloor fceil ftrunc frndne fldexp(f, x, n: B32)   feq flt fle funord -> Mask
///   fmin fmax     by IEEE mode: a signaling NaN is quieted and returned, else the other operand of a NaN
///   fin(f, x)     a denormal flushed as an input is
///   fexp flog (base 2) frcp frsq fsqrt fsin fcos (of revolutions): the correctly rounded result; f32: denormal inputs
///   and
///                 results are flushed whatever MODE says
/// Conversions
///   f32FromF16 f16FromF32 f16FromF32Rtz f64FromF32 f32FromF64  f32FromI32 f32FromU32 f64FromI32 f64FromU32
///   i32FromF32 u32FromF32 i32FromF64 u32FromF64   truncate, saturate, NaN gives 0
///   f32FromFp8 f32FromBf8(byte)   fp8FromF32 bf8FromF32(x)   fp8FromF32Sr bf8FromF32Sr(x, random): gfx942's FNUZ codes
///   trigPreop(x: B64, segment: B32) -> B64
#pragma once

#include "isa/semantics/types.h"

namespace asmevo::isa::semantics::flt {

struct F16 {
  static constexpr unsigned bits = 16, mantissa = 10, exponentMax = 31, bias = 15;
};
struct F32 {
  static constexpr unsigned bits = 32, mantissa = 23, exponentMax = 255, bias = 127;
};
struct F64 {
  static constexpr unsigned bits = 64, mantissa = 52, exponentMax = 2047, bias = 1023;
};

template <class F> inline constexpr std::uint64_t one = std::uint64_t{1};
template <class F> inline constexpr std::uint64_t signBit = one<F> << (F::bits - 1);
template <class F> inline constexpr std::uint64_t mantissaMask = (one<F> << F::mantissa) - 1;
template <class F> inline constexpr std::uint64_t absMask = signBit<F> - 1;
template <class F> inline constexpr std::uint64_t infinity = std::uint64_t{F::exponentMax} << F::mantissa;
template <class F> inline constexpr std::uint64_t quietBit = one<F> << (F::mantissa - 1);
template <class F> inline constexpr std::uint64_t quietNan = infinity<F> | quietBit<F>;
/// Bits of 2^e, e in the format's normal range.
template <class F> constexpr std::uint64_t powerOfTwo(int e) {
  return static_cast<std::uint64_t>(static_cast<int>(F::bias) + e) << F::mantissa;
}

} // namespace asmevo::isa::semantics::flt

namespace asmevo::isa::semantics {

/// A constant in the container of format F.
template <class F> ASMEVO_SEM bitsOf(const auto& d, std::uint64_t value) {
  if constexpr (F::bits == 64)
    return d.c64(value);
  else
    return d.c32(static_cast<std::uint32_t>(value));
}

} // namespace asmevo::isa::semantics
