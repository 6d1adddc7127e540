#include "cli/command.h"
#include "support/file_io.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

#include <unistd.h>

namespace asmevo::cli {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome inspect(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"asmevo", "inspect"};
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = runCommandLine(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  std::fflush(stderr);
  const std::string out = ::testing::internal::GetCapturedStdout();
  return {code, out, ::testing::internal::GetCapturedStderr()};
}

const std::string topk = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_12x256x8.co";

std::string textFile() {
  const std::string path = fmt::format("{}/inspect_{}.txt", ASMEVO_BINARY_DIR, ::getpid());
  EXPECT_TRUE(writeFileAtomic(path, std::string("no object")));
  return path;
}

// Expected values: llvm-readelf-22 and llvm-objdump-22 -D on the same file.
TEST(Inspect, JsonOfAProductionObject) {
  const Outcome outcome = inspect({"--json", topk});
  ASSERT_EQ(outcome.code, ok) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
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

TEST(Inspect, TextNamesEverything) {
  const Outcome outcome = inspect({topk});
  ASSERT_EQ(outcome.code, ok);
  for (const char* part : {"target gfx942", "kernel _ZN5aiter20topksoftmax_12x256x8E",
                           "occupancy:", ".amdhsa_accum_offset", "sections", "segments", "symbols", "metadata",
                           "amdhsa.kernels", "warning: _ZN5aiter20topksoftmax_12x256x8E: descriptor kernarg size is 0"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  EXPECT_EQ(inspect({topk, "--brief"}).out.find("segments"), std::string::npos);
}

TEST(Inspect, BadInputIsNamedAndTheRestIsShown) {
  const std::string bad = textFile();
  const Outcome outcome = inspect({"--json", bad, topk});
  std::filesystem::remove(bad);
  EXPECT_EQ(outcome.code, badInput);
  EXPECT_EQ(outcome.err, "asmevo: error: " + bad + ": not an ELF file\n");
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("files").at(0).at("error"), bad + ": not an ELF file");
  EXPECT_EQ(json.at("files").at(1).at("target"), "gfx942");
  EXPECT_EQ(inspect({"/no/such/file.co"}).code, badInput);
  EXPECT_EQ(inspect({}).code, usage);
}

} // namespace
} // namespace asmevo::cli
