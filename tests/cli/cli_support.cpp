#include "cli/cli_support.h"

#include "object/object_support.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace asmevo::cli {

namespace fs = std::filesystem;

nlohmann::json CommandResult::json() const {
  auto parsed = nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(parsed.is_discarded()) << out;
  return parsed;
}

CommandResult runCommand(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "asmevo");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandResult result;
  result.exit = runCommandLine(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  std::fflush(stderr);
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

std::string kernelObject(const std::string& name) {
  return ASMEVO_BINARY_DIR "/kernels/" + name + ".co";
}

std::string kernelDispatch(const std::string& name) {
  return ASMEVO_SOURCE_DIR "/kernels/" + name + ".dispatch.json";
}

void CommandTest::SetUp() {
  std::string pattern = (fs::temp_directory_path() / "asmevo_cli_XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  folder = pattern;
}

void CommandTest::TearDown() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::string CommandTest::write(const std::string& name, const std::string& text) const {
  EXPECT_TRUE(writeFileAtomic(at(name), text));
  return at(name);
}

std::string CommandTest::assemble(const std::string& name, const std::string& source, const std::string& target,
                                  bool link) const {
  const auto bytes = object::testing::assemble(source, target, link);
  EXPECT_TRUE(writeFileAtomic(at(name), bytes));
  return at(name);
}

std::string CommandTest::edited(const std::string& name, std::uint32_t instruction, std::uint32_t replacement) const {
  Bytes bytes = contents(kernelObject(name));
  const auto encoding = [](std::uint32_t word) {
    std::vector<std::uint8_t> little(4);
    for (unsigned i = 0; i < 4; ++i)
      little[i] = static_cast<std::uint8_t>(word >> (8 * i));
    return little;
  };
  const auto old = encoding(instruction), fresh = encoding(replacement);
  const auto found = std::search(bytes.begin(), bytes.end(), old.begin(), old.end());
  if (found == bytes.end() || std::search(found + 4, bytes.end(), old.begin(), old.end()) != bytes.end()) {
    ADD_FAILURE() << name << " does not hold the instruction exactly once";
    return {};
  }
  std::copy(fresh.begin(), fresh.end(), found);
  const std::string path = at(fmt::format("{}_{:08x}.co", name, replacement));
  EXPECT_TRUE(writeFileAtomic(path, bytes));
  return path;
}

std::vector<std::string> CommandTest::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Bytes contents(const std::string& path) {
  auto bytes = readFile(path);
  if (!bytes) {
    ADD_FAILURE() << bytes.error().message;
    return {};
  }
  return *std::move(bytes);
}

} // namespace asmevo::cli
