#include "bnn.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "checks.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/direction/directions.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/net/predictive.hpp"
#include "onward/net/weights.hpp"
#include "onward/random/stream.hpp"
#include "onward/run/tune.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "rows.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t paper_keeps = 100;  // draws that the paper's figures rest on
constexpr std::size_t grid_points = 160;  // of the figure with bands
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

bool has_step_size(const Kernel& kernel) { return kernel.name != "newton-line"; }

/// To mean 0 and sd 1.
struct Standard {
  double mean = 0, sd = 0;
  explicit Standard(const std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    for (double x : values) mean += x / n;
    for (double x : values) sd += (x - mean) * (x - mean) / n;
    sd = std::sqrt(sd);
    if (!(sd > 0)) throw Error("the points have one x or one y alone: they cannot be standardised");
  }
  float operator()(double x) const { return static_cast<float>((x - mean) / sd); }
};

/// The posterior, and the inputs at which draws are looked at: the points, then a grid.
struct Problem {
  net::Posterior posterior;
  net::Inputs watched;
  net::Answers answers;      // of the points
  std::vector<double> grid;  // in standard units
};

Problem load(const BnnSettings& s, const std::shared_ptr<ThreadPool>& pool) {
  const Points points = s.data.empty() ? made_points(s.seed) : read_points(s.data);
  std::vector<double> xs, ys;
  for (const auto& [x, y] : points) {
    xs.push_back(x);
    ys.push_back(y);
  }
  const Standard x_units(xs), y_units(ys);
  std::vector<float> x, y;
  for (double value : xs) x.push_back(x_units(value));
  for (double value : ys) y.push_back(y_units(value));

  Problem problem{net::Posterior(std::make_shared<net::Network>(net::Layout(net::mlp(1, s.hidden, 1))),
                                 {net::Inputs::values({1, 1, 1}, x), net::Answers::values(1, y)},
                                 {.prior_sd = s.prior_sd, .known_sigma = s.sigma}, pool),
                  {},
                  net::Answers::values(1, y),
                  {}};
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double margin = 0.25 * static_cast<double>(*high - *low), first = static_cast<double>(*low) - margin,
               last = static_cast<double>(*high) + margin;
  for (std::size_t i = 0; i < grid_points; ++i) {
    problem.grid.push_back(first + (last - first) * static_cast<double>(i) / (grid_points - 1));
    x.push_back(static_cast<float>(problem.grid.back()));
  }
  problem.watched = net::Inputs::values({1, 1, 1}, std::move(x));
  return problem;
}

/// What is kept of a chain: predictions of the points and the grid for each draw.
struct ChainDraws {
  std::vector<float> predictions;
  std::vector<double> log_density, seconds;
  double weight_rms = 0;
  std::size_t count() const { return log_density.size(); }
  std::span<const float> draw(std::size_t i) const {
    const std::size_t width = predictions.size() / count();
    return {predictions.data() + i * width, width};
  }
};

class Recorder : public Sink {
 public:
  explicit Recorder(std::size_t chains) : draws(chains) {}
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override {
    ChainDraws& d = draws[chain];
    for (double x : draw.parameters) d.predictions.push_back(static_cast<float>(x));
    d.log_density.push_back(draw.log_density);
    d.seconds.push_back(seconds_since(begin));
    double squares = 0;
    for (double x : draw.position) squares += x * x;
    d.weight_rms = std::sqrt(squares / static_cast<double>(draw.position.size()));
  }
  void finished(std::size_t) override {}
  std::vector<ChainDraws> draws;
  Clock::time_point begin = Clock::now();
};

/// From draws [begin, end) of a chain.
BnnScores judge(const BnnSettings& s, const Problem& problem, const ChainDraws& chain, std::size_t begin,
                std::size_t end) {
  const std::size_t points = problem.answers.count();
  net::Predictive predictive(false, points, 1, problem.answers);
  for (std::size_t i = begin; i < end; ++i) predictive.add(chain.draw(i).first(points), s.sigma);
  const net::Scores scores = predictive.scores();
  return {scores.nll, *scores.mse};
}

