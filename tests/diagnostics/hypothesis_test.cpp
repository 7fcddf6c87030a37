// Hypotheses about parameters, on draws whose answers are known.

#include "onward/diagnostics/hypothesis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "onward/error.hpp"

namespace onward {
namespace {

const std::vector<std::string> names{"a", "b"};

/// Four chains of independent normals: a about 1 with sd 1, b about 0 with sd 2.
Chains column(std::size_t name) {
  std::mt19937_64 generator(5 + name);
  std::normal_distribution<double> normal;
  Chains chains(4, std::vector<double>(2500));
  for (auto& chain : chains)
    for (double& x : chain) x = name == 0 ? 1 + normal(generator) : 2 * normal(generator);
  return chains;
}

Hypothesis judged(const std::string& text) { return judge(Comparison::parse(text, names), column); }

TEST(Hypothesis, FiguresAreThoseOfTheNormal) {
  const Hypothesis h = judged("a > 0");
  // Bounds are five Monte Carlo standard errors.
  EXPECT_NEAR(h.estimate, 1, 0.05);
  EXPECT_NEAR(h.sd, 1, 0.04);
  EXPECT_NEAR(h.q5, 1 - 1.645, 0.11);
  EXPECT_NEAR(h.q95, 1 + 1.645, 0.11);
  EXPECT_NEAR(h.q2_5, 1 - 1.96, 0.14);
  EXPECT_NEAR(h.q97_5, 1 + 1.96, 0.14);
  ASSERT_TRUE(h.belief.has_value());
  EXPECT_NEAR(h.belief->probability, 0.8413, 5 * 0.00365);
  EXPECT_NEAR(h.belief->mcse, 0.00365, 0.0006);
  EXPECT_DOUBLE_EQ(h.belief->evidence_ratio, h.belief->probability / (1 - h.belief->probability));
}

TEST(Hypothesis, SidesAndSigns) {
  const double greater = judged("a > b").belief->probability;
  EXPECT_DOUBLE_EQ(judged("b < a").belief->probability, greater);
  EXPECT_DOUBLE_EQ(judged("a < b").belief->probability, 1 - greater);
  EXPECT_NEAR(greater, 0.6726, 5 * 0.0047);  // of a normal about 1 with variance 5
  EXPECT_NEAR(judged("2 * a - b / 2 > 0").sd, std::sqrt(5.0), 0.08);
  EXPECT_FALSE(judged("a = 0").belief.has_value());
}

TEST(Hypothesis, WhatHoldsInAllDrawsIsBounded) {
  const Hypothesis sure = judged("a > -100"), never = judged("a < -100");
  EXPECT_EQ(sure.belief->probability, 1);
  EXPECT_TRUE(std::isnan(sure.belief->mcse));
  EXPECT_TRUE(std::isinf(sure.belief->evidence_ratio));
  EXPECT_EQ(never.belief->evidence_ratio, 0);
  EXPECT_NEAR(sure.belief->bound, 3e-4, 0.6e-4);
}

TEST(Hypothesis, RefusesWhatHasNoValue) {
  try {
    judged("log(b) > 0");
    FAIL();
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("no finite value at"));
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("of 10000 draws"));
  }
}

}  // namespace
}  // namespace onward
