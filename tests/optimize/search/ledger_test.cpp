#include "optimize/search/ledger.h"

#include "support/file_io.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace asmevo::optimize {
namespace {

class LedgerFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "asmevo_ledger_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path() const { return folder + "/job.ledger"; }
  std::unique_ptr<Ledger> open() const {
    auto ledger = Ledger::open(path());
    EXPECT_TRUE(ledger) << ledger.error().message;
    return ledger ? *std::move(ledger) : nullptr;
  }
  std::string folder;
};

TEST_F(LedgerFile, AnswersSurviveTheProcess) {
  const Bytes k1 = {1, 2, 3, 4, 5, 6, 7, 8};
  {
    const auto ledger = open();
    const auto job = ledger->begin("job");
    ASSERT_TRUE(job);
    EXPECT_FALSE(job->resumed);
    ASSERT_TRUE(ledger->setPrice("a", {123.5, {1.0, 2.5}, true}));
    ASSERT_TRUE(ledger->setPrice("broken", {std::nullopt, {}, false}));
    ASSERT_TRUE(ledger->setVerdict("a", {verify::Level::proved, "equal", ""}));
    ASSERT_TRUE(ledger->setAccepted(1, "a", k1, nlohmann::json::array()));
    ASSERT_TRUE(ledger->spent(2.5));
  }
  const auto ledger = open();
  const auto job = ledger->begin("job");
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->resumed);
  EXPECT_DOUBLE_EQ(job->seconds, 2.5);
  const auto price = ledger->price("a");
  ASSERT_TRUE(price && *price);
  EXPECT_EQ((*price)->cycles, 123.5);
  EXPECT_TRUE((*price)->byOne);
  EXPECT_EQ((*price)->perturbed, (std::vector<double>{1.0, 2.5}));
  const auto broken = ledger->price("broken");
  ASSERT_TRUE(broken && *broken);
  EXPECT_FALSE((*broken)->cycles) << "that it cannot be built is an answer too";
  EXPECT_FALSE(*ledger->price("never"));
  const auto verdict = ledger->verdict("a");
  ASSERT_TRUE(verdict && *verdict);
  EXPECT_EQ((*verdict)->level, verify::Level::proved);
  EXPECT_EQ((*verdict)->reason, "equal");
  EXPECT_EQ(*ledger->acceptedCount(), 1u);
  EXPECT_EQ(**ledger->lastAccepted(), k1);
}

TEST_F(LedgerFile, JobsDoNotShareAnswersButLessons) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->begin("first"));
  ASSERT_TRUE(ledger->setPrice("a", {1, {}, false}));
  ASSERT_TRUE(ledger->learn("loop", "schedule", true));
  ASSERT_TRUE(ledger->learn("loop", "schedule", false));
  ASSERT_TRUE(ledger->addLesson("window", {"schedule", "paced", 1.1}));
  ASSERT_TRUE(ledger->addLesson("window", {"schedule", "by critical path", 1.2}));
  ASSERT_TRUE(ledger->addLesson("window", {"schedule", "shaken", 1.15}));
  ASSERT_TRUE(ledger->addLesson("window", {"prefetch", "two turns", 1.5}));
  EXPECT_TRUE(ledger->lessons("window")->empty()) << "a job starts from what was known when it began";

  const auto second = ledger->begin("second");
  ASSERT_TRUE(second);
  EXPECT_FALSE(*ledger->price("a"));
  ASSERT_EQ(second->arms.size(), 1u);
  EXPECT_EQ(second->arms[0].pulls, 2);
  EXPECT_EQ(second->arms[0].gains, 1);
  const auto lessons = ledger->lessons("window");
  ASSERT_TRUE(lessons);
  ASSERT_EQ(lessons->size(), 2u) << "the best of each move";
  EXPECT_EQ(lessons->at(0).move, "prefetch");
  EXPECT_EQ(lessons->at(0).reason, "two turns");
  EXPECT_EQ(lessons->at(0).speedup, 1.5);
  EXPECT_EQ(lessons->at(1).move, "schedule");
  EXPECT_EQ(lessons->at(1).reason, "by critical path");
  EXPECT_EQ(lessons->at(1).speedup, 1.2);

  const auto again = ledger->begin("first");
  ASSERT_TRUE(again && again->resumed);
  EXPECT_TRUE(again->arms.empty());
  EXPECT_TRUE(ledger->lessons("window")->empty());
}

TEST_F(LedgerFile, UselessWindowsAreKnownToJobsThatBeginLater) {
  using enum Ledger::Use;
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger->begin("first"));
    ASSERT_TRUE(ledger->addUseless("program", "window", "schedule", 0));
    ASSERT_TRUE(ledger->addUseless("program", "window", "schedule", 0));
    EXPECT_EQ(*ledger->useOf("program", "window", "schedule", 0), unknown);
  }
  const auto ledger = open();
  ASSERT_TRUE(ledger->begin("second"));
  EXPECT_EQ(*ledger->useOf("program", "window", "schedule", 0), none);
  EXPECT_EQ(*ledger->useOf("sibling", "window", "schedule", 0), noneElsewhere);
  EXPECT_EQ(*ledger->useOf("program", "window", "schedule", 1), unknown);
  EXPECT_EQ(*ledger->useOf("program", "window", "prefetch", 0), unknown);
  EXPECT_EQ(*ledger->useOf("program", "another", "schedule", 0), unknown);
  ASSERT_TRUE(ledger->addUseless("program", "another", "schedule", 0));
  ASSERT_TRUE(ledger->begin("first"));
  EXPECT_EQ(*ledger->useOf("program", "window", "schedule", 0), unknown) << "taken up as it began";
}

TEST_F(LedgerFile, OtherFilesAreRefused) {
  ASSERT_TRUE(writeFileAtomic(path(), std::string(4096, 'x')));
  const auto text = Ledger::open(path());
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("job.ledger"), std::string::npos);
  EXPECT_FALSE(Ledger::open(folder + "/no/such/folder"));
}

TEST_F(LedgerFile, ADamagedObjectIsAnError) {
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger->begin("job"));
    ASSERT_TRUE(ledger->setAccepted(1, "a", Bytes(100, 7), nlohmann::json::array()));
  }
  // The compressed form of the bytes above begins with zstd's magic number (RFC 8878, 3.1.1).
  auto bytes = readFile(path());
  ASSERT_TRUE(bytes);
  const Bytes magic = {0x28, 0xb5, 0x2f, 0xfd};
  auto found = std::ranges::search(*bytes, magic);
  if (found.empty()) { // still in the write-ahead log
    auto log = readFile(path() + "-wal");
    ASSERT_TRUE(log);
    FAIL() << "closing the file did not move the log into it";
  }
  found.front() = 0;
  ASSERT_TRUE(writeFileAtomic(path(), *bytes));
  const auto ledger = open();
  ASSERT_TRUE(ledger->begin("job"));
  EXPECT_FALSE(ledger->lastAccepted());
}

} // namespace
} // namespace asmevo::optimize
