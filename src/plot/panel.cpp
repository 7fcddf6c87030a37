#include "panel.hpp"

#include <fmt/format.h>

#include "canvas.hpp"
#include "onward/error.hpp"

namespace onward::plot {
namespace {

void check_lengths(const char* mark, std::size_t x, std::size_t y) {
  if (x != y)
    throw UsageError(fmt::format("plot: a {} needs as many x as y values, not {} and {}", mark, x, y));
}

Range checked_range(const char* axis, double low, double high) {
  if (!(shown(low, Scale::linear) && shown(high, Scale::linear) && low < high)) {
    throw UsageError(
        fmt::format("plot: the {} range must rise from one finite number to another, not from {} to {}", axis,
                    low, high));
  }
  return {low, high};
}

std::vector<double> copy(std::span<const double> values) { return {values.begin(), values.end()}; }

}  // namespace

Mark& Panel::Contents::add(Kind kind, const Style& style) {
  if (!(style.size > 0 && style.size < 1000)) {
    throw UsageError(
        fmt::format("plot: the size of a mark must be between 0 and 1000 points, not {}", style.size));
  }
  const bool takes_color = !style.color && kind != Kind::text;
  const Color fallback = kind == Kind::text ? axis_color : palette(colors_used);
  if (takes_color) ++colors_used;
  marks.push_back({kind, {}, {}, {}, style, style.color.value_or(fallback)});
  return marks.back();
}

Panel::Panel() : contents_(std::make_unique<Contents>()) {}
Panel::~Panel() = default;
Panel::Panel(Panel&&) noexcept = default;
Panel& Panel::operator=(Panel&&) noexcept = default;

Panel& Panel::title(std::string text) { return contents_->title = std::move(text), *this; }
Panel& Panel::heading(std::string text) { return contents_->heading = std::move(text), *this; }
Panel& Panel::x_label(std::string text) { return contents_->x.label = std::move(text), *this; }
Panel& Panel::y_label(std::string text) { return contents_->y.label = std::move(text), *this; }
Panel& Panel::x_scale(Scale scale) { return contents_->x.scale = scale, *this; }
Panel& Panel::y_scale(Scale scale) { return contents_->y.scale = scale, *this; }
Panel& Panel::x_ticks(std::vector<Tick> ticks) { return contents_->x_ticks = std::move(ticks), *this; }
Panel& Panel::equal_scale() { return contents_->equal_scale = true, *this; }
Panel& Panel::hide_y_axis() { return contents_->y_hidden = true, *this; }
Panel& Panel::hide() { return contents_->hidden = true, *this; }

Panel& Panel::x_range(double low, double high) {
  contents_->x.range = checked_range("x", low, high);
  return *this;
}

Panel& Panel::y_range(double low, double high) {
  contents_->y.range = checked_range("y", low, high);
  return *this;
}

Panel& Panel::line(std::span<const double> x, std::span<const double> y, const Style& style) {
  check_lengths("line", x.size(), y.size());
  contents_->add(Kind::line, style).curve = {copy(x), copy(y)};
  return *this;
}

Panel& Panel::points(std::span<const double> x, std::span<const double> y, const Style& style) {
  check_lengths("set of points", x.size(), y.size());
  contents_->add(Kind::points, style).curve = {copy(x), copy(y)};
  return *this;
}

Panel& Panel::band(std::span<const double> x, std::span<const double> low, std::span<const double> high,
                   const Style& style) {
  check_lengths("band", x.size(), low.size());
  check_lengths("band", x.size(), high.size());
  Mark& mark = contents_->add(Kind::band, style);
  mark.curve = {copy(x), copy(low)};
  mark.upper = copy(high);
  return *this;
}

Panel& Panel::area(std::span<const double> x, std::span<const double> y, const Style& style) {
  check_lengths("area", x.size(), y.size());
  contents_->add(Kind::area, style).curve = {copy(x), copy(y)};
  return *this;
}

Panel& Panel::histogram(std::span<const double> values, std::size_t bins, const Style& style) {
  Bars bars = histogram_bars(values, bins);
  contents_->add(Kind::bars, style).curve = {std::move(bars.edges), std::move(bars.heights)};
  return *this;
}

Panel& Panel::density(std::span<const double> values, const Style& style) {
  Curve curve = density_curve(values, likely_bounds(values));
  if (curve.x.empty()) {
    const auto sorted = sorted_shown(values);
    if (!sorted.empty()) curve = {{sorted[0], sorted[0]}, {0, 1}};
  }
  contents_->add(Kind::line, style).curve = std::move(curve);
  return *this;
}

Panel& Panel::rule(double y, const Style& style) {
  contents_->add(Kind::rule, style).curve.y = {y};
  return *this;
}

Panel& Panel::vertical_rule(double x, const Style& style) {
  contents_->add(Kind::vertical_rule, style).curve.x = {x};
  return *this;
}

Panel& Panel::text(double x, double y, std::string words, const Style& style) {
  Mark& mark = contents_->add(Kind::text, style);
  mark.curve = {{x}, {y}};
  mark.words = std::move(words);
  return *this;
}

}  // namespace onward::plot
