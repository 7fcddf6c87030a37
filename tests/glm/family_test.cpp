// Observed rows: what is refused, with which row named, and when double arithmetic is used.

#include "onward/glm/family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "onward/error.hpp"

namespace onward::glm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Numbers = std::vector<double>;

void expect_refused(Family family, const Numbers& y, const std::string& row, const std::string& why,
                    const RowOptions& options = {}) {
  EXPECT_THAT([&] { Observations(family, y, options); },
              ThrowsMessage<Error>(AllOf(HasSubstr(row), HasSubstr(why))));
}

TEST(Observations, NamesTheFirstRowOutOfRange) {
  expect_refused(Family::bernoulli, {0, 1, 2, 3}, "row 3 is 2", "0 or 1");
  expect_refused(Family::probit, {0, 0.5}, "row 2", "0 or 1");
  expect_refused(Family::cloglog, {-1}, "row 1", "0 or 1");
  expect_refused(Family::poisson, {0, 1, -2}, "row 3 is -2", "whole number");
  expect_refused(Family::poisson, {0.5}, "row 1", "whole number");
  expect_refused(Family::negative_binomial, {1, 1e9}, "row 2", "whole number");
  expect_refused(Family::gamma, {1, 0.5, 0}, "row 3 is 0", "above 0");
  expect_refused(Family::gamma, {1, -2}, "row 2 is -2", "above 0");
  expect_refused(Family::categorical, {0, 1, 5}, "row 3 is 5", "class from 0 to 2", {.classes = 3});
  expect_refused(Family::binomial, {1, 4}, "row 2 is 4", "trials, 3", {.trials = {2, 3}});
  expect_refused(Family::ordinal, {1, 2, 0}, "row 3 is 0", "class from 1 to 100");
  expect_refused(Family::ordinal, {1, 2.5}, "row 2 is 2.5", "class from 1");
  expect_refused(Family::ordinal, {1, 4}, "row 2 is 4", "class from 1 to 3", {.classes = 3});
  expect_refused(Family::ordinal, {1, 1}, "every y is 1", "2 classes");
  expect_refused(Family::zero_inflated_poisson, {0, 3, -1}, "row 3 is -1", "whole number");
  expect_refused(Family::student_t, {0, 1e31}, "row 2", "below 1e30");
  for (const Family family : {Family::gaussian, Family::bernoulli, Family::poisson, Family::categorical})
    expect_refused(family, {0, 1, NAN, INFINITY}, "row 3 is nan", "finite");
}

TEST(Observations, AStrayLabelDoesNotMakeThousandsOfClasses) {
  expect_refused(Family::categorical, {0, 1, 65535, 2}, "row 3 is 65535", "no row has class 3");
  EXPECT_EQ(Observations(Family::categorical, Numbers{0, 1, 99}).classes(), 100u);
  EXPECT_EQ(Observations(Family::categorical, Numbers{0, 1, 150}, {.classes = 200}).classes(), 200u);
  Numbers all(300);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i);
  EXPECT_EQ(Observations(Family::categorical, all).classes(), 300u);
}

TEST(Observations, ChecksWhatComesWithTheRows) {
  expect_refused(Family::gaussian, {1, 2}, "weights in row 2 is -1", ">= 0", {.weights = {1, -1}});
  expect_refused(Family::gaussian, {1, 2}, "offset in row 1 is nan", "finite", {.offset = {NAN, 1}});
  expect_refused(Family::gaussian, {1, 2}, "2 rows of y but 3 of weights", "each row",
                 {.weights = {1, 1, 1}});
  expect_refused(Family::binomial, {1, 1}, "trials in row 2 is 1.5", "whole", {.trials = {1, 1.5}});
  EXPECT_THROW(Observations(Family::binomial, Numbers{1}), UsageError);
  EXPECT_THROW(Observations(Family::poisson, Numbers{1}, {.trials = {2}}), UsageError);
  EXPECT_THROW(Observations(Family::gaussian, Numbers{}), Error);
  EXPECT_THROW(Observations(Family::categorical, Numbers{0, 0}), Error);
}

TEST(Observations, LargeCountsAreComputedInDouble) {
  EXPECT_EQ(Observations(Family::poisson, Numbers(1000, 3)).arithmetic(), Arithmetic::in_float);
  EXPECT_EQ(Observations(Family::binomial, Numbers(1000, 3), {.trials = Numbers(1000, 1e6)}).arithmetic(),
            Arithmetic::in_double);
  // The value of a row is then good to more digits than a float has.
  const Observations y(Family::binomial, Numbers(1000, 4e5), {.trials = Numbers(1000, 1e6)});
  ThreadPool pool(1);
  Floats eta(padded_rows(1000), -0.25f);
  const double row = 4e5 * -0.25 - 1e6 * std::log1p(std::exp(-0.25));
  EXPECT_NEAR(y.sums({.eta = eta.data()}, pool).value, 1000 * row, 1e-12 * std::abs(1000 * row));
}

