#include "dispatch/element.h"

#include "dispatch/random.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace asmevo::dispatch {
namespace {

enum class Kind { signedInteger, unsignedInteger, floating };

struct TypeRow {
  DType type;
  std::string_view name;
  std::uint8_t size;
  Kind kind;
  FloatFormat format;
};

constexpr FloatFormat none{0, 0, 0, false, false};

// The 8-bit formats: OCP "8-bit Floating Point Specification" 1.0 (e4m3fn, e5m2); CDNA3 ISA "FP8/BF8" (fnuz).
constexpr std::array<TypeRow, 16> types{{
    {DType::i8, "i8", 1, Kind::signedInteger, none},
    {DType::u8, "u8", 1, Kind::unsignedInteger, none},
    {DType::i16, "i16", 2, Kind::signedInteger, none},
    {DType::u16, "u16", 2, Kind::unsignedInteger, none},
    {DType::i32, "i32", 4, Kind::signedInteger, none},
    {DType::u32, "u32", 4, Kind::unsignedInteger, none},
    {DType::i64, "i64", 8, Kind::signedInteger, none},
    {DType::u64, "u64", 8, Kind::unsignedInteger, none},
    {DType::f16, "f16", 2, Kind::floating, {5, 10, 15, true, false}},
    {DType::bf16, "bf16", 2, Kind::floating, {8, 7, 127, true, false}},
    {DType::f32, "f32", 4, Kind::floating, {8, 23, 127, true, false}},
    {DType::f64, "f64", 8, Kind::floating, {11, 52, 1023, true, false}},
    {DType::fp8E4m3fnuz, "fp8_e4m3fnuz", 1, Kind::floating, {4, 3, 8, false, true}},
    {DType::fp8E5m2fnuz, "fp8_e5m2fnuz", 1, Kind::floating, {5, 2, 16, false, true}},
    {DType::fp8E4m3fn, "fp8_e4m3fn", 1, Kind::floating, {4, 3, 7, false, false}},
    {DType::fp8E5m2, "fp8_e5m2", 1, Kind::floating, {5, 2, 15, true, false}},
}};

const TypeRow& row(DType type) {
  return types[static_cast<std::size_t>(type)];
}

unsigned bitsOf(DType type) {
  return 8u * row(type).size;
}

/// The largest finite magnitude's bits.
std::uint64_t largestFinite(const FloatFormat& f) {
  const std::uint64_t magnitude = (std::uint64_t{1} << (f.exponentBits + f.fractionBits)) - 1;
  if (f.fnuz)
    return magnitude;
  return f.infinities ? magnitude - (std::uint64_t{1} << f.fractionBits) : magnitude - 1;
}

std::uint64_t nanBits(const FloatFormat& f) {
  const std::uint64_t sign = std::uint64_t{1} << (f.exponentBits + f.fractionBits);
  if (f.fnuz)
    return sign;
  if (!f.infinities)
    return sign - 1;
  return sign - (std::uint64_t{1} << (f.fractionBits - 1));
}

} // namespace

std::size_t dtypeSize(DType type) {
  return row(type).size;
}
std::string_view dtypeName(DType type) {
  return row(type).name;
}

Result<DType> parseDType(const std::string& name) {
  for (const TypeRow& candidate : types)
    if (candidate.name == name)
      return candidate.type;
  std::string known;
  for (const TypeRow& candidate : types)
    known.append(known.empty() ? "" : " ").append(candidate.name);
  return badInput("unknown dtype '{}'; there are: {}", name, known);
}

bool isFloat(DType type) {
  return row(type).kind == Kind::floating;
}
bool isSigned(DType type) {
  return row(type).kind == Kind::signedInteger;
}
const FloatFormat& floatFormat(DType type) {
  return row(type).format;
}

std::int64_t integerMin(DType type) {
  return isSigned(type) ? std::numeric_limits<std::int64_t>::min() >> (64 - bitsOf(type)) : 0;
}

