#include "onward/plot/effect_picture.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/plot/figure.hpp"

namespace onward::plot {
namespace {

void draw_over_numbers(const EffectPicture& effect, Panel& panel) {
  for (std::size_t i = 0; i < effect.lines.size(); ++i) {
    Color shade = palette(i);
    shade.alpha = 0.2;
    panel.band(effect.places, effect.lines[i].low, effect.lines[i].high, {.color = shade});
  }
  for (std::size_t i = 0; i < effect.lines.size(); ++i)
    panel.line(effect.places, effect.lines[i].middle,
               {.color = palette(i), .size = 1.5, .dash = dash_pattern(i), .label = effect.lines[i].label});
}

/// Levels stand at whole numbers, and the lines of one level beside each other.
void draw_over_levels(const EffectPicture& effect, Panel& panel) {
  const double lines = static_cast<double>(effect.lines.size());
  const double step = std::min(0.2, 0.7 / lines);
  for (std::size_t i = 0; i < effect.lines.size(); ++i) {
    const EffectLine& line = effect.lines[i];
    const double shift = step * (static_cast<double>(i) - (lines - 1) / 2);
    std::vector<double> at;
    for (std::size_t k = 0; k < effect.levels.size(); ++k) {
      at.push_back(static_cast<double>(k) + shift);
      panel.line(std::array{at[k], at[k]}, std::array{line.low[k], line.high[k]},
                 {.color = palette(i), .size = 1.5});
    }
    panel.points(at, line.middle, {.color = palette(i), .size = 6, .label = line.label});
  }
  // As many names as there is room for.
  const std::size_t every = (effect.levels.size() + 11) / 12;
  std::vector<Tick> ticks;
  for (std::size_t k = 0; k < effect.levels.size(); ++k)
    ticks.push_back({static_cast<double>(k), k % every == 0 ? effect.levels[k] : ""});
  panel.x_ticks(std::move(ticks)).x_range(-0.5, static_cast<double>(effect.levels.size()) - 0.5);
}

}  // namespace

void effect_picture(const std::string& path, const EffectPicture& effect) {
  const std::size_t count = effect.levels.empty() ? effect.places.size() : effect.levels.size();
  if (count == 0 || effect.lines.empty())
    throw Error(fmt::format("{}: there are no effects to make a picture of", path));
  for (const EffectLine& line : effect.lines)
    if (line.middle.size() != count || line.low.size() != count || line.high.size() != count)
      throw UsageError(
          fmt::format("plot: effects at {} places need as many middles and ends, not {}, {} and {}", count,
                      line.middle.size(), line.low.size(), line.high.size()));
  Figure figure(1, 1, 14, 9);
  Panel& panel = figure.panel(0, 0);
  panel.x_label(effect.x_label).y_label(effect.y_label).heading(effect.heading);
  if (effect.levels.empty())
    draw_over_numbers(effect, panel);
  else
    draw_over_levels(effect, panel);
  figure.save(path);
}

}  // namespace onward::plot
