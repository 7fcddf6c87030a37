#include "logreg.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "checks.hpp"
#include "logreg_problem.hpp"
#include "onward/error.hpp"
#include "onward/glm/model.hpp"
#include "onward/random/stream.hpp"
#include "onward/run/tune.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/memory.hpp"
#include "rows.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;

/// A sampler of the table in the words of the library.
struct Kernel {
  std::string_view name, sampler, directions;
  BiasCorrection correction = BiasCorrection::none;
  std::optional<double> step_size = {};
  double shortest = 0, longest = 0;  // step sizes to look among
};

// The paper corrects for the bias of a unit direction here; rwm, mala, pc-line-fmala know no such correction.
const Kernel kernels[] = {
    {"rwm", "rwm", "sphere", BiasCorrection::none, 8e-4, 1e-4, 3e-3},
    {"mala", "mala", "sphere", BiasCorrection::none, 4.5e-4, 3e-4, 6e-3},
    {"fmala", "fmala", "sphere", BiasCorrection::coupled, 1.233e-5, 1e-6, 4e-5},
    {"line-fmala", "line-fmala", "sphere", BiasCorrection::coupled, 2.4e-4, 5e-5, 3e-3},
    {"pc-fmala", "pc-fmala", "sphere", BiasCorrection::coupled, 2e-3, 2e-4, 0.2},
    {"pc-line-fmala", "pc-line-fmala", "sphere", BiasCorrection::none, 1.216, 0.2, 2},
    {"newton-line", "newton-line", "sphere"},
    {"newton-line-block", "newton-line", "blocks"},
    {"newton-line-axis", "newton-line", "axes"},
};

const Kernel& find_kernel(std::string_view name) { return find_by_name(kernels, name); }

/// The posterior with names that begin with the class, so that a class's weights are a block of directions.
struct ByClass {
  glm::RegressionPosterior posterior;
  std::size_t dimension() const { return posterior.dimension(); }
  Jet jet(VectorView theta, VectorView v, Order order) { return posterior.jet(theta, v, order); }
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
    return posterior.jet_pair(theta, v, w, order);
  }
  double jet_pair_price(Order order) const { return posterior.jet_pair_price(order); }
  glm::RegressionPosterior::Line line(VectorView theta, const Direction& v) {
    return posterior.line(theta, v);
  }
  double refresh() { return posterior.refresh(); }
  void use_pool(std::shared_ptr<ThreadPool> pool) { posterior.use_pool(std::move(pool)); }
  double gradient(VectorView theta, std::span<double> out) { return posterior.gradient(theta, out); }
  std::vector<std::string> names() const {
    const std::size_t width = posterior.design().columns();
    std::vector<std::string> result;
    for (std::size_t i = 0; i < dimension(); ++i)
      result.push_back(fmt::format("class{}.{}", i / width, i % width));
    return result;
  }
};

/// Weights of variance 1/784, biases 0.
std::vector<double> start_position(const LogregSettings& s, const glm::RegressionPosterior& posterior) {
  const std::size_t width = posterior.design().columns();
  std::vector<double> start(posterior.dimension());
  Stream(s.seed, 0).normals(0, Purpose::start, start);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] *= i % width == 0 ? 0.0 : 1 / std::sqrt(static_cast<double>(width - 1));
  return start;
}

RunSettings kernel_run(const LogregSettings& s, const Kernel& kernel, std::vector<double> start) {
  RunSettings run;
  run.sampler = kernel.sampler;
  run.directions = kernel.directions;
  run.sampler_options["bias_correction"] = to_string(kernel.correction);
  run.sampler_options["curvature_floor"] =
      0;  // the paper's kernels have none, and here no direction is nearly straight
  run.metric = MetricKind::none;
  run.warmup = 0;
  run.thin = s.thin;
  run.draws = s.steps / s.thin;
  run.chains = 1;  // threads share the rows
  run.threads = s.threads;
  run.seed = s.seed;
  run.start = {Start::Kind::given, 1, std::move(start)};
  return run;
}

