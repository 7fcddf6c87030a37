// Whole runs of our default beside whole runs of rstan's NUTS, on the same data and over the same quantities.
// What counts is effective draws by processor seconds, warm-up included: clocks of a busy machine say little,
// and rstan's are without the start of its processes and the compiling of a model.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <fmt/format.h>

#include "defaults.hpp"
#include "models/logistic.hpp"
#include "models/stochastic_volatility.hpp"
#include "onward/util/thread_pool.hpp"
#include "peers.hpp"

namespace onward::bench {
namespace {

using nlohmann::json;

/// A posterior of ours and how Stan has it.
struct Twin {
  std::string posterior, stan;
  std::vector<std::string> parameters;  ///< those that ours reports
};
const std::vector<Twin>& twins() {
  static const std::vector<Twin> list{
      {"eight-schools", "eight_schools_noncentered", {"theta", "mu", "tau"}},
      {"logistic", "logistic", {"beta"}},
      {"hierarchical-regression",
       "hierarchical_regression",
       {"alpha", "beta", "mu_a", "mu_b", "tau_a", "tau_b", "sigma"}},
      {"stochastic-volatility", "stochastic_volatility", {"mu", "phi", "sigma", "h"}},
      {"item-response", "item_response", {"theta", "a", "b", "sigma_a", "mu_b", "sigma_b"}},
      {"lotka_volterra", "lotka_volterra", {"theta", "z_init", "sigma"}},
      {"gp-regression", "gp_regression", {"rho", "alpha", "sigma"}}};
  return list;
}

/// Data of the built-in models are in the models themselves.
json data_of(const std::string& name, const std::string& posteriordb) {
  if (name == "eight-schools")
    return {{"J", 8}, {"y", {28, 8, -3, 7, -1, 1, 18, 12}}, {"sigma", {15, 10, 16, 11, 9, 11, 10, 18}}};
  if (name == "stochastic-volatility") {
    const auto y = models::StochasticVolatilityDensity(models::stochastic_volatility_steps).y();
    return {{"T", y.size()}, {"y", std::vector<double>(y.begin(), y.end())}};
  }
  if (name == "logistic") {
    const auto density = models::logistic_density();
    const std::size_t rows = density.rows(), columns = density.x().size() / rows;
    json x = json::array();
    for (std::size_t n = 0; n < rows; ++n) {
      const auto row = density.x().subspan(n * columns, columns);
      x.push_back(std::vector<double>(row.begin(), row.end()));
    }
    return {{"N", rows},
            {"K", columns},
            {"x", x},
            {"y", std::vector<double>(density.y().begin(), density.y().end())}};
  }
  return posterior_data(name, posteriordb);
}

/// As R's dump() would write it: a list of numbers, or a table stored by columns.
std::string r_text(const json& value) {
  if (!value.is_array()) return value.dump();
  std::string numbers;
  const auto add = [&](const json& number) { numbers += (numbers.empty() ? "" : ", ") + number.dump(); };
  if (!value[0].is_array()) {
    for (const auto& number : value) add(number);
    return fmt::format("c({})", numbers);
  }
  for (std::size_t column = 0; column < value[0].size(); ++column)
    for (const auto& row : value) add(row[column]);
  return fmt::format("structure(c({}), .Dim = c({}, {}))", numbers, value.size(), value[0].size());
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const std::size_t half = x.size() / 2;
  return x.size() % 2 == 1 ? x[half] : (x[half - 1] + x[half]) / 2;
}

}  // namespace

std::vector<Row> against_rstan(const DefaultsOptions& options, const Hears& hears,
                               const std::atomic<bool>& stop) {
  constexpr double wanted_median = 3, wanted_each = 1;
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("onward-against-rstan-{}", getpid());
  std::vector<Row> rows;
  std::vector<double> ratios;
  for (const auto& twin : twins()) {
    const auto& only = options.only;
    if (!only.empty() && std::find(only.begin(), only.end(), twin.posterior) == only.end()) continue;
    if (twin.posterior == "lotka_volterra" && options.posteriordb.empty()) {
      hears("lotka_volterra is left out: its data are posteriordb's, by --posteriordb DIR");
      continue;
    }
    if (stop) break;
    std::filesystem::create_directories(folder);
    {
      std::ofstream file(folder / "data.R");
      for (const auto& [name, value] : data_of(twin.posterior, options.posteriordb).items())
        file << name << " <- " << r_text(value) << "\n";
    }
    hears(fmt::format("{}: rstan compiles the model and samples", twin.posterior));
    std::vector<std::string> words{folder.string(), twin.stan, std::to_string(core_count()),
                                   std::to_string(options.seeds)};
    words.insert(words.end(), twin.parameters.begin(), twin.parameters.end());
    const auto peer = run_peer("Rscript", "rstan_posterior.R", words);
    if (!peer) continue;

    DefaultsOptions own = options;
    own.only = {twin.posterior};
    const auto result = defaults(own, hears, stop);
    if (!result.complete) break;
    const auto numbers = [](const json& list) {
      return list.is_array() ? list.get<std::vector<double>>() : std::vector<double>{list.get<double>()};
    };
    const auto peer_ess = numbers(peer->at("min_ess")), peer_seconds = numbers(peer->at("processor_seconds")),
               peer_rhat = numbers(peer->at("max_rhat"));
    std::vector<double> ours, theirs;
    double rhat = 0;
    for (const auto& run : result.runs) {
      ours.push_back(run.per_second());
      rhat = std::max(rhat, run.max_rhat);
    }
    for (std::size_t k = 0; k < peer_ess.size(); ++k) theirs.push_back(peer_ess[k] / peer_seconds[k]);
    const double ratio = median(ours) / median(theirs);
    ratios.push_back(ratio);
    rows.push_back({fmt::format("{}: least ESS per processor second of the whole run, by {}", twin.posterior,
                                result.runs.front().sampler),
                    median(ours), "ESS/s", "rstan's NUTS, its warm-up included", median(theirs), ratio,
                    fmt::format("ratio >= {}", wanted_each), ratio >= wanted_each});
    rows.push_back({twin.posterior + ": largest R-hat", rhat, "R-hat", "rstan's NUTS",
                    *std::max_element(peer_rhat.begin(), peer_rhat.end())});
  }
  std::filesystem::remove_all(folder);
  if (!ratios.empty())
    rows.push_back({fmt::format("median of the {} ratios", ratios.size()),
                    median(ratios),
                    "ratio",
                    {},
                    {},
                    {},
                    fmt::format(">= {}", wanted_median),
                    median(ratios) >= wanted_median});
  return rows;
}

}  // namespace onward::bench
