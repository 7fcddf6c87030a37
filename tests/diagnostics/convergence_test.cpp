#include "onward/diagnostics/convergence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <random>
#include <sstream>

#include "onward/error.hpp"

namespace onward {
namespace {

// ArviZ's algorithm once more, written plainly and independently of the library: ranks by counting, lags by
// direct sums, long double throughout. Slow, and meant to be.
namespace reference {

using Real = long double;
using Matrix = std::vector<std::vector<Real>>;

Matrix halves(const Matrix& x) {
  Matrix out;
  for (const auto& chain : x) {
    const auto half = static_cast<std::ptrdiff_t>(chain.size() / 2);
    out.emplace_back(chain.begin(), chain.begin() + half);
    out.emplace_back(chain.end() - half, chain.end());
  }
  return out;
}

std::vector<Real> flat(const Matrix& x) {
  std::vector<Real> all;
  for (const auto& chain : x) all.insert(all.end(), chain.begin(), chain.end());
  return all;
}

Matrix z_scale(Matrix x) {
  const auto all = flat(x);
  const auto n = static_cast<Real>(all.size());
  for (auto& chain : x)
    for (Real& value : chain) {
      Real below = 0, equal = 0;
      for (Real other : all) {
        below += other < value;
        equal += other == value;
      }
      const Real rank = below + (equal + 1) / 2;
      const Real p = (rank - 0.375L) / (n + 0.25L);
      value = -std::numbers::sqrt2_v<Real> * boost::math::erfc_inv(2 * p);
    }
  return x;
}

Real mean(const std::vector<Real>& x) {
  return std::accumulate(x.begin(), x.end(), Real(0)) / static_cast<Real>(x.size());
}

Real variance(const std::vector<Real>& x) {
  const Real m = mean(x);
  Real sum = 0;
  for (Real value : x) sum += (value - m) * (value - m);
  return sum / static_cast<Real>(x.size() - 1);
}

Real ess(const Matrix& x) {
  const auto all = flat(x);
  const auto total = static_cast<Real>(all.size());
  if (std::ranges::max(all) - std::ranges::min(all) < 1e-15L) return total;
  const int n = static_cast<int>(x[0].size());
  const auto acov = [&](int lag) {
    Real sum = 0;
    for (const auto& chain : x) {
      const Real m = mean(chain);
      for (int i = 0; i + lag < n; ++i)
        sum += (chain[static_cast<std::size_t>(i)] - m) * (chain[static_cast<std::size_t>(i + lag)] - m);
    }
    return sum / static_cast<Real>(n) / static_cast<Real>(x.size());
  };
  std::vector<Real> chain_means;
  for (const auto& chain : x) chain_means.push_back(mean(chain));
  const Real mean_var = acov(0) * n / (n - 1);
  Real var_plus = mean_var * (n - 1) / n;
  if (x.size() > 1) var_plus += variance(chain_means);
  std::map<int, Real> rho;  // what was never set is 0
  Real even = 1, odd = 1 - (mean_var - acov(1)) / var_plus;
  rho[0] = even;
  rho[1] = odd;
  int t = 1;
  while (t < n - 3 && even + odd > 0) {
    even = 1 - (mean_var - acov(t + 1)) / var_plus;
    odd = 1 - (mean_var - acov(t + 2)) / var_plus;
    if (even + odd >= 0) {
      rho[t + 1] = even;
      rho[t + 2] = odd;
    }
    t += 2;
  }
  const int max_t = t - 2;
  if (even > 0) rho[max_t + 1] = even;
  for (t = 1; t <= max_t - 2; t += 2)
    if (rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]) {
      rho[t + 1] = (rho[t - 1] + rho[t]) / 2;
      rho[t + 2] = rho[t + 1];
    }
  Real sum = 0;
  for (t = 0; t <= max_t; ++t) sum += rho[t];
  const Real tau = std::max(-1 + 2 * sum + rho[max_t + 1], 1 / std::log10(total));
  return total / tau;
}

Real quantile(std::vector<Real> x, Real p) {
  std::ranges::sort(x);
  const Real place = static_cast<Real>(x.size() - 1) * p;
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, x.size() - 1);
  return std::lerp(x[below], x[above], place - static_cast<Real>(below));
}

Matrix at_most(Matrix x, Real limit) {
  for (auto& chain : x)
    for (Real& value : chain) value = value <= limit ? 1 : 0;
  return x;
}

Real tail(const Matrix& x) {
  return std::min(ess(halves(at_most(x, quantile(flat(x), 0.05L)))),
                  ess(halves(at_most(x, quantile(flat(x), 0.95L)))));
}

Real plain_rhat(const Matrix& x) {
  const auto n = static_cast<Real>(x[0].size());
  std::vector<Real> means, variances;
  for (const auto& chain : x) {
    means.push_back(mean(chain));
    variances.push_back(variance(chain));
  }
  return std::sqrt((n * variance(means) / mean(variances) + n - 1) / n);
}

Real rhat(const Matrix& x) {
  const Matrix split = halves(x);
  // In double, as ArviZ does: whether two distances from the median are a tie is decided by its rounding.
  auto all = flat(split);
  std::ranges::sort(all);
  const double median =
      (static_cast<double>(all[all.size() / 2 - 1]) + static_cast<double>(all[all.size() / 2])) / 2;
  Matrix fold = split;
  for (auto& chain : fold)
    for (Real& value : chain) value = std::abs(static_cast<double>(value) - median);
  return std::max(plain_rhat(z_scale(split)), plain_rhat(z_scale(fold)));
}

}  // namespace reference

