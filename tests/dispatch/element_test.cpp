#include "dispatch/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace asmevo::dispatch {
namespace {

constexpr DType narrowFloats[] = {DType::f16,         DType::bf16,      DType::fp8E4m3fnuz,
                                  DType::fp8E5m2fnuz, DType::fp8E4m3fn, DType::fp8E5m2};

TEST(Element, NamesAndSizesRoundTrip) {
  const std::pair<const char*, std::size_t> all[] = {
      {"i8", 1},           {"u8", 1},           {"i16", 2},        {"u16", 2},     {"i32", 4}, {"u32", 4},
      {"i64", 8},          {"u64", 8},          {"f16", 2},        {"bf16", 2},    {"f32", 4}, {"f64", 8},
      {"fp8_e4m3fnuz", 1}, {"fp8_e5m2fnuz", 1}, {"fp8_e4m3fn", 1}, {"fp8_e5m2", 1}};
  for (const auto& [name, size] : all) {
    const auto type = parseDType(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(dtypeName(*type), name);
    EXPECT_EQ(dtypeSize(*type), size) << name;
  }
  EXPECT_FALSE(parseDType("fp8"));
}

/// The compiler's own f16 as oracle, for every code.
TEST(Element, DecodesEveryHalfLikeTheCompiler) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto want = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    const double have = decodeFloat(DType::f16, bits);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(have)) << bits;
    else
      EXPECT_EQ(std::bit_cast<std::uint64_t>(have), std::bit_cast<std::uint64_t>(want)) << bits;
  }
}

TEST(Element, EncodesHalvesLikeTheCompiler) {
  // Every finite half, the midpoints to its neighbour (ties) and a hair to both sides of them.
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    const auto high = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits + 1)));
    const double middle = (low + high) / 2;
    for (const double value : {low, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9), -middle}) {
      const auto want = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
      ASSERT_EQ(encodeFloat(DType::f16, value, false), want) << value;
    }
  }
}

TEST(Element, BfloatTakesTheTopHalfOfF32RoundedToEven) {
  const std::pair<std::uint32_t, std::uint16_t> cases[] = {
      {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
      {0x7f7fffff, 0x7f80}, {0x00008000, 0x0000}, {0x00018000, 0x0002}, {0xff800000, 0xff80},
  };
  for (const auto& [single, want] : cases)
    EXPECT_EQ(encodeFloat(DType::bf16, static_cast<double>(std::bit_cast<float>(single)), true), want)
        << std::hex << single;
  // By way of f32: the double is above the tie, its f32 is on it.
  EXPECT_EQ(encodeFloat(DType::bf16, 1.00390625 + 0x1p-40, false), 0x3f80);
}

TEST(Element, EveryNarrowCodeSurvivesDecodeAndEncode) {
  for (const DType type : narrowFloats)
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << (8 * dtypeSize(type))); ++bits) {
      const double value = decodeFloat(type, bits);
      if (!std::isnan(value)) {
        ASSERT_EQ(encodeFloat(type, value, false), bits) << dtypeName(type) << " " << bits;
      }
    }
}

/// Values from the OCP 8-bit specification 1.0, table 1, and the CDNA3 ISA for the fnuz types.
TEST(Element, KnownEightBitValues) {
  EXPECT_EQ(decodeFloat(DType::fp8E4m3fn, 0x7e), 448);
  EXPECT_TRUE(std::isnan(decodeFloat(DType::fp8E4m3fn, 0x7f)));
  EXPECT_EQ(decodeFloat(DType::fp8E4m3fn, 0x01), 0x1p-9);
  EXPECT_EQ(decodeFloat(DType::fp8E5m2, 0x7b), 57344);
  EXPECT_EQ(decodeFloat(DType::fp8E5m2, 0x7c), std::numeric_limits<double>::infinity());
  EXPECT_EQ(decodeFloat(DType::fp8E5m2, 0x01), 0x1p-16);
  EXPECT_EQ(decodeFloat(DType::fp8E4m3fnuz, 0x7f), 240);
  EXPECT_TRUE(std::isnan(decodeFloat(DType::fp8E4m3fnuz, 0x80)));
  EXPECT_EQ(decodeFloat(DType::fp8E4m3fnuz, 0x01), 0x1p-10);
  EXPECT_EQ(decodeFloat(DType::fp8E5m2fnuz, 0x7f), 57344);
  EXPECT_EQ(decodeFloat(DType::fp8E5m2fnuz, 0x81), -0x1p-17);
}

TEST(Element, EightBitOverflow) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Row {
    DType type;
    std::uint64_t largest, infinite, notANumber;
  };
  for (const Row& row : {Row{DType::fp8E4m3fn, 0x7e, 0x7f, 0x7f}, Row{DType::fp8E5m2, 0x7b, 0x7c, 0x7e},
                         Row{DType::fp8E4m3fnuz, 0x7f, 0x80, 0x80}, Row{DType::fp8E5m2fnuz, 0x7f, 0x80, 0x80}}) {
    EXPECT_EQ(encodeFloat(row.type, 1e6, true), row.largest);
    EXPECT_EQ(encodeFloat(row.type, -1e6, true), row.largest | 0x80);
    EXPECT_EQ(encodeFloat(row.type, 1e6, false), row.infinite);
    EXPECT_EQ(encodeFloat(row.type, infinity, true), row.infinite);
    EXPECT_EQ(encodeFloat(row.type, std::nan(""), true), row.notANumber);
  }
  EXPECT_EQ(encodeFloat(DType::fp8E4m3fnuz, -0.0, true), 0u);
  EXPECT_EQ(encodeFloat(DType::fp8E4m3fn, -0.0, true), 0x80u);
}

TEST(Element, IntegerValues) {
  const std::uint8_t bytes[8] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(elementValue(DType::i8, bytes), -2);
  EXPECT_EQ(elementValue(DType::u8, bytes), 254);
  EXPECT_EQ(elementValue(DType::i16, bytes), -2);
  EXPECT_EQ(elementValue(DType::i64, bytes), -2);
  EXPECT_EQ(elementValue(DType::u32, bytes), 4294967294.0);
}

TEST(Element, PoisonIsNanAndDiffers) {
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::fp8E4m3fnuz, DType::fp8E5m2fnuz,
                           DType::fp8E4m3fn, DType::fp8E5m2})
    for (std::uint64_t i = 0; i < 5000; ++i)
      ASSERT_TRUE(std::isnan(decodeFloat(type, poisonBits(type, i)))) << dtypeName(type) << " " << i;
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 5000; ++i)
      seen.insert(poisonBits(type, i));
    EXPECT_EQ(seen.size(), 5000u) << dtypeName(type);
  }
  for (const DType type : {DType::f16, DType::bf16})
    for (std::uint64_t i = 0; i < 5000; ++i)
      ASSERT_NE(poisonBits(type, i), poisonBits(type, i + 1)) << dtypeName(type);
}

} // namespace
} // namespace asmevo::dispatch