std::uint64_t integerMax(DType type) {
  return ~std::uint64_t{0} >> (64 - bitsOf(type) + (isSigned(type) ? 1 : 0));
}

std::uint64_t encodeFloat(DType type, double value, bool saturate) {
  if (type == DType::f64)
    return std::bit_cast<std::uint64_t>(value);
  if (type == DType::f32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == DType::bf16)
    value = static_cast<double>(static_cast<float>(value));

  const FloatFormat& f = floatFormat(type);
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (f.exponentBits + f.fractionBits);
  if (std::isnan(value))
    return nanBits(f);
  const std::uint64_t limit = largestFinite(f);
  const std::uint64_t beyond = f.infinities ? limit + 1 : nanBits(f);
  if (std::isinf(value))
    return f.fnuz ? beyond : sign | beyond;

  // In units of the last place of the value's binade (or of the subnormals), rounded by the host's nearest-even rint.
  const double magnitude = std::fabs(value);
  const int least = 1 - f.bias;
  const int exponent = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::scalbn(magnitude, f.fractionBits - exponent)));
  // A carry out of the significand runs into the exponent field by itself.
  const std::uint64_t binade = static_cast<std::uint64_t>(exponent - least) << f.fractionBits;
  const std::uint64_t bits = binade + units;
  if (bits > limit)
    return saturate && row(type).size == 1 ? sign | limit : (f.fnuz ? beyond : sign | beyond);
  return f.fnuz && bits == 0 ? 0 : sign | bits;
}

double decodeFloat(DType type, std::uint64_t bits) {
  if (type == DType::f64)
    return std::bit_cast<double>(bits);
  if (type == DType::f32)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));

  const FloatFormat& f = floatFormat(type);
  const std::uint64_t signBit = std::uint64_t{1} << (f.exponentBits + f.fractionBits);
  const std::uint64_t magnitude = bits & (signBit - 1);
  const bool negative = (bits & signBit) != 0;
  if (f.fnuz ? bits == signBit : magnitude > largestFinite(f)) {
    const bool infinite = f.infinities && magnitude == largestFinite(f) + 1;
    return std::copysign(infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN(),
                         negative ? -1.0 : 1.0);
  }
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << f.fractionBits) - 1);
  const int exponent = static_cast<int>(magnitude >> f.fractionBits);
  const std::uint64_t significand = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << f.fractionBits);
  const double value = std::scalbn(static_cast<double>(significand), std::max(exponent, 1) - f.bias - f.fractionBits);
  return negative ? -value : value;
}

void storeElement(DType type, std::uint64_t bits, std::uint8_t* at) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(at, &bits, row(type).size);
}

std::uint64_t loadElement(DType type, const std::uint8_t* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, row(type).size);
  return bits;
}

double elementValue(DType type, const std::uint8_t* bytes) {
  const std::uint64_t bits = loadElement(type, bytes);
  if (isFloat(type))
    return decodeFloat(type, bits);
  if (!isSigned(type))
    return static_cast<double>(bits);
  const unsigned unused = 64 - bitsOf(type);
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::uint64_t poisonBits(DType type, std::uint64_t index) {
  const std::uint64_t noise = SplitMix64::mix(index + 0x5851f42d4c957f2d);
  if (!isFloat(type))
    return bitsOf(type) == 64 ? noise : noise & ((std::uint64_t{1} << bitsOf(type)) - 1);
  const FloatFormat& f = floatFormat(type);
  if (f.fnuz)
    return nanBits(f);
  const std::uint64_t sign = (noise & 1) << (f.exponentBits + f.fractionBits);
  if (!f.infinities)
    return sign | nanBits(f);
  // An odd factor permutes the payloads, so neighbours, and as many elements as there are payloads, all differ.
  const std::uint64_t payloads = (std::uint64_t{1} << (f.fractionBits - 1)) - 1;
  return sign | nanBits(f) | ((index * 0x9e3779b97f4a7c15 + 0x2545f491) & payloads);
}

} // namespace asmevo::dispatch
