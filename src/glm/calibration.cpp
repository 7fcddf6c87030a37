#include "onward/glm/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "covariance.hpp"
#include "formula_model.hpp"
#include "onward/error.hpp"
#include "onward/glm/model.hpp"
#include "onward/glm/simulate.hpp"
#include "onward/model/registry.hpp"
#include "onward/simd/special.hpp"
#include "prior_draws.hpp"

namespace onward::glm {
namespace {

/// The model as it is, with priors that are settled.
struct Prototype {
  FormulaParts parts;
  std::shared_ptr<const Design> design;
  std::vector<std::vector<double>> columns;  // of X, without the intercept
  std::optional<RegressionPosterior> population;
  std::vector<GroupPriors> priors;

  explicit Prototype(const ModelSpec& spec) {
    const OptionValues given("glm", model_registry().find("glm").options, spec.options);
    const auto pool = std::make_shared<ThreadPool>(1);
    parts = read_formula(given, {}, *pool);
    if (parts.family == Family::categorical)
      throw UsageError("`family` categorical cannot be calibrated yet: take one of the others");
    if (!parts.frame.weights.empty())
      throw UsageError(
          "`formula` has weights, and data cannot be made up from rows that count several times");
    design = std::move(parts.design);
    for (std::size_t j = 0; j < parts.frame.column_names.size(); ++j)
      parts.frame.column(j, 0, columns.emplace_back(parts.frame.rows));
    population.emplace(design, parts.y, parts.options, pool);
    priors = group_priors(parts, *population);
    parts.options.each = population->priors();
    parts.options.coefficients.reset();
    parts.options.intercept.reset();
    parts.options.named.clear();
    for (const std::size_t i : population->sampled_numbers()) {
      const bool degrees = parts.y->numbers()[i].kind == NumberInfo::Kind::above_one;
      (degrees ? parts.options.degrees : parts.options.scale) = population->number_prior(i);
    }
  }

  std::string describe() const {
    std::string text = describe_priors(*population);
    if (!parts.terms.empty())
      text += "; " + describe_group_priors(MixedPosterior(*population, parts.terms, priors));
    return text;
  }
};

/// What one replicate gave.
struct Replicate {
  std::vector<std::size_t> ranks;
  std::size_t thinning = 0;
  double least_ess = 0;
};

class Replicates {
 public:
  Replicates(const Prototype& model, const Prototype& truth, const CalibrationOptions& options)
      : model_(model), truth_(truth), options_(options) {}

  Replicate operator()(std::size_t number) const {
    const DrawnParameters drawn = draw(number);
    const std::vector<double> y = outcomes(drawn, number);
    try {
      return ranks_of(drawn.reported, y, number);
    } catch (const Error& problem) {
      throw Error(fmt::format(
          "replicate {}: the data that these priors make up cannot be sampled: {}. Give priors that "
          "are narrower, such as normal(0, 1)",
          number + 1, problem.what()));
    }
  }

 private:
  DrawnParameters draw(std::size_t number) const {
    RandomSequence random(stream_apart(options_.seed, Apart::parameters, number), 0);
    return draw_parameters(*truth_.population, truth_.parts.terms, truth_.priors, random);
  }

  std::vector<double> outcomes(const DrawnParameters& drawn, std::size_t number) const {
    const FormulaParts& parts = model_.parts;
    const Stream stream = stream_apart(options_.seed, Apart::outcomes, number);
    const bool intercept = parts.frame.intercept;
    std::vector<double> y(parts.frame.rows);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double eta = parts.frame.offset.empty() ? 0.0 : parts.frame.offset[i];
      if (intercept) eta += drawn.coefficients[0];
      for (std::size_t j = 0; j < model_.columns.size(); ++j)
        eta += model_.columns[j][i] * drawn.coefficients[j + (intercept ? 1 : 0)];
      for (std::size_t t = 0; t < parts.terms.size(); ++t) {
        const GroupTerm& term = parts.terms[t];
        for (std::size_t c = 0; c < term.width(); ++c)
          eta += static_cast<double>(term.value(c, i)) *
                 drawn.effects[t][term.level_of_row[i] * term.width() + c];
      }
      RandomSequence random(stream, i);
      y[i] = random_response(parts.family, eta, drawn.numbers,
                             parts.frame.trials.empty() ? 1 : parts.frame.trials[i], random);
    }
    return y;
  }

