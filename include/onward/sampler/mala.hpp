#pragma once
// MALA: θ* = θ + η²/2 ∇f + η z, the backpropagation baseline. The gradient at an accepted place is kept, so
// that a step costs one gradient; as published it is computed anew at both ends.

#include "onward/sampler/description.hpp"

namespace onward {

template <class Real>
struct BasicMala {
  static constexpr KernelFacts facts{
      .name = "mala",
      .summary =
          "Langevin with full gradients: one gradient a step; by forward mode in few dimensions, else "
          "reverse",
      .needs_gradient = true,
      .target_acceptance = 0.65,
      .held_vectors = 9};
  static auto options() {
    return std::tuple{
        described(&BasicMala::as_published,
                  {.name = "as_published", .help = "two gradients a step, as in the paper: the same draws"})};
  }
  static constexpr DirectionLaw needs = DirectionLaw::none;
  static constexpr Order order = Order::slope;

  Real step_size{1};
  bool as_published = false;  ///< two gradients a step: the same draws at twice the price

  template <class T, class Random>
  BasicStepInfo<Real> step(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric,
                           const Random& random, BasicWorkspace<Real>& w) const {
    BasicStepInfo<Real> info;
    const std::size_t dimension = state.position.size();
    if (as_published || state.gradient.size() != dimension) {
      state.gradient.resize(dimension);
      state.value = target.gradient(state.position, state.gradient);
    }
    const Real drift = step_size * step_size / Real(2);

    // propose θ* = θ + η²/2 ∇f(θ) + η z, in the metric's units
    w.use(w.noise, w.direction, w.move, w.pushed, w.proposal, w.gradient, w.reverse);
    random.noise(w.noise);
    metric.pull(state.gradient, w.direction);
    for (std::size_t i = 0; i < dimension; ++i) w.move[i] = drift * w.direction[i] + step_size * w.noise[i];
    metric.push(w.move, w.pushed);
    add<Real>(state.position, Real(1), w.pushed, w.proposal);

    // the noise that would bring θ* back to θ
    const Real proposed = target.gradient(w.proposal, w.gradient);
    metric.pull(w.gradient, w.reverse);
    for (std::size_t i = 0; i < dimension; ++i) w.reverse[i] = (w.move[i] + drift * w.reverse[i]) / step_size;

    const Real log_forward = Real(-0.5) * simd::sum_of_squares<Real>(w.noise);
    const Real log_reverse = Real(-0.5) * simd::sum_of_squares<Real>(w.reverse);
    metropolis(state, w, proposed, proposed + log_reverse - (state.value + log_forward), random, info);
    for (std::size_t i = 0; i < dimension; ++i)
      state.gradient[i] = simd::select(info.accepted, w.gradient[i], state.gradient[i]);
    return info;
  }
};
using Mala = BasicMala<double>;

}  // namespace onward
