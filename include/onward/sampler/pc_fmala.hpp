#pragma once
// PC-FMALA (the paper's algorithm 3): FMALA scaled by the curvature h = |vᵀ∇²f v| of the place. Forward and
// reverse proposals have different widths, so their normalisers (D·log of the scale) stay in the ratio.

#include "onward/sampler/kernel.hpp"

namespace onward {

template <class Real>
struct BasicPcFmala {
  Real step_size;
  BiasCorrection bias_correction =
      BiasCorrection::none;    ///< coupled and drift: noise divided by √D, drift kept
  double curvature_floor = 0;  ///< κ of curvature_scale()

  template <class T, class Random>
  BasicStepInfo<Real> step(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric,
                           const Random& random, BasicWorkspace<Real>& w) const {
    BasicStepInfo<Real> info;
    const std::size_t dimension = state.position.size();
    const Real size(static_cast<double>(dimension));
    const Real noise_scale =
        bias_correction == BiasCorrection::none ? step_size : step_size / simd::sqrt(size);
    const Real half_eta2 = step_size * step_size / Real(2);

    // v ~ Uniform(S), F2(θ, v)
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const auto here = target.jet(state.position, w.pushed, Order::curvature);
    const Real h = curvature_scale(here, curvature_floor, info.floored);
    const Real drift = half_eta2 * here.slope / h;
    const Real sigma = noise_scale / simd::sqrt(h);

    // propose θ* = θ + η²/(2h) (∇f(θ)·v) v + η h^(-1/2) z
    random.noise(w.noise);
    for (std::size_t i = 0; i < dimension; ++i) w.move[i] = drift * w.direction[i] + sigma * w.noise[i];
    metric.push(w.move, w.pushed);
    add<Real>(state.position, Real(1), w.pushed, w.proposal);

    // v* ~ Uniform(S), F2(θ*, v*), and the noise that would bring θ* back to θ
    random.reverse_direction(w.reverse);
    metric.push(w.reverse, w.pushed);
    const auto there = target.jet(w.proposal, w.pushed, Order::curvature);
    const Real h_there = curvature_scale(there, curvature_floor, info.floored);
    const Real drift_there = half_eta2 * there.slope / h_there;
    const Real sigma_there = noise_scale / simd::sqrt(h_there);
    for (std::size_t i = 0; i < dimension; ++i)
      w.reverse[i] = (w.move[i] + drift_there * w.reverse[i]) / sigma_there;

    const Real log_forward = Real(-0.5) * simd::sum_of_squares<Real>(w.noise) - size * simd::log(sigma);
    const Real log_reverse =
        Real(-0.5) * simd::sum_of_squares<Real>(w.reverse) - size * simd::log(sigma_there);
    metropolis(state, w, there.value, there.value + log_reverse - (here.value + log_forward), random, info);
    return info;
  }
};
using PcFmala = BasicPcFmala<double>;

}  // namespace onward
