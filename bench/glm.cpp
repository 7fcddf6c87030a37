// Everyday regressions: effective draws a second beside rstan's NUTS, plain and on whitened parameters, and a
// million rows.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

#include <unistd.h>

#include <fmt/format.h>

#include "bench.hpp"
#include "in_child.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/glm/model.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "onward/util/release.hpp"
#include "peers.hpp"
#include "regression_data.hpp"
#include "standard_error.hpp"

namespace onward::bench {
namespace {

using namespace glm;
namespace fs = std::filesystem;

/// At the high one whitening makes NUTS 40 times faster, at the low one 9 times.
constexpr double high_correlation = 0.99, low_correlation = 0.81;

/// What the sampler gives: summaries, and the least bulk ESS over all seconds, set-up included.
struct Sampled {
  std::vector<ParameterSummary> parameters;
  std::vector<double> sd_errors;
  double seconds, least_ess;
};

Sampled sample_regression(RegressionPosterior posterior, std::size_t draws, std::size_t threads,
                          bool blocks) {
  constexpr std::size_t chains = 4;
  const auto begin = Clock::now();
  const Run run =
      sample_axes(std::move(posterior), {.draws = draws, .chains = chains, .threads = threads, .seed = 1}, {},
                  {.blocks = blocks});
  Sampled result{{}, {}, seconds_since(begin), INFINITY};
  for (std::size_t j = 0; j < run.names.size(); ++j) {
    const Chains kept = run.parameter(j);
    const auto& p = result.parameters.emplace_back(summarise(run.names[j], kept));
    result.sd_errors.push_back(sd_error(kept, p.mean, p.sd));
    result.least_ess = std::min(result.least_ess, result.parameters.back().ess_bulk);
  }
  return result;
}

/// The priors that rstan_glm.R has: at columns of 0, in no units.
PosteriorOptions plain_priors() {
  return {.coefficients = Prior::normal(0, 2.5),
          .intercept = Prior::normal(0, 10),
          .scale = Prior::student_t(3, 0, 2.5),
          .centre = false};
}

RegressionPosterior posterior_of(const RegressionData& data) {
  auto x = std::make_shared<Design>(
      Design::dense(std::span<const double>(data.x), data.rows, data.predictors, true));
  return {std::move(x), std::make_shared<Observations>(data.family, data.y), plain_priors()};
}

void write_doubles(const fs::path& file, const std::vector<double>& values) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(double)));
}

std::optional<nlohmann::json> by_rstan(const RegressionData& data, const fs::path& scratch,
                                       std::size_t cores) {
  const fs::path folder = scratch / fmt::format("{}-{}", to_string(data.family), data.correlation);
  fs::create_directories(folder);
  std::vector<double> columns(data.x.size());
  for (std::size_t i = 0; i < data.rows; ++i)
    for (std::size_t j = 0; j < data.predictors; ++j)
      columns[j * data.rows + i] = data.x[i * data.predictors + j];
  write_doubles(folder / "x.bin", columns);
  write_doubles(folder / "y.bin", data.y);
  // Plain NUTS takes minutes for 500 draws a chain of the counts, whose rows here have no bar.
  const int draws = data.family == Family::bernoulli ? 500 : 100;
  return run_peer("Rscript", "rstan_glm.R",
                  {folder.string(), std::string(to_string(data.family)), std::to_string(data.rows),
                   std::to_string(data.predictors), std::to_string(cores), std::to_string(draws)});
}

/// The largest difference between means (and sds) of ours and theirs, in standard errors of the difference.
double largest_difference(const Sampled& ours, const nlohmann::json& theirs) {
  double largest = 0;
  for (std::size_t j = 0; j < ours.parameters.size(); ++j) {
    const ParameterSummary& p = ours.parameters[j];
    const double mean = theirs.at("mean").at(j), sd = theirs.at("sd").at(j), mcse = theirs.at("mcse").at(j);
    largest = std::max(largest, std::abs(p.mean - mean) / std::hypot(p.mcse_mean, mcse));
    const double their_error = theirs.at("mcse_sd").at(j);
    largest = std::max(largest, std::abs(p.sd - sd) / std::hypot(ours.sd_errors[j], their_error));
  }
  return largest;
}

