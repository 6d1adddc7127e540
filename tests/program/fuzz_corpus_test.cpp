// The inputs the fuzzer kept (one for each new piece of coverage) and those that once broke a property.
#include "object_body.h"
#include "support/file_io.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace asmevo::program {
namespace {

TEST(FuzzCorpus, EveryKeptInputHolds) {
  unsigned inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASMEVO_SOURCE_DIR "/tests/data/fuzz")) {
    const auto bytes = readFile(entry.path().string());
    ASSERT_TRUE(bytes) << entry.path();
    EXPECT_EQ(fuzz::checkObject(*bytes), "") << entry.path();
    ++inputs;
  }
  EXPECT_GE(inputs, 3U);
}

} // namespace
} // namespace asmevo::program
