// Simulation-based calibration finds right samplers right, and a wrong prior wrong.

#include "onward/glm/calibration.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "io/scratch.hpp"
#include "onward/glm/simulate.hpp"
#include "src/glm/prior_draws.hpp"

namespace onward::testing {
namespace {

using namespace glm;
using ::testing::HasSubstr;

class CalibrationTest : public Scratch {
 protected:
  void SetUp() override {
    std::string text = "y,x,g\n";
    for (int i = 0; i < 24; ++i)
      text += std::to_string(i % 2) + "," + std::to_string(std::sin(1.7 * i)) + ",g" + std::to_string(i % 6) +
              "\n";
    put("data.csv", text);
  }
  ModelSpec spec(const std::string& formula, const std::string& family, const std::string& prior) const {
    return {
        "glm",
        {{"data", path("data.csv").string()}, {"formula", formula}, {"family", family}, {"prior", prior}}};
  }
};

TEST(RankBand, IsLeftByOneHistogramInAThousandAtMost) {
  for (const auto& [count, bins] : {std::pair<std::size_t, std::size_t>{200, 16}, {1000, 32}, {40, 4}}) {
    const auto [low, high] = rank_band(count, bins);
    const double n = static_cast<double>(count), p = 1 / static_cast<double>(bins);
    const auto mass = [&](std::size_t i) {
      const double k = static_cast<double>(i);
      return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                      (n - k) * std::log1p(-p));
    };
    double below = 0, above = 0;
    for (std::size_t k = 0; k < low; ++k) below += mass(k);
    for (std::size_t k = high + 1; k <= count; ++k) above += mass(k);
    const double tail = 0.0005 * p;
    EXPECT_LE(below, tail);
    EXPECT_LE(above, tail);
    EXPECT_GT(below + mass(low), tail);  // no wider than need be
    EXPECT_GT(above + mass(high), tail);
  }
}

TEST(PriorDraws, HaveTheMomentsOfTheirPriors) {
  const std::size_t rows = 8, draws = 20000;
  std::vector<double> y(rows);
  std::vector<float> x;
  for (std::size_t i = 0; i < rows; ++i)
    y[i] = std::sin(static_cast<double>(i)), x.push_back(static_cast<float>(i));
  GroupTerm term{.factor = "g",
                 .levels = {"a", "b"},
                 .level_of_row = {0, 1, 0, 1, 0, 1, 0, 1},
                 .columns = {"Intercept", "x"},
                 .values = {Floats{}, Floats(padded_rows(rows), 1.0f)}};
  PosteriorOptions options;
  options.each = {Prior::normal(1, 2), Prior::laplace(-1, 0.5)};
  options.scale = Prior::exponential(4);
  const RegressionPosterior population(
      std::make_shared<Design>(Design::from_rows(
          rows, 1, true, [&](std::size_t i, std::span<double> row) { row[0] = static_cast<double>(x[i]); })),
      std::make_shared<Observations>(Family::gaussian, y), options);
  const std::vector<GroupPriors> priors{{{Prior::student_t(5, 0, 1), Prior::normal(0, 1)}, 2}};
  // In the order of the names: intercept, slope, two sds, a correlation, sigma; then products of effects.
  std::vector<double> sum(9), squares(9);
  for (std::size_t s = 0; s < draws; ++s) {
    RandomSequence random(stream_apart(3, Apart::parameters, s), 0);
    const DrawnParameters drawn = draw_parameters(population, {term}, priors, random);
    ASSERT_EQ(drawn.reported.size(), 6U);
    const auto& r = drawn.reported;
    const auto& e = drawn.effects[0];
    const double u = e[2] / r[2], v = e[3] / r[3];
    const std::vector<double> functions{r[0] + 3.5 * r[1] - 1,  // the intercept at the mean of x
                                        r[1] + 1,
                                        std::abs(r[1] + 1) - 0.5,
                                        r[3] - std::sqrt(2 / M_PI),
                                        r[4],
                                        r[4] * r[4] - 0.2,  // (1 + cor) / 2 ~ beta(2, 2)
                                        r[5] - 0.25,
                                        u * u - 1,
                                        u * v - r[4]};
    EXPECT_GT(r[2], 0);
    for (std::size_t i = 0; i < functions.size(); ++i)
      sum[i] += functions[i], squares[i] += functions[i] * functions[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_LT(std::abs(sum[i]) / std::sqrt(squares[i]), 4) << i;
}

TEST_F(CalibrationTest, ARightSamplerIsWithinItsBandsAndAWrongPriorIsNot) {
  const auto model =
      spec("y ~ x + (1 | g)", "bernoulli", "b ~ normal(0, 1); Intercept ~ normal(0, 1); sd ~ normal(0, 1)");
  CalibrationOptions options{.replicates = 160, .draws = 63, .seed = 2, .threads = 2};
  const auto right = calibrate(model, options);
  ASSERT_TRUE(right);
  ASSERT_EQ(right->parameters.size(), 3U);
  EXPECT_EQ(right->bins, 16U);
  for (const RankHistogram& parameter : right->parameters) {
    EXPECT_TRUE(parameter.within) << parameter.name;
    EXPECT_LT(std::abs(parameter.bias), 4) << parameter.name;
    EXPECT_LT(std::abs(parameter.spread), 4) << parameter.name;
  }
  options.simulated_prior = "b[x] ~ normal(2, 1)";
  const auto wrong = calibrate(model, options);
  EXPECT_FALSE(wrong->parameters[1].within);
  EXPECT_GT(wrong->parameters[1].bias, 8);
}

TEST_F(CalibrationTest, RanksDoNotDependOnThreads) {
  const auto model = spec("y ~ x", "gaussian", "");
  const auto one = calibrate(model, {.replicates = 20, .draws = 31, .threads = 1});
  const auto three = calibrate(model, {.replicates = 20, .draws = 31, .threads = 3});
  for (std::size_t p = 0; p < one->parameters.size(); ++p)
    EXPECT_EQ(one->parameters[p].ranks, three->parameters[p].ranks);
  EXPECT_THAT(one->priors, HasSubstr("sigma"));
}

TEST_F(CalibrationTest, SaysWhatCannotBeCalibrated) {
  const auto problem = [&](const ModelSpec& model, CalibrationOptions options = {.replicates = 20}) {
    return error_of([&] { calibrate(model, options); });
  };
  EXPECT_THAT(problem(spec("y ~ x", "bernoulli", "flat")), HasSubstr("is flat"));
  EXPECT_THAT(problem(spec("g ~ x", "categorical", "")), HasSubstr("categorical"));
  EXPECT_THAT(problem(spec("y ~ x", "bernoulli", ""), {.replicates = 5}), HasSubstr("`replicates` is 5"));
  EXPECT_THAT(problem(spec("y ~ x", "bernoulli", ""), {.replicates = 20, .draws = 100}),
              HasSubstr("`draws` is 100"));
  EXPECT_THAT(problem(spec("y ~ x", "poisson", "b ~ normal(0, 100)")),
              ::testing::AllOf(HasSubstr("replicate "), HasSubstr("narrower")));
}

}  // namespace
}  // namespace onward::testing
