#include "kinds.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/random/stream.hpp"
#include "onward/simulator/forward.hpp"
#include "onward/simulator/program.hpp"
#include "onward/simulator/umbridge.hpp"
#include "onward/target/check.hpp"
#include "onward/util/printable.hpp"
#include "problem.hpp"

namespace onward::detail {
namespace {

using nlohmann::ordered_json;

std::vector<Option> shared_options() {
  using enum Option::Type;
  return {
      {.name = "data",
       .type = array,
       .help = "what was observed, a number for each output: a JSON array or .npy. Without it the one output "
               "is a "
               "log density"},
      {.name = "noise",
       .type = text,
       .help = "around the outputs: normal:0.1, student_t:4:0.1 (degrees of freedom, scale), or with the "
               "name of a "
               "number that has a prior, such as normal:sigma"},
      {.name = "noise_sd",
       .type = array,
       .help =
           "standard deviations, one for each datum, in place of the one in `noise`: a JSON array or .npy"},
      {.name = "prior",
       .type = text,
       .help = "\"growth ~ lognormal(0, 1)\", a sentence for each input in their order; \"k[100] ~ normal(0, "
               "1)\" "
               "is for 100 of them",
       .repeatable = true},
      {.name = "problem",
       .type = json,
       .help = "data, noise, noise_sd and prior in one JSON file, by these names"},
      {.name = "difference_step",
       .type = number,
       .help = "of differences, where there is no derivative; larger for outputs with noise of their own",
       .usual = 1e-4,
       .range = Range{.low = 0, .high = 1}},
      {.name = "timeout",
       .type = number,
       .help = "seconds that an answer may take",
       .usual = 60,
       .range = Range{.low = 0}},
      {.name = "check",
       .type = flag,
       .help = "the check that slopes and gradients are those of the values",
       .on_by_default = true},
  };
}

template <class Forward>
Model observed_model(std::unique_ptr<Simulator> simulator, const SimulatorProblem& problem, double step) {
  Observed<Forward, InputPriors> target(Forward(std::move(simulator)), *problem.data, problem.noise,
                                        problem.priors);
  target.difference_step(step);
  return Model(std::move(target));
}

Model forward_model(std::unique_ptr<Simulator> simulator, const SimulatorProblem& problem, double step) {
  using enum JacobianBy;
  const SimulatorFacts facts = simulator->facts();
  const auto of_type = [&]<JacobianBy by>() {
    return facts.gradient ? observed_model<OutsideForward<by, true>>(std::move(simulator), problem, step)
                          : observed_model<OutsideForward<by, false>>(std::move(simulator), problem, step);
  };
  if (facts.outputs_beside) return of_type.template operator()<itself_beside_outputs>();
  return facts.jacobian ? of_type.template operator()<itself>() : of_type.template operator()<differences>();
}

Model density_model_of(std::unique_ptr<Simulator> simulator, const SimulatorProblem& problem, double step) {
  const bool gradient = simulator->facts().gradient;
  if (gradient) return Model(OutsideDensityWithGradient(std::move(simulator), problem.priors, step));
  return Model(OutsideDensity(std::move(simulator), problem.priors, step));
}

/// What users may want to know of how it will be sampled.
std::string description(const SimulatorFacts& facts, bool forward, std::size_t numbers) {
  const std::string slopes =
      facts.jacobian   ? "slopes by its Jacobian"
      : facts.gradient ? (forward ? "slopes by differences, gradients by its own" : "slopes by its gradient")
                       : "slopes by differences along the line, each two more runs";
  return fmt::format("{}: {} input{}, {} output{}, {}; {}", facts.name, facts.input_count(),
                     facts.input_count() == 1 ? "" : "s", facts.output_count(),
                     facts.output_count() == 1 ? "" : "s",
                     forward ? fmt::format("{} data", numbers) : std::string("a log density"), slopes);
}

/// At some place of the start where there is a density.
std::vector<std::string> check_simulator(const AnyTarget& prototype, const Start& start, bool curvature) {
  constexpr std::uint64_t tries = 5;
  AnyTarget target = prototype;
  std::vector<double> place(target.dimension());
  for (std::uint64_t attempt = 0; attempt < tries; ++attempt) {
    if (start.kind == Start::Kind::given) place = start.position;
    if (start.kind == Start::Kind::random) {
      Stream(1, 0).normals(attempt, Purpose::start, place);
      for (double& x : place) x *= start.scale;
    }
    if (!std::isfinite(target.value(place))) continue;
    const auto problems = check_derivatives(target, place, {.curvature = curvature});
    if (!problems.empty())
      throw Error(fmt::format("{}. Mend it, or leave the check out (`check`)", problems.front()));
    return {};
  }
  return {};
}

/// A model of a simulator, by the options that both kinds share.
Model model_of(std::unique_ptr<Simulator> simulator, const OptionValues& options, const BuildFor& what_for) {
  const SimulatorFacts facts = simulator->facts();
  const SimulatorProblem problem = read_problem(facts, options, what_for);
  const double step = options.number("difference_step").value_or(1e-4);
  const bool forward = problem.data.has_value();
  const std::string priors = problem.words();
  Model model = forward ? forward_model(std::move(simulator), problem, step)
                        : density_model_of(std::move(simulator), problem, step);
  model.name_indices = problem.priors.name_indices();
  model.notes.push_back(description(facts, forward, forward ? problem.data->size() : 0));
  if (!priors.empty()) model.words = {priors};
  if (forward) {
    DataArray array;
    array.role = DataArray::Role::observed;
    array.shape = {.name = "y", .shape = {problem.data->size()}};
    array.values = [data = *problem.data](const auto& take) { take(data); };
    model.data.push_back(std::move(array));
  }
  // Chains wait for answers: a thread for each keeps as many simulators busy, however few cores there are
  // here.
  model.set_defaults = [](RunSettings& settings) {
    if (settings.threads == 0) settings.threads = settings.chains;
  };
  Start start = model.start;
  if (!what_for.start.empty()) start = parse_start(what_for.start, options.owner(), model.dimension());
  if (options.flag("check") && (facts.jacobian || facts.gradient))
    model.check_data = [prototype = model.target, start, second = facts.hessian && !forward] {
      return check_simulator(prototype, start, second);
    };
  return model;
}

/// Some servers offer second derivatives and cannot give them.
bool gives_hessian(Simulator& simulator) {
  const std::size_t inputs = simulator.facts().input_count();
  const std::vector<double> x(inputs, 0.1), s(simulator.facts().output_count(), 1.0), v(inputs, 1.0);
  std::vector<double> out(inputs);
  try {
    simulator.apply_hessian(x, s, v, out);
  } catch (const std::domain_error&) {
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

ModelKind umbridge_kind() {
  using enum Option::Type;
  std::vector<Option> options{
      {.name = "url",
       .type = text,
       .help =
           "the address, such as http://localhost:4242; several with the same model are separated by commas. "
           "umbridge:URL is the same",
       .required = true},
      {.name = "model", .type = text, .help = "its name on the server", .otherwise = "the only one there"},
      {.name = "config", .type = json, .help = "handed to the model with every request"},
      {.name = "patience",
       .type = number,
       .help = "seconds in which a server that has gone away may come back",
       .usual = 60,
       .range = Range{.low = 0, .from_low = true}},
  };
  for (Option& one : shared_options()) options.push_back(std::move(one));
  return {.name = "umbridge",
          .summary =
              "a simulator or a log density behind UM-Bridge's protocol, on this machine or elsewhere: "
              "umbridge:URL",
          .options = std::move(options),
          .subject = "url",
          .build = [](const OptionValues& given, const BuildFor& what_for) {
            UmBridgeOptions how{.model = given.text("model"),
                                .timeout = given.number("timeout").value_or(60),
                                .patience = given.number("patience").value_or(60)};
            if (given.has("config")) how.config = read_json_option(given, "config");
            auto simulator = umbridge(given.text("url"), how);
            const bool forward = given.has("data") || given.has("problem");
            if (!forward && simulator->facts().hessian && !gives_hessian(*simulator)) {
              how.second_derivatives = false;
              simulator = umbridge(given.text("url"), how);
            }
            return model_of(std::move(simulator), given, what_for);
          }};
}

ModelKind program_kind() {
  using enum Option::Type;
  std::vector<Option> options{
      {.name = "command",
       .type = text,
       .help = "the program and its words, which no shell reads; program:COMMAND is the same",
       .required = true}};
  for (Option& one : shared_options()) options.push_back(std::move(one));
  return {.name = "program",
          .summary =
              "a simulator or a log density that is a program, asked and answering in lines of JSON: "
              "program:./simulate",
          .options = std::move(options),
          .subject = "command",
          .build = [](const OptionValues& given, const BuildFor& what_for) {
            return model_of(program(given.text("command"), {.timeout = given.number("timeout").value_or(60)}),
                            given, what_for);
          }};
}

}  // namespace onward::detail
