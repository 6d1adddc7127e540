/// The arithmetic of the gfx942 matrix core, to the bit, sixteen columns at a time. Everything numeric is in this file.
///
/// Source of the rules: P. Xie et al., "Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units" (arXiv
/// 2511.10909), checked by its authors against CDNA3 hardware. Included only by mfma_simd.cpp, inside a namespace per
/// instruction set; all functions are forced inline so that no copy of one instruction set can be linked in place of
/// the other's.
///
/// A group forms c + sum of products: products are exact, aligned to the group's largest exponent, cut toward zero at
/// 24 fraction bits and added exactly; that sum (cut toward minus infinity at 31 fraction bits) and c (at 24) are
/// aligned to the larger exponent, added, and rounded once to f32.
#pragma once

#include "emulator/mfma/mfma_shape.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef ASMEVO_SIMD_NS
#error "included by files that are compiled per instruction set"
#endif

namespace asmevo::emulator::ASMEVO_SIMD_NS {

#define ASMEVO_INLINE [[gnu::always_inline]] static inline

using VF = float __attribute__((ext_vector_type(16)));
using VI = std::int32_t __attribute__((ext_vector_type(16)));
using VD = double __attribute__((ext_vector_type(16)));
using VL = std::int64_t __attribute__((ext_vector_type(16)));

ASMEVO_INLINE VI bitsOf(VF v) {
  return __builtin_bit_cast(VI, v);
}
ASMEVO_INLINE VF floatOf(VI v) {
  return __builtin_bit_cast(VF, v);
}
ASMEVO_INLINE VD doubleOf(VL v) {
  return __builtin_bit_cast(VD, v);
}
ASMEVO_INLINE VI maximum(VI a, VI b) {
  return __builtin_elementwise_max(a, b);
}
ASMEVO_INLINE VI minimum(VI a, VI b) {
  return __builtin_elementwise_min(a, b);
}
ASMEVO_INLINE VL widen(VI v) {
  return __builtin_convertvector(v, VL);
}
ASMEVO_INLINE VF loadF(const float* p) {
  return *reinterpret_cast<const VF*>(p);
}
ASMEVO_INLINE VI loadI(const std::int32_t* p) {
  return *reinterpret_cast<const VI*>(p);
}

inline constexpr std::int32_t zeroExponent = -126; ///< what a zero counts as
inline constexpr std::int32_t quietNan = 0x7fc00000;

/// An element of each of 16 lanes: value as f32 (0 where special), exponent by the rule (a subnormal has its format's
/// least one), and the f32 with infinities and NaNs in place.
struct Decoded {
  VF finite, raw;
  VI exponent;
  VI special; ///< all ones where raw is an infinity or NaN
};

/// A narrow float whose exponent and fraction, moved to f32's place, are off by a power of two only.
ASMEVO_INLINE Decoded decodeNarrow(VI magnitude, VI sign, float scale, VI field, std::int32_t bias, VI special,
                                   VI raw) {
  const VF value = floatOf(bitsOf(floatOf(magnitude) * scale) | sign);
  const VI exponent = magnitude == 0 ? VI(zeroExponent) : maximum(field, VI(1)) - bias;
  return {special ? VF(0.0f) : value, special ? floatOf(raw) : value, special ? VI(zeroExponent) : exponent, special};
}

/// Element number `e` of a dword of packed elements.
ASMEVO_INLINE Decoded decodeElement(mfma::Element type, VI dword, unsigned e) {
  using enum mfma::Element;
  switch (type) {
  case f16: {
    const VI h = dword >> static_cast<int>(16 * e);
    const VI sign = (h & 0x8000) << 16, field = (h >> 10) & 31;
    return decodeNarrow((h & 0x7fff) << 13, sign, 0x1p112f, field, 15, field == 31,
                        ((h & 0x3ff) << 13) | sign | 0x7f800000);
  }
  case fp8: {
    const VI b = dword >> static_cast<int>(8 * e);
    return decodeNarrow((b & 0x7f) << 20, (b & 0x80) << 24, 0x1p119f, (b >> 3) & 15, 8, (b & 0xff) == 0x80,
                        VI(quietNan));
  }
  case bf8: {
    const VI b = dword >> static_cast<int>(8 * e);
    return decodeNarrow((b & 0x7f) << 21, (b & 0x80) << 24, 0x1p111f, (b >> 2) & 31, 16, (b & 0xff) == 0x80,
                        VI(quietNan));
  }
  default: { // bf16, xf32: the upper bits of an f32
    const VI bits = type == bf16 ? (e ? dword & static_cast<std::int32_t>(0xffff0000u) : dword << 16)
                                 : dword & static_cast<std::int32_t>(0xffffe000u);
    const VI field = (bits >> 23) & 255, special = field == 255;
    return {special ? VF(0.0f) : floatOf(bits), floatOf(bits), special ? VI(zeroExponent) : maximum(field, VI(1)) - 127,
            special};
  }
  }
}

/// Significand of a finite f32: 1 to 2, or below 1 for subnormals; signed.
ASMEVO_INLINE VF significand(VF value) {
  const VI bits = bitsOf(value);
  const VI isSubnormal = (bits & 0x7f800000) == 0;
  return isSubnormal ? value * 0x1p126f : floatOf((bits & static_cast<std::int32_t>(0x807fffffu)) | 0x3f800000);
}

/// Adds the running value `c` to the group's sum: `sum` counts units of 2^(exponent - 24). `flushFarC`: a c more than
/// 25 binades below counts as 0 (8-bit types). Exact in double: |sum| < 2^30, so every intermediate has at most 38
/// bits.
template <bool flushFarC> ASMEVO_INLINE VF roundWithRunning(VI sum, VI exponent, VF c) {
  const VI exponentC = maximum((bitsOf(c) >> 23) & 255, VI(1)) - 127;
  const VI m = maximum(exponent, exponentC);
  if constexpr (flushFarC)
    c = exponentC < m - 25 ? VF(0.0f) : c;
  const VI unit = (1023 + 31) - m; // biased exponent of 2^(31 - m)
  const VL unitBits = widen(unit) << 52;
  const VD scaleC = doubleOf(unitBits - (std::int64_t{7} << 52));
  const VD scaleSum = doubleOf(widen(unit + exponent - 24) << 52);
  const VD back = doubleOf((std::int64_t{2046} << 52) - unitBits);
  const VD alignedC = __builtin_elementwise_floor(__builtin_convertvector(c, VD) * scaleC);
  const VD alignedSum = __builtin_elementwise_floor(__builtin_convertvector(sum, VD) * scaleSum);
  return __builtin_convertvector(__builtin_elementwise_fma(alignedC, VD(128.0), alignedSum) * back, VF);
}

/// How far operands' nonzero exponents may lie from 0 so that products and scale factors stay normal f32 numbers.
inline constexpr std::int32_t nearExponent = 50;

/// One group over finite operands. `near`: values are the elements themselves, so that a product is one f32 multiply
/// and all are scaled alike; otherwise values are significands and each product is scaled by its own exponent. A
/// float-to-int conversion cuts toward zero; scaled products are below 2^26, so a sum of 8 stays below 2^29.
template <int size, bool twoHalves, bool near, class LoadA, class LoadExponentA, class LoadB, class LoadExponentB>
ASMEVO_INLINE VF fusedGroup(const LoadA& a, const LoadExponentA& ea, const LoadB& b, const LoadExponentB& eb, VF c) {
  constexpr int parts = twoHalves ? 2 : 1;
  VF product[size];
  VI exponent[size];
  VI largest[parts];
#pragma clang loop unroll(full)
  for (int k = 0; k < size; ++k) {
    product[k] = a(k) * b(k);
    exponent[k] = ea(k) + eb(k);
    largest[k % parts] = k < parts ? exponent[k] : maximum(largest[k % parts], exponent[k]);
  }
  VI sum[parts];
  VF scale[parts];
#pragma clang loop unroll(full)
  for (int p = 0; p < parts; ++p)
    // Below the floor all products are zero, so the factor does not matter as long as it is finite.
    scale[p] = floatOf(((127 + 24) - maximum(largest[p], VI(-2 * nearExponent))) << 23);
#pragma clang loop unroll(full)
  for (int k = 0; k < size; ++k) {
    const int p = k % parts;
    // A factor of 0 replaces those at or below 2^-127: such products are cut to 0 either way.
    const VF factor = near ? scale[p] : floatOf(maximum(exponent[k] - largest[p] + (127 + 24), VI(0)) << 23);
    const VI cut = __builtin_convertvector(product[k] * factor, VI);
    sum[p] = k < parts ? cut : sum[p] + cut;
  }
  if constexpr (twoHalves) {
    const VI m = maximum(largest[0], largest[1]);
    const VI joined = (sum[0] >> minimum(m - largest[0], VI(31))) + (sum[1] >> minimum(m - largest[1], VI(31)));
    return roundWithRunning<true>(joined, m, c);
  } else {
    return roundWithRunning<false>(sum[0], largest[0], c);
  }
}

/// Infinities and NaNs of a group, and finite products of 2^128 or more, which count as infinities where no operand is
/// one. Returns `finite` where there is none. Sums of f32 products never overflow in double.
template <int size, class LoadA, class LoadB>
ASMEVO_INLINE VF withSpecials(const LoadA& a, const LoadB& b, VF c, VF finite) {
  VD total = __builtin_convertvector(c, VD);
  VL up = VL(0), down = VL(0);
  for (int k = 0; k < size; ++k) {
    const VD product = __builtin_convertvector(a(k), VD) * __builtin_convertvector(b(k), VD);
    up |= product >= 0x1p128;
    down |= product <= -0x1p128;
    total += product;
  }
  const VI above = __builtin_convertvector(up, VI), below = __builtin_convertvector(down, VI);
  const VF sum = __builtin_convertvector(total, VF);
  const VF infinite = floatOf(below ? VI(static_cast<std::int32_t>(0xff800000u)) : VI(0x7f800000));
  VF result = (above & below) ? floatOf(VI(quietNan)) : (above | below) ? infinite : finite;
  const VL magnitude = __builtin_bit_cast(VL, total) & 0x7fffffffffffffff;
  const VI isInfinite = __builtin_convertvector(magnitude == 0x7ff0000000000000, VI);
  const VI isNan = __builtin_convertvector(magnitude > 0x7ff0000000000000, VI);
  result = isInfinite ? sum : result;
  return isNan ? floatOf(VI(quietNan)) : result;
}

/// All ones where v is an infinity or NaN.
ASMEVO_INLINE VI nonFinite(VF v) {
  return (bitsOf(v) & 0x7f800000) == 0x7f800000;
}
ASMEVO_INLINE bool anySet(VI mask) {
  return __builtin_reduce_or(mask) != 0;
}

/// f32: one fused multiply-add.
ASMEVO_INLINE VF fusedStep(VF a, VF b, VF c) {
  return __builtin_elementwise_fma(a, b, c);
}
ASMEVO_INLINE VF canonicalNan(VF v) {
  return v == v ? v : floatOf(VI(quietNan));
}
ASMEVO_INLINE VD fusedStep(VD a, VD b, VD c) {
  return __builtin_elementwise_fma(a, b, c);
}
ASMEVO_INLINE VD canonicalNan(VD v) {
  return v == v ? v : doubleOf(VL(0x7ff8000000000000));
}

/// i8: adds two products per lane, of sign-extended 16-bit halves; wraps at 32 bits (a pair never does).
ASMEVO_INLINE VI multiplyPairs(VI a, VI b, VI c) {
#if defined(__AVX512BW__)
  return c + __builtin_bit_cast(VI, _mm512_madd_epi16(__builtin_bit_cast(__m512i, a), __builtin_bit_cast(__m512i, b)));
#elif !defined(__AVX2__)
  const VI low = (VI(a << 16) >> 16) * (VI(b << 16) >> 16), high = (a >> 16) * (b >> 16);
  return c + low + high;
#else
  struct Halves {
    __m256i part[2];
  };
  const Halves x = __builtin_bit_cast(Halves, a), y = __builtin_bit_cast(Halves, b);
  const Halves r = {{_mm256_madd_epi16(x.part[0], y.part[0]), _mm256_madd_epi16(x.part[1], y.part[1])}};
  return c + __builtin_bit_cast(VI, r);
#endif
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
