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