/// Of a sampler: those that were asked for, if it takes lines.
std::string directions_of(const BnnSettings& s, std::string_view sampler) {
  return find_sampler(sampler).line ? s.directions : "sphere";
}

RunSettings kernel_run(const BnnSettings& s, const Kernel& kernel, double temperature,
                       const Problem& problem) {
  RunSettings run;
  run.sampler = kernel.name;
  run.sampler_options["bias_correction"] = to_string(kernel.correction);
  if (kernel.name != "newton-line")
    run.sampler_options["curvature_floor"] = 0;  // the paper's kernels have none
  run.directions = directions_of(s, kernel.name);
  run.metric = MetricKind::none;
  run.temperature = temperature;
  run.warmup = 0;
  run.thin = s.thin;
  run.draws = s.steps / s.thin;
  run.chains = s.chains;
  run.threads = s.threads;  // a lone chain has them for its points
  run.seed = s.seed;
  const net::StartLaw law = net::lecun_law(problem.posterior.network().layout);
  run.start.kind = Start::Kind::given;
  run.start.position = law.centre;
  run.start.spread = law.spread;
  return run;
}

/// The step size with which short runs from the start tell the points best.
double look_for_step_size(const BnnSettings& s, const Kernel& kernel, const Problem& problem,
                          const AnyTarget& target, RunSettings run, const std::atomic<bool>& stop) {
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
    chain.predictions.assign(r.chains[0].values.begin(), r.chains[0].values.end());
    chain.log_density = r.chains[0].log_density;
    const std::size_t count = chain.count();
    if (count == 0) return -HUGE_VAL;
    return -std::log(std::max(1e-3, 2 + judge(s, problem, chain, count / 2, count).nll));
  };
  Hooks hooks;
  hooks.stop = &stop;
  return tune_step_size(target, run, tune, hooks).step_size;
}

/// Everything that follows from the draws.
void evaluate(const BnnSettings& s, const Problem& problem, const std::vector<ChainDraws>& chains,
              BnnRow& row) {
  const std::size_t count = chains[0].count();
  const std::size_t burned = std::min(count - 1, s.burn / s.thin);
  row.kept = count - burned;
  const std::size_t last = std::min(paper_keeps, row.kept);
  const auto share = 1 / static_cast<double>(chains.size());
  for (const auto& chain : chains) {
    const BnnScores recent = judge(s, problem, chain, count - last, count);
    const BnnScores kept = judge(s, problem, chain, burned, count);
    const std::size_t middle = burned + std::max<std::size_t>(1, row.kept / 2);
    row.last_of_chains.push_back(recent);
    row.all_of_chains.push_back(kept);
    row.nll_middle += share * judge(s, problem, chain, middle - std::min(last, middle - burned), middle).nll;
    row.last.nll += share * recent.nll;
    row.last.mse += share * recent.mse;
    row.all.nll += share * kept.nll;
    row.all.mse += share * kept.mse;
    row.weight_rms += share * chain.weight_rms;
    for (std::size_t i = count - last; i < count; ++i)
      row.log_density += share * chain.log_density[i] / static_cast<double>(last);
  }

  const ChainDraws& first = chains[0];
  std::size_t before = 0;
  for (std::size_t i = 1; i <= s.curve_points; ++i) {
    const std::size_t end = i * count / s.curve_points;
    if (end == before) continue;
    before = end;
    row.curve.push_back({static_cast<double>(end * s.thin), first.seconds[end - 1],
                         judge(s, problem, first, end - 1, end).nll,
                         judge(s, problem, first, end - std::min(end, paper_keeps), end).nll,
                         first.log_density[end - 1]});
  }

  const std::size_t points = problem.answers.count();
  row.band.x = problem.grid;
  for (std::size_t g = 0; g < problem.grid.size(); ++g) {
    std::vector<double> values;
    for (const auto& chain : chains)
      for (std::size_t i = count - last; i < count; ++i)
        values.push_back(static_cast<double>(chain.draw(i)[points + g]));
    double mean = 0;
    for (double value : values) mean += value / static_cast<double>(values.size());
    std::sort(values.begin(), values.end());
    row.band.mean.push_back(mean);
    row.band.low.push_back(quantile(values, 0.05));
    row.band.high.push_back(quantile(values, 0.95));
  }
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

Points made_points(std::uint64_t seed, std::size_t count) {
  constexpr std::pair<double, double> clusters[] = {{-7.4, -4.8}, {-1.4, 1.4}, {4.7, 7.3}};
  constexpr double noise = 0.05;
  std::vector<double> u(count), z(count);
  Stream(seed, 0).uniforms(0, Purpose::shuffle, u);
  Stream(seed, 0).normals(0, Purpose::noise, z);
  Points points;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [low, high] = clusters[i % 3];
    const double x = low + (high - low) * u[i];
    points.emplace_back(x, 0.6 * std::tanh(0.4 * x + 0.8) + 0.1 * std::sin(1.5 * x) + noise * z[i]);
  }
  return points;
}

