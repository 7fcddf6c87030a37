#include "bnn.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bnn_problem.hpp"
#include "checks.hpp"
#include "onward/direction/directions.hpp"
#include "onward/error.hpp"
#include "onward/net/weights.hpp"
#include "onward/run/tune.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/memory.hpp"
#include "rows.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;

constexpr double published_temperature = 400;

/// A sampler of the table in the words of the library.
struct Kernel {
  std::string_view name;
  BiasCorrection correction = BiasCorrection::none;
  std::optional<double> step_size_400 = {}, step_size_1 = {};
  double shortest = 0, longest = 0;  // step sizes to look among
};

// The paper corrects for the bias of a unit direction here; rwm, mala, pc-line-fmala know no such correction.
const Kernel kernels[] = {
    {"rwm", BiasCorrection::none, 1.5e-3, 3e-4, 1e-5, 0.05},
    {"mala", BiasCorrection::none, 1e-3, 3e-4, 1e-5, 0.05},
    {"fmala", BiasCorrection::coupled, 8e-6, 1e-6, 1e-8, 1e-3},
    {"line-fmala", BiasCorrection::coupled, 2e-3, 2e-4, 1e-6, 0.02},
    {"pc-fmala", BiasCorrection::coupled, 0.01, 0.01, 1e-4, 2},
    {"pc-line-fmala", BiasCorrection::none, 1.5, 1.5, 0.2, 2.5},
    {"newton-line"},
};

const Kernel& find_kernel(std::string_view name) { return find_by_name(kernels, name); }

bool has_step_size(const Kernel& kernel) { return find_sampler(kernel.name).tuned; }

/// Of a sampler: those that were asked for, if it takes lines.
std::string directions_of(const BnnSettings& s, std::string_view sampler) {
  return find_sampler(sampler).line ? s.directions : "sphere";
}

/// The start, which is as long as the weights, goes from the model to the run.
RunSettings kernel_run(const BnnSettings& s, const Kernel& kernel, double temperature, Model& model) {
  RunSettings run;
  run.sampler = kernel.name;
  run.sampler_options["bias_correction"] = to_string(kernel.correction);
  // Those with a step size are the paper's kernels, which have no floor.
  if (has_step_size(kernel)) run.sampler_options["curvature_floor"] = 0;
  run.directions = directions_of(s, kernel.name);
  run.metric = MetricKind::none;
  run.temperature = temperature;
  run.warmup = 0;
  run.thin = s.thin;
  run.draws = s.steps / s.thin;
  run.chains = s.chains;
  run.threads = s.threads;  // a lone chain has them for its points
  run.seed = s.seed;
  run.start = std::move(model.start);
  return run;
}

/// The step size with which short runs from the start tell the points best.
double look_for_step_size(const BnnSettings& s, const Kernel& kernel, const BnnProblem& problem,
                          RunSettings run, const std::atomic<bool>& stop) {
  constexpr std::size_t draws = 80;
  run.chains = 1;
  run.thin = std::max<std::size_t>(1, s.tune_steps / draws);
  run.draws = std::max<std::size_t>(1, s.tune_steps / *run.thin);
  TuneSettings tune;
  tune.trials = s.tune_trials;
  tune.least = kernel.shortest;
  tune.most = kernel.longest;
  // A chain that is far off has an NLL in the hundreds: the logarithm keeps the curve smooth. -1 is below
  // what any predictive can reach here.
  tune.score = [&](const Run& r) {
    ChainDraws chain;
    chain.values.assign(r.chains[0].values.begin(), r.chains[0].values.end());
    chain.log_density = r.chains[0].log_density;
    const std::size_t count = chain.count();
    if (count == 0) return -HUGE_VAL;
    return -std::log(std::max(1e-3, 2 + judge_bnn(s, problem, chain, count / 2, count).nll));
  };
  Hooks hooks;
  hooks.stop = &stop;
  return tune_step_size(problem.model.target, run, tune, hooks).step_size;
}

/// row-NAME.json's NAME.
std::string row_name(const std::string& sampler, double temperature) {
  return fmt::format("{}-{}", sampler, temperature);
}

/// What a row depends on.
ordered_json row_settings(const BnnSettings& s, const std::string& sampler, double temperature) {
  ordered_json json{{"sampler", sampler}, {"temperature", temperature},
                    {"steps", s.steps},   {"burn", s.burn},
                    {"thin", s.thin},     {"chains", s.chains},
                    {"hidden", s.hidden}, {"prior_sd", s.prior_sd},
                    {"sigma", s.sigma},   {"seed", s.seed},
                    {"tune", s.tune},     {"data", data_settings(s.data)},
                    {"format", 3},        {"directions", directions_of(s, sampler)}};
  if (const auto it = s.step_sizes.find(sampler); it != s.step_sizes.end()) json["step_size"] = it->second;
  return json;
}

}  // namespace

std::optional<double> stored_bnn_step_size(std::string_view sampler, double temperature) {
  const Kernel& kernel = find_kernel(sampler);
  if (temperature == published_temperature) return kernel.step_size_400;
  return temperature == 1 ? kernel.step_size_1 : std::nullopt;
}

