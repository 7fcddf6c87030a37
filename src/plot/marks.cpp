#include "marks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace onward::plot {
namespace {

/// What becomes of points that cannot be drawn: they break the line, or it goes on to the next point.
enum class Gaps { shown, closed };

void trace(Canvas& canvas, const PlotArea& area, const Curve& curve, Gaps gaps) {
  bool drawing = false;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (!area.drawable(curve.x[i], curve.y[i])) {
      drawing = drawing && gaps == Gaps::closed;
      continue;
    }
    const Point at = area.place(curve.x[i], curve.y[i]);
    drawing ? canvas.line(at) : canvas.move(at);
    drawing = true;
  }
}

void draw_line(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  // On a log axis equal columns of the page are unequal in x, so the line is left as it is.
  const Curve curve = area.x.scale == Scale::log ? mark.curve
                                                 : thinned(mark.curve, area.x.range.low, area.x.range.high,
                                                           static_cast<std::size_t>(area.box.width()) + 1);
  trace(canvas, area, curve, Gaps::shown);
  canvas.stroke(mark.color, mark.style.size, mark.style.dash);
  // A point between two gaps has no line to be part of.
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const bool before = i > 0 && area.drawable(curve.x[i - 1], curve.y[i - 1]);
    const bool after = i + 1 < curve.x.size() && area.drawable(curve.x[i + 1], curve.y[i + 1]);
    if (area.drawable(curve.x[i], curve.y[i]) && !before && !after) {
      canvas.disc(area.place(curve.x[i], curve.y[i]), 2 * mark.style.size, mark.color);
    }
  }
}

void draw_points(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  for (std::size_t i = 0; i < mark.curve.x.size(); ++i) {
    if (!area.drawable(mark.curve.x[i], mark.curve.y[i])) continue;
    const Point at = area.place(mark.curve.x[i], mark.curve.y[i]);
    canvas.move(at);
    canvas.line(at);
  }
  canvas.dots(mark.color, mark.style.size);
}

void draw_band(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  const auto& [x, low] = mark.curve;
  const auto good = [&](std::size_t i) {
    return area.drawable(x[i], low[i]) && area.drawable(x[i], mark.upper[i]);
  };
  for (std::size_t begin = 0; begin < x.size(); ++begin) {
    if (!good(begin)) continue;
    std::size_t end = begin;
    canvas.move(area.place(x[begin], low[begin]));
    for (; end < x.size() && good(end); ++end) canvas.line(area.place(x[end], low[end]));
    for (std::size_t i = end; i-- > begin;) canvas.line(area.place(x[i], mark.upper[i]));
    canvas.fill(mark.color);
    begin = end;
  }
}

void draw_area(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  trace(canvas, area, mark.curve, Gaps::closed);
  canvas.fill(mark.color);
}

void draw_bars(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  const double base = area.y.scale == Scale::log ? area.y.range.low : 0;
  for (std::size_t i = 0; i < mark.curve.y.size(); ++i) {
    if (!area.drawable(mark.curve.x[i], mark.curve.y[i]) ||
        !area.drawable(mark.curve.x[i + 1], mark.curve.y[i]))
      continue;
    const Point low = area.place(mark.curve.x[i], base);
    const Point high = area.place(mark.curve.x[i + 1], mark.curve.y[i]);
    canvas.move(low);
    canvas.line({low.x, high.y});
    canvas.line({high.x, high.y});
    canvas.line({high.x, low.y});
  }
  canvas.fill(mark.color);
}

void draw_rule(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  if (!shown(mark.curve.y[0], area.y.scale)) return;
  const double y = area.place(area.x.range.low, mark.curve.y[0]).y;
  canvas.move({area.box.left, y});
  canvas.line({area.box.right, y});
  canvas.stroke(mark.color, mark.style.size, mark.style.dash);
}

void draw_vertical_rule(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  if (!shown(mark.curve.x[0], area.x.scale)) return;
  const double x = area.place(mark.curve.x[0], area.y.range.low).x;
  canvas.move({x, area.box.bottom});
  canvas.line({x, area.box.top});
  canvas.stroke(mark.color, mark.style.size, mark.style.dash);
}

