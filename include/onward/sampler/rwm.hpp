#pragma once
// Random-walk Metropolis: θ* = θ + η z. One value a step and no derivative: the baseline to beat.

#include "onward/sampler/kernel.hpp"
#include "onward/sampler/regenerated.hpp"

namespace onward {

template <class Real>
struct BasicRwm {
  static constexpr DirectionLaw needs = DirectionLaw::none;

  Real step_size;
  Vectors vectors = Vectors::held;

  template <class T, class Random>
  BasicStepInfo<Real> step(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric,
                           const Random& random, BasicWorkspace<Real>& w) const {
    BasicStepInfo<Real> info;
    if constexpr (can_regenerate<Real, T, Random>)
      if (vectors == Vectors::regenerated) {
        const ComputedVector proposal([&](std::size_t first, std::span<double> out) {
          random.sphere_stream().normals(random.number(), Purpose::noise, first, out);
          add<double>(VectorView(state.position).subspan(first, out.size()), step_size, out, out);
        });
        const double proposed = target.jet_from(proposal, nullptr, Order::value).value;
        decide(state, proposed, proposed - state.value, random, info);
        if (info.accepted) proposal.write_to(state.position);
        return info;
      }
    // propose θ* = θ + η z
    push_drawn<Real>([&](auto& z) { random.noise(z); }, metric, w, w.noise, w.pushed);
    w.use(w.proposal);
    add<Real>(state.position, step_size, w.pushed, w.proposal);
    const Real proposed = target.jet(w.proposal, {}, Order::value).value;
    // the proposal is symmetric: γ = f(θ*) - f(θ)
    metropolis(state, w, proposed, proposed - state.value, random, info);
    return info;
  }
};
using Rwm = BasicRwm<double>;

}  // namespace onward
