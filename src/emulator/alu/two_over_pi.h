/// The binary fraction of 2/pi, for V_TRIG_PREOP_F64.
#pragma once

#include <cstdint>

namespace asmevo::emulator {

/// Bits of 2/pi after the point, first bit the top bit of word 0; 1,216 bits.
inline constexpr std::uint64_t twoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

/// 53 bits of 2/pi that begin `shift` bits after the point, weighted; zero beyond 1,201 bits (the table of the ISA
/// manual).
[[gnu::always_inline]] inline std::uint64_t trigPreopOf(std::uint64_t x, std::uint32_t segment) {
  const std::uint32_t exponent = static_cast<std::uint32_t>(x >> 52) & 0x7ff;
  const std::uint32_t shift = segment * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < 53; ++i) {
    const std::uint32_t at = shift + i;
    const std::uint64_t bit = at < 1201 ? twoOverPi[at >> 6] >> (63 - (at & 63)) & 1 : 0;
    bits = bits << 1 | bit;
  }
  if (bits == 0)
    return 0;
  const std::int32_t scale = -53 - static_cast<std::int32_t>(shift) + (exponent >= 1968 ? 128 : 0);
  const std::int32_t top = 63 - __builtin_clzll(bits);
  const std::int32_t field = 1023 + top + scale;
  const std::uint64_t fraction = bits << (52 - top) & 0x000fffffffffffff;
  if (field > 0)
    return static_cast<std::uint64_t>(field) << 52 | fraction;
  // Denormal: the bits that fall off are cut.
  const std::uint64_t mantissa = fraction | std::uint64_t{1} << 52;
  return field > -52 ? mantissa >> (1 - field) : 0;
}

} // namespace asmevo::emulator
