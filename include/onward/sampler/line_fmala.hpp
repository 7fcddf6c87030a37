#pragma once
// Line-FMALA (the paper's algorithm 2): a one-dimensional MALA step along a random direction.

#include "onward/sampler/line.hpp"

namespace onward {

template <class Real>
struct BasicLineFmala {
  static constexpr KernelFacts facts{.name = "line-fmala",
                                     .summary = "Langevin along a random line: two slopes a step",
                                     .line = true,
                                     .target_acceptance = 0.65,
                                     .held_vectors = 2};
  static auto options() {
    return std::tuple{shared_options::bias_correction<BasicLineFmala>(),
                      shared_options::inner<BasicLineFmala>(), shared_options::tangent<BasicLineFmala>()};
  }
  static constexpr DirectionLaw needs = DirectionLaw::any;
  static constexpr Order order = Order::slope;

  Real step_size{1};
  BiasCorrection bias_correction = BiasCorrection::none;  ///< coupled and drift are the same here: η√D for η
  std::size_t inner = 1;
  Tangent tangent = Tangent::kept;
  Vectors vectors = Vectors::held;

  /// propose α ~ N(η²/2 ∇f·v, η²)
  template <class Random>
  auto rule(const Random&, std::size_t, std::size_t dimension) const {
    const Real size(static_cast<double>(dimension));
    const Real eta = bias_correction == BiasCorrection::none ? step_size : step_size * simd::sqrt(size);
    return [eta](const BasicJet<Real>& jet, simd::mask_t<Real>&) {
      return LineProposal<Real>{eta * eta / Real(2) * jet.slope, eta};
    };
  }

  template <class T, class Random>
  requires Serves<Random, BasicLineFmala> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                                   const BasicMetric<Real>& metric,
                                                                   const Random& random,
                                                                   BasicWorkspace<Real>& w)
  const { return line_step(*this, state, target, metric, random, w); }
};
using LineFmala = BasicLineFmala<double>;

}  // namespace onward
