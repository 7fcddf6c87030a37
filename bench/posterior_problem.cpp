#include "posterior_problem.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "onward/run/run.hpp"
#include "whitened.hpp"

namespace onward::bench {
namespace {

constexpr std::size_t starts = 64;

// A dense metric asks for many times D independent draws, and for D² operations a step.
constexpr std::size_t dense_limit = 100;

/// Draws of a posterior and the logarithms of their weights: independent ones if there is a way to have them,
/// else those of a long run of nuts.
struct Pool {
  std::vector<std::vector<double>> draws;
  std::vector<double> weights;
};

Pool draw_pool(const KnownPosterior& posterior, std::size_t size, std::uint64_t seed) {
  Pool pool{std::vector(size, std::vector<double>(posterior.target.dimension())), std::vector<double>(size)};
  if (posterior.make_source) {
    const models::DrawSource source = posterior.make_source();
    parallel_for(size, [&](std::size_t n) {
      pool.weights[n] = source(Stream(seed, static_cast<std::uint32_t>(n)), pool.draws[n]);
    });
    return pool;
  }
  RunSettings s;
  s.sampler = "nuts";
  s.seed = seed;
  s.draws = size / s.chains;
  std::vector<std::size_t> made(s.chains);
  DrawFunction keep([&](std::size_t chain, const Draw& draw) {
    auto& place = pool.draws[chain + s.chains * made[chain]++];
    place.assign(draw.position.begin(), draw.position.end());
  });
  Hooks hooks;
  hooks.sinks = {&keep};
  hooks.keep_draws = false;
  sample(posterior.target, s, hooks);
  pool.draws.resize(s.chains * s.draws);
  pool.weights.resize(pool.draws.size());
  return pool;
}

}  // namespace

Effort effort_for(const KnownPosterior& posterior, const PosteriorsOptions& options) {
  const std::size_t dimension = posterior.target.dimension();
  Effort e{200'000, 8, 20'000, 0.08, 0.2};
  if (posterior.kind == Kind::costly) e.budget = 60'000;
  if (posterior.kind == Kind::slow) e = {dimension > 20 ? 500'000.0 : 1'000'000.0, 8, 20'000, 0.2, 0.5};
  if (dimension > 20) e.runs = 5;
  if (dimension > 100) e.pool = 8000;
  if (dimension > 500) e = {300'000, 3, 4000, 0.1, 0.2};
  if (options.quick) {
    e.budget = 10'000;
    e.runs = 2;
    e.pool /= 4;
    e.refine = 0.1;
  }
  if (options.budget) e.budget = static_cast<double>(*options.budget);
  return e;
}

Problem prepare(const KnownPosterior& posterior, std::size_t pool) {
  const std::size_t dimension = posterior.target.dimension();
  constexpr std::uint64_t pool_seed = 7;
  auto [draws, weights] = draw_pool(posterior, pool, pool_seed);
  const double highest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& w : weights) total += w = std::exp(w - highest);

  // The spread of the draws, as warm-up would learn it in the end.
  const auto size = static_cast<Eigen::Index>(dimension);
  const bool dense = dimension <= dense_limit && dimension > 1;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(size), squares = mean;
  Eigen::MatrixXd products = Eigen::MatrixXd::Zero(dense ? size : 0, dense ? size : 0);
  for (std::size_t n = 0; n < draws.size(); ++n) {
    const Eigen::Map<const Eigen::VectorXd> x(draws[n].data(), size);
    mean += weights[n] / total * x;
    squares += weights[n] / total * x.cwiseAbs2();
    if (dense) products.selfadjointView<Eigen::Lower>().rankUpdate(x, weights[n] / total);
  }
  Scales scales;
  if (dense) {
    products.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1);
    scales.lower = products.llt().matrixL();
  } else {
    scales.diagonal = (squares - mean.cwiseAbs2()).cwiseSqrt();
  }

  // Starts by systematic resampling: a draw is taken as often as its weight says.
  Problem problem{&posterior,
                  Whitened(posterior.target, std::make_shared<const Scales>(scales)),
                  {},
                  dense ? MetricKind::dense : MetricKind::diag,
                  EvaluationPrice::of_dimension(dimension)};
  double passed = 0;
  for (std::size_t n = 0; n < draws.size(); ++n) {
    passed += weights[n] / total * static_cast<double>(starts);
    while (problem.starts.size() < starts && passed > static_cast<double>(problem.starts.size()) + 0.5)
      problem.starts.push_back(scales.whiten(draws[n]));
  }
  return problem;
}

}  // namespace onward::bench
