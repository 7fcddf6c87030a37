// What the pictures of one parameter are drawn from: a trace no finer than a screen, ranks, densities,
// autocorrelations, and how ESS grew.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../diagnostics/autocorrelation.hpp"
#include "../plot/shape.hpp"
#include "encode.hpp"
#include "parts.hpp"

namespace onward::report {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t rank_bins = 20;

/// At most so many of `count`, evenly spread.
std::vector<std::size_t> spread_out(std::size_t count, std::size_t most) {
  const std::size_t size = std::min(count, most);
  std::vector<std::size_t> places(size);
  for (std::size_t i = 0; i < size; ++i) places[i] = i * count / size;
  return places;
}

/// A number, or null where it is none: JSON has no NaN.
ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

/// How often each chain's draws are among the lowest, the next lowest, ... of all: chain after chain.
std::vector<double> rank_counts(const Chains& chains, std::size_t draws) {
  std::vector<std::pair<double, std::size_t>> all;
  all.reserve(chains.size() * draws);
  for (std::size_t c = 0; c < chains.size(); ++c)
    for (std::size_t d = 0; d < draws; ++d) all.emplace_back(chains[c][d], c);
  std::ranges::sort(all, {}, &std::pair<double, std::size_t>::first);
  std::vector<double> counts(chains.size() * rank_bins, 0);
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    // Equal draws share their ranks, so that a parameter of whole numbers is not sorted by chains.
    const double middle = (static_cast<double>(begin) + static_cast<double>(end - 1)) / 2;
    const auto bin = static_cast<std::size_t>(middle * rank_bins / static_cast<double>(all.size()));
    for (std::size_t i = begin; i < end; ++i)
      counts[all[i].second * rank_bins + std::min(bin, rank_bins - 1)] += 1;
    begin = end;
  }
  return counts;
}

/// Of lags 0 to `lags`, chain after chain.
std::vector<double> autocorrelations(const Chains& chains, std::size_t draws, std::size_t lags) {
  std::vector<double> result;
  for (const auto& chain : chains) {
    const detail::Block block{1, draws, {chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(draws)}};
    const auto covariance = detail::mean_autocovariance(block, detail::chain_means(block));
    for (std::size_t lag = 0; lag <= lags; ++lag)
      result.push_back(covariance[0] > 0 ? covariance[lag] / covariance[0] : NAN);
  }
  return result;
}

/// As many lags as the correlation takes to fade, within limits.
std::size_t lags_of(const ParameterSummary& summary, const Shape& shape) {
  const double all = static_cast<double>(shape.chains * shape.draws);
  const double time = summary.ess_bulk > 0 ? all / summary.ess_bulk : 1;
  const auto wanted = static_cast<std::size_t>(std::clamp(4 * time, 20.0, 200.0));
  const std::size_t room = std::max<std::size_t>(20, 1600 / shape.chains);  // numbers of all chains in a page
  return std::min({wanted, room, shape.draws - 1});
}

bool all_finite(const Chains& chains) {
  return std::ranges::all_of(chains, [](const auto& chain) {
    return std::ranges::all_of(chain, [](double x) { return std::isfinite(x); });
  });
}

/// A curve read at even places; 0 beyond its ends.
void append_at(const plot::Curve& curve, double x0, double dx, std::size_t points, std::vector<double>& out) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double x = x0 + static_cast<double>(i) * dx;
    while (at + 1 < curve.x.size() && curve.x[at + 1] < x) ++at;
    const bool inside = at + 1 < curve.x.size() && x >= curve.x.front() && x <= curve.x.back();
    out.push_back(inside
                      ? std::lerp(curve.y[at], curve.y[at + 1],
                                  std::clamp((x - curve.x[at]) / (curve.x[at + 1] - curve.x[at]), 0.0, 1.0))
                      : 0);
  }
}

}  // namespace

Shape::Shape(std::size_t chains_, std::size_t draws_) : chains(chains_), draws(draws_) {
  // A trace is drawn over some 800 points of a screen, two to a column; four chains of 1,000 draws stay
  // whole. Many chains upon each other are seen less finely.
  constexpr std::size_t together = 2000;
  const std::size_t whole = std::clamp<std::size_t>(6400 / std::max<std::size_t>(chains, 1), 200, 1600);
  extremes = draws > whole;
  trace = spread_out(draws, extremes ? whole / 4 : draws);
  joint = spread_out(draws, std::max<std::size_t>(together / std::max<std::size_t>(chains, 1), 1));
  // ESS of many draws is what a report takes longest for.
  const std::size_t growth_points = draws > 10'000 ? 5 : 8;
  for (std::size_t i = 1; i <= growth_points; ++i)
    if (const std::size_t count = draws * i / growth_points; count >= 8) growth.push_back(count);
}

