#pragma once
// Targets, settings and checks that the tests of runs share.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/run/run.hpp"

namespace onward {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Correlated, not normal, cheap.
struct Bent {
  template <class T>
  T operator()(std::span<const T> t) const {
    T sum = t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i) {
      const T d = t[i] - 0.3 * t[i - 1] * t[i - 1];
      sum += d * d;
    }
    return -0.5 * sum;
  }
};

struct StandardNormal {
  template <class T>
  T operator()(std::span<const T> t) const {
    T sum = t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i) sum += t[i] * t[i];
    return -0.5 * sum;
  }
};

/// A standard normal in one dimension with jets and gradients, to be spoiled.
struct PlainNormal {
  static std::size_t dimension() { return 1; }
  static Jet jet(VectorView theta, VectorView v, Order order) {
    const double x = theta[0];
    if (order == Order::value) return {-0.5 * x * x, 0, 0};
    return {-0.5 * x * x, -x * v[0], order == Order::curvature ? -v[0] * v[0] : 0};
  }
  static double gradient(VectorView theta, std::span<double> out) {
    out[0] = -theta[0];
    return -0.5 * theta[0] * theta[0];
  }
};

inline RunSettings quick(std::string sampler = "pc-line-fmala") {
  RunSettings s;
  s.sampler = std::move(sampler);
  s.seed = 7;
  s.warmup = 200;
  s.draws = 50;
  s.thin = 1;
  return s;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

inline bool same_draws(const Run& a, const Run& b) {
  bool same = a.chains.size() == b.chains.size();
  for (std::size_t c = 0; same && c < a.chains.size(); ++c)
    same = same_bits(a.chains[c].values, b.chains[c].values) &&
           same_bits(a.chains[c].log_density, b.chains[c].log_density);
  return same;
}

/// Mean of f over all draws of a parameter within 5 Monte Carlo standard errors: a false alarm once in 2
/// million.
template <class F>
void expect_mean(const Run& run, std::size_t parameter, F f, double expected, const std::string& what) {
  Chains chains = run.parameter(parameter);
  for (auto& chain : chains)
    for (double& x : chain) x = f(x);
  const ParameterSummary s = summarise("f", chains);
  ASSERT_GT(s.ess_bulk, 400) << what;
  EXPECT_NEAR(s.mean, expected, 5 * s.mcse_mean) << what;
}

inline const auto itself = [](double x) { return x; };
inline const auto squared = [](double x) { return x * x; };

}  // namespace onward
