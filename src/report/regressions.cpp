// What a regression says of its data, for the page: conditional effects, predictive checks, cross-validation.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "../plot/shape.hpp"
#include "encode.hpp"
#include "parts.hpp"

namespace onward::report {

using glm::CheckedStatistic;
using glm::Effect;
using glm::EffectSeries;
using glm::PredictiveCheck;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t most_lines = 8;  // that colours can tell apart

ordered_json effect_json(const Effect& effect, const std::string& response) {
  auto lines = ordered_json::array();
  for (const EffectSeries& series : effect.series) {
    if (lines.size() == most_lines) break;
    std::string label;
    if (!effect.by.empty()) label = fmt::format("{} = {}", effect.by, series.by);
    if (!series.class_name.empty())
      label += (label.empty() ? "" : ", ") + fmt::format("{} = {}", response, series.class_name);
    std::vector<double> middle, low, high;
    for (const auto& row : series.rows) {
      middle.push_back(row.mean);
      low.push_back(row.quantiles.front());
      high.push_back(row.quantiles.back());
    }
    lines.push_back(
        {{"label", label}, {"middle", encoded(middle)}, {"low", encoded(low)}, {"high", encoded(high)}});
  }
  ordered_json json{{"term", effect.term}, {"variable", effect.variable}, {"held", effect.held}};
  if (effect.levels.empty())
    json["places"] = encoded(effect.places);
  else
    json["levels"] = effect.levels;
  json["lines"] = std::move(lines);
  json["left_out"] = effect.series.size() - json["lines"].size();
  return json;
}

ordered_json statistic_json(const CheckedStatistic& statistic) {
  const auto [least, most] = std::ranges::minmax(statistic.replicated);
  const double low = std::min(least, statistic.observed), high = std::max(most, statistic.observed);
  constexpr std::size_t bins = 30;
  std::vector<double> counts(high > low ? bins : 1, 0);
  for (const double value : statistic.replicated) {
    const double place = high > low ? (value - low) / (high - low) * static_cast<double>(bins) : 0;
    counts[std::min(static_cast<std::size_t>(place), counts.size() - 1)] += 1;
  }
  return {{"name", statistic.name == "zeros" ? "share of zeros" : statistic.name},
          {"observed", statistic.observed},
          {"q5", quantile(statistic.replicated, 0.05)},
          {"q50", quantile(statistic.replicated, 0.5)},
          {"q95", quantile(statistic.replicated, 0.95)},
          {"p", statistic.p()},
          {"low", low},
          {"high", high},
          {"counts", counts}};
}

/// Shares of whole numbers (or of bins of them) in the data, and 5%, 50% and 95% of the same in replicated
/// data sets.
ordered_json bars_of(const PredictiveCheck& check) {
  double low = INFINITY, high = -INFINITY;
  const auto widen = [&](const std::vector<double>& values) {
    for (const double value : values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  };
  widen(check.y);
  for (const auto& one : check.replicated) widen(one);
  constexpr double most_bars = 50;
  const double width = std::max(1.0, std::ceil((high - low + 1) / most_bars));
  const auto bars = static_cast<std::size_t>(std::floor((high - low) / width)) + 1;
  const auto shares = [&](const std::vector<double>& values) {
    std::vector<double> counts(bars, 0);
    for (const double value : values)
      counts[static_cast<std::size_t>((value - low) / width)] += 1 / static_cast<double>(values.size());
    return counts;
  };
  std::vector<std::vector<double>> replicated;
  for (const auto& one : check.replicated) replicated.push_back(shares(one));
  std::vector<double> at(bars), q5(bars), q50(bars), q95(bars);
  for (std::size_t b = 0; b < bars; ++b) {
    at[b] = low + width * static_cast<double>(b);
    std::vector<double> values;
    for (const auto& one : replicated) values.push_back(one[b]);
    q5[b] = quantile(values, 0.05);
    q50[b] = quantile(values, 0.5);
    q95[b] = quantile(values, 0.95);
  }
  return {{"at", at}, {"width", width}, {"observed", shares(check.y)},
          {"q5", q5}, {"q50", q50},     {"q95", q95}};
}

/// The density of the data, then of some replicated data sets.
ordered_json curves_of(const PredictiveCheck& check) {
  constexpr std::size_t most = 40;
  Chains sets{check.y};
  for (std::size_t i = 0; i < std::min(most, check.replicated.size()); ++i)
    sets.push_back(check.replicated[i * check.replicated.size() / std::min(most, check.replicated.size())]);
  return densities(sets, 128);
}

ordered_json check_json(const PredictiveCheck& check) {
  ordered_json json{{"rows", check.rows}, {"replicates", check.replicates}, {"notes", check.notes}};
  if (!check.classes.empty()) json["classes"] = check.classes;
  if (check.whole)
    json["bars"] = bars_of(check);
  else
    json["curves"] = curves_of(check);
  json["statistics"] = ordered_json::array();
  for (const auto& statistic : check.parts.front().statistics)
    json["statistics"].push_back(statistic_json(statistic));
  return json;
}

std::string words_on_loo(const Loo& loo) {
  std::size_t high = 0;
  for (const auto& point : loo.points) high += point.k > Loo::k_limits[1] && !point.same ? 1 : 0;
  if (high == 0) return "No Pareto k is above 0.7: the estimates can be trusted.";
  return fmt::format(
      "{} of {} observations {} a Pareto k above 0.7: without them the posterior would be so different that "
      "these draws "
      "cannot tell how they would be predicted, and elpd_loo is probably too high. Look at these rows, try a "
      "family with "
      "heavier tails, or fit the model without them.",
      high, loo.points.size(), high == 1 ? "has" : "have");
}

ordered_json loo_json(const Loo& loo, const std::vector<std::size_t>& rows) {
  // Of many observations the highest k matter, and some of the rest to see them by.
  constexpr std::size_t most = 4000;
  std::vector<std::size_t> order(loo.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() > most) {
    std::ranges::stable_sort(order, [&](auto a, auto b) { return loo.points[a].k > loo.points[b].k; });
    std::vector<std::size_t> some(order.begin(), order.begin() + most / 2);
    const std::size_t rest = order.size() - most / 2;
    for (std::size_t i = 0; i < most / 2; ++i) some.push_back(order[most / 2 + i * rest / (most / 2)]);
    order = std::move(some);
    std::ranges::sort(order);
  }
  std::vector<double> row, k, elpd;
  for (const std::size_t i : order) {
    row.push_back(static_cast<double>((rows.empty() ? i : rows[i]) + 1));
    k.push_back(loo.points[i].same ? 0 : loo.points[i].k);
    elpd.push_back(loo.points[i].elpd);
  }
  const auto estimate = [](const Estimate& e) { return ordered_json{{"value", e.value}, {"se", e.se}}; };
  return {{"observations", loo.points.size()},
          {"shown", order.size()},
          {"elpd", estimate(loo.elpd)},
          {"p", estimate(loo.p)},
          {"looic", estimate(loo.looic)},
          {"counts", loo.k_counts},
          {"words", words_on_loo(loo)},
          {"row", encoded(row)},
          {"k", encoded(k)},
          {"elpds", encoded(elpd)}};
}

}  // namespace

ordered_json regression_json(const Regression& regression) {
  ordered_json json{{"response", regression.response},
                    {"interval", regression.interval},
                    {"effects", ordered_json::array()},
                    {"left_out", regression.left_out}};
  for (const auto& effect : regression.effects)
    json["effects"].push_back(effect_json(effect, regression.response));
  if (regression.check) json["check"] = check_json(*regression.check);
  if (regression.loo) json["loo"] = loo_json(*regression.loo, regression.loo_rows);
  return json;
}

}  // namespace onward::report
