// `onward evaluate`: the jet of a model at a place along a direction.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "model_options.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/random/stream.hpp"

namespace onward::app {
namespace {

struct Settings {
  ModelWords model;
  std::string at = "random", direction = "random";
  std::size_t order = 2;
  bool gradient = false, json = false;
  std::uint64_t seed = 1;
  double temperature = 1;
};

std::vector<double> place(const Settings& s, Start start, std::size_t dimension) {
  if (start.kind == Start::Kind::given && start.spread.empty()) return std::move(start.position);
  std::vector<double> at(dimension, 0.0);
  if (start.kind == Start::Kind::zeros) return at;
  Stream(s.seed, 0).normals(0, Purpose::start, at);
  const bool about = start.kind == Start::Kind::given;
  for (std::size_t i = 0; i < dimension; ++i)
    at[i] = about ? start.position[i] + start.spread[i] * at[i] : start.scale * at[i];
  return at;
}

std::vector<double> direction(const Settings& s, std::size_t dimension) {
  std::vector<double> v(dimension, 0.0);
  if (s.direction == "random") {
    Stream(s.seed, 0).direction(0, Purpose::direction, v);
  } else if (s.direction.starts_with("axis:")) {
    const std::string number = s.direction.substr(5);
    char* end = nullptr;
    const long axis = std::strtol(number.c_str(), &end, 10);
    if (number.empty() || *end != '\0' || axis < 0 || static_cast<std::size_t>(axis) >= dimension)
      throw UsageError(fmt::format("--direction {}: there is no such axis; axes go from axis:0 to axis:{}",
                                   s.direction, dimension - 1));
    v[static_cast<std::size_t>(axis)] = 1;
  } else {
    v = read_place(s.direction, s.model.kind, dimension);
  }
  return v;
}

int evaluate(const Settings& s) {
  if (s.order > 2)
    throw UsageError(
        fmt::format("--order {} is not known: it is 0 (value), 1 (slope) or 2 (curvature)", s.order));
  Model model = build(spec_of(s.model), {.start = s.at, .checksums = false});
  AnyTarget target = model.target.tempered(s.temperature);
  const std::size_t dimension = target.dimension();
  const auto at = place(s, std::move(model.start), dimension);
  const auto v = direction(s, dimension);
  const Jet jet = target.jet(at, v, static_cast<Order>(s.order));

  nlohmann::ordered_json out;
  out["value"] = jet.value;
  if (s.order >= 1) out["slope"] = jet.slope;
  if (s.order >= 2) out["curvature"] = jet.curvature;
  std::vector<double> gradient(dimension);
  if (s.gradient) {
    target.gradient(at, gradient);
    out["gradient"] = gradient;
  }
  if (s.json) {
    fmt::print("{}\n", json_text(out));
  } else {
    fmt::print("value     {:.17g}\n", jet.value);
    if (s.order >= 1) fmt::print("slope     {:.17g}\n", jet.slope);
    if (s.order >= 2) fmt::print("curvature {:.17g}\n", jet.curvature);
    if (s.gradient)
      for (std::size_t i = 0; i < dimension; ++i) fmt::print("gradient  {} {:.17g}\n", i, gradient[i]);
  }
  if (target.counts().nonfinite > 0) {
    const bool threw = target.counts().threw > 0;
    say("onward: {} has no finite value, slope and curvature at --at {}{}{}; try another place\n",
        s.model.kind, s.at, threw ? ": it threw: " : "", target.counts().first_message);
    return failed;
  }
  return done;
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command =
      app.add_subcommand("evaluate", "value, slope and curvature of a model at a place along a direction");
  add_model_options(*command, s->model, false);
  command
      ->add_option("--at", s->at,
                   "the place, in the space that is sampled: FILE (JSON array or .npy; net: also "
                   ".safetensors), zeros, "
                   "random[:SCALE], or for net lecun")
      ->capture_default_str();
  command
      ->add_option("--direction", s->direction,
                   "FILE (used as it is), random (a unit vector), or axis:I with I from 0")
      ->capture_default_str();
  add_count(*command, "--order", s->order, 0, "0 value, 1 also the slope, 2 also the curvature");
  command->add_flag("--gradient", s->gradient, "also the full gradient");
  add_number(*command, "--temperature", s->temperature, "of density^(1/T)");
  add_count(*command, "--seed", s->seed, 0, "for random places and directions");
  command->add_flag("--json", s->json, "one JSON object on stdout");
  command->callback([s, &action] { action = [s] { return evaluate(*s); }; });
}

}  // namespace onward::app