/// The step size with which short runs come highest. Near the start long steps pay that are hardly ever
/// accepted later, so the search is made again where its own step sizes have brought the chain.
double look_for_step_size(const LogregSettings& s, const Kernel& kernel, const AnyTarget& target,
                          RunSettings run, const std::atomic<bool>& stop) {
  constexpr std::uint64_t searches = 3;
  const std::size_t advance = std::max<std::size_t>(s.tune_steps, s.steps / 20);
  TuneSettings tune;
  tune.trials = s.tune_trials;
  tune.least = kernel.shortest;
  tune.most = kernel.longest;
  tune.score = [](const Run& r) { return r.chains[0].log_density.back(); };
  Hooks hooks;
  hooks.stop = &stop;
  for (std::uint64_t search = 1;; ++search) {
    run.seed = s.seed + search;
    run.thin = std::max<std::size_t>(1, s.tune_steps / 10);
    run.draws = std::max<std::size_t>(1, s.tune_steps / *run.thin);
    const double found = tune_step_size(target, run, tune, hooks).step_size;
    if (search == searches || stop) return found;
    run.step_size = found;
    run.thin = advance;
    run.draws = 1;
    run.start.position = sample(target, run, hooks).chains[0].values;
    if (run.start.position.size() != target.dimension()) return found;  // stopped
    run.step_size.reset();
    tune.most = found * 1.5;
  }
}

std::vector<ChainDraws> sample_kernel(const LogregSettings& s, const Kernel& kernel,
                                      const LogregProblem& problem, LogregRow& row,
                                      const std::function<void(double)>& progress,
                                      const std::atomic<bool>& stop) {
  AnyTarget target(ByClass{problem.posterior});
  RunSettings run = kernel_run(s, kernel, start_position(s, problem.posterior));
  row.log_density_start = target.value(run.start.position);
  if (kernel.step_size) {
    const auto given = s.step_sizes.find(row.sampler);
    row.tuned = s.tune && given == s.step_sizes.end();
    row.step_size = given != s.step_sizes.end() ? given->second
                    : row.tuned                 ? look_for_step_size(s, kernel, target, run, stop)
                                                : *kernel.step_size;
    run.step_size = row.step_size;
  }
  Recorder recorder(1);
  const auto begin = Clock::now();
  const Run result = sample(target, run, recording(recorder, progress, stop));
  row.seconds = seconds_since(begin);
  row.acceptance = result.chains[0].acceptance;
  row.steps = run.draws * *run.thin;
  row.ms_per_step = 1e3 * row.seconds / static_cast<double>(row.steps);
  return std::move(recorder.draws);
}

std::vector<ChainDraws> sample_axes(const LogregSettings& s, LogregProblem& problem, LogregRow& row,
                                    const std::function<void(double)>& progress,
                                    const std::atomic<bool>& stop) {
  const std::size_t dimension = problem.posterior.dimension();
  {
    // The set-up starts from 0.
    AnyTarget target(problem.posterior);
    row.log_density_start = target.value(std::vector<double>(dimension, 0.0));
  }
  RunSettings settings;
  settings.chains = row.chains = s.axis_chains;
  settings.warmup = s.sweeps / 6 * dimension;
  settings.draws = s.sweeps - s.sweeps / 6;
  settings.seed = s.seed;
  settings.threads = problem.posterior.pool().threads();
  double set_up = 0;
  Recorder recorder(s.axis_chains);
  Hooks hooks = recording(recorder, progress, stop);
  const auto begin = Clock::now();
  hooks.notes = [&](const auto&) { set_up = seconds_since(begin); };
  const Run result = sample(glm::regression_model(std::move(problem.posterior)), settings, hooks);
  row.seconds = seconds_since(begin);
  row.set_up_seconds = set_up;
  for (const auto& chain : result.chains)
    row.acceptance += chain.acceptance / static_cast<double>(result.chains.size());
  row.steps = s.sweeps * dimension;
  row.ms_per_step = 1e3 * (row.seconds - set_up) / static_cast<double>(row.steps * s.axis_chains);
  return std::move(recorder.draws);
}

