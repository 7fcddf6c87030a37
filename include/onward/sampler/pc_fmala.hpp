#pragma once
// PC-FMALA (the paper's algorithm 3): FMALA scaled by the curvature h = |vᵀ∇²f v| of the place. Forward and
// reverse proposals have different widths, so their normalisers (D·log of the scale) stay in the ratio. Like
// FMALA it may keep its tangent.

#include "onward/sampler/kernel.hpp"

namespace onward {

template <class Real, Tangent tangent = Tangent::kept>
struct BasicPcFmala {
  static constexpr DirectionLaw needs =
      tangent == Tangent::kept ? DirectionLaw::independent : DirectionLaw::exchangeable;

  Real step_size;
  BiasCorrection bias_correction =
      BiasCorrection::none;    ///< coupled and drift: noise divided by √D, drift kept
  double curvature_floor = 0;  ///< κ of curvature_scale()

  template <class T, class Random>
  requires Serves<Random, BasicPcFmala> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                                 const BasicMetric<Real>& metric,
                                                                 const Random& random,
                                                                 BasicWorkspace<Real>& w)
  const {
    BasicStepInfo<Real> info;
    const std::size_t dimension = state.position.size();
    const Real size(static_cast<double>(dimension));
    const Real noise_scale =
        bias_correction == BiasCorrection::none ? step_size : step_size / simd::sqrt(size);
    const Real half_eta2 = step_size * step_size / Real(2);

    // v ~ Uniform(S), F2(θ, v), unless they are known
    begin_with_tangent<tangent>(Order::curvature, state, target, metric, random, w);
    const auto here = state.jet;
    const Real h = curvature_scale(here, curvature_floor, info.floored);
    const Real drift = half_eta2 * here.slope / h;
    const Real sigma = noise_scale / simd::sqrt(h);

    // propose θ* = θ + η²/(2h) (∇f(θ)·v) v + η h^(-1/2) z
    w.use(w.noise, w.move, w.pushed, w.proposal, w.direction, w.reverse);
    random.noise(w.noise);
    for (std::size_t i = 0; i < dimension; ++i) w.move[i] = drift * state.tangent[i] + sigma * w.noise[i];
    metric.push(w.move, w.pushed);
    add<Real>(state.position, Real(1), w.pushed, w.proposal);

    // v* ~ Uniform(S), F2(θ*, v*), and the noise that would bring θ* back to θ
    random.reverse_direction(w.direction);
    metric.push(w.direction, w.pushed);
    const auto there = target.jet(w.proposal, w.pushed, Order::curvature);
    const Real h_there = curvature_scale(there, curvature_floor, info.floored);
    const Real drift_there = half_eta2 * there.slope / h_there;
    const Real sigma_there = noise_scale / simd::sqrt(h_there);
    for (std::size_t i = 0; i < dimension; ++i)
      w.reverse[i] = (w.move[i] + drift_there * w.direction[i]) / sigma_there;

    const Real log_forward = Real(-0.5) * simd::sum_of_squares<Real>(w.noise) - size * simd::log(sigma);
    const Real log_reverse =
        Real(-0.5) * simd::sum_of_squares<Real>(w.reverse) - size * simd::log(sigma_there);
    metropolis(state, w, there.value, there.value + log_reverse - (here.value + log_forward), random, info);
    end_with_tangent(state, there, w, info);
    return info;
  }
};
using PcFmala = BasicPcFmala<double>;
using FreshPcFmala = BasicPcFmala<double, Tangent::fresh>;

}  // namespace onward
