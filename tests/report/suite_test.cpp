#include "report/results.h"
#include "report/suite.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace asmevo::report {
namespace {

class SuiteFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "asmevo_suite_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Result<Suite> load(const std::string& kernels, const std::map<std::string, std::string>& roots = {}) const {
    const std::string text = R"({"asmevo_suite": 1, "name": "s", "title": "t", "chip": "mi300x",
                                 "roots": {"objects": "a checkout"}, "kernels": )" +
                             kernels + "}";
    EXPECT_TRUE(writeFileAtomic(folder + "/suite.json", text));
    return loadSuite(folder, roots);
  }
  std::string folder;
};

TEST_F(SuiteFile, PathsLieBesideItOrUnderARoot) {
  const auto suite =
      load(R"([{"name": "k", "object": "{objects}/k.co", "verify": ["a/small.json"], "time": "big.json"}])",
           {{"objects", "/somewhere"}});
  ASSERT_TRUE(suite) << suite.error().message;
  ASSERT_EQ(suite->kernels.size(), 1u);
  EXPECT_EQ(suite->kernels[0].object, "/somewhere/k.co");
  EXPECT_EQ(suite->kernels[0].verify, (std::vector<std::string>{folder + "/a/small.json"}));
  EXPECT_EQ(suite->kernels[0].time, folder + "/big.json");
  EXPECT_EQ(suite->kernels[0].title, "k");
  EXPECT_TRUE(suite->kernels[0].timesFinal);
  EXPECT_EQ(suite->kernels[0].final, (std::vector<std::string>{folder + "/big.json"}));
}

TEST_F(SuiteFile, FinalLaunchesMayBeOthersThanTheTimedOne) {
  const auto suite = load(R"([{"name": "k", "object": "k", "verify": ["v"], "time": "t", "final": ["{d}/deep", "e"]}])",
                          {{"d", "/deep"}});
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_FALSE(suite->kernels[0].timesFinal);
  EXPECT_EQ(suite->kernels[0].final, (std::vector<std::string>{"/deep/deep", folder + "/e"}));
}

TEST_F(SuiteFile, TheSuitesOfThisProjectLoad) {
  const std::map<std::string, std::string> roots = {{"checkout", "/c"}, {"objects", "/o"}, {"dispatches", "/d"}};
  const auto count = [&](const char* name) {
    const auto suite = loadSuite(std::string(ASMEVO_SOURCE_DIR "/suites/") + name, roots);
    EXPECT_TRUE(suite) << suite.error().message;
    return suite ? suite->kernels.size() : 0;
  };
  EXPECT_EQ(count("kernelbench30.json"), 30u);
  EXPECT_EQ(count("triton"), 29u);
  EXPECT_EQ(count("aiter"), 27u);
}

TEST_F(SuiteFile, ErrorsSayWhatIsMissing) {
  const auto root = load(R"([{"name": "k", "object": "{objects}/k.co", "verify": ["v"], "time": "t"}])");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().kind, ErrorKind::usage);
  EXPECT_NE(root.error().message.find("--root objects=DIR: a checkout"), std::string::npos) << root.error().message;
  for (
      const char* kernels :
      {"[]", "3", R"([{"object": "k", "verify": ["v"], "time": "t"}])",
       R"([{"name": "k", "object": "k", "verify": [], "time": "t"}])",
       R"([{"name": "k", "object": "k", "verify": ["v"]}])",
       R"([{"name": "k", "object": "k", "verify": ["v"], "time": "t", "final": []}])",
       R"([{"name": "k", "object": "k", "verify": ["v"], "time": "t", "final": [1]}])",
       R"([{"name": "../k", "object": "k", "verify": ["v"], "time": "t"}])",
       R"([{"name": "k", "object": "k", "verify": ["v"], "time": "t", "tiem": "t"}])",
       R"([{"name": "k", "object": "k", "verify": ["v"], "time": "t"}, {"name": "k", "object": "k", "verify": ["v"], "time": "t"}])"}) {
    const auto suite = load(kernels);
    ASSERT_FALSE(suite) << kernels;
    EXPECT_EQ(suite.error().kind, ErrorKind::badInput);
    EXPECT_NE(suite.error().message.find("suite.json"), std::string::npos) << suite.error().message;
  }
}

