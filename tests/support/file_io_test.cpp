#include "support/file_io.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <unistd.h>

namespace asmevo {
namespace {

namespace fs = std::filesystem;

class FileIo : public ::testing::Test {
 protected:
  FileIo() {
    folder = fs::path(ASMEVO_BINARY_DIR) / ("test_support_" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  ~FileIo() override { fs::remove_all(folder); }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  fs::path folder;
};

TEST_F(FileIo, WritesAndReadsBack) {
  Bytes bytes(70000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(i * 7);
  ASSERT_TRUE(writeFileAtomic(path("a"), bytes));
  const auto back = readFile(path("a"));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, bytes);
  ASSERT_TRUE(writeFileAtomic(path("a"), std::string("shorter")));
  EXPECT_EQ(readFile(path("a"))->size(), 7U);
  ASSERT_TRUE(writeFileAtomic(path("empty"), Bytes()));
  EXPECT_TRUE(readFile(path("empty"))->empty());
  // No temporary file is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
}

TEST_F(FileIo, ErrorsNameThePath) {
  const auto missing = readFile(path("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::badInput);
  EXPECT_NE(missing.error().message.find(path("missing")), std::string::npos);
  EXPECT_FALSE(readFile(folder.string())) << "a folder is no file";
  ASSERT_TRUE(writeFileAtomic(path("big"), Bytes(100)));
  EXPECT_FALSE(readFile(path("big"), 99));
  EXPECT_TRUE(readFile(path("big"), 100));
  const Status written = writeFileAtomic(path("no/such/folder"), Bytes(1));
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("no/such/folder"), std::string::npos);
}

// FIPS 180-2, appendix B.
TEST(Sha256, KnownDigests) {
  const std::string abc = "abc";
  EXPECT_EQ(sha256Hex(Bytes(abc.begin(), abc.end())),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Hex(Bytes(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256Hex(Bytes()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

Result<int> half(int value) {
  if (value % 2 != 0)
    return badInput("{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  ASMEVO_TRY(const int once, half(value));
  return half(once);
}

Status isQuarter(int value) {
  ASMEVO_TRY(const int result, quarter(value));
  return result > 0 ? Status() : Status(refused("{} is not positive", result));
}

Result<std::string> text(int value) {
  ASMEVO_CHECK(isQuarter(value));
  return std::to_string(value);
}

TEST(Result, ValuesAndErrorsPassThrough) {
  ASSERT_TRUE(quarter(12));
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(*text(8), "8");
  EXPECT_EQ(text(5).error().message, "5 is odd");
  EXPECT_EQ(text(0).error().kind, ErrorKind::refused);
}

} // namespace
} // namespace asmevo
