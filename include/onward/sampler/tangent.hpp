#pragma once
// What FMALA and PC-FMALA share: drift along one random direction v, noise in all of them,
//   θ* = θ + drift(θ, v) v + sd(θ, v) z.
// The way back is proposed by the same rule from a direction v* of its own at θ*: exact because (θ, v) → (θ*,
// v*) is a move on the extended space p(θ)·U(v). As published, v is drawn anew at every step, a Gibbs update:
// two jets a step. Without that update the chain on the extended space is as exact, and the jet at its end is
// known: one jet a step (docs/decisions/one-jet.md). The kernels differ in the rule alone.

#include "onward/sampler/kernel.hpp"
#include "onward/sampler/regenerated.hpp"

namespace onward {

/// A proposal θ + drift v + sd z. `normaliser` is D log sd, or 0 where every place has the same sd.
template <class Real>
struct TangentProposal {
  Real drift, sd, normaliser;
};

/// Steps after which a kept tangent is drawn anew, whatever the state. Along some directions a jet may fail
/// at a place whose density is fine; moves into such a pair of place and tangent are rejected, so that
/// without this none would ever be entered or left, and their places would get too little of the draws.
constexpr std::uint64_t tangent_life = 64;

template <Tangent tangent, class Real, class Random>
bool knows_tangent([[maybe_unused]] const BasicState<Real>& state, [[maybe_unused]] const Random& random) {
  if constexpr (tangent == Tangent::kept)
    return state.jet_known && random.number() % tangent_life != 0;
  else
    return false;
}

/// out = drift v + sd z
template <class Real>
void tangent_move(const TangentProposal<Real>& p, std::span<const Real> v, std::span<const Real> z,
                  std::span<Real> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = p.drift * v[i] + p.sd * z[i];
}

/// The noise that would undo the move, by the proposal at its end.
template <class Real>
void reverse_noise(const TangentProposal<Real>& back, std::span<const Real> move, std::span<const Real> v,
                   std::span<Real> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (move[i] + back.drift * v[i]) / back.sd;
}

template <class Real>
Real log_density_of_noise(const TangentProposal<Real>& p, Real sum_of_squares) {
  return Real(-0.5) * sum_of_squares - p.normaliser;
}

/// A tangent step without vectors but the position: v, v* and z are read from the stream wherever they are
/// needed. The draws are those of tangent_step(), bit for bit.
template <Tangent tangent, class K, class T, class Random>
StepInfo regenerated_tangent_step(const K& kernel, State& state, T& target, const Random& random) {
  StepInfo info;
  const Stream& stream = random.sphere_stream();
  const std::size_t dimension = state.position.size();
  const std::uint64_t step = random.number();
  const bool known = knows_tangent<tangent>(state, random);
  if (!known) state.tangent_name = {step, Purpose::direction};
  const UnitVector v(stream, state.tangent_name.step, state.tangent_name.purpose, dimension);
  if (!known) state.jet = target.jet_from(HeldVector(state.position), &v, K::order);
  state.jet_known = true;

  const auto rule = kernel.rule(dimension);
  const TangentProposal<double> forward = rule(state.jet, info.floored);
  const auto read_move = [&](std::size_t first, std::span<double> noise, std::span<double> out) {
    stream.normals(step, Purpose::noise, first, noise);
    tangent_move<double>(forward, v.read(first, out), noise, out);
  };
  const ComputedVector proposal([&](std::size_t first, std::span<double> out) {
    Stretch noise;
    read_move(first, std::span(noise).first(out.size()), out);
    add<double>(VectorView(state.position).subspan(first, out.size()), 1.0, out, out);
  });

  const UnitVector v_there(stream, step, Purpose::reverse_direction, dimension);
  const Jet there = target.jet_from(proposal, &v_there, K::order);
  const TangentProposal<double> back = rule(there, info.floored);
  simd::SumOfSquares noise_squares, reverse_squares;
  for_stretches(dimension, [&](std::size_t first, std::size_t count) {
    Stretch noises, moves, directions;
    const auto noise = std::span(noises).first(count), move = std::span(moves).first(count);
    const auto direction = std::span(directions).first(count);
    read_move(first, noise, move);
    v_there.read(first, direction);
    noise_squares.add(noise);
    reverse_noise<double>(back, move, direction, move);
    reverse_squares.add(move);
  });
  const double log_forward = log_density_of_noise(forward, noise_squares.sum());
  const double log_reverse = log_density_of_noise(back, reverse_squares.sum());
  decide(state, there.value, there.value + log_reverse - (state.jet.value + log_forward), random, info);
  if (info.accepted) {
    proposal.write_to(state.position);
    state.tangent_name = {step, Purpose::reverse_direction};
    state.jet = there;
  }
  return info;
}

/// One step. K has `order`, the order of its jets; `vectors`; and `rule(D)`, which gives a function from a
/// jet to the TangentProposal, the same for both ends.
template <Tangent tangent, class K, class Real, class T, class Random>
BasicStepInfo<Real> tangent_step(const K& kernel, BasicState<Real>& state, T& target,
                                 const BasicMetric<Real>& metric, const Random& random,
                                 BasicWorkspace<Real>& w) {
  if constexpr (can_regenerate<Real, T, Random>)
    if (kernel.vectors == Vectors::regenerated)
      return regenerated_tangent_step<tangent>(kernel, state, target, random);
  BasicStepInfo<Real> info;

  // v ~ Uniform(S) and the jet along it, unless they are known
  if (!knows_tangent<tangent>(state, random)) {
    w.use(state.tangent, w.pushed);
    random.direction(state.tangent);
    metric.push(state.tangent, w.pushed);
    state.jet = target.jet(state.position, w.pushed, K::order);
    state.jet_known = true;
  }
  const auto here = state.jet;

  // propose θ*
  const auto rule = kernel.rule(state.position.size());
  const TangentProposal<Real> forward = rule(here, info.floored);
  w.use(w.noise, w.move, w.pushed, w.proposal, w.direction, w.reverse);
  random.noise(w.noise);
  tangent_move<Real>(forward, state.tangent, w.noise, w.move);
  metric.push(w.move, w.pushed);
  add<Real>(state.position, Real(1), w.pushed, w.proposal);

  // v* ~ Uniform(S), the jet at θ* along it, and the noise that would bring θ* back to θ
  random.reverse_direction(w.direction);
  metric.push(w.direction, w.pushed);
  const auto there = target.jet(w.proposal, w.pushed, K::order);
  const TangentProposal<Real> back = rule(there, info.floored);
  reverse_noise<Real>(back, w.move, w.direction, w.reverse);

  const Real log_forward = log_density_of_noise(forward, simd::sum_of_squares<Real>(w.noise));
  const Real log_reverse = log_density_of_noise(back, simd::sum_of_squares<Real>(w.reverse));
  metropolis(state, w, there.value, there.value + log_reverse - (here.value + log_forward), random, info);

  // where it was accepted, the tangent is v* and the jet is that at θ*
  for (std::size_t i = 0; i < state.tangent.size(); ++i)
    state.tangent[i] = simd::select(info.accepted, w.direction[i], state.tangent[i]);
  state.jet = {simd::select(info.accepted, there.value, here.value),
               simd::select(info.accepted, there.slope, here.slope),
               simd::select(info.accepted, there.curvature, here.curvature)};
  return info;
}

}  // namespace onward
