#include "onward/diagnostics/psis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autocorrelation.hpp"
#include "onward/simd/elementary.hpp"
#include "onward/simd/reduce.hpp"
#include "over_lanes.hpp"

namespace onward {
namespace {

using detail::over_lanes;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t least_tail = 5;  // weights that a fit needs

/// The mean of log(1 - theta x).
double mean_log1p(double theta, std::span<const double> x, std::span<double> scratch) {
  over_lanes(x, scratch, [theta](const auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    return simd::log1p(T(-theta) * value);
  });
  return std::accumulate(scratch.begin(), scratch.end(), 0.0) / static_cast<double>(x.size());
}

std::size_t tail_length(std::size_t draws, double relative_efficiency) {
  const auto n = static_cast<double>(draws);
  return static_cast<std::size_t>(std::ceil(std::min(0.2 * n, 3 * std::sqrt(n / relative_efficiency))));
}

/// Weights with their places, the tail sorted and behind all others.
struct Place {
  double log_weight;
  std::size_t draw;
};

/// Replaces the tail's log weights by logs of the quantiles of the distribution that fits it; gives k.
double smooth_tail(std::span<Place> tail, double cutoff) {
  const double origin = std::exp(cutoff);
  std::vector<double> excess;
  for (const Place& place : tail) excess.push_back(std::exp(place.log_weight) - origin);
  const ParetoFit fit = fit_pareto(excess);
  if (!std::isfinite(fit.k)) return fit.k;
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(tail.size());
    tail[i].log_weight = std::log(fit.sigma * std::expm1(-fit.k * std::log1p(-p)) / fit.k + origin);
  }
  return fit.k;
}

/// Correlations of lags, averaged over chains. The first ones are sums over the draws, since they mostly tell
/// enough; a transform gives the others all at once.
class Correlations {
 public:
  explicit Correlations(const detail::Block& block) : block_(block), means_(detail::chain_means(block)) {
    for (std::size_t c = 0; c < block.chains; ++c)
      for (std::size_t t = 0; t < block.length; ++t) centred_.push_back(block.chain(c)[t] - means_[c]);
    const auto n = static_cast<double>(block.length);
    within_ = covariance(0) * n / (n - 1);
    variance_ = covariance(0);
    if (block.chains > 1) variance_ += detail::moments(means_).variance;
  }

  double operator()(std::size_t lag) const { return 1 - (within_ - covariance(lag)) / variance_; }

 private:
  static constexpr std::size_t summed = 32;  // lags

  double covariance(std::size_t lag) const {
    if (lag >= summed) {
      if (transformed_.empty()) transformed_ = detail::mean_autocovariance(block_, means_);
      return transformed_[lag];
    }
    const std::size_t n = block_.length;
    double sum = 0;
    for (std::size_t c = 0; c < block_.chains; ++c) {
      const auto chain = std::span(centred_).subspan(c * n, n);
      sum += simd::dot(chain.first(n - lag), chain.subspan(lag));
    }
    return sum / static_cast<double>(n * block_.chains);
  }

  const detail::Block& block_;
  std::vector<double> means_, centred_;
  double within_ = 0, variance_ = 0;
  mutable std::vector<double> transformed_;
};

}  // namespace

ParetoFit fit_pareto(std::span<const double> sorted) {
  const auto n = static_cast<double>(sorted.size());
  const double largest = sorted.back();
  const double quartile = sorted[static_cast<std::size_t>(std::floor(n / 4 + 0.5)) - 1];
  constexpr double prior = 3;
  const auto points = 30 + static_cast<std::size_t>(std::sqrt(n));
  std::vector<double> theta, log_likelihood, scratch(sorted.size());
  for (std::size_t j = 0; j < points; ++j) {
    const double spread = 1 - std::sqrt(static_cast<double>(points) / (static_cast<double>(j) + 0.5));
    theta.push_back(1 / largest + spread / prior / quartile);
    const double k = mean_log1p(theta.back(), sorted, scratch);
    log_likelihood.push_back(n * (std::log(-theta.back() / k) - k - 1));
  }
  // The posterior mean of theta over the grid.
  const double total = log_sum_exp(log_likelihood);
  double mean = 0;
  for (std::size_t j = 0; j < points; ++j) mean += theta[j] * std::exp(log_likelihood[j] - total);
  const double k = mean_log1p(mean, sorted, scratch);
  // A prior worth ten weights, at k = 0.5: small tails would make k jump about.
  constexpr double worth = 10, centre = 0.5;
  const double adjusted = (k * n + worth * centre) / (n + worth);
  const double sigma = -k / mean;
  return {std::isnan(adjusted) || !(sigma > 0) ? infinity : adjusted, sigma};
}

SmoothedWeights psis(std::span<const double> log_ratios, double relative_efficiency) {
  SmoothedWeights smoothed{{log_ratios.begin(), log_ratios.end()}, infinity};
  const double largest = std::ranges::max(log_ratios);
  const std::size_t tail = tail_length(log_ratios.size(), relative_efficiency);
  if (tail < least_tail) return smoothed;

  std::vector<Place> places;
  places.reserve(log_ratios.size());
  for (std::size_t i = 0; i < log_ratios.size(); ++i) places.push_back({log_ratios[i] - largest, i});
  const auto begin = places.end() - static_cast<std::ptrdiff_t>(tail);
  // Equal weights belong to equal likelihoods, so that it does not matter which of them are in the tail.
  std::ranges::nth_element(places, begin - 1, {}, &Place::log_weight);
  std::ranges::sort(begin, places.end(), {}, &Place::log_weight);
  constexpr double same = std::numeric_limits<double>::epsilon() / 100;
  if (places.back().log_weight - begin->log_weight < same) return smoothed;

  smoothed.k = smooth_tail({begin, places.end()}, (begin - 1)->log_weight);
  for (auto place = begin; place != places.end(); ++place)
    smoothed.log_weights[place->draw] = std::min(place->log_weight, 0.0) + largest;
  return smoothed;
}

double relative_efficiency(std::span<const double> log_values, std::size_t chains) {
  detail::Block block{chains, log_values.size() / chains, std::vector<double>(log_values.size())};
  if (block.length < 4) return 1;
  const double high = std::ranges::max(log_values);
  // Efficiency does not depend on the scale, and likelihoods as they are could be too small for a double.
  over_lanes(log_values, std::span(block.values), [high](const auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    return simd::exp(value - T(high));
  });
  const Correlations correlations(block);
  // Where correlations end with the first lag, or there are none since nothing moves, loo has this.
  if (!(1 + correlations(1) > 0)) return 0.5;
  const double time = detail::autocorrelation_time(block.length, 4, correlations);
  return 1 / std::max(time, 1 / std::log10(static_cast<double>(log_values.size())));
}

double log_sum_exp(std::span<const double> values) {
  const double most = std::ranges::max(values);
  if (!std::isfinite(most)) return most;
  std::vector<double> parts(values.size());
  over_lanes(values, parts, [most](const auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    return simd::exp(value - T(most));
  });
  return most + std::log(std::accumulate(parts.begin(), parts.end(), 0.0));
}

}  // namespace onward
