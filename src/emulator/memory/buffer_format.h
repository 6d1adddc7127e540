/// Formats of typed buffer accesses: what lies in memory for one record's element, as numbers. Private to the emulator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace asmevo::emulator {

/// NUM_FORMAT (CDNA3 ISA 13.5, MTBUF).
enum class NumberFormat : std::uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, reserved, floating };

/// A data format with a number format. The component widths are in order X, Y, Z, W from the lowest bit on.
struct BufferFormat {
  std::array<std::uint8_t, 4> bits{};
  std::uint8_t components = 0;
  std::uint8_t bytes = 0;
  NumberFormat number = NumberFormat::uint;

  /// nullopt: a pair that the hardware gives no meaning.
  static std::optional<BufferFormat> of(unsigned dataFormat, unsigned numberFormat);
  /// Components are numbers of this kind in registers; else integers.
  bool isFloat() const { return number != NumberFormat::uint && number != NumberFormat::sint; }
};

/// Component `index` of the element at `bytes` as register bits: f32, or the integer extended to 32 bits.
std::uint32_t decodeComponent(const BufferFormat& format, unsigned index, const std::uint8_t* bytes);

/// The bits that represent `value` (f32 or integer by the format). nullopt: the manual does not say how this value is
/// rounded or clipped to the format.
std::optional<std::uint32_t> encodeComponent(const BufferFormat& format, unsigned index, std::uint32_t value);
/// Puts encoded components into an element.
void placeComponent(const BufferFormat& format, unsigned index, std::uint32_t code, std::uint8_t* bytes);

/// f32 to f16 by rounding to nearest even, and back. By the compiler's conversions: hosts need not have F16C.
std::uint16_t halfFromFloat(float value);
float floatFromHalf(std::uint16_t bits);

} // namespace asmevo::emulator
