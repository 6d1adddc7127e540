#include "emulator/reference/numbers.h"

#include <bit>
#include <cfenv>
#include <cmath>

#pragma STDC FENV_ACCESS ON

namespace asmevo::emulator::reference {

namespace {

/// Runs f under a host rounding direction and restores the old one.
template <class F> double underRounding(int direction, bool* inexact, F f) {
  const int before = std::fegetround();
  std::fesetround(direction);
  std::feclearexcept(FE_ALL_EXCEPT);
  const volatile double result = f();
  if (inexact)
    *inexact = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetround(before);
  return result;
}

/// Rounds to odd: a later rounding to at most 51 bits then gives what one rounding of the exact value would.
template <class F> double roundedToOdd(F f) {
  bool inexact = false;
  const double result = underRounding(FE_TOWARDZERO, &inexact, f);
  return inexact ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) | 1) : result;
}

int hostDirection(unsigned rounding) {
  constexpr int directions[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  return directions[rounding];
}

/// One operation in f under MODE's rounding; sources are in the format and already flushed.
template <class F> std::uint64_t operate(Format f, unsigned rounding, F op) {
  if (f == Format::f64)
    return std::bit_cast<std::uint64_t>(underRounding(hostDirection(rounding), nullptr, op));
  return roundTo(f, roundedToOdd(op), rounding);
}

bool isZero(Format f, std::uint64_t x) {
  return (x & ~signOf(f) & maskOf(infoOf(f).bits)) == 0;
}

} // namespace

double valueOf(Format f, std::uint64_t bits) {
  if (f == Format::f64)
    return std::bit_cast<double>(bits);
  const FormatInfo info = infoOf(f);
  const std::uint64_t fraction = bits & maskOf(info.fraction), exponent = (bits & infinityOf(f)) >> info.fraction;
  double magnitude;
  if ((bits & infinityOf(f)) == infinityOf(f))
    magnitude = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<double>(fraction), 1 - info.bias - static_cast<int>(info.fraction));
  else
    magnitude = std::ldexp(static_cast<double>(fraction | std::uint64_t{1} << info.fraction),
                           static_cast<int>(exponent) - info.bias - static_cast<int>(info.fraction));
  return bits & signOf(f) ? -magnitude : magnitude;
}

std::uint64_t roundTo(Format f, double x, unsigned rounding) {
  const FormatInfo info = infoOf(f);
  const std::uint64_t source = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t sign = source >> 63 ? signOf(f) : 0;
  const int exponent = static_cast<int>(source >> 52 & 2047);
  const std::uint64_t fraction = source & maskOf(52);
  if (exponent == 2047)
    return fraction ? quietNanOf(f) : sign | infinityOf(f);
  if (exponent == 0 && fraction == 0)
    return sign;
  // x = significand * 2^(scale); a double denormal is far below every result.
  const std::uint64_t significand = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const int top = (exponent == 0 ? 1 : exponent) - 1023; // exponent of the leading bit of a normal number
  const int least = 1 - info.bias;
  const int unit = (top > least ? top : least) - static_cast<int>(info.fraction); // exponent of the last place kept
  const int shift = unit - (top - 52);
  std::uint64_t kept = shift >= 64 ? 0 : significand >> shift;
  const std::uint64_t rest = shift >= 64 ? significand : significand & maskOf(static_cast<unsigned>(shift));
  const bool above = shift < 64 && rest > std::uint64_t{1} << (shift - 1);
  const bool half = shift < 64 && rest == std::uint64_t{1} << (shift - 1);
  bool up = false;
  switch (rounding) {
  case 0:
    up = above || (half && (kept & 1));
    break;
  case 1:
    up = rest != 0 && sign == 0;
    break;
  case 2:
    up = rest != 0 && sign != 0;
    break;
  default:
    break;
  }
  kept += up;
  // A normal number's hidden bit adds one to the exponent field; a carry out of the fraction carries into it.
  const int field = top > least ? top - least : 0;
  const std::uint64_t bits = (static_cast<std::uint64_t>(field) << info.fraction) + kept;
  if (bits < infinityOf(f))
    return sign | bits;
  const bool towardInfinity = rounding == 0 || (rounding == 1 && sign == 0) || (rounding == 2 && sign != 0);
  return sign | (towardInfinity ? infinityOf(f) : infinityOf(f) - 1);
}

std::uint64_t Numbers::input(Format f, std::uint64_t a) const {
  a &= maskOf(infoOf(f).bits);
  return isDenormal(f, a) && !(denormals(f) & 1) ? a & signOf(f) : a;
}

std::uint64_t Numbers::finish(Format f, std::uint64_t bits) const {
  if (isNan(f, bits))
    return quietNanOf(f);
  return isDenormal(f, bits) && !keepsOutputs(f) ? bits & signOf(f) : bits;
}

std::uint64_t Numbers::add(Format f, std::uint64_t a, std::uint64_t b) const {
  return fma(f, a, f == Format::f16 ? 0x3c00 : f == Format::f32 ? 0x3f800000 : 0x3ff0000000000000, b);
}

std::uint64_t Numbers::mul(Format f, std::uint64_t a, std::uint64_t b) const {
  const double x = valueOf(f, input(f, a)), y = valueOf(f, input(f, b));
  return finish(f, operate(f, rounding(f), [&] {
                  const volatile double p = x, q = y;
                  return p * q;
                }));
}

