#include "onward/plot/run_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "onward/error.hpp"
#include "onward/plot/figure.hpp"
#include "shape.hpp"

namespace onward::plot {
namespace {

constexpr std::size_t most_parameters = 6;
constexpr std::size_t most_in_key = 8;  // as many colours as there are

std::string diagnosis(const ParameterSummary& summary) {
  const auto figure = [](double value, int digits) {
    return std::isnan(value) ? std::string("not known") : fmt::format("{:.{}f}", value, digits);
  };
  return fmt::format("R-hat {}   ESS {} bulk, {} tail", figure(summary.rhat, 3), figure(summary.ess_bulk, 0),
                     figure(summary.ess_tail, 0));
}

// The range of the central 99% of the draws, with some room: heavy tails would leave the middle none.
// Nothing if there are no draws or all are equal.
std::optional<std::pair<double, double>> central_range(const std::vector<double>& draws) {
  const auto sorted = sorted_shown(draws);
  if (sorted.empty()) return {};
  const double last = static_cast<double>(sorted.size() - 1);
  const double low = sorted[static_cast<std::size_t>(0.005 * last)];
  const double high = sorted[static_cast<std::size_t>(std::ceil(0.995 * last))];
  const double room = 0.12 * (high - low);
  if (!(low < high)) return {};
  return std::pair(low - room, high + room);
}

void draw_densities(Panel& panel, const NamedChains& parameter) {
  panel.title(parameter.name).hide_y_axis();
  std::vector<double> all;
  for (const auto& chain : parameter.chains) all.insert(all.end(), chain.begin(), chain.end());
  const auto range = central_range(all);
  if (range) panel.x_range(range->first, range->second);
  const auto within = [&](std::vector<double> draws) {
    if (range)
      std::erase_if(draws, [&](double draw) { return !(draw >= range->first && draw <= range->second); });
    return draws;
  };
  panel.histogram(within(all), 0, {.color = Color{0.87, 0.87, 0.87}});
  for (std::size_t chain = 0; chain < parameter.chains.size(); ++chain) {
    panel.density(within(parameter.chains[chain]), {.color = palette(chain), .size = 1.1});
  }
}

void draw_traces(Panel& panel, const NamedChains& parameter, const ParameterSummary& summary) {
  panel.heading(diagnosis(summary));
  for (std::size_t chain = 0; chain < parameter.chains.size(); ++chain) {
    const auto& draws = parameter.chains[chain];
    std::vector<double> number(draws.size());
    std::iota(number.begin(), number.end(), 1.0);
    Color color = palette(chain);
    color.alpha = 0.65;
    panel.line(number, draws, {.color = color, .size = 0.5});
  }
}

/// The name of the vector or matrix that an entry belongs to: theta of theta.3, p of p.1.2, b of b[1,2].
std::string_view vector_of(std::string_view name) {
  if (name.ends_with(']')) return name.substr(0, name.find('['));
  while (true) {
    const std::size_t dot = name.rfind('.');
    const std::size_t digits = name.find_last_not_of("0123456789");
    if (dot == std::string_view::npos || dot == 0 || digits != dot || dot + 1 == name.size()) return name;
    name = name.substr(0, dot);
  }
}

/// Whether two parameters always add up to 1, as probabilities of two classes do: one picture tells of both.
bool complementary(const Chains& a, const Chains& b) {
  constexpr double rounding = 1e-5;  // of single precision
  if (a.size() != b.size()) return false;
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c].size() != b[c].size()) return false;
    for (std::size_t i = 0; i < a[c].size(); ++i)
      if (!(std::abs(a[c][i] + b[c][i] - 1) < rounding)) return false;
  }
  return !a.empty() && !a.front().empty();
}

std::vector<NamedChains> chosen(std::span<const std::string> names,
                                const std::function<Chains(std::size_t)>& chains_of) {
  std::vector<std::pair<std::size_t, NamedChains>> taken;
  for (const std::size_t i : by_importance(names)) {
    if (taken.size() == most_parameters) break;
    NamedChains parameter{names[i], chains_of(i)};
    const auto told = [&](const auto& other) { return complementary(other.second.chains, parameter.chains); };
    if (std::ranges::none_of(taken, told)) taken.emplace_back(i, std::move(parameter));
  }
  // Entries of a vector stand together, after the numbers that stand alone.
  std::map<std::string_view, std::size_t> sizes;
  for (const auto& name : names) ++sizes[vector_of(name)];
  std::ranges::stable_sort(taken, {}, [&](const auto& one) {
    return std::pair(sizes[vector_of(one.second.name)] > 1, one.first);
  });
  std::vector<NamedChains> result;
  for (auto& [i, parameter] : taken) result.push_back(std::move(parameter));
  return result;
}

}  // namespace

std::vector<std::size_t> by_importance(std::span<const std::string> names) {
  std::map<std::string_view, std::size_t> sizes, so_far;
  for (const auto& name : names) ++sizes[vector_of(name)];
  std::vector<std::tuple<bool, std::size_t, std::size_t>> keys;  // in a vector, its how-manieth entry, number
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto vector = vector_of(names[i]);
    keys.emplace_back(sizes[vector] > 1, so_far[vector]++, i);
  }
  std::ranges::sort(keys);
  std::vector<std::size_t> order;
  for (const auto& key : keys) order.push_back(std::get<2>(key));
  return order;
}

void run_picture(const std::string& path, const std::vector<NamedChains>& parameters) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters) names.push_back(parameter.name);
  run_picture(path, names, [&](std::size_t i) { return parameters[i].chains; });
}

void run_picture(const std::string& path, std::span<const std::string> names,
                 const std::function<Chains(std::size_t)>& chains_of,
                 std::span<const ParameterSummary> summaries) {
  const std::vector<NamedChains> parameters = chosen(names, chains_of);
  std::size_t chains = 0;
  for (const NamedChains& parameter : parameters) chains = std::max(chains, parameter.chains.size());
  if (chains == 0) throw Error(fmt::format("{}: there are no draws to make a picture of", path));

  const std::size_t rows = parameters.size();
  Figure figure(rows, 2, 16, 1.4 + 2.9 * static_cast<double>(rows));
  figure.column_widths({0.8, 1});
  if (rows < names.size()) figure.title(fmt::format("{} of {} parameters", rows, names.size()));
  std::vector<KeyEntry> key;
  for (std::size_t chain = 0; chain < std::min(chains, most_in_key); ++chain) {
    key.push_back({fmt::format("chain {}", chain + 1), palette(chain)});
  }
  if (chains <= most_in_key) figure.key(key);
  for (std::size_t row = 0; row < rows; ++row) {
    draw_densities(figure.panel(row, 0), parameters[row]);
    const auto known = std::ranges::find(summaries, parameters[row].name, &ParameterSummary::name);
    draw_traces(figure.panel(row, 1), parameters[row],
                known != summaries.end() ? *known : summarise(parameters[row].name, parameters[row].chains));
  }
  figure.panel(rows - 1, 1).x_label("draw");
  figure.save(path);
}

}  // namespace onward::plot
