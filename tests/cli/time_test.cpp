#include "cli/command.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace asmevo::cli {
namespace {

struct Outcome {
  int code;
  std::string out, err;
};

Outcome call(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"asmevo"};
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

const std::string object = ASMEVO_BINARY_DIR "/kernels/vector_add.co";
const std::string launch = ASMEVO_SOURCE_DIR "/kernels/vector_add.dispatch.json";

TEST(TimeCommand, TextAndJsonAgree) {
  const Outcome text = call({"time", object, "-d", launch});
  ASSERT_EQ(text.code, ok) << text.err;
  EXPECT_NE(text.out.find("(modelled)"), std::string::npos);
  const Outcome first = call({"time", object, "-d", launch, "--json"});
  ASSERT_EQ(first.code, ok) << first.err;
  const auto json = nlohmann::json::parse(first.out);
  EXPECT_TRUE(json["modelled"].get<bool>());
  EXPECT_EQ(json["device"], "sim:mi300x");
  const double cycles = json["cases"][0]["cycles"].get<double>();
  EXPECT_NE(text.out.find(fmt::format("{:.0f} cycles", cycles)), std::string::npos);
  EXPECT_EQ(call({"time", object, "-d", launch, "--json"}).out, first.out) << "deterministic";
}

TEST(TimeCommand, ChipsDiffer) {
  const auto device = [](const char* chip) {
    const Outcome outcome = call({"time", object, "-d", launch, "--json", "--chip", chip});
    EXPECT_EQ(outcome.code, ok) << outcome.err;
    return nlohmann::json::parse(outcome.out)["device"].get<std::string>();
  };
  EXPECT_EQ(device("mi300a"), "sim:mi300a");
  EXPECT_EQ(device(ASMEVO_SOURCE_DIR "/chips/mi308x.json"), "sim:mi308x");
  const Outcome unknown = call({"time", object, "-d", launch, "--chip", "mi999"});
  EXPECT_EQ(unknown.code, usage);
  EXPECT_NE(unknown.err.find("mi308x"), std::string::npos) << unknown.err;
}

TEST(TimeCommand, BadInputs) {
  EXPECT_EQ(call({"time", launch, "-d", launch}).code, badInput) << "not an object";
  EXPECT_EQ(call({"time", object, "-d", object}).code, badInput) << "not a dispatch";
  EXPECT_EQ(call({"time", object}).code, usage);
  EXPECT_EQ(call({"time", object, "-d", launch, "--kernel", "nope"}).code, usage);
}

TEST(ProfileCommand, TextAndJson) {
  const Outcome text = call({"profile", object, "-d", launch, "--top", "1"});
  ASSERT_EQ(text.code, ok) << text.err;
  EXPECT_NE(text.out.find("hot blocks"), std::string::npos);
  EXPECT_NE(text.out.find("global_load"), std::string::npos) << "the listing";
  const Outcome machine = call({"profile", object, "-d", launch, "--json", "--top", "0"});
  ASSERT_EQ(machine.code, ok) << machine.err;
  const auto json = nlohmann::json::parse(machine.out);
  EXPECT_EQ(json["cases"][0]["kernel"], "vector_add");
  double share = 0;
  for (const auto& block : json["cases"][0]["blocks"])
    share += block["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(call({"profile", object, "-d", launch, "--case", "7"}).code, usage);
}

} // namespace
} // namespace asmevo::cli
