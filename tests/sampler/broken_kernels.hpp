#pragma once
// Deliberately wrong twins, one for each kernel, each with a mistake that is easy to make. The tests that the
// right kernels pass must catch every one of them.

#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward::testing {

/// Adds a drift to the noise and still treats the proposal as symmetric.
struct BrokenRwm {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    StepInfo info;
    random.noise(w.noise);
    w.noise[0] += 0.2;
    metric.push(w.noise, w.pushed);
    add<double>(state.position, step_size, w.pushed, w.proposal);
    const double proposed = target.value(w.proposal);
    metropolis(state, w, proposed, proposed - state.value, random, info);
    return info;
  }
};

/// Forgets that the proposal is not symmetric: no proposal densities in the ratio.
struct BrokenMala {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    StepInfo info;
    random.noise(w.noise);
    target.gradient(state.position, w.gradient);
    metric.pull(w.gradient, w.direction);
    for (std::size_t i = 0; i < w.move.size(); ++i)
      w.move[i] = step_size * step_size / 2 * w.direction[i] + step_size * w.noise[i];
    metric.push(w.move, w.pushed);
    add<double>(state.position, 1.0, w.pushed, w.proposal);
    const double proposed = target.value(w.proposal);
    metropolis(state, w, proposed, proposed - state.value, random, info);
    return info;
  }
};

/// Uses the slope at θ for the way back instead of a new one at θ*.
struct BrokenFmala {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    StepInfo info;
    const double drift = step_size * step_size / 2;
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const Jet here = target.jet(state.position, w.pushed, Order::slope);
    random.noise(w.noise);
    for (std::size_t i = 0; i < w.move.size(); ++i)
      w.move[i] = drift * here.slope * w.direction[i] + step_size * w.noise[i];
    metric.push(w.move, w.pushed);
    add<double>(state.position, 1.0, w.pushed, w.proposal);
    const double proposed = target.value(w.proposal);
    for (std::size_t i = 0; i < w.move.size(); ++i)
      w.reverse[i] = (w.move[i] + drift * here.slope * w.direction[i]) / step_size;
    const double ratio = proposed - here.value - 0.5 * simd::sum_of_squares<double>(w.reverse) +
                         0.5 * simd::sum_of_squares<double>(w.noise);
    metropolis(state, w, proposed, ratio, random, info);
    return info;
  }
};

/// A wrong sign: the way back drifts downhill.
struct BrokenLineFmala {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    StepInfo info;
    const double drift = step_size * step_size / 2;
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const Jet here = target.jet(state.position, w.pushed, Order::slope);
    const double z = random.noise();
    const double alpha = drift * here.slope + step_size * z;
    add<double>(state.position, alpha, w.pushed, w.proposal);
    const Jet there = target.jet(w.proposal, w.pushed, Order::slope);
    const double back = (alpha - drift * there.slope) / step_size;
    metropolis(state, w, there.value, there.value - here.value - 0.5 * back * back + 0.5 * z * z, random,
               info);
    return info;
  }
};

/// Leaves the normalisers out: the widths of the two proposals differ.
struct BrokenPcFmala {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    StepInfo info;
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const Jet here = target.jet(state.position, w.pushed, Order::curvature);
    const double h = curvature_scale(here, 0, info.floored);
    const double drift = step_size * step_size / 2 * here.slope / h, sigma = step_size / std::sqrt(h);
    random.noise(w.noise);
    for (std::size_t i = 0; i < w.move.size(); ++i) w.move[i] = drift * w.direction[i] + sigma * w.noise[i];
    metric.push(w.move, w.pushed);
    add<double>(state.position, 1.0, w.pushed, w.proposal);
    random.reverse_direction(w.reverse);
    metric.push(w.reverse, w.pushed);
    const Jet there = target.jet(w.proposal, w.pushed, Order::curvature);
    const double h_there = curvature_scale(there, 0, info.floored);
    const double drift_there = step_size * step_size / 2 * there.slope / h_there;
    for (std::size_t i = 0; i < w.move.size(); ++i)
      w.reverse[i] = (w.move[i] + drift_there * w.reverse[i]) / (step_size / std::sqrt(h_there));
    const double ratio = there.value - here.value - 0.5 * simd::sum_of_squares<double>(w.reverse) +
                         0.5 * simd::sum_of_squares<double>(w.noise);
    metropolis(state, w, there.value, ratio, random, info);
    return info;
  }
};

/// Takes the curvature of θ for the way back too.
struct BrokenPcLineFmala {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    StepInfo info;
    const double half = step_size * step_size / 2;
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const Jet here = target.jet(state.position, w.pushed, Order::curvature);
    const double h = curvature_scale(here, 0, info.floored), sigma = step_size / std::sqrt(h);
    const double z = random.noise();
    const double alpha = half * here.slope / h + sigma * z;
    add<double>(state.position, alpha, w.pushed, w.proposal);
    const Jet there = target.jet(w.proposal, w.pushed, Order::slope);
    const double back = (alpha + half * there.slope / h) / sigma;
    metropolis(state, w, there.value, there.value - here.value - 0.5 * back * back + 0.5 * z * z, random,
               info);
    return info;
  }
};

/// The random numbers of a step, but with an axis for its direction and the next axis for the way back.
struct FixedAxes {
  StepRandom random;
  std::size_t axis;

  void noise(std::span<double> z) const { random.noise(z); }
  void direction(std::span<double> v) const { unit(v, axis); }
  void reverse_direction(std::span<double> v) const { unit(v, axis + 1); }
  double uniform() const { return random.uniform(); }

 private:
  static void unit(std::span<double> v, std::size_t i) {
    std::fill(v.begin(), v.end(), 0.0);
    v[i % v.size()] = 1;
  }
};

}  // namespace onward::testing
