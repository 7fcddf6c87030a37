#include "onward/plot/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>

#include "axis.hpp"
#include "canvas.hpp"
#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "shape.hpp"

namespace onward::plot {
namespace {

// All lengths in points.
constexpr double points_per_cm = 72 / 2.54;
constexpr double edge = 5;          // white around the figure
constexpr double tick_length = 3;   // outward
constexpr double tick_gap = 2.5;    // between a tick and its number
constexpr double number_size = 8;   // the smallest print
constexpr double label_size = 8.5;  // axis labels, legends
constexpr double title_size = 9;
constexpr double figure_title_size = 11;
constexpr double capital = 0.73;  // height of a capital, in font sizes
const Color axis_color{0.3, 0.3, 0.3};
const Color grid_color{0.9, 0.9, 0.9};
const Color quiet_color{0.45, 0.45, 0.45};

}  // namespace

Color palette(std::size_t i) {
  // Okabe and Ito's colours, darkest contrasts first, with grey for the yellow that print loses.
  static constexpr std::array<Color, 8> colors{{{0.000, 0.447, 0.698},
                                                {0.835, 0.369, 0.000},
                                                {0.000, 0.620, 0.451},
                                                {0.800, 0.475, 0.655},
                                                {0.902, 0.624, 0.000},
                                                {0.337, 0.706, 0.914},
                                                {0.350, 0.350, 0.350},
                                                {0.450, 0.250, 0.100}}};
  return colors[i % colors.size()];
}

Dash dash_pattern(std::size_t i) {
  static constexpr std::array<Dash, 6> patterns{Dash::solid,    Dash::dashed,    Dash::dotted,
                                                Dash::dash_dot, Dash::long_dash, Dash::dash_dot_dot};
  return patterns[i % patterns.size()];
}

namespace {

enum class Kind { line, points, band, area, bars, rule, vertical_rule, text };

// What is drawn, in the panel's own numbers. A rule keeps its place in curve.y or curve.x, bars their edges
// in curve.x and heights in curve.y, a band its upper side in `upper`.
struct Mark {
  Kind kind;
  Curve curve;
  std::vector<double> upper;
  std::string words;
  Style style;
  Color color;
};

struct AxisSettings {
  std::string label;
  Scale scale = Scale::linear;
  std::optional<Range> range;
};

}  // namespace

struct Panel::Contents {
  std::string title, heading;
  AxisSettings x, y;
  std::vector<Tick> x_ticks;
  bool y_hidden = false, hidden = false, equal_scale = false;
  std::vector<Mark> marks;
  std::size_t colors_used = 0;

  Mark& add(Kind kind, const Style& style) {
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
};

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

namespace {

// An axis that has met its data: the range is settled, the place on the page may not be yet.
struct Axis {
  Range range;
  Scale scale;
  std::vector<Tick> ticks;
  double from = 0, to = 0;  // on the page

  double place(double value) const { return from + fraction(value, range, scale) * (to - from); }
};

Axis settle(const char* name, const AxisSettings& settings, const Extent& extent, double margin_low,
            double margin_high) {
  if (settings.range && settings.scale == Scale::log && settings.range->low <= 0) {
    throw UsageError(fmt::format("plot: a log axis cannot begin at {}; give an {} range above 0",
                                 settings.range->low, name));
  }
  return {settings.range.value_or(extent.range(margin_low, margin_high)), settings.scale, {}};
}

class PanelDrawing {
 public:
  PanelDrawing(Canvas& canvas, const Panel::Contents& contents) : canvas_(canvas), contents_(contents) {
    Extent x(contents.x.scale);
    Extent y(contents.y.scale);
    bool from_zero = false;
    for (const Mark& mark : contents.marks) {
      if (mark.kind == Kind::rule || mark.kind == Kind::vertical_rule) continue;
      from_zero |= mark.kind == Kind::bars;
      for (std::size_t i = 0; i < mark.curve.x.size(); ++i) {
        if (mark.kind == Kind::bars) {
          x.add(mark.curve.x[i]);
          if (i < mark.curve.y.size()) y.add(mark.curve.y[i]);
        } else if (shown(mark.curve.x[i], contents.x.scale)) {
          // A value beside a set range must not widen the other axis.
          if (contents.x.range &&
              (mark.curve.x[i] < contents.x.range->low || mark.curve.x[i] > contents.x.range->high)) {
            continue;
          }
          x.add(mark.curve.x[i]);
          y.add(mark.curve.y[i]);
          if (!mark.upper.empty()) y.add(mark.upper[i]);
        }
      }
    }
    if (from_zero || contents.y_hidden) y.add(0);
    empty_ = x.empty() || y.empty();
    const double below = from_zero || contents.y_hidden ? 0 : 0.05;
    x_ = settle("x", contents.x, x, 0.02, 0.02);
    y_ = settle("y", contents.y, y, below, 0.06);
  }

