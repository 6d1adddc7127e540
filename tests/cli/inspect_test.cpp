#include "cli/cli_support.h"

namespace asmevo::cli {
namespace {

CommandResult inspect(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "inspect");
  return runCommand(std::move(arguments));
}

const std::string topk = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_12x256x8.co";

using Inspect = CommandTest;

// Expected values: llvm-readelf-22 and llvm-objdump-22 -D on the same file.
TEST_F(Inspect, JsonOfAProductionObject) {
  const CommandResult outcome = inspect({"--json", topk});
  ASSERT_EQ(outcome.exit, ok) << outcome.err;
  const auto json = outcome.json();
  const auto& file = json.at("files").at(0);
  EXPECT_EQ(file.at("target"), "gfx942");
  EXPECT_EQ(file.at("e_flags"), 0x54c);
  const auto& kernel = file.at("kernels").at(0);
  EXPECT_EQ(kernel.at("name"), "_ZN5aiter20topksoftmax_12x256x8E");
  EXPECT_EQ(kernel.at("descriptor").at(".amdhsa_group_segment_fixed_size"), 0);
  EXPECT_EQ(kernel.at("vgprs"), 56);
  EXPECT_EQ(kernel.at("metadata").at("kernarg_segment_size"), 128);
  EXPECT_EQ(file.at("warnings").size(), 1U) << file.at("warnings");
}

TEST_F(Inspect, TextNamesEverything) {
  const CommandResult outcome = inspect({topk});
  ASSERT_EQ(outcome.exit, ok);
  for (const char* part : {"target gfx942", "kernel _ZN5aiter20topksoftmax_12x256x8E",
                           "occupancy:", ".amdhsa_accum_offset", "sections", "segments", "symbols", "metadata",
                           "amdhsa.kernels", "warning: _ZN5aiter20topksoftmax_12x256x8E: descriptor kernarg size is 0"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  EXPECT_EQ(inspect({topk, "--brief"}).out.find("segments"), std::string::npos);
}

TEST_F(Inspect, BadInputIsNamedAndTheRestIsShown) {
  const std::string bad = write("text.co", "no object");
  const CommandResult outcome = inspect({"--json", bad, topk});
  EXPECT_EQ(outcome.exit, badInput);
  EXPECT_EQ(outcome.err, "asmevo: error: " + bad + ": not an ELF file\n");
  const auto json = outcome.json();
  EXPECT_EQ(json.at("files").at(0).at("error"), bad + ": not an ELF file");
  EXPECT_EQ(json.at("files").at(1).at("target"), "gfx942");
  EXPECT_EQ(inspect({"/no/such/file.co"}).exit, badInput);
  EXPECT_EQ(inspect({}).exit, usage);
}

} // namespace
} // namespace asmevo::cli