std::optional<PublishedBnnRow> published_bnn(std::string_view sampler) {
  if (sampler == "fmala") return PublishedBnnRow{-0.168, 0.011, 81.8, 1.8};
  if (sampler == "line-fmala") return PublishedBnnRow{-0.671, 0.011, 35.4, 0.7};
  if (sampler == "pc-fmala") return PublishedBnnRow{12.371, 0.022, 88.4, 1.3};
  if (sampler == "pc-line-fmala") return PublishedBnnRow{-0.691, 0.011, 38.1, 1.0};
  if (sampler == "mala") return PublishedBnnRow{-0.458, 0.011, 37.0, 0.8};
  return std::nullopt;
}

void validate(const BnnSettings& s) {
  if (s.samplers.empty()) throw UsageError("there are no samplers: name at least one");
  for (const auto& sampler : s.samplers) find_kernel(sampler);
  if (s.temperatures.empty()) throw UsageError("there are no temperatures: give at least one");
  for (double temperature : s.temperatures) check_positive("temperature", temperature);
  check_at_least("thin", s.thin, 1);
  check_at_least("steps", s.steps, 8 * s.thin);
  check_at_least("chains", s.chains, 1);
  if (s.burn + 4 * s.thin > s.steps)
    throw UsageError(fmt::format("burn {} leaves fewer than 4 kept draws of {} steps, every {}th kept",
                                 s.burn, s.steps, s.thin));
  if (s.hidden.empty()) throw UsageError("there are no hidden layers: give their widths, such as 100,100");
  for (std::size_t width : s.hidden) check_at_least("hidden", width, 1);
  // Throws for directions that there are not.
  const net::Layout layout(net::mlp(1, s.hidden, 1));
  make_directions(s.directions, DirectionLaw::any, layout.parameter_count(), {}, layout.blocks());
  check_positive("prior sd", s.prior_sd);
  check_positive("sigma", s.sigma);
  for (const auto& [sampler, step_size] : s.step_sizes) {
    if (!has_step_size(find_kernel(sampler))) throw UsageError(fmt::format("{} has no step size", sampler));
    check_positive("step size of " + sampler, step_size);
  }
}

BnnRow bnn_row(const BnnSettings& s, const std::string& sampler, double temperature,
               const std::function<void(double)>& progress, const std::atomic<bool>& stop) {
  const Kernel& kernel = find_kernel(sampler);
  BnnRow row;
  row.sampler = sampler;
  row.temperature = temperature;
  row.directions = directions_of(s, sampler);
  row.chains = s.chains;
  row.bytes_before = resident_bytes();
  BnnProblem problem = load_bnn(s);
  row.dimension = problem.model.dimension();
  row.points = problem.answers.count();
  RunSettings run = kernel_run(s, kernel, temperature, problem.model);
  const net::Layout layout(net::mlp(1, s.hidden, 1));
  row.log_density_start = problem.model.target.tempered(temperature).value(net::lecun_start(layout, s.seed));
  if (has_step_size(kernel)) {
    const auto given = s.step_sizes.find(sampler);
    const auto stored =
        s.hidden == BnnSettings{}.hidden ? stored_bnn_step_size(sampler, temperature) : std::nullopt;
    row.tuned = given == s.step_sizes.end() && (s.tune || !stored);
    row.step_size = row.tuned                     ? look_for_step_size(s, kernel, problem, run, stop)
                    : given != s.step_sizes.end() ? given->second
                                                  : *stored;
    run.step_size = row.step_size;
    if (stop) return row;
  }
  row.steps = run.draws * *run.thin;
  Recorder recorder(s.chains);
  const auto begin = Clock::now();
  const Run result = sample(std::move(problem.model), std::move(run), recording(recorder, progress, stop));
  row.seconds = seconds_since(begin);
  row.peak_bytes = peak_resident_bytes();
  for (const auto& chain : result.chains) row.acceptance += chain.acceptance / static_cast<double>(s.chains);
  row.ms_per_step = 1e3 * row.seconds / static_cast<double>(row.steps);
  if (!stop) judge_bnn(s, problem, recorder.draws, row);
  return row;
}

std::optional<BnnTable> bnn_table(const BnnSettings& settings, const BnnProgress& progress,
                                  const std::atomic<bool>& stop) {
  validate(settings);
  const auto begin = Clock::now();
  BnnTable table{settings, {}, 0};
  for (double temperature : settings.temperatures)
    for (const auto& sampler : settings.samplers) {
      const RowJob job{
          row_name(sampler, temperature), row_settings(settings, sampler, temperature),
          [&](const Share& share) { return to_json(bnn_row(settings, sampler, temperature, share, stop)); }};
      const auto row = make_row(
          settings.folder, job,
          [&](double share) {
            if (progress) progress(table.rows.size(), share);
          },
          stop);
      if (!row) return std::nullopt;
      table.rows.push_back(bnn_row_from_json(*row));
    }
  table.seconds = seconds_since(begin);
  return table;
}

}  // namespace onward::experiments
