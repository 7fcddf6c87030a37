#include "panel_drawing.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::plot {
namespace {

constexpr double tick_length = 3;  // outward
constexpr double tick_gap = 2.5;   // between a tick and its number
constexpr double title_size = 9;
constexpr Color grid_color{0.9, 0.9, 0.9};
constexpr Color quiet_color{0.45, 0.45, 0.45};

Axis settle(const char* name, const AxisSettings& settings, const Extent& extent, double margin_low,
            double margin_high) {
  if (settings.range && settings.scale == Scale::log && settings.range->low <= 0) {
    throw UsageError(fmt::format("plot: a log axis cannot begin at {}; give an {} range above 0",
                                 settings.range->low, name));
  }
  return {settings.range.value_or(extent.range(margin_low, margin_high)), settings.scale, {}};
}

Range widened(Range range, double width) {
  const double more = (width - range.width()) / 2;
  return {range.low - more, range.high + more};
}

}  // namespace

PanelDrawing::PanelDrawing(Canvas& canvas, const Panel::Contents& contents)
    : canvas_(canvas), contents_(contents) {
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
  area_.x = settle("x", contents.x, x, 0.02, 0.02);
  area_.y = settle("y", contents.y, y, below, 0.06);
}

double PanelDrawing::left_room(double height) {
  if (contents_.y_hidden || contents_.hidden) return 10;  // for the first number of the x axis
  choose_y_ticks(height);
  double widest = 0;
  for (const Tick& tick : area_.y.ticks)
    widest = std::max(widest, canvas_.text_width(tick.label, number_font()));
  return widest + tick_length + tick_gap + (contents_.y.label.empty() ? 0 : label_size + 5);
}
double PanelDrawing::bottom_room() const {
  return tick_length + tick_gap + number_size * capital + 2 +
         (contents_.x.label.empty() ? 0 : label_size + 4);
}
double PanelDrawing::top_room() const {
  return contents_.title.empty() && contents_.heading.empty() ? 4 : title_size + 10;
}

void PanelDrawing::draw(const Box& box) {
  area_.box = box;
  area_.x.from = box.left;
  area_.x.to = box.right;
  area_.y.from = box.bottom;
  area_.y.to = box.top;
  if (contents_.hidden) return;
  if (contents_.equal_scale) equalise();
  choose_x_ticks();
  draw_grid();
  canvas_.clip(box);
  for (const Mark& mark : contents_.marks) draw_mark(canvas_, area_, mark);
  canvas_.unclip();
  draw_axes();
  draw_titles();
  if (empty_) {
    canvas_.text({(box.left + box.right) / 2, (box.top + box.bottom) / 2}, "nothing to show",
                 {label_size, false, quiet_color}, Align::center);
  }
  draw_legend(canvas_, area_, contents_.marks);
}

// Widens the range whose unit is the longer on the page, about its middle.
void PanelDrawing::equalise() {
  if (area_.x.scale != Scale::linear || area_.y.scale != Scale::linear)
    throw UsageError("plot: an equal scale needs two linear axes");
  const double unit =
      std::min(area_.box.width() / area_.x.range.width(), area_.box.height() / area_.y.range.width());
  area_.x.range = widened(area_.x.range, area_.box.width() / unit);
  area_.y.range = widened(area_.y.range, area_.box.height() / unit);
  choose_y_ticks(area_.box.height());
}

void PanelDrawing::choose_y_ticks(double height) {
  area_.y.ticks =
      ticks(area_.y.range, area_.y.scale, std::max<std::size_t>(2, static_cast<std::size_t>(height / 15)));
}

// As many numbers as fit beside each other.
void PanelDrawing::choose_x_ticks() {
  if (!contents_.x_ticks.empty()) {
    const auto within = [&](const Tick& tick) {
      return shown(tick.value, area_.x.scale) && tick.value >= area_.x.range.low &&
             tick.value <= area_.x.range.high;
    };
    area_.x.ticks.clear();
    std::copy_if(contents_.x_ticks.begin(), contents_.x_ticks.end(), std::back_inserter(area_.x.ticks),
                 within);
    return;
  }
  for (auto count = static_cast<std::size_t>(std::max(2.0, area_.box.width() / 25)); count >= 1; --count) {
    area_.x.ticks = ticks(area_.x.range, area_.x.scale, count);
    double last_end = -std::numeric_limits<double>::infinity();
    bool fits = true;
    for (const Tick& tick : area_.x.ticks) {
      if (tick.label.empty()) continue;
      const double half = canvas_.text_width(tick.label, number_font()) / 2;
      fits = fits && area_.x.place(tick.value) - half > last_end;
      last_end = area_.x.place(tick.value) + half + 6;
    }
    if (fits) return;
  }
}

