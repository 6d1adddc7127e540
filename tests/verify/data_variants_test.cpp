#include "verify/data_variants.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(DataVariants, PermutesFloatsAndNothingElse) {
  Bytes halves, integers;
  for (std::uint8_t i = 0; i < 100; ++i) {
    halves.insert(halves.end(), {i, 0x3c});
    integers.insert(integers.end(), {i, 0, 0, 0});
  }
  dispatch::Dispatch given;
  given.cases.resize(1);
  given.cases[0].name = "case 0";
  given.cases[0].buffers = {buffer("x", dispatch::DType::f16, halves), buffer("n", dispatch::DType::i32, integers)};
  const dispatch::Dispatch varied = withDataVariants(given, 2);
  ASSERT_EQ(varied.cases.size(), 3u);
  EXPECT_EQ(varied.cases[0].buffers[0].initial, halves);
  EXPECT_EQ(varied.cases[1].name, "case 0, floats permuted 1");
  EXPECT_NE(varied.cases[1].buffers[0].initial, halves);
  EXPECT_NE(varied.cases[1].buffers[0].initial, varied.cases[2].buffers[0].initial);
  for (const auto& launch : varied.cases) {
    EXPECT_EQ(launch.buffers[1].initial, integers);
    std::vector<std::uint16_t> elements(100), expected(100);
    std::memcpy(elements.data(), launch.buffers[0].initial.data(), 200);
    std::memcpy(expected.data(), halves.data(), 200);
    EXPECT_TRUE(std::ranges::is_permutation(elements, expected));
  }
  EXPECT_EQ(withDataVariants(given, 2).cases[2].buffers[0].initial, varied.cases[2].buffers[0].initial);
}

TEST(DataVariants, NothingToPermuteGivesNoVariant) {
  dispatch::Dispatch given;
  given.cases.resize(1);
  given.cases[0].buffers = {buffer("n", dispatch::DType::u32, Bytes(64, 1)),
                            buffer("c", dispatch::DType::f32, Bytes(64, 0))};
  EXPECT_EQ(withDataVariants(given, 3).cases.size(), 1u);
}

} // namespace
} // namespace asmevo::verify
