#include "cli/cli_support.h"

#include "verify/asmpatch.h"

namespace asmevo::cli {
namespace {

/// vector_add with its operands swapped, and the patch that says so.
class Apply : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    k1 = edited("vector_add", vector_add::add, vector_add::swapped);
    const auto original = object::CodeObject::load(k0), changed = object::CodeObject::load(k1);
    ASSERT_TRUE(original && changed);
    const auto created = verify::createPatch(*original, *changed, nlohmann::json::object());
    ASSERT_TRUE(created) << created.error().message;
    json = *created;
    patch = write("K1.asmpatch", json.dump(2));
  }

  const std::string k0 = kernelObject("vector_add");
  std::string k1, patch;
  nlohmann::json json;
};

TEST_F(Apply, GivesK1BitForBit) {
  const CommandResult result = runCommand({"apply", k0, patch, "-o", at("again.co"), "--json"});
  ASSERT_EQ(result.exit, ok) << result.err;
  const Bytes expected = contents(k1);
  EXPECT_EQ(contents(at("again.co")), expected);
  EXPECT_EQ(result.json().at("sha256"), sha256Hex(expected));
  EXPECT_EQ(result.json().at("bytes"), expected.size());
  EXPECT_EQ(result.json().at("hunks"), 1);
  const CommandResult text = runCommand({"apply", k0, patch, "-o", at("again.co")});
  EXPECT_EQ(text.exit, ok);
  EXPECT_NE(text.out.find("SHA-256 " + sha256Hex(expected)), std::string::npos) << text.out;
}

TEST_F(Apply, AnotherK0IsRefused) {
  for (const std::string& other : {kernelObject("relu"), k1}) {
    const CommandResult result = runCommand({"apply", other, patch, "-o", at("again.co")});
    EXPECT_EQ(result.exit, badInput);
    EXPECT_NE(result.err.find(sha256Hex(contents(k0))), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(sha256Hex(contents(other))), std::string::npos) << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(at("again.co")));
}

TEST_F(Apply, APatchThatGivesOtherBytesThanItSaysIsRefused) {
  json["k1_sha256"] = std::string(64, '0');
  const CommandResult result = runCommand({"apply", k0, write("lying.asmpatch", json.dump()), "-o", at("again.co")});
  EXPECT_EQ(result.exit, badInput) << result.err;
  EXPECT_FALSE(std::filesystem::exists(at("again.co")));
}

TEST_F(Apply, ErrorsHaveTheirExitCodes) {
  const std::string output = at("again.co");
  EXPECT_EQ(runCommand({"apply", k0, at("none.asmpatch"), "-o", output}).exit, badInput);
  EXPECT_EQ(runCommand({"apply", k0, write("cut.asmpatch", "{"), "-o", output}).exit, badInput);
  EXPECT_EQ(runCommand({"apply", k0, write("other.json", "{}"), "-o", output}).exit, badInput);
  EXPECT_EQ(runCommand({"apply", at("none.co"), patch, "-o", output}).exit, badInput);
  EXPECT_EQ(runCommand({"apply", k0, patch}).exit, usage);
  EXPECT_EQ(runCommand({"apply", k0, patch, "-o", at("no/folder/K1.co")}).exit, badInput);
  EXPECT_FALSE(std::filesystem::exists(output));
}

} // namespace
} // namespace asmevo::cli
