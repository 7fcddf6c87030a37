// Predictions against the same arithmetic by hand, for draws that are made up here.

#include "onward/glm/predict.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "io/scratch.hpp"
#include "onward/random/stream.hpp"

namespace onward::testing {
namespace {

using namespace glm;
using ::testing::HasSubstr;
using What = PredictionOptions::What;

constexpr std::size_t chains = 2, per_chain = 150;

class Predict : public Scratch {
 protected:
  Table read(const std::string& text) const { return read_table(put("data.csv", text)); }

  /// Draws of these parameters: normal about a value with this standard deviation.
  StoredDraws draws_of(const std::map<std::string, std::pair<double, double>>& parameters) {
    StoredDraws stored;
    std::vector<Chains> values;
    for (const auto& [name, about] : parameters) {
      Chains column;
      for (std::size_t c = 0; c < chains; ++c) {
        column.emplace_back(per_chain);
        Stream(3, static_cast<std::uint32_t>(c)).normals(stored.names.size(), Purpose::noise, column.back());
        for (double& x : column.back()) x = about.first + about.second * x;
      }
      stored.names.push_back(name);
      values.push_back(std::move(column));
    }
    stored.chains = chains;
    stored.draws = per_chain;
    stored.column = [values](std::size_t i) { return values[i]; };
    return stored;
  }
  static double value(const StoredDraws& stored, const std::string& name, std::size_t s) {
    const auto at = std::ranges::find(stored.names, name) - stored.names.begin();
    return stored.column(static_cast<std::size_t>(at))[s / per_chain][s % per_chain];
  }

  FittedRegression fit(const std::string& formula, Family family, const std::string& data) const {
    FittedRegression fitted;
    fitted.family = family;
    fitted.formula = formula;
    const formula::Frame frame = make_frame(formula::Formula(formula), read(data));
    fitted.state = frame.state;
    fitted.classes = frame.response_levels;
    return fitted;
  }

  const std::string fitted_data =
      "y,x,f,g,n\n1,2,a,p,3\n2,3,b,q,4\n0,5,c,p,5\n1,7,a,q,2\n2,8,b,r,2\n1,1,c,r,6\n";
};

std::vector<std::vector<double>> all_draws(const Predictions& predictions) {
  std::vector<std::vector<double>> rows;
  predictions.each_block(
      [&](std::size_t, std::span<const PredictedRow> block, std::span<const double> values) {
        for (std::size_t i = 0; i < block.size(); ++i) {
          const auto row = values.subspan(i * predictions.draws(), predictions.draws());
          rows.emplace_back(row.begin(), row.end());
        }
        return true;
      });
  return rows;
}

TEST_F(Predict, NewRowsHaveTheColumnsOfTheFit) {
  const auto fitted = fit("y ~ scale(x) + f + (1 + x | g) + offset(log(n))", Family::poisson, fitted_data);
  const StoredDraws draws = draws_of({{"(Intercept)", {0.3, 0.2}},
                                      {"scale(x)", {0.5, 0.1}},
                                      {"fb", {-1, 0.3}},
                                      {"fc", {1, 0.3}},
                                      {"r(g)Intercept[p]", {0.2, 0.1}},
                                      {"r(g)x[p]", {0.1, 0.05}},
                                      {"r(g)Intercept[q]", {-0.2, 0.1}},
                                      {"r(g)x[q]", {-0.1, 0.05}}});
  const Table data = read("x,f,g,n\n4,c,q,2\n-1,a,p,1\n");  // no response, no level r
  const Predictions linear(fitted, data, draws, {.what = What::linear});
  const auto eta = all_draws(linear);
  ASSERT_EQ(eta.size(), 2U);
  const double mean = 26.0 / 6, sd = std::sqrt((4 + 9 + 25 + 49 + 64 + 1 - 26.0 * 26 / 6) / 5);
  for (const std::size_t s : {0UL, 149UL, 150UL, 299UL}) {
    const auto at = [&](const std::string& name) { return value(draws, name, s); };
    EXPECT_NEAR(eta[0][s],
                at("(Intercept)") + at("scale(x)") * (4 - mean) / sd + at("fc") + at("r(g)Intercept[q]") +
                    4 * at("r(g)x[q]") + std::log(2),
                1e-6);
    EXPECT_NEAR(
        eta[1][s],
        at("(Intercept)") + at("scale(x)") * (-1 - mean) / sd + at("r(g)Intercept[p]") - at("r(g)x[p]"),
        1e-6);
  }
  const Predictions expected(fitted, data, draws, {.probabilities = {0, 0.5, 1}});
  const auto rows = expected.all();
  double sum = 0, largest = 0;
  for (const double x : eta[0]) sum += std::exp(x), largest = std::max(largest, std::exp(x));
  EXPECT_NEAR(rows[0].mean, sum / 300, 1e-9);
  EXPECT_NEAR(rows[0].quantiles[2], largest, 1e-9);
  EXPECT_LT(rows[0].quantiles[0], rows[0].quantiles[1]);
  const Predictions without(fitted, read("x,f,n\n4,c,2\n"), draws, {.what = What::linear, .groups = false});
  EXPECT_NEAR(all_draws(without)[0][7],
              eta[0][7] - value(draws, "r(g)Intercept[q]", 7) - 4 * value(draws, "r(g)x[q]", 7), 1e-6);
}

TEST_F(Predict, TrialsMultiplyProbabilities) {
  const auto fitted = fit("y | trials(n) ~ x", Family::binomial, fitted_data);
  const StoredDraws draws = draws_of({{"(Intercept)", {0, 0.2}}, {"x", {0.2, 0.1}}});
  const double with = Predictions(fitted, read("x,n\n3,10\n"), draws).all()[0].mean;
  const Predictions one(fitted, read("x\n3\n"), draws);
  EXPECT_NEAR(with, 10 * one.all()[0].mean, 1e-9);
  EXPECT_THAT(one.notes().at(0), HasSubstr("for one trial each"));
  EXPECT_THAT(error_of([&] { Predictions(fitted, read("x,n\n3,10\n4,2.5\n"), draws); }),
              HasSubstr("data.csv:3: the number of trials is 2.5"));
}

TEST_F(Predict, PredictiveDrawsHaveTheSpreadOfTheFamilyAndTheSameBits) {
  const auto fitted = fit("y ~ x", Family::gaussian, fitted_data);
  const StoredDraws draws = draws_of({{"(Intercept)", {1, 0}}, {"x", {2, 0}}, {"sigma", {3, 0}}});
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i % 7) + "\n";
  const Table data = read(text);
  const auto draw = [&](std::uint64_t seed, std::size_t threads) {
    return all_draws(
        Predictions(fitted, data, draws, {.what = What::predictive, .seed = seed, .threads = threads}));
  };
  const auto once = draw(4, 1);
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < once.size(); ++i)
    for (const double y : once[i]) {
      const double z = (y - 1 - 2.0 * static_cast<double>(i % 7)) / 3;
      sum += z, squares += z * z, ++count;
    }
  EXPECT_LT(std::abs(sum) / std::sqrt(count), 4);
  EXPECT_LT(std::abs(squares - count) / std::sqrt(2 * count), 4);
  EXPECT_EQ(once, draw(4, 3));
  EXPECT_NE(once, draw(5, 1));
}

