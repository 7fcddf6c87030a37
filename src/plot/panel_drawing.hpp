#pragma once
// A panel on its way to the page: it settles its ranges, says how much room its axes need, and draws itself
// where the figure puts it.

#include <string>

#include "canvas.hpp"
#include "marks.hpp"
#include "panel.hpp"

namespace onward::plot {

class PanelDrawing {
 public:
  PanelDrawing(Canvas& canvas, const Panel::Contents& contents);

  // What is needed around the box that is drawn in; `height` is that of the box.
  double left_room(double height);
  double bottom_room() const;
  double top_room() const;

  void draw(const Box& box);

 private:
  void equalise();
  void choose_y_ticks(double height);
  void choose_x_ticks();
  void draw_grid();
  void draw_axes();
  void draw_titles();
  std::string shortened(std::string words, const Font& font, double room);

  Canvas& canvas_;
  const Panel::Contents& contents_;
  PlotArea area_{};
  bool empty_ = false;
};

}  // namespace onward::plot
