#include "cli/cli_support.h"

#include "object/container_support.h"

namespace asmevo::cli {
namespace {

using object::testing::bundleOf;
using object::testing::deviceObject;

class Extract : public CommandTest {
 protected:
  static CommandResult extract(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "extract");
    return runCommand(std::move(arguments));
  }
  std::string file(const std::string& name, const Bytes& bytes) const {
    EXPECT_TRUE(writeFileAtomic(at(name), bytes));
    return at(name);
  }
};

TEST_F(Extract, OneObjectByTargetAllByFolder) {
  const Bytes a = deviceObject("gfx942", 3), b = deviceObject("gfx90a:xnack+", 4, "other");
  const std::string bundle = file("k.hipfb", bundleOf({{"gfx942", a}, {"gfx90a:xnack+", b}}));
  const CommandResult one = extract({bundle, "--target", "gfx942", "-o", at("a.co"), "--json"});
  ASSERT_EQ(one.exit, ok) << one.err;
  EXPECT_EQ(contents(at("a.co")), a);
  EXPECT_EQ(one.json().at("objects").at(0).at("sha256"), sha256Hex(a));
  ASSERT_EQ(extract({bundle, "--kernel", "other", "-o", at("b.co")}).exit, ok);
  EXPECT_EQ(contents(at("b.co")), b);
  ASSERT_EQ(extract({bundle, "--all", "-o", at("all")}).exit, ok);
  EXPECT_EQ(contents(at("all/bundle0-1-gfx942.co")), a);
  EXPECT_EQ(contents(at("all/bundle0-2-gfx90a_xnack+.co")), b);

  const CommandResult several = extract({bundle, "-o", at("none.co")});
  EXPECT_EQ(several.exit, usage);
  EXPECT_NE(several.err.find("--bundle 0 --target gfx90a:xnack+"), std::string::npos) << several.err;
  EXPECT_EQ(extract({bundle, "--kernel", "nobody", "-o", at("none.co")}).exit, usage);
  EXPECT_EQ(extract({bundle, "--target", "gfx1030", "-o", at("none.co")}).exit, usage);
  EXPECT_FALSE(std::filesystem::exists(at("none.co")));
}

// An id is the file's text, not ours: nothing of it may lead out of the folder.
TEST_F(Extract, NoFileNameComesFromTheFile) {
  const Bytes object = deviceObject("gfx942", 1);
  const object::BundleContent entries[] = {{"hip-amdgcn-amd-amdhsa--gfx942/../../../../tmp/evil", object},
                                           {"hip-amdgcn-amd-amdhsa--/etc/passwd", object}};
  const std::string bundle = file("k.hipfb", object::writeBundle(entries, 4096));
  ASSERT_EQ(extract({bundle, "--all", "-o", at("out")}).exit, ok);
  EXPECT_EQ(contents(at("out/bundle0-0-gfx942_____________tmp_evil.co")), object);
  EXPECT_EQ(contents(at("out/bundle0-1-object.co")), object);
}

TEST_F(Extract, LinksARelocatableSoThatItCanBeLoaded) {
  const std::string relocatable = file("k.o", deviceObject("gfx942", 2, "k", false));
  const CommandResult refused = runCommand({"disasm", relocatable});
  EXPECT_EQ(refused.exit, badInput);
  EXPECT_NE(refused.err.find("link it first"), std::string::npos);
  ASSERT_EQ(extract({relocatable, "--link", "-o", at("k.co")}).exit, ok);
  EXPECT_EQ(runCommand({"disasm", at("k.co")}).exit, ok);
  EXPECT_EQ(runCommand({"inspect", at("k.co")}).exit, ok);
  EXPECT_EQ(extract({at("k.co"), "--link", "-o", at("again.co")}).exit, usage);
}

// Every command that reads a code object reads one inside something else.
TEST_F(Extract, OtherCommandsOpenContainersThemselves) {
  const Bytes kernel = contents(kernelObject("vector_add"));
  const std::string one = file("one.hipfb", bundleOf({{"gfx942", kernel}}, {"-compress"}));
  const std::string two = file("two.hipfb", bundleOf({{"gfx942", kernel}, {"gfx90a", deviceObject("gfx90a", 1)}}));
  const std::string expected = runCommand({"disasm", kernelObject("vector_add")}).out;
  EXPECT_EQ(runCommand({"disasm", one}).out, expected);
  EXPECT_EQ(runCommand({"disasm", two, "--target", "gfx942"}).out, expected);
  EXPECT_EQ(runCommand({"disasm", "--bundle", "0", "--target", "gfx942", two}).out, expected);
  EXPECT_EQ(runCommand({"disasm", two + "#gfx942"}).out, expected);
  const CommandResult several = runCommand({"disasm", two});
  EXPECT_EQ(several.exit, usage);
  EXPECT_NE(several.err.find("asmevo extract"), std::string::npos);
  EXPECT_EQ(
      runCommand({"run", one, "-d", kernelDispatch("vector_add"), "--max-instructions", "1000"}).err.find("bundle"),
      std::string::npos);
}

} // namespace
} // namespace asmevo::cli
