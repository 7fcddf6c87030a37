#include "single_step.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "models/rosenbrock.hpp"
#include "onward/error.hpp"
#include "onward/plot/figure.hpp"
#include "onward/sampler/kernel.hpp"
#include "onward/target/callable.hpp"

namespace onward::experiments {
namespace {

Place moved(const Place& from, double length, const Place& direction) {
  return {from[0] + length * direction[0], from[1] + length * direction[1]};
}

double along(const Place& from, const Place& to, const Place& direction) {
  return (to[0] - from[0]) * direction[0] + (to[1] - from[1]) * direction[1];
}

double distance(const Place& a, const Place& b) { return std::hypot(a[0] - b[0], a[1] - b[1]); }

}  // namespace

double Proposal::log_density(const Place& to) const {
  const double z = (line ? along(mean, to, direction) : distance(mean, to)) / scale;
  const double normaliser = std::log(scale * std::sqrt(2 * std::numbers::pi));
  return -0.5 * z * z - (line ? 1 : 2) * normaliser;
}

double SingleStep::acceptance() const {
  const double log_ratio =
      reverse.value + reverse.log_density(from) - (forward.value + forward.log_density(to));
  return std::exp(std::min(log_ratio, 0.0));
}

SingleStep single_step(const std::string& sampler, double step_size, const Place& from, std::uint64_t seed,
                       std::uint64_t step) {
  const bool line = sampler == "line-fmala" || sampler == "pc-line-fmala";
  const bool preconditioned = sampler == "pc-fmala" || sampler == "pc-line-fmala";
  if (!line && !preconditioned && sampler != "fmala")
    throw UsageError(fmt::format(
        "no picture of a step of '{}': there are fmala, line-fmala, pc-fmala, pc-line-fmala", sampler));

  auto model = target(2, models::RosenbrockDensity{});
  const auto proposal_from = [&](const Place& place, const Place& v) {
    const Jet jet = model.jet(place, v, Order::curvature);
    const double h = preconditioned ? std::abs(jet.curvature) : 1;
    const double drift = step_size * step_size / (2 * h) * jet.slope;
    return Proposal{v, moved(place, drift, v), step_size / std::sqrt(h), line, jet.value};
  };

  const Stream stream(seed, 0);
  const StepRandom random(stream, step);
  SingleStep result{sampler, step_size, from, {}, {}, {}};
  Place v{};
  random.direction(v);
  result.forward = proposal_from(from, v);
  if (line) {
    result.to = moved(result.forward.mean, result.forward.scale * random.noise(), v);
    result.reverse = proposal_from(result.to, v);
  } else {
    Place z{}, v_there{};
    random.noise(z);
    result.to = moved(result.forward.mean, result.forward.scale, z);
    random.reverse_direction(v_there);
    result.reverse = proposal_from(result.to, v_there);
  }
  return result;
}

namespace {

using plot::Color;
using plot::Panel;

// The picture: the lower half of the banana, from a place on its left side.
constexpr Place start{-0.45, 0.4};
constexpr Place low{-1.25, -0.5}, high{0.65, 1.4};
constexpr double plain_step_size = 0.13, preconditioned_step_size = 1.3;
struct Kind {
  const char* sampler;
  double step_size;
};
constexpr std::array<Kind, 4> kinds{{{"fmala", plain_step_size},
                                     {"line-fmala", plain_step_size},
                                     {"pc-fmala", preconditioned_step_size},
                                     {"pc-line-fmala", preconditioned_step_size}}};

const Color contour_color{0.6, 0.6, 0.6}, ink{0.1, 0.1, 0.1};
const Color forward_color = plot::palette(0), reverse_color = plot::palette(1);

Color shade(Color color, double alpha) { return color.alpha = alpha, color; }

struct Outline {
  std::vector<double> x, y;
  void add(const Place& place) {
    x.push_back(place[0]);
    y.push_back(place[1]);
  }
};

/// The share of a 2-D normal within r deviations is 1 - exp(-r²/2).
double radius_around(double share) { return std::sqrt(-2 * std::log1p(-share)); }

Outline circle(const Place& center, double radius) {
  Outline outline;
  constexpr int points = 600;
  for (int i = 0; i <= points; ++i) {
    const double angle = 2 * std::numbers::pi * i / points;
    outline.add(moved(center, radius, {std::cos(angle), std::sin(angle)}));
  }
  return outline;
}

/// In (x, y - x²) the density is a normal with deviations √½ and √½/10, so a circle bent and squeezed is a
/// contour.
Outline rosenbrock_contour(double share) {
  const Outline round = circle({0, 0}, radius_around(share));
  Outline outline;
  for (std::size_t i = 0; i < round.x.size(); ++i) {
    const double x = 1 + std::sqrt(0.5) * round.x[i];
    outline.add({x, x * x + std::sqrt(0.5) / 10 * round.y[i]});
  }
  return outline;
}

void draw_arrow(Panel& panel, const Place& from, const Place& to, const plot::Style& style) {
  const double length = distance(from, to);
  if (length == 0) return;
  const Place v{(to[0] - from[0]) / length, (to[1] - from[1]) / length}, across{-v[1], v[0]};
  const double head = std::min(0.07, length);
  const Place base = moved(to, -head, v);
  Outline shaft, tip;
  shaft.add(from);
  shaft.add(base);
  for (const Place& corner : {to, moved(base, 0.4 * head, across), moved(base, -0.4 * head, across)})
    tip.add(corner);
  panel.line(shaft.x, shaft.y, style);
  panel.area(tip.x, tip.y, {.color = style.color});
}

/// Contours of the proposal's density, or its density as a hill on one side of its line.
void draw_proposal(Panel& panel, const Proposal& proposal, const Color& color, plot::Dash dash, double side) {
  const plot::Style style{.color = color, .size = 1.1, .dash = dash};
  if (!proposal.line) {
    for (const double share : {0.5, 0.9}) {
      const Outline outline = circle(proposal.mean, proposal.scale * radius_around(share));
      panel.area(outline.x, outline.y, {.color = shade(color, 0.1)});
      panel.line(outline.x, outline.y, style);
    }
    return;
  }
  const Place across{-side * proposal.direction[1], side * proposal.direction[0]};
  Outline hill;
  for (double z = -3.5; z <= 3.5; z += 0.05) {
    const Place foot = moved(proposal.mean, z * proposal.scale, proposal.direction);
    // Density times 0.11: one height for all would hide that narrow proposals are high.
    hill.add(moved(foot, 0.11 * std::exp(proposal.log_density(foot)), across));
  }
  panel.area(hill.x, hill.y, {.color = shade(color, 0.2)});
  panel.line(hill.x, hill.y, style);
}

/// Words with their middle at the place; a character is about 0.05 wide.
void draw_name(Panel& panel, const Place& middle, const std::string& name) {
  panel.text(middle[0] - 0.025 * static_cast<double>(name.ends_with('*') ? 2 : 1), middle[1] - 0.025, name,
             {.color = ink});
}

/// Beside the place, since the drift begins at it and goes the same or the opposite way.
void draw_direction(Panel& panel, const Place& from, const Place& direction, const char* name) {
  const Place foot = moved(from, 0.07, {direction[1], -direction[0]});
  draw_arrow(panel, foot, moved(foot, 0.25, direction), {.color = ink, .size = 0.8});
  draw_name(panel, moved(foot, 0.31, direction), name);
}

/// A disc or a ring, with its name on the other side of its direction.
void draw_place(Panel& panel, const Place& place, const Place& direction, const char* name, bool filled) {
  draw_name(panel, moved(place, 0.1, {-direction[1], direction[0]}), name);
  const std::vector<double> x{place[0]}, y{place[1]};
  panel.points(x, y, {.color = ink, .size = 6});
  if (!filled) panel.points(x, y, {.color = Color{1, 1, 1}, .size = 4});
}

void draw_step(Panel& panel, const SingleStep& step) {
  panel.title(step.sampler)
      .heading(fmt::format("\u03b7 = {:g}, acceptance {:.2f}", step.step_size, step.acceptance()))
      .x_range(low[0], high[0])
      .y_range(low[1], high[1])
      .equal_scale();
  for (const double share : {0.5, 0.9, 0.99}) {
    const Outline contour = rosenbrock_contour(share);
    panel.line(contour.x, contour.y, {.color = contour_color, .size = 0.7});
  }
  if (step.forward.line) {
    Outline line;
    for (const double length : {-10, 10}) line.add(moved(step.from, length, step.forward.direction));
    panel.line(line.x, line.y, {.color = ink, .size = 0.5});
  }
  draw_proposal(panel, step.forward, forward_color, plot::Dash::solid, 1);
  draw_proposal(panel, step.reverse, reverse_color, plot::Dash::dashed, -1);
  draw_direction(panel, step.from, step.forward.direction, "v");
  if (!step.reverse.line) draw_direction(panel, step.to, step.reverse.direction, "v*");
  draw_arrow(panel, step.from, step.forward.mean, {.color = forward_color, .size = 1.4});
  draw_arrow(panel, step.to, step.reverse.mean, {.color = reverse_color, .size = 1.4});
  draw_place(panel, step.from, step.forward.direction, "\u03b8", true);
  draw_place(panel, step.to, step.reverse.direction, "\u03b8*", false);
}

bool within(const Place& place, double room) {
  for (std::size_t i = 0; i < 2; ++i)
    if (place[i] < low[i] + room || place[i] > high[i] - room) return false;
  return true;
}

/// Everything in the picture, neither so small nor so close together that it cannot be told apart.
bool legible(const SingleStep& step) {
  for (const Proposal* proposal : {&step.forward, &step.reverse})
    if (!(proposal->scale > 0.06 && proposal->scale < 0.45) || !within(proposal->mean, proposal->scale))
      return false;
  return within(step.to, 0.15) && distance(step.from, step.to) > 0.25 &&
         distance(step.from, step.forward.mean) > 0.07 && distance(step.to, step.reverse.mean) > 0.07;
}

/// All legible, none hopeless, and not all sure to be taken: one in about 1,500.
bool good_picture(const std::array<SingleStep, 4>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const SingleStep& step) { return legible(step) && step.acceptance() > 0.1; }) &&
         std::any_of(steps.begin(), steps.end(),
                     [](const SingleStep& step) { return step.acceptance() < 0.95; });
}

std::array<SingleStep, 4> steps_of(std::uint64_t seed) {
  constexpr std::uint64_t last = 100'000;
  std::array<SingleStep, 4> steps;
  for (std::uint64_t number = 1; number <= last; ++number) {
    for (std::size_t i = 0; i < kinds.size(); ++i)
      steps[i] = single_step(kinds[i].sampler, kinds[i].step_size, start, seed, number);
    if (good_picture(steps)) break;
  }
  return steps;
}

}  // namespace

void single_step_figure(const std::string& folder, std::uint64_t seed) {
  plot::Figure figure(2, 2, 16, 17);
  figure.title("One step on the Rosenbrock density");
  figure.key({{"target", contour_color},
              {"forward q(\u00b7|\u03b8)", forward_color},
              {"reverse q(\u00b7|\u03b8*)", reverse_color, plot::Dash::dashed}});
  const auto steps = steps_of(seed);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    plot::Panel& panel = figure.panel(i / 2, i % 2);
    draw_step(panel, steps[i]);
    if (i / 2 == 1) panel.x_label("\u03b8\u2081");
    if (i % 2 == 0) panel.y_label("\u03b8\u2082");
  }
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/single-step.{}", folder, ending));
}

}  // namespace onward::experiments
