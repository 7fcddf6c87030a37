#include "funnel_draws.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/plot/figure.hpp"

namespace onward::experiments {
namespace {

// With z = x e^(w/2), a standard normal, the log density of (x, w) is a constant less
// (w - 9/2)²/18 + z²/2: ellipses in (w, z) around (9/2, 0). `depth` is what it has lost since its mode.
constexpr double w_sd = 3;
constexpr double w_mode = w_sd * w_sd / 2;

/// The probability of all places that are at most so deep.
double share_within(double depth) {
  constexpr int steps = 4000;
  constexpr double reach = 10 * w_sd;
  constexpr double width = 2 * reach / steps;
  double share = 0;
  for (int i = 0; i < steps; ++i) {
    const double w = -reach + (i + 0.5) * width;
    const double left = depth - (w - w_mode) * (w - w_mode) / (2 * w_sd * w_sd);
    if (left > 0) share += std::exp(-w * w / (2 * w_sd * w_sd)) * std::erf(std::sqrt(left));
  }
  return share * width / (w_sd * std::sqrt(2 * std::numbers::pi));
}

/// The x axis: linear around 0, where the neck is, logarithmic beyond, so that the mouth fits as well.
constexpr double knee = 0.3;
double squeezed(double x) { return std::asinh(x / knee); }

std::vector<plot::Tick> x_ticks(double largest) {
  std::vector<plot::Tick> ticks{{0, "0"}};
  bool labelled = false;
  for (double power = 0.1; power <= largest; power *= 10) {
    const double place = squeezed(power);
    ticks.push_back({place, labelled ? fmt::format("{:g}", power) : ""});
    ticks.push_back({-place, labelled ? fmt::format("\u2212{:g}", power) : ""});
    labelled = !labelled;
  }
  return ticks;
}

struct Window {
  double x = 100, w = 10;  // half widths, at least
};

/// The same for all panels, with room for every draw.
Window window_of(const std::vector<FunnelDraws>& samplers) {
  Window window;
  for (const auto& sampler : samplers)
    for (const auto& [x, w] : sampler.points) {
      if (std::isfinite(x)) window.x = std::max(window.x, std::abs(x));
      if (std::isfinite(w)) window.w = std::max(window.w, std::abs(w));
    }
  return window;
}

constexpr std::size_t most_dots = 2000;
constexpr plot::Color contour_color{0.1, 0.1, 0.1};

void draw_dots(plot::Panel& panel, const FunnelDraws& sampler) {
  const std::size_t stride = (sampler.points.size() + most_dots - 1) / most_dots;
  std::vector<double> x, w;
  for (std::size_t i = 0; i < sampler.points.size(); i += stride) {
    x.push_back(squeezed(sampler.points[i].first));
    w.push_back(sampler.points[i].second);
  }
  panel.points(x, w, {.color = plot::palette(5), .size = 1.3});
}

void draw_contours(plot::Panel& panel) {
  for (const double share : {0.5, 0.9, 0.99}) {
    std::vector<double> x, w;
    for (const auto& [x_1, depth] : funnel_contour(share)) {
      x.push_back(squeezed(x_1));
      w.push_back(depth);
    }
    panel.line(x, w, {.color = contour_color, .size = 0.6});
  }
}

}  // namespace

std::vector<std::pair<double, double>> funnel_contour(double share) {
  if (!(share > 0 && share < 1))
    throw UsageError(fmt::format("a contour around {} of the probability: give a share in (0, 1)", share));
  double low = 0, high = 1;
  while (share_within(high) < share) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (share_within(middle) < share ? low : high) = middle;
  }
  constexpr int points = 500;
  const double radius = std::sqrt(low + high);
  std::vector<std::pair<double, double>> contour;
  for (int i = 0; i <= points; ++i) {
    const double angle = 2 * std::numbers::pi * i / points;
    const double w = w_mode + w_sd * radius * std::cos(angle);
    contour.emplace_back(radius * std::sin(angle) * std::exp(-w / 2), w);
  }
  return contour;
}

void funnel_draws_figure(std::size_t dim, const std::vector<FunnelDraws>& samplers,
                         const std::string& folder) {
  if (samplers.empty()) throw UsageError("a figure of draws needs the draws of at least one sampler");
  const std::size_t columns = samplers.size() == 4 ? 2 : std::min<std::size_t>(3, samplers.size());
  const std::size_t rows = (samplers.size() + columns - 1) / columns;
  plot::Figure figure(rows, columns, 1 + 5.2 * static_cast<double>(columns),
                      1.4 + 5.6 * static_cast<double>(rows));
  figure.title(fmt::format("Draws in the funnel, D = {}", dim));
  figure.key({{"contours around 50, 90 and 99% of the probability", contour_color}});
  const Window window = window_of(samplers);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    plot::Panel& panel = figure.panel(i / columns, i % columns);
    if (i >= samplers.size()) {
      panel.hide();
      continue;
    }
    panel.title(samplers[i].sampler).heading(fmt::format("\u03b7 = {:.2g}", samplers[i].step_size));
    panel.x_range(-squeezed(1.1 * window.x), squeezed(1.1 * window.x)).x_ticks(x_ticks(1.1 * window.x));
    panel.y_range(-1.03 * window.w, 1.03 * window.w);
    if (i + columns >= samplers.size()) panel.x_label("x\u2081");
    if (i % columns == 0) panel.y_label("w");
    draw_dots(panel, samplers[i]);
    draw_contours(panel);
  }
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/draws-D{}.{}", folder, dim, ending));
}

}  // namespace onward::experiments