  /// Draws are thinned until they are nearly independent.
  Replicate ranks_of(std::span<const double> truth, const std::vector<double>& y, std::size_t number) const {
    constexpr std::size_t least_thinning = 10, most_thinning = 640;
    Replicate result;
    for (std::size_t thinning = least_thinning;; thinning *= 4) {
      const std::vector<Chains> draws = sampled(y, thinning, number);
      result.thinning = thinning;
      result.least_ess = static_cast<double>(options_.draws);
      for (const Chains& parameter : draws) {
        const double ess = ess_bulk(parameter);
        if (std::isfinite(ess)) result.least_ess = std::min(result.least_ess, ess);
      }
      if (result.least_ess < 0.5 * static_cast<double>(options_.draws) && thinning < most_thinning) continue;
      for (std::size_t p = 0; p < draws.size(); ++p)
        result.ranks.push_back(static_cast<std::size_t>(
            std::ranges::count_if(draws[p][0], [&](double x) { return x < truth[p]; })));
      return result;
    }
  }

  std::vector<Chains> sampled(const std::vector<double>& y, std::size_t thinning, std::size_t number) const {
    const FormulaParts& parts = model_.parts;
    RowOptions rows;
    rows.trials = parts.frame.trials;
    rows.offset = parts.frame.offset;
    if (parts.family == Family::ordinal) rows.classes = parts.y->categories();
    RegressionPosterior population(model_.design, std::make_shared<Observations>(parts.family, y, rows),
                                   parts.options, std::make_shared<ThreadPool>(1));
    const auto bits =
        stream_apart(options_.seed, Apart::parameters, number).block(thinning, Purpose::start, 0);
    RunSettings settings;
    settings.seed = (std::uint64_t{bits[1]} << 32) | bits[0];
    settings.draws = options_.draws * thinning;
    settings.chains = 1;
    settings.threads = 1;
    const Run run =
        sample(parts.terms.empty()
                   ? regression_model(std::move(population))
                   : regression_model(MixedPosterior(std::move(population), parts.terms, model_.priors)),
               settings);
    const std::size_t width = run.names.size();
    std::vector<Chains> draws(width, Chains(1));
    const std::vector<double>& values = run.chains[0].values;
    for (std::size_t s = thinning - 1; s < run.chains[0].draws; s += thinning)
      for (std::size_t p = 0; p < width; ++p) draws[p][0].push_back(values[s * width + p]);
    return draws;
  }

  const Prototype& model_;
  const Prototype& truth_;
  const CalibrationOptions& options_;
};

/// As many bins as leave ten replicates for each, of equal numbers of ranks.
std::size_t bins_for(std::size_t replicates, std::size_t ranks) {
  const std::size_t most = std::clamp<std::size_t>(replicates / 10, 2, 32);
  for (std::size_t bins = most; bins > 1; --bins)
    if (ranks % bins == 0) return bins;
  throw UsageError(
      fmt::format("`draws` is {}: one more than it must be a multiple of a number from 2 to {}, as "
                  "bins of equal width need; take 127",
                  ranks - 1, most));
}

RankHistogram histogram_of(std::string name, std::vector<std::size_t> ranks, const Calibration& about) {
  RankHistogram result{.name = std::move(name), .ranks = std::move(ranks), .counts = {}};
  result.counts.resize(about.bins);
  // A rank u = (r + 1/2) / (L + 1) is uniform over L + 1 values: its moments about 1/2 are those below.
  const double values = static_cast<double>(about.draws + 1), count = static_cast<double>(about.replicates);
  const double variance = (1 - 1 / (values * values)) / 12;
  double sum = 0, squares = 0;
  for (const std::size_t rank : result.ranks) {
    ++result.counts[rank * about.bins / (about.draws + 1)];
    const double u = (static_cast<double>(rank) + 0.5) / values - 0.5;
    sum += u, squares += u * u;
  }
  constexpr double fourth = 1.0 / 80, square = 1.0 / 144;  // of a uniform number on (-1/2, 1/2)
  result.bias = sum / std::sqrt(count * variance);
  result.spread = (squares - count * variance) / std::sqrt(count * (fourth - square));
  result.within =
      std::ranges::all_of(result.counts, [&](std::size_t n) { return n >= about.low && n <= about.high; });
  return result;
}

}  // namespace

