#include "cli/cli_support.h"

namespace asmevo::cli {
namespace {

class Verify : public CommandTest {
 protected:
  static CommandResult verifyVectorAdd(const std::string& k1, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"verify", kernelObject("vector_add"), k1, "-d", kernelDispatch("vector_add")});
    return runCommand(more);
  }
};

TEST_F(Verify, TheSameObjectIsIdentical) {
  const CommandResult result =
      verifyVectorAdd(kernelObject("vector_add"), {"--json", "--receipt", at("k.receipt.json")});
  EXPECT_EQ(result.exit, ok) << result.err;
  const auto receipt = result.json();
  EXPECT_EQ(receipt.at("verdict"), "identical");
  EXPECT_EQ(receipt.at("accepted"), true);
  EXPECT_EQ(receipt.at("edited_blocks"), 0);
  EXPECT_EQ(receipt.at("k0"), receipt.at("k1"));
  const Bytes file = contents(at("k.receipt.json"));
  EXPECT_EQ(std::string(file.begin(), file.end()), result.out) << "--json prints the receipt";
}

TEST_F(Verify, AnotherOperandOrderIsAccepted) {
  const CommandResult result =
      verifyVectorAdd(edited("vector_add", vector_add::add, vector_add::swapped), {"--json", "--seeds", "1"});
  EXPECT_EQ(result.exit, ok) << result.out << result.err;
  const auto receipt = result.json();
  EXPECT_EQ(receipt.at("accepted"), true);
  EXPECT_NE(receipt.at("verdict"), "identical");
  EXPECT_EQ(receipt.at("edited_blocks"), 1);
  EXPECT_EQ(receipt.at("seeds"), nlohmann::json::array({0}));
  ASSERT_FALSE(receipt.at("cases").empty());
  EXPECT_EQ(receipt.at("cases").at(0).at("equal"), true);
  // The buffers of the dispatch: 10,100 f32 values each.
  EXPECT_EQ(receipt.at("cases").at(0).at("buffers").at("c").at("bytes"), 40400);
}

TEST_F(Verify, AWrongResultIsANegativeResultWithAReceipt) {
  const std::string k1 = edited("vector_add", vector_add::add, vector_add::subtract);
  const CommandResult result = verifyVectorAdd(k1, {"--receipt", at("k1.receipt.json")});
  EXPECT_EQ(result.exit, negative);
  EXPECT_NE(result.out.find(": differs\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("buffer 'c' element 0"), std::string::npos) << result.out;
  const Bytes file = contents(at("k1.receipt.json"));
  const auto receipt = nlohmann::json::parse(file.begin(), file.end());
  EXPECT_EQ(receipt.at("verdict"), "differs");
  EXPECT_EQ(receipt.at("accepted"), false);
  EXPECT_EQ(receipt.at("cases").at(0).at("equal"), false);
}

TEST_F(Verify, AMissingWaitIsUnsafe) {
  const CommandResult result =
      verifyVectorAdd(edited("vector_add", vector_add::wait, vector_add::nop), {"--json", "--no-proof"});
  EXPECT_EQ(result.exit, negative);
  const auto receipt = result.json();
  EXPECT_EQ(receipt.at("verdict"), "unsafe");
  ASSERT_FALSE(receipt.at("lint").at("new").empty());
  EXPECT_EQ(receipt.at("lint").at("new").at(0).at("rule"), "wait.vm.raw");
}

/// What is planted is known from the object, so its count is; the sample and its verdicts repeat.
TEST_F(Verify, MutationScoreListsWhatIsNoticed) {
  const std::vector<std::string> command = {"verify",
                                            "--mutation-score",
                                            kernelObject("vector_add"),
                                            "-d",
                                            kernelDispatch("vector_add"),
                                            "--mutants",
                                            "24",
                                            "--seed",
                                            "3"};
  std::vector<std::string> asJson = command;
  asJson.push_back("--json");
  const CommandResult result = runCommand(asJson);
  EXPECT_EQ(result.exit, ok) << result.out << result.err;
  const auto score = result.json();
  EXPECT_EQ(score.at("planted"), 24);
  EXPECT_EQ(score.at("seed"), 3);
  EXPECT_GT(score.at("possible"), 24);
  EXPECT_GE(score.at("score"), 0.99);
  EXPECT_LE(score.at("lower_bound"), score.at("score"));
  EXPECT_LE(score.at("noticed_by_runs"), score.at("lower_bound"));
  EXPECT_EQ(score.at("killed").get<std::size_t>() + score.at("equivalent").size() + score.at("undecided").size() +
                score.at("blind_spots").size(),
            24u);
  EXPECT_EQ(runCommand(asJson).out, result.out);
  const CommandResult text = runCommand(command);
  EXPECT_EQ(text.exit, ok) << text.err;
  EXPECT_NE(text.out.find("24 of "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("killed by differential"), std::string::npos) << text.out;
}

TEST_F(Verify, MutationScoreTakesNoCandidate) {
  EXPECT_EQ(verifyVectorAdd(kernelObject("vector_add"), {"--mutation-score"}).exit, usage);
  EXPECT_EQ(runCommand({"verify", kernelObject("vector_add"), "-d", kernelDispatch("vector_add")}).exit, usage);
}

TEST_F(Verify, ErrorsHaveTheirExitCodes) {
  const std::string k0 = kernelObject("vector_add");
  EXPECT_EQ(verifyVectorAdd(at("none.co")).exit, badInput);
  EXPECT_EQ(verifyVectorAdd(write("text.co", "no object")).exit, badInput);
  EXPECT_EQ(runCommand({"verify", k0, k0, "-d", at("none.json")}).exit, badInput);
  EXPECT_EQ(runCommand({"verify", k0, k0, "-d", write("bad.json", "{")}).exit, badInput);
  EXPECT_EQ(verifyVectorAdd(k0, {"--receipt", at("no/folder/receipt.json")}).exit, badInput);
  EXPECT_EQ(runCommand({"verify", k0, k0}).exit, usage);
  EXPECT_EQ(verifyVectorAdd(k0, {"--seeds", "0"}).exit, usage);
  EXPECT_EQ(verifyVectorAdd(k0, {"--time-limit", "-1"}).exit, usage);
}

} // namespace
} // namespace asmevo::cli
