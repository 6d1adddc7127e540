// Waits of a loop whose loads go ahead: counted against a queue that is played through, operation by operation.
#include "optimize/edit/turn_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

namespace asmevo::optimize {
namespace {

using Operation = TurnWaits::Operation;

/// Plays `turns` iterations twice, as before and as now, and returns for a wait for `n` at `at` in the last of them the
/// largest count that leaves nothing in flight that was complete before.
unsigned played(const std::vector<Operation>& list, std::size_t at, unsigned n, std::size_t turns, std::size_t length) {
  using Issue = std::pair<std::size_t, std::size_t>; // iteration it belongs to, operation
  std::vector<Issue> before, now;
  for (std::size_t turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < list.size(); ++i)
      if (turn + 1 < turns || list[i].at < at)
        before.emplace_back(turn, i);
  // In front of the loop: the first iteration's loads that go ahead, in two rounds.
  for (const bool second : {false, true})
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].ahead && list[i].second == second)
        now.emplace_back(0, i);
  for (std::size_t turn = 0; turn < turns; ++turn)
    for (std::size_t position = 0; position <= length; ++position) {
      if (turn + 1 == turns && position > at)
        break;
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].ahead && list[i].issued == position)
          now.emplace_back(turn + 1, i);
      if (turn + 1 == turns && position == at)
        break;
      for (std::size_t i = 0; i < list.size(); ++i)
        if (!list[i].ahead && list[i].at == position)
          now.emplace_back(turn, i);
    }
  const std::set<Issue> complete(before.begin(), before.end() - std::min<std::ptrdiff_t>(n, std::ssize(before)));
  if (complete.empty())
    return ~0U;
  unsigned count = 0;
  while (count < now.size() && !complete.contains(now[now.size() - 1 - count]))
    ++count;
  return count;
}

TEST(TurnWaits, CompleteWhatTheyCompletedBefore) {
  // Two loads ahead at the start, one at its place, one behind them that stays; one of a second round.
  const std::vector<Operation> list = {{2, 0, true, false},  {3, 0, true, false}, {5, 5, true, false},
                                       {7, 7, false, false}, {9, 6, true, true},  {11, 11, false, false}};
  const TurnWaits waits(list);
  constexpr std::size_t length = 14;
  std::size_t tested = 0;
  for (std::size_t at = 0; at < length; ++at) {
    if (std::ranges::any_of(list, [&](const Operation& operation) { return operation.at == at; }))
      continue;
    for (unsigned n = 0; n < 8; ++n) {
      // Worst of many numbers of iterations; only where the wait had something to wait for at all.
      unsigned worst = ~0U;
      for (std::size_t turns = 1; turns <= 5; ++turns)
        worst = std::min(worst, played(list, at, n, turns, length));
      EXPECT_EQ(waits.count(at, n), worst) << "at " << at << " for " << n;
      ++tested;
    }
  }
  EXPECT_EQ(tested, 64u);
}

} // namespace
} // namespace asmevo::optimize
