#include "dispatch/dispatch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace asmevo::dispatch {
namespace {

template <class T> Bytes bytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Buffer bufferOf(DType type) {
  Buffer buffer;
  buffer.name = "c";
  buffer.dtype = type;
  return buffer;
}

constexpr Comparison bitwise{};
constexpr Comparison loose{Comparison::Mode::tolerance, 0.125, 0.5};

TEST(Compare, BitwiseSeesSignsOfZeroAndNanPayloads) {
  const Buffer buffer = bufferOf(DType::f32);
  EXPECT_FALSE(compareBuffer(buffer, bitwise, bytesOf<float>({1, 2}), bytesOf<float>({1, 2})));
  const auto zero = compareBuffer(buffer, bitwise, bytesOf<float>({1, 0.0f, 5}), bytesOf<float>({1, -0.0f, 6}));
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->buffer, "c");
  EXPECT_EQ(zero->element, 1u);
  EXPECT_EQ(zero->count, 2u);
  EXPECT_EQ(zero->expected, "0 (0x00000000)");
  EXPECT_EQ(zero->actual, "-0 (0x80000000)");
  EXPECT_TRUE(
      compareBuffer(buffer, bitwise, bytesOf<std::uint32_t>({0x7fc00001}), bytesOf<std::uint32_t>({0x7fc00002})));
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  const Buffer buffer = bufferOf(DType::f32);
  const float infinity = std::numeric_limits<float>::infinity();
  const float notANumber = std::numeric_limits<float>::quiet_NaN();
  // limit at 8: 0.5 + 0.125 * 8 = 1.5
  EXPECT_FALSE(compareBuffer(buffer, loose, bytesOf<float>({8, -8}), bytesOf<float>({9.5f, -9.5f})));
  EXPECT_TRUE(compareBuffer(buffer, loose, bytesOf<float>({8}), bytesOf<float>({9.625f})));
  EXPECT_FALSE(
      compareBuffer(buffer, loose, bytesOf<float>({infinity, notANumber}), bytesOf<float>({infinity, -notANumber})));
  EXPECT_TRUE(compareBuffer(buffer, loose, bytesOf<float>({infinity}), bytesOf<float>({-infinity})));
  EXPECT_TRUE(compareBuffer(buffer, loose, bytesOf<float>({infinity}), bytesOf<float>({3e38f})));
  EXPECT_TRUE(compareBuffer(buffer, loose, bytesOf<float>({1}), bytesOf<float>({notANumber})));
  EXPECT_TRUE(compareBuffer(buffer, loose, bytesOf<float>({notANumber}), bytesOf<float>({1})));
}

TEST(Compare, IntegersOf64BitsKeepTheirLastDigit) {
  const Buffer buffer = bufferOf(DType::u64);
  constexpr Comparison exact{Comparison::Mode::tolerance, 0, 0};
  const auto difference =
      compareBuffer(buffer, exact, bytesOf<std::uint64_t>({~0ull}), bytesOf<std::uint64_t>({~0ull - 1}));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->expected, "18446744073709551615");
  EXPECT_EQ(difference->actual, "18446744073709551614");
  const auto negative =
      compareBuffer(bufferOf(DType::i16), bitwise, bytesOf<std::int16_t>({-1}), bytesOf<std::int16_t>({1}));
  ASSERT_TRUE(negative);
  EXPECT_EQ(negative->expected, "-1");
}

TEST(Compare, IgnoreAndSizes) {
  const Buffer buffer = bufferOf(DType::u8);
  EXPECT_FALSE(compareBuffer(buffer, {Comparison::Mode::ignore, 0, 0}, {1, 2}, {3, 4}));
  const auto size = compareBuffer(buffer, bitwise, {1, 2, 3}, {1});
  ASSERT_TRUE(size);
  EXPECT_EQ(size->element, 1u);
  EXPECT_EQ(size->count, 2u);
}

} // namespace
} // namespace asmevo::dispatch
