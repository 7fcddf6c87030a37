// Draws from distributions: each against its distribution function (Kolmogorov and Smirnov's statistic) or
// its masses (chi-square), with a wrong parameter that the same test catches.

#include "onward/random/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions.hpp>
#include <cmath>
#include <functional>
#include <vector>

namespace onward {
namespace {

namespace bm = boost::math;

constexpr std::size_t draws = 20'000;

/// sqrt(n) times the largest distance between the empirical distribution function and the given one: above
/// 2.7 with probability 2 exp(-2 * 2.7²) = 1e-6.
double distance(const std::function<double(Random&)>& draw, const std::function<double(double)>& cdf) {
  std::vector<double> sample;
  for (std::size_t i = 0; i < draws; ++i) {
    Random random(Stream(11, 3), i);
    sample.push_back(draw(random));
  }
  std::ranges::sort(sample);
  double most = 0;
  const auto n = static_cast<double>(draws);
  for (std::size_t i = 0; i < draws; ++i) {
    const double f = cdf(sample[i]), k = static_cast<double>(i);
    most = std::max({most, std::abs(f - k / n), std::abs(f - (k + 1) / n)});
  }
  return most * std::sqrt(n);
}
constexpr double bound = 2.7;

template <class Law>
auto cdf_of(Law law) {
  return [law](double x) { return bm::cdf(law, x); };
}

TEST(Random, RealNumbersHaveTheirDistributions) {
  EXPECT_LT(distance([](Random& r) { return r.uniform(-1, 2); }, cdf_of(bm::uniform(-1, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.normal(1, 2); }, cdf_of(bm::normal(1, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.lognormal(1, 0.5); }, cdf_of(bm::lognormal(1, 0.5))), bound);
  EXPECT_LT(distance([](Random& r) { return r.student_t(3, 1, 2); },
                     [](double x) { return bm::cdf(bm::students_t(3), (x - 1) / 2); }),
            bound);
  EXPECT_LT(distance([](Random& r) { return r.cauchy(1, 2); }, cdf_of(bm::cauchy(1, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.double_exponential(1, 2); }, cdf_of(bm::laplace(1, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.logistic(1, 2); }, cdf_of(bm::logistic(1, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.exponential(2); }, cdf_of(bm::exponential(2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.gamma(0.6, 2); }, cdf_of(bm::gamma_distribution<>(0.6, 0.5))),
            bound);
  EXPECT_LT(distance([](Random& r) { return r.inv_gamma(3, 2); }, cdf_of(bm::inverse_gamma(3, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.chi_square(5); }, cdf_of(bm::chi_squared(5))), bound);
  EXPECT_LT(distance([](Random& r) { return r.weibull(3, 2); }, cdf_of(bm::weibull(3, 2))), bound);
  EXPECT_LT(distance([](Random& r) { return r.beta(2, 0.7); }, cdf_of(bm::beta_distribution<>(2, 0.7))),
            bound);
  EXPECT_LT(distance(
                [](Random& r) {
                  std::vector<double> share(3);
                  r.dirichlet(std::vector<double>{1, 2, 3}, share);
                  EXPECT_NEAR(share[0] + share[1] + share[2], 1, 1e-14);
                  return share[1];
                },
                cdf_of(bm::beta_distribution<>(2, 4))),
            bound);
  // A wrong one is found out.
  EXPECT_GT(distance([](Random& r) { return r.normal(1, 2); }, cdf_of(bm::normal(1.1, 2))), bound);
  EXPECT_GT(distance([](Random& r) { return r.gamma(0.6, 2); }, cdf_of(bm::gamma_distribution<>(0.6, 0.55))),
            bound);
}

/// How probable a chi-square as large as that of the draws is, over 0 ... last - 1 and what is beyond.
double chance(const std::function<double(Random&)>& draw, const std::function<double(double)>& mass,
              std::size_t last) {
  std::vector<double> seen(last + 1);
  for (std::size_t i = 0; i < draws; ++i) {
    Random random(Stream(12, 3), i);
    const double k = draw(random);
    EXPECT_EQ(k, std::floor(k));
    EXPECT_GE(k, 0);
    ++seen[std::min(static_cast<std::size_t>(k), last)];
  }
  double chi = 0, left = 1;
  std::size_t cells = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    const double p = k < last ? mass(static_cast<double>(k)) : left, expected = p * draws;
    left -= p;
    if (expected < 1e-9) {
      EXPECT_EQ(seen[k], 0);
      continue;
    }
    chi += (seen[k] - expected) * (seen[k] - expected) / expected;
    ++cells;
  }
  return bm::cdf(bm::complement(bm::chi_squared(static_cast<double>(cells - 1)), chi));
}

TEST(Random, CountsHaveTheirMasses) {
  const double rare = 1e-6;
  const auto mass_of = [](auto law) { return [law](double k) { return bm::pdf(law, k); }; };
  EXPECT_GT(chance([](Random& r) { return r.bernoulli(0.3); }, mass_of(bm::bernoulli(0.3)), 1), rare);
  EXPECT_GT(chance([](Random& r) { return r.bernoulli_logit(0.0); }, mass_of(bm::bernoulli(0.5)), 1), rare);
  EXPECT_GT(chance([](Random& r) { return r.binomial(9, 0.3); }, mass_of(bm::binomial(9, 0.3)), 7), rare);
  EXPECT_GT(chance([](Random& r) { return r.binomial_logit(9, 0.0); }, mass_of(bm::binomial(9, 0.5)), 9),
            rare);
  EXPECT_GT(chance([](Random& r) { return r.poisson(4); }, mass_of(bm::poisson(4)), 11), rare);
  EXPECT_GT(chance([](Random& r) { return r.poisson_log(std::log(4)); }, mass_of(bm::poisson(4)), 11), rare);
  const bm::negative_binomial negative(2.5, 2.5 / 6.5);
  EXPECT_GT(chance([](Random& r) { return r.neg_binomial_2(4, 2.5); }, mass_of(negative), 14), rare);
  EXPECT_GT(chance([](Random& r) { return r.neg_binomial_2_log(std::log(4), 2.5); }, mass_of(negative), 14),
            rare);
  const std::vector<double> shares{0.2, 0.0, 0.5, 0.3}, logs{std::log(2), std::log(3), std::log(5)};
  const std::vector<double> cuts{-1, 0.5};
  EXPECT_GT(chance([&](Random& r) { return r.categorical(shares) - 1; },
                   [&](double k) { return shares[static_cast<std::size_t>(k)]; }, 3),
            rare);
  EXPECT_GT(chance([&](Random& r) { return r.categorical_logit(logs) - 1; },
                   [&](double k) { return std::exp(logs[static_cast<std::size_t>(k)]) / 10; }, 2),
            rare);
  const auto above = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_GT(chance([&](Random& r) { return r.ordered_logistic(0.3, cuts) - 1; },
                   [&](double k) { return k == 0 ? 1 - above(1.3) : above(1.3) - above(-0.2); }, 2),
            rare);
  // A wrong one is found out.
  EXPECT_LT(chance([](Random& r) { return r.poisson(4); }, mass_of(bm::poisson(4.2)), 11), rare);
  EXPECT_LT(chance([](Random& r) { return r.bernoulli(0.3); }, mass_of(bm::bernoulli(0.33)), 1), rare);
}

TEST(Random, ParametersThatMakeNoSenseGiveNan) {
  Random r(Stream(1, 0), 0);
  EXPECT_TRUE(std::isnan(r.normal(0, -1)));
  EXPECT_TRUE(std::isnan(r.uniform(2, 1)));
  EXPECT_TRUE(std::isnan(r.gamma(-1, 1)));
  EXPECT_TRUE(std::isnan(r.exponential(0)));
  EXPECT_TRUE(std::isnan(r.bernoulli(1.5)));
  EXPECT_TRUE(std::isnan(r.binomial(4, std::nan(""))));
  EXPECT_TRUE(std::isnan(r.poisson(-1)));
  EXPECT_TRUE(std::isnan(r.poisson(std::nan(""))));
  EXPECT_TRUE(std::isnan(r.neg_binomial_2(1, 0)));
  EXPECT_TRUE(std::isnan(r.categorical(std::vector<double>{0, 0})));
  EXPECT_TRUE(std::isnan(r.ordered_logistic(std::nan(""), std::vector<double>{0})));
}

TEST(Random, NumbersBelongToSeedChainAndStepAndToNoOtherPurpose) {
  const auto first = [](std::uint64_t seed, std::uint32_t chain, std::uint64_t step) {
    return Random(Stream(seed, chain), step).uniform();
  };
  EXPECT_EQ(first(1, 2, 3), first(1, 2, 3));
  EXPECT_NE(first(1, 2, 3), first(4, 2, 3));
  EXPECT_NE(first(1, 2, 3), first(1, 4, 3));
  EXPECT_NE(first(1, 2, 3), first(1, 2, 4));
  EXPECT_NE(first(1, 2, 3), RandomSequence(Stream(1, 2), 3).uniform());
  const std::vector<double> place{0.1, 0.2}, other{0.2, 0.1};
  EXPECT_EQ(Random::of_place(place).normal(), Random::of_place(place).normal());
  EXPECT_NE(Random::of_place(place).normal(), Random::of_place(other).normal());
}

}  // namespace
}  // namespace onward
