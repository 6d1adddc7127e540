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
};

Outcome isa(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"asmevo", "isa"};
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  const int code = runCommandLine(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  return {code, ::testing::internal::GetCapturedStdout()};
}

std::string temporary(const std::string& name, const std::string& text) {
  const std::string path = fmt::format("{}/isa_{}_{}", ASMEVO_BINARY_DIR, ::getpid(), name);
  EXPECT_TRUE(writeFileAtomic(path, text));
  return path;
}

TEST(Isa, CheckCountsVectors) {
  const Outcome outcome = isa({"check", "--simd", "avx2", "--json", ASMEVO_SOURCE_DIR "/tests/data/isa_vectors.jsonl"});
  ASSERT_EQ(outcome.code, ok) << outcome.out;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("passed"), 3182);
  EXPECT_EQ(json.at("failed"), 0);
  EXPECT_EQ(json.at("opcodes").at("v_fma_f32").at("failed"), 0);
  EXPECT_GT(json.at("opcodes").at("v_fma_f32").at("passed"), 5);
}

TEST(Isa, CheckFindsAWrongVector) {
  const std::string path = temporary("wrong.jsonl", R"({"asm": "s_add_u32 s4, s5, s6", )"
                                                    R"("in": {"s": {"5": "1", "6": "1"}, "exec": "1"}, )"
                                                    R"("out": {"s": {"4": "3"}}})");
  const Outcome outcome = isa({"check", path});
  std::filesystem::remove(path);
  EXPECT_EQ(outcome.code, negative);
  EXPECT_NE(outcome.out.find("s4 is 0x2, expected 0x3"), std::string::npos) << outcome.out;
}

TEST(Isa, CheckRejectsOtherFiles) {
  const std::string path = temporary("text.jsonl", "no vectors here");
  EXPECT_EQ(isa({"check", path}).code, badInput);
  std::filesystem::remove(path);
  EXPECT_EQ(isa({"check", path}).code, badInput);
}

TEST(Isa, CoverageOfAProductionObject) {
  const Outcome outcome =
      isa({"coverage", "--json",
           ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_12x256x8.co"});
  ASSERT_EQ(outcome.code, ok) << outcome.out;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("refused"), 0);
  EXPECT_GT(json.at("instructions"), 300);
}

} // namespace
} // namespace asmevo::cli
