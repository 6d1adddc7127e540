#include "cli/command.h"
#include "support/file_io.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace asmevo::cli {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit;
  std::string out, err;
};

Outcome asmevo(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "asmevo");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit = runCommandLine(static_cast<int>(argv.size()), argv.data());
  return {exit, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

class Run : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "asmevo_run_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const char* name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  static std::string object(const char* name) { return std::string(ASMEVO_BINARY_DIR "/kernels/") + name + ".co"; }
  std::vector<float> floats(const std::string& file) const {
    const auto bytes = readFile((folder / file).string());
    if (!bytes)
      return {};
    std::vector<float> values(bytes->size() / 4);
    std::memcpy(values.data(), bytes->data(), values.size() * 4);
    return values;
  }

  fs::path folder;
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
  const Outcome outcome =
      asmevo({"run", object("vector_add"), "-d", write("d.json", addition(5, 5)), "--out", (folder / "out").string()});
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
  const std::string file = write("d.json", cases), out = (folder / "out").string();
  Outcome outcome = asmevo({"run", object("relu"), "-d", file, "--out", out, "--json"});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_EQ(floats("out/case0/out.bin"), (std::vector<float>{0, 2}));
  EXPECT_EQ(floats("out/case1/out.bin"), (std::vector<float>{3, 0}));
  const auto report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report["cases"].size(), 2u);
  EXPECT_EQ(report["cases"][1]["kernel"], "relu");
  EXPECT_EQ(report["cases"][1]["buffers"][0]["changed"], true);
  EXPECT_EQ(report["cases"][1]["buffers"][1]["changed"], false);

  outcome = asmevo({"run", object("relu"), "-d", file, "--case", "1", "--out", (folder / "one").string()});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_FALSE(fs::exists(folder / "one/case0"));
  EXPECT_EQ(floats("one/case1/out.bin"), (std::vector<float>{3, 0}));
  EXPECT_EQ(asmevo({"run", object("relu"), "-d", file, "--case", "2"}).exit, usage);
}

TEST_F(Run, StoresOutsideABufferAreANegativeResult) {
  const Outcome outcome = asmevo({"run", object("vector_add"), "-d", write("d.json", addition(6, 5))});
  EXPECT_EQ(outcome.exit, negative);
  EXPECT_NE(outcome.out.find("stored outside buffer c: at byte offset 20"), std::string::npos) << outcome.out;
}

TEST_F(Run, FaultsNameAddressAndInstruction) {
  const std::string wild = R"({"asmevo_dispatch": 1, "workgroup_size": [64], "grid_size": [64],
    "buffers": {"a": {"dtype": "f32", "shape": [64], "init": "zero"}},
    "args": [{"buffer": "a"}, {"buffer": "a"}, {"u64": 4096}, {"i32": 64}]})";
  const Outcome outcome = asmevo({"run", object("vector_add"), "-d", write("d.json", wild)});
  EXPECT_EQ(outcome.exit, negative);
  EXPECT_NE(outcome.err.find("0x1000"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("global_store_dword"), std::string::npos) << outcome.err;
}

TEST_F(Run, BadInputs) {
  const std::string good = write("d.json", addition(5, 5));
  EXPECT_EQ(asmevo({"run", object("vector_add")}).exit, usage);
  EXPECT_EQ(asmevo({"run", object("vector_add"), "-d", good, "--threads", "0"}).exit, usage);
  EXPECT_EQ(asmevo({"run", (folder / "none.co").string(), "-d", good}).exit, badInput);
  EXPECT_EQ(asmevo({"run", good, "-d", good}).exit, badInput);
  EXPECT_EQ(asmevo({"run", object("vector_add"), "-d", write("bad.json", "{")}).exit, badInput);
  const Outcome outcome = asmevo({"run", object("relu"), "-d", good});
  EXPECT_EQ(outcome.exit, badInput);
  EXPECT_NE(outcome.err.find("takes 3 arguments"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace asmevo::cli
