#pragma once
// The part of the page where the marks of a panel go, and the drawing of marks and of the legend that names
// them.

#include <algorithm>
#include <vector>

#include "canvas.hpp"
#include "panel.hpp"

namespace onward::plot {

/// An axis that has met its data: the range is settled, the place on the page may not be yet.
struct Axis {
  Range range;
  Scale scale;
  std::vector<Tick> ticks;
  double from = 0, to = 0;  // on the page

  double place(double value) const { return from + fraction(value, range, scale) * (to - from); }
};

/// Two axes that know their ranges and their places.
struct PlotArea {
  Axis x, y;
  Box box{};

  bool drawable(double at_x, double at_y) const { return shown(at_x, x.scale) && shown(at_y, y.scale); }

  // Far outside the page a coordinate is as good as at some distance from it, and the drawing library's
  // fixed-point numbers do not overflow.
  Point place(double at_x, double at_y) const {
    return {std::clamp(x.place(at_x), box.left - 5000, box.right + 5000),
            std::clamp(y.place(at_y), box.top - 5000, box.bottom + 5000)};
  }
};

void draw_mark(Canvas& canvas, const PlotArea& area, const Mark& mark);

/// In the corner with the least drawn in it; nothing if no mark has a label.
void draw_legend(Canvas& canvas, const PlotArea& area, const std::vector<Mark>& marks);

}  // namespace onward::plot
