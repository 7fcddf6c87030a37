#pragma once
// PC-Line-FMALA (the paper's algorithm 4): a one-dimensional MALA step along a random direction, scaled by
// the curvature h = |vᵀ∇²f v| found there. The widths of forward and reverse proposals differ and stay in the
// ratio.

#include "onward/sampler/kernel.hpp"

namespace onward {

template <class Real>
struct BasicPcLineFmala {
  Real step_size;
  double curvature_floor = 0;  ///< κ of curvature_scale()

  template <class T, class Random>
  BasicStepInfo<Real> step(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric,
                           const Random& random, BasicWorkspace<Real>& w) const {
    BasicStepInfo<Real> info;
    const Real half_eta2 = step_size * step_size / Real(2);

    // v ~ Uniform(S), F2(θ, v)
    random.direction(w.direction);
    metric.push(w.direction, w.pushed);
    const auto here = target.jet(state.position, w.pushed, Order::curvature);
    const Real h = curvature_scale(here, curvature_floor, info.floored);
    const Real sigma = step_size / simd::sqrt(h);

    // propose θ* = θ + α v with α = η²/(2h) ∇f(θ)·v + η h^(-1/2) z
    const Real z = random.noise();
    const Real alpha = half_eta2 * here.slope / h + sigma * z;
    add<Real>(state.position, alpha, w.pushed, w.proposal);

    // F2(θ*, v), and the noise that would bring θ* back to θ
    const auto there = target.jet(w.proposal, w.pushed, Order::curvature);
    const Real h_there = curvature_scale(there, curvature_floor, info.floored);
    const Real sigma_there = step_size / simd::sqrt(h_there);
    const Real back = (alpha + half_eta2 * there.slope / h_there) / sigma_there;

    const Real log_forward = Real(-0.5) * z * z - simd::log(sigma);
    const Real log_reverse = Real(-0.5) * back * back - simd::log(sigma_there);
    metropolis(state, w, there.value, there.value + log_reverse - (here.value + log_forward), random, info);
    return info;
  }
};
using PcLineFmala = BasicPcLineFmala<double>;

}  // namespace onward
