#include "canvas.hpp"

#include <cairo-svg.h>
#include <cairo.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::plot {
namespace {

constexpr double png_dots_per_point = 200.0 / 72.0;

// Drawn and left out in turn, in widths of the line.
std::vector<double> lengths_of(Dash dash) {
  switch (dash) {
    case Dash::solid:
      return {};
    case Dash::dashed:
      return {4, 2.5};
    case Dash::dotted:
      return {1.2, 1.8};
    case Dash::dash_dot:
      return {5, 2, 1.2, 2};
    case Dash::long_dash:
      return {10, 3};
    case Dash::dash_dot_dot:
      return {7, 2, 1.2, 2, 1.2, 2};
  }
  return {};
}

cairo_status_t append(void* text, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

void check(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS) {
    throw Error(std::string("the picture could not be drawn: ") + cairo_status_to_string(status));
  }
}

}  // namespace

struct Canvas::Surface {
  Format format;
  std::string bytes;
  cairo_surface_t* surface;
  cairo_t* context;

  Surface(Format kind, double width, double height)
      : format(kind),
        surface(kind == Format::svg
                    ? cairo_svg_surface_create_for_stream(append, &bytes, width, height)
                    : cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                                 static_cast<int>(std::lround(width * png_dots_per_point)),
                                                 static_cast<int>(std::lround(height * png_dots_per_point)))),
        context(cairo_create(surface)) {
    if (kind == Format::svg) cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PT);
    if (kind == Format::png) cairo_scale(context, png_dots_per_point, png_dots_per_point);
  }
  ~Surface() {
    cairo_destroy(context);
    cairo_surface_destroy(surface);
  }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  void color(const Color& c) { cairo_set_source_rgba(context, c.red, c.green, c.blue, c.alpha); }
  void font(const Font& font) {
    cairo_select_font_face(context, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(context, font.size);
  }
};

Canvas::Canvas(Format format, double width, double height)
    : surface_(std::make_unique<Surface>(format, width, height)) {
  cairo_t* context = surface_->context;
  check(cairo_status(context));
  // Widths of words must not depend on the resolution, or SVG and PNG would be laid out differently.
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(context, options);
  cairo_font_options_destroy(options);
  cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  surface_->color({1, 1, 1});
  cairo_paint(context);
}

Canvas::~Canvas() = default;

double Canvas::text_width(const std::string& words, const Font& font) {
  surface_->font(font);
  cairo_text_extents_t extents;
  cairo_text_extents(surface_->context, printable(words).c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(Point at, const std::string& words, const Font& font, Align align, bool upward) {
  const double width = text_width(words, font);
  cairo_t* context = surface_->context;
  cairo_save(context);
  cairo_translate(context, at.x, at.y);
  if (upward) cairo_rotate(context, -std::numbers::pi / 2);
  cairo_move_to(context, align == Align::left ? 0 : align == Align::center ? -width / 2 : -width, 0);
  surface_->color(font.color);
  cairo_show_text(context, printable(words).c_str());
  cairo_new_path(context);
  cairo_restore(context);
}

void Canvas::halo(Point at, const std::string& words, const Font& font) {
  surface_->font(font);
  move(at);
  cairo_text_path(surface_->context, words.c_str());
  stroke({1, 1, 1, 0.85}, font.size / 4);
}

void Canvas::move(Point to) { cairo_move_to(surface_->context, to.x, to.y); }

void Canvas::line(Point to) { cairo_line_to(surface_->context, to.x, to.y); }

void Canvas::stroke(const Color& color, double width, Dash dash) {
  cairo_t* context = surface_->context;
  std::vector<double> lengths = lengths_of(dash);
  for (double& length : lengths) length *= width;
  cairo_set_dash(context, lengths.data(), static_cast<int>(lengths.size()), 0);
  cairo_set_line_width(context, width);
  surface_->color(color);
  cairo_stroke(context);
}

void Canvas::dots(const Color& color, double diameter) {
  // A line of no length with round ends is a disc, in a tenth of the bytes that a circle takes.
  cairo_t* context = surface_->context;
  cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND);
  stroke(color, diameter);
  cairo_set_line_cap(context, CAIRO_LINE_CAP_BUTT);
}

void Canvas::fill(const Color& color) {
  surface_->color(color);
  cairo_fill(surface_->context);
}

void Canvas::rectangle(const Box& box, const Color& color) {
  cairo_rectangle(surface_->context, box.left, box.top, box.width(), box.height());
  fill(color);
}

void Canvas::disc(Point center, double diameter, const Color& color) {
  cairo_new_sub_path(surface_->context);
  cairo_arc(surface_->context, center.x, center.y, diameter / 2, 0, 2 * std::numbers::pi);
  fill(color);
}

void Canvas::clip(const Box& box) {
  cairo_save(surface_->context);
  cairo_rectangle(surface_->context, box.left, box.top, box.width(), box.height());
  cairo_clip(surface_->context);
}

void Canvas::unclip() { cairo_restore(surface_->context); }

std::string Canvas::finish() {
  check(cairo_status(surface_->context));
  if (surface_->format == Format::png) {
    check(cairo_surface_write_to_png_stream(surface_->surface, append, &surface_->bytes));
  }
  cairo_surface_finish(surface_->surface);
  check(cairo_surface_status(surface_->surface));
  return std::move(surface_->bytes);
}

}  // namespace onward::plot