ordered_json row_of(const ParameterSummary& s) {
  return {{"name", s.name},
          {"mean", number(s.mean)},
          {"sd", number(s.sd)},
          {"q5", number(s.q5)},
          {"q50", number(s.q50)},
          {"q95", number(s.q95)},
          {"mcse", number(s.mcse_mean)},
          {"ess_bulk", number(s.ess_bulk)},
          {"ess_tail", number(s.ess_tail)},
          {"rhat", number(s.rhat)}};
}

std::string trace_of(const Chains& chains, const Shape& shape) {
  std::vector<double> values;
  for (const auto& chain : chains)
    for (std::size_t i = 0; i < shape.trace.size(); ++i) {
      const auto begin = chain.begin() + static_cast<std::ptrdiff_t>(shape.trace[i]);
      if (!shape.extremes) {
        values.push_back(*begin);
        continue;
      }
      const std::size_t next = i + 1 < shape.trace.size() ? shape.trace[i + 1] : shape.draws;
      const auto [low, high] = std::minmax_element(begin, chain.begin() + static_cast<std::ptrdiff_t>(next));
      values.push_back(low < high ? *low : *high);
      values.push_back(low < high ? *high : *low);
    }
  return encoded(values);
}

ordered_json densities(const Chains& chains, std::size_t points) {
  std::vector<double> pooled;
  for (const auto& chain : chains) pooled.insert(pooled.end(), chain.begin(), chain.end());
  const plot::Bounds bounds = plot::likely_bounds(pooled);
  const plot::Curve all = plot::density_curve(pooled, bounds);
  if (all.x.empty()) return nullptr;
  // Far tails would leave the middle a spike: the picture ends where a thousandth of the draws is left.
  const double low = quantile(pooled, 0.001), high = quantile(pooled, 0.999), margin = 0.15 * (high - low);
  const double x0 = std::max(all.x.front(), low - margin), x1 = std::min(all.x.back(), high + margin);
  if (!(x1 > x0)) return nullptr;
  const double dx = (x1 - x0) / static_cast<double>(points - 1);
  std::vector<double> y;
  append_at(all, x0, dx, points, y);
  if (chains.size() > 1)
    for (const auto& chain : chains) append_at(plot::density_curve(chain, bounds), x0, dx, points, y);
  return {{"x0", x0}, {"dx", dx}, {"n", points}, {"y", encoded(y)}};
}

ordered_json pictures_of(const ParameterSummary& summary, const Chains& given, const Shape& shape) {
  Chains chains = given;
  for (auto& chain : chains) chain.resize(shape.draws);
  ordered_json json{{"trace", trace_of(chains, shape)}};
  std::vector<double> joint;
  for (const auto& chain : chains)
    for (const std::size_t draw : shape.joint) joint.push_back(chain[draw]);
  json["joint"] = encoded(joint);
  if (!shape.divergent.empty()) {
    std::vector<double> marked;
    for (const auto& [chain, draw] : shape.divergent) marked.push_back(chains[chain][draw]);
    json["divergent"] = encoded(marked);
  }
  if (!all_finite(chains) || shape.draws < 4) return json;  // nothing more can be said of it
  std::vector<double> pooled;
  for (const auto& chain : chains) pooled.insert(pooled.end(), chain.begin(), chain.end());
  json["q25"] = number(quantile(pooled, 0.25));
  json["q75"] = number(quantile(pooled, 0.75));
  json["density"] = densities(chains, 128);
  json["ranks"] = encoded(rank_counts(chains, shape.draws));
  const std::size_t lags = lags_of(summary, shape);
  json["lags"] = lags;
  json["acf"] = encoded(autocorrelations(chains, shape.draws, lags));
  std::vector<double> bulk, tail;
  for (const std::size_t draws : shape.growth) {
    if (draws == shape.draws) {
      bulk.push_back(summary.ess_bulk);
      tail.push_back(summary.ess_tail);
      continue;
    }
    Chains so_far;
    for (const auto& chain : chains)
      so_far.emplace_back(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(draws));
    bulk.push_back(ess_bulk(so_far));
    tail.push_back(ess_tail(so_far));
  }
  bulk.insert(bulk.end(), tail.begin(), tail.end());
  json["growth"] = encoded(bulk);
  return json;
}

}  // namespace onward::report
