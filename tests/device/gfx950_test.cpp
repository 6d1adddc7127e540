// Code for gfx950 on the simulator: timed on mi350x as far as gfx942 has its instructions, never run for its results.
#include "device/run_support.h"
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

namespace asmevo {
namespace {

using namespace test;

emulator::test::KernelText kernel(const std::string& middle) {
  emulator::test::KernelText text{emulator::test::loadPointers(1) + middle + "  v_mov_b32_e32 v1, v0\n" +
                                  emulator::test::storeV1};
  text.cpu = "gfx950";
  return text;
}

dispatch::Case launch() {
  return emulator::test::caseOf({.grid = {1024, 1, 1}, .buffers = {emulator::test::filled(1024)}});
}

TEST(Gfx950, IsTimedOnItsChip) {
  const object::CodeObject object = emulator::test::build(kernel("  v_cvt_f32_fp8_e32 v5, v0\n"));
  const auto device = must(device::makeSimulator("mi350x"));
  const auto loaded = must(device->load(object, "k"));
  const timing::Estimate estimate = must(loaded->time(launch()));
  EXPECT_GT(estimate.cycles, 40) << "a scalar load and its wait at least";
  EXPECT_EQ(estimate.workgroups, 16U);
  const auto results = loaded->launch(launch(), {});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().kind, ErrorKind::refused);
  EXPECT_NE(results.error().message.find("gfx950"), std::string::npos);
}

TEST(Gfx950, InstructionsThatGfx942LacksAreRefusedByName) {
  const object::CodeObject object = emulator::test::build(kernel("  v_bitop3_b32 v5, v0, v0, v0 bitop3:0x80\n"));
  const auto loaded = must(must(device::makeSimulator("mi350x"))->load(object, "k"));
  const auto estimate = loaded->time(launch());
  ASSERT_FALSE(estimate);
  EXPECT_EQ(estimate.error().kind, ErrorKind::refused);
  EXPECT_NE(estimate.error().message.find("v_bitop3_b32"), std::string::npos) << estimate.error().message;
}

TEST(Gfx950, ChipAndCodeMustMatch) {
  emulator::test::KernelText text = kernel("");
  for (const auto& [cpu, chip] : {std::pair{"gfx950", "mi300x"}, {"gfx942", "mi350x"}}) {
    text.cpu = cpu;
    const auto loaded = must(must(device::makeSimulator(chip))->load(emulator::test::build(text), "k"));
    const auto estimate = loaded->time(launch());
    ASSERT_FALSE(estimate) << cpu;
    EXPECT_NE(estimate.error().message.find(cpu), std::string::npos) << estimate.error().message;
  }
}

} // namespace
} // namespace asmevo
