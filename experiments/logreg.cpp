#include "logreg.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "checks.hpp"
#include "onward/data/load.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/io/idx.hpp"
#include "onward/random/stream.hpp"
#include "onward/run/tune.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "rows.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t classes = 10;
constexpr std::size_t paper_keeps = 100;  // draws that the paper's figures rest on
constexpr std::size_t watched = 50;       // weights whose ESS is reported

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

/// Pixels as the paper has them: x/255, then less 0.1307, divided by 0.3081.
glm::Design normalised(const LabelledImages& images, std::size_t count) {
  constexpr float mean = 0.1307f, sd = 0.3081f;
  const std::span pixels(images.pixels.data(), count * images.pixels_each());
  return glm::Design::bytes(pixels, count, images.pixels_each(), 1 / (255 * sd), -mean / sd, true);
}

/// The posterior on the training images, and the test images.
struct Problem {
  glm::Posterior posterior;
  glm::Design test;
  std::vector<std::uint8_t> test_labels;
};

/// Images and labels from a folder with files of MNIST's names, plain or gzipped, of any number and size.
LabelledImages read_images(const std::filesystem::path& folder, const std::string& set) {
  const auto file = [&](const std::string& name) {
    const auto plain = folder / name;
    const auto zipped = folder / (name + ".gz");
    return std::filesystem::exists(zipped) && !std::filesystem::exists(plain) ? zipped : plain;
  };
  const auto pictures = file(set + "-images-idx3-ubyte");
  auto images = read_idx_images(pictures, file(set + "-labels-idx1-ubyte"));
  if (images.count() == 0 || images.pixels_each() == 0)
    throw Error(fmt::format("{}: it has {} images of {} x {} pixels, and there must be some",
                            pictures.string(), images.count(), images.height, images.width));
  for (std::size_t i = 0; i < images.count(); ++i)
    if (images.labels[i] >= classes)
      throw Error(fmt::format("{}: image {} (counted from 0) of {} has the label {}, expected 0 to {}",
                              folder.string(), i, set, images.labels[i], classes - 1));
  return images;
}

Problem load(const LogregSettings& s, const std::shared_ptr<ThreadPool>& pool) {
  TrainAndTest data =
      s.data.empty() ? load_mnist() : TrainAndTest{read_images(s.data, "train"), read_images(s.data, "t10k")};
  if (data.train.height != data.test.height || data.train.width != data.test.width)
    throw Error(
        fmt::format("{}: the training images have {} x {} pixels and the test images {} x {}: they "
                    "must be of one size",
                    s.data, data.train.height, data.train.width, data.test.height, data.test.width));
  const std::size_t count = std::min(s.images, data.train.count());
  auto design = std::make_shared<glm::Design>(normalised(data.train, count));
  const std::vector<double> labels(data.train.labels.begin(),
                                   data.train.labels.begin() + static_cast<std::ptrdiff_t>(count));
  data.train = {};  // the design has its own copy
  auto observations = std::make_shared<glm::Observations>(glm::Family::categorical, labels,
                                                          glm::RowOptions{.classes = classes});
  glm::PosteriorOptions options;
  options.coefficients = options.intercept = glm::Prior::normal(0, 1);
  options.centre = false;  // the paper's prior is that of the biases themselves
  glm::Design test = normalised(data.test, data.test.count());
  return {glm::Posterior(std::move(design), std::move(observations), std::move(options), pool),
          std::move(test), std::move(data.test.labels)};
}

/// The posterior with names that begin with the class, so that a class's weights are a block of directions.
struct ByClass {
  glm::Posterior posterior;
  std::size_t dimension() const { return posterior.dimension(); }
  Jet jet(VectorView theta, VectorView v, Order order) { return posterior.jet(theta, v, order); }
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
    return posterior.jet_pair(theta, v, w, order);
  }
  double jet_pair_price(Order order) const { return posterior.jet_pair_price(order); }
  glm::Posterior::Line line(VectorView theta, const Direction& v) { return posterior.line(theta, v); }
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
std::vector<double> start_position(const LogregSettings& s, const glm::Posterior& posterior) {
  const std::size_t width = posterior.design().columns();
  std::vector<double> start(posterior.dimension());
  Stream(s.seed, 0).normals(0, Purpose::start, start);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] *= i % width == 0 ? 0.0 : 1 / std::sqrt(static_cast<double>(width - 1));
  return start;
}

