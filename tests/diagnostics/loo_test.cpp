// PSIS-LOO, WAIC and comparisons are those of R's loo, on log likelihoods that are stored with its figures
// (make_loo_reference.R). A wrong variant of each step is caught by the same comparison.

#include "onward/diagnostics/loo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "onward/diagnostics/psis.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

constexpr std::size_t chains = 4, draws = 250;

std::vector<std::vector<std::string>> table(const std::string& name) {
  std::ifstream in(std::string(ONWARD_TEST_DATA) + "/diagnostics/data/" + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

/// For each observation its log likelihoods, chain after chain.
const std::vector<std::vector<double>>& stored() {
  static const auto columns = [] {
    std::vector<std::vector<double>> all;
    for (const auto& row : table("loo_log_likelihood.csv")) {
      all.emplace_back();
      for (const auto& field : row) all.back().push_back(std::stod(field));
    }
    return all;
  }();
  return columns;
}

/// Figures by name, one of each observation.
std::map<std::string, std::vector<double>> reference_points() {
  const auto rows = table("loo_points.csv");
  std::map<std::string, std::vector<double>> figures;
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[0].size(); ++j)
      figures[rows[0][j]].push_back(rows[i][j] == "Inf" ? std::numeric_limits<double>::infinity()
                                                        : std::stod(rows[i][j]));
  return figures;
}

struct Total {
  double value, se;
};
std::map<std::string, Total> reference_totals() {
  std::map<std::string, Total> totals;
  for (const auto& row : table("loo_totals.csv"))
    if (row[0] != "what") totals[row[0]] = {std::stod(row[1]), std::stod(row[2])};
  return totals;
}

PointwiseLogLikelihood source(const std::vector<std::vector<double>>& columns) {
  return {columns.size(), chains, draws,
          [&columns](std::size_t draw, std::size_t first, std::span<double> out) {
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = columns[first + i][draw];
          }};
}

bool near(double ours, double theirs) {
  return ours == theirs || std::abs(ours - theirs) <= 1e-6 * std::min(1.0, std::abs(theirs)) + 1e-12;
}

/// Observations for which a figure is not loo's.
std::size_t wrong(const std::string& figure, const std::function<double(std::span<const double>)>& ours) {
  const auto theirs = reference_points().at(figure);
  EXPECT_EQ(theirs.size(), stored().size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) count += near(ours(stored()[i]), theirs[i]) ? 0 : 1;
  return count;
}

TEST(Loo, EveryPointIsThatOfR) {
  const auto theirs = reference_points();
  ASSERT_EQ(stored().size(), 24u);
  for (std::size_t i = 0; i < stored().size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(stored()[i].size(), chains * draws);
    const LooPoint ours = loo_point(stored()[i], chains);
    const auto expect = [&](const std::string& figure, double value) {
      EXPECT_TRUE(near(value, theirs.at(figure)[i]))
          << figure << ": " << value << ", R: " << theirs.at(figure)[i];
    };
    expect("r_eff", relative_efficiency(stored()[i], chains));
    expect("elpd", ours.elpd);
    expect("mcse", ours.mcse);
    expect("p", ours.p);
    expect("k", ours.k);
    expect("n_eff", ours.n_eff);
    expect("waic_elpd", waic_point(stored()[i]).elpd);
    expect("waic_p", waic_point(stored()[i]).p);
  }
}

TEST(Loo, WrongVariantsAreCaught) {
  const auto elpd_by = [](const SmoothedWeights& weights, std::span<const double> values) {
    std::vector<double> weighted(values.begin(), values.end());
    for (std::size_t i = 0; i < weighted.size(); ++i) weighted[i] += weights.log_weights[i];
    return log_sum_exp(weighted) - log_sum_exp(weights.log_weights);
  };
  const auto ratios = [](std::span<const double> values) {
    std::vector<double> negative(values.begin(), values.end());
    for (double& x : negative) x = -x;
    return negative;
  };
  // The right way finds nothing wrong.
  EXPECT_EQ(wrong("elpd",
                  [&](auto values) {
                    return elpd_by(psis(ratios(values), relative_efficiency(values, chains)), values);
                  }),
            0u);
  // Weights as they are, without smoothing.
  EXPECT_GE(wrong("elpd", [&](auto values) { return elpd_by({ratios(values), 0}, values); }), 20u);
  // A tail whose length does not know of the chains' efficiency.
  EXPECT_GE(wrong("elpd", [&](auto values) { return elpd_by(psis(ratios(values)), values); }), 10u);
  // Efficiency as if the draws were one chain.
  EXPECT_GE(wrong("r_eff", [](auto values) { return relative_efficiency(values, 1); }), 15u);
  // The shape without its prior: k n / (n + 10) + 5 / (n + 10) is taken back.
  EXPECT_GE(wrong("k",
                  [&](auto values) {
                    const double efficiency = relative_efficiency(values, chains);
                    const double n = std::ceil(std::min(200.0, 3 * std::sqrt(1000 / efficiency)));
                    return (psis(ratios(values), efficiency).k * (n + 10) - 5) / n;
                  }),
            20u);
}

TEST(Loo, NoWeightIsAboveTheLargestRawOne) {
  for (const auto& column : stored()) {
    std::vector<double> ratios(column);
    for (double& x : ratios) x = -x;
    EXPECT_LE(std::ranges::max(psis(ratios).log_weights), std::ranges::max(ratios));
  }
}

TEST(Loo, TotalsAreThoseOfR) {
  auto theirs = reference_totals();
  const auto expect = [&](const std::string& what, const Estimate& ours) {
    EXPECT_TRUE(near(ours.value, theirs.at(what).value)) << what << ": " << ours.value;
    EXPECT_TRUE(near(ours.se, theirs.at(what).se)) << what << ": " << ours.se;
  };
  const Loo ours = loo(source(stored())).value();
  expect("elpd_loo", ours.elpd);
  expect("p_loo", ours.p);
  expect("looic", ours.looic);
  for (std::size_t c = 0; c < 4; ++c) {
    const std::string name = "k_class_" + std::to_string(c + 1);
    expect(name, {static_cast<double>(ours.k_counts[c]), ours.least_n_eff[c]});
  }
  EXPECT_TRUE(std::isnan(ours.mcse()));
  const Waic criterion = waic(source(stored())).value();
  expect("elpd_waic", criterion.elpd);
  expect("p_waic", criterion.p);
  expect("waic", criterion.waic);
  const auto p = reference_points().at("waic_p");
  EXPECT_EQ(criterion.p_above_limit, std::ranges::count_if(p, [](double x) { return x > 0.4; }));
}

TEST(Loo, ComparisonIsThatOfR) {
  const auto theirs = reference_totals();
  const auto elpd = reference_points().at("elpd");
  std::vector<std::vector<double>> models(3);
  models[0].assign(elpd.begin(), elpd.begin() + 8);
  models[1].assign(elpd.begin() + 8, elpd.begin() + 16);
  models[2].assign(elpd.begin(), elpd.begin() + 4);
  models[2].insert(models[2].end(), elpd.begin() + 19, elpd.begin() + 23);
  const auto rows = compare_models(models);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].elpd_diff, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& expected = theirs.at("model_" + std::to_string(rows[i].model));
    EXPECT_TRUE(near(rows[i].elpd_diff, expected.value)) << rows[i].elpd_diff;
    EXPECT_TRUE(near(rows[i].se_diff, expected.se)) << rows[i].se_diff;
    if (i > 0) {
      EXPECT_LE(rows[i].elpd_diff, rows[i - 1].elpd_diff);
    }
  }
  models[1].pop_back();
  EXPECT_THROW(compare_models(models), UsageError);
}

