#include "cli/cli_support.h"

namespace asmevo::cli {
namespace {

using Roundtrip = CommandTest;

TEST_F(Roundtrip, OwnKernelsAreByteIdentical) {
  const CommandResult result = runCommand({"roundtrip", kernelObject("vector_add"), kernelObject("histogram")});
  EXPECT_EQ(result.exit, ok) << result.out << result.err;
  EXPECT_NE(result.out.find("2 of 2 files byte-identical"), std::string::npos) << result.out;
}

TEST_F(Roundtrip, FoldersAreSearched) {
  std::filesystem::create_directories(at("objects/inner"));
  std::filesystem::copy_file(kernelObject("relu"), at("objects/inner/relu.co"));
  std::filesystem::copy_file(kernelObject("softmax"), at("objects/no_extension"));
  write("objects/notes.txt", "no object");
  for (const bool shift : {false, true}) {
    std::vector<std::string> arguments = {"roundtrip", "--json", "-j", "1", at("objects")};
    if (shift)
      arguments.push_back("--shift");
    const CommandResult result = runCommand(arguments);
    EXPECT_EQ(result.exit, ok) << result.out << result.err;
    const auto report = result.json();
    EXPECT_EQ(report.at("mode"), shift ? "shift" : "identity");
    EXPECT_EQ(report.at("files"), 2);
    EXPECT_EQ(report.at("same"), 2);
    EXPECT_EQ(report.at("different"), 0);
    EXPECT_EQ(report.at("bad_input"), 0);
    EXPECT_EQ(report.at("targets").at("gfx942").at("same"), 2);
    EXPECT_TRUE(report.at("failures").empty());
  }
}

TEST_F(Roundtrip, BadInputIsNamedAndTheRestIsChecked) {
  const std::string text = write("text.co", "no object");
  const CommandResult result = runCommand({"roundtrip", "--json", text, kernelObject("relu")});
  EXPECT_EQ(result.exit, badInput);
  const auto report = result.json();
  EXPECT_EQ(report.at("same"), 1);
  EXPECT_EQ(report.at("bad_input"), 1);
  EXPECT_EQ(report.at("failures").at(0).at("file"), text);
  EXPECT_EQ(report.at("failures").at(0).at("kind"), "bad_input");

  EXPECT_EQ(runCommand({"roundtrip", at("none.co")}).exit, badInput);
  std::filesystem::create_directory(at("empty"));
  EXPECT_EQ(runCommand({"roundtrip", at("empty")}).exit, badInput);
  EXPECT_EQ(runCommand({"roundtrip"}).exit, usage);
  EXPECT_EQ(runCommand({"roundtrip", kernelObject("relu"), "-j", "0"}).exit, usage);
}

} // namespace
} // namespace asmevo::cli