  double left_room(double height) {
    if (contents_.y_hidden || contents_.hidden) return 10;  // for the first number of the x axis
    choose_y_ticks(height);
    double widest = 0;
    for (const Tick& tick : y_.ticks)
      widest = std::max(widest, canvas_.text_width(tick.label, number_font()));
    return widest + tick_length + tick_gap + (contents_.y.label.empty() ? 0 : label_size + 5);
  }
  double bottom_room() const {
    return tick_length + tick_gap + number_size * capital + 2 +
           (contents_.x.label.empty() ? 0 : label_size + 4);
  }
  double top_room() const {
    return contents_.title.empty() && contents_.heading.empty() ? 4 : title_size + 10;
  }

  void draw(const Box& box) {
    box_ = box;
    x_.from = box.left;
    x_.to = box.right;
    y_.from = box.bottom;
    y_.to = box.top;
    if (contents_.hidden) return;
    if (contents_.equal_scale) equalise();
    choose_x_ticks();
    draw_grid();
    canvas_.clip(box);
    for (const Mark& mark : contents_.marks) draw_mark(mark);
    canvas_.unclip();
    draw_axes();
    draw_titles();
    if (empty_) {
      canvas_.text({(box.left + box.right) / 2, (box.top + box.bottom) / 2}, "nothing to show",
                   {label_size, false, quiet_color}, Align::center);
    }
    draw_legend();
  }

 private:
  static Font number_font() { return {number_size, false, axis_color}; }

  bool drawable(double x, double y) const { return shown(x, x_.scale) && shown(y, y_.scale); }

  // Far outside the page a coordinate is as good as at some distance from it, and the drawing library's
  // fixed-point numbers do not overflow.
  Point place(double x, double y) const {
    return {std::clamp(x_.place(x), box_.left - 5000, box_.right + 5000),
            std::clamp(y_.place(y), box_.top - 5000, box_.bottom + 5000)};
  }

  // Widens the range whose unit is the longer on the page, about its middle.
  void equalise() {
    if (x_.scale != Scale::linear || y_.scale != Scale::linear)
      throw UsageError("plot: an equal scale needs two linear axes");
    const double unit = std::min(box_.width() / x_.range.width(), box_.height() / y_.range.width());
    x_.range = widened(x_.range, box_.width() / unit);
    y_.range = widened(y_.range, box_.height() / unit);
    choose_y_ticks(box_.height());
  }
  static Range widened(Range range, double width) {
    const double more = (width - range.width()) / 2;
    return {range.low - more, range.high + more};
  }

  void choose_y_ticks(double height) {
    y_.ticks = ticks(y_.range, y_.scale, std::max<std::size_t>(2, static_cast<std::size_t>(height / 15)));
  }

  // As many numbers as fit beside each other.
  void choose_x_ticks() {
    if (!contents_.x_ticks.empty()) {
      const auto within = [&](const Tick& tick) {
        return shown(tick.value, x_.scale) && tick.value >= x_.range.low && tick.value <= x_.range.high;
      };
      x_.ticks.clear();
      std::copy_if(contents_.x_ticks.begin(), contents_.x_ticks.end(), std::back_inserter(x_.ticks), within);
      return;
    }
    for (auto count = static_cast<std::size_t>(std::max(2.0, box_.width() / 25)); count >= 1; --count) {
      x_.ticks = ticks(x_.range, x_.scale, count);
      double last_end = -std::numeric_limits<double>::infinity();
      bool fits = true;
      for (const Tick& tick : x_.ticks) {
        if (tick.label.empty()) continue;
        const double half = canvas_.text_width(tick.label, number_font()) / 2;
        fits = fits && x_.place(tick.value) - half > last_end;
        last_end = x_.place(tick.value) + half + 6;
      }
      if (fits) return;
    }
  }

