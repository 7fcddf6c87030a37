#pragma once
// Line-FMALA (the paper's algorithm 2): a one-dimensional MALA step along a random direction. The reverse
// proposal moves along the same line, so any direction that ignores the state is exact.

#include "onward/sampler/kernel.hpp"

namespace onward {

template <class Real>
struct BasicLineFmala {
  Real step_size;
  BiasCorrection bias_correction = BiasCorrection::none;  ///< coupled and drift are the same here: η√D for η

  template <class T, class Random>
  BasicStepInfo<Real> step(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric,
                           const Random& random, BasicWorkspace<Real>& w) const {
    BasicStepInfo<Real> info;
    const Real size(static_cast<double>(state.position.size()));
    const Real eta = bias_correction == BiasCorrection::none ? step_size : step_size * simd::sqrt(size);
    const Real drift = eta * eta / Real(2);

    // v ~ Uniform(S), F1(θ, v)
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const auto here = target.jet(state.position, w.pushed, Order::slope);

    // propose θ* = θ + α v with α = η²/2 ∇f(θ)·v + η z
    const Real z = random.noise();
    const Real alpha = drift * here.slope + eta * z;
    add<Real>(state.position, alpha, w.pushed, w.proposal);

    // F1(θ*, v), and the noise that would bring θ* back to θ
    const auto there = target.jet(w.proposal, w.pushed, Order::slope);
    const Real back = (alpha + drift * there.slope) / eta;

    const Real log_forward = Real(-0.5) * z * z;
    const Real log_reverse = Real(-0.5) * back * back;
    metropolis(state, w, there.value, there.value + log_reverse - (here.value + log_forward), random, info);
    return info;
  }
};
using LineFmala = BasicLineFmala<double>;

}  // namespace onward
