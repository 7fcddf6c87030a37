#include "insteval.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "onward/diagnostics/convergence.hpp"
#include "onward/model/model.hpp"
#include "onward/util/clock.hpp"
#include "peers.hpp"

namespace onward::bench {
namespace {

namespace fs = std::filesystem;

std::vector<double> pooled(const Chains& chains) {
  std::vector<double> all;
  for (const auto& chain : chains) all.insert(all.end(), chain.begin(), chain.end());
  std::ranges::sort(all);
  return all;
}

/// Where a smooth curve through the sorted draws is highest. An estimate by the largest likelihood is such a
/// place, and not a mean.
double mode_of(const std::vector<double>& draws, double sd) {
  const double width = sd * std::pow(static_cast<double>(draws.size()), -0.2);
  double best = 0, highest = -1;
  constexpr int places = 400;
  for (int k = 0; k <= places; ++k) {
    const double at = draws.front() + (draws.back() - draws.front()) * k / places;
    double height = 0;
    for (const double draw : draws) height += std::exp(-0.5 * std::pow((draw - at) / width, 2));
    if (height > highest) highest = height, best = at;
  }
  return best;
}

}  // namespace

void add_insteval(std::vector<Row>& rows, std::size_t cores) {
  const fs::path csv = fs::temp_directory_path() / fmt::format("onward-bench-insteval-{}.csv", ::getpid());
  const auto peer = run_peer("Rscript", "lme4_insteval.R", {csv.string()});
  if (!peer) return;
  const auto begin = Clock::now();
  const RunSettings settings{.draws = 1000, .chains = 4, .threads = cores, .seed = 1};
  Model model = build({"glm",
                       {{"data", csv.string()},
                        {"formula", "y ~ service + (1 | s) + (1 | d) + (1 | dept:service)"},
                        {"family", "gaussian"}}},
                      {.run = &settings, .checksums = false});
  const std::size_t shown = model.shown.value_or(model.dimension());
  const Run run = sample(std::move(model), settings);
  const double seconds = seconds_since(begin);
  fs::remove(csv);
  double least = INFINITY, fixed = 0, by_mean = 0, by_median = 0, by_mode = 0;
  const auto& estimates = peer->at("estimates");
  for (std::size_t j = 0; j < shown; ++j) {
    const Chains chains = run.parameter(j);
    const ParameterSummary ours = summarise(run.names[j], chains);
    least = std::min(least, ours.ess_bulk);
    const double theirs = estimates.at(run.names[j]);
    if (!run.names[j].starts_with("sd(")) {
      if (run.names[j] != "sigma") fixed = std::max(fixed, std::abs(ours.mean - theirs) / ours.sd);
      continue;
    }
    const std::vector<double> draws = pooled(chains);
    const auto off = [&](double estimate) { return 100 * std::abs(estimate / theirs - 1); };
    by_mean = std::max(by_mean, off(ours.mean));
    by_median = std::max(by_median, off(draws[draws.size() / 2]));
    by_mode = std::max(by_mode, off(mode_of(draws, ours.sd)));
  }
  const std::string name = "gaussian InstEval 73421, 2972 x 1128 x 28 levels";
  const auto add = [&](const std::string& what, double value, const char* unit, double most) {
    Row row{name + what, value, unit};
    if (most > 0) {
      row.bar = fmt::format("<= {}", most);
      row.met = value <= most;
    }
    rows.push_back(std::move(row));
  };
  add(": 400 effective draws of all but the levels, the file read included",
      seconds * std::max(1.0, 400 / least), "s", 60);
  rows.back().peer = "lme4's REML estimates";
  rows.back().peer_value = peer->at("seconds").get<double>();
  add(": largest difference of a coefficient from lme4's", fixed, "posterior sds", 0.1);
  add(": largest difference of a group's sd from lme4's, posterior means", by_mean, "%", 2);
  add(": the same, posterior medians", by_median, "%", 0);
  add(": the same, posterior modes, as lme4's are", by_mode, "%", 2);
}

}  // namespace onward::bench
