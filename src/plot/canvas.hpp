#pragma once
// A page to draw on, in points from its upper left corner, that becomes the bytes of an SVG or PNG file.
// The only place, with canvas.cpp, that knows the drawing library.

#include <memory>
#include <string>

#include "onward/plot/figure.hpp"

namespace onward::plot {

struct Point {
  double x;
  double y;
};

struct Box {
  double left;
  double top;
  double right;
  double bottom;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

/// How words lie about the place they are given.
enum class Align { left, center, right };

struct Font {
  double size = 8;
  bool bold = false;
  Color color = {0.15, 0.15, 0.15};
};

// The print of all figures, in points.
inline constexpr double number_size = 8;   // the smallest print
inline constexpr double label_size = 8.5;  // axis labels, legends
inline constexpr double capital = 0.73;    // height of a capital, in font sizes
inline constexpr Color axis_color{0.3, 0.3, 0.3};

inline Font number_font() { return {number_size, false, axis_color}; }

class Canvas {
 public:
  enum class Format { svg, png };
  Canvas(Format format, double width, double height);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  double text_width(const std::string& words, const Font& font);
  /// `at` is on the base line; `upward` turns the words by a quarter to the left.
  void text(Point at, const std::string& words, const Font& font, Align align = Align::left,
            bool upward = false);
  /// White around the words to come at that place, so that they can be read on top of lines.
  void halo(Point at, const std::string& words, const Font& font);

  // A path is begun by move, continued by line, and used up by stroke, dots or fill.
  void move(Point to);
  void line(Point to);
  void stroke(const Color& color, double width, Dash dash = Dash::solid);
  /// A disc at every place that was moved to.
  void dots(const Color& color, double diameter);
  void fill(const Color& color);

  void rectangle(const Box& box, const Color& color);
  void disc(Point center, double diameter, const Color& color);

  /// Until unclip, only what lies within the box is drawn.
  void clip(const Box& box);
  void unclip();

  /// The whole file; the canvas cannot be drawn upon afterwards.
  std::string finish();

 private:
  struct Surface;
  std::unique_ptr<Surface> surface_;
};

}  // namespace onward::plot
