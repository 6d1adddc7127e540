#include "cli/cli_support.h"

namespace asmevo::cli {
namespace {

/// disasm, an editor, asm, and what diff and asmpatch say of the result.
class Asm : public CommandTest {
 protected:
  std::string text(const std::string& name, const std::string& what, const std::string& with) {
    const CommandResult printed = runCommand({"disasm", kernelObject(name), "--patchable"});
    EXPECT_EQ(printed.exit, ok) << printed.err;
    std::string edited = printed.out;
    const std::size_t at = edited.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    if (at != std::string::npos)
      edited.replace(at, what.size(), with);
    return write(name + ".s", edited);
  }
};

TEST_F(Asm, UneditedTextIsTheSameFile) {
  const CommandResult result =
      runCommand({"asm", text("softmax", "", ""), "--original", kernelObject("softmax"), "-o", at("k1.co"), "--json"});
  ASSERT_EQ(result.exit, ok) << result.err;
  EXPECT_EQ(result.json().at("identical"), true);
  EXPECT_EQ(result.json().at("assembled"), 0);
  EXPECT_EQ(contents(at("k1.co")), contents(kernelObject("softmax")));
  const CommandResult diff = runCommand({"diff", kernelObject("softmax"), at("k1.co")});
  EXPECT_EQ(diff.exit, ok);
  EXPECT_EQ(diff.out, "identical\n");
}

TEST_F(Asm, AnEditIsThatEdit) {
  const std::string k0 = kernelObject("vector_add"), k1 = at("k1.co");
  const std::string source = text("vector_add", "v_add_f32_e32 v2, v6, v7", "v_add_f32_e32 v2, v7, v6");
  ASSERT_EQ(runCommand({"asm", source, "--original", k0, "-o", k1}).exit, ok);
  EXPECT_EQ(contents(k1), contents(edited("vector_add", vector_add::add, vector_add::swapped)));
  const CommandResult diff = runCommand({"diff", k0, k1, "--json"});
  EXPECT_EQ(diff.exit, negative);
  EXPECT_EQ(diff.json().at("instructions").at("changed"), 1);
  EXPECT_EQ(runCommand({"diff", k0, k1}).out.find('\x1b'), std::string::npos);
  // and as a patch, there and back
  ASSERT_EQ(runCommand({"asmpatch", "create", k0, k1, "-o", at("p.asmpatch")}).exit, ok);
  ASSERT_EQ(runCommand({"asmpatch", "apply", k0, at("p.asmpatch"), "-o", at("again.co")}).exit, ok);
  EXPECT_EQ(contents(at("again.co")), contents(k1));
  ASSERT_EQ(runCommand({"asmpatch", "reverse", k0, at("p.asmpatch"), "-o", at("r.asmpatch")}).exit, ok);
  ASSERT_EQ(runCommand({"apply", k1, at("r.asmpatch"), "-o", at("back.co")}).exit, ok);
  EXPECT_EQ(contents(at("back.co")), contents(k0));
  const CommandResult shown = runCommand({"asmpatch", "show", at("p.asmpatch")});
  EXPECT_EQ(shown.exit, ok);
  EXPECT_NE(shown.out.find("+ v_add_f32_e32 v2, v7, v6"), std::string::npos) << shown.out;
  EXPECT_EQ(runCommand({"asmpatch", "apply", k1, at("p.asmpatch"), "-o", at("none.co")}).exit, badInput);
  EXPECT_FALSE(std::filesystem::exists(at("none.co")));
}

TEST_F(Asm, AnEditedKernelComputesTheSame) {
  const std::string k0 = kernelObject("table_lookup"), k1 = at("k1.co");
  const std::string source = text("table_lookup", "\ts_add_u32", "\ts_nop 3\n\ts_nop 0\n\ts_add_u32");
  ASSERT_EQ(runCommand({"asm", source, "--original", k0, "-o", k1}).exit, ok);
  const std::string dispatch = kernelDispatch("table_lookup");
  ASSERT_EQ(runCommand({"run", k0, "-d", dispatch, "--out", at("before")}).exit, ok);
  ASSERT_EQ(runCommand({"run", k1, "-d", dispatch, "--out", at("after")}).exit, ok);
  std::size_t buffers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(at("before"))) {
    if (!entry.is_regular_file())
      continue;
    const std::string name = std::filesystem::relative(entry.path(), at("before")).string();
    EXPECT_EQ(contents(entry.path().string()), contents(at("after/" + name)));
    ++buffers;
  }
  EXPECT_GE(buffers, 2u);
}

TEST_F(Asm, ErrorsShowThePlace) {
  const std::string source = text("vector_add", "v_add_f32_e32 v2, v6, v7", "v_ad_f32_e32 v2, v6, v7");
  const CommandResult result = runCommand({"asm", source, "--original", kernelObject("vector_add"), "-o", at("k1.co")});
  EXPECT_EQ(result.exit, badInput);
  EXPECT_NE(result.err.find("vector_add.s:"), std::string::npos);
  EXPECT_NE(result.err.find("\tv_ad_f32_e32 v2, v6, v7"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("did you mean v_add_f32"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(at("k1.co")));
  EXPECT_EQ(runCommand({"asm", source, "-o", at("k1.co")}).exit, usage);
}

TEST_F(Asm, PartsOfAProgram) {
  const std::string k0 = kernelObject("softmax");
  const CommandResult whole = runCommand({"disasm", k0});
  const CommandResult kernel = runCommand({"disasm", k0, "--kernel", "softmax"});
  const CommandResult block = runCommand({"disasm", k0, "--blocks", "1"});
  ASSERT_EQ(kernel.exit, ok) << kernel.err;
  ASSERT_EQ(block.exit, ok) << block.err;
  EXPECT_LT(block.out.size(), kernel.out.size());
  EXPECT_LT(kernel.out.size(), whole.out.size());
  for (const CommandResult* part : {&kernel, &block}) {
    const CommandResult back =
        runCommand({"asm", write("part.s", part->out), "--original", k0, "-o", at("k1.co"), "--json"});
    ASSERT_EQ(back.exit, ok) << back.err;
    EXPECT_EQ(back.json().at("identical"), true);
  }
  EXPECT_EQ(runCommand({"disasm", k0, "--blocks", "x"}).exit, usage);
  EXPECT_EQ(runCommand({"disasm", k0, "--blocks", "9999"}).exit, usage);
  EXPECT_EQ(runCommand({"disasm", k0, "--range", "0:1"}).exit, usage);
  EXPECT_EQ(runCommand({"disasm", k0, "--blocks", "1", "--kernel", "softmax"}).exit, usage);
}

} // namespace
} // namespace asmevo::cli
