#pragma once
// Deliberately wrong twins, at least one for each kernel, each with a mistake that is easy to make. The tests
// that the right kernels pass must catch every one of them.

#include <cmath>

#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward::testing {

inline void use_all(Workspace& w) {
  w.use(w.noise, w.direction, w.reverse, w.move, w.pushed, w.proposal, w.gradient);
}

/// Adds a drift to the noise and still treats the proposal as symmetric.
struct BrokenRwm {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
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
    use_all(w);
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
    use_all(w);
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
    use_all(w);
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
    use_all(w);
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
    use_all(w);
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

/// A step along a line with one rule for the way there and another for the way back, and with normalisers or
/// without: what the twins of newton-line are made of.
template <class Forward, class Back>
StepInfo lopsided_line_step(State& state, AnyTarget& target, const StepRandom& random, Workspace& w,
                            const Forward& forward, const Back& back, bool normalisers) {
  StepInfo info;
  const Jet here = target.jet(state.position, w.pushed, Order::curvature);
  const LineProposal<double> there_by = forward(here, info.floored);
  const double z = random.noise(), alpha = there_by.mean + there_by.sd * z;
  add<double>(state.position, alpha, w.pushed, w.proposal);
  const Jet there = target.jet(w.proposal, w.pushed, Order::curvature);
  const LineProposal<double> back_by = back(there, info.floored);
  const double z_back = (alpha + back_by.mean) / back_by.sd;
  double ratio = there.value - here.value - 0.5 * z_back * z_back + 0.5 * z * z;
  if (normalisers) ratio += std::log(there_by.sd) - std::log(back_by.sd);
  metropolis(state, w, there.value, ratio, random, info);
  return info;
}

inline void random_line(const Metric& metric, const StepRandom& random, Workspace& w) {
  random.direction(w.direction);
  metric.push(w.direction, w.pushed);
}

/// Leaves the normalisers out.
struct NewtonLineWithoutNormalisers {
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
    random_line(metric, random, w);
    const auto rule = NewtonLine{}.rule(random, 0, state.position.size());
    return lopsided_line_step(state, target, random, w, rule, rule, false);
  }
};

/// Cuts the way to the mode going there, and forgets to cut it coming back.
struct NewtonLineWithoutCutBack {
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
    random_line(metric, random, w);
    const NewtonLine kernel;
    const auto rule = kernel.rule(random, 0, state.position.size());
    const bool plain = random.choice() < NewtonLine::plain_share;
    const auto uncut = [&](const Jet& jet, bool& floored) {
      LineProposal<double> proposal = rule(jet, floored);
      if (!plain) proposal.mean = jet.slope / curvature_scale(jet, kernel.curvature_floor, floored);
      return proposal;
    };
    return lopsided_line_step(state, target, random, w, rule, uncut, true);
  }
};

/// Plain moves that are taken for symmetric, but whose width goes with the slope of where they begin.
struct PlainMovesAsWideAsTheSlope {
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
    random_line(metric, random, w);
    double width = 0;
    const auto forward = [&](const Jet& jet, bool&) {
      width = 0.1 * std::pow(100.0, random.choice(1)) * std::abs(jet.slope);
      return LineProposal<double>{0, width};
    };
    const auto back = [&](const Jet&, bool&) { return LineProposal<double>{0, width}; };
    return lopsided_line_step(state, target, random, w, forward, back, true);
  }
};

/// Looks at the state for its direction: away from the origin, where the way back is along the same line, but
/// lines lie denser near the origin.
struct DirectionOfTheState {
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
    const double length = std::sqrt(simd::sum_of_squares<double>(state.position));
    for (std::size_t i = 0; i < w.direction.size(); ++i) w.direction[i] = state.position[i] / length;
    metric.push(w.direction, w.pushed);
    const auto rule = NewtonLine{}.rule(random, 0, state.position.size());
    return lopsided_line_step(state, target, random, w, rule, rule, true);
  }
};

/// Chooses the way uphill and then takes the proposal for a symmetric one.
struct BrokenLineBarker {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
    StepInfo info;
    random_line(metric, random, w);
    const Jet here = target.jet(state.position, w.pushed, Order::slope);
    const double far = step_size * random.noise();
    const double alpha = random.choice() < 1 / (1 + std::exp(-far * here.slope)) ? far : -far;
    add<double>(state.position, alpha, w.pushed, w.proposal);
    const double proposed = target.value(w.proposal);
    metropolis(state, w, proposed, proposed - here.value, random, info);
    return info;
  }
};

/// Keeps the new tangent after an acceptance, but the slope along the old one.
struct StaleFmala {
  double step_size;
  StepInfo step(State& state, AnyTarget& target, const Metric& metric, const StepRandom& random,
                Workspace& w) const {
    use_all(w);
    const bool known = state.jet_known;
    const double slope = state.jet.slope;
    const StepInfo info = Fmala{step_size}.step(state, target, metric, random, w);
    if (known && info.accepted) state.jet.slope = slope;
    return info;
  }
};

/// The random numbers of a step with directions from a source that is no good for fmala, the next one for the
/// way back. Without a law of its own it is taken for the strongest.
template <class Source>
struct Pretender {
  const Stream& stream;
  std::uint64_t step;
  Source& source;

  std::uint64_t number() const { return step; }
  void noise(std::span<double> z) const { stream.normals(step, Purpose::noise, z); }
  void direction(std::span<double> v) const { source.fill(stream, step, v); }
  void reverse_direction(std::span<double> v) const { source.fill(stream, step + 1, v); }
  double uniform(std::uint64_t index) const { return stream.uniform(step, Purpose::accept, index); }
};

}  // namespace onward::testing
