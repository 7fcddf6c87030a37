#pragma once
// Line-Barker: along a line the size of the move is drawn first, η|z|, and then which way it goes, uphill
// with the larger probability: α = ±ηz with P(+) = 1 / (1 + exp(-ηz s)), s the slope. (Barker's proposal of
// Livingstone and Zanella, arXiv 1908.11812, on one direction.) A slope that is too large for the step size
// decides the way and never the length, so chains that begin far out, or meet a cliff, are not thrown away.

#include "onward/sampler/line.hpp"

namespace onward {

template <class Real>
struct BasicLineBarker {
  static constexpr KernelFacts facts{
      .name = "line-barker",
      .summary = "along a random line, uphill more often than not: two slopes a step",
      .line = true,
      .target_acceptance = 0.5,
      .held_vectors = 2};
  static auto options() { return std::tuple{}; }
  static constexpr DirectionLaw needs = DirectionLaw::any;
  static constexpr Order order = Order::slope;

  Real step_size{1};

  template <class T, class Random>
  requires Serves<Random, BasicLineBarker> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                                    const BasicMetric<Real>& metric,
                                                                    const Random& random,
                                                                    BasicWorkspace<Real>& w)
  const {
    BasicStepInfo<Real> info;
    // v, ignoring the state, and the jet along it
    const BasicDirection<Real> v =
        push_drawn<Real>([&](auto& out) { return random.direction(out); }, metric, w, w.direction, w.pushed);
    auto line = target.line(state.position, v);
    const BasicJet<Real> here = line.here(order);

    // propose θ* = θ + α v: how far, then which way
    const Real far = step_size * random.noise(0);
    const auto keeps_sign = random.choice(0) < Real(1) / (Real(1) + simd::exp(simd::neg(far * here.slope)));
    const Real alpha = simd::select(keeps_sign, far, simd::neg(far));
    const BasicJet<Real> there = line.jet(alpha, order);

    // q(θ*|θ) is the same normal both ways, times the probability of the way that was taken
    const Real log_forward = simd::neg(log_one_plus_exp(simd::neg(alpha * here.slope)));
    const Real log_reverse = simd::neg(log_one_plus_exp(alpha * there.slope));
    decide(state, there.value, there.value + log_reverse - (here.value + log_forward), random, info);
    line.commit(alpha, info.accepted);
    info.moved = simd::select(info.accepted, alpha, Real(0.0));
    return info;
  }

 private:
  static Real log_one_plus_exp(const Real& x) {
    return simd::max(x, Real(0.0)) + simd::log(Real(1.0) + simd::exp(simd::neg(simd::abs(x))));
  }
};
using LineBarker = BasicLineBarker<double>;

}  // namespace onward
