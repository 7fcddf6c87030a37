// Regressions with groups: effective draws a second beside rstan's NUTS, and a million rows. The rows of the
// case glm, without groups, come with them.

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
#include "onward/glm/group_sampler.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "peers.hpp"
#include "standard_error.hpp"

namespace onward::bench {
namespace {

using namespace glm;
namespace fs = std::filesystem;

/// A logistic regression with two predictors and two crossed groups.
struct CrossedData {
  std::size_t rows, levels_a, levels_b;
  std::vector<float> x;
  std::vector<double> y;
  GroupTerm a, b;

  CrossedData(std::size_t n, std::size_t in_a, std::size_t in_b)
      : rows(n), levels_a(in_a), levels_b(in_b), x(2 * n), y(n), a(term("a", in_a)), b(term("b", in_b)) {
    const Stream stream(13, 0);
    std::vector<double> effects_a(in_a), effects_b(in_b), normals(2), uniforms(3);
    stream.normals(0, Purpose::noise, effects_a);
    stream.normals(1, Purpose::noise, effects_b);
    a.level_of_row.resize(n);
    b.level_of_row.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      stream.normals(2 + i, Purpose::noise, normals);
      stream.uniforms(2 + i, Purpose::accept, uniforms);
      // The first rows see to it that no level is empty.
      const auto level = [&](std::size_t levels, double u) {
        return i < levels ? i : static_cast<std::size_t>(u * static_cast<double>(levels));
      };
      a.level_of_row[i] = static_cast<std::uint32_t>(level(in_a, uniforms[0]));
      b.level_of_row[i] = static_cast<std::uint32_t>(level(in_b, uniforms[1]));
      double eta = -0.5 + 0.4 * normals[0] - 0.3 * normals[1];
      eta += 0.8 * effects_a[a.level_of_row[i]] + 0.5 * effects_b[b.level_of_row[i]];
      x[2 * i] = static_cast<float>(normals[0]);
      x[2 * i + 1] = static_cast<float>(normals[1]);
      y[i] = uniforms[2] < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    }
  }

  /// With the priors of rstan_groups.R; so many effects of each group are reported.
  MixedPosterior posterior(std::size_t shown) && {
    PosteriorOptions priors{
        .coefficients = Prior::normal(0, 2.5), .intercept = Prior::normal(0, 10), .centre = false};
    auto design = std::make_shared<Design>(Design::dense(std::span<const float>(x), rows, 2, true));
    x = {};
    auto outcomes = std::make_shared<Observations>(Family::bernoulli, y);
    y = {};
    std::vector<GroupTerm> terms;
    terms.push_back(std::move(a));
    terms.push_back(std::move(b));
    MixedPosterior mixed(RegressionPosterior(std::move(design), std::move(outcomes), priors),
                         std::move(terms));
    std::vector<std::size_t> places;
    for (std::size_t t = 0; t < 2; ++t)
      for (std::size_t i = 0; i < shown; ++i)
        places.push_back(mixed.layout().effects[t] + i * mixed.terms()[t].count() / shown);
    mixed.report_effects(std::move(places));
    return mixed;
  }