  void draw_grid() {
    for (const Tick& tick : x_.ticks) {
      if (tick.label.empty()) continue;
      canvas_.move({x_.place(tick.value), box_.top});
      canvas_.line({x_.place(tick.value), box_.bottom});
    }
    if (!contents_.y_hidden) {
      for (const Tick& tick : y_.ticks) {
        if (tick.label.empty()) continue;
        canvas_.move({box_.left, y_.place(tick.value)});
        canvas_.line({box_.right, y_.place(tick.value)});
      }
    }
    canvas_.stroke(grid_color, 0.5);
  }

  void draw_axes() {
    canvas_.move({box_.left, box_.bottom});
    canvas_.line({box_.right, box_.bottom});
    for (const Tick& tick : x_.ticks) {
      canvas_.move({x_.place(tick.value), box_.bottom});
      canvas_.line(
          {x_.place(tick.value), box_.bottom + (tick.label.empty() ? tick_length / 2 : tick_length)});
    }
    if (!contents_.y_hidden) {
      canvas_.move({box_.left, box_.bottom});
      canvas_.line({box_.left, box_.top});
      for (const Tick& tick : y_.ticks) {
        canvas_.move({box_.left, y_.place(tick.value)});
        canvas_.line(
            {box_.left - (tick.label.empty() ? tick_length / 2 : tick_length), y_.place(tick.value)});
      }
    }
    canvas_.stroke(axis_color, 0.6);

    const double base = box_.bottom + tick_length + tick_gap + number_size * capital;
    for (const Tick& tick : x_.ticks)
      canvas_.text({x_.place(tick.value), base}, tick.label, number_font(), Align::center);
    double widest = 0;
    if (!contents_.y_hidden) {
      for (const Tick& tick : y_.ticks) {
        widest = std::max(widest, canvas_.text_width(tick.label, number_font()));
        canvas_.text({box_.left - tick_length - tick_gap, y_.place(tick.value) + number_size * capital / 2},
                     tick.label, number_font(), Align::right);
      }
    }
    if (!contents_.x.label.empty()) {
      canvas_.text({(box_.left + box_.right) / 2, base + label_size + 4}, contents_.x.label, {label_size},
                   Align::center);
    }
    if (!contents_.y.label.empty()) {
      const double left =
          contents_.y_hidden ? box_.left - 3 : box_.left - tick_length - tick_gap - widest - 6;
      canvas_.text({left, (box_.top + box_.bottom) / 2}, contents_.y.label, {label_size}, Align::center,
                   true);
    }
  }

  void draw_titles() {
    const double base = box_.top - 5;
    const Font font{number_size, false, quiet_color};
    const double room =
        box_.width() - (contents_.heading.empty() ? 0 : canvas_.text_width(contents_.heading, font) + 6);
    canvas_.text({box_.left, base}, shortened(contents_.title, {title_size, true}, room), {title_size, true});
    canvas_.text({box_.right, base}, contents_.heading, font, Align::right);
  }

  // Cut at the end, at a whole character, until it fits.
  std::string shortened(std::string words, const Font& font, double room) {
    if (canvas_.text_width(words, font) <= room) return words;
    while (!words.empty() && canvas_.text_width(words + "\u2026", font) > room) {
      while (words.size() > 1 && (static_cast<unsigned char>(words.back()) & 0xC0U) == 0x80U)
        words.pop_back();
      words.pop_back();
    }
    return words + "\u2026";
  }

  void draw_mark(const Mark& mark) {
    switch (mark.kind) {
      case Kind::line:
        return draw_line(mark);
      case Kind::points:
        return draw_points(mark);
      case Kind::band:
        return draw_band(mark);
      case Kind::area:
        return draw_area(mark);
      case Kind::bars:
        return draw_bars(mark);
      case Kind::rule:
        return draw_rule(mark);
      case Kind::vertical_rule:
        return draw_vertical_rule(mark);
      case Kind::text:
        return draw_text(mark);
    }
  }

  void draw_line(const Mark& mark) {
    // On a log axis equal columns of the page are unequal in x, so the line is left as it is.
    const Curve curve = x_.scale == Scale::log ? mark.curve
                                               : thinned(mark.curve, x_.range.low, x_.range.high,
                                                         static_cast<std::size_t>(box_.width()) + 1);
    bool drawing = false;
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!drawable(curve.x[i], curve.y[i])) {
        drawing = false;
        continue;
      }
      const Point at = place(curve.x[i], curve.y[i]);
      drawing ? canvas_.line(at) : canvas_.move(at);
      drawing = true;
    }
    canvas_.stroke(mark.color, mark.style.size, mark.style.dash);
    // A point between two gaps has no line to be part of.
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      const bool before = i > 0 && drawable(curve.x[i - 1], curve.y[i - 1]);
      const bool after = i + 1 < curve.x.size() && drawable(curve.x[i + 1], curve.y[i + 1]);
      if (drawable(curve.x[i], curve.y[i]) && !before && !after) {
        canvas_.disc(place(curve.x[i], curve.y[i]), 2 * mark.style.size, mark.color);
      }
    }
  }

