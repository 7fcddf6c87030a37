// Posterior predictive checks against the same figures by hand, for draws that are made up here.

#include "onward/glm/check.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "io/scratch.hpp"
#include "onward/error.hpp"
#include "onward/random/stream.hpp"

namespace onward::testing {
namespace {

using namespace glm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckData : public Scratch {
 protected:
  Table read(const std::string& text) const { return read_table(put("data.csv", text)); }

  /// 2 chains of 150 draws of these parameters: normal about a value with this standard deviation.
  static StoredDraws draws_of(const std::map<std::string, std::pair<double, double>>& parameters) {
    StoredDraws stored;
    std::vector<Chains> values;
    for (const auto& [name, about] : parameters) {
      Chains column;
      for (std::uint32_t c = 0; c < 2; ++c) {
        column.emplace_back(150);
        Stream(3, c).normals(stored.names.size(), Purpose::noise, column.back());
        for (double& x : column.back()) x = about.first + about.second * x;
      }
      stored.names.push_back(name);
      values.push_back(std::move(column));
    }
    stored.chains = 2;
    stored.draws = 150;
    stored.column = [values](std::size_t i) { return values[i]; };
    return stored;
  }

  static FittedRegression fit(const std::string& formula, Family family, const Table& data) {
    FittedRegression fitted;
    fitted.family = family;
    fitted.formula = formula;
    const formula::Frame frame = make_frame(formula::Formula(formula), data);
    fitted.state = frame.state;
    fitted.classes = frame.response_levels;
    return fitted;
  }

  /// 400 rows: normal about 1 + 2 x with standard deviation 3, and counts of mean 2.
  static std::string made_up() {
    const Stream stream(8, 0);
    std::string text = "y,x,count,g\n";
    for (std::size_t i = 0; i < 400; ++i) {
      const double x = static_cast<double>(i % 10) / 5 - 1;
      double product = 1, count = -1;  // Poisson by Knuth's way
      for (std::size_t k = 0; product > std::exp(-2.0); ++k, ++count)
        product *= stream.uniform(i, Purpose::noise, 1000 + 2 * k);
      text += std::to_string(1 + 2 * x + 3 * stream.normal(i, Purpose::noise, 0)) + "," + std::to_string(x) +
              "," + std::to_string(static_cast<int>(count)) + "," + "abcd"[i / 100] + "\n";
    }
    return text;
  }
};

std::vector<std::string> names_of(const CheckedRows& part) {
  std::vector<std::string> names;
  for (const auto& statistic : part.statistics) names.push_back(statistic.name);
  return names;
}

TEST(CheckedStatistic, CountsTiesHalf) {
  EXPECT_EQ((CheckedStatistic{"mean", 2, {1, 2, 3, 4}}.p()), 0.625);
  EXPECT_EQ((CheckedStatistic{"min", 0, {0, 0, 0}}.p()), 0.5);
  EXPECT_EQ((CheckedStatistic{"max", 9, {1, 2}}.p()), 0);
}

TEST_F(CheckData, StatisticsAreThoseOfPredictiveDraws) {
  const Table data = read("y,x,g\n1.5,2,a\n2.25,3,b\n-1,5,a\nNA,6,b\n4,1,NA\n0,2,b\n");
  const auto fitted = fit("y ~ x", Family::gaussian, data);
  const StoredDraws draws = draws_of({{"(Intercept)", {1, 0.5}}, {"x", {0.3, 0.1}}, {"sigma", {2, 0.1}}});
  const auto check = predictive_check(
      fitted, data, draws, {.statistics = {"mean", "sd", "min", "max", "zeros"}, .group = "g", .seed = 5});
  ASSERT_TRUE(check);
  EXPECT_EQ(check->rows, 5U);  // the row without a response is not there
  EXPECT_EQ(check->replicates, 300U);
  EXPECT_FALSE(check->whole);
  ASSERT_EQ(check->parts.size(), 3U);
  EXPECT_EQ(check->parts[1].level, "a");
  EXPECT_EQ(check->parts[2].rows, 2U);
  EXPECT_THAT(check->notes.back(), HasSubstr("1 of 5 rows have no g"));
  const auto& all = check->parts[0].statistics;
  EXPECT_DOUBLE_EQ(all[0].observed, 6.75 / 5);
  EXPECT_NEAR(all[1].observed, std::sqrt((1.5 * 1.5 + 2.25 * 2.25 + 1 + 16 - 6.75 * 6.75 / 5) / 4), 1e-12);
  EXPECT_EQ(all[2].observed, -1);
  EXPECT_EQ(all[3].observed, 4);
  EXPECT_EQ(all[4].observed, 0.2);

  std::vector<std::vector<double>> rows;
  const Predictions predictions(fitted, data, draws,
                                {.what = PredictionOptions::What::predictive, .seed = 5, .response = true});
  predictions.each_block(
      [&](std::size_t, std::span<const PredictedRow> block, std::span<const double> values) {
        for (std::size_t i = 0; i < block.size(); ++i)
          rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i * 300),
                            values.begin() + static_cast<std::ptrdiff_t>(i * 300 + 300));
        return true;
      });
  for (const std::size_t s : {0UL, 151UL, 299UL}) {
    double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
    for (const auto& row : rows) {
      sum += row[s], squares += row[s] * row[s];
      least = std::min(least, row[s]), most = std::max(most, row[s]);
    }
    EXPECT_NEAR(all[0].replicated[s], sum / 5, 1e-9);
    EXPECT_NEAR(all[1].replicated[s], std::sqrt((squares - sum * sum / 5) / 4), 1e-9);
    EXPECT_EQ(all[2].replicated[s], least);
    EXPECT_EQ(all[3].replicated[s], most);
    EXPECT_NEAR(check->parts[1].statistics[0].replicated[s], (rows[0][s] + rows[2][s]) / 2, 1e-9);  // level a
    EXPECT_EQ(check->replicated[s][4], rows[4][s]);
  }
  EXPECT_THAT(check->y, ElementsAre(1.5, 2.25, -1, 4, 0));
  EXPECT_THAT(check->part, ElementsAre(1, 2, 1, 0, 2));
}

