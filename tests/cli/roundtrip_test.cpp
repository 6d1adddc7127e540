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

TEST_F(Roundtrip, WritesWhatWasRebuiltAndSaysThatDebugInformationIsHidden) {
  const std::string k0 = assemble("k0.co", R"(
  .text
  .globl k
  .type k,@function
k:
  v_mov_b32_e32 v0, 1
  s_endpgm
  .section .debug_line,"",@progbits
  .long 1, 2, 3
  .section .debug_info,"",@progbits
  .long 4
)",
                                  "gfx942");
  const CommandResult same = runCommand({"roundtrip", k0, "-o", at("same.co"), "--json"});
  ASSERT_EQ(same.exit, ok) << same.err;
  EXPECT_EQ(contents(at("same.co")), contents(k0));
  EXPECT_EQ(same.json().at("output"), at("same.co"));
  EXPECT_TRUE(same.json().at("hidden_debug_sections").empty());
  EXPECT_EQ(same.err, "");

  const std::string k1 = at("k1.co");
  const CommandResult moved = runCommand({"roundtrip", "--shift", k0, "-o", k1, "--json"});
  ASSERT_EQ(moved.exit, ok) << moved.err;
  EXPECT_EQ(moved.json().at("hidden_debug_sections"), (nlohmann::json{".debug_line", ".debug_info"}));
  const std::string warning = "the code has moved, so its debug information is hidden: .debug_line, .debug_info\n";
  EXPECT_EQ(moved.err, "asmevo: warning: " + k1 + ": " + warning);
  EXPECT_NE(runCommand({"disasm", k1}).out.find("v_mov_b32_e32 v0, 1"), std::string::npos);

  // The same from edited text, and from a patch.
  const CommandResult printed = runCommand({"disasm", k0, "--patchable"});
  std::string text = printed.out;
  ASSERT_NE(text.find("\tv_mov_b32"), std::string::npos);
  text.insert(text.find("\tv_mov_b32"), "\ts_nop 0\n");
  const CommandResult edited = runCommand({"asm", write("k.s", text), "--original", k0, "-o", at("k2.co"), "--json"});
  ASSERT_EQ(edited.exit, ok) << edited.err;
  EXPECT_EQ(edited.json().at("hidden_debug_sections").size(), 2u);
  EXPECT_NE(edited.err.find(warning), std::string::npos) << edited.err;
  ASSERT_EQ(runCommand({"asmpatch", "create", k0, at("k2.co"), "-o", at("p.asmpatch")}).exit, ok);
  for (const std::vector<std::string>& apply : {std::vector<std::string>{"apply"}, {"asmpatch", "apply"}}) {
    std::vector<std::string> arguments = apply;
    arguments.insert(arguments.end(), {k0, at("p.asmpatch"), "-o", at("k3.co"), "--json"});
    const CommandResult applied = runCommand(arguments);
    ASSERT_EQ(applied.exit, ok) << applied.err;
    EXPECT_EQ(applied.json().at("hidden_debug_sections").size(), 2u);
    EXPECT_NE(applied.err.find(warning), std::string::npos) << applied.err;
  }

  const CommandResult two = runCommand({"roundtrip", kernelObject("relu"), kernelObject("softmax"), "-o", k1});
  EXPECT_EQ(two.exit, usage);
  EXPECT_NE(two.err.find("-o takes one code object"), std::string::npos) << two.err;
}

} // namespace
} // namespace asmevo::cli
