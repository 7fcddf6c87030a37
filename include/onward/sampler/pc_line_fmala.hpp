#pragma once
// PC-Line-FMALA (the paper's algorithm 4): a one-dimensional MALA step along a random direction, scaled by
// the curvature h = |vᵀ∇²f v| found there. The widths of forward and reverse proposals differ and stay in the
// ratio.

#include "onward/sampler/line.hpp"

namespace onward {

template <class Real>
struct BasicPcLineFmala {
  static constexpr KernelFacts facts{
      .name = "pc-line-fmala",
      .summary = "line-fmala scaled by the curvature on the spot: two curvatures a step",
      .line = true,
      .held_vectors = 2};
  static auto options() {
    return std::tuple{shared_options::curvature_floor<BasicPcLineFmala>(),
                      shared_options::inner<BasicPcLineFmala>(), shared_options::tangent<BasicPcLineFmala>()};
  }
  static constexpr DirectionLaw needs = DirectionLaw::any;
  static constexpr Order order = Order::curvature;

  Real step_size{1};
  double curvature_floor = 0.1;  ///< κ of curvature_scale(); 0 is the paper's kernel
  std::size_t inner = 1;
  Tangent tangent = Tangent::kept;
  Vectors vectors = Vectors::held;

  /// propose α ~ N(η²/(2h) ∇f·v, η²/h)
  template <class Random>
  auto rule(const Random&, std::size_t, std::size_t) const {
    return [this](const BasicJet<Real>& jet, simd::mask_t<Real>& floored) {
      const Real h = curvature_scale(jet, curvature_floor, floored);
      return LineProposal<Real>{step_size * step_size / Real(2) * jet.slope / h, step_size / simd::sqrt(h)};
    };
  }

  template <class T, class Random>
  requires Serves<Random, BasicPcLineFmala> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                                     const BasicMetric<Real>& metric,
                                                                     const Random& random,
                                                                     BasicWorkspace<Real>& w)
  const { return line_step(*this, state, target, metric, random, w); }
};
using PcLineFmala = BasicPcLineFmala<double>;

}  // namespace onward
