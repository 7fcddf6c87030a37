// Priors of inputs: densities that integrate to 1 with the moments that they should have, and words for them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/scratch.hpp"
#include "onward/simulator/priors.hpp"

namespace onward::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Law {
  std::string words;
  double x, below;  ///< a number, and how much of the law is below it
};
void PrintTo(const Law& law, std::ostream* out) { *out << law.words; }

class InputPriorLaw : public ::testing::TestWithParam<Law> {};

/// The density over u, summed up by the trapezoid rule, which is as good as exact for what falls like this.
TEST_P(InputPriorLaw, IsNormalisedAndWhereItShouldBe) {
  const Law& law = GetParam();
  const InputPriors priors = parse_input_priors("x ~ " + law.words, 1);
  double all = 0, below = 0;
  constexpr double width = 0.001, far = 60;
  for (double u = -far; u < far; u += width) {
    const Jet2<double> free(u, 1.0, 0.0);
    Jet2<double> sum(0.0);
    const Jet2<double> x = priors.at(0).evaluate(free, sum);
    if (!std::isfinite(sum.value)) continue;
    all += width * std::exp(sum.value);
    if (x.value < law.x) below += width * std::exp(sum.value);
    ASSERT_GT(x.slope, 0);
  }
  EXPECT_NEAR(all, 1, 2e-3);
  EXPECT_NEAR(below, law.below, 2e-3);
}

TEST_P(InputPriorLaw, DerivativesAreThoseOfTheValue) {
  const InputPriors priors = parse_input_priors("x ~ " + GetParam().words, 1);
  for (const double u : {-1.3, 0.4, 0.9}) {
    Jet2<double> sum(0.0);
    priors.at(0).evaluate(Jet2<double>(u, 1.0, 0.0), sum);
    const auto value = [&](double at) {
      double total = 0;
      priors.at(0).evaluate(at, total);
      return total;
    };
    constexpr double h = 1e-4;
    EXPECT_NEAR(sum.slope, (value(u + h) - value(u - h)) / (2 * h), 1e-6);
    EXPECT_NEAR(sum.curvature, (value(u + h) - 2 * value(u) + value(u - h)) / (h * h), 1e-5);
  }
}

// What is below x, from tables: quantiles of the normal 0.8413, of the t with 4 degrees 0.813, of the cauchy
// 0.75.
INSTANTIATE_TEST_SUITE_P(All, InputPriorLaw,
                         ::testing::Values(Law{"normal(2, 3)", 5, 0.841345},
                                           Law{"student_t(4, -1, 2)", 1, 0.813050},
                                           Law{"laplace(1, 2)", 3, 1 - 0.5 * std::exp(-1)},
                                           Law{"lognormal(1, 0.5)", std::exp(1.5), 0.841345},
                                           Law{"exponential(4)", 0.25, 1 - std::exp(-1)},
                                           Law{"gamma(2, 3)", 1, 1 - 4 * std::exp(-3)},
                                           Law{"inv_gamma(2, 3)", 1, 4 * std::exp(-3)},
                                           Law{"half_normal(2)", 2, 0.682689},
                                           Law{"half_t(4, 2)", 2, 0.626100}, Law{"half_cauchy(2)", 2, 0.5},
                                           Law{"uniform(-1, 4)", 0, 0.2}, Law{"beta(2, 3)", 0.5, 0.6875}));

TEST(InputPriors, AreReadInTheirOrder) {
  const InputPriors priors =
      parse_input_priors(" a ~ normal(0, 1);k[2]~lognormal(0,1)\n b ~ student-t:3:0:2; ", 4);
  EXPECT_THAT(priors.names(), ElementsAre("a", "k.1", "k.2", "b"));
  EXPECT_THAT(priors.name_indices(), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(parse_input_priors("flat", 2).names(), ElementsAre("theta.1", "theta.2"));
  EXPECT_EQ(parse_input_priors("b ~ cauchy(1, 2)", 1).at(0).a, 1);
}

TEST(InputPriors, WhatCannotBeReadIsNamed) {
  const auto said = [](const std::string& text) { return error_of([&] { parse_input_priors(text, 2); }); };
  EXPECT_THAT(said("a ~ nromal(0, 1)"), HasSubstr("there is no distribution 'nromal'. Did you mean normal?"));
  EXPECT_THAT(said("a ~ normal(0)"),
              HasSubstr("normal takes normal(location, scale), and 1 number was given"));
  EXPECT_THAT(said("a ~ normal(0, -1)"), HasSubstr("-1 is not above 0"));
  EXPECT_THAT(said("a ~ normal(0, x)"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(said("a ~ normal(0, 1"), HasSubstr("its parentheses do not match"));
  EXPECT_THAT(said("a ~ uniform(2, 1)"), HasSubstr("from a number to a larger one"));
  EXPECT_THAT(said("k[1.5] ~ normal(0, 1)"), HasSubstr("between [ and ] stands how many"));
  EXPECT_THAT(said("a b ~ normal(0, 1)"), HasSubstr("'a b' is no name for an input"));
  EXPECT_THAT(said("a ~ flat; a ~ flat"), HasSubstr("two priors of a"));
}

}  // namespace
}  // namespace onward::testing