/// Draws of one chain as floats, which is what predictions need.
struct ChainDraws {
  std::vector<float> values;
  std::vector<double> log_density, seconds;
  std::size_t count() const { return log_density.size(); }
};

class Recorder : public Sink {
 public:
  /// Begins anew.
  void begin(std::size_t chains) {
    draws.assign(chains, {});
    begin_ = Clock::now();
  }
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override {
    ChainDraws& d = draws[chain];
    for (double x : draw.parameters) d.values.push_back(static_cast<float>(x));
    d.log_density.push_back(draw.log_density);
    d.seconds.push_back(seconds_since(begin_));
  }
  void finished(std::size_t) override {}
  std::vector<ChainDraws> draws;

 private:
  Clock::time_point begin_;
};

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

void sample_kernel(const LogregSettings& s, const Kernel& kernel, const Problem& problem, LogregRow& row,
                   Recorder& recorder, const std::function<void(double)>& progress,
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
  Hooks hooks;
  hooks.sinks = {&recorder};
  hooks.keep_draws = false;
  hooks.stop = &stop;
  hooks.progress = [&](const Progress& p) {
    progress(static_cast<double>(p.steps_done) / static_cast<double>(p.steps_total));
  };
  recorder.begin(1);
  const auto begin = Clock::now();
  const Run result = sample(target, run, hooks);
  row.seconds = seconds_since(begin);
  row.acceptance = result.chains[0].acceptance;
  row.steps = run.draws * *run.thin;
  row.ms_per_step = 1e3 * row.seconds / static_cast<double>(row.steps);
}

void sample_axes(const LogregSettings& s, Problem& problem, LogregRow& row, Recorder& recorder,
                 const std::function<void(double)>& progress, const std::atomic<bool>& stop) {
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
  Hooks hooks;
  hooks.sinks = {&recorder};
  hooks.keep_draws = false;
  hooks.stop = &stop;
  hooks.progress = [&](const Progress& p) {
    progress(static_cast<double>(p.steps_done) / static_cast<double>(p.steps_total));
  };
  double set_up = 0;
  const auto begin = Clock::now();
  hooks.notes = [&](const auto&) { set_up = seconds_since(begin); };
  recorder.begin(s.axis_chains);
  const Run result = glm::sample_axes(std::move(problem.posterior), settings, hooks);
  row.seconds = seconds_since(begin);
  row.set_up_seconds = set_up;
  for (const auto& chain : result.chains)
    row.acceptance += chain.acceptance / static_cast<double>(result.chains.size());
  row.steps = s.sweeps * dimension;
  row.ms_per_step = 1e3 * (row.seconds - set_up) / static_cast<double>(row.steps * s.axis_chains);
}

/// Adds up the predictive probabilities of draws.
class Predictor {
 public:
  Predictor(const glm::Design& test, ThreadPool& pool)
      : test_(test),
        pool_(pool),
        stride_(glm::padded_rows(test.rows())),
        logits_(stride_ * classes),
        sums_(test.rows() * classes, 0.0) {}

  void add(std::span<const float> theta) {
    const std::vector<double> wide(theta.begin(), theta.end());
    test_.multiply(wide, classes, logits_.data(), pool_);
    ++count_;
    for (std::size_t i = 0; i < test_.rows(); ++i) {
      float most = logits_[i];
      for (std::size_t k = 1; k < classes; ++k) most = std::max(most, logits_[k * stride_ + i]);
      double e[classes], total = 0;
      for (std::size_t k = 0; k < classes; ++k)
        total += e[k] = std::exp(static_cast<double>(logits_[k * stride_ + i] - most));
      for (std::size_t k = 0; k < classes; ++k) sums_[i * classes + k] += e[k] / total;
    }
  }
  std::vector<double> mean() const {
    std::vector<double> p = sums_;
    for (double& x : p) x /= static_cast<double>(count_);
    return p;
  }

