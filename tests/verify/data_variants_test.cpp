#include "verify/data_variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace asmevo::verify {
namespace {

dispatch::Buffer buffer(const std::string& name, dispatch::DType type, Bytes initial) {
  dispatch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.initial = std::move(initial);
  b.shape = {b.initial.size() / dispatch::dtypeSize(type)};
  return b;
}

template <class T> Bytes bytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T> std::vector<T> valuesOf(const dispatch::Buffer& buffer) {
  std::vector<T> values(buffer.initial.size() / sizeof(T));
  std::memcpy(values.data(), buffer.initial.data(), buffer.initial.size());
  return values;
}

/// x: 64 rows of 64 floats from 1 to 4; n: 100 integers from 10; both arguments, then 100.
dispatch::Dispatch sample() {
  std::vector<float> floats;
  std::vector<std::int32_t> integers;
  for (int i = 0; i < 64 * 64; ++i)
    floats.push_back(1 + static_cast<float>(i) * 3 / 4096);
  for (int i = 0; i < 100; ++i)
    integers.push_back(10 + i);
  dispatch::Dispatch given;
  given.cases.resize(1);
  dispatch::Case& launch = given.cases[0];
  launch.name = "case 0";
  launch.workgroupSize = {64, 1, 1};
  launch.gridSize = {128, 1, 1};
  launch.buffers = {buffer("x", dispatch::DType::f32, bytesOf(floats)),
                    buffer("n", dispatch::DType::i32, bytesOf(integers))};
  launch.buffers[0].shape = {64, 64};
  dispatch::Argument x, n, size;
  x.buffer = "x";
  n.buffer = "n";
  size.bytes = bytesOf(std::vector<std::int32_t>{100});
  launch.arguments = {x, n, size};
  return given;
}

const dispatch::Case& named(const VariedDispatch& varied, const std::string& name) {
  for (const dispatch::Case& launch : varied.dispatch.cases)
    if (launch.name == "case 0, " + name)
      return launch;
  ADD_FAILURE() << "no variant " << name;
  return varied.dispatch.cases.front();
}

TEST(DataVariants, FloatsChangeAndIntegersStay) {
  const dispatch::Dispatch given = sample();
  const VariedDispatch varied = withVariants(given, 1);
  ASSERT_EQ(varied.given, 1u);
  ASSERT_EQ(varied.variants.size() + 1, varied.dispatch.cases.size());
  for (std::size_t i = 0; i < varied.variants.size(); ++i)
    if (isFloatData(varied.variants[i].kind)) {
      EXPECT_NE(varied.dispatch.cases[1 + i].buffers[0].initial, given.cases[0].buffers[0].initial);
      EXPECT_EQ(varied.dispatch.cases[1 + i].buffers[1].initial, given.cases[0].buffers[1].initial);
    }
  const auto permuted = valuesOf<float>(named(varied, "floats permuted 1").buffers[0]);
  EXPECT_TRUE(std::ranges::is_permutation(permuted, valuesOf<float>(given.cases[0].buffers[0])));
}

TEST(DataVariants, BoundaryValuesAreFiniteAndSpecialsAreNot) {
  const VariedDispatch varied = withVariants(sample(), 1);
  bool denormal = false, negativeZero = false, largest = false;
  for (const float x : valuesOf<float>(named(varied, "boundary values 1").buffers[0])) {
    EXPECT_TRUE(std::isfinite(x));
    denormal |= std::fpclassify(x) == FP_SUBNORMAL;
    negativeZero |= x == 0 && std::signbit(x);
    largest |= x == std::numeric_limits<float>::max();
  }
  EXPECT_TRUE(denormal && negativeZero && largest);
  const auto specials = valuesOf<float>(named(varied, "NaN and infinity 1").buffers[0]);
  std::size_t nans = 0, infinities = 0, cleanRows = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    bool clean = true;
    for (std::size_t i = row * 64; i < row * 64 + 64; ++i) {
      nans += std::isnan(specials[i]);
      infinities += std::isinf(specials[i]);
      clean &= std::isnormal(specials[i]);
    }
    cleanRows += clean;
  }
  EXPECT_GT(nans, 0u);
  EXPECT_GT(infinities, 0u);
  EXPECT_GE(cleanRows, 21u) << "every third row is ordinary";
}

TEST(DataVariants, CancellingRowsSumToNothing) {
  const VariedDispatch varied = withVariants(sample(), 1);
  const auto values = valuesOf<float>(named(varied, "cancelling halves 1").buffers[0]);
  for (std::size_t row = 0; row < 64; ++row) {
    double sum = 0, magnitude = 0;
    for (std::size_t i = row * 64; i < row * 64 + 64; ++i) {
      sum += static_cast<double>(values[i]);
      magnitude += std::fabs(static_cast<double>(values[i]));
    }
    EXPECT_EQ(sum, 0) << row; // exact: eight binades of 24 bits fit a double
    EXPECT_GT(magnitude, 64);
  }
}

