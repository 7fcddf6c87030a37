#include "onward/plot/figure.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "panel_drawing.hpp"

namespace onward::plot {
namespace {

// Lengths in points.
constexpr double points_per_cm = 72 / 2.54;
constexpr double edge = 5;  // white around the figure
constexpr double figure_title_size = 11;

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
