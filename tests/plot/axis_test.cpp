// Where ticks go and what they are called.

#include "src/plot/axis.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace onward::plot {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> labels(Range range, Scale scale, std::size_t count) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks(range, scale, count)) {
    if (!tick.label.empty()) result.push_back(tick.label);
  }
  return result;
}

TEST(Ticks, LinearAxisHasRoundNumbers) {
  EXPECT_THAT(labels({0, 1}, Scale::linear, 6), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels({-3.4, 3.4}, Scale::linear, 3), ElementsAre("\u22122", "0", "2"));
  EXPECT_THAT(labels({990, 1013}, Scale::linear, 3), ElementsAre("990", "1000", "1010"));
  // A step of 50 would leave the number 0 alone.
  EXPECT_THAT(labels({-41, 28}, Scale::linear, 3), ElementsAre("\u221240", "\u221220", "0", "20"));
}

TEST(Ticks, LargeAndSmallNumbersAreShortButDifferent) {
  EXPECT_THAT(labels({0, 4.1e9}, Scale::linear, 5), ElementsAre("0", "1e9", "2e9", "3e9", "4e9"));
  EXPECT_THAT(labels({0.9e-7, 2.1e-7}, Scale::linear, 3),
              ElementsAre("1.0e\u22127", "1.5e\u22127", "2.0e\u22127"));
  EXPECT_THAT(labels({1e9, 1e9 + 2}, Scale::linear, 3),
              ElementsAre("1.000000000e9", "1.000000001e9", "1.000000002e9"));
}

TEST(Ticks, LogAxisHasPowersOfTenAndMinorTicks) {
  EXPECT_THAT(labels({0.5, 2e3}, Scale::log, 6), ElementsAre("1", "10", "100", "1000"));
  EXPECT_EQ(ticks({1, 10}, Scale::log, 6).size(), 10U);
  EXPECT_THAT(labels({1e-12, 1e12}, Scale::log, 5),
              ElementsAre("10\u207b\u00b9\u2070", "10\u207b\u2075", "1", "10\u2075", "10\u00b9\u2070"));
}

TEST(Ticks, NarrowLogAxisStillHasNumbers) {
  EXPECT_THAT(labels({0.9, 6}, Scale::log, 5), ElementsAre("1", "2", "5"));
  EXPECT_GE(labels({3.1, 3.9}, Scale::log, 5).size(), 2U);
}

TEST(Ticks, StayWithinTheRangeAndTheCountAtAnyMagnitude) {
  for (int exponent = -290; exponent <= 290; exponent += 29) {
    for (const double offset : {-7.0, 0.0, 1.0, 1000.0}) {
      const double unit = std::pow(10.0, exponent);
      const Range range{offset * unit, (offset + 1.7) * unit};
      const auto found = ticks(range, Scale::linear, 5);
      ASSERT_GE(found.size(), 2U) << range.low << " " << range.high;
      ASSERT_LE(found.size(), 6U) << range.low << " " << range.high;
      for (const Tick& tick : found) {
        EXPECT_GE(fraction(tick.value, range, Scale::linear), -1e-6);
        EXPECT_LE(fraction(tick.value, range, Scale::linear), 1 + 1e-6);
      }
    }
  }
}

TEST(Extent, SkipsWhatCannotBeShown) {
  Extent extent(Scale::linear);
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), 1e305}) extent.add(value);
  EXPECT_TRUE(extent.empty());
  extent.add(2);
  extent.add(4);
  EXPECT_DOUBLE_EQ(extent.range(0, 0.5).low, 2);
  EXPECT_DOUBLE_EQ(extent.range(0, 0.5).high, 5);

  Extent log(Scale::log);
  log.add(-1);
  log.add(0);
  EXPECT_TRUE(log.empty());
  log.add(10);
  log.add(1000);
  EXPECT_NEAR(log.range(0.5, 0).low, 1, 1e-12);
}

TEST(Extent, OneNumberGetsRoomOnBothSides) {
  for (const double value : {0.0, 5.0, -1e250, 1e-320}) {
    Extent extent(Scale::linear);
    extent.add(value);
    const Range range = extent.range(0, 0);
    EXPECT_LT(range.low, value);
    EXPECT_GT(range.high, value);
  }
}

}  // namespace
}  // namespace onward::plot
