// Outcomes have the distribution of their family: counts are compared with its masses by a chi-square, whose
// standardised value has to be an ordinary number; a distribution that is slightly off is caught.

#include "onward/glm/simulate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace onward::testing {
namespace {

using namespace glm;

constexpr std::size_t draws = 40000;

/// How far the counts are from a distribution: (chi-square - degrees of freedom) / its standard deviation.
double misfit(const std::function<double(RandomSequence&)>& draw,
              const std::function<double(double)>& log_mass) {
  std::vector<double> seen;
  for (std::uint64_t i = 0; i < draws; ++i) {
    RandomSequence random(Stream(5, 0), i);
    const double k = draw(random);
    EXPECT_GE(k, 0);
    EXPECT_EQ(k, std::floor(k));
    if (k >= static_cast<double>(seen.size())) seen.resize(static_cast<std::size_t>(k) + 1);
    ++seen[static_cast<std::size_t>(k)];
  }
  // Neighbours are put together until 20 are expected.
  double chi = 0, cells = 0, expected = 0, found = 0, left = 1;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const double mass = std::exp(log_mass(static_cast<double>(k)));
    left -= mass;
    expected += draws * mass;
    found += seen[k];
    if (expected < 20 || draws * left < 20) continue;
    chi += (found - expected) * (found - expected) / expected;
    ++cells;
    expected = found = 0;
  }
  expected += draws * std::max(left, 0.0);
  if (expected > 5) chi += (found - expected) * (found - expected) / expected, ++cells;
  return (chi - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

double poisson_mass(double k, double mean) { return k * std::log(mean) - mean - std::lgamma(k + 1); }

TEST(Simulate, PoissonCounts) {
  for (const double mean : {0.3, 7.0, 400.5})
    EXPECT_LT(std::abs(misfit([&](auto& r) { return r.poisson(mean); },
                              [&](double k) { return poisson_mass(k, mean); })),
              4)
        << mean;
  EXPECT_GT(misfit([](auto& r) { return r.poisson(7); }, [](double k) { return poisson_mass(k, 7.2); }), 8);
}

TEST(Simulate, BinomialCounts) {
  const auto mass = [](double k, double n, double eta) {
    return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * eta -
           n * std::log1p(std::exp(eta));
  };
  for (const auto& [n, eta] : {std::pair{5.0, -1.0}, {40.0, 2.0}, {1000.0, 0.1}})
    EXPECT_LT(std::abs(misfit([&](auto& r) { return r.binomial(n, eta); },
                              [&](double k) { return mass(k, n, eta); })),
              4)
        << n;
  RandomSequence random(Stream(1, 0), 0);
  EXPECT_EQ(random.binomial(10, 2000), 10);
  EXPECT_EQ(random.binomial(10, -2000), 0);
  EXPECT_EQ(random.binomial(0, 1), 0);
}

TEST(Simulate, NegativeBinomialCounts) {
  for (const double phi : {0.4, 3.0, 50.0}) {
    const double mean = 6;
    const auto mass = [&](double k) {
      return std::lgamma(k + phi) - std::lgamma(phi) - std::lgamma(k + 1) +
             phi * std::log(phi / (phi + mean)) + k * std::log(mean / (phi + mean));
    };
    const auto count = [&](auto& r) {
      return random_response(Family::negative_binomial, std::log(mean), std::array{phi}, 1, r);
    };
    EXPECT_LT(std::abs(misfit(count, mass)), 4) << phi;
  }
}

TEST(Simulate, LargeCountsHaveTheirMoments) {
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    RandomSequence random(Stream(6, 0), i);
    const double z = (random.poisson(3e9) - 3e9) / std::sqrt(3e9);
    sum += z, squares += z * z;
  }
  EXPECT_LT(std::abs(sum) / std::sqrt(draws), 4);
  EXPECT_LT(std::abs(squares - draws) / std::sqrt(2.0 * draws), 4);
}

TEST(Simulate, ExpectedIsTheMeanOfWhatIsDrawn) {
  for (const Family family : {Family::gaussian, Family::bernoulli, Family::probit, Family::cloglog,
                              Family::binomial, Family::poisson, Family::negative_binomial, Family::gamma,
                              Family::zero_inflated_poisson, Family::student_t, Family::ordinal}) {
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < draws; ++i) {
      RandomSequence random(Stream(7, 0), i);
      const std::array numbers{1.5, 6.0};  // only student-t and ordinal read the second one
      const double d =
          random_response(family, 0.6, numbers, 4, random) - expected_response(family, 0.6, numbers, 4);
      sum += d, squares += d * d;
    }
    EXPECT_LT(std::abs(sum) / std::sqrt(squares), 4) << to_string(family);
  }
}

TEST(Simulate, OrderedClassesLieBetweenThresholds) {
  const std::array gaps{0.7, 1.5};
  for (const double eta : {-40.0, -1.0, 0.3, 2.0, 40.0}) {
    std::vector<double> p(4);
    ordered_probabilities(eta, gaps, p);
    const auto below = [&](double threshold) { return 1 / (1 + std::exp(eta - threshold)); };
    EXPECT_NEAR(p[0], below(0), 1e-15);
    EXPECT_NEAR(p[1], below(0.7) - below(0), 1e-15);
    EXPECT_NEAR(p[2], below(2.2) - below(0.7), 1e-15);
    EXPECT_NEAR(p[3], 1 - below(2.2), 1e-15);
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-14);
    // Far out the ratios of neighbours are those of e^threshold.
    if (eta == 40) {
      EXPECT_NEAR(p[1] / p[0], std::expm1(0.7), 1e-9);
    }
  }
}

TEST(Simulate, ClassesComeByTheirProbabilities) {
  std::vector<double> p{1000, 1001, 999};
  softmax_of(p);
  EXPECT_NEAR(p[1], 1 / (1 + std::exp(-1) + std::exp(-2)), 1e-12);
  std::vector<double> seen(3);
  for (std::uint64_t i = 0; i < draws; ++i) {
    RandomSequence random(Stream(8, 0), i);
    ++seen[random_class(p, random)];
  }
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_LT(std::abs(seen[k] - draws * p[k]) / std::sqrt(draws * p[k] * (1 - p[k])), 4);
}

}  // namespace
}  // namespace onward::testing