void draw_text(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  if (!area.drawable(mark.curve.x[0], mark.curve.y[0])) return;
  const Point at = area.place(mark.curve.x[0], mark.curve.y[0]);
  const Font font{number_size, false, mark.color};
  canvas.halo(at, mark.words, font);
  canvas.text(at, mark.words, font);
}

// Of the four corners of the panel, the one with the least drawn in it.
Box emptiest_corner(Canvas& canvas, const PlotArea& area, const std::vector<Mark>& marks, double width,
                    double height) {
  constexpr double gap = 4;
  const std::array<Point, 4> corners{{{area.box.right - gap - width, area.box.top + gap},
                                      {area.box.left + gap, area.box.top + gap},
                                      {area.box.right - gap - width, area.box.bottom - gap - height},
                                      {area.box.left + gap, area.box.bottom - gap - height}}};
  std::array<double, 4> crowd{};
  const auto count = [&](double x, double y, double weight) {
    if (!area.drawable(x, y)) return;
    const Point at = area.place(x, y);
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point corner = corners[i];
      if (at.x >= corner.x && at.x <= corner.x + width && at.y >= corner.y && at.y <= corner.y + height)
        crowd[i] += weight;
    }
  };
  for (const Mark& mark : marks) {
    const auto& [x, y] = mark.curve;
    if (mark.kind == Kind::text && area.drawable(x[0], y[0])) {
      const Point at = area.place(x[0], y[0]);
      const double end = at.x + canvas.text_width(mark.words, number_font());
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

}  // namespace

void draw_mark(Canvas& canvas, const PlotArea& area, const Mark& mark) {
  switch (mark.kind) {
    case Kind::line:
      return draw_line(canvas, area, mark);
    case Kind::points:
      return draw_points(canvas, area, mark);
    case Kind::band:
      return draw_band(canvas, area, mark);
    case Kind::area:
      return draw_area(canvas, area, mark);
    case Kind::bars:
      return draw_bars(canvas, area, mark);
    case Kind::rule:
      return draw_rule(canvas, area, mark);
    case Kind::vertical_rule:
      return draw_vertical_rule(canvas, area, mark);
    case Kind::text:
      return draw_text(canvas, area, mark);
  }
}

void draw_legend(Canvas& canvas, const PlotArea& area, const std::vector<Mark>& marks) {
  constexpr double row = label_size + 3.5;
  constexpr double sample = 14;
  double widest = 0;
  std::size_t rows = 0;
  for (const Mark& mark : marks) {
    if (mark.style.label.empty()) continue;
    widest = std::max(widest, canvas.text_width(mark.style.label, {label_size}));
    ++rows;
  }
  if (rows == 0) return;
  const double width = sample + 5 + widest + 8;
  const double height = static_cast<double>(rows) * row + 4;
  const Box box = emptiest_corner(canvas, area, marks, width, height);
  canvas.rectangle(box, {1, 1, 1, 0.8});
  double y = box.top + 2;
  for (const Mark& mark : marks) {
    if (mark.style.label.empty()) continue;
    const double middle = y + row / 2;
    const Box swatch{box.left + 4, middle - 3, box.left + 4 + sample, middle + 3};
    switch (mark.kind) {
      case Kind::band:
      case Kind::area:
      case Kind::bars:
        canvas.rectangle(swatch, mark.color);
        break;
      case Kind::points:
        canvas.disc({swatch.left + sample / 2, middle}, mark.style.size, mark.color);
        break;
      default:
        canvas.move({swatch.left, middle});
        canvas.line({swatch.right, middle});
        canvas.stroke(mark.color, std::max(mark.style.size, 1.0), mark.style.dash);
    }
    canvas.text({swatch.right + 5, middle + label_size * capital / 2}, mark.style.label, {label_size});
    y += row;
  }
}

}  // namespace onward::plot