  void draw_points(const Mark& mark) {
    for (std::size_t i = 0; i < mark.curve.x.size(); ++i) {
      if (!drawable(mark.curve.x[i], mark.curve.y[i])) continue;
      const Point at = place(mark.curve.x[i], mark.curve.y[i]);
      canvas_.move(at);
      canvas_.line(at);
    }
    canvas_.dots(mark.color, mark.style.size);
  }

  void draw_band(const Mark& mark) {
    const auto& [x, low] = mark.curve;
    const auto good = [&](std::size_t i) { return drawable(x[i], low[i]) && drawable(x[i], mark.upper[i]); };
    for (std::size_t begin = 0; begin < x.size(); ++begin) {
      if (!good(begin)) continue;
      std::size_t end = begin;
      canvas_.move(place(x[begin], low[begin]));
      for (; end < x.size() && good(end); ++end) canvas_.line(place(x[end], low[end]));
      for (std::size_t i = end; i-- > begin;) canvas_.line(place(x[i], mark.upper[i]));
      canvas_.fill(mark.color);
      begin = end;
    }
  }

  void draw_area(const Mark& mark) {
    bool drawing = false;
    for (std::size_t i = 0; i < mark.curve.x.size(); ++i) {
      if (!drawable(mark.curve.x[i], mark.curve.y[i])) continue;
      const Point at = place(mark.curve.x[i], mark.curve.y[i]);
      drawing ? canvas_.line(at) : canvas_.move(at);
      drawing = true;
    }
    canvas_.fill(mark.color);
  }

  void draw_bars(const Mark& mark) {
    const double base = y_.scale == Scale::log ? y_.range.low : 0;
    for (std::size_t i = 0; i < mark.curve.y.size(); ++i) {
      if (!drawable(mark.curve.x[i], mark.curve.y[i]) || !drawable(mark.curve.x[i + 1], mark.curve.y[i]))
        continue;
      const Point low = place(mark.curve.x[i], base);
      const Point high = place(mark.curve.x[i + 1], mark.curve.y[i]);
      // A hair of overlap hides the seams between bars.
      canvas_.move(low);
      canvas_.line({low.x, high.y});
      canvas_.line({high.x, high.y});
      canvas_.line({high.x, low.y});
    }
    canvas_.fill(mark.color);
  }

  void draw_rule(const Mark& mark) {
    if (!shown(mark.curve.y[0], y_.scale)) return;
    const double y = place(x_.range.low, mark.curve.y[0]).y;
    canvas_.move({box_.left, y});
    canvas_.line({box_.right, y});
    canvas_.stroke(mark.color, mark.style.size, mark.style.dash);
  }

  void draw_vertical_rule(const Mark& mark) {
    if (!shown(mark.curve.x[0], x_.scale)) return;
    const double x = place(mark.curve.x[0], y_.range.low).x;
    canvas_.move({x, box_.bottom});
    canvas_.line({x, box_.top});
    canvas_.stroke(mark.color, mark.style.size, mark.style.dash);
  }

  void draw_text(const Mark& mark) {
    if (!drawable(mark.curve.x[0], mark.curve.y[0])) return;
    const Point at = place(mark.curve.x[0], mark.curve.y[0]);
    const Font font{number_size, false, mark.color};
    canvas_.halo(at, mark.words, font);
    canvas_.text(at, mark.words, font);
  }

