/// Elements of a buffer: their types as numbers, and conversions that round to nearest, ties to even.
#pragma once

#include "dispatch/dispatch.h"

#include <cstdint>
#include <span>

namespace asmevo::dispatch {

/// A floating-point storage format as sign, exponent and fraction fields.
struct FloatFormat {
  int exponentBits, fractionBits, bias;
  bool infinities; ///< the top exponent is infinity and NaN, as in IEEE 754
  bool fnuz;       ///< one NaN (sign bit alone), no infinity, no negative zero
};

bool isFloat(DType type);
bool isSigned(DType type); ///< signed integer
/// Format of f16, bf16, f32, f64 or an 8-bit type.
const FloatFormat& floatFormat(DType type);
/// Least and greatest value of an integer type; the greatest as unsigned.
std::int64_t integerMin(DType type);
std::uint64_t integerMax(DType type);

/// Bits of a value in a floating-point format, nearest even. Too large: infinity where the format is IEEE-like (f16,
/// bf16, f32, e5m2), else NaN; with `saturate`, the 8-bit types give their largest finite value for finite input
/// instead. bf16 is rounded from the f32 value, as everybody's libraries do.
std::uint64_t encodeFloat(DType type, double value, bool saturate);
/// The value of the low bits of `bits` in a floating-point format. Exact.
double decodeFloat(DType type, std::uint64_t bits);

/// Stores the low dtypeSize(type) bytes of `bits`, little-endian.
void storeElement(DType type, std::uint64_t bits, std::uint8_t* at);
std::uint64_t loadElement(DType type, const std::uint8_t* at);

/// Bits of element `index` of a poisoned buffer: differs per element as far as the type has codes for it; NaN for
/// floating-point types (quiet, with varying sign and payload where the format has more than one NaN).
std::uint64_t poisonBits(DType type, std::uint64_t index);

} // namespace asmevo::dispatch
