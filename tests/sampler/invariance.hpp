#pragma once
// Many independent chains begin at exact draws of a target and make a few steps. If the kernel is exact,
// where they end are again independent exact draws, so means of functions with known expectation and variance
// are normal with known error. A bound of 5.5 standard errors is passed by chance once in 26 million; broken
// twins must exceed it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drawables.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::testing {

constexpr double bound = 5.5;

/// One step of some kernel, with that number of that stream.
using StepFunction =
    std::function<StepInfo(State&, AnyTarget&, const Metric&, const Stream&, std::uint64_t, Workspace&)>;

inline StepFunction stepper(const KernelSettings& settings) {
  return [kernel = make_kernel(settings)](State& s, AnyTarget& t, const Metric& m, const Stream& stream,
                                          std::uint64_t number, Workspace& w) {
    return step(kernel, s, t, m, StepRandom(stream, number), w);
  };
}

/// With directions from a source.
inline StepFunction stepper(const KernelSettings& settings, Directions directions) {
  return [kernel = make_kernel(settings), directions = std::move(directions)](
             State& s, AnyTarget& t, const Metric& m, const Stream& stream, std::uint64_t number,
             Workspace& w) mutable { return step(kernel, s, t, m, stream, number, directions, w); };
}

/// Of a kernel that is not among the samplers.
template <class K>
StepFunction stepper_of(K kernel) {
  return [kernel](State& s, AnyTarget& t, const Metric& m, const Stream& stream, std::uint64_t number,
                  Workspace& w) { return kernel.step(s, t, m, StepRandom(stream, number), w); };
}

/// The largest |z| over means, squares and products of the standardised coordinates after the steps; in many
/// dimensions products of neighbours alone.
inline double worst_z(const Drawable& model, const StepFunction& kernel_step, const Metric& metric,
                      std::uint32_t chains, std::uint64_t steps) {
  const std::size_t dimension = model.target.dimension();
  const std::size_t apart = dimension > 10 ? 1 : dimension;
  AnyTarget target(model.target);
  Workspace workspace(dimension);
  std::vector<double> sum, squares;
  State state;
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    const Stream stream(17, chain);
    state.position.resize(dimension);
    model.draw(stream, state.position);
    state.value = target.value(state.position);
    state.forget();
    // so that the step that draws a kept tangent anew is among them
    constexpr std::uint64_t begin = tangent_life - 4;
    for (std::uint64_t number = begin; number < begin + steps; ++number)
      kernel_step(state, target, metric, stream, number, workspace);
    const auto z = model.normals(state.position);
    std::size_t k = 0;
    const auto record = [&](double x) {
      if (k == sum.size()) {
        sum.push_back(0);
        squares.push_back(0);
      }
      sum[k] += x;
      squares[k++] += x * x;
    };
    for (std::size_t i = 0; i < dimension; ++i) record(z[i]);
    for (std::size_t i = 0; i < dimension; ++i)
      for (std::size_t j = i - std::min(i, apart); j <= i; ++j) record(z[i] * z[j] - (i == j ? 1.0 : 0.0));
  }
  double worst = 0;
  const auto n = static_cast<double>(chains);
  for (std::size_t k = 0; k < sum.size(); ++k) {
    const double mean = sum[k] / n, variance = squares[k] / n - mean * mean;
    worst = std::max(worst, std::abs(mean) / std::sqrt(variance / n));
  }
  return worst;
}

/// A metric of each kind for three dimensions. That of low rank widens one direction and narrows another.
inline std::vector<Metric> some_metrics() {
  Eigen::MatrixXd lower(3, 3), directions(3, 2);
  lower << 0.7, 0, 0, 0.3, 1.2, 0, -1, 0.5, 2;
  directions << 0.6, 0, 0.8, 0, 0, 1;
  return {Metric{}, Metric::diagonal({0.5, 1.5, 3.0}), Metric::dense(lower),
          Metric::lowrank({0.8, 1.1, 2.0}, directions, Eigen::Vector2d(1.5, -0.4))};
}

}  // namespace onward::testing
