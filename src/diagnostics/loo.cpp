#include "onward/diagnostics/loo.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "autocorrelation.hpp"
#include "onward/diagnostics/psis.hpp"
#include "onward/error.hpp"
#include "onward/simd/elementary.hpp"
#include "onward/simd/reduce.hpp"
#include "onward/util/thread_pool.hpp"
#include "over_lanes.hpp"

namespace onward {
namespace {

using detail::over_lanes;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The sum over observations; its standard error takes them for independent draws of a population.
template <class Point, class Value>
Estimate estimate(const std::vector<Point>& points, const Value& value) {
  std::vector<double> values;
  values.reserve(points.size());
  for (const Point& point : points) values.push_back(std::invoke(value, point));
  const auto n = static_cast<double>(values.size());
  return {std::accumulate(values.begin(), values.end(), 0.0),
          std::sqrt(n * detail::moments(values).variance)};
}

/// Normal scores that stand for the distribution of an estimate.
const std::vector<double>& normal_scores() {
  static const std::vector<double> scores = [] {
    constexpr double count = 1000, offset = 3.0 / 8;
    std::vector<double> z;
    for (double rank = 1; rank <= count; ++rank)
      z.push_back(quantile(boost::math::normal_distribution<>(), (rank - offset) / (count - 2 * offset + 1)));
    return z;
  }();
  return scores;
}

/// The standard deviation of log X, X being normal about 1 with this standard deviation and cut at 0.
double sd_of_log(double sd) {
  std::vector<double> logs;
  for (const double z : normal_scores())
    if (1 + sd * z > 0) logs.push_back(1 + sd * z);
  over_lanes(logs, logs, [](const auto& x) { return simd::log(x); });
  return std::sqrt(detail::moments(logs).variance);
}

/// The first draw at which the log likelihood is not finite.
std::optional<std::size_t> bad_draw(std::span<const double> log_likelihood) {
  const auto bad = std::ranges::find_if(log_likelihood, [](double x) { return !std::isfinite(x); });
  if (bad == log_likelihood.end()) return std::nullopt;
  return static_cast<std::size_t>(bad - log_likelihood.begin());
}

/// Goes through the observations a block at a time, and hands on each with its log likelihoods at all draws.
class Walk {
 public:
  Walk(const PointwiseLogLikelihood& source, const LooOptions& options)
      : source_(source),
        options_(options),
        all_draws_(source.chains * source.draws),
        pool_(threads_or_all(options.threads)) {
    if (all_draws_ == 0) throw Error("there are no draws to compute log likelihoods from");
    if (source.observations == 0) throw Error("the model has no observations to leave out");
  }

  /// Whether it came to the end. `take(observation, log_likelihoods)` is called from several threads.
  template <class Take>
  bool run(const Take& take) {
    const std::size_t together = std::clamp<std::size_t>(options_.block_bytes / (all_draws_ * sizeof(double)),
                                                         1, source_.observations);
    for (std::size_t first = 0; first < source_.observations; first += together) {
      const std::size_t count = std::min(together, source_.observations - first);
      fill(first, count);
      hand_on(first, count, take);
      if (stopped()) return false;
      if (first_bad_ < source_.observations) refuse();
    }
    return true;
  }

 private:
  static constexpr std::size_t group = 16;  // observations whose values are gathered together

  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  /// `share` of the block's work is done; the log likelihoods take most of it.
  void tell(std::size_t first, std::size_t count, double share) {
    if (options_.progress && std::this_thread::get_id() == caller_)
      options_.progress(static_cast<double>(first) + share * static_cast<double>(count));
  }

  /// The block's values, one draw after the other.
  void fill(std::size_t first, std::size_t count) {
    values_.resize(all_draws_ * count);
    std::atomic<std::size_t> done{0};
    pool_.for_each(all_draws_, [&](std::size_t draw) {
      if (stopped()) return;
      source_.at(draw, first, std::span(values_).subspan(draw * count, count));
      tell(first, count, fill_share * static_cast<double>(++done) / static_cast<double>(all_draws_));
    });
  }

  template <class Take>
  void hand_on(std::size_t first, std::size_t count, const Take& take) {
    const std::size_t groups = (count + group - 1) / group;
    std::atomic<std::size_t> done{0};
    pool_.for_each(groups, [&](std::size_t g) {
      if (stopped()) return;
      const std::size_t begin = g * group, members = std::min(group, count - begin);
      std::vector<double> gathered(members * all_draws_);
      for (std::size_t draw = 0; draw < all_draws_; ++draw)
        for (std::size_t m = 0; m < members; ++m)
          gathered[m * all_draws_ + draw] = values_[draw * count + begin + m];
      for (std::size_t m = 0; m < members; ++m) {
        const auto own = std::span<const double>(gathered).subspan(m * all_draws_, all_draws_);
        const std::size_t observation = first + begin + m;
        if (const auto draw = bad_draw(own))
          remember(observation, *draw, own[*draw]);
        else
          take(observation, own);
      }
      tell(first, count,
           fill_share + (1 - fill_share) * static_cast<double>(++done) / static_cast<double>(groups));
    });
  }

  void remember(std::size_t observation, std::size_t draw, double value) {
    const std::lock_guard lock(mutex_);
    if (observation >= first_bad_) return;
    first_bad_ = observation;
    bad_draw_ = draw;
    bad_value_ = value;
  }

  [[noreturn]] void refuse() const {
    throw Error(fmt::format(
        "the log likelihood of observation {} is {} at draw {} of chain {}: look at that row of "
        "the data, and at the draw",
        first_bad_ + 1, bad_value_, bad_draw_ % source_.draws + 1, bad_draw_ / source_.draws + 1));
  }

