/// Floating point as the CDNA3 ISA manual's MODE register asks for it, one value at a time, for the reference
/// interpreter. f16 and f32 are computed in double rounded to odd, then rounded once to the format by integer
/// arithmetic; f64 by the host under the same rounding direction.
#pragma once

#include <cstdint>

namespace asmevo::emulator::reference {

enum class Format : std::uint8_t { f16, f32, f64 };

struct FormatInfo {
  unsigned bits, fraction;
  int bias;
};
constexpr FormatInfo infoOf(Format f) {
  return f == Format::f16   ? FormatInfo{16, 10, 15}
         : f == Format::f32 ? FormatInfo{32, 23, 127}
                            : FormatInfo{64, 52, 1023};
}
constexpr std::uint64_t maskOf(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}
constexpr std::uint64_t signOf(Format f) {
  return std::uint64_t{1} << (infoOf(f).bits - 1);
}
constexpr std::uint64_t infinityOf(Format f) {
  return maskOf(infoOf(f).bits - 1) ^ maskOf(infoOf(f).fraction);
}
constexpr std::uint64_t quietNanOf(Format f) {
  return infinityOf(f) | std::uint64_t{1} << (infoOf(f).fraction - 1);
}
constexpr bool isNan(Format f, std::uint64_t x) {
  return (x & maskOf(infoOf(f).bits - 1)) > infinityOf(f);
}
constexpr bool isSignaling(Format f, std::uint64_t x) {
  return isNan(f, x) && (x >> (infoOf(f).fraction - 1) & 1) == 0;
}
constexpr bool isDenormal(Format f, std::uint64_t x) {
  return (x & infinityOf(f)) == 0 && (x & maskOf(infoOf(f).fraction)) != 0;
}

/// Exact value of an f16 or f32, or an f64 itself.
double valueOf(Format f, std::uint64_t bits);

/// MODE as a value.
class Numbers {
 public:
  constexpr explicit Numbers(std::uint32_t mode) : mode(mode) {}

  std::uint64_t add(Format f, std::uint64_t a, std::uint64_t b) const;
  std::uint64_t sub(Format f, std::uint64_t a, std::uint64_t b) const { return add(f, a, b ^ signOf(f)); }
  std::uint64_t mul(Format f, std::uint64_t a, std::uint64_t b) const;
  std::uint64_t fma(Format f, std::uint64_t a, std::uint64_t b, std::uint64_t c) const;
  std::uint64_t rcp(Format f, std::uint64_t a) const;
  std::uint64_t sqrt(Format f, std::uint64_t a) const;
  std::uint64_t min(Format f, std::uint64_t a, std::uint64_t b) const { return extreme(f, a, b, false); }
  std::uint64_t max(Format f, std::uint64_t a, std::uint64_t b) const { return extreme(f, a, b, true); }
  std::uint64_t ldexp(Format f, std::uint64_t a, int n) const;
  enum class Whole { trunc, floor, ceil, nearestEven };
  std::uint64_t whole(Format f, std::uint64_t a, Whole how) const;

  std::uint64_t convert(Format to, Format from, std::uint64_t a) const;
  std::uint64_t towardZeroF16(std::uint64_t f32) const; ///< v_cvt_pkrtz
  std::uint64_t fromInteger(Format to, double exact) const;
  /// Truncated and saturated to [low, high]; NaN gives 0.
  double toInteger(Format from, std::uint64_t a, double low, double high) const;

  /// Ordering of two values: -1, 0, 1, or 2 when unordered. Denormals that MODE flushes are zeros.
  int compare(Format f, std::uint64_t a, std::uint64_t b) const;
  /// A denormal source that MODE does not let in becomes a zero of its sign.
  std::uint64_t input(Format f, std::uint64_t a) const;
  bool ieee() const { return mode >> 9 & 1; }
  bool dx10Clamp() const { return mode >> 8 & 1; }
  bool keepsOutputs(Format f) const { return denormals(f) & 2; }
  unsigned rounding(Format f) const { return f == Format::f32 ? mode & 3 : mode >> 2 & 3; }

 private:
  std::uint64_t extreme(Format f, std::uint64_t a, std::uint64_t b, bool largest) const;
  unsigned denormals(Format f) const { return f == Format::f32 ? mode >> 4 & 3 : mode >> 6 & 3; }
  std::uint64_t finish(Format f, std::uint64_t bits) const; ///< flushes and makes NaNs uniform
  std::uint32_t mode;
};

/// Rounds `x` to f16 or f32. rounding as in MODE: 0 nearest even, 1 up, 2 down, 3 toward zero.
std::uint64_t roundTo(Format f, double x, unsigned rounding);

} // namespace asmevo::emulator::reference
