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

/// One search whose outputs the tests below look at from all sides.
class OptimizeOutputs : public OptimizeCommand {
 protected:
  void SetUp() override {
    OptimizeCommand::SetUp();
    const CommandResult result = optimizeKernel("histogram", {"--budget", "10s", "--json"});
    ASSERT_EQ(result.exit, ok) << result.out << result.err;
    report = result.json();
  }
  nlohmann::json load(const std::string& name) const {
    const Bytes bytes = contents(at(name));
    return nlohmann::json::parse(bytes.begin(), bytes.end());
  }
  nlohmann::json report;
};

TEST_F(OptimizeOutputs, AreThreeFilesThatAgree) {
  EXPECT_EQ(files(), (std::vector<std::string>{"K1.asmpatch", "K1.co", "K1.receipt.json"}));
  EXPECT_EQ(report.at("improved"), true);
  EXPECT_EQ(report.at("modelled"), true);
  EXPECT_LT(report.at("cycles_after").get<double>(), report.at("cycles_before").get<double>());
  EXPECT_FALSE(report.at("edits").empty());

  const Bytes k0 = contents(kernelObject("histogram")), k1 = contents(at("K1.co"));
  EXPECT_NE(k0, k1);
  const auto receipt = load("K1.receipt.json"), patch = load("K1.asmpatch");
  EXPECT_EQ(receipt.at("accepted"), true);
  EXPECT_EQ(receipt.at("verdict"), report.at("verdict"));
  EXPECT_EQ(receipt.at("k0").at("sha256"), sha256Hex(k0));
  EXPECT_EQ(receipt.at("k1").at("sha256"), sha256Hex(k1));
  EXPECT_EQ(receipt.at("timing").at("cycles_after"), report.at("cycles_after"));
  EXPECT_EQ(patch.at("k0_sha256"), sha256Hex(k0));
  EXPECT_EQ(patch.at("k1_sha256"), sha256Hex(k1));

  EXPECT_EQ(runCommand({"lint", at("K1.co")}).exit, ok);
  EXPECT_EQ(runCommand({"verify", kernelObject("histogram"), at("K1.co"), "-d", kernelDispatch("histogram")}).exit, ok);
}

TEST_F(OptimizeOutputs, ApplyGivesK1BitForBit) {
  const CommandResult result =
      runCommand({"apply", kernelObject("histogram"), at("K1.asmpatch"), "-o", at("again.co"), "--json"});
  ASSERT_EQ(result.exit, ok) << result.err;
  const Bytes k1 = contents(at("K1.co"));
  EXPECT_EQ(contents(at("again.co")), k1);
  EXPECT_EQ(result.json().at("sha256"), sha256Hex(k1));
  EXPECT_EQ(result.json().at("bytes"), k1.size());
  EXPECT_GE(result.json().at("hunks"), 1);
}

TEST_F(OptimizeOutputs, ApplyRefusesWhatDoesNotFit) {
  const std::string patch = at("K1.asmpatch"), output = at("again.co"), k0 = kernelObject("histogram");
  const CommandResult wrong = runCommand({"apply", kernelObject("softmax"), patch, "-o", output});
  EXPECT_NE(wrong.exit, ok);
  EXPECT_NE(wrong.err.find(sha256Hex(contents(k0))), std::string::npos) << wrong.err;
  EXPECT_EQ(runCommand({"apply", at("K1.co"), patch, "-o", output}).exit, wrong.exit) << "K1 is not K0";
  EXPECT_EQ(runCommand({"apply", k0, at("K1.receipt.json"), "-o", output}).exit, badInput) << "no patch";
  EXPECT_EQ(runCommand({"apply", k0, at("none.asmpatch"), "-o", output}).exit, badInput);
  EXPECT_EQ(runCommand({"apply", k0, write("text.asmpatch", "{"), "-o", output}).exit, badInput);

  auto other = load("K1.asmpatch");
  other["k1_sha256"] = std::string(64, '0');
  const CommandResult lying = runCommand({"apply", k0, write("lying.asmpatch", other.dump()), "-o", output});
  EXPECT_EQ(lying.exit, wrong.exit) << lying.err;
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(runCommand({"apply", k0, patch}).exit, usage);
  EXPECT_EQ(runCommand({"apply", k0, patch, "-o", at("no/folder/K1.co")}).exit, badInput);
}

} // namespace
} // namespace asmevo::cli
