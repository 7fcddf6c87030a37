#include "bench/posteriors/data.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "onward/random/stream.hpp"

namespace onward::posteriors {
namespace {

/// Numbers one after the other, from a stream that a data set has for itself.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : stream_(seed, 0) {}
  double normal() {
    double z[2];
    stream_.normals(count_++, Purpose::noise, z);
    return z[0];
  }
  double uniform() { return stream_.uniform(count_++, Purpose::accept); }
  std::vector<double> normals(std::size_t size) {
    std::vector<double> z(size);
    for (double& x : z) x = normal();
    return z;
  }

 private:
  Stream stream_;
  std::uint64_t count_ = 0;
};

/// As few digits as data have that someone wrote down: the same after a round trip through any file.
double rounded(double x, double digits = 1e4) { return std::round(x * digits) / digits; }

}  // namespace

Data item_response_data() {
  constexpr std::size_t items = 20, people = 100;
  Numbers numbers(301);
  const auto theta = numbers.normals(people), log_a = numbers.normals(items), b = numbers.normals(items);
  std::vector<std::vector<int>> y(people);
  for (std::size_t j = 0; j < people; ++j)
    for (std::size_t i = 0; i < items; ++i) {
      const double eta = std::exp(0.6 * log_a[i]) * (theta[j] - (0.3 + b[i]));
      y[j].push_back(numbers.uniform() < 1 / (1 + std::exp(-eta)) ? 1 : 0);
    }
  return {{"I", items}, {"J", people}, {"y", y}};
}

Data hierarchical_regression_data() {
  constexpr std::size_t groups = 50;
  Numbers numbers(302);
  const auto z = numbers.normals(groups), w = numbers.normals(groups);
  std::vector<double> x, y;
  std::vector<std::size_t> g;
  for (std::size_t k = 0; k < groups; ++k)
    for (std::size_t n = 0; n < 4 + 3 * (k % 5); ++n) {
      g.push_back(k + 1);
      x.push_back(rounded(numbers.normal()));
      y.push_back(rounded(1.3 + 0.6 * z[k] + (-0.7 + 0.3 * w[k]) * x.back() + 0.8 * numbers.normal()));
    }
  return {{"G", groups}, {"N", y.size()}, {"g", g}, {"x", x}, {"y", y}};
}

Data gp_regression_data() {
  Numbers numbers(303);
  std::vector<double> x, y;
  for (int n = 0; n < 40; ++n) {
    x.push_back(rounded(20 * numbers.uniform() - 10));
    y.push_back(
        rounded(2 * std::sin(x.back() / 3) + 0.5 * std::cos(x.back() * 0.9) + 0.7 * numbers.normal()));
  }
  return {{"N", x.size()}, {"x", x}, {"y", y}};
}

Data arma_data() {
  Numbers numbers(304);
  std::vector<double> y;
  double error = numbers.normal(), last = 1;
  for (int t = 0; t < 200; ++t) {
    const double next = 0.5 * numbers.normal();
    last = 0.3 + 0.8 * last + 0.35 * error + next;
    error = next;
    y.push_back(rounded(last));
  }
  return {{"T", y.size()}, {"y", y}};
}

Data earnings_data() {
  Numbers numbers(305);
  std::vector<double> height, earn;
  for (int n = 0; n < 1200; ++n) {
    height.push_back(std::round(66.6 + 3.8 * numbers.normal()));
    const double dollars = std::exp(9.6 + 0.055 * (height.back() - 66.6) + 0.85 * numbers.normal());
    earn.push_back(std::round(dollars / 100) * 100);
  }
  return {{"N", earn.size()}, {"earn", earn}, {"height", height}};
}

Data hmm_drives_data() {
  constexpr double tau = 0.1, rho = 0.1;
  Numbers numbers(306);
  std::vector<double> u, v;
  bool fast = false;
  for (int t = 0; t < 416; ++t) {
    fast = numbers.uniform() < (fast ? 0.8 : 0.1);
    u.push_back(rounded((fast ? 1.6 : 0.7) + tau * numbers.normal()));
    v.push_back(rounded((fast ? 2.8 : 0.9) + rho * numbers.normal()));
  }
  return {{"K", 2}, {"N", u.size()}, {"u", u}, {"v", v}, {"tau", tau}, {"rho", rho}};
}

Data motorcycle_data() {
  // Made by the model itself (motorcycle.cpp): sines on [-0.625, 0.625] with weights that fall off.
  constexpr double half_width = 0.625, length = 0.12, sd = 45, scale_length = 0.3, scale_sd = 1;
  Numbers numbers(307);
  const auto z = numbers.normals(20), w = numbers.normals(20);
  const auto curve = [&](double x, const std::vector<double>& weights, double height, double l) {
    double sum = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double omega = static_cast<double>(j + 1) * std::numbers::pi / (2 * half_width);
      sum += weights[j] * std::sin(omega * (x + half_width)) / std::sqrt(half_width) * height *
             std::sqrt(std::sqrt(2 * std::numbers::pi) * l) * std::exp(-0.25 * omega * omega * l * l);
    }
    return sum;
  };
  std::vector<double> x, y;
  for (int n = 0; n < 133; ++n) {
    x.push_back(rounded(n / 132.0 - 0.5));
    const double log_scale = 2 + curve(x.back(), w, scale_sd, scale_length);
    y.push_back(rounded(-20 + curve(x.back(), z, sd, length) + std::exp(log_scale) * numbers.normal(), 10));
  }
  return {{"N", x.size()}, {"x", x}, {"y", y}};
}

Data negative_binomial_data() { return {{"N", 5}, {"x", {-1, 0, 0.5, 1, 2}}, {"y", {0, 3, 0, 40, 2}}}; }

}  // namespace onward::posteriors
