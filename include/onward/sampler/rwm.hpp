#pragma once
// Random-walk Metropolis: θ* = θ + η z. One value a step and no derivative: the baseline to beat.

#include <optional>

#include "onward/sampler/description.hpp"
#include "onward/sampler/regenerated.hpp"

namespace onward {

template <class Real>
struct BasicRwm {
  static constexpr KernelFacts facts{
      .name = "rwm",
      .summary = "random-walk Metropolis: one value a step, no derivatives; the baseline",
      .piloted = true,
      .target_acceptance = 0.25,
      .held_vectors = 2};
  static auto options() { return std::tuple{}; }
  static constexpr DirectionLaw needs = DirectionLaw::none;
  static constexpr Order order = Order::value;

  Real step_size{1};
  Vectors vectors = Vectors::held;

  template <class T, class Random>
  BasicStepInfo<Real> step(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric,
                           const Random& random, BasicWorkspace<Real>& w) const {
    BasicStepInfo<Real> info;
    // propose θ* = θ + η z: a step of length η along the noise
    std::optional<NoiseVector> source;
    const BasicDirection<Real> z = noise(metric, random, w, source);
    auto line = target.line(state.position, z);
    const Real proposed = line.jet(step_size, Order::value).value;
    // the proposal is symmetric: γ = f(θ*) - f(θ)
    decide(state, proposed, proposed - state.value, random, info);
    line.commit(step_size, info.accepted);
    return info;
  }

 private:
  template <class Random>
  BasicDirection<Real> noise(const BasicMetric<Real>& metric, const Random& random, BasicWorkspace<Real>& w,
                             [[maybe_unused]] std::optional<NoiseVector>& source) const {
    if constexpr (can_regenerate<Real, Random>)
      if (vectors == Vectors::regenerated)
        return {source.emplace(random.sphere_stream(), random.number()), w.size};
    const auto draw = [&](auto& z) { return random.noise(z), Support{0, z.size()}; };
    return push_drawn<Real>(draw, metric, w, w.noise, w.pushed);
  }
};
using Rwm = BasicRwm<double>;

}  // namespace onward
