#pragma once
// PC-FMALA (the paper's algorithm 3): FMALA scaled by the curvature h = |vᵀ∇²f v| of the place,
//   θ* = θ + η²/(2h) (∇f(θ)·v) v + η h^(-1/2) z.
// Forward and reverse proposals have different widths, so their normalisers (D·log of the scale) stay in the
// ratio.

#include "onward/sampler/tangent.hpp"

namespace onward {

template <class Real, Tangent tangent = Tangent::kept>
struct BasicPcFmala {
  static constexpr KernelFacts facts{
      .name = "pc-fmala",
      .summary = "fmala scaled by the curvature on the spot: one curvature a step",
      .target_acceptance = 0.2,
      .held_vectors = 8};
  static auto options() {
    return std::tuple{shared_options::bias_correction<BasicPcFmala>(),
                      shared_options::curvature_floor<BasicPcFmala>()};
  }
  static constexpr Tangent tangent_kind = tangent;
  static constexpr DirectionLaw needs =
      tangent == Tangent::kept ? DirectionLaw::independent : DirectionLaw::exchangeable;
  static constexpr Order order = Order::curvature;

  Real step_size{1};
  BiasCorrection bias_correction =
      BiasCorrection::none;      ///< coupled and drift: noise divided by √D, drift kept
  double curvature_floor = 0.1;  ///< κ of curvature_scale(); 0 is the paper's kernel
  Vectors vectors = Vectors::held;

  auto rule(std::size_t dimension) const {
    const Real size(static_cast<double>(dimension));
    const Real noise_scale =
        bias_correction == BiasCorrection::none ? step_size : step_size / simd::sqrt(size);
    const Real half_eta2 = step_size * step_size / Real(2);
    return [=, floor = curvature_floor](const BasicJet<Real>& jet, simd::mask_t<Real>& floored) {
      const Real h = curvature_scale(jet, floor, floored);
      const Real sd = noise_scale / simd::sqrt(h);
      return TangentProposal<Real>{half_eta2 * jet.slope / h, sd, size * simd::log(sd)};
    };
  }

  template <class T, class Random>
  requires Serves<Random, BasicPcFmala> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                                 const BasicMetric<Real>& metric,
                                                                 const Random& random,
                                                                 BasicWorkspace<Real>& w)
  const { return tangent_step<tangent>(*this, state, target, metric, random, w); }
};
using PcFmala = BasicPcFmala<double>;
using FreshPcFmala = BasicPcFmala<double, Tangent::fresh>;

}  // namespace onward
