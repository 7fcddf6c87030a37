#include "onward/diagnostics/convergence.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/policies/policy.hpp>
#include <cmath>
#include <limits>

#include "autocorrelation.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

using namespace detail;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t min_draws = 4;  // a half must have a lag of one

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

  double tau = autocorrelation_time(block.length, 3, correlation);
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