TEST_F(Predict, NewLevelsAreDrawnFromTheDistributionOfTheGroups) {
  const auto fitted = fit("y ~ x + (1 + x | g)", Family::gaussian, fitted_data);
  StoredDraws draws = draws_of({{"(Intercept)", {0, 0}},
                                {"x", {0, 0}},
                                {"sigma", {1, 0}},
                                {"sd(g)Intercept", {2, 0}},
                                {"sd(g)x", {0.5, 0}},
                                {"cor(g)Intercept.x", {-0.6, 0}}});
  const Table data = read("x,g\n0,new\n1,new\n0,other\n");
  EXPECT_THAT(error_of([&] { Predictions(fitted, data, draws); }), HasSubstr("data.csv:2: g is \"new\""));
  const Predictions predictions(fitted, data, draws,
                                {.what = What::linear, .draw_new_levels = true, .seed = 9});
  EXPECT_THAT(predictions.notes().at(0),
              HasSubstr("g has 2 levels that the fitted data do not have (new, ...)"));
  const auto eta = all_draws(predictions);
  double intercepts = 0, slopes = 0, products = 0, across = 0;
  const double count = chains * per_chain;
  for (std::size_t s = 0; s < eta[0].size(); ++s) {
    const double intercept = eta[0][s] / 2, slope = (eta[1][s] - eta[0][s]) / 0.5;  // of sd 1
    intercepts += intercept * intercept, slopes += slope * slope, products += intercept * slope;
    across += intercept * eta[2][s] / 2;
  }
  EXPECT_LT(std::abs(intercepts - count) / std::sqrt(2 * count), 4);
  EXPECT_LT(std::abs(slopes - count) / std::sqrt(2 * count), 4);
  EXPECT_LT(std::abs(products + 0.6 * count) / std::sqrt(1.36 * count), 4);
  EXPECT_LT(std::abs(across) / std::sqrt(count), 4);
}

TEST_F(Predict, EffectsThatWereNotKeptAreNamed) {
  const auto fitted = fit("y ~ x + (1 | g)", Family::poisson, fitted_data);
  const StoredDraws draws = draws_of({{"(Intercept)", {0, 1}}, {"x", {0, 1}}, {"sd(g)Intercept", {1, 0}}});
  EXPECT_THAT(
      error_of([&] { Predictions(fitted, read("x,g\n1,q\n"), draws); }),
      HasSubstr("did not keep r(g)Intercept[q], which these rows need: sample again with `keep_groups` all"));
}

TEST_F(Predict, ClassesHaveProbabilitiesThatAddUp) {
  const auto fitted = fit("f ~ x", Family::categorical, fitted_data);
  std::map<std::string, std::pair<double, double>> parameters;
  for (int k = 1; k <= 3; ++k) {
    parameters["(Intercept)." + std::to_string(k)] = {0.3 * k, 0.5};
    parameters["x." + std::to_string(k)] = {-0.2 * k, 0.1};
  }
  const StoredDraws draws = draws_of(parameters);
  const Predictions predictions(fitted, read("x\n1\n6\n"), draws);
  EXPECT_THAT(predictions.classes(), ::testing::ElementsAre("a", "b", "c"));
  const auto rows = predictions.all();
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_NEAR(rows[3].mean + rows[4].mean + rows[5].mean, 1, 1e-12);
  const auto came = Predictions(fitted, read("x\n1\n6\n"), draws, {.what = What::predictive}).all();
  EXPECT_NEAR(came[0].mean, rows[0].mean, 4 * 0.5 / std::sqrt(300));
}

}  // namespace
}  // namespace onward::testing
