#include "timing/perturb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace asmevo::timing {
namespace {

TEST(PerturbedChip, ChangesLatenciesAndBandwidthsOnly) {
  const auto chip = loadChip("mi300x");
  ASSERT_TRUE(chip);
  const Chip other = perturbed(*chip, 3);
  EXPECT_EQ(other.name, "mi300x~3");
  ASSERT_EQ(other.parameters.size(), chip->parameters.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < other.parameters.size(); ++i) {
    const auto& [name, value] = other.parameters[i];
    const double before = chip->parameters[i].second;
    ASSERT_EQ(name, chip->parameters[i].first);
    const bool named = std::ranges::find(perturbedParameters(), name) != perturbedParameters().end();
    changed += value != before;
    EXPECT_TRUE(named || value == before) << name;
    EXPECT_GE(value, 0.75 * before - 1e-9) << name;
    EXPECT_LE(value, 1.25 * before + 1e-9) << name;
  }
  EXPECT_GE(changed, 25u);
  for (const std::string_view name : perturbedParameters())
    EXPECT_FALSE(std::isnan(chip->parameter(name))) << name;
}

TEST(PerturbedChip, SeedsRepeatAndDiffer) {
  const auto chip = loadChip("mi308x");
  ASSERT_TRUE(chip);
  EXPECT_EQ(perturbed(*chip, 1).parameters, perturbed(*chip, 1).parameters);
  EXPECT_NE(perturbed(*chip, 1).parameters, perturbed(*chip, 2).parameters);
  // Ten seeds lie on both sides of what the file says.
  int above = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    above += perturbed(*chip, seed).parameter("hbm.latency") > chip->parameter("hbm.latency");
  EXPECT_GE(above, 2);
  EXPECT_LE(above, 8);
  EXPECT_EQ(perturbed(*chip, 1, 0).parameters, chip->parameters);
}

} // namespace
} // namespace asmevo::timing
