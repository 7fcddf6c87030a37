#include "onward/plot/check_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/plot/figure.hpp"
#include "shape.hpp"

namespace onward::plot {
namespace {

const Color data_colour = {0.10, 0.10, 0.25, 1};
Color replicated_colour(double alpha) {
  Color colour = palette(0);
  colour.alpha = alpha;
  return colour;
}

/// From where to where a panel goes: all data, and the replicated values but for the farthest of them, which
/// would leave no room for the others.
struct Range {
  double low, high;

  explicit Range(const CheckedValues& values) {
    const auto [least, most] = std::ranges::minmax_element(values.y);
    low = *least, high = *most;
    std::vector<double> all;
    for (const auto& one : values.replicated) all.insert(all.end(), one.begin(), one.end());
    all = sorted_shown(all);
    if (all.empty()) return;
    const std::size_t cut = all.size() / 400;
    low = std::min(low, all[cut]);
    high = std::max(high, all[all.size() - 1 - cut]);
  }
};

/// Densities of the data and of up to 50 replicated data sets.
void draw_densities(const CheckedValues& values, Panel& panel) {
  const Range range(values);
  const double span = range.high - range.low;
  constexpr std::size_t most = 50;
  const std::size_t count = std::min(most, values.replicated.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> near = values.replicated[i * values.replicated.size() / count];
    // Far outliers would make the curve of all others coarse.
    std::erase_if(near, [&](double x) { return !(x >= range.low - span && x <= range.high + span); });
    panel.density(near, {.color = replicated_colour(0.3), .size = 0.6});
  }
  panel.density(values.y, {.color = data_colour, .size = 1.8});
  if (span > 0) panel.x_range(range.low - 0.06 * span, range.high + 0.06 * span);
  panel.hide_y_axis();
}

/// Whole numbers, or several of them side by side where there are many, as bars.
class WholeBars {
 public:
  WholeBars(double first, double last) : first_(first) {
    constexpr double most = 30;
    width_ = std::max(1.0, std::ceil((last - first + 1) / most));
    bins_ = static_cast<std::size_t>((last - first) / width_) + 1;
  }

  std::size_t bins() const { return bins_; }
  double low() const { return middle(0) - 0.7 * width_; }
  double high() const { return middle(bins_ - 1) + 0.7 * width_; }
  double middle(std::size_t b) const { return first_ + width_ * static_cast<double>(b) + (width_ - 1) / 2; }

  /// The share of the values in each bar.
  std::vector<double> shares(const std::vector<double>& values) const {
    std::vector<double> share(bins_);
    for (const double x : values)
      if (const double b = std::floor((x - first_) / width_); b >= 0 && b < static_cast<double>(bins_))
        share[static_cast<std::size_t>(b)] += 1 / static_cast<double>(values.size());
    return share;
  }
  void draw(const std::vector<double>& values, const Color& colour, Panel& panel) const {
    const std::vector<double> share = shares(values);
    for (std::size_t b = 0; b < bins_; ++b) {
      const double left = middle(b) - 0.4 * width_, right = middle(b) + 0.4 * width_;
      panel.area(std::array{left, right, right, left}, std::array{0.0, 0.0, share[b], share[b]},
                 {.color = colour});
    }
  }

