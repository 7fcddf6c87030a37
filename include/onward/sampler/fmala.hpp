#pragma once
// FMALA (the paper's algorithm 1): Langevin drift along one random direction, noise in all of them.
// The reverse proposal uses a fresh direction v* at θ*; exact because (θ, v) → (θ*, v*) is a move on the
// extended space p(θ)·U(v). As published, v is drawn anew at every step, a Gibbs update: two jets a step.
// Without that update the chain on the extended space is as exact, and the jet at its end is known: one jet
// a step (docs/decisions/one-jet.md).

#include "onward/sampler/kernel.hpp"

namespace onward {

template <class Real, Tangent tangent = Tangent::kept>
struct BasicFmala {
  static constexpr DirectionLaw needs =
      tangent == Tangent::kept ? DirectionLaw::independent : DirectionLaw::exchangeable;

  Real step_size;
  BiasCorrection bias_correction = BiasCorrection::none;

  template <class T, class Random>
  requires Serves<Random, BasicFmala> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                               const BasicMetric<Real>& metric,
                                                               const Random& random, BasicWorkspace<Real>& w)
  const {
    BasicStepInfo<Real> info;
    const std::size_t dimension = state.position.size();
    const Real size(static_cast<double>(dimension));
    const Real eta = bias_correction == BiasCorrection::coupled ? step_size * simd::sqrt(size) : step_size;
    const Real drift =
        bias_correction == BiasCorrection::drift ? size * eta * eta / Real(2) : eta * eta / Real(2);

    // v ~ Uniform(S), F1(θ, v), unless they are known
    begin_with_tangent<tangent>(Order::slope, state, target, metric, random, w);
    const auto here = state.jet;

    // propose θ* = θ + η²/2 (∇f(θ)·v) v + η z
    w.use(w.noise, w.move, w.pushed, w.proposal, w.direction, w.reverse);
    random.noise(w.noise);
    for (std::size_t i = 0; i < dimension; ++i)
      w.move[i] = drift * here.slope * state.tangent[i] + eta * w.noise[i];
    metric.push(w.move, w.pushed);
    add<Real>(state.position, Real(1), w.pushed, w.proposal);

    // v* ~ Uniform(S), F1(θ*, v*), and the noise that would bring θ* back to θ
    random.reverse_direction(w.direction);
    metric.push(w.direction, w.pushed);
    const auto there = target.jet(w.proposal, w.pushed, Order::slope);
    for (std::size_t i = 0; i < dimension; ++i)
      w.reverse[i] = (w.move[i] + drift * there.slope * w.direction[i]) / eta;

    const Real log_forward = Real(-0.5) * simd::sum_of_squares<Real>(w.noise);
    const Real log_reverse = Real(-0.5) * simd::sum_of_squares<Real>(w.reverse);
    metropolis(state, w, there.value, there.value + log_reverse - (here.value + log_forward), random, info);
    end_with_tangent(state, there, w, info);
    return info;
  }
};
using Fmala = BasicFmala<double>;
using FreshFmala = BasicFmala<double, Tangent::fresh>;

}  // namespace onward