 private:
  static GroupTerm term(std::string factor, std::size_t levels) {
    GroupTerm one;
    one.factor = std::move(factor);
    for (std::size_t l = 0; l < levels; ++l) one.levels.push_back(std::to_string(l));
    one.columns = {"Intercept"};
    one.values.resize(1);
    return one;
  }
};

template <class Values>
void write_doubles(const fs::path& file, const Values& values, double more = 0) {
  std::ofstream out(file, std::ios::binary);
  for (const auto value : values) {
    const double number = static_cast<double>(value) + more;
    out.write(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

std::optional<nlohmann::json> by_rstan(const CrossedData& data, std::size_t cores) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("onward-bench-groups-{}", ::getpid());
  fs::create_directories(folder);
  std::vector<float> columns(data.x.size());
  for (std::size_t i = 0; i < data.rows; ++i)
    for (std::size_t j = 0; j < 2; ++j) columns[j * data.rows + i] = data.x[2 * i + j];
  write_doubles(folder / "x.bin", columns);
  write_doubles(folder / "y.bin", data.y);
  write_doubles(folder / "a.bin", data.a.level_of_row, 1);
  write_doubles(folder / "b.bin", data.b.level_of_row, 1);
  constexpr int draws = 200;
  auto result = run_peer("Rscript", "rstan_groups.R",
                         {folder.string(), std::to_string(data.rows), std::to_string(data.levels_a),
                          std::to_string(data.levels_b), std::to_string(cores), std::to_string(draws)});
  fs::remove_all(folder);
  return result;
}

void add_crossed(std::vector<Row>& rows, std::size_t cores) {
  CrossedData data(20'000, 500, 100);
  const auto peer = by_rstan(data, cores);
  MixedPosterior posterior = std::move(data).posterior(20);
  const auto begin = Clock::now();
  const Run run =
      sample_groups(std::move(posterior), {.draws = 2000, .chains = 4, .threads = cores, .seed = 1});
  const double seconds = seconds_since(begin);
  const auto summary = run.summary();
  double least = INFINITY, largest = 0;
  for (std::size_t j = 0; j < summary.size(); ++j) {
    least = std::min(least, summary[j].ess_bulk);
    if (!peer) continue;
    const double error = sd_error(run.parameter(j), summary[j].mean, summary[j].sd);
    const double mean = peer->at("mean").at(j), sd = peer->at("sd").at(j);
    largest = std::max(largest, std::abs(summary[j].mean - mean) /
                                    std::hypot(summary[j].mcse_mean, peer->at("mcse").at(j).get<double>()));
    largest = std::max(
        largest, std::abs(summary[j].sd - sd) / std::hypot(error, peer->at("mcse_sd").at(j).get<double>()));
  }
  Row row{"bernoulli 20000, crossed 500 x 100 levels, least bulk ESS", least / seconds, "/s"};
  if (peer) {
    row.peer = fmt::format("rstan's NUTS, effects not centred ({:.1f} s of warm-up left out)",
                           peer->at("warmup_seconds").get<double>());
    row.peer_value = peer->at("least_ess").get<double>() / peer->at("sampling_seconds").get<double>();
    row.ratio = row.value / *row.peer_value;
    row.bar = "ratio >= 60";
    row.met = *row.ratio >= 60;
  }
  rows.push_back(std::move(row));
  if (!peer) return;
  Row same{"bernoulli 20000, crossed: largest difference of a mean or sd from NUTS's", largest, "MCSE"};
  same.bar = "<= 4";
  same.met = largest <= 4;
  rows.push_back(std::move(same));
}

struct Million {
  double seconds, ess, bytes;
};

Million sample_million(std::size_t cores) {
  MixedPosterior posterior = CrossedData(1'000'000, 10'000, 1'000).posterior(50);
  const auto begin = Clock::now();
  const Run run =
      sample_groups(std::move(posterior), {.draws = 150, .chains = 4, .threads = cores, .seed = 1});
  return {seconds_since(begin), run.least_ess(), peak_resident_bytes()};
}

void add_million(std::vector<Row>& rows, std::size_t cores) {
  const auto result = in_child<Million>([&] { return sample_million(cores); });
  Row time{
      "bernoulli 1000000, crossed 10000 x 1000 levels: 400 effective draws of coefficients, scales and 100 "
      "levels",
      result.seconds * std::max(1.0, 400 / result.ess), "s"};
  time.bar = "<= 120";
  time.met = time.value <= 120;
  rows.push_back(std::move(time));
  constexpr double as_read = 1e6 * 4 * 5;  // two predictors, y and two levels
  Row memory{"bernoulli 1000000, crossed: peak memory over the rows as read", result.bytes / as_read, ""};
  memory.bar = "<= 3";
  memory.met = memory.value <= 3;
  rows.push_back(std::move(memory));
}

}  // namespace

std::vector<Row> regression(const Hears& hears) {
  const std::size_t cores = core_count();
  std::vector<Row> rows;
  hears("a million rows in crossed groups");
  add_million(rows, cores);
  for (Row& row : glm_peers(hears)) rows.push_back(std::move(row));
  hears("crossed groups, and Stan beside it");
  add_crossed(rows, cores);
  return rows;
}

}  // namespace onward::bench
