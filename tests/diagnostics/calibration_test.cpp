// Scores of class probabilities against their definitions.

#include "onward/diagnostics/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace onward {
namespace {

ClassScores judge(const std::vector<double>& probabilities, const std::vector<std::uint8_t>& labels,
                  std::size_t classes) {
  return judge_classes(probabilities, labels, classes);
}

TEST(Calibration, FollowsTheDefinitions) {
  // Three images, two classes: right with 0.9, wrong with 0.62, right with 0.615 (the same bin as 0.62 is
  // not: bins are 0.61 to 0.62 and 0.62 to 0.63).
  const ClassScores p = judge({0.9, 0.1, 0.625, 0.375, 0.385, 0.615}, {0, 1, 1}, 2);
  EXPECT_NEAR(p.nll, -(std::log(0.9) + std::log(0.375) + std::log(0.615)) / 3, 1e-12);
  EXPECT_NEAR(p.accuracy, 2.0 / 3, 1e-12);
  EXPECT_NEAR(p.ece, (0.1 + 0.625 + 0.385) / 3, 1e-12);
  // In one bin errors of both signs cancel.
  const ClassScores same = judge({0.505, 0.495, 0.505, 0.495}, {0, 1}, 2);
  EXPECT_NEAR(same.ece, 0.005, 1e-12);
  // A probability of 1 belongs to the last bin.
  EXPECT_EQ(judge({1, 0}, {0}, 2).ece, 0);
}

}  // namespace
}  // namespace onward
