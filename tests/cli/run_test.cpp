#include "cli/cli_support.h"

#include <cstring>

namespace asmevo::cli {
namespace {

namespace fs = std::filesystem;

class Run : public CommandTest {
 protected:
  std::vector<float> floats(const std::string& file) const {
    const auto bytes = readFile(at(file));
    if (!bytes)
      return {};
    std::vector<float> values(bytes->size() / 4);
    std::memcpy(values.data(), bytes->data(), values.size() * 4);
    return values;
  }
};

/// vector_add over `count` elements of buffers that hold only `room`.
std::string addition(int count, int room) {
  return fmt::format(R"({{"asmevo_dispatch": 1, "workgroup_size": [64], "grid_size": [64], "buffers": {{
    "a": {{"dtype": "f32", "shape": [{0}], "init": {{"iota": {{"start": 1}}}}}},
    "b": {{"dtype": "f32", "shape": [{0}], "init": {{"constant": 0.5}}}},
    "c": {{"dtype": "f32", "shape": [{1}], "init": "zero"}}}},
    "args": [{{"buffer": "a"}}, {{"buffer": "b"}}, {{"buffer": "c"}}, {{"i32": {0}}}]}})",
                     count, room);
}

TEST_F(Run, WritesEveryBuffer) {
  const CommandResult outcome =
      runCommand({"run", kernelObject("vector_add"), "-d", write("d.json", addition(5, 5)), "--out", at("out")});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_NE(outcome.out.find("kernel vector_add: 1 workgroups, 1 waves"), std::string::npos) << outcome.out;
  EXPECT_EQ(floats("out/a.bin"), (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(floats("out/c.bin"), (std::vector<float>{1.5, 2.5, 3.5, 4.5, 5.5}));
}

TEST_F(Run, SeveralCasesGoIntoFoldersOfTheirOwn) {
  const std::string cases = R"({"asmevo_dispatch": 1, "kernel": "relu", "workgroup_size": [64], "grid_size": [64],
    "buffers": {"out": {"dtype": "f32", "shape": [2], "init": "zero"}}, "args": [{"buffer": "in"}, {"buffer": "out"}, {"i32": 2}],
    "cases": [{"buffers": {"in": {"dtype": "f32", "shape": [2], "init": {"values": [-1, 2]}}}},
              {"buffers": {"in": {"dtype": "f32", "shape": [2], "init": {"values": [3, -4]}}}}]})";
  const std::string file = write("d.json", cases), out = at("out");
  CommandResult outcome = runCommand({"run", kernelObject("relu"), "-d", file, "--out", out, "--json"});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_EQ(floats("out/case0/out.bin"), (std::vector<float>{0, 2}));
  EXPECT_EQ(floats("out/case1/out.bin"), (std::vector<float>{3, 0}));
  const auto report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report["cases"].size(), 2u);
  EXPECT_EQ(report["cases"][1]["kernel"], "relu");
  EXPECT_EQ(report["cases"][1]["buffers"][0]["changed"], true);
  EXPECT_EQ(report["cases"][1]["buffers"][1]["changed"], false);

  outcome = runCommand({"run", kernelObject("relu"), "-d", file, "--case", "1", "--out", at("one")});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_FALSE(fs::exists(at("one/case0")));
  EXPECT_EQ(floats("one/case1/out.bin"), (std::vector<float>{3, 0}));
  EXPECT_EQ(runCommand({"run", kernelObject("relu"), "-d", file, "--case", "2"}).exit, usage);
}

TEST_F(Run, StoresOutsideABufferAreANegativeResult) {
  const CommandResult outcome = runCommand({"run", kernelObject("vector_add"), "-d", write("d.json", addition(6, 5))});
  EXPECT_EQ(outcome.exit, negative);
  EXPECT_NE(outcome.out.find("stored outside buffer c: at byte offset 20"), std::string::npos) << outcome.out;
}

TEST_F(Run, FaultsNameAddressAndInstruction) {
  const std::string wild = R"({"asmevo_dispatch": 1, "workgroup_size": [64], "grid_size": [64],
    "buffers": {"a": {"dtype": "f32", "shape": [64], "init": "zero"}},
    "args": [{"buffer": "a"}, {"buffer": "a"}, {"u64": 4096}, {"i32": 64}]})";
  const CommandResult outcome = runCommand({"run", kernelObject("vector_add"), "-d", write("d.json", wild)});
  EXPECT_EQ(outcome.exit, negative);
  EXPECT_NE(outcome.err.find("0x1000"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("global_store_dword"), std::string::npos) << outcome.err;
}

TEST_F(Run, BadInputs) {
  const std::string good = write("d.json", addition(5, 5));
  EXPECT_EQ(runCommand({"run", kernelObject("vector_add")}).exit, usage);
  EXPECT_EQ(runCommand({"run", kernelObject("vector_add"), "-d", good, "--threads", "0"}).exit, usage);
  EXPECT_EQ(runCommand({"run", at("none.co"), "-d", good}).exit, badInput);
  EXPECT_EQ(runCommand({"run", good, "-d", good}).exit, badInput);
  EXPECT_EQ(runCommand({"run", kernelObject("vector_add"), "-d", write("bad.json", "{")}).exit, badInput);
  const CommandResult outcome = runCommand({"run", kernelObject("relu"), "-d", good});
  EXPECT_EQ(outcome.exit, badInput);
  EXPECT_NE(outcome.err.find("takes 3 arguments"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace asmevo::cli