TEST(DataVariants, EveryOtherRowIsNegative) {
  const auto values = valuesOf<float>(named(withVariants(sample(), 1), "negative rows 1").buffers[0]);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::signbit(values[i]), i / 64 % 2 == 0) << i;
}

TEST(DataVariants, OneOfTwoBuffersIsZero) {
  dispatch::Dispatch given = sample();
  given.cases[0].buffers.push_back(given.cases[0].buffers[0]);
  given.cases[0].buffers.back().name = "y";
  const VariedDispatch varied = withVariants(given, 2);
  const auto& buffers = named(varied, "zeros 1").buffers;
  const auto isZero = [](const dispatch::Buffer& b) {
    return std::ranges::all_of(b.initial, [](std::uint8_t byte) { return byte == 0; });
  };
  EXPECT_NE(isZero(buffers[0]), isZero(buffers[2]));
  EXPECT_EQ(buffers[1].initial, given.cases[0].buffers[1].initial);
  EXPECT_TRUE(isZero(named(withVariants(sample(), 1), "zeros 1").buffers[0]));
}

TEST(DataVariants, EightBitFloatsTakeEveryCodeButNaN) {
  dispatch::Dispatch given = sample();
  Bytes codes(8192);
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::uint8_t>(0x38 + i % 5);
  given.cases[0].buffers[0] = buffer("x", dispatch::DType::fp8E4m3fnuz, codes);
  const Bytes made = named(withVariants(given, 1), "random codes 1").buffers[0].initial;
  std::vector<bool> seen(256);
  for (const std::uint8_t code : made)
    seen[code] = true;
  EXPECT_FALSE(seen[0x80]) << "the only NaN of e4m3fnuz";
  EXPECT_EQ(std::ranges::count(seen, true), 255);
}

TEST(DataVariants, IntegersStayInTheirRange) {
  const VariedDispatch varied = withVariants(sample(), 1);
  const dispatch::Case& launch = named(varied, "integers of n 1");
  EXPECT_EQ(launch.buffers[0].initial, sample().cases[0].buffers[0].initial);
  const auto values = valuesOf<std::int32_t>(launch.buffers[1]);
  EXPECT_EQ(*std::ranges::min_element(values), 10);
  EXPECT_EQ(*std::ranges::max_element(values), 109);
  EXPECT_GT(std::ranges::count(values, 10) + std::ranges::count(values, 109), 2);
}

TEST(DataVariants, SizesGetSmallerAndGridsChange) {
  const VariedDispatch varied = withVariants(sample(), 1);
  const auto sizeOf = [](const dispatch::Case& launch) {
    std::int32_t size = 0;
    std::memcpy(&size, launch.arguments[2].bytes.data(), 4);
    return size;
  };
  EXPECT_EQ(sizeOf(named(varied, "sizes / 2 + 1")), 51);
  EXPECT_EQ(sizeOf(named(varied, "argument 2 = 99")), 99);
  EXPECT_EQ(sizeOf(named(varied, "argument 2 = 64")), 64);
  EXPECT_EQ(sizeOf(named(varied, "argument 2 = 65")), 65);
  EXPECT_EQ(sizeOf(named(varied, "sizes 0")), 0);
  for (const dispatch::Case& launch : varied.dispatch.cases)
    EXPECT_LE(sizeOf(launch), 100) << "nothing grows beyond its buffers";
  EXPECT_EQ(named(varied, "one more workgroup in x").gridSize[0], 192u);
  EXPECT_EQ(named(varied, "one workgroup in x").gridSize[0], 64u);
  EXPECT_EQ(named(varied, "workgroups of 63 in x").workgroupSize[0], 63u);
}

TEST(DataVariants, RoundsDifferAndRepeat) {
  const VariedDispatch first = withVariants(sample(), 2), again = withVariants(sample(), 2),
                       later = withVariants(sample(), 1, 2);
  const auto data = [](const VariedDispatch& varied, const std::string& name) {
    return named(varied, name).buffers[0].initial;
  };
  EXPECT_NE(data(first, "random codes 1"), data(first, "random codes 2"));
  EXPECT_EQ(data(first, "random codes 2"), data(again, "random codes 2"));
  EXPECT_EQ(data(first, "random codes 2"), data(later, "random codes 2"));
  EXPECT_EQ(withVariants(sample(), 0).dispatch.cases.size(), 1u);
}

} // namespace
} // namespace asmevo::verify