  void draw_legend() {
    constexpr double row = label_size + 3.5;
    constexpr double sample = 14;
    double widest = 0;
    std::size_t rows = 0;
    for (const Mark& mark : contents_.marks) {
      if (mark.style.label.empty()) continue;
      widest = std::max(widest, canvas_.text_width(mark.style.label, {label_size}));
      ++rows;
    }
    if (rows == 0) return;
    const double width = sample + 5 + widest + 8;
    const double height = static_cast<double>(rows) * row + 4;
    const Box box = emptiest_corner(width, height);
    canvas_.rectangle(box, {1, 1, 1, 0.8});
    double y = box.top + 2;
    for (const Mark& mark : contents_.marks) {
      if (mark.style.label.empty()) continue;
      const double middle = y + row / 2;
      const Box swatch{box.left + 4, middle - 3, box.left + 4 + sample, middle + 3};
      switch (mark.kind) {
        case Kind::band:
        case Kind::area:
        case Kind::bars:
          canvas_.rectangle(swatch, mark.color);
          break;
        case Kind::points:
          canvas_.disc({swatch.left + sample / 2, middle}, mark.style.size, mark.color);
          break;
        default:
          canvas_.move({swatch.left, middle});
          canvas_.line({swatch.right, middle});
          canvas_.stroke(mark.color, std::max(mark.style.size, 1.0), mark.style.dash);
      }
      canvas_.text({swatch.right + 5, middle + label_size * capital / 2}, mark.style.label, {label_size});
      y += row;
    }
  }

  // Of the four corners of the panel, the one with the least drawn in it.
  Box emptiest_corner(double width, double height) {
    constexpr double gap = 4;
    const std::array<Point, 4> corners{{{box_.right - gap - width, box_.top + gap},
                                        {box_.left + gap, box_.top + gap},
                                        {box_.right - gap - width, box_.bottom - gap - height},
                                        {box_.left + gap, box_.bottom - gap - height}}};
    std::array<double, 4> crowd{};
    const auto count = [&](double x, double y, double weight) {
      if (!drawable(x, y)) return;
      const Point at = place(x, y);
      for (std::size_t i = 0; i < corners.size(); ++i) {
        const Point corner = corners[i];
        if (at.x >= corner.x && at.x <= corner.x + width && at.y >= corner.y && at.y <= corner.y + height)
          crowd[i] += weight;
      }
    };
    for (const Mark& mark : contents_.marks) {
      const auto& [x, y] = mark.curve;
      if (mark.kind == Kind::text && drawable(x[0], y[0])) {
        const Point at = place(x[0], y[0]);
        const double end = at.x + canvas_.text_width(mark.words, number_font());
        for (std::size_t i = 0; i < corners.size(); ++i) {
          const Point corner = corners[i];
          const bool beside = end < corner.x || at.x > corner.x + width;
          const bool apart = at.y < corner.y || at.y - number_size > corner.y + height;
          if (!beside && !apart) crowd[i] += 1;
        }
        continue;
      }
      const std::size_t size = std::min(x.size(), y.size());
      // Between neighbours a line is drawn as well, so places along it count.
      for (std::size_t i = 0; i < size; ++i) {
        const double weight = 1.0 / static_cast<double>(size);
        const std::size_t next = std::min(i + 1, size - 1);
        for (const double part : {0.0, 0.25, 0.5, 0.75}) {
          count(std::lerp(x[i], x[next], part), std::lerp(y[i], y[next], part), weight);
          if (!mark.upper.empty()) {
            count(std::lerp(x[i], x[next], part), std::lerp(mark.upper[i], mark.upper[next], part), weight);
          }
        }
      }
    }
    const Point best =
        corners[static_cast<std::size_t>(std::min_element(crowd.begin(), crowd.end()) - crowd.begin())];
    return {best.x, best.y, best.x + width, best.y + height};
  }

  Canvas& canvas_;
  const Panel::Contents& contents_;
  Axis x_{}, y_{};
  Box box_{};
  bool empty_ = false;
};

// The title to the left and the key to the right of one line, or on two lines where one is too short.
// Returns where the panels may begin.
double draw_head(Canvas& canvas, double page_width, const std::string& title,
                 const std::vector<KeyEntry>& key) {
  // A broken line is known by several of its pieces.
  const bool broken =
      std::any_of(key.begin(), key.end(), [](const KeyEntry& entry) { return entry.dash != Dash::solid; });
  const double swatch = broken ? 24 : 12;
  const Font title_font{figure_title_size, true};
  double key_width = 0;
  for (const KeyEntry& entry : key)
    key_width += swatch + 4 + canvas.text_width(entry.label, {label_size}) + 10;
  double base = edge + figure_title_size * capital + 2;
  if (!title.empty()) {
    canvas.text({edge, base}, title, title_font);
    if (edge + canvas.text_width(title, title_font) + 15 + key_width > page_width - edge)
      base += figure_title_size + 4;
  }
  double x = std::max(edge, page_width - edge - key_width + 10);
  for (const KeyEntry& entry : key) {
    const double width = swatch + 4 + canvas.text_width(entry.label, {label_size});
    if (x > edge && x + width > page_width - edge) {  // as many lines as it takes
      x = edge;
      base += label_size + 6;
    }
    canvas.move({x, base - 3});
    canvas.line({x + swatch, base - 3});
    canvas.stroke(entry.color, broken ? 1.5 : 3, entry.dash);
    canvas.text({x + swatch + 4, base}, entry.label, {label_size});
    x += width + 10;
  }
  return title.empty() && key.empty() ? edge : base + 7;
}

