#pragma once
// Pictures for print and screen: a figure is a grid of panels, a panel is a pair of axes and the marks upon
// them. One drawing code serves SVG and PNG; the drawing library stays out of the headers.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace onward::plot {

/// Red, green, blue and opacity, each in [0, 1].
struct Color {
  double red = 0;
  double green = 0;
  double blue = 0;
  double alpha = 1;
};

/// The i-th of eight colours that people with any common colour blindness can tell apart; then from the start
/// again.
Color palette(std::size_t i);

/// How a line is broken, so that lines can be told apart without their colours.
enum class Dash { solid, dashed, dotted, dash_dot, long_dash, dash_dot_dot };

/// The i-th of the six, the solid line first; then from the start again.
Dash dash_pattern(std::size_t i);

/// How an axis maps numbers to the page. A log axis shows positive numbers only; others are skipped.
enum class Scale { linear, log };

/// How a mark looks and what the legend calls it.
struct Style {
  std::optional<Color> color = {};  ///< without one: the panel's next colour of the palette
  double size = 1.0;                ///< width of a line or diameter of a point, in points (1/72 inch)
  Dash dash = Dash::solid;          ///< lines only
  std::string label = {};           ///< its name in the legend; nameless marks are not in it
};

/// A place on an axis and what is written there; nothing for a minor tick.
struct Tick {
  double value;
  std::string label;
};

/// One pair of axes. Marks are drawn in the order they were added; non-finite values (and those beyond 1e300)
/// are skipped and break a line. The ranges fit the data unless they are set.
class Panel {
 public:
  Panel();
  ~Panel();
  Panel(Panel&&) noexcept;
  Panel& operator=(Panel&&) noexcept;

  Panel& title(std::string text);    ///< above the panel, bold
  Panel& heading(std::string text);  ///< above the panel, plain, at its right edge
  Panel& x_label(std::string text);
  Panel& y_label(std::string text);
  Panel& x_scale(Scale scale);
  Panel& y_scale(Scale scale);
  Panel& x_range(double low, double high);  ///< must be finite, low < high; what lies outside is clipped
  Panel& y_range(double low, double high);  ///< likewise
  Panel& x_ticks(std::vector<Tick> ticks);  ///< instead of round numbers: for transformed values, or names
  Panel& equal_scale();  ///< one unit is as long in x as in y (linear axes only): the range that has room to
                         ///< spare is widened, so that circles are round
  Panel& hide_y_axis();  ///< for densities, whose height says little
  Panel& hide();         ///< leaves its place in the grid empty

  /// A line through (x, y); the two must have one length, here and below.
  Panel& line(std::span<const double> x, std::span<const double> y, const Style& style = {});
  /// Markers at (x, y), drawn as one shape: thousands make a small file, and translucent ones do not darken
  /// each other.
  Panel& points(std::span<const double> x, std::span<const double> y, const Style& style = {.size = 3});
  /// The area between `low` and `high`, without an outline.
  Panel& band(std::span<const double> x, std::span<const double> low, std::span<const double> high,
              const Style& style = {});
  /// The area within the closed line through (x, y), without an outline.
  Panel& area(std::span<const double> x, std::span<const double> y, const Style& style = {});
  /// Bars whose area is 1, of equal width; `bins` 0 chooses the width by Freedman and Diaconis.
  Panel& histogram(std::span<const double> values, std::size_t bins = 0, const Style& style = {});
  /// A kernel density estimate (normal kernel, Silverman's width); equal values make a vertical rule. It does
  /// not spill past 0 if no value does, nor past 1 if all are between 0 and 1, or between -1 and 1.
  Panel& density(std::span<const double> values, const Style& style = {});
  /// A horizontal line across the panel; it does not widen the range.
  Panel& rule(double y, const Style& style = {});
  /// A vertical line across the panel; it does not widen the range.
  Panel& vertical_rule(double x, const Style& style = {});
  /// Words with their left end at (x, y).
  Panel& text(double x, double y, std::string words, const Style& style = {});

  struct Contents;  ///< what the panel holds, known to the drawing code only

 private:
  friend class Figure;
  std::unique_ptr<Contents> contents_;
};

/// An entry of the key above all panels.
struct KeyEntry {
  std::string label;
  Color color;
  Dash dash = Dash::solid;
};

/// A grid of panels of equal size, with a title and a key that serve all of them.
class Figure {
 public:
  /// Sizes in centimetres. At the default width the smallest print is 8 points high.
  Figure(std::size_t rows, std::size_t columns, double width_cm = 16, double height_cm = 9);

  Panel& panel(std::size_t row, std::size_t column);
  Figure& title(std::string text);
  Figure& key(std::vector<KeyEntry> entries);
  Figure& column_widths(std::vector<double> weights);  ///< relative to each other, one for each column

  /// Writes the picture as its name says, .svg or .png (at 200 dots an inch), as a whole or not at all.
  /// Throws UsageError for another ending and Error for a file that cannot be written.
  void save(const std::string& path) const;

 private:
  std::size_t rows_, columns_;
  double width_, height_;  // points
  std::string title_;
  std::vector<KeyEntry> key_;
  std::vector<double> weights_;
  std::vector<Panel> panels_;
};

}  // namespace onward::plot
