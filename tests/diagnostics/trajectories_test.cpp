// What trajectories tell of a run: counts, energies, and warnings in words.

#include "onward/diagnostics/trajectories.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "onward/random/stream.hpp"

namespace onward {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Energies of a chain that remembers this much of the one before.
std::vector<double> energies(std::size_t draws, double memory) {
  const Stream stream(5, 0);
  std::vector<double> values(draws);
  for (std::size_t d = 0; d < draws; ++d)
    values[d] = stream.normal(d, Purpose::noise, 0) + (d > 0 ? memory * values[d - 1] : 0);
  return values;
}

TEST(EnergyFraction, IsTwoOfIndependentEnergiesAndLittleOfAWalk) {
  // Changes have the variance 2 (1 - memory). The estimate of 20,000 independent draws is normal about 2 with
  // an sd below 0.015.
  EXPECT_NEAR(energy_fraction(energies(20'000, 0)), 2, 0.08);
  EXPECT_NEAR(energy_fraction(energies(20'000, 0.99)), 0.02, 0.01);
  EXPECT_LT(energy_fraction(energies(1000, 0.95)), energy_fraction_limit);
}

TEST(EnergyFraction, IsUnknownOfTooFewOrNoEnergies) {
  EXPECT_TRUE(std::isnan(energy_fraction({1, 2, 3})));
  EXPECT_TRUE(std::isnan(energy_fraction(std::vector<double>(50, 3.0))));
  auto broken = energies(50, 0);
  broken[7] = INFINITY;
  EXPECT_TRUE(std::isnan(energy_fraction(broken)));
}

TEST(Trajectories, AreCounted) {
  const auto chains = count_trajectories({{0, 1, 0}, {1, 1, 0}}, {{3, 10, 2}, {10, 10, 1}},
                                         {{7, 1023, 3}, {1023, 1000, 1}}, {{1, 2, 3}, {1, 2, 3}}, 10);
  ASSERT_THAT(chains, SizeIs(2));
  EXPECT_EQ(chains[0].draws, 3u);
  EXPECT_EQ(chains[0].divergent, 1u);
  EXPECT_EQ(chains[0].deepest, 1u);
  EXPECT_EQ(chains[0].leapfrogs, 1033u);
  EXPECT_EQ(chains[1].divergent, 2u);
  EXPECT_EQ(chains[1].deepest, 2u);
}

TEST(Trajectories, OfSamplersThatFollowNoneAreNotCounted) {
  // Their files have zeros for depth and divergence, and -lp for the energy, which may well be a slow walk.
  EXPECT_THAT(count_trajectories({{0, 0}}, {{0, 0}}, {{5, 5}}, {{1, 1.1}}, 10), IsEmpty());
  EXPECT_THAT(trajectory_warnings({}), IsEmpty());
  EXPECT_FALSE(trajectories_in_doubt({}));
}

TEST(Trajectories, AreWarnedOf) {
  const ChainTrajectories good{.draws = 1000, .leapfrogs = 7000, .energy_fraction = 0.9};
  EXPECT_THAT(trajectory_warnings({good, good}), IsEmpty());

  ChainTrajectories divergent = good, narrow = good, deep = good;
  divergent.divergent = 3;
  auto lines = trajectory_warnings({good, divergent});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("3 of 2000 trajectories diverged"));
  EXPECT_THAT(lines[0], HasSubstr("target_acceptance"));
  EXPECT_TRUE(trajectories_in_doubt({good, divergent}));

  narrow.energy_fraction = 0.12;
  lines = trajectory_warnings({narrow, narrow, good}, {.draws = "--draws"});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("E-BFMI 0.12, low in 2 chains"));
  EXPECT_THAT(lines[0], HasSubstr("--draws"));
  EXPECT_TRUE(trajectories_in_doubt({narrow, good}));

  deep.deepest = 201;  // a tenth of 2,000 draws is not yet worth a word
  lines = trajectory_warnings({good, deep}, {.max_depth = "--max-depth"});
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("201 of 2000 trajectories were as long as is allowed"));
  EXPECT_THAT(lines[0], HasSubstr("--max-depth"));
  EXPECT_FALSE(trajectories_in_doubt({good, deep}));
  deep.deepest = 200;
  EXPECT_THAT(trajectory_warnings({good, deep}), IsEmpty());

  // Too few draws to tell the energy: nothing is said of it.
  ChainTrajectories few{.draws = 5, .leapfrogs = 30};
  EXPECT_THAT(trajectory_warnings({few}), IsEmpty());
}

}  // namespace
}  // namespace onward