TEST(Loo, BitsDependOnNeitherThreadsNorBlocks) {
  const Loo whole = loo(source(stored()), {.threads = 1}).value();
  for (const std::size_t threads : {1U, 2U, 3U})
    for (const std::size_t observations : {1U, 5U, 24U}) {
      const std::size_t bytes = observations * chains * draws * sizeof(double);
      const Loo other = loo(source(stored()), {.threads = threads, .block_bytes = bytes}).value();
      for (std::size_t i = 0; i < stored().size(); ++i) {
        EXPECT_EQ(other.points[i].elpd, whole.points[i].elpd);
        EXPECT_EQ(other.points[i].k, whole.points[i].k);
        EXPECT_EQ(other.points[i].mcse, whole.points[i].mcse);
      }
      EXPECT_EQ(other.elpd.se, whole.elpd.se);
    }
}

TEST(Loo, OneChainAndFewDraws) {
  const auto& column = stored()[2];
  const std::span first(column.data(), draws);
  EXPECT_TRUE(std::isfinite(loo_point(first, 1).elpd));
  // Too few draws for a tail: plain weights, and k says that nothing is known.
  const LooPoint few = loo_point(first.first(10), 1);
  EXPECT_TRUE(std::isfinite(few.elpd));
  EXPECT_EQ(few.k, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(few.same);
  EXPECT_TRUE(loo_point(stored()[15], chains).same);
  EXPECT_TRUE(std::isfinite(loo_point(first.first(2), 1).elpd));
}

TEST(Loo, RefusesWhatIsNotFinite) {
  auto columns = stored();
  columns[20][999] = std::numeric_limits<double>::quiet_NaN();
  columns[7][251] = -std::numeric_limits<double>::infinity();
  for (const std::size_t threads : {1U, 3U}) {
    try {
      loo(source(columns), {.threads = threads});
      FAIL();
    } catch (const Error& problem) {
      EXPECT_THAT(problem.what(), ::testing::HasSubstr("observation 8 is -inf at draw 2 of chain 2"));
    }
  }
  EXPECT_THROW(loo({.observations = 3, .chains = 0, .draws = 0, .at = {}}), Error);
  EXPECT_THROW(loo({.observations = 0, .chains = 1, .draws = 1, .at = {}}), Error);
}

TEST(Loo, StopsWhenTold) {
  const std::atomic<bool> stop{true};
  EXPECT_FALSE(loo(source(stored()), {.stop = &stop}).has_value());
  EXPECT_FALSE(waic(source(stored()), {.stop = &stop}).has_value());
}

TEST(Loo, ProgressGoesUpToAllObservations) {
  std::vector<double> heard;
  loo(source(stored()),
      {.threads = 1, .block_bytes = 7 * 8000, .progress = [&](double done) { heard.push_back(done); }});
  ASSERT_FALSE(heard.empty());
  EXPECT_TRUE(std::ranges::is_sorted(heard));
  EXPECT_DOUBLE_EQ(heard.back(), 24);
}

}  // namespace
}  // namespace onward
