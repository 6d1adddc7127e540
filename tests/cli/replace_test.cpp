#include "cli/cli_support.h"

#include "object/container_support.h"

namespace asmevo::cli {
namespace {

using object::testing::bundleOf;
using object::testing::deviceObject;
using object::testing::reportLine;
using object::testing::runHost;

using Replace = CommandTest;

TEST_F(Replace, AnOptimizedObjectGoesBackIntoAProgramThatStillRuns) {
  const object::testing::TestFolder folder;
  const Bytes first = deviceObject("gfx942", 3), second = deviceObject("gfx942", 5),
              longer = deviceObject("gfx942", 2500);
  const std::string host = object::testing::buildHost(
      folder, "host",
      {folder.write("0.hipfb", bundleOf({{"gfx942", first}})), folder.write("1.hipfb", bundleOf({{"gfx942", second}}))},
      {"-fPIE", "-pie"});
  const std::string fresh = folder.write("new.co", longer);
  const CommandResult ambiguous = runCommand({"replace", host, fresh, "-o", at("out")});
  EXPECT_EQ(ambiguous.exit, usage);
  EXPECT_NE(ambiguous.err.find("name the --bundle (0 to 1)"), std::string::npos) << ambiguous.err;
  const CommandResult outcome =
      runCommand({"replace", host, fresh, "--bundle", "1", "--target", "gfx942", "-o", at("out"), "--json"});
  ASSERT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_EQ(outcome.json().at("placement"), "segment");
  EXPECT_EQ(outcome.json().at("new_bytes"), longer.size());
  EXPECT_EQ(runHost(at("out")), reportLine("gfx942", first) + reportLine("gfx942", longer) + "caught 42\n");
  ASSERT_EQ(runCommand({"extract", at("out"), "--bundle", "1", "-o", at("back.co")}).exit, ok);
  EXPECT_EQ(contents(at("back.co")), longer);
  EXPECT_EQ(files(), (std::vector<std::string>{"back.co", "out"}));
}

TEST_F(Replace, RefusalsWriteNothing) {
  const std::string bundle = at("k.hipfb"), other = at("other.co"), cut = at("cut.co");
  ASSERT_TRUE(writeFileAtomic(bundle, bundleOf({{"gfx942", deviceObject("gfx942", 3)}})));
  ASSERT_TRUE(writeFileAtomic(other, deviceObject("gfx942", 3, "renamed")));
  ASSERT_TRUE(writeFileAtomic(cut, Bytes(100)));
  EXPECT_EQ(runCommand({"replace", bundle, other, "-o", at("out")}).exit, badInput);
  EXPECT_EQ(runCommand({"replace", bundle, cut, "-o", at("out")}).exit, badInput);
  EXPECT_EQ(runCommand({"replace", other, other, "-o", at("out")}).exit, usage);
  EXPECT_EQ(runCommand({"replace", bundle, other}).exit, usage);
  EXPECT_FALSE(std::filesystem::exists(at("out")));
}

} // namespace
} // namespace asmevo::cli
