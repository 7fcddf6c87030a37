#pragma once
// What a panel holds until it is drawn: its marks in the panel's own numbers, and what was asked of its axes.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "axis.hpp"
#include "onward/plot/figure.hpp"
#include "shape.hpp"

namespace onward::plot {

enum class Kind { line, points, band, area, bars, rule, vertical_rule, text };

/// A rule keeps its place in curve.y or curve.x, bars their edges in curve.x and heights in curve.y, a band
/// its upper side in `upper`.
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

struct Panel::Contents {
  std::string title, heading;
  AxisSettings x, y;
  std::vector<Tick> x_ticks;
  bool y_hidden = false, hidden = false, equal_scale = false;
  std::vector<Mark> marks;
  std::size_t colors_used = 0;

  Mark& add(Kind kind, const Style& style);
};

}  // namespace onward::plot
