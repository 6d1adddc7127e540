#include "cli/cli_support.h"

#include "optimize/optimize.h"

namespace asmevo::cli {
namespace {

class OptimizeCommand : public CommandTest {
 protected:
  CommandResult optimizeKernel(const std::string& name, std::vector<std::string> more) const {
    more.insert(more.begin(), {"optimize", kernelObject(name), "-d", kernelDispatch(name), "-o", at("K1.co")});
    return runCommand(more);
  }
};

TEST_F(OptimizeCommand, ListsEveryMove) {
  const CommandResult result = runCommand({"optimize", "--list-moves"});
  EXPECT_EQ(result.exit, ok) << result.err;
  for (const char* move : {"schedule ", "relax-waits ", "hoist-scalar ", "dead-code ", "shrink-resources "})
    EXPECT_NE(("\n" + result.out).find(std::string("\n") + move), std::string::npos) << move;
}

TEST_F(OptimizeCommand, UsageErrors) {
  EXPECT_EQ(runCommand({"optimize"}).exit, usage);
  EXPECT_EQ(runCommand({"optimize", kernelObject("relu"), "-d", kernelDispatch("relu")}).exit, usage) << "no -o";
  for (const char* budget : {"5x", "0", "-3s", "soon", "nan", "inf", "1h30"}) {
    const CommandResult result = optimizeKernel("relu", {"--budget=" + std::string(budget)});
    EXPECT_EQ(result.exit, usage) << budget;
    EXPECT_NE(result.err.find("--budget"), std::string::npos) << result.err;
  }
  const CommandResult unknown = optimizeKernel("relu", {"--disable", "magic"});
  EXPECT_EQ(unknown.exit, usage);
  EXPECT_NE(unknown.err.find("magic"), std::string::npos) << unknown.err;
  EXPECT_EQ(optimizeKernel("relu", {"--agent", "openai"}).exit, usage);
  EXPECT_EQ(optimizeKernel("relu", {"--agent", "openai", "--base-url", "http://127.0.0.1:1/v1"}).exit, usage);
  EXPECT_EQ(optimizeKernel("relu", {"--agent", "other", "--model", "m", "--base-url", "http://127.0.0.1:1"}).exit,
            usage);
  EXPECT_EQ(optimizeKernel("relu", {"--seeds", "0"}).exit, usage);
  EXPECT_TRUE(files().empty());
}

TEST_F(OptimizeCommand, BadInputs) {
  const std::string k1 = at("K1.co"), relu = kernelObject("relu");
  EXPECT_EQ(runCommand({"optimize", at("none.co"), "-d", kernelDispatch("relu"), "-o", k1}).exit, badInput);
  EXPECT_EQ(runCommand({"optimize", relu, "-d", at("none.json"), "-o", k1}).exit, badInput);
  EXPECT_TRUE(files().empty());
}

TEST_F(OptimizeCommand, NothingFasterWritesNothing) {
  std::vector<std::string> noMove = {"--budget", "3s"};
  for (const auto* move : optimize::moveTable()) {
    noMove.emplace_back("--disable");
    noMove.emplace_back(move->name());
  }
  const CommandResult text = optimizeKernel("vector_add", noMove);
  EXPECT_EQ(text.exit, negative) << text.err;
  EXPECT_NE(text.out.find("nothing faster found within 3s: nothing written"), std::string::npos) << text.out;
  EXPECT_TRUE(files().empty());

  noMove.emplace_back("--json");
  const CommandResult json = optimizeKernel("vector_add", noMove);
  EXPECT_EQ(json.exit, negative) << json.err;
  EXPECT_EQ(json.json().at("improved"), false);
  EXPECT_EQ(json.json().at("candidates_tried"), 0);
  EXPECT_TRUE(files().empty());
}

// The budget is a limit for slow machines only: the search ends after a round without a gain.
TEST_F(OptimizeCommand, AnImprovementIsThreeFilesThatAgree) {
  const std::string k0Path = kernelObject("histogram");
  const CommandResult result = optimizeKernel("histogram", {"--budget", "5m", "--effort", "0", "--json"});
  ASSERT_EQ(result.exit, ok) << result.out << result.err;
  const auto report = result.json();
  EXPECT_EQ(files(), (std::vector<std::string>{"K1.asmpatch", "K1.co", "K1.receipt.json"}));
  EXPECT_EQ(report.at("improved"), true);
  EXPECT_EQ(report.at("modelled"), true);
  EXPECT_LT(report.at("cycles_after").get<double>(), report.at("cycles_before").get<double>());
  EXPECT_FALSE(report.at("edits").empty());

  const Bytes k0 = contents(k0Path), k1 = contents(at("K1.co"));
  EXPECT_NE(k0, k1);
  const auto load = [&](const char* name) {
    const Bytes bytes = contents(at(name));
    return nlohmann::json::parse(bytes.begin(), bytes.end());
  };
  const auto receipt = load("K1.receipt.json"), patch = load("K1.asmpatch");
  EXPECT_EQ(receipt.at("accepted"), true);
  EXPECT_EQ(receipt.at("verdict"), report.at("verdict"));
  EXPECT_EQ(receipt.at("k0").at("sha256"), sha256Hex(k0));
  EXPECT_EQ(receipt.at("k1").at("sha256"), sha256Hex(k1));
  EXPECT_EQ(receipt.at("timing").at("cycles_after"), report.at("cycles_after"));
  EXPECT_EQ(patch.at("k0_sha256"), sha256Hex(k0));
  EXPECT_EQ(patch.at("k1_sha256"), sha256Hex(k1));

  EXPECT_EQ(runCommand({"lint", at("K1.co")}).exit, ok);
  EXPECT_EQ(runCommand({"verify", k0Path, at("K1.co"), "-d", kernelDispatch("histogram")}).exit, ok);
  const CommandResult applied = runCommand({"apply", k0Path, at("K1.asmpatch"), "-o", at("again.co")});
  ASSERT_EQ(applied.exit, ok) << applied.err;
  EXPECT_EQ(contents(at("again.co")), k1);
}

} // namespace
} // namespace asmevo::cli
