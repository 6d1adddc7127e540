// `asmevo profile`: text, json and the trace file.
#include "cli/cli_support.h"

#include <fstream>

namespace asmevo::cli {
namespace {

class ProfileView : public CommandTest {
 protected:
  static CommandResult profile(std::vector<std::string> options) {
    options.insert(options.begin(), {"profile", kernelObject("vector_add"), "-d", kernelDispatch("vector_add")});
    return runCommand(std::move(options));
  }
};

TEST_F(ProfileView, TextNamesTheRoofAndTheHotBlock) {
  const CommandResult text = profile({"--top", "1"});
  ASSERT_EQ(text.exit, ok) << text.err;
  for (const char* part : {"vector_add", "(modelled)", "bound by", "hot blocks", "roofs", "memory", "global_load"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part;
}

TEST_F(ProfileView, TraceTellsOfTheRunThatTheJsonReports) {
  const CommandResult outcome = profile({"--json", "--case", "0", "--trace", at("trace.json")});
  ASSERT_EQ(outcome.exit, ok) << outcome.err;
  const nlohmann::json report = outcome.json()["cases"][0];
  std::ifstream in(at("trace.json"));
  const auto trace = nlohmann::json::parse(in);
  EXPECT_EQ(trace["otherData"]["kernel"], "vector_add");
  EXPECT_EQ(trace["otherData"]["clock_mhz"], report["estimate"]["clock_mhz"]);
  EXPECT_GT(trace["traceEvents"].size(), 100U);
  EXPECT_EQ(profile({"--case", "0", "--trace", at("small.json"), "--trace-slices", "100", "--trace-from", "500"}).exit,
            ok);
  EXPECT_LT(std::filesystem::file_size(at("small.json")), std::filesystem::file_size(at("trace.json")));
  EXPECT_EQ(files(), (std::vector<std::string>{"small.json", "trace.json"})) << "written whole or not at all";
}

TEST_F(ProfileView, BadOptions) {
  EXPECT_EQ(profile({"--trace-slices", "3"}).exit, usage);
  EXPECT_EQ(profile({"--trace-from", "-1"}).exit, usage);
  EXPECT_NE(profile({"--case", "0", "--trace", at("no folder") + "/t.json"}).exit, ok);
}

} // namespace
} // namespace asmevo::cli
