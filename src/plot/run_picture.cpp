#include "onward/plot/run_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "onward/error.hpp"
#include "onward/plot/figure.hpp"
#include "shape.hpp"

namespace onward::plot {
namespace {

constexpr std::size_t most_parameters = 6;
constexpr std::size_t most_in_key = 8;  // as many colours as there are

std::string diagnosis(const Chains& chains) {
  const auto figure = [](double value, int digits) {
    return std::isnan(value) ? std::string("not known") : fmt::format("{:.{}f}", value, digits);
  };
  return fmt::format("R-hat {}   ESS {} bulk, {} tail", figure(rhat(chains), 3), figure(ess_bulk(chains), 0),
                     figure(ess_tail(chains), 0));
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

void draw_traces(Panel& panel, const NamedChains& parameter) {
  panel.heading(diagnosis(parameter.chains));
  for (std::size_t chain = 0; chain < parameter.chains.size(); ++chain) {
    const auto& draws = parameter.chains[chain];
    std::vector<double> number(draws.size());
    std::iota(number.begin(), number.end(), 1.0);
    Color color = palette(chain);
    color.alpha = 0.65;
    panel.line(number, draws, {.color = color, .size = 0.5});
  }
}

}  // namespace

void run_picture(const std::string& path, const std::vector<NamedChains>& parameters) {
  std::size_t chains = 0;
  for (const NamedChains& parameter : parameters) chains = std::max(chains, parameter.chains.size());
  if (chains == 0) throw Error(fmt::format("{}: there are no draws to make a picture of", path));

  const std::size_t rows = std::min(parameters.size(), most_parameters);
  Figure figure(rows, 2, 16, 1.4 + 2.9 * static_cast<double>(rows));
  figure.column_widths({0.8, 1});
  if (rows < parameters.size())
    figure.title(fmt::format("The first {} of {} parameters", rows, parameters.size()));
  std::vector<KeyEntry> key;
  for (std::size_t chain = 0; chain < std::min(chains, most_in_key); ++chain) {
    key.push_back({fmt::format("chain {}", chain + 1), palette(chain)});
  }
  if (chains <= most_in_key) figure.key(key);
  for (std::size_t row = 0; row < rows; ++row) {
    draw_densities(figure.panel(row, 0), parameters[row]);
    draw_traces(figure.panel(row, 1), parameters[row]);
  }
  figure.panel(rows - 1, 1).x_label("draw");
  figure.save(path);
}

}  // namespace onward::plot