Points read_points(const std::string& file) {
  const NpyArray array = read_npy(file);
  constexpr std::size_t least = 10;
  if (array.shape.size() != 2 || array.columns() != 2 || array.rows() < least)
    throw Error(fmt::format("{} has the shape ({}): it must have two columns, x and y, and {} rows or more",
                            file, fmt::join(array.shape, ", "), least));
  const auto values = array.to_doubles();
  Points points;
  for (std::size_t i = 0; i < array.rows(); ++i) {
    const double x = values[i * array.row_stride()],
                 y = values[i * array.row_stride() + array.column_stride()];
    if (!std::isfinite(x) || !std::isfinite(y))
      throw Error(fmt::format("{}: row {} (counted from 1) is {}, {}: points must be finite numbers", file,
                              i + 1, x, y));
    points.emplace_back(x, y);
  }
  return points;
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
  const std::size_t cores =
      s.threads > 0 ? s.threads : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const Problem problem = load(s, std::make_shared<ThreadPool>(cores));
  row.dimension = problem.posterior.dimension();
  row.points = problem.answers.count();
  const AnyTarget target(net::PredictionView(problem.posterior, problem.watched));
  RunSettings run = kernel_run(s, kernel, temperature, problem);
  row.log_density_start =
      target.tempered(temperature).value(net::lecun_start(problem.posterior.network().layout, s.seed));
  if (has_step_size(kernel)) {
    const auto given = s.step_sizes.find(sampler);
    const auto stored =
        s.hidden == BnnSettings{}.hidden ? stored_bnn_step_size(sampler, temperature) : std::nullopt;
    row.tuned = given == s.step_sizes.end() && (s.tune || !stored);
    row.step_size = row.tuned                     ? look_for_step_size(s, kernel, problem, target, run, stop)
                    : given != s.step_sizes.end() ? given->second
                                                  : *stored;
    run.step_size = row.step_size;
    if (stop) return row;
  }
  Recorder recorder(s.chains);
  Hooks hooks;
  hooks.sinks = {&recorder};
  hooks.keep_draws = false;
  hooks.stop = &stop;
  hooks.progress = [&](const Progress& p) {
    progress(static_cast<double>(p.steps_done) / static_cast<double>(p.steps_total));
  };
  const auto begin = Clock::now();
  const Run result = sample(target, run, hooks);
  row.seconds = seconds_since(begin);
  row.peak_bytes = peak_resident_bytes();
  for (const auto& chain : result.chains) row.acceptance += chain.acceptance / static_cast<double>(s.chains);
  row.steps = run.draws * *run.thin;
  row.ms_per_step = 1e3 * row.seconds / static_cast<double>(row.steps);
  if (!stop) evaluate(s, problem, recorder.draws, row);
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

ordered_json to_json(const BnnRow& row) {
  auto curve = ordered_json::array();
  const auto each = [](const std::vector<BnnScores>& scores, double BnnScores::*field) {
    std::vector<double> values;
    for (const auto& score : scores) values.push_back(score.*field);
    return values;
  };
  for (const auto& p : row.curve) curve.push_back({p.step, p.seconds, p.nll_draw, p.nll, p.log_density});
  return {
      {"sampler", row.sampler},
      {"temperature", row.temperature},
      {"directions", row.directions},
      {"dimension", row.dimension},
      {"points", row.points},
      {"nll", row.last.nll},
      {"mse", row.last.mse},
      {"rmse", std::sqrt(row.last.mse)},
      {"ms_per_step", row.ms_per_step},
      {"peak_rss_bytes", row.peak_bytes},
      {"rss_bytes_before", row.bytes_before},
      {"nll_of_chains", each(row.last_of_chains, &BnnScores::nll)},
      {"mse_of_chains", each(row.last_of_chains, &BnnScores::mse)},
      {"all_kept_nll_of_chains", each(row.all_of_chains, &BnnScores::nll)},
      {"all_kept_mse_of_chains", each(row.all_of_chains, &BnnScores::mse)},
      {"nll_middle", row.nll_middle},
      {"all_kept", {{"nll", row.all.nll}, {"mse", row.all.mse}}},
      {"log_density", row.log_density},
      {"log_density_start", row.log_density_start},
      {"weight_rms", row.weight_rms},
      {"step_size", row.step_size ? ordered_json(*row.step_size) : ordered_json(nullptr)},
      {"tuned", row.tuned},
      {"acceptance", row.acceptance},
      {"steps", row.steps},
      {"chains", row.chains},
      {"kept", row.kept},
      {"seconds", row.seconds},
      {"curve", curve},
      {"band", {{"x", row.band.x}, {"mean", row.band.mean}, {"q5", row.band.low}, {"q95", row.band.high}}}};
}

BnnRow bnn_row_from_json(const ordered_json& json) {
  const auto number = number_from_json;
  const auto numbers = [&](const ordered_json& list) {
    std::vector<double> values;
    for (const auto& value : list) values.push_back(number(value));
    return values;
  };
  BnnRow row;
  row.sampler = json.at("sampler");
  row.temperature = json.at("temperature");
  row.directions = json.at("directions");
  row.dimension = json.at("dimension");
  row.points = json.at("points");
  row.last = {number(json.at("nll")), number(json.at("mse"))};
  row.all = {number(json.at("all_kept").at("nll")), number(json.at("all_kept").at("mse"))};
  const auto scores = [&](const char* nlls, const char* mses) {
    const auto nll = numbers(json.at(nlls)), mse = numbers(json.at(mses));
    std::vector<BnnScores> made;
    for (std::size_t i = 0; i < nll.size(); ++i) made.push_back({nll[i], mse.at(i)});
    return made;
  };
  row.last_of_chains = scores("nll_of_chains", "mse_of_chains");
  row.all_of_chains = scores("all_kept_nll_of_chains", "all_kept_mse_of_chains");
  row.nll_middle = number(json.at("nll_middle"));
  row.ms_per_step = json.at("ms_per_step");
  row.peak_bytes = json.at("peak_rss_bytes");
  row.bytes_before = json.at("rss_bytes_before");
  row.log_density = number(json.at("log_density"));
  row.log_density_start = number(json.at("log_density_start"));
  row.weight_rms = number(json.at("weight_rms"));
  if (!json.at("step_size").is_null()) row.step_size = json.at("step_size").get<double>();
  row.tuned = json.at("tuned");
  row.acceptance = number(json.at("acceptance"));
  row.steps = json.at("steps");
  row.chains = json.at("chains");
  row.kept = json.at("kept");
  row.seconds = json.at("seconds");
  for (const auto& p : json.at("curve"))
    row.curve.push_back({number(p[0]), number(p[1]), number(p[2]), number(p[3]), number(p[4])});
  const auto& band = json.at("band");
  row.band = {numbers(band.at("x")), numbers(band.at("mean")), numbers(band.at("q5")),
              numbers(band.at("q95"))};
  return row;
}

}  // namespace onward::experiments
