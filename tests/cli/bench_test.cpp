// A suite of two kernels through asmevo bench: results, resuming, the page made of them.
#include "cli_support.h"

#include "dispatch/dispatch.h"

namespace asmevo::cli {
namespace {

class Bench : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    nlohmann::json suite = {{"asmevo_suite", 1}, {"name", "two"}, {"title", "two kernels"}, {"chip", "mi300x"}};
    for (const char* name : {"vector_add", "histogram"})
      suite["kernels"].push_back({{"name", name},
                                  {"object", std::string("{objects}/") + name + ".co"},
                                  {"verify", {std::string("{dispatches}/") + name + ".dispatch.json"}},
                                  {"time", std::string("{dispatches}/") + name + ".dispatch.json"}});
    write("suite.json", suite.dump());
  }

  CommandResult bench(std::vector<std::string> more = {}) const {
    const auto folderOf = [](const std::string& path) { return std::filesystem::path(path).parent_path().string(); };
    std::vector<std::string> command = {"bench",
                                        at("suite.json"),
                                        "--out",
                                        at("out"),
                                        "--root",
                                        "objects=" + folderOf(kernelObject("histogram")),
                                        "--root",
                                        "dispatches=" + folderOf(kernelDispatch("histogram")),
                                        "--candidates",
                                        "4",
                                        "--moves",
                                        "schedule,relax-waits,propagate-copies",
                                        "--budget-per-kernel",
                                        "10m",
                                        "--mutants",
                                        "0",
                                        "--perturbations",
                                        "2"};
    command.insert(command.end(), more.begin(), more.end());
    return runCommand(command);
  }

  nlohmann::json resultOf(const std::string& kernel) const {
    const Bytes bytes = contents(at("out/" + kernel + ".result.json"));
    return nlohmann::json::parse(bytes.begin(), bytes.end());
  }
};

TEST_F(Bench, WritesResultsAndResumes) {
  const CommandResult first = bench({"--json"});
  ASSERT_EQ(first.exit, ok) << first.out << first.err;
  EXPECT_EQ(first.json().at("kernels"), 2);
  EXPECT_EQ(first.json().at("verified"), 2);
  EXPECT_GE(first.json().at("improved"), 1);
  EXPECT_GT(first.json().at("geometric_mean"), 1.0);

  const auto histogram = resultOf("histogram");
  EXPECT_EQ(histogram.at("verdict"), "proved");
  EXPECT_EQ(histogram.at("final_verdict"), "proved");
  EXPECT_EQ(histogram.at("final_on_timed"), true);
  EXPECT_EQ(histogram.at("modelled"), true);
  const auto& bound = histogram.at("bound");
  EXPECT_GT(bound.at("cycles"), 0);
  EXPECT_LE(bound.at("cycles"), histogram.at("baseline_cycles"));
  EXPECT_EQ(histogram.at("at_roof"),
            histogram.at("baseline_cycles").get<double>() <= 1.05 * bound.at("cycles").get<double>());
  EXPECT_EQ(histogram.at("k0_sha256"), sha256Hex(contents(kernelObject("histogram"))));
  EXPECT_EQ(histogram.at("k1_sha256"), sha256Hex(contents(at("out/histogram.co"))));
  // The cycles are those that asmevo time gives.
  const auto cyclesOf = [&](const std::string& object) {
    double sum = 0;
    const auto report = runCommand({"time", object, "-d", kernelDispatch("histogram"), "--json"}).json();
    for (const auto& one : report.at("cases"))
      sum += one.at("cycles").get<double>();
    return sum;
  };
  EXPECT_DOUBLE_EQ(histogram.at("baseline_cycles"), cyclesOf(kernelObject("histogram")));
  EXPECT_DOUBLE_EQ(histogram.at("final_cycles"), cyclesOf(at("out/histogram.co")));

  // Finished kernels are not searched again; a kernel whose result is gone is.
  const Bytes kept = contents(at("out/histogram.result.json"));
  ASSERT_TRUE(std::filesystem::remove(at("out/vector_add.result.json")));
  const CommandResult second = bench();
  EXPECT_EQ(second.exit, ok) << second.err;
  EXPECT_EQ(second.out.find("histogram "), std::string::npos) << second.out;
  EXPECT_NE(second.out.find("vector_add "), std::string::npos) << second.out;
  EXPECT_EQ(contents(at("out/histogram.result.json")), kept);

  const CommandResult page = runCommand({"report", at("out"), "-o", at("results.md")});
  ASSERT_EQ(page.exit, ok) << page.err;
  const Bytes text = contents(at("results.md"));
  EXPECT_NE(std::string(text.begin(), text.end()).find("| histogram |"), std::string::npos);
}

TEST_F(Bench, FinalCasesMayBeOtherLaunches) {
  nlohmann::json suite = {{"asmevo_suite", 1}, {"name", "one"}, {"title", "one kernel"}, {"chip", "mi300x"}};
  suite["kernels"].push_back(
      {{"name", "histogram"},
       {"object", "{objects}/histogram.co"},
       {"verify", {"{dispatches}/histogram.dispatch.json"}},
       {"final", {"{dispatches}/histogram.dispatch.json", "{dispatches}/histogram.dispatch.json"}},
       {"time", "{dispatches}/histogram.dispatch.json"}});
  write("suite.json", suite.dump());
  const CommandResult result = bench();
  ASSERT_EQ(result.exit, ok) << result.out << result.err;
  const auto histogram = resultOf("histogram");
  EXPECT_EQ(histogram.at("final_on_timed"), false);
  EXPECT_EQ(histogram.at("final_verdict"), "proved");
  const std::size_t cases = dispatch::loadDispatch(kernelDispatch("histogram"))->cases.size();
  EXPECT_EQ(histogram.at("cases"), 3 * cases) << "those verified, and twice as final ones";
}

TEST_F(Bench, AKernelThatFailsIsAResult) {
  const CommandResult result = bench({"--only", "vector_add", "--root", "objects=" + at("nowhere")});
  EXPECT_EQ(result.exit, negative) << result.out << result.err;
  EXPECT_NE(resultOf("vector_add").at("error").get<std::string>().find("nowhere"), std::string::npos);
}

TEST_F(Bench, ErrorsHaveTheirExitCodes) {
  EXPECT_EQ(runCommand({"bench", at("suite.json"), "--out", at("out")}).exit, usage) << "roots are missing";
  EXPECT_EQ(bench({"--only", "nothing"}).exit, usage);
  EXPECT_EQ(bench({"--moves", "nothing"}).exit, usage);
  EXPECT_EQ(runCommand({"bench", at("none.json"), "--out", at("out")}).exit, badInput);
  EXPECT_EQ(runCommand({"report", at("none")}).exit, badInput);
}

} // namespace
} // namespace asmevo::cli
