#include "emulator/memory/buffer_format.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace asmevo::emulator {

namespace {

/// DATA_FORMAT (CDNA3 ISA 13.5, MTBUF): names there begin with the highest bits.
constexpr std::array<std::array<std::uint8_t, 4>, 16> widths = {{
    {},
    {8},
    {16},
    {8, 8},
    {32},
    {16, 16},
    {11, 11, 10},
    {10, 11, 11},
    {2, 10, 10, 10},
    {10, 10, 10, 2},
    {8, 8, 8, 8},
    {32, 32},
    {16, 16, 16, 16},
    {32, 32, 32},
    {32, 32, 32, 32},
    {},
}};

unsigned offsetOf(const BufferFormat& format, unsigned index) {
  unsigned at = 0;
  for (unsigned i = 0; i < index; ++i)
    at += format.bits[i];
  return at;
}

std::uint32_t codeOf(const BufferFormat& format, unsigned index, const std::uint8_t* bytes) {
  const unsigned at = offsetOf(format, index), width = format.bits[index];
  std::uint64_t window = 0;
  const unsigned first = at / 32 * 4;
  std::memcpy(&window, bytes + first, std::min<std::size_t>(4, format.bytes - first));
  return static_cast<std::uint32_t>(window >> (at % 32) & ((std::uint64_t{1} << width) - 1));
}

std::int32_t signedOf(std::uint32_t code, unsigned width) {
  return static_cast<std::int32_t>(code << (32 - width)) >> (32 - width);
}

/// Unsigned floats of 10 and 11 bits: 5 bits of exponent, bias 15.
float smallFloat(std::uint32_t code, unsigned width) {
  const unsigned fraction = width - 5;
  const std::uint32_t exponent = code >> fraction, mantissa = code & ((1u << fraction) - 1);
  if (exponent == 31)
    return std::bit_cast<float>(0x7f800000u | mantissa << (23 - fraction));
  if (exponent == 0)
    return std::ldexp(static_cast<float>(mantissa), -14 - static_cast<int>(fraction));
  return std::bit_cast<float>((exponent + 112) << 23 | mantissa << (23 - fraction));
}

} // namespace

std::uint16_t halfFromFloat(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}
float floatFromHalf(std::uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

std::optional<BufferFormat> BufferFormat::of(unsigned dataFormat, unsigned numberFormat) {
  BufferFormat format;
  format.bits = widths[dataFormat & 15];
  format.number = static_cast<NumberFormat>(numberFormat & 7);
  unsigned total = 0;
  for (const unsigned width : format.bits) {
    format.components = static_cast<std::uint8_t>(format.components + (width != 0));
    total += width;
  }
  format.bytes = static_cast<std::uint8_t>(total / 8);
  const unsigned first = format.bits[0];
  if (total == 0 || format.number == NumberFormat::reserved)
    return std::nullopt;
  const bool smallFloats = format.components == 3 && total == 32;
  if (format.number == NumberFormat::floating && first != 16 && first != 32 && !smallFloats)
    return std::nullopt;
  if (first == 32 && format.isFloat() && format.number != NumberFormat::floating)
    return std::nullopt;
  return format;
}

std::uint32_t decodeComponent(const BufferFormat& format, unsigned index, const std::uint8_t* bytes) {
  const unsigned width = format.bits[index];
  const std::uint32_t code = codeOf(format, index, bytes);
  const auto asBits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  switch (format.number) {
  case NumberFormat::unorm:
    return asBits(static_cast<float>(code) / static_cast<float>((1u << width) - 1));
  case NumberFormat::snorm:
    return asBits(
        std::fmax(-1.0f, static_cast<float>(signedOf(code, width)) / static_cast<float>((1u << (width - 1)) - 1)));
  case NumberFormat::uscaled:
    return asBits(static_cast<float>(code));
  case NumberFormat::sscaled:
    return asBits(static_cast<float>(signedOf(code, width)));
  case NumberFormat::sint:
    return static_cast<std::uint32_t>(signedOf(code, width));
  case NumberFormat::floating:
    if (width == 32)
      return code;
    return asBits(width == 16 ? floatFromHalf(static_cast<std::uint16_t>(code)) : smallFloat(code, width));
  case NumberFormat::uint:
  case NumberFormat::reserved:
    break;
  }
  return code;
}

std::optional<std::uint32_t> encodeComponent(const BufferFormat& format, unsigned index, std::uint32_t value) {
  const unsigned width = format.bits[index];
  const std::uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  const float number = std::bit_cast<float>(value);
  switch (format.number) {
  case NumberFormat::uint:
    return value <= mask ? std::optional(value) : std::nullopt;
  case NumberFormat::sint:
    return signedOf(value & mask, width) == static_cast<std::int32_t>(value) ? std::optional(value & mask)
                                                                             : std::nullopt;
  case NumberFormat::floating:
    if (width == 32)
      return value;
    if (width == 16 && floatFromHalf(halfFromFloat(number)) == number)
      return halfFromFloat(number);
    return std::nullopt;
  case NumberFormat::unorm:
  case NumberFormat::snorm: {
    const bool hasSign = format.number == NumberFormat::snorm;
    const double scale = hasSign ? (1u << (width - 1)) - 1 : mask;
    if (!(number >= (hasSign ? -1.0f : 0.0f) && number <= 1.0f))
      return std::nullopt;
    const double scaled = double{number} * scale, nearest = std::nearbyint(scaled);
    if (std::fabs(std::fabs(scaled - nearest) - 0.5) < 0x1p-10) // which way a tie goes is not documented
      return std::nullopt;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(nearest)) & mask;
  }
  case NumberFormat::uscaled:
  case NumberFormat::sscaled: {
    const std::uint32_t code =
        static_cast<std::uint32_t>(static_cast<std::int64_t>(std::fabs(number) < 0x1p31f ? double{number} : 0.0));
    const float back = format.number == NumberFormat::uscaled ? static_cast<float>(code & mask)
                                                              : static_cast<float>(signedOf(code & mask, width));
    return back == number ? std::optional(code & mask) : std::nullopt;
  }
  case NumberFormat::reserved:
    break;
  }
  return std::nullopt;
}

void placeComponent(const BufferFormat& format, unsigned index, std::uint32_t code, std::uint8_t* bytes) {
  const unsigned at = offsetOf(format, index), width = format.bits[index], first = at / 32 * 4;
  const std::size_t size = std::min<std::size_t>(4, format.bytes - first);
  std::uint64_t window = 0;
  std::memcpy(&window, bytes + first, size);
  const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << (at % 32);
  window = (window & ~mask) | std::uint64_t{code} << (at % 32);
  std::memcpy(bytes + first, &window, size);
}

} // namespace asmevo::emulator