// With the parameters that the data were made from nothing is out of the way; the same check sees a standard
// deviation that is too small. The bounds are far beyond what 400 rows do by chance (5 standard errors of the
// sd are 18%).
TEST_F(CheckData, TellsARightModelFromAWrongOne) {
  const Table data = read(made_up());
  const auto fitted = fit("y ~ x", Family::gaussian, data);
  const auto sd_p = [&](double sigma) {
    const auto check = predictive_check(
        fitted, data, draws_of({{"(Intercept)", {1, 0.15}}, {"x", {2, 0.25}}, {"sigma", {sigma, 0.1}}}));
    EXPECT_EQ(names_of(check->parts[0]), (std::vector<std::string>{"mean", "sd", "min", "max"}));
    return check->parts[0].statistics[1].p();
  };
  EXPECT_GT(sd_p(3), 0.005);
  EXPECT_LT(sd_p(3), 0.995);
  EXPECT_EQ(sd_p(2), 0);
  EXPECT_EQ(sd_p(4.5), 1);
}

TEST_F(CheckData, CountsHaveTheirShareOfZeros) {
  const Table data = read(made_up());
  const auto fitted = fit("count ~ x", Family::poisson, data);
  const auto check =
      predictive_check(fitted, data, draws_of({{"(Intercept)", {std::log(2), 0.03}}, {"x", {0, 0.05}}}));
  EXPECT_TRUE(check->whole);
  EXPECT_EQ(names_of(check->parts[0]), (std::vector<std::string>{"mean", "sd", "min", "max", "zeros"}));
  const CheckedStatistic& zeros = check->parts[0].statistics[4];
  double mean = 0;
  for (const double share : zeros.replicated) mean += share / 300;
  EXPECT_NEAR(mean, std::exp(-2), 0.01);
  EXPECT_GT(zeros.p(), 0.001);
  EXPECT_LT(zeros.p(), 0.999);
  // A response of 0 and 1 has its mean, which says everything.
  const auto yes = fit("(count > 1) ~ x", Family::bernoulli, data);
  const auto of_yes = predictive_check(yes, data, draws_of({{"(Intercept)", {0.4, 0.1}}, {"x", {0, 0.1}}}));
  EXPECT_THAT(names_of(of_yes->parts[0]), ElementsAre("mean"));
}