/// What a row depends on: a row that was kept is used again only if all of it is the same.
ordered_json row_settings(const LogregSettings& s, const std::string& sampler) {
  ordered_json json{{"sampler", sampler},
                    {"images", s.images},
                    {"seed", s.seed},
                    {"tune", s.tune},
                    {"data", data_settings(s.data)}};
  if (sampler == "newton-line-axis") {
    json["sweeps"] = s.sweeps;
    json["chains"] = s.axis_chains;
  } else {
    json["steps"] = s.steps, json["burn"] = s.burn, json["thin"] = s.thin;
    if (const auto it = s.step_sizes.find(sampler); it != s.step_sizes.end()) json["step_size"] = it->second;
  }
  return json;
}

}  // namespace

std::optional<double> stored_step_size(std::string_view sampler) { return find_kernel(sampler).step_size; }

std::optional<PublishedLogregRow> published_logreg(std::string_view sampler) {
  if (sampler == "fmala") return PublishedLogregRow{0.285, 0.920, 0.0187, 69.2, 0.4};
  if (sampler == "line-fmala") return PublishedLogregRow{0.290, 0.919, 0.0188, 63.9, 0.8};
  if (sampler == "pc-fmala") return PublishedLogregRow{0.363, 0.891, 0.0186, 71.3, 1.0};
  if (sampler == "pc-line-fmala") return PublishedLogregRow{0.281, 0.923, 0.0175, 64.8, 0.7};
  if (sampler == "mala") return PublishedLogregRow{0.277, 0.923, 0.0189, 85.7, 0.7};
  return std::nullopt;
}

void validate(const LogregSettings& s) {
  if (s.samplers.empty()) throw UsageError("there are no samplers: name at least one");
  for (const auto& sampler : s.samplers) find_kernel(sampler);
  check_at_least("images", s.images, 10);
  check_at_least("thin", s.thin, 1);
  if (s.steps < 8 * s.thin)
    throw UsageError(fmt::format(
        "--steps {} is too few: every {}th is kept (--thin), so it must be {} or more, or --thin smaller",
        s.steps, s.thin, 8 * s.thin));
  check_at_least("sweeps", s.sweeps, 8);
  if (s.burn + 4 * s.thin > s.steps)
    throw UsageError(fmt::format("burn {} leaves fewer than 4 kept draws of {} steps, every {}th kept",
                                 s.burn, s.steps, s.thin));
  for (const auto& [sampler, step_size] : s.step_sizes) {
    if (!find_kernel(sampler).step_size) throw UsageError(fmt::format("{} has no step size", sampler));
    if (!(step_size > 0) || !std::isfinite(step_size))
      throw UsageError(
          fmt::format("step size {} of {} is not usable: it must be positive", step_size, sampler));
  }
}

LogregRow logreg_row(const LogregSettings& s, const std::string& sampler,
                     const std::function<void(double)>& progress, const std::atomic<bool>& stop) {
  const Kernel& kernel = find_kernel(sampler);
  auto pool = std::make_shared<ThreadPool>(threads_or_all(s.threads));
  LogregProblem problem = load_logreg(s, pool);
  LogregRow row;
  row.sampler = sampler;
  row.dimension = problem.posterior.dimension();
  row.images = problem.posterior.observations().rows();
  const auto draws = sampler == "newton-line-axis" ? sample_axes(s, problem, row, progress, stop)
                                                   : sample_kernel(s, kernel, problem, row, progress, stop);
  row.peak_bytes = peak_resident_bytes();
  if (!stop) judge_logreg(s, problem, draws, row, *pool);
  return row;
}

std::optional<LogregTable> logreg_table(const LogregSettings& settings, const LogregProgress& progress,
                                        const std::atomic<bool>& stop) {
  validate(settings);
  const auto begin = Clock::now();
  LogregTable table{settings, {}, 0};
  for (const auto& sampler : settings.samplers) {
    const RowJob job{sampler, row_settings(settings, sampler),
                     [&](const Share& share) { return to_json(logreg_row(settings, sampler, share, stop)); }};
    const auto row = make_row(
        settings.folder, job,
        [&](double share) {
          if (progress) progress(sampler, share);
        },
        stop);
    if (!row) return std::nullopt;
    table.rows.push_back(logreg_row_from_json(*row));
    // There may be fewer than were asked for.
    if (table.rows.back().images > 0) table.settings.images = table.rows.back().images;
  }
  table.seconds = seconds_since(begin);
  return table;
}

}  // namespace onward::experiments