KernelResult result(const std::string& kernel, double before, double after, const std::string& verdict) {
  KernelResult r;
  r.suite = "s";
  r.kernel = r.title = kernel;
  r.device = "sim:mi300x";
  r.k0Sha256 = "0123456789abcdef";
  r.options = "budget 1";
  r.baselineCycles = before;
  r.finalCycles = after;
  r.verdict = verdict;
  r.perturbedSpeedups = {1.1, 0.9, 1.3};
  r.finalVerdict = verdict;
  r.before = {"HBM", 0.97, 4};
  r.bound = {before / 2, before / 2, before / 2, before / 3};
  r.after = {"HBM", 0.99, 8};
  r.edits = {{"shrink", "fewer registers", before / after}};
  return r;
}

TEST(Results, AFileReadsBackAsWritten) {
  KernelResult r = result("k", 200, 100, "proved");
  r.assumptions = {"buffers do not overlap"};
  r.secondsToNineTenths = 3.5;
  const auto again = parseResult(resultJson(r), "file");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(resultJson(*again), resultJson(r));
  EXPECT_EQ(again->signChanges(), 1u);
  const auto whole = resultJson(r);
  for (const auto& item : whole.items()) { // of a named object: items() refers to it
    if (item.key() == "speedup" || item.key() == "at_roof")
      continue; // derived
    auto damaged = whole;
    damaged.erase(item.key());
    EXPECT_FALSE(parseResult(damaged, "file")) << item.key();
  }
}

TEST(Results, TheGeometricMeanIsOfAllKernels) {
  KernelResult failed = result("d", 100, 100, "");
  failed.error = "no object";
  const std::vector<KernelResult> list = {result("a", 400, 100, "proved"), result("b", 100, 100, ""),
                                          result("c", 100, 100, ""), failed};
  const Summary summary = summarise(list);
  EXPECT_EQ(summary.kernels, 4u);
  EXPECT_EQ(summary.verified, 3u);
  EXPECT_EQ(summary.improved, 1u);
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_DOUBLE_EQ(summary.maximum, 4);
  EXPECT_NEAR(summary.geometricMean, 1.4142135623730951, 1e-12); // the fourth root of 4
}

TEST(Results, ThePageNamesHowAndWhatFailed) {
  KernelResult failed = result("d", 100, 100, "");
  failed.error = "no object";
  const std::vector<KernelResult> list = {result("a", 300, 100, "exact"), failed};
  const std::string page = resultsPage(list);
  EXPECT_NE(page.find("## s on sim:mi300x"), std::string::npos) << page;
  EXPECT_NE(page.find("speed-up"), std::string::npos);
  EXPECT_NE(page.find("3.000"), std::string::npos);
  EXPECT_NE(page.find("0.900 to 1.300"), std::string::npos);
  EXPECT_NE(page.find("1 of 3"), std::string::npos);
  EXPECT_NE(page.find("exact"), std::string::npos);
  EXPECT_NE(page.find("exact, as timed"), std::string::npos);
  EXPECT_NE(page.find("| HBM 97 % | 2.00 |"), std::string::npos) << page;
  EXPECT_NE(page.find("0 K0 are within 5 % of their bound as they are."), std::string::npos);
  EXPECT_NE(page.find("failed: no object"), std::string::npos);
  EXPECT_NE(page.find("K1 us (modelled)"), std::string::npos);
  EXPECT_NE(page.find("`0123456789ab`"), std::string::npos);
}

TEST(Results, ThePageNamesKernelsAtTheirBound) {
  KernelResult near = result("near", 104, 103, "exact"), far = result("far", 106, 103, "exact");
  near.bound.cycles = far.bound.cycles = 100;
  far.finalOnTimed = false;
  EXPECT_TRUE(near.atRoof());
  EXPECT_FALSE(far.atRoof());
  KernelResult measured = result("measured", 104, 103, "exact");
  measured.bound = {};
  EXPECT_FALSE(measured.atRoof()) << "a device has no bound";
  const std::vector<KernelResult> list = {near, far, measured};
  EXPECT_EQ(summarise(list).atRoof, 1u);
  EXPECT_EQ(resultJson(near).at("at_roof"), true);
  const std::string page = resultsPage(list);
  EXPECT_NE(page.find("1 K0 are within 5 % of their bound as they are: near."), std::string::npos) << page;
  EXPECT_NE(page.find("| HBM 97 % | 1.04, at its roof |"), std::string::npos) << page;
  EXPECT_NE(page.find("| HBM 97 % | 1.06 |"), std::string::npos) << page;
  EXPECT_NE(page.find("| HBM 97 % |  |"), std::string::npos) << page;
  EXPECT_NE(page.find("exact, fewer workgroups"), std::string::npos) << page;
}

} // namespace
} // namespace asmevo::report