TEST(Observations, DispersionMayBeHuge) {
  // As phi grows a negative binomial becomes a Poisson, and no digits may be lost on the way.
  const Numbers counts{0, 1, 2, 3, 4, 0, 7, 2, 5000};
  const Observations negative(Family::negative_binomial, counts), poisson(Family::poisson, counts);
  ThreadPool pool(1);
  Floats eta(padded_rows(counts.size()), 0.7f);
  eta[8] = 8.5f;
  const double limit = poisson.sums({.eta = eta.data()}, pool).value + poisson.constant();
  for (const double log_phi : {25.0, 30.0, 34.0}) {
    const Jet jet = negative.scale_jet(eta.data(), log_phi, pool);
    EXPECT_NEAR(jet.value, limit, 2e-3) << log_phi;
    EXPECT_NEAR(jet.slope, 0, 1e-3) << log_phi;
    EXPECT_NEAR(jet.curvature, 0, 1e-3) << log_phi;
  }
}

/// Of a shape that says that y is fitted nearly exactly, and of one that says nearly nothing.
TEST(Observations, ShapeMayBeHugeOrTiny) {
  const Numbers y{0.5, 1, 2, 3.5};
  const Observations gamma(Family::gamma, y);
  for (const double log_shape : {-12.0, 0.0, 3.39, 3.41, 9.0}) {
    const Jet jet = gamma.scale_jet(-0.01, log_shape);
    constexpr double h = 1e-4;
    const Jet up = gamma.scale_jet(-0.01, log_shape + h), down = gamma.scale_jet(-0.01, log_shape - h);
    const double size = 1 + std::abs(jet.value);
    EXPECT_NEAR((up.value - down.value) / (2 * h), jet.slope, 1e-6 * size) << log_shape;
    EXPECT_NEAR((up.slope - down.slope) / (2 * h), jet.curvature, 1e-6 * size) << log_shape;
    const double shape = std::exp(log_shape);
    double plain = -0.01 * shape;
    for (const double one : y) plain += shape * (log_shape - 1) - std::lgamma(shape) - std::log(one);
    EXPECT_NEAR(jet.value, plain, 1e-10 * shape * 10 + 1e-10) << log_shape;
  }
}