Canvas::Format format_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  if (ending == ".svg") return Canvas::Format::svg;
  if (ending == ".png") return Canvas::Format::png;
  throw UsageError(fmt::format("{}: a picture's name must end in .svg or .png", path));
}

}  // namespace

Figure::Figure(std::size_t rows, std::size_t columns, double width_cm, double height_cm)
    : rows_(rows), columns_(columns), width_(width_cm * points_per_cm), height_(height_cm * points_per_cm) {
  if (rows == 0 || columns == 0 || rows > 1000 || columns > 1000) {
    throw UsageError(
        fmt::format("plot: a figure needs 1 to 1000 rows and columns, not {} and {}", rows, columns));
  }
  if (!(width_cm >= 1 && width_cm <= 200 && height_cm >= 1 && height_cm <= 200)) {
    throw UsageError(
        fmt::format("plot: a figure is 1 to 200 cm wide and high, not {} and {}", width_cm, height_cm));
  }
  weights_.assign(columns, 1.0);
  panels_.resize(rows * columns);
}

Panel& Figure::panel(std::size_t row, std::size_t column) {
  if (row >= rows_ || column >= columns_) {
    throw UsageError(
        fmt::format("plot: there is no panel ({}, {}) in a figure of {} x {}", row, column, rows_, columns_));
  }
  return panels_[row * columns_ + column];
}

Figure& Figure::title(std::string text) { return title_ = std::move(text), *this; }
Figure& Figure::key(std::vector<KeyEntry> entries) { return key_ = std::move(entries), *this; }

Figure& Figure::column_widths(std::vector<double> weights) {
  const bool positive =
      std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0 && w < 1e6; });
  if (weights.size() != columns_ || !positive) {
    throw UsageError(fmt::format("plot: column widths must be {} positive numbers", columns_));
  }
  weights_ = std::move(weights);
  return *this;
}

void Figure::save(const std::string& path) const {
  Canvas canvas(format_of(path), width_, height_);
  const double head = draw_head(canvas, width_, title_, key_);

  std::vector<PanelDrawing> drawings;
  drawings.reserve(panels_.size());
  for (const Panel& panel : panels_) drawings.emplace_back(canvas, *panel.contents_);

  // Axes stand under and beside each other: a row shares the room above and below, a column that to the left.
  constexpr double right_room = 12;  // the last number of an x axis reaches beyond it
  std::vector<double> above(rows_, 0), below(rows_, 0), left(columns_, 0);
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    above[i / columns_] = std::max(above[i / columns_], drawings[i].top_room());
    below[i / columns_] = std::max(below[i / columns_], drawings[i].bottom_room());
  }
  const auto sum = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  const double height = (height_ - head - edge - sum(above) - sum(below)) / static_cast<double>(rows_);
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    left[i % columns_] = std::max(left[i % columns_], drawings[i].left_room(std::max(height, 1.0)));
  }
  const double width = width_ - 2 * edge - sum(left) - static_cast<double>(columns_) * right_room;
  const double narrowest = width * *std::min_element(weights_.begin(), weights_.end()) / sum(weights_);
  if (height < 15 || narrowest < 15) {
    throw UsageError(fmt::format("{}: {} x {} panels leave no room to draw in; make the figure larger", path,
                                 rows_, columns_));
  }

  double y = head;
  for (std::size_t row = 0; row < rows_; ++row) {
    y += above[row];
    double x = edge;
    for (std::size_t column = 0; column < columns_; ++column) {
      x += left[column];
      const double panel_width = width * weights_[column] / sum(weights_);
      drawings[row * columns_ + column].draw({x, y, x + panel_width, y + height});
      x += panel_width + right_room;
    }
    y += height + below[row];
  }
  write_file_atomically(path, canvas.finish());
}

}  // namespace onward::plot
