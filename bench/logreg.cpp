// MNIST's softmax regression: steps of our kernels beside PyTorch's, and what the axis sampler makes of the
// posterior beside the paper's samplers in our own implementation.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "bench.hpp"
#include "experiments/logreg.hpp"
#include "experiments/stepper.hpp"
#include "onward/data/data_set.hpp"
#include "onward/data/load.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/random/stream.hpp"
#include "peers.hpp"

namespace onward::bench {
namespace {

using namespace glm;
using experiments::Stepper;

RegressionPosterior mnist_posterior(std::size_t threads) {
  const TrainAndTest data = load_mnist();
  constexpr float mean = 0.1307f, sd = 0.3081f;
  auto x = std::make_shared<Design>(
      Design::bytes(data.train.pixels, data.train.count(), 784, 1 / (255 * sd), -mean / sd, true));
  const std::vector<double> labels(data.train.labels.begin(), data.train.labels.end());
  PosteriorOptions options;
  options.coefficients = options.intercept = Prior::normal(0, 1);
  options.centre = false;  // as the paper has it
  return {std::move(x), std::make_shared<Observations>(Family::categorical, labels), options,
          std::make_shared<ThreadPool>(threads)};
}

Stepper stepper(const RegressionPosterior& posterior, const KernelSettings& settings) {
  std::vector<double> start(posterior.dimension());
  Stream(1, 0).normals(0, Purpose::start, start);
  for (double& x : start) x /= 28;
  return {posterior, settings, std::move(start)};
}

struct Steps {
  double value, line_fmala, mala;  // milliseconds
};

Steps time_steps(std::size_t threads) {
  RegressionPosterior posterior = mnist_posterior(threads);
  Stepper line = stepper(
      posterior, {.sampler = "line-fmala", .step_size = 1e-4, .options = {{"bias_correction", "coupled"}}});
  Stepper mala = stepper(posterior, {.sampler = "mala", .step_size = 1e-3});
  const Pair steps = time_pair([&] { line.step(); }, [&] { mala.step(); });
  // Two places in turn that are not on a known line, so that the predictor is computed afresh.
  std::vector<double> place(posterior.dimension());
  std::uint64_t number = 0;
  const Pair value = time_pair(
      [&] {
        Stream(2, 0).normals(++number, Purpose::noise, place);
        keep(posterior.jet(place, {}, Order::value).value);
      },
      [&] { Stream(2, 0).normals(++number, Purpose::noise, place); });
  return {1e3 * (value.first - value.second), 1e3 * steps.first, 1e3 * steps.second};
}

Row with_bar(Row row, double figure, const std::string& bar, double least) {
  row.bar = bar;
  row.met = figure >= least;
  return row;
}

/// Ours in milliseconds beside a peer's; the ratio is how many times faster ours is.
Row beside(const std::string& name, double ours, const std::string& peer,
           const std::optional<double>& theirs) {
  Row row{name, ours, "ms"};
  if (!theirs) return row;
  row.peer = peer;
  row.peer_value = theirs;
  row.ratio = *theirs / ours;
  return row;
}

Row at_most(const std::string& name, double value, const std::string& unit, double most) {
  Row row{name, value, unit};
  row.bar = fmt::format("<= {}", most);
  row.met = value <= most;
  return row;
}

Row within(const std::string& name, double value, double middle, double half) {
  Row row{name, value, ""};
  row.bar = fmt::format("{} +- {}", middle, half);
  row.met = std::abs(value - middle) <= half;
  return row;
}

void add_step_rows(std::vector<Row>& rows, std::size_t threads) {
  const Steps ours = time_steps(threads);
  const auto peer = run_peer("/usr/bin/python3", "torch_logreg.py",
                             {data_folder(data_set("mnist")).string(), std::to_string(threads)});
  const auto theirs = [&](const char* key) {
    return peer ? std::optional(peer->at(key).get<double>()) : std::nullopt;
  };
  rows.push_back(beside("value", ours.value, "PyTorch", theirs("value_ms")));
  Row line = beside("line-fmala step", ours.line_fmala, "PyTorch, the same step", theirs("line_fmala_ms"));
  rows.push_back(line.ratio ? with_bar(line, *line.ratio, "ratio >= 35", 35) : line);
  Row line_mala =
      beside("line-fmala step", ours.line_fmala, "PyTorch, mala step, gradient kept", theirs("mala_ms"));
  rows.push_back(line_mala.ratio ? with_bar(line_mala, *line_mala.ratio, "ratio >= 8", 8) : line_mala);
  rows.push_back(beside("mala step, gradient kept", ours.mala, "PyTorch, the same step", theirs("mala_ms")));
  Row own{"mala step over line-fmala step", ours.mala / ours.line_fmala, ""};
  own.bar = "<= 2.2";
  own.met = own.value <= 2.2;
  rows.push_back(own);
  if (peer) rows.push_back({"PyTorch's peak memory", peer->at("peak_rss_bytes").get<double>() / 1e6, "MB"});
}

void add_posterior_rows(std::vector<Row>& rows, std::size_t threads) {
  experiments::LogregSettings settings;
  settings.samplers = {"line-fmala", "newton-line-axis"};
  settings.steps = 200;  // memory does not depend on how many
  settings.burn = 100;
  settings.thin = 10;
  settings.threads = threads;
  settings.curve_points = 1;
  const std::atomic<bool> stop{false};
  const auto table = experiments::logreg_table(settings, {}, stop);
  rows.push_back(at_most("line-fmala, peak memory", table->rows.front().peak_bytes / 1e6, "MB", 200));
  const auto& axis = table->rows.back();
  rows.push_back(at_most("newton-line-axis, peak memory", axis.peak_bytes / 1e6, "MB", 500));
  rows.push_back(at_most("newton-line-axis, seconds, set-up included", axis.seconds, "s", 300));
  rows.push_back(within("newton-line-axis, NLL of the posterior mean", axis.all.nll, 0.286, 0.004));
  rows.push_back(within("newton-line-axis, accuracy", axis.all.accuracy, 0.925, 0.002));
  rows.push_back(
      at_most("newton-line-axis, R-hat of the log density, 2 chains", *axis.rhat_log_density, "", 1.01));
  rows.push_back(
      {"newton-line-axis, least bulk ESS of 50 weights", axis.ess_weights_least / axis.seconds, "/s"});
}

}  // namespace

std::vector<Row> logreg(const Hears& hears) {
  const std::size_t threads = core_count();
  std::vector<Row> rows;
  hears("MNIST, the posterior by newton-line along axes");
  add_posterior_rows(rows, threads);  // first: it forks, which wants a process of one thread
  hears("MNIST, steps, and PyTorch's beside them");
  add_step_rows(rows, threads);
  return rows;
}

}  // namespace onward::bench