void add_family(std::vector<Row>& rows, const RegressionData& data, const fs::path& scratch,
                std::size_t cores) {
  const Sampled ours = sample_regression(posterior_of(data), 4000, cores, true);
  const Sampled by_axes = sample_regression(posterior_of(data), 1000, cores, false);
  const auto peer = by_rstan(data, scratch, cores);
  const bool has_bars = data.family == Family::bernoulli && data.correlation == high_correlation;
  const auto name = fmt::format("{} {} x {}, correlation {}", to_string(data.family), data.rows,
                                data.predictors + 1, data.correlation);
  Row alone{name + ", least bulk ESS", ours.least_ess / ours.seconds, "/s", "the same along axes alone",
            by_axes.least_ess / by_axes.seconds};
  alone.ratio = alone.value / *alone.peer_value;
  if (has_bars) {
    alone.bar = "ratio >= 4";
    alone.met = *alone.ratio >= 4;
  }
  rows.push_back(std::move(alone));
  for (const auto& [key, words, bar] : {std::tuple{"plain", "rstan's NUTS", 150.0},
                                        std::tuple{"whitened", "rstan's NUTS, whitened by QR", 25.0}}) {
    Row row{name + ", least bulk ESS", ours.least_ess / ours.seconds, "/s"};
    if (peer) {
      const auto& run = peer->at(key);
      // Its warm-up is left out, our set-up and warm-up are not.
      row.peer =
          fmt::format("{} ({:.1f} s of warm-up left out)", words, run.at("warmup_seconds").get<double>());
      row.peer_value = run.at("least_ess").get<double>() / run.at("sampling_seconds").get<double>();
      row.ratio = row.value / *row.peer_value;
      if (has_bars) {
        row.bar = fmt::format("ratio >= {}", bar);
        row.met = *row.ratio >= bar;
      }
    }
    rows.push_back(std::move(row));
  }
  if (!peer) return;
  Row row{name + ": largest difference of a mean or sd from NUTS's",
          largest_difference(ours, peer->at("whitened")), "MCSE"};
  row.bar = "<= 4";
  row.met = row.value <= 4;
  rows.push_back(std::move(row));
}

/// A million rows of 50 predictors as a source gives them, in a process of its own, so that the peak memory
/// is its own.
struct Million {
  double first_seconds, seconds, ess, bytes;
};

Million sample_million(std::size_t cores) {
  constexpr std::size_t rows = 1'000'000, columns = 50, draws = 200, chains = 4;
  std::vector<double> y(rows), z(columns + 2);
  const auto begin = Clock::now();
  const Stream stream(11, 0);
  auto x = std::make_shared<Design>(
      Design::from_rows(rows, columns, true, [&](std::size_t i, std::span<double> row) {
        stream.normals(i, Purpose::noise, z);
        double eta = -0.5;
        for (std::size_t j = 0; j < columns; ++j) {
          row[j] = 0.6 * z[columns] + 0.8 * z[j];
          eta += 0.05 * row[j] * (j % 2 == 0 ? 1 : -1);
        }
        y[i] = z[columns + 1] < eta ? 1 : 0;  // probit data; the model is logistic
      }));
  RegressionPosterior posterior(std::move(x), std::make_shared<Observations>(Family::bernoulli, y),
                                plain_priors());
  release(y);
  const auto read = Clock::now();
  std::atomic<std::size_t> early{0};
  double first = 0;
  DrawFunction count([&](std::size_t, const Draw&) {
    // Twenty draws of each chain make a first summary.
    if (++early == 20 * chains) first = seconds_since(begin);
  });
  Hooks hooks;
  hooks.sinks = {&count};
  const Run run = sample(
      regression_model(std::move(posterior)),
      {.warmup = 20 * (columns + 1), .draws = draws, .chains = chains, .threads = cores, .seed = 1}, hooks);
  const double least = run.least_ess();
  return {first, seconds_since(read), least, peak_resident_bytes()};
}

void add_million(std::vector<Row>& rows, std::size_t cores) {
  const auto result = in_child<Million>([&] { return sample_million(cores); });
  const auto row = [&](const char* name, double value, const char* unit, double most) {
    Row r{name, value, unit};
    r.bar = fmt::format("<= {}", most);
    r.met = value <= most;
    rows.push_back(std::move(r));
  };
  row("bernoulli 1000000 x 51: first summary, data made included", result.first_seconds, "s", 120);
  row("bernoulli 1000000 x 51: 400 effective draws of every coefficient, data read before",
      result.seconds * std::max(1.0, 400 / result.ess), "s", 6);
  row("bernoulli 1000000 x 51: peak memory over the data as floats", result.bytes / (4.0 * 51e6), "", 2);
}

}  // namespace

std::vector<Row> glm_peers(const Hears& hears) {
  const std::size_t cores = core_count();
  std::vector<Row> rows;
  hears("bernoulli, a million rows");
  add_million(rows, cores);
  const fs::path scratch = fs::temp_directory_path() / fmt::format("onward-bench-{}", ::getpid());
  const auto add = [&](Family family, double correlation) {
    hears(fmt::format("{} with correlation {}, and Stan beside it", to_string(family), correlation));
    add_family(rows, RegressionData(10'000, 30, family, correlation), scratch, cores);
  };
  add(Family::bernoulli, high_correlation);
  for (const Family family : {Family::bernoulli, Family::poisson, Family::negative_binomial})
    add(family, low_correlation);
  fs::remove_all(scratch);
  return rows;
}

}  // namespace onward::bench
