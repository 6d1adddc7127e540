// What one search learned helps the next: another kernel with the same loop, the same kernel once more.
#include "optimize/moves/scheduling/relax_waits.h"
#include "optimize/moves/scheduling/schedule.h"
#include "optimize/optimize.h"
#include "optimize/optimize_support.h"

#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace asmevo::optimize {
namespace {

/// Two sums of a column each; every load is waited for at once. `first` vector register and `count` scalar register of
/// the loop are free to choose, as is what comes before it.
object::CodeObject sums(unsigned v, unsigned count, const std::string& prologue) {
  const auto r = [&](unsigned n) { return "v" + std::to_string(v + n); };
  const std::string s = "s" + std::to_string(count);
  const std::string body =
      prologue + "  v_mov_b32_e32 " + r(2) + ", 0\n  v_mov_b32_e32 " + r(3) + ", 0\n  v_mov_b32_e32 " + r(4) +
      ", v1\n  s_mov_b32 " + s + ", 24\nloop:\n  global_load_dword " + r(0) + ", " + r(4) +
      ", s[2:3]\n  s_waitcnt vmcnt(0)\n  v_add_u32_e32 " + r(2) + ", " + r(2) + ", " + r(0) + "\n  global_load_dword " +
      r(1) + ", " + r(4) + ", s[2:3] offset:1024\n  s_waitcnt vmcnt(0)\n  v_add_u32_e32 " + r(3) + ", " + r(3) + ", " +
      r(1) + "\n  v_add_u32_e32 " + r(4) + ", 0x1000, " + r(4) + "\n  s_sub_u32 " + s + ", " + s +
      ", 1\n  s_cmp_lg_u32 " + s + ", 0\n  s_cbranch_scc1 loop\n  v_add_u32_e32 " + r(2) + ", " + r(2) + ", " + r(3) +
      "\n  v_add_u32_e32 " + r(4) + ", 0x200000, v1\n  global_store_dword " + r(4) + ", " + r(2) + ", s[2:3]\n";
  return tests::assembledObject(program::test::kernelFile(tests::bodyOf(body)));
}

class Lessons : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "asmevo_lessons_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Outcome search(const object::CodeObject& k0, const std::string& ledger, std::size_t candidates,
                 std::uint64_t seed = 1) const {
    Options options;
    options.budgetSeconds = 3600;
    options.maximumEffort = 0;
    options.maximumCandidates = candidates;
    options.perturbations = 2;
    options.seed = seed;
    options.ledger = ledger.empty() ? "" : folder + "/" + ledger;
    options.verify.seeds = {0};
    options.verify.dataVariants = 0;
    options.verify.strict = false;
    static const std::vector<const Move*> moves = {&scheduleMove(), &relaxWaitsMove()};
    options.moves = &moves;
    auto outcome = optimize(k0, tests::textDispatch(2), tests::simulator(), options);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *std::move(outcome) : Outcome{};
  }

  std::string folder;
  const object::CodeObject kernel = sums(2, 8, "");
  const object::CodeObject sibling = sums(10, 12, "  v_lshlrev_b32_e32 v9, 3, v1\n  v_add_u32_e32 v1, v1, v9\n");
};

TEST_F(Lessons, ASiblingTriesWhatPaidFirst) {
  const Outcome first = search(kernel, "ledger", 0);
  ASSERT_TRUE(first.improved);
  const Outcome alone = search(sibling, "", 0);
  ASSERT_TRUE(alone.improved);

  const std::filesystem::path learned = folder + "/ledger";
  std::filesystem::copy_file(learned, folder + "/one");
  const Outcome one = search(sibling, "one", 1);
  ASSERT_EQ(one.candidatesTried, 1u);
  ASSERT_TRUE(one.improved) << "the first candidate is the lesson's";
  EXPECT_EQ(one.edits.front().reason, first.edits.front().reason);
  // What a search of its own needs more candidates for.
  const Outcome whole = search(sibling, "ledger", alone.candidatesTried / 2);
  EXPECT_LE(whole.finalCycles, alone.finalCycles * 1.001);
}

TEST_F(Lessons, WindowsThatNothingHelpedAreNotTriedAgain) {
  const Outcome first = search(kernel, "ledger", 0, 1);
  ASSERT_TRUE(first.improved);
  const Outcome again = search(kernel, "ledger", 0, 2);
  EXPECT_FALSE(again.resumed) << "another seed is another job";
  EXPECT_EQ(again.fromLedger, 0u);
  EXPECT_LT(again.candidatesTried, first.candidatesTried);
  EXPECT_LE(again.finalCycles, first.finalCycles * 1.001);
}

} // namespace
} // namespace asmevo::optimize
