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
#include "crossed_data.hpp"
#include "in_child.hpp"
#include "insteval.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/glm/group_sampler.hpp"
#include "onward/model/model.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "peers.hpp"
#include "standard_error.hpp"

namespace onward::bench {
namespace {

using namespace glm;
namespace fs = std::filesystem;

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
  for (const GroupTerm* term : {&data.a, &data.b}) {
    std::vector<double> levels(data.rows);
    for (std::size_t i = 0; i < data.rows; ++i) levels[i] = term->level_of_row[i];
    write_doubles(folder / (term->factor + ".bin"), levels, 1);
  }
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

/// From the file to the draws, in a process of its own: what `onward glm --data FILE` does and holds.
Million sample_million(const fs::path& csv, const char* formula, std::size_t cores) {
  return in_child<Million>([&] {
    return_large_arrays();  // as the program does
    const RunSettings settings{.draws = 150, .chains = 4, .threads = cores, .seed = 1};
    Model model = build(
        {"glm",
         {{"data", csv.string()}, {"formula", formula}, {"family", "bernoulli"}, {"keep_groups", "100"}}},
        {.run = &settings, .checksums = false});
    const auto begin = Clock::now();
    const Run run = sample(std::move(model), settings);
    return Million{seconds_since(begin), run.least_ess(), peak_resident_bytes()};
  });
}

void add_million(std::vector<Row>& rows, std::size_t cores, const std::string& name, double slopes,
                 const char* formula) {
  const fs::path csv = fs::temp_directory_path() / fmt::format("onward-bench-million-{}.csv", ::getpid());
  // The data are made in another process, so that the memory of this one, which children share, stays small.
  in_child<bool>([&] {
    CrossedData(1'000'000, 10'000, 1'000, slopes).write_csv(csv);
    return true;
  });
  const Million result = sample_million(csv, formula, cores);
  fs::remove(csv);
  Row time{name + ": 400 effective draws of coefficients, scales and 100 levels",
           result.seconds * std::max(1.0, 400 / result.ess), "s"};
  constexpr double as_read = 1e6 * 4 * 5;  // two predictors, y and two levels
  Row memory{name + ": peak memory over the rows as read", result.bytes / as_read, ""};
  if (slopes == 0) {
    time.bar = "<= 120";
    time.met = time.value <= 120;
    memory.bar = "<= 3";
    memory.met = memory.value <= 3;
  }
  rows.push_back(std::move(time));
  rows.push_back(std::move(memory));
}

}  // namespace

std::vector<Row> million(const Hears& hears) {
  std::vector<Row> rows;
  hears("a million rows in crossed groups");
  add_million(rows, core_count(), "bernoulli 1000000, crossed 10000 x 1000 levels", 0,
              "y ~ x1 + x2 + (1 | a) + (1 | b)");
  return rows;
}

std::vector<Row> regression(const Hears& hears) {
  const std::size_t cores = core_count();
  std::vector<Row> rows = million(hears);
  hears("the same with correlated slopes");
  add_million(rows, cores, "bernoulli 1000000, crossed 10000 x 1000 levels, correlated slopes", 0.3,
              "y ~ x1 + x2 + (1 + x1 | a) + (1 + x2 | b)");
  for (Row& row : glm_peers(hears)) rows.push_back(std::move(row));
  hears("crossed groups, and Stan beside it");
  add_crossed(rows, cores);
  hears("InstEval, and lme4 beside it");
  add_insteval(rows, cores);
  return rows;
}

}  // namespace onward::bench