/// A line whose arrays are made piece by piece gives the bits of one that is there as a whole.
TEST(Observations, PiecesOfALineAreTheWhole) {
  constexpr std::size_t rows = 2 * piece_rows + 77;
  std::vector<double> y(rows);
  Floats eta(padded_rows(rows), 0.0f), d(padded_rows(rows), 0.0f);
  for (std::size_t i = 0; i < rows; ++i) {
    y[i] = i % 3 == 0 ? 1 : 0;
    eta[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    d[i] = static_cast<float>(std::cos(1.7 * static_cast<double>(i)));
  }
  ThreadPool pool(2);
  for (const Family family : {Family::bernoulli, Family::gaussian, Family::poisson}) {
    SCOPED_TRACE(to_string(family));
    const Observations of(family, y);
    for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(of.y(i), y[i]);
    constexpr float alpha = 0.3f;
    const FamilyNumbers numbers({std::log(1.7)});
    const LineSums whole =
        of.sums({.eta = eta.data(), .d = d.data(), .alpha = alpha, .numbers = numbers}, pool);
    const LineSums pieces = of.sums(
        [&](std::size_t begin, std::size_t, RowLine& line) {
          line.eta = eta.data() + begin;
          line.d = d.data() + begin;
          line.alpha = alpha;
        },
        numbers, pool);
    EXPECT_EQ(whole.value, pieces.value);
    EXPECT_EQ(whole.slope, pieces.slope);
    EXPECT_EQ(whole.curvature, pieces.curvature);
    Floats slopes(eta.size(), 0.0f), weights(eta.size(), 0.0f), slope(piece_rows), weight(piece_rows);
    of.row_slopes(eta.data(), numbers, slopes.data(), weights.data(), pool);
    for (std::size_t begin = 0; begin < rows; begin += piece_rows) {
      const std::size_t end = std::min(begin + piece_rows, rows);
      of.row_slopes(begin, end, eta.data() + begin, numbers, slope.data(), weight.data());
      for (std::size_t i = begin; i < end; ++i) {
        ASSERT_EQ(slopes[i], slope[i - begin]);
        ASSERT_EQ(weights[i], weight[i - begin]);
      }
    }
  }
}

/// Value, slope and curvature along directions of the numbers agree with differences, where they are far from
/// ordinary as well; so do mixed derivatives, row by row.
TEST(Observations, NumbersMayBeFarOut) {
  ThreadPool pool(1);
  const auto check = [&](const Observations& y, const std::vector<double>& logs) {
    SCOPED_TRACE(std::string(to_string(y.family())) + " " + std::to_string(logs[0]));
    Floats eta(padded_rows(y.rows()), 0.0f), d(eta.size(), 0.0f), mixed_rows(eta.size(), 0.0f);
    for (std::size_t i = 0; i < y.rows(); ++i) {
      eta[i] = 0.3f * static_cast<float>(i) - 0.5f;
      d[i] = 1.0f - 0.25f * static_cast<float>(i);
    }
    for (std::size_t one = 0; one <= logs.size(); ++one) {
      std::vector<double> turns(logs.size(), one == logs.size() ? 0.7 : 0.0);
      if (one < logs.size()) turns[one] = 1;
      const auto at = [&](double t) {
        std::vector<double> place = logs;
        for (std::size_t i = 0; i < place.size(); ++i) place[i] += t * turns[i];
        return FamilyNumbers(place);
      };
      double mixed = 0;
      const Jet jet = y.number_jet(eta.data(), at(0), turns, pool, d.data(), &mixed);
      constexpr double h = 1e-4;
      const Jet up = y.number_jet(eta.data(), at(h), turns, pool),
                down = y.number_jet(eta.data(), at(-h), turns, pool);
      const double size = 1 + std::abs(jet.value) + std::abs(jet.slope);
      EXPECT_NEAR((up.value - down.value) / (2 * h), jet.slope, 1e-6 * size);
      EXPECT_NEAR((up.slope - down.slope) / (2 * h), jet.curvature, 1e-6 * size);
      const auto slope_along_d = [&](double t) {
        const FamilyNumbers numbers = at(t);
        return y.sums({.eta = eta.data(), .d = d.data(), .numbers = numbers}, pool).slope;
      };
      constexpr double wide = 1e-2;  // rows are floats
      EXPECT_NEAR((slope_along_d(wide) - slope_along_d(-wide)) / (2 * wide), mixed, 1e-3 * size);
      y.mixed_rows(eta.data(), at(0), turns, mixed_rows.data(), pool);
      double sum = 0;
      for (std::size_t i = 0; i < y.rows(); ++i)
        sum += static_cast<double>(mixed_rows[i]) * static_cast<double>(d[i]);
      EXPECT_NEAR(sum, mixed, 1e-5 * size);
      const FamilyNumbers here = at(0);
      EXPECT_NEAR(y.sums({.eta = eta.data(), .numbers = here}, pool).value + y.constant(here), jet.value,
                  1e-5 * size);
    }
  };
  const Observations student(Family::student_t, Numbers{0.2, -1, 30, 0.5, 2});
  for (const double log_excess : {-8.0, 0.0, 3.0, 4.59, 4.61, 9.0})
    for (const double log_sigma : {-2.0, 1.0}) check(student, {log_sigma, log_excess});
  const Observations ordinal(Family::ordinal, Numbers{1, 2, 3, 4, 4, 1}, {.classes = 5});
  for (const double log_gap : {-9.0, 0.0, 3.0}) check(ordinal, {log_gap, 0.2, -1});
  const Observations inflated(Family::zero_inflated_poisson, Numbers{0, 0, 1, 7, 0});
  for (const double log_odds : {-12.0, -0.4, 9.0}) check(inflated, {log_odds});
}

/// What proposals take is negative wherever the true curvature is, and is not.
TEST(Observations, TouchingCurvatureIsNegative) {
  ThreadPool pool(1);
  for (const Family family : {Family::student_t, Family::zero_inflated_poisson}) {
    const Observations y(family, Numbers(64, 0));
    Floats eta(padded_rows(64)), slope(eta.size()), exact(eta.size()), touching(eta.size());
    for (std::size_t i = 0; i < 64; ++i) eta[i] = 0.1f * static_cast<float>(i) - 2.0f;
    const FamilyNumbers numbers({-0.5, 0.5});
    y.row_slopes(eta.data(), numbers, slope.data(), exact.data(), pool, Curvature::exact);
    y.row_slopes(eta.data(), numbers, slope.data(), touching.data(), pool);
    EXPECT_LT(*std::min_element(exact.begin(), exact.begin() + 64), -1e-3);
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_GE(touching[i], 0) << i;
      EXPECT_GE(touching[i], exact[i] - 1e-6f) << i;
    }
  }
}

TEST(Family, NamesGoBothWays) {
  for (const auto& name : family_names()) EXPECT_EQ(to_string(parse_family(name)), name);
  EXPECT_THAT([] { parse_family("poison"); }, ThrowsMessage<UsageError>(HasSubstr("poisson")));
}

}  // namespace
}  // namespace onward::glm
