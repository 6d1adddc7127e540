#include "dispatch/dispatch.h"

#include <gtest/gtest.h>

#include <cstring>

namespace asmevo::dispatch {
namespace {

template <class T> T at(const Bytes& bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  if (offset + sizeof(T) <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

object::Kernel kernelWith(std::vector<object::KernelArgument> arguments, std::uint32_t segment) {
  object::Kernel kernel;
  kernel.name = "k";
  kernel.metadata.emplace();
  kernel.metadata->name = "k";
  kernel.metadata->arguments = std::move(arguments);
  kernel.metadata->kernargSegmentSize = segment;
  return kernel;
}

Case launchOf(std::array<std::uint32_t, 3> workgroup, std::array<std::uint32_t, 3> grid) {
  Case launch;
  launch.workgroupSize = workgroup;
  launch.gridSize = grid;
  return launch;
}

Argument scalar(Bytes bytes) {
  Argument argument;
  argument.bytes = std::move(bytes);
  return argument;
}

Argument pointer(const char* buffer, std::uint64_t offset = 0) {
  Argument argument;
  argument.buffer = buffer;
  argument.offset = offset;
  return argument;
}

TEST(Kernarg, ExplicitArgumentsInMetadataOrderThenHidden) {
  const object::Kernel kernel = kernelWith({{"p", "global_buffer", 0, 8},
                                            {"n", "by_value", 8, 4},
                                            {"q", "global_buffer", 16, 8},
                                            {"", "hidden_block_count_x", 24, 4},
                                            {"", "hidden_block_count_y", 28, 4},
                                            {"", "hidden_block_count_z", 32, 4},
                                            {"", "hidden_group_size_x", 36, 2},
                                            {"", "hidden_group_size_y", 38, 2},
                                            {"", "hidden_group_size_z", 40, 2},
                                            {"", "hidden_remainder_x", 42, 2},
                                            {"", "hidden_remainder_y", 44, 2},
                                            {"", "hidden_remainder_z", 46, 2},
                                            {"", "hidden_global_offset_x", 64, 8},
                                            {"", "hidden_grid_dims", 88, 2},
                                            {"", "hidden_hostcall_buffer", 96, 8},
                                            {"", "hidden_dynamic_lds_size", 104, 4}},
                                           280);
  Case launch = launchOf({64, 2, 1}, {160, 5, 3});
  launch.dynamicLdsBytes = 4096;
  launch.arguments = {pointer("a", 16), scalar({1, 2, 3, 4}), pointer("b")};
  const auto bytes = buildKernarg(launch, kernel, {{"a", 0x7e0000001000}, {"b", 0x7e0000002000}});
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->size(), 280u);
  EXPECT_EQ(at<std::uint64_t>(*bytes, 0), 0x7e0000001010u);
  EXPECT_EQ(at<std::uint32_t>(*bytes, 8), 0x04030201u);
  EXPECT_EQ(at<std::uint64_t>(*bytes, 16), 0x7e0000002000u);
  EXPECT_EQ(at<std::uint32_t>(*bytes, 24), 2u); // 160 / 64, full groups only
  EXPECT_EQ(at<std::uint32_t>(*bytes, 28), 2u);
  EXPECT_EQ(at<std::uint32_t>(*bytes, 32), 3u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 36), 64u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 38), 2u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 40), 1u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 42), 32u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 44), 1u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 46), 0u);
  EXPECT_EQ(at<std::uint64_t>(*bytes, 64), 0u);
  EXPECT_EQ(at<std::uint16_t>(*bytes, 88), 3u);
  EXPECT_EQ(at<std::uint64_t>(*bytes, 96), 0u);
  EXPECT_EQ(at<std::uint32_t>(*bytes, 104), 4096u);
}

TEST(Kernarg, ExplicitPlacementWinsAndGrowsTheSegment) {
  const object::Kernel kernel = kernelWith({{"", "hidden_block_count_x", 8, 4}}, 16);
  Case launch = launchOf({64, 1, 1}, {640, 1, 1});
  launch.explicitKernarg = true;
  launch.arguments = {scalar({9, 0, 0, 0}), pointer("a")};
  launch.arguments[0].at = 8;
  launch.arguments[1].at = 40;
  const auto bytes = buildKernarg(launch, kernel, {{"a", 0x1234}});
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->size(), 48u);
  EXPECT_EQ(at<std::uint32_t>(*bytes, 8), 9u);
  EXPECT_EQ(at<std::uint64_t>(*bytes, 40), 0x1234u);
}

TEST(Kernarg, ErrorsNameTheArgument) {
  const object::Kernel kernel = kernelWith({{"src", "global_buffer", 0, 8}, {"count", "by_value", 8, 4}}, 16);
  Case launch = launchOf({64, 1, 1}, {64, 1, 1});
  launch.arguments = {pointer("a")};
  auto result = buildKernarg(launch, kernel, {{"a", 1}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("takes 2 arguments, \"args\" has 1; the next would be argument 1 ('count')"),
            std::string::npos)
      << result.error().message;

  launch.arguments.push_back(scalar(Bytes(8)));
  result = buildKernarg(launch, kernel, {{"a", 1}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("argument 1 ('count'): 8 bytes given, 4 bytes"), std::string::npos)
      << result.error().message;

  result = buildKernarg(launch, kernel, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("argument 0 ('src'): buffer 'a' has no address"), std::string::npos);

  object::Kernel bare;
  bare.name = "bare";
  result = buildKernarg(launch, bare, {{"a", 1}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("\"kernarg\""), std::string::npos);
}

TEST(Kernarg, HostileMetadata) {
  const Case launch = launchOf({1, 1, 1}, {70000, 1, 1});
  const std::pair<object::KernelArgument, const char*> rows[] = {
      {{"", "hidden_block_count_x", 0xfffffff0, 4}, "past 1048576"},
      {{"", "hidden_block_count_x", 0, 2}, "cannot hold 70000"},
      {{"", "hidden_block_count_x", 0, 0x10000}, "cannot hold"},
      {{"", "hidden_something_new", 0, 8}, "hidden argument 'hidden_something_new'"},
  };
  for (const auto& [argument, part] : rows) {
    const auto result = buildKernarg(launch, kernelWith({argument}, 8), {});
    ASSERT_FALSE(result) << argument.valueKind;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  }
  EXPECT_FALSE(buildKernarg(launch, kernelWith({}, 0xffffffff), {}));
}

} // namespace
} // namespace asmevo::dispatch
