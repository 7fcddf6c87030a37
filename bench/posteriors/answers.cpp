#include "bench/posteriors/answers.hpp"

#include <cmath>
#include <cstddef>

#include "bench/posteriors/data.hpp"
#include "bench/posteriors/long_runs.hpp"

namespace onward::bench {
namespace {

/// A regression with flat priors on beta and sigma has a closed form: sigma² is inverse gamma, and beta given
/// sigma is normal about the least squares.
std::vector<Answer> flat_line(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(y.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, residuals = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  const double slope = xy / xx, intercept = mean_y - slope * mean_x;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double off = y[i] - intercept - slope * x[i];
    residuals += off * off;
  }
  const double shape = (n - 3) / 2, rate = residuals / 2, variance = rate / (shape - 1);
  const double sigma = std::exp(0.5 * std::log(rate) + std::lgamma(shape - 0.5) - std::lgamma(shape));
  return {{intercept, std::sqrt(variance * (1 / n + mean_x * mean_x / xx))},
          {slope, std::sqrt(variance / xx)},
          {sigma, std::sqrt(variance - sigma * sigma)}};
}

}  // namespace

std::vector<Answer> answers(std::string_view name) {
  if (name == "earnings") {
    const auto data = posteriors::earnings_data();
    return flat_line(data.at("height").get<std::vector<double>>(),
                     data.at("earn").get<std::vector<double>>());
  }
  // Of widths 1 and 0.01, half of the mass each: the variance is (1 + 0.0001) / 2.
  if (name == "mixture-widths") return {{0, std::sqrt(0.50005)}};
  // By sums over grids, which a finer grid and wider bounds change by less than a part in 100,000.
  if (name == "smooth-box") return {{0, 0.5784888}};
  if (name == "negative-binomial") return {{1.252887, 1.483704}, {1.619868, 1.476413}, {0.262850, 0.213699}};
  return long_run(name);
}

}  // namespace onward::bench