std::uint64_t Numbers::fma(Format f, std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
  a = input(f, a);
  b = input(f, b);
  c = input(f, c);
  const double x = valueOf(f, a), y = valueOf(f, b), z = valueOf(f, c);
  std::uint64_t result = operate(f, rounding(f), [&] {
    const volatile double p = x, q = y, r = z;
    return std::fma(p, q, r);
  });
  // Opposite terms cancel to +0, rounding down to -0 (IEEE 754, 6.3).
  const bool opposite = ((a ^ b ^ c) & signOf(f)) != 0;
  const bool cancelled =
      isZero(f, result) && opposite && !isNan(f, result) && (isZero(f, c) == (isZero(f, a) || isZero(f, b)));
  if (cancelled && (isZero(f, c) || std::fma(x, y, z) == 0))
    result = rounding(f) == 2 ? signOf(f) : 0;
  return finish(f, result);
}

std::uint64_t Numbers::rcp(Format f, std::uint64_t a) const {
  // An approximation in hardware, of f32 taken as rounded to nearest with denormals flushed whatever MODE says.
  const bool flushes = f == Format::f32;
  a &= maskOf(infoOf(f).bits);
  a = flushes ? (isDenormal(f, a) ? a & signOf(f) : a) : input(f, a);
  const double x = valueOf(f, a);
  const std::uint64_t r = operate(f, flushes ? 0 : rounding(f), [&] {
    const volatile double q = x;
    return 1.0 / q;
  });
  return flushes && isDenormal(f, r) ? r & signOf(f) : finish(f, r);
}

std::uint64_t Numbers::sqrt(Format f, std::uint64_t a) const {
  const bool flushes = f == Format::f32;
  a &= maskOf(infoOf(f).bits);
  a = flushes ? (isDenormal(f, a) ? a & signOf(f) : a) : input(f, a);
  const double x = valueOf(f, a);
  return finish(f, operate(f, flushes ? 0 : rounding(f), [&] {
                  const volatile double q = x;
                  return std::sqrt(q);
                }));
}

/// CDNA3 ISA, V_MAX_F32 and V_MIN_F32.
std::uint64_t Numbers::extreme(Format f, std::uint64_t a, std::uint64_t b, bool largest) const {
  a = input(f, a);
  b = input(f, b);
  const std::uint64_t quiet = std::uint64_t{1} << (infoOf(f).fraction - 1);
  if (ieee() && isSignaling(f, a))
    return a | quiet;
  if (ieee() && isSignaling(f, b))
    return b | quiet;
  if (isNan(f, a))
    return b;
  if (isNan(f, b))
    return a;
  if (isZero(f, a) && isZero(f, b))
    return ((a & signOf(f)) != 0) == largest ? b : a;
  const double x = valueOf(f, a), y = valueOf(f, b);
  return largest ? (x > y ? a : b) : (x < y ? a : b);
}

std::uint64_t Numbers::ldexp(Format f, std::uint64_t a, int n) const {
  a = input(f, a);
  const double x = valueOf(f, a);
  n = n > 5000 ? 5000 : n < -5000 ? -5000 : n;
  if (f == Format::f64)
    return finish(f, std::bit_cast<std::uint64_t>(underRounding(hostDirection(rounding(f)), nullptr, [&] {
                    double y = x; // in steps that are exact but for the last
                    int left = n;
                    while (left > 900 && std::isfinite(y) && y != 0) {
                      y *= 0x1p900;
                      left -= 900;
                    }
                    while (left < -900 && std::fabs(y) > 0x1p-100) {
                      y *= 0x1p-900;
                      left += 900;
                    }
                    const volatile double base = y;
                    return left < -900 ? base * 0x1p-1000 * 0x1p-70 : std::ldexp(base, left);
                  })));
  return finish(f, roundTo(f, std::ldexp(x, n > 600 ? 600 : n < -600 ? -600 : n), rounding(f)));
}

std::uint64_t Numbers::whole(Format f, std::uint64_t a, Whole how) const {
  a = input(f, a);
  const double x = valueOf(f, a);
  double r = x;
  switch (how) {
  case Whole::trunc:
    r = std::trunc(x);
    break;
  case Whole::floor:
    r = std::floor(x);
    break;
  case Whole::ceil:
    r = std::ceil(x);
    break;
  case Whole::nearestEven:
    r = underRounding(FE_TONEAREST, nullptr, [&] { return std::nearbyint(x); });
    break;
  }
  return finish(f, f == Format::f64 ? std::bit_cast<std::uint64_t>(r) : roundTo(f, r, 3));
}

std::uint64_t Numbers::convert(Format to, Format from, std::uint64_t a) const {
  a = input(from, a);
  const double x = valueOf(from, a);
  return finish(to, to == Format::f64 ? std::bit_cast<std::uint64_t>(x) : roundTo(to, x, rounding(to)));
}

std::uint64_t Numbers::towardZeroF16(std::uint64_t f32) const {
  return finish(Format::f16, roundTo(Format::f16, valueOf(Format::f32, input(Format::f32, f32)), 3));
}

std::uint64_t Numbers::fromInteger(Format to, double exact) const {
  return finish(to, to == Format::f64 ? std::bit_cast<std::uint64_t>(exact) : roundTo(to, exact, rounding(to)));
}

double Numbers::toInteger(Format from, std::uint64_t a, double low, double high) const {
  const double x = std::trunc(valueOf(from, input(from, a)));
  return std::isnan(x) ? 0 : x < low ? low : x > high ? high : x;
}

int Numbers::compare(Format f, std::uint64_t a, std::uint64_t b) const {
  const double x = valueOf(f, input(f, a)), y = valueOf(f, input(f, b));
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

} // namespace asmevo::emulator::reference
