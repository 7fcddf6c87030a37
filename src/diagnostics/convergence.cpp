#include "onward/diagnostics/convergence.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/policies/policy.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <unsupported/Eigen/FFT>

#include "onward/error.hpp"

namespace onward {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t min_draws = 4;  // a half must have a lag of one

/// Chains of equal length in one array, one after the other.
struct Block {
  std::size_t chains = 0;
  std::size_t length = 0;
  std::vector<double> values;

  const double* chain(std::size_t c) const { return values.data() + c * length; }
};

std::size_t shortest(const Chains& chains) {
  if (chains.empty()) return 0;
  return std::ranges::min(chains, {}, [](const auto& chain) { return chain.size(); }).size();
}

Block pool(const Chains& chains) {
  Block all{chains.size(), shortest(chains), {}};
  all.values.reserve(all.chains * all.length);
  for (const auto& chain : chains)
    all.values.insert(all.values.end(), chain.data(), chain.data() + all.length);
  return all;
}

/// First and last half of every chain; the middle draw of an odd number belongs to neither.
Block split(const Block& all) {
  Block halves{2 * all.chains, all.length / 2, {}};
  halves.values.reserve(halves.chains * halves.length);
  for (std::size_t c = 0; c < all.chains; ++c) {
    const double* begin = all.chain(c);
    const double* end = begin + all.length;
    halves.values.insert(halves.values.end(), begin, begin + halves.length);
    halves.values.insert(halves.values.end(), end - halves.length, end);
  }
  return halves;
}

bool has_nan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double x) { return std::isnan(x); });
}

bool usable(const Block& all) { return all.chains >= 1 && all.length >= min_draws && !has_nan(all.values); }

struct Moments {
  double mean, variance;  // variance with divisor n - 1
};

Moments moments(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  // Summed from the first value on: equal values then have exactly themselves as mean, and variance 0.
  const double origin = !values.empty() && std::isfinite(values[0]) ? values[0] : 0.0;
  double sum = 0;
  for (double x : values) sum += x - origin;
  const double mean = origin + sum / n;
  double squares = 0;
  for (double x : values) squares += (x - mean) * (x - mean);
  return {mean, squares / (n - 1)};
}

std::vector<double> chain_means(const Block& block) {
  std::vector<double> means(block.chains);
  for (std::size_t c = 0; c < block.chains; ++c) means[c] = moments({block.chain(c), block.length}).mean;
  return means;
}

/// The autocovariances (divisor: the length) of all lags, averaged over the chains.
/// The transform is linear and the power spectra of the chains only need to be added, so two chains go
/// through one complex transform, as its real and imaginary part, and one transform takes the sum back.
std::vector<double> mean_autocovariance(const Block& block, const std::vector<double>& means) {
  using Complex = std::complex<double>;
  std::size_t size = 1;
  while (size < 2 * block.length) size *= 2;  // zero padding: the transform's circle must not close
  std::vector<Complex> signal(size), spectrum(size);
  std::vector<double> power(size, 0.0);
  Eigen::FFT<double> fft;
  for (std::size_t c = 0; c < block.chains; c += 2) {
    const bool pair = c + 1 < block.chains;
    for (std::size_t t = 0; t < block.length; ++t)
      signal[t] = {block.chain(c)[t] - means[c], pair ? block.chain(c + 1)[t] - means[c + 1] : 0.0};
    fft.fwd(spectrum.data(), signal.data(), static_cast<Eigen::Index>(size));
    for (std::size_t k = 0; k < size; ++k) power[k] += std::norm(spectrum[k]);
  }
  // |X|^2 + |Y|^2 at k is the mean of |X + iY|^2 at k and at -k.
  for (std::size_t k = 0; k < size; ++k) signal[k] = 0.5 * (power[k] + power[(size - k) % size]);
  fft.fwd(spectrum.data(), signal.data(), static_cast<Eigen::Index>(size));
  const double scale = 1.0 / (static_cast<double>(size) * static_cast<double>(block.length) *
                              static_cast<double>(block.chains));
  std::vector<double> covariance(block.length);
  for (std::size_t t = 0; t < block.length; ++t) covariance[t] = spectrum[t].real() * scale;
  return covariance;
}

