#pragma once
// Newton-line: along a line the normal that has the density's slope and curvature at the place is sampled
// exactly, α = c·s/h + √(c(2-c)/h)·z. On a normal target every proposal is accepted, and with c = 1 the place
// on the line is independent of the last one: there is no step size to tune. c above 1 over-relaxes.
//
// Where the target is not normal, three rules keep chains from sticking (docs/decisions/newton-line.md has
// the figures). All are functions of the jet alone, or of random numbers alone, so that the ratio stays
// exact: h is at least κs²; the way to the mode is cut at `longest` widths, since far from it slope and
// curvature say little of where it is; and a share of the moves are plain ones, α = τz, with τ drawn between
// a tenth of the metric's unit and ten of them.

#include "onward/sampler/line.hpp"

namespace onward {

template <class Real>
struct BasicNewtonLine {
  static constexpr KernelFacts facts{
      .name = "newton-line",
      .summary = "the normal that fits the line on the spot, sampled exactly: no step size",
      .line = true,
      .piloted = true,
      .held_vectors = 2};
  static auto options() {
    return std::tuple{described(&BasicNewtonLine::relaxation, relaxation_option()),
                      shared_options::curvature_floor<BasicNewtonLine>(),
                      shared_options::inner<BasicNewtonLine>(), shared_options::tangent<BasicNewtonLine>()};
  }
  static Option relaxation_option() {
    return {.name = "relaxation",
            .help = "over-relaxed above 1; 1 makes places on a normal's line independent",
            .range = Range{.low = 0, .high = 2}};
  }
  static constexpr DirectionLaw needs = DirectionLaw::any;
  static constexpr Order order = Order::curvature;
  static constexpr double longest = 2.25;     ///< widths that the mean of a proposal may be away
  static constexpr double plain_share = 0.1;  ///< of the moves

  double relaxation = 1;  ///< c, between 0 and 2
  double curvature_floor = 0.1;
  std::size_t inner = 1;
  Tangent tangent = Tangent::kept;
  Vectors vectors = Vectors::held;

  template <class Random>
  auto rule(const Random& random, std::size_t move, std::size_t) const {
    const auto plain = random.choice(2 * move) < Real(plain_share);
    // log-uniform: no width is right for all
    const Real tau = Real(0.1) * simd::exp(Real(4.605170185988092) * random.choice(2 * move + 1));
    return [this, plain, tau](const BasicJet<Real>& jet, simd::mask_t<Real>& floored) {
      const Real h = curvature_scale(jet, curvature_floor, floored);
      const Real width = Real(1) / simd::sqrt(h), far = Real(longest) * width;
      const Real mean = Real(relaxation) * simd::min(simd::max(jet.slope / h, simd::neg(far)), far);
      const Real sd = Real(std::sqrt(relaxation * (2 - relaxation))) * width;
      return LineProposal<Real>{simd::select(plain, Real(0.0), mean), simd::select(plain, tau, sd)};
    };
  }

  template <class T, class Random>
  requires Serves<Random, BasicNewtonLine> BasicStepInfo<Real> step(BasicState<Real>& state, T& target,
                                                                    const BasicMetric<Real>& metric,
                                                                    const Random& random,
                                                                    BasicWorkspace<Real>& w)
  const { return line_step(*this, state, target, metric, random, w); }
};
using NewtonLine = BasicNewtonLine<double>;

}  // namespace onward