TEST_F(CheckData, ClassesHaveShares) {
  const Table data = read(made_up());
  const auto fitted = fit("g ~ x", Family::categorical, data);
  std::map<std::string, std::pair<double, double>> parameters;
  for (int k = 1; k <= 4; ++k) {
    parameters["(Intercept)." + std::to_string(k)] = {k == 4 ? std::log(3) : 0, 0};
    parameters["x." + std::to_string(k)] = {0, 0};
  }
  const auto check = predictive_check(fitted, data, draws_of(parameters));
  EXPECT_THAT(names_of(check->parts[0]), ElementsAre("share of a", "share of b", "share of c", "share of d"));
  const auto& last = check->parts[0].statistics[3];
  EXPECT_EQ(last.observed, 0.25);
  double mean = 0;
  for (const double share : last.replicated) mean += share / 300;
  EXPECT_NEAR(mean, 0.5, 0.01);  // 4.9 standard errors of 120,000 draws are 0.007
  EXPECT_EQ(last.p(), 1);
  EXPECT_EQ(check->y[150], 1);
  EXPECT_THAT(
      error_of([&] {
        static_cast<void>(predictive_check(fitted, data, draws_of(parameters), {.statistics = {"sd"}}));
      }),
      HasSubstr("`statistic` is of numbers, and g has classes"));
}

TEST_F(CheckData, IsTheSameForAnyNumberOfThreads) {
  const Table data = read(made_up());
  const auto fitted = fit("y ~ x", Family::gaussian, data);
  const StoredDraws draws = draws_of({{"(Intercept)", {1, 0.15}}, {"x", {2, 0.25}}, {"sigma", {3, 0.1}}});
  const auto replicated = [&](std::uint64_t seed, std::size_t threads) {
    return predictive_check(fitted, data, draws, {.replicates = 20, .seed = seed, .threads = threads})
        ->parts[0]
        .statistics[1]
        .replicated;
  };
  EXPECT_EQ(replicated(1, 1), replicated(1, 3));
  EXPECT_NE(replicated(1, 1), replicated(2, 1));
  EXPECT_EQ(replicated(1, 1).size(), 20U);
}

TEST_F(CheckData, FactorsKeepTheOrderOfTheFit) {
  const Table data = read(made_up());
  FittedRegression fitted = fit("y ~ g", Family::gaussian, data);
  fitted.state = make_frame(formula::Formula("y ~ g"), data, {.levels = {{"g", {"c", "d", "a", "b"}}}}).state;
  const auto check = predictive_check(
      fitted, data,
      draws_of({{"(Intercept)", {1, 0}}, {"gd", {0, 0}}, {"ga", {0, 0}}, {"gb", {0, 0}}, {"sigma", {3, 0}}}),
      {.group = "g"});
  EXPECT_EQ(check->parts[1].level, "c");
  EXPECT_EQ(check->parts[4].level, "b");
  EXPECT_EQ(check->part[0], 3U);  // the first rows are of level a
}

TEST_F(CheckData, SaysWhatIsWrong) {
  const Table data = read(made_up());
  const auto fitted = fit("y ~ x", Family::gaussian, data);
  const StoredDraws draws = draws_of({{"(Intercept)", {1, 0}}, {"x", {2, 0}}, {"sigma", {3, 0}}});
  const auto error = [&](const CheckOptions& options) {
    return error_of([&] { static_cast<void>(predictive_check(fitted, data, draws, options)); });
  };
  EXPECT_THAT(error({.statistics = {"maen"}}),
              HasSubstr("`statistic` maen is not known. Did you mean mean?"));
  EXPECT_THAT(error({.group = "h"}), HasSubstr("h"));
  EXPECT_THAT(error({.replicates = 0}), HasSubstr("`replicates` is 0"));
  std::string text = "y,x\n";
  for (int i = 0; i < 2500; ++i) text += std::to_string(i % 7) + "," + std::to_string(i) + "\n";
  const Table many = read(text);
  EXPECT_THAT(error_of([&] {
                static_cast<void>(
                    predictive_check(fit("y ~ x", Family::gaussian, many), many, draws, {.group = "x"}));
              }),
              HasSubstr("x has more than 2000 values"));
}

}  // namespace
}  // namespace onward::testing