 private:
  double first_, width_ = 1;
  std::size_t bins_ = 1;
};

/// Bars for the data, points and 90% intervals for the replicated data sets.
void draw_bars(const CheckedValues& values, std::size_t classes, Panel& panel) {
  const Range range(values);
  const WholeBars bars =
      classes > 0 ? WholeBars(0, static_cast<double>(classes) - 1) : WholeBars(range.low, range.high);
  bars.draw(values.y, {data_colour.red, data_colour.green, data_colour.blue, 0.3}, panel);
  std::vector<std::vector<double>> by_bar(bars.bins());
  for (const auto& one : values.replicated) {
    const std::vector<double> share = bars.shares(one);
    for (std::size_t b = 0; b < share.size(); ++b) by_bar[b].push_back(share[b]);
  }
  std::vector<double> at, centre;
  for (std::size_t b = 0; b < by_bar.size(); ++b) {
    at.push_back(bars.middle(b));
    centre.push_back(quantile(by_bar[b], 0.5));
    panel.line(std::array{at[b], at[b]}, std::array{quantile(by_bar[b], 0.05), quantile(by_bar[b], 0.95)},
               {.color = replicated_colour(1), .size = 1.5});
  }
  panel.points(at, centre, {.color = replicated_colour(1), .size = 4});
  panel.x_range(bars.low(), bars.high()).y_label("share of rows");
}

void draw_distribution(const CheckPicture& check, const CheckedValues& values, Panel& panel) {
  panel.title(values.title).x_label(check.response);
  if (!check.bars) return draw_densities(values, panel);
  draw_bars(values, check.classes.size(), panel);
  if (check.classes.empty()) return;
  std::vector<Tick> ticks;
  for (std::size_t k = 0; k < check.classes.size(); ++k)
    ticks.push_back({static_cast<double>(k), check.classes[k]});
  panel.x_ticks(std::move(ticks));
}

void draw_statistic(const StatisticHistogram& statistic, Panel& panel) {
  panel.title(statistic.name).heading(statistic.heading).hide_y_axis();
  auto [least, most] = std::ranges::minmax(statistic.replicated);
  least = std::min(least, statistic.observed), most = std::max(most, statistic.observed);
  if (std::ranges::all_of(statistic.replicated, [](double x) { return x == std::floor(x); })) {
    const WholeBars bars(std::floor(least), std::ceil(most));
    bars.draw(statistic.replicated, replicated_colour(0.5), panel);
    panel.x_range(bars.low(), bars.high());
  } else {
    panel.histogram(statistic.replicated, 0, {.color = replicated_colour(0.5)});
    const double room = most > least ? 0.05 * (most - least) : std::max(std::abs(most), 1.0) * 0.5;
    panel.x_range(least - room, most + room);
  }
  panel.vertical_rule(statistic.observed, {.color = data_colour, .size = 2});
}

void draw_levels(const CheckPicture& check, const StatisticByLevel& statistic, Panel& panel) {
  panel.title(statistic.name);
  std::vector<double> at, inside(check.levels.size(), NAN), outside = inside;
  for (std::size_t k = 0; k < check.levels.size(); ++k) {
    at.push_back(static_cast<double>(k));
    panel.line(std::array{at[k], at[k]}, std::array{statistic.low[k], statistic.high[k]},
               {.color = replicated_colour(0.7), .size = 2});
    const bool within =
        statistic.observed[k] >= statistic.low[k] && statistic.observed[k] <= statistic.high[k];
    (within ? inside : outside)[k] = statistic.observed[k];
  }
  panel.points(at, inside, {.color = data_colour, .size = 4});
  panel.points(at, outside, {.color = palette(1), .size = 5});
  const std::size_t every = (check.levels.size() + 9) / 10;  // as many names as there is room for
  std::vector<Tick> ticks;
  for (std::size_t k = 0; k < check.levels.size(); k += every) ticks.push_back({at[k], check.levels[k]});
  panel.x_ticks(std::move(ticks)).x_range(-0.7, static_cast<double>(check.levels.size()) - 0.3);
}

void require_lengths(const CheckPicture& check) {
  for (const CheckedValues& values : check.distributions)
    if (values.y.empty() || values.replicated.empty() || values.replicated.front().empty())
      throw UsageError("plot: a check needs values of the data and of replicated data sets");
  for (const StatisticHistogram& statistic : check.statistics)
    if (statistic.replicated.empty())
      throw UsageError(fmt::format("plot: the statistic {} has no replicated data sets", statistic.name));
  for (const StatisticByLevel& statistic : check.by_level)
    for (const auto* numbers : {&statistic.observed, &statistic.low, &statistic.high})
      if (numbers->size() != check.levels.size())
        throw UsageError(fmt::format("plot: the statistic {} has {} numbers for {} levels", statistic.name,
                                     numbers->size(), check.levels.size()));
}

}  // namespace

void check_picture(const std::string& path, const CheckPicture& check) {
  require_lengths(check);
  const std::size_t panels = check.distributions.size() + check.statistics.size() + check.by_level.size();
  if (panels == 0) throw Error(fmt::format("{}: there is nothing to make a picture of", path));
  // Levels stand side by side, and need wide panels.
  const std::size_t columns = std::min<std::size_t>(panels, check.by_level.empty() ? 3 : 2),
                    rows = (panels + columns - 1) / columns;
  Figure figure(rows, columns, columns == 1 ? 12 : 18, 1.2 + 5.2 * static_cast<double>(rows));
  std::size_t next = 0;
  const auto panel = [&]() -> Panel& {
    Panel& found = figure.panel(next / columns, next % columns);
    ++next;
    return found;
  };
  for (const auto& values : check.distributions) draw_distribution(check, values, panel());
  for (const auto& statistic : check.statistics) draw_statistic(statistic, panel());
  for (const auto& statistic : check.by_level) draw_levels(check, statistic, panel());
  while (next < rows * columns) panel().hide();
  std::vector<KeyEntry> key{{"data", data_colour}, {"replicated by the model", replicated_colour(1)}};
  if (!check.by_level.empty()) key.push_back({"data outside of the 90% interval", palette(1)});
  figure.key(std::move(key));
  figure.save(path);
}

}  // namespace onward::plot
