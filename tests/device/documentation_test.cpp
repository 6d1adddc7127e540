// The examples of docs/dispatch.md are launched as they stand there.
#include "device/run_support.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace asmevo {
namespace {

using namespace test;

std::vector<std::string> documentedExamples() {
  std::ifstream file(ASMEVO_SOURCE_DIR "/docs/dispatch.md");
  std::vector<std::string> examples;
  std::string line, text;
  bool inside = false;
  while (std::getline(file, line)) {
    if (inside && line == "```") {
      examples.push_back(text);
      inside = false;
    } else if (inside) {
      text += line + "\n";
    } else if (line == "```json") {
      inside = true;
      text.clear();
    }
  }
  return examples;
}

/// CRC-32 without a table.
std::uint32_t crc32(const std::string& text) {
  std::uint32_t value = ~0u;
  for (const char c : text) {
    value ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~value;
}

TEST(Documentation, EveryExampleRuns) {
  std::string folder = (std::filesystem::temp_directory_path() / "asmevo_docs_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string records = "record0record1record2record3record4";
  std::ofstream(folder + "/records.bin") << records;
  ASSERT_EQ(crc32("123456789"), 0xcbf43926u);

  const auto examples = documentedExamples();
  ASSERT_EQ(examples.size(), 4u);
  const auto device = must(device::makeSimulator("mi300x"));
  std::size_t cases = 0;
  for (const std::string& example : examples) {
    const dispatch::Dispatch dispatch = must(dispatch::parseDispatch(example, folder, "docs/dispatch.md"));
    for (const dispatch::Case& launch : dispatch.cases) {
      ++cases;
      const auto kernel = must(device->load(loadObject(kernelObject(launch.kernel)), launch.kernel));
      const emulator::RunResult result = must(kernel->launch(launch, {}));
      EXPECT_TRUE(result.guardViolations.empty());
      const std::vector<Bytes> expected = runTwin(launch.kernel, launch);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(result.buffers[i], expected[i]) << launch.kernel << " " << launch.buffers[i].name;
      if (launch.kernel == "table_lookup") {
        const auto crc = elements(launch, result.buffers, "crc");
        for (std::size_t i = 0; i < 5; ++i)
          EXPECT_EQ(crc[i], crc32(records.substr(7 * i, 7)));
      }
    }
  }
  EXPECT_EQ(cases, 5u);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace asmevo
