#pragma once
// FMALA (the paper's algorithm 1): Langevin drift along one random direction, noise in all of them,
//   θ* = θ + η²/2 (∇f(θ)·v) v + η z.

#include "onward/sampler/tangent.hpp"

namespace onward {

template <class Real, Tangent tangent = Tangent::kept>
struct BasicFmala {
  static constexpr KernelFacts facts{
      .name = "fmala",
      .summary = "Langevin drift along a random direction, noise in all: one slope a step",
      .target_acceptance = 0.25,
      .held_vectors = 8};
  static auto options() { return std::tuple{shared_options::bias_correction<BasicFmala>()}; }
  static constexpr Tangent tangent_kind = tangent;
  static constexpr DirectionLaw needs =
      tangent == Tangent::kept ? DirectionLaw::independent : DirectionLaw::exchangeable;
  static constexpr Order order = Order::slope;

  Real step_size{1};
  BiasCorrection bias_correction = BiasCorrection::none;
  Vectors vectors = Vectors::held;

  auto rule(std::size_t dimension) const {
    const Real size(static_cast<double>(dimension));
    const Real eta = bias_correction == BiasCorrection::coupled ? step_size * simd::sqrt(size) : step_size;
    const Real drift =
        bias_correction == BiasCorrection::drift ? size * eta * eta / Real(2) : eta * eta / Real(2);
    return [eta, drift](const BasicJet<Real>& jet, simd::mask_t<Real>&) {
      return TangentProposal<Real>{drift * jet.slope, eta, Real(0)};
    };
  }

  template <class T, class Random>
  requires Serves<Random, BasicFmala> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                               const BasicMetric<Real>& metric,
                                                               const Random& random, BasicWorkspace<Real>& w)
  const { return tangent_step<tangent>(*this, state, target, metric, random, w); }
};
using Fmala = BasicFmala<double>;
using FreshFmala = BasicFmala<double, Tangent::fresh>;

}  // namespace onward
