#pragma once
// The measure of all samplers: for each posterior of the set and each sampler, effective draws per evaluation
// and per second, and errors against the truth at a fixed budget of evaluations.
//
// Statistical figures and speed are measured apart. Chains start at independent draws and run with one metric
// for all samplers, the spread of independent draws, so that figures are those of the kernels alone and, for
// a seed, the same on every machine. Steps per second come from short runs on the target itself with a metric
// of the same kind, all samplers in turn, so that a disturbance of the machine hits all.

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"

namespace onward::bench {

struct PosteriorsOptions {
  bool quick = false;                       ///< small budgets, no runs without options: under a minute
  std::vector<std::string> only, samplers;  ///< empty: all
  std::string posteriordb;            ///< folder with its data and answers; empty: without its posteriors
  std::vector<std::string> parts;     ///< of tuned, untuned, ways, defaults, stays, prices; empty: all
  std::optional<std::size_t> budget;  ///< evaluations of a run, instead of the posterior's own
};

/// What one sampler with one setting did.
struct SamplerFigures {
  std::string sampler;
  double setting = 0;  ///< step size in the metric's units; relaxation of newton-line; 0: its own warm-up's
  double ess = 0;      ///< least bulk ESS of a parameter, mean over runs
  double evaluations = 0;  ///< of a run, in plain evaluations of the density
  double steps = 0;        ///< of a run, all chains
  double acceptance = 0;
  double mean_error = 0;      ///< largest over the quantities, in their standard deviations; median over runs
  double variance_error = 0;  ///< largest over the quantities, relative; median over runs
  double within = 0;          ///< share of runs in which both are within 5%
  double steps_per_second = 0;

  double per_evaluation() const { return ess / evaluations; }
  double per_second() const { return ess / steps * steps_per_second; }
};

/// Two ways of one sampler, and by how much the first should be better.
struct Comparison {
  std::string name, peer;
  SamplerFigures first, second;
  bool by_time = false;  ///< per second instead of per evaluation
  double wanted = 1;     ///< ratio

  double figure(const SamplerFigures& f) const { return by_time ? f.per_second() : f.per_evaluation(); }
  double ratio() const { return figure(first) / figure(second); }
};

/// `onward sample` with nothing but the model's name.
struct DefaultRun {
  std::string sampler;  ///< that it chose
  double seconds = 0, allowed = 0;
  double max_rhat = 0, min_ess = 0;
  bool met() const;
};

/// The longest stay at one place in so many steps.
struct LongestStay {
  std::string sampler;
  std::size_t steps = 0, stay = 0;
};

/// What evaluations of the target took, beside the fixed table that evaluations are weighed by.
struct MeasuredPrices {
  double value_seconds = 0;  ///< of a plain value; the others are multiples of it
  double slope = 0, curvature = 0, slope_pair = 0, curvature_pair = 0, gradient = 0;
};

struct PosteriorFigures {
  std::string name, command;
  std::size_t dimension = 0;
  bool one_dimensional = false;
  std::string metric;      ///< kind
  std::string quantities;  ///< compared in place of the parameters, if any
  double budget = 0;       ///< evaluations of a run
  std::size_t runs = 0;
  std::vector<SamplerFigures> tuned;    ///< each at its best setting; newton-line also at c = 1
  std::vector<SamplerFigures> untuned;  ///< as the sampler's own warm-up leaves it, in the same budget
  std::vector<Comparison> comparisons;
  std::optional<DefaultRun> default_run;
  std::vector<LongestStay> stays;
  std::optional<MeasuredPrices> prices;
};

struct PosteriorsResult {
  std::vector<PosteriorFigures> posteriors;
  bool quick = false, complete = true;
  double seconds = 0;
};

/// How many of all pieces are done.
using PosteriorsProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Stops soon after `stop` is set, with the posteriors that were finished. Throws UsageError for names that
/// there are not.
PosteriorsResult posteriors(const PosteriorsOptions& options, const PosteriorsProgress& progress,
                            const std::atomic<bool>& stop);

std::vector<Row> rows(const PosteriorsResult& result);
std::string markdown(const PosteriorsResult& result);

}  // namespace onward::bench
