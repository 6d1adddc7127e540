// The parents that a search builds on.
#include "optimize/search/lineage.h"

#include "optimize/search/budget.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

Parent leader(const std::string& hash, double cycles) {
  Parent parent;
  parent.hash = hash;
  parent.cycles = cycles;
  return parent;
}

Parent other(const std::string& hash, double cycles, const std::string& place) {
  Parent parent = leader(hash, cycles);
  parent.place = place;
  parent.pending.emplace_back();
  return parent;
}

std::string nextOf(const Population& population, unsigned mostEffort = 1000) {
  const auto next = population.next(mostEffort);
  return next ? next->hash : "";
}

TEST(Population, TheLeaderHasAHeadStartThenAllTakeTurns) {
  Population population;
  population.lead(leader("a", 100), 0.05);
  population.offer(other("b", 102, "x"));
  population.offer(other("c", 101, "y"));
  std::string turns;
  for (int i = 0; i < 8; ++i) {
    turns += nextOf(population);
    population.finished(nextOf(population), true);
  }
  EXPECT_EQ(turns, "aaacbacb");
  EXPECT_EQ(nextOf(population, 3), "") << "effort of the others counts with the head start";
}

TEST(Population, WhoBringsNothingThriceIsExhausted) {
  Population population;
  population.lead(leader("a", 100), 0.05);
  population.offer(other("b", 102, "x"));
  for (const bool found : {false, false, true, false, false, false}) {
    EXPECT_FALSE(population.isExhausted());
    while (nextOf(population) == "b")
      population.finished("b", false);
    population.finished("a", found);
  }
  while (nextOf(population) == "b")
    population.finished("b", false);
  EXPECT_TRUE(population.isExhausted());
  EXPECT_EQ(nextOf(population), "");
}

TEST(Population, HasRoomForAFewOfEachPlace) {
  Population population;
  population.lead(leader("a", 100), 0.05);
  population.offer(other("b", 103, "x"));
  population.offer(other("c", 102, "x"));
  population.offer(other("d", 101, "x")); // b goes
  population.offer(other("d", 101, "y")); // is there already
  population.offer(other("a", 100, "y")); // leads
  population.offer(other("e", 104, "y"));
  population.offer(other("f", 105, "z"));
  EXPECT_FALSE(population.hasRoomFor(105));
  EXPECT_TRUE(population.hasRoomFor(104.5));
  population.offer(other("g", 104.5, "z")); // f goes
  population.finished("a", true);
  population.finished("a", true);
  population.finished("a", true);
  std::string turns;
  while (turns.size() < 4) {
    turns += nextOf(population);
    population.finished(nextOf(population), true);
  }
  EXPECT_EQ(turns, "dceg");
}

TEST(Population, AFasterLeaderOutdoesThoseFarBehind) {
  Population population;
  population.lead(leader("a", 100), 0.05);
  population.offer(other("b", 101, "x"));
  population.offer(other("c", 104, "y"));
  population.lead(leader("b2", 97), 0.05);
  for (int i = 0; i < 3; ++i)
    population.finished("b2", true);
  EXPECT_EQ(nextOf(population), "b");
  population.remove("b");
  EXPECT_EQ(nextOf(population), "b2") << "c is more than 5 % slower";
}

TEST(Budget, CountsEarlierRunsUntilNewWorkBegins) {
  Budget budget(1000);
  EXPECT_FALSE(budget.isOver());
  budget.spentBefore(600);
  EXPECT_LE(budget.left(), 400);
  EXPECT_GT(budget.left(), 300);
  budget.setAside(390);
  EXPECT_FALSE(budget.isOver());
  budget.setAside(401);
  EXPECT_TRUE(budget.isOver());
  EXPECT_TRUE(Budget(0).isOver());
}

TEST(Budget, TimeBelongsToTheInnermostPhase) {
  Budget budget(1000);
  {
    const Budget::During moves(budget, Phase::moves);
    EXPECT_EQ(budget.phase(), Phase::moves);
    {
      const Budget::During pricing(budget, Phase::pricing);
      EXPECT_EQ(budget.phase(), Phase::pricing);
    }
    EXPECT_EQ(budget.phase(), Phase::moves);
  }
  EXPECT_EQ(budget.phase(), Phase::baseline);
  double sum = 0;
  for (std::size_t i = 0; i < phaseCount; ++i) {
    EXPECT_GE(budget.seconds(static_cast<Phase>(i)), 0);
    sum += budget.seconds(static_cast<Phase>(i));
  }
  EXPECT_LE(sum, budget.elapsed());
  EXPECT_EQ(budget.seconds(Phase::last), 0);
}

} // namespace
} // namespace asmevo::optimize