  static constexpr double fill_share = 0.7;

  const PointwiseLogLikelihood& source_;
  const LooOptions& options_;
  std::size_t all_draws_;
  ThreadPool pool_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::vector<double> values_;
  std::mutex mutex_;
  std::size_t first_bad_ = std::numeric_limits<std::size_t>::max(), bad_draw_ = 0;
  double bad_value_ = 0;
};

void count_k(Loo& result) {
  result.least_n_eff.fill(nan);
  for (const LooPoint& point : result.points) {
    const auto at =
        static_cast<std::size_t>(std::ranges::lower_bound(Loo::k_limits, point.k) - Loo::k_limits.begin());
    ++result.k_counts[at];
    result.least_n_eff[at] = std::fmin(result.least_n_eff[at], point.n_eff);  // passes over NaN
  }
}

}  // namespace

double Loo::mcse() const {
  if (k_counts[2] + k_counts[3] > 0) return nan;
  double sum = 0;
  for (const LooPoint& point : points) sum += point.mcse * point.mcse;
  return std::sqrt(sum);
}

LooPoint loo_point(std::span<const double> log_likelihood, std::size_t chains) {
  const std::size_t draws = log_likelihood.size();
  const double efficiency = relative_efficiency(log_likelihood, chains);
  std::vector<double> log_ratios(draws);
  for (std::size_t i = 0; i < draws; ++i) log_ratios[i] = -log_likelihood[i];
  auto [weights, k] = psis(log_ratios, efficiency);

  const double total = log_sum_exp(weights);
  std::vector<double> weighted(draws);
  for (std::size_t i = 0; i < draws; ++i) {
    weights[i] -= total;
    weighted[i] = log_likelihood[i] + weights[i];
  }
  LooPoint point{.elpd = log_sum_exp(weighted), .k = k};
  point.p = log_sum_exp(log_likelihood) - std::log(static_cast<double>(draws)) - point.elpd;

  // The variance of the predictive density, relative to its square, by the delta method.
  for (double& x : weighted) x -= point.elpd;
  const auto exponential = [](const auto& x) { return simd::exp(x); };
  over_lanes(weighted, weighted, exponential);
  over_lanes(weights, weights, exponential);
  for (std::size_t i = 0; i < draws; ++i) weighted[i] -= weights[i];
  const double squares = simd::sum_of_squares(weights), variance = simd::sum_of_squares(weighted);
  point.n_eff = efficiency / squares;
  point.mcse = sd_of_log(std::sqrt(variance)) / std::sqrt(efficiency);
  const auto [low, high] = std::ranges::minmax(log_likelihood);
  point.same = low == high;
  return point;
}

WaicPoint waic_point(std::span<const double> log_likelihood) {
  const double p = detail::moments(log_likelihood).variance;
  return {log_sum_exp(log_likelihood) - std::log(static_cast<double>(log_likelihood.size())) - p, p};
}

std::optional<Loo> loo(const PointwiseLogLikelihood& log_likelihood, const LooOptions& options) {
  Loo result{.chains = log_likelihood.chains, .draws = log_likelihood.draws};
  result.points.resize(log_likelihood.observations);
  const bool whole = Walk(log_likelihood, options).run([&](std::size_t i, std::span<const double> values) {
    result.points[i] = loo_point(values, log_likelihood.chains);
  });
  if (!whole) return std::nullopt;
  result.elpd = estimate(result.points, &LooPoint::elpd);
  result.p = estimate(result.points, &LooPoint::p);
  result.looic = {-2 * result.elpd.value, 2 * result.elpd.se};
  count_k(result);
  return result;
}

std::optional<Waic> waic(const PointwiseLogLikelihood& log_likelihood, const LooOptions& options) {
  Waic result{.chains = log_likelihood.chains, .draws = log_likelihood.draws};
  result.points.resize(log_likelihood.observations);
  const bool whole = Walk(log_likelihood, options).run([&](std::size_t i, std::span<const double> values) {
    result.points[i] = waic_point(values);
  });
  if (!whole) return std::nullopt;
  result.elpd = estimate(result.points, &WaicPoint::elpd);
  result.p = estimate(result.points, &WaicPoint::p);
  result.waic = {-2 * result.elpd.value, 2 * result.elpd.se};
  result.p_above_limit = static_cast<std::size_t>(
      std::ranges::count_if(result.points, [](const WaicPoint& point) { return point.p > Waic::p_limit; }));
  return result;
}

std::vector<ComparedModel> compare_models(std::span<const std::vector<double>> elpds) {
  if (elpds.empty()) return {};
  for (const auto& elpd : elpds)
    if (elpd.size() != elpds.front().size())
      throw UsageError(
          fmt::format("models of {} and of {} observations cannot be compared: fit them to the same data",
                      elpds.front().size(), elpd.size()));
  std::vector<double> totals;
  for (const auto& elpd : elpds) totals.push_back(std::accumulate(elpd.begin(), elpd.end(), 0.0));
  std::vector<ComparedModel> order(elpds.size());
  for (std::size_t m = 0; m < order.size(); ++m) order[m].model = m;
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](const ComparedModel& row) { return totals[row.model]; });
  const auto& best = elpds[order.front().model];
  std::vector<double> difference(best.size());
  for (ComparedModel& row : order) {
    std::ranges::transform(elpds[row.model], best, difference.begin(), std::minus{});
    row.elpd_diff = std::accumulate(difference.begin(), difference.end(), 0.0);
    row.se_diff = std::sqrt(static_cast<double>(best.size()) * detail::moments(difference).variance);
  }
  return order;
}

}  // namespace onward