reference::Matrix widened(const Chains& chains) {
  reference::Matrix out;
  for (const auto& chain : chains) out.emplace_back(chain.begin(), chain.end());
  return out;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

std::ifstream data(const std::string& name) {
  std::ifstream in(std::string(ONWARD_TEST_DATA) + "/diagnostics/data/" + name);
  EXPECT_TRUE(in) << name;
  return in;
}

/// The chains of data/chains.csv by case.
const std::map<std::string, Chains>& stored() {
  static const std::map<std::string, Chains> cases = [] {
    std::map<std::string, Chains> read;
    auto in = data("chains.csv");
    for (std::string line; std::getline(in, line);) {
      const auto fields = fields_of(line);
      auto& chain = read[fields[0]].emplace_back();
      for (std::size_t i = 1; i < fields.size(); ++i) chain.push_back(std::stod(fields[i]));
    }
    return read;
  }();
  return cases;
}

Chains ar1(std::size_t chains, std::size_t draws, double rho, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Chains out(chains, std::vector<double>(draws));
  for (auto& chain : out) {
    double x = normal(generator);
    for (double& value : chain) value = x = rho * x + std::sqrt(1 - rho * rho) * normal(generator);
  }
  return out;
}

void expect_relative(double value, long double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(value, static_cast<double>(expected), tolerance * std::abs(static_cast<double>(expected)))
      << what;
}

TEST(Convergence, EqualsArvizAlgorithmOnStoredChains) {
  ASSERT_EQ(stored().size(), 11u);
  for (const auto& [name, chains] : stored()) {
    const auto x = widened(chains);
    expect_relative(ess_bulk(chains), reference::ess(reference::z_scale(reference::halves(x))), 1e-8,
                    name + " bulk");
    expect_relative(ess_mean(chains), reference::ess(reference::halves(x)), 1e-8, name + " mean");
    expect_relative(ess_tail(chains), reference::tail(x), 1e-8, name + " tail");
    const auto all = reference::flat(x);
    expect_relative(mcse_mean(chains),
                    std::sqrt(reference::variance(all) / reference::ess(reference::halves(x))), 1e-8,
                    name + " mcse");
    if (chains.size() > 1) expect_relative(rhat(chains), reference::rhat(x), 1e-8, name + " rhat");
  }
}

TEST(Convergence, EqualsArvizAlgorithmForEveryShortLength) {
  for (std::size_t draws = 4; draws <= 24; ++draws)
    for (double rho : {-0.7, 0.0, 0.8}) {
      const Chains chains = ar1(1 + draws % 4, draws, rho, static_cast<unsigned>(draws));
      const auto x = widened(chains);
      const std::string what = std::to_string(draws) + " draws, rho " + std::to_string(rho);
      expect_relative(ess_bulk(chains), reference::ess(reference::z_scale(reference::halves(x))), 1e-8, what);
      expect_relative(ess_mean(chains), reference::ess(reference::halves(x)), 1e-8, what);
      expect_relative(ess_tail(chains), reference::tail(x), 1e-8, what);
    }
}

TEST(Convergence, AgreesWithPosteriorPackage) {
  auto in = data("posterior.csv");
  std::string line;
  std::getline(in, line);
  const auto names = fields_of(line);
  std::size_t checked = 0;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    ASSERT_EQ(fields.size(), names.size());
    const Chains& chains = stored().at(fields[0]);
    const ParameterSummary s = summarise(fields[0], chains);
    const std::map<std::string, double> ours{{"mean", s.mean},
                                             {"sd", s.sd},
                                             {"q5", s.q5},
                                             {"q50", s.q50},
                                             {"q95", s.q95},
                                             {"mcse_mean", s.mcse_mean},
                                             {"ess_bulk", s.ess_bulk},
                                             {"ess_tail", s.ess_tail},
                                             {"rhat", s.rhat},
                                             {"ess_mean", ess_mean(chains)}};
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const std::string& column = names[i];
      if (column == "rhat" && chains.size() == 1) continue;  // posterior splits one chain and calls it two
      const bool exact = column == "mean" || column == "sd" || column.starts_with('q') || column == "rhat";
      expect_relative(ours.at(column), std::stold(fields[i]), exact ? 1e-9 : 0.02, fields[0] + " " + column);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 11u * 10u - 1u);
}