 private:
  const glm::Design& test_;
  ThreadPool& pool_;
  std::size_t stride_;
  glm::Floats logits_;
  std::vector<double> sums_;
  std::size_t count_ = 0;
};

/// The prediction from draws [begin, end) of every chain, at most `most` of them, evenly spaced.
Prediction predict(const Problem& problem, const std::vector<ChainDraws>& chains, std::size_t begin,
                   std::size_t end, std::size_t most, ThreadPool& pool) {
  Predictor predictor(problem.test, pool);
  const std::size_t width = chains[0].values.size() / chains[0].count();
  const std::size_t each = std::max<std::size_t>(1, std::min(end - begin, most / chains.size()));
  for (const auto& chain : chains)
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t draw = end - 1 - i * (end - begin) / each;
      predictor.add({chain.values.data() + draw * width, width});
    }
  return judge_classes(predictor.mean(), problem.test_labels, classes);
}

/// Everything that follows from the draws.
void evaluate(const LogregSettings& s, const Problem& problem, const std::vector<ChainDraws>& chains,
              LogregRow& row, ThreadPool& pool) {
  const std::size_t count = std::min_element(chains.begin(), chains.end(), [](const auto& a, const auto& b) {
                              return a.count() < b.count();
                            })->count();
  const bool axes = chains.size() > 1 || row.sampler == "newton-line-axis";
  const std::size_t burned = axes ? 0 : std::min(count - 1, s.burn / s.thin);  // or by its own warm-up
  const std::size_t last = std::min(count - burned, std::max<std::size_t>(1, paper_keeps / chains.size()));
  row.kept = (count - burned) * chains.size();
  row.last = predict(problem, chains, count - last, count, paper_keeps, pool);
  row.all = predict(problem, chains, burned, count, row.kept, pool);
  Chains log_density;
  for (const auto& chain : chains) {
    log_density.emplace_back(chain.log_density.begin() + static_cast<std::ptrdiff_t>(burned),
                             chain.log_density.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = count - last; i < count; ++i)
      row.log_density += chain.log_density[i] / static_cast<double>(last * chains.size());
  }
  row.ess_log_density = ess_bulk(log_density);
  if (chains.size() > 1) row.rhat_log_density = rhat(log_density);

  const std::size_t width = chains[0].values.size() / chains[0].count();
  std::vector<double> u(watched), ess;
  Stream(s.seed, 0).uniforms(0, Purpose::shuffle, u);
  for (double x : u) {
    const auto weight = std::min(static_cast<std::size_t>(x * static_cast<double>(width)), width - 1);
    Chains values;
    for (const auto& chain : chains) {
      auto& one = values.emplace_back();
      for (std::size_t i = burned; i < count; ++i)
        one.push_back(static_cast<double>(chain.values[i * width + weight]));
    }
    ess.push_back(ess_bulk(values));
  }
  std::sort(ess.begin(), ess.end());
  row.ess_weights_least = ess.front();
  row.ess_weights_median = quantile(ess, 0.5);

  std::size_t before = 0;
  for (std::size_t i = 1; i <= s.curve_points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(s.curve_points);
    const auto end = static_cast<std::size_t>(std::lround(std::pow(static_cast<double>(count), share)));
    if (end == before) continue;
    before = end;
    const Prediction p = predict(problem, chains, end / 2, end, s.curve_draws, pool);
    double seconds = 0, mean = 0;
    for (const auto& chain : chains) {
      seconds = std::max(seconds, chain.seconds[end - 1]);
      mean += chain.log_density[end - 1] / static_cast<double>(chains.size());
    }
    row.curve.push_back({seconds, p.nll, p.accuracy, mean});
  }
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
  const std::size_t threads =
      s.threads > 0 ? s.threads : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  auto pool = std::make_shared<ThreadPool>(threads);
  Problem problem = load(s, pool);
  LogregRow row;
  row.sampler = sampler;
  row.dimension = problem.posterior.dimension();
  row.images = problem.posterior.observations().rows();
  Recorder recorder;
  if (sampler == "newton-line-axis")
    sample_axes(s, problem, row, recorder, progress, stop);
  else
    sample_kernel(s, kernel, problem, row, recorder, progress, stop);
  row.peak_bytes = peak_resident_bytes();
  if (!stop) evaluate(s, problem, recorder.draws, row, *pool);
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

ordered_json to_json(const LogregRow& row) {
  const auto prediction = [](const Prediction& p) {
    return ordered_json{{"nll", p.nll}, {"accuracy", p.accuracy}, {"ece", p.ece}};
  };
  auto curve = ordered_json::array();
  for (const auto& point : row.curve)
    curve.push_back({point.seconds, point.nll, point.accuracy, point.log_density});
  ordered_json json{{"sampler", row.sampler},
                    {"dimension", row.dimension},
                    {"images", row.images},
                    {"nll", row.last.nll},
                    {"accuracy", row.last.accuracy},
                    {"ece", row.last.ece},
                    {"ms_per_step", row.ms_per_step},
                    {"peak_rss_bytes", row.peak_bytes},
                    {"log_posterior", row.log_density},
                    {"log_posterior_start", row.log_density_start},
                    {"step_size", row.step_size ? ordered_json(*row.step_size) : ordered_json(nullptr)},
                    {"tuned", row.tuned},
                    {"acceptance", row.acceptance},
                    {"steps", row.steps},
                    {"chains", row.chains},
                    {"kept", row.kept},
                    {"all_kept", prediction(row.all)},
                    {"seconds", row.seconds},
                    {"set_up_seconds", row.set_up_seconds},
                    {"ess_log_density", row.ess_log_density},
                    {"ess_weights_least", row.ess_weights_least},
                    {"ess_weights_median", row.ess_weights_median}};
  json["rhat_log_density"] =
      row.rhat_log_density ? ordered_json(*row.rhat_log_density) : ordered_json(nullptr);
  json["curve"] = curve;
  return json;
}

LogregRow logreg_row_from_json(const ordered_json& json) {
  const auto number = number_from_json;
  const auto prediction = [&](const ordered_json& p) {
    return Prediction{number(p.at("nll")), number(p.at("accuracy")), number(p.at("ece"))};
  };
  LogregRow row;
  row.sampler = json.at("sampler");
  row.dimension = json.at("dimension");
  row.images = json.value("images", std::size_t{0});  // rows of old have none
  row.last = prediction(json);
  row.all = prediction(json.at("all_kept"));
  row.ms_per_step = json.at("ms_per_step");
  row.peak_bytes = json.at("peak_rss_bytes");
  row.log_density = number(json.at("log_posterior"));
  row.log_density_start = number(json.at("log_posterior_start"));
  if (!json.at("step_size").is_null()) row.step_size = json.at("step_size").get<double>();
  row.tuned = json.at("tuned");
  row.acceptance = number(json.at("acceptance"));
  row.steps = json.at("steps");
  row.chains = json.at("chains");
  row.kept = json.at("kept");
  row.seconds = json.at("seconds");
  row.set_up_seconds = json.at("set_up_seconds");
  row.ess_log_density = number(json.at("ess_log_density"));
  row.ess_weights_least = number(json.at("ess_weights_least"));
  row.ess_weights_median = number(json.at("ess_weights_median"));
  if (!json.at("rhat_log_density").is_null())
    row.rhat_log_density = json.at("rhat_log_density").get<double>();
  for (const auto& p : json.at("curve"))
    row.curve.push_back({number(p[0]), number(p[1]), number(p[2]), number(p[3])});
  return row;
}

}  // namespace onward::experiments