/// Effective sample size of chains that are split and transformed already.
double effective_size(const Block& block) {
  const auto [low, high] = std::ranges::minmax(block.values);
  const auto total = static_cast<double>(block.values.size());
  if (high - low < 1e-15) return total;  // all equal, as far as ArviZ can tell

  const auto n = static_cast<double>(block.length);
  const auto means = chain_means(block);
  const auto covariance = mean_autocovariance(block, means);
  const double within = covariance[0] * n / (n - 1);
  double variance = within * (n - 1) / n;
  if (block.chains > 1) variance += moments(means).variance;
  const auto correlation = [&](std::size_t lag) { return 1.0 - (within - covariance[lag]) / variance; };

  // Geyer's initial positive sequence: the correlations of an even lag and the next odd one, while their sum
  // is positive. `t` is the odd lag that was looked at last.
  std::vector<double> rho(block.length, 0.0);
  double even = 1.0;
  double odd = correlation(1);
  rho[0] = even;
  rho[1] = odd;
  std::size_t t = 1;
  while (t + 3 < block.length && even + odd > 0) {
    even = correlation(t + 1);
    odd = correlation(t + 2);
    if (even + odd >= 0) {
      rho[t + 1] = even;
      rho[t + 2] = odd;
    }
    t += 2;
  }
  const std::size_t last = t - 1;  // the even lag that closes the sum, counted once
  if (even > 0) rho[last] = even;

  // Initial monotone sequence: no pair exceeds the one before.
  for (std::size_t s = 1; s + 3 <= last; s += 2) {
    const double before = rho[s - 1] + rho[s];
    if (rho[s + 1] + rho[s + 2] > before) rho[s + 1] = rho[s + 2] = before / 2;
  }

  double sum = 0;
  for (std::size_t s = 0; s < last; ++s) sum += rho[s];
  double tau = -1 + 2 * sum + rho[last];
  if (std::isnan(tau)) return nan;
  tau = std::max(tau, 1 / std::log10(total));  // antithetic chains: a bound against wild estimates
  return total / tau;
}

double plain_rhat(const Block& block) {
  const auto n = static_cast<double>(block.length);
  double within = 0;
  for (std::size_t c = 0; c < block.chains; ++c) within += moments({block.chain(c), block.length}).variance;
  within /= static_cast<double>(block.chains);
  const double between = n * moments(chain_means(block)).variance;
  return std::sqrt((between / within + n - 1) / n);
}

struct Place {
  double value;
  std::size_t index;
};

std::vector<Place> sorted(const Block& block) {
  std::vector<Place> order(block.values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = {block.values[i], i};
  std::ranges::sort(order, {}, &Place::value);
  return order;
}

/// The order of the distances from the median: two runs, below and above it, that need only be merged.
std::vector<Place> folded(std::vector<Place> order) {
  const std::size_t half = order.size() / 2;  // split chains: the number of draws is even
  const double median = (order[half - 1].value + order[half].value) / 2;
  for (Place& place : order) place.value = std::abs(place.value - median);
  std::reverse(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half));
  std::inplace_merge(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half), order.end(),
                     [](const Place& a, const Place& b) { return a.value < b.value; });
  return order;
}

/// Normal scores of ranks among a number of draws, those of whole ranks from a table.
class NormalScores {
 public:
  explicit NormalScores(std::size_t count) : count_(static_cast<double>(count)), whole_(count) {
    for (std::size_t i = 0; i < count / 2; ++i) {
      whole_[i] = score(static_cast<double>(i + 1));
      whole_[count - 1 - i] = -whole_[i];
    }
    if (count % 2 == 1) whole_[count / 2] = 0;
  }

  /// Replaces the values at the sorted places by scores; equal values share their average rank.
  void apply(const std::vector<Place>& order, Block& block) const {
    for (std::size_t first = 0; first < order.size();) {
      std::size_t end = first + 1;
      while (end < order.size() && order[end].value == order[first].value) ++end;
      const double z = end - first == 1 ? whole_[first] : score(0.5 * static_cast<double>(first + 1 + end));
      for (; first < end; ++first) block.values[order[first].index] = z;
    }
  }

 private:
  double score(double rank) const {
    using namespace boost::math::policies;
    using Plain = policy<promote_double<false>>;  // long double costs five times as much
    return quantile(boost::math::normal_distribution<double, Plain>(), (rank - 0.375) / (count_ + 0.25));
  }

