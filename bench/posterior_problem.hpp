#pragma once
// A posterior made ready for measurements: in units in which its spread is 1, with independent draws to start
// from, and how much is spent on it.

#include <cstddef>
#include <vector>

#include "bench/posteriors/set.hpp"
#include "onward/target/price.hpp"
#include "onward/util/thread_pool.hpp"
#include "onward/warmup/warmup.hpp"
#include "posteriors.hpp"

namespace onward::bench {

/// Calls f(0) ... f(count - 1) on all cores.
template <class F>
void parallel_for(std::size_t count, const F& f) {
  ThreadPool(core_count()).for_each(count, f);
}

/// How much is spent on a posterior.
struct Effort {
  double budget;         ///< evaluations of a run
  std::size_t runs;      ///< with tuned settings; half as many with the sampler's own warm-up
  std::size_t pool;      ///< independent draws from which metric and starts come
  double pilot, refine;  ///< share of the budget for a point of the coarse and of the fine grid
};
Effort effort_for(const KnownPosterior& posterior, const PosteriorsOptions& options);

/// A posterior made ready: in the units of its metric, with places to start from.
struct Problem {
  const KnownPosterior* posterior;
  AnyTarget whitened;
  std::vector<std::vector<double>> starts;  ///< in those units
  MetricKind metric;
  EvaluationPrice price;
};
/// With metric and starts from a pool of so many independent draws.
Problem prepare(const KnownPosterior& posterior, std::size_t pool);

}  // namespace onward::bench