TEST(Convergence, SummaryEqualsItsParts) {
  for (const auto& [name, chains] : stored()) {
    const ParameterSummary s = summarise(name, chains);
    EXPECT_EQ(s.name, name);
    EXPECT_EQ(s.ess_bulk, ess_bulk(chains));
    EXPECT_EQ(s.ess_tail, ess_tail(chains));
    EXPECT_DOUBLE_EQ(s.mcse_mean, mcse_mean(chains));
    EXPECT_EQ(std::isnan(s.rhat), chains.size() == 1);
    if (chains.size() > 1) {
      EXPECT_EQ(s.rhat, rhat(chains));
    }
    std::vector<double> all;
    for (const auto& chain : chains) all.insert(all.end(), chain.begin(), chain.end());
    EXPECT_EQ(s.q5, quantile(all, 0.05));
    EXPECT_EQ(s.q50, quantile(all, 0.5));
    EXPECT_EQ(s.q95, quantile(all, 0.95));
  }
}

TEST(Convergence, AutoregressionHasItsKnownEss) {
  // The estimate's own error is a few percent at these lengths; 15% is far outside it.
  for (double rho : {0.0, 0.5, 0.9, 0.95}) {
    const std::size_t draws = 100'000;
    const Chains chains = ar1(4, draws, rho, 5);
    const double exact = 4.0 * static_cast<double>(draws) * (1 - rho) / (1 + rho);
    EXPECT_NEAR(ess_mean(chains), exact, 0.15 * exact) << rho;
    EXPECT_NEAR(ess_bulk(chains), exact, 0.15 * exact) << rho;
    EXPECT_NEAR(rhat(chains), 1.0, 0.003);
  }
  // Antithetic draws are worth more than independent ones.
  const Chains antithetic = ar1(4, 100'000, -0.5, 6);
  EXPECT_NEAR(ess_mean(antithetic), 3 * 400'000.0, 0.15 * 3 * 400'000.0);
}

TEST(Convergence, AMillionDrawsInOneChain) {
  const Chains chains = ar1(1, 1'000'003, 0.9, 7);  // also: a length that is not kind to transforms
  const double exact = 1'000'003.0 * 0.1 / 1.9;
  EXPECT_NEAR(ess_mean(chains), exact, 0.15 * exact);
}

TEST(Convergence, RhatSeesDifferentScales) {
  EXPECT_GT(rhat(stored().at("scaled")), 1.05);
  EXPECT_GT(rhat(stored().at("shifted")), 1.05);
  EXPECT_LT(rhat(stored().at("iid")), 1.01);
}

TEST(Convergence, ConstantDraws) {
  const Chains constant(4, std::vector<double>(100, 0.1));
  EXPECT_EQ(ess_bulk(constant), 400);
  EXPECT_EQ(ess_tail(constant), 400);
  EXPECT_EQ(ess_mean(constant), 400);
  EXPECT_TRUE(std::isnan(rhat(constant)));
  EXPECT_EQ(mcse_mean(constant), 0);
  const auto s = summarise("c", constant);
  EXPECT_EQ(s.mean, 0.1);
  EXPECT_EQ(s.sd, 0);
  EXPECT_EQ(s.q5, 0.1);
}

TEST(Convergence, ChainsStuckApartNeverMix) {
  Chains chains(2, std::vector<double>(100, 0.0));
  chains[1].assign(100, 1.0);
  EXPECT_EQ(rhat(chains), std::numeric_limits<double>::infinity());
  EXPECT_LT(ess_bulk(chains), 5);
}

TEST(Convergence, TooFewDrawsOrChainsOrNan) {
  for (const Chains& chains : {Chains{}, Chains{{}}, Chains{{1}}, Chains{{1, 2, 3}, {2, 3, 1}}}) {
    EXPECT_TRUE(std::isnan(ess_bulk(chains)));
    EXPECT_TRUE(std::isnan(ess_tail(chains)));
    EXPECT_TRUE(std::isnan(ess_mean(chains)));
    EXPECT_TRUE(std::isnan(rhat(chains)));
    EXPECT_TRUE(std::isnan(mcse_mean(chains)));
  }
  const auto three = summarise("x", {{1, 2, 3}});
  EXPECT_EQ(three.mean, 2);
  EXPECT_EQ(three.sd, 1);
  EXPECT_EQ(three.q50, 2);
  EXPECT_TRUE(std::isnan(three.ess_bulk));
  EXPECT_TRUE(std::isnan(summarise("x", {}).mean));

  Chains chains = ar1(4, 50, 0.5, 8);
  EXPECT_FALSE(std::isnan(ess_bulk(chains)));
  chains[2][7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(ess_bulk(chains)));
  EXPECT_TRUE(std::isnan(ess_tail(chains)));
  EXPECT_TRUE(std::isnan(rhat(chains)));
  const auto s = summarise("x", chains);
  EXPECT_TRUE(std::isnan(s.mean));
  EXPECT_TRUE(std::isnan(s.q50));
}

TEST(Convergence, UnequalChainsAreCutToTheShortest) {
  Chains chains = ar1(3, 60, 0.3, 9);
  const double whole = ess_bulk(chains);
  Chains ragged = chains;
  ragged[0].push_back(1e9);
  ragged[2].insert(ragged[2].end(), 5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ess_bulk(ragged), whole);
  EXPECT_EQ(summarise("x", ragged).mean, summarise("x", chains).mean);
  EXPECT_EQ(rhat(ragged), rhat(chains));
}

TEST(Quantile, IsTypeSeven) {
  const std::vector<double> x{4, 1, 3, 2};
  EXPECT_EQ(quantile(x, 0), 1);
  EXPECT_EQ(quantile(x, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(x, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.05), 1.15);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.3), 7);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
  EXPECT_THROW(quantile(x, 1.5), UsageError);
  EXPECT_THROW(quantile(x, std::nan("")), UsageError);
  // Interpolating between equal values must not leave them, or tail ESS would count none of them.
  for (std::size_t n = 2; n < 300; ++n) {
    const std::vector<double> same(n, 0.1);
    EXPECT_EQ(quantile(same, 0.05), 0.1);
    EXPECT_EQ(quantile(same, 0.95), 0.1);
  }
}