std::pair<std::size_t, std::size_t> rank_band(std::size_t count, std::size_t bins) {
  const double p = 1 / static_cast<double>(bins), n = static_cast<double>(count);
  const double tail = 0.0005 / static_cast<double>(bins);
  std::vector<double> mass;
  for (std::size_t k = 0; k <= count; ++k) {
    const double x = static_cast<double>(k);
    mass.push_back(std::exp(simd::lgamma(n + 1) - simd::lgamma(x + 1) - simd::lgamma(n - x + 1) +
                            x * std::log(p) + (n - x) * std::log1p(-p)));
  }
  std::size_t low = 0, high = count;
  for (double below = mass[0]; below <= tail && low < count; below += mass[++low]) {
  }
  for (double above = mass[count]; above <= tail && high > 0; above += mass[--high]) {
  }
  return {low, high};
}

std::optional<Calibration> calibrate(const ModelSpec& spec, const CalibrationOptions& options) {
  if (options.replicates < 20)
    throw UsageError(fmt::format("`replicates` is {}: histograms need 20 at least, and 200 to tell something",
                                 options.replicates));
  Calibration result{
      .replicates = options.replicates, .draws = options.draws, .parameters = {}, .priors = {}, .notes = {}};
  result.bins = bins_for(options.replicates, options.draws + 1);
  std::tie(result.low, result.high) = rank_band(options.replicates, result.bins);
  const Prototype model(spec);
  std::optional<Prototype> other;
  if (!options.simulated_prior.empty()) {
    ModelSpec simulated = spec;
    const std::string words = spec.options.value("prior", "");
    simulated.options["prior"] = words + (words.empty() ? "" : "; ") + options.simulated_prior;
    other.emplace(simulated);
  }
  const Prototype& truth = other ? *other : model;
  result.priors = model.describe();
  result.notes = model.parts.notes;
  require_proper(*truth.population, truth.priors);

  const Replicates replicate(model, truth, options);
  std::vector<Replicate> all(options.replicates);
  std::mutex mutex;
  std::size_t done = 0;
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  ThreadPool pool(threads_or_all(options.threads));
  pool.for_each(all.size(), [&](std::size_t i) {
    if (stopped()) return;
    all[i] = replicate(i);
    const std::lock_guard lock(mutex);
    ++done;
    if (options.progress) options.progress(done);
  });
  if (stopped()) return std::nullopt;

  result.least_ess = static_cast<double>(options.draws);
  for (const Replicate& one : all) {
    result.most_thinning = std::max(result.most_thinning, one.thinning);
    result.least_ess = std::min(result.least_ess, one.least_ess);
  }
  const std::vector<std::string> names =
      model.parts.terms.empty() ? model.population->names()
                                : MixedPosterior(*model.population, model.parts.terms, model.priors).names();
  for (std::size_t p = 0; p < names.size(); ++p) {
    std::vector<std::size_t> ranks;
    for (const Replicate& one : all) ranks.push_back(one.ranks[p]);
    result.parameters.push_back(histogram_of(names[p], std::move(ranks), result));
  }
  return result;
}

}  // namespace onward::glm