void PanelDrawing::draw_grid() {
  for (const Tick& tick : area_.x.ticks) {
    if (tick.label.empty()) continue;
    canvas_.move({area_.x.place(tick.value), area_.box.top});
    canvas_.line({area_.x.place(tick.value), area_.box.bottom});
  }
  if (!contents_.y_hidden) {
    for (const Tick& tick : area_.y.ticks) {
      if (tick.label.empty()) continue;
      canvas_.move({area_.box.left, area_.y.place(tick.value)});
      canvas_.line({area_.box.right, area_.y.place(tick.value)});
    }
  }
  canvas_.stroke(grid_color, 0.5);
}

void PanelDrawing::draw_axes() {
  canvas_.move({area_.box.left, area_.box.bottom});
  canvas_.line({area_.box.right, area_.box.bottom});
  for (const Tick& tick : area_.x.ticks) {
    canvas_.move({area_.x.place(tick.value), area_.box.bottom});
    canvas_.line(
        {area_.x.place(tick.value), area_.box.bottom + (tick.label.empty() ? tick_length / 2 : tick_length)});
  }
  if (!contents_.y_hidden) {
    canvas_.move({area_.box.left, area_.box.bottom});
    canvas_.line({area_.box.left, area_.box.top});
    for (const Tick& tick : area_.y.ticks) {
      canvas_.move({area_.box.left, area_.y.place(tick.value)});
      canvas_.line(
          {area_.box.left - (tick.label.empty() ? tick_length / 2 : tick_length), area_.y.place(tick.value)});
    }
  }
  canvas_.stroke(axis_color, 0.6);

  const double base = area_.box.bottom + tick_length + tick_gap + number_size * capital;
  for (const Tick& tick : area_.x.ticks)
    canvas_.text({area_.x.place(tick.value), base}, tick.label, number_font(), Align::center);
  double widest = 0;
  if (!contents_.y_hidden) {
    for (const Tick& tick : area_.y.ticks) {
      widest = std::max(widest, canvas_.text_width(tick.label, number_font()));
      canvas_.text(
          {area_.box.left - tick_length - tick_gap, area_.y.place(tick.value) + number_size * capital / 2},
          tick.label, number_font(), Align::right);
    }
  }
  if (!contents_.x.label.empty()) {
    canvas_.text({(area_.box.left + area_.box.right) / 2, base + label_size + 4}, contents_.x.label,
                 {label_size}, Align::center);
  }
  if (!contents_.y.label.empty()) {
    const double left =
        contents_.y_hidden ? area_.box.left - 3 : area_.box.left - tick_length - tick_gap - widest - 6;
    canvas_.text({left, (area_.box.top + area_.box.bottom) / 2}, contents_.y.label, {label_size},
                 Align::center, true);
  }
}

void PanelDrawing::draw_titles() {
  const double base = area_.box.top - 5;
  const Font font{number_size, false, quiet_color};
  const double room =
      area_.box.width() - (contents_.heading.empty() ? 0 : canvas_.text_width(contents_.heading, font) + 6);
  canvas_.text({area_.box.left, base}, shortened(contents_.title, {title_size, true}, room),
               {title_size, true});
  canvas_.text({area_.box.right, base}, contents_.heading, font, Align::right);
}

// Cut at the end, at a whole character, until it fits.
std::string PanelDrawing::shortened(std::string words, const Font& font, double room) {
  if (canvas_.text_width(words, font) <= room) return words;
  while (!words.empty() && canvas_.text_width(words + "\u2026", font) > room) {
    while (words.size() > 1 && !begins_character(words.back())) words.pop_back();
    words.pop_back();
  }
  return words + "\u2026";
}

}  // namespace onward::plot
