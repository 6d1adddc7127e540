// A search that is killed with SIGKILL at random moments, again and again, ends as one that nobody disturbed.
#include "optimize/optimize.h"
#include "optimize/search/ledger.h"

#include "support/file_io.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

namespace asmevo::optimize {
namespace {

constexpr const char* kernel = "histogram";

Options job(const std::string& ledger) {
  Options options;
  options.budgetSeconds = 1e9;
  options.maximumCandidates = 24;
  options.maximumEffort = 1;
  options.perturbations = 3;
  options.mostSignChanges = 0;
  options.ledger = ledger;
  options.verify.seeds = {0};
  options.verify.furtherRounds = 0;
  return options;
}

Result<Outcome> search(const std::string& ledger) {
  return optimize(tests::kernelObject(kernel), tests::kernelDispatch(kernel), tests::simulator(), job(ledger));
}

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "asmevo_resume_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// True if the child came to its end before the kill.
  static bool runAndKill(const std::string& ledger, std::chrono::microseconds after) {
    const pid_t child = fork();
    if (child == 0)
      _exit(search(ledger) ? 0 : 1);
    std::this_thread::sleep_for(after);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
  }

  std::string folder;
};

TEST_F(Resume, FiftyKillsChangeNothing) {
  const auto start = std::chrono::steady_clock::now();
  const auto undisturbed = search("");
  const auto length = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  ASSERT_TRUE(undisturbed->improved);

  std::mt19937_64 random(1);
  std::size_t kills = 0, resumed = 0;
  for (std::size_t round = 0; kills < 50; ++round) {
    const std::string ledger = folder + "/" + std::to_string(round);
    for (bool done = false; !done && kills < 50;) {
      // A fifth of the whole, so that most searches are killed several times.
      const auto most = std::chrono::duration_cast<std::chrono::microseconds>(length / 5).count();
      done = runAndKill(ledger, std::chrono::microseconds(random() % static_cast<std::uint64_t>(most)));
      kills += !done;
    }
    const auto end = search(ledger);
    ASSERT_TRUE(end) << end.error().message;
    resumed += end->resumed;
    EXPECT_EQ(end->k1, undisturbed->k1) << "round " << round;
    EXPECT_EQ(end->candidatesTried, undisturbed->candidatesTried);
    EXPECT_DOUBLE_EQ(end->finalCycles, undisturbed->finalCycles);
    ASSERT_EQ(end->edits.size(), undisturbed->edits.size());
    for (std::size_t i = 0; i < end->edits.size(); ++i)
      EXPECT_EQ(end->edits[i].reason, undisturbed->edits[i].reason);
  }
  EXPECT_GE(resumed, 1u);
}

TEST_F(Resume, WhatWasPricedIsNotPricedAgain) {
  const std::string ledger = folder + "/ledger";
  const auto first = search(ledger);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->fromLedger, 0u);
  EXPECT_FALSE(first->resumed);
  const auto second = search(ledger);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->resumed);
  EXPECT_GE(second->fromLedger, second->candidatesTried) << "merged candidates are looked up as well";
  EXPECT_EQ(second->k1, first->k1);
}

} // namespace
} // namespace asmevo::optimize
