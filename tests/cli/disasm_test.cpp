#include "cli/cli_support.h"

#include <cstdlib>

namespace asmevo::cli {
namespace {

using Disasm = CommandTest;

// The oracle is clang-22 with lld-22: what it makes of the text holds the same code, and says so without a word.
TEST_F(Disasm, ClangAssemblesTheOutputToTheSameCode) {
  for (const char* name : {"vector_add", "histogram"}) {
    const std::string text = at(std::string(name) + ".s"), linked = at(std::string(name) + ".co"), log = at("log");
    const CommandResult result = runCommand({"disasm", kernelObject(name), "-o", text});
    ASSERT_EQ(result.exit, ok) << result.err;
    EXPECT_EQ(result.out, "");
    const std::string command = fmt::format("clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu=gfx942 '{}' -o '{}' "
                                            "2> '{}'",
                                            text, linked, log);
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(contents(log).size(), 0U);
    const auto before = runCommand({"disasm", "--json", kernelObject(name)}).json();
    const auto after = runCommand({"disasm", "--json", linked}).json();
    const auto code = [](const nlohmann::json& program) {
      std::string bytes;
      for (const auto& block : program.at("blocks"))
        for (const auto& instruction : block.at("instructions"))
          bytes += instruction.at("bytes").get<std::string>();
      return bytes;
    };
    EXPECT_FALSE(code(before).empty());
    EXPECT_EQ(code(before), code(after)) << name;
    EXPECT_EQ(after.at("functions").at(0).at("name"), name);
  }
}

TEST_F(Disasm, StandardOutputAndFileAgree) {
  const CommandResult printed = runCommand({"disasm", kernelObject("relu")});
  EXPECT_EQ(printed.exit, ok) << printed.err;
  EXPECT_NE(printed.out.find(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942"), std::string::npos);
  ASSERT_EQ(runCommand({"disasm", kernelObject("relu"), "-o", at("relu.s")}).exit, ok);
  const Bytes file = contents(at("relu.s"));
  EXPECT_EQ(printed.out, std::string(file.begin(), file.end()));
  EXPECT_EQ(runCommand({"disasm", kernelObject("relu"), "-o", "-"}).out, printed.out);
}

// Encoding and address as llvm-objdump-22 -d gives them.
TEST_F(Disasm, JsonNamesInstructions) {
  const auto program = runCommand({"disasm", "--json", kernelObject("vector_add")}).json();
  EXPECT_EQ(program.at("target"), "gfx942");
  EXPECT_EQ(program.at("functions").at(0).at("kernel"), true);
  bool found = false;
  for (const auto& block : program.at("blocks"))
    for (const auto& instruction : block.at("instructions"))
      if (instruction.at("text") == "v_add_f32_e32 v2, v6, v7") {
        EXPECT_EQ(instruction.at("bytes"), "060f0402");
        EXPECT_EQ(instruction.at("address").get<int>() % 4, 0);
        EXPECT_EQ(block.at("section"), ".text");
        found = true;
      }
  EXPECT_TRUE(found);
}

TEST_F(Disasm, ErrorsHaveTheirExitCodes) {
  EXPECT_EQ(runCommand({"disasm"}).exit, usage);
  EXPECT_EQ(runCommand({"disasm", at("none.co")}).exit, badInput);
  const CommandResult text = runCommand({"disasm", write("text.co", "no object"), "-o", at("out.s")});
  EXPECT_EQ(text.exit, badInput);
  EXPECT_NE(text.err.find("text.co: not an ELF file"), std::string::npos) << text.err;
  EXPECT_FALSE(std::filesystem::exists(at("out.s")));
  EXPECT_EQ(runCommand({"disasm", kernelObject("relu"), "-o", at("no/folder/out.s")}).exit, badInput);
}

} // namespace
} // namespace asmevo::cli