TEST(SummariseAll, IsTheSameForAnyNumberOfThreadsAndTellsHowFarItIs) {
  std::vector<std::string> names;
  for (int i = 0; i < 23; ++i) names.push_back("x." + std::to_string(i));
  const auto chains_of = [](std::size_t i) {
    Chains chains(2, std::vector<double>(3000));
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t d = 0; d < 3000; ++d)
        chains[c][d] = std::sin(static_cast<double>((i + 1) * (7 * d + c + 1)));
    return chains;
  };
  std::vector<std::size_t> heard;
  const auto many = summarise_all(names, chains_of, 4, [&](std::size_t done) { heard.push_back(done); });
  ASSERT_EQ(many.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ParameterSummary one = summarise(names[i], chains_of(i));
    EXPECT_EQ(many[i].name, names[i]);
    EXPECT_EQ(many[i].mean, one.mean);
    EXPECT_EQ(many[i].ess_tail, one.ess_tail);
    EXPECT_EQ(many[i].rhat, one.rhat);
  }
  EXPECT_TRUE(std::ranges::is_sorted(heard));
  for (const std::size_t done : heard) EXPECT_LE(done, names.size());
  EXPECT_TRUE(summarise_all({}, chains_of).empty());
  EXPECT_THROW(summarise_all(names, [](std::size_t) -> Chains { throw Error("gone"); }), Error);
}

}  // namespace
}  // namespace onward