  double count_;
  std::vector<double> whole_;
};

/// What bulk ESS and R-hat share: the split draws, sorted once, and their scores.
struct Ranked {
  explicit Ranked(const Block& all)
      : halves(split(all)), order(sorted(halves)), scores(halves.values.size()), bulk(halves) {
    scores.apply(order, bulk);
  }

  double rhat() {
    Block tails = halves;
    scores.apply(folded(std::move(order)), tails);
    const double of_bulk = plain_rhat(bulk);
    const double of_tails = plain_rhat(tails);
    return of_tails > of_bulk ? of_tails : of_bulk;  // distances all equal: NaN, and the bulk decides
  }

  Block halves;
  std::vector<Place> order;
  NormalScores scores;
  Block bulk;
};

/// Type 7; reorders `values`, which hold no NaN.
double take_quantile(std::span<double> values, double p) {
  if (values.size() == 1) return values.front();
  const auto n = static_cast<double>(values.size());
  const double place = n * p + (1 - p);  // counted from 1
  const double below = std::floor(std::clamp(place, 1.0, n - 1));
  const double weight = std::clamp(place - below, 0.0, 1.0);
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(below) - 1;
  std::nth_element(values.begin(), lower, values.end());
  const double a = *lower;
  const double b = *std::min_element(lower + 1, values.end());
  // Equal neighbours must give themselves to the bit: tail ESS asks which draws are <= the quantile.
  if (a == b || weight == 0) return a;
  if (weight == 1) return b;
  return (1 - weight) * a + weight * b;
}

double indicator_ess(const Block& halves, double limit) {
  Block below = halves;
  for (double& x : below.values) x = x <= limit ? 1.0 : 0.0;
  return effective_size(below);
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  if (!(p >= 0 && p <= 1)) throw UsageError("quantile: p is " + std::to_string(p) + ", must be in [0, 1]");
  if (values.empty() || has_nan(values)) return nan;
  std::vector<double> copy(values.begin(), values.end());
  return take_quantile(copy, p);
}

double ess_bulk(const Chains& chains) {
  const Block all = pool(chains);
  return usable(all) ? effective_size(Ranked(all).bulk) : nan;
}

double ess_tail(const Chains& chains) {
  Block all = pool(chains);
  if (!usable(all)) return nan;
  const Block halves = split(all);
  const double q5 = take_quantile(all.values, 0.05);
  const double q95 = take_quantile(all.values, 0.95);
  return std::min(indicator_ess(halves, q5), indicator_ess(halves, q95));
}

double ess_mean(const Chains& chains) {
  const Block all = pool(chains);
  return usable(all) ? effective_size(split(all)) : nan;
}

double rhat(const Chains& chains) {
  const Block all = pool(chains);
  return usable(all) && all.chains >= 2 ? Ranked(all).rhat() : nan;
}

double mcse_mean(const Chains& chains) {
  return std::sqrt(moments(pool(chains).values).variance / ess_mean(chains));
}

ParameterSummary summarise(std::string name, const Chains& chains) {
  Block all = pool(chains);
  ParameterSummary summary{std::move(name), nan, nan, nan, nan, nan, nan, nan, nan, nan};
  if (all.values.empty()) return summary;
  const Moments of_all = moments(all.values);
  summary.mean = of_all.mean;
  summary.sd = std::sqrt(of_all.variance);
  if (has_nan(all.values)) return summary;
  if (usable(all)) {
    Ranked ranked(all);
    summary.mcse_mean = summary.sd / std::sqrt(effective_size(ranked.halves));
    summary.ess_bulk = effective_size(ranked.bulk);
    // The quantiles reorder the pooled draws, so they come after the split.
    summary.q5 = take_quantile(all.values, 0.05);
    summary.q95 = take_quantile(all.values, 0.95);
    summary.ess_tail =
        std::min(indicator_ess(ranked.halves, summary.q5), indicator_ess(ranked.halves, summary.q95));
    if (all.chains >= 2) summary.rhat = ranked.rhat();
  } else {
    summary.q5 = take_quantile(all.values, 0.05);
    summary.q95 = take_quantile(all.values, 0.95);
  }
  summary.q50 = take_quantile(all.values, 0.5);
  return summary;
}

}  // namespace onward
