#pragma once
// What FMALA and PC-FMALA share: drift along one random direction v, noise in all of them,
//   θ* = θ + drift(θ, v) v + sd(θ, v) z.
// The way back is proposed by the same rule from a direction v* of its own at θ*: exact because (θ, v) → (θ*,
// v*) is a move on the extended space p(θ)·U(v). As published, v is drawn anew at every step, a Gibbs update:
// two jets a step. Without that update the chain on the extended space is as exact, and the jet at its end is
// known: one jet a step (docs/decisions/one-jet.md). The kernels differ in the rule alone.

#include <optional>

#include "onward/sampler/description.hpp"
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

/// |z|² of the noise that leads forth, and of that which leads back.
template <class Real>
struct NoiseSquares {
  Real forward, reverse;
};

template <class Real>
Real log_density_of_noise(const TangentProposal<Real>& p, Real sum_of_squares) {
  return Real(-0.5) * sum_of_squares - p.normaliser;
}

/// The vectors of a step, in memory: v is the state's tangent, and v*, z and the moves are in the workspace.
template <class Real, class T, class Random>
class HeldTangents {
 public:
  HeldTangents(BasicState<Real>& state, T& target, const BasicMetric<Real>& metric, const Random& random,
               BasicWorkspace<Real>& w)
      : state_(state), target_(target), metric_(metric), random_(random), w_(w) {}

  BasicJet<Real> draw_tangent(Order order) {
    w_.use(state_.tangent, w_.pushed);
    random_.direction(state_.tangent);
    metric_.push(state_.tangent, w_.pushed);
    return target_.jet(state_.position, w_.pushed, order);
  }
  void propose(const TangentProposal<Real>& forward) {
    w_.use(w_.noise, w_.move, w_.pushed, w_.proposal, w_.direction, w_.reverse);
    random_.noise(w_.noise);
    tangent_move<Real>(forward, state_.tangent, w_.noise, w_.move);
    metric_.push(w_.move, w_.pushed);
    add<Real>(state_.position, Real(1), w_.pushed, w_.proposal);
  }
  BasicJet<Real> jet_there(Order order) {
    random_.reverse_direction(w_.direction);
    metric_.push(w_.direction, w_.pushed);
    return target_.jet(w_.proposal, w_.pushed, order);
  }
  NoiseSquares<Real> squares(const TangentProposal<Real>& back) {
    reverse_noise<Real>(back, w_.move, w_.direction, w_.reverse);
    return {simd::sum_of_squares<Real>(w_.noise), simd::sum_of_squares<Real>(w_.reverse)};
  }
  void commit(const simd::mask_t<Real>& accepted) {
    move_position(state_, w_, accepted);
    for (std::size_t i = 0; i < state_.tangent.size(); ++i)
      state_.tangent[i] = simd::select(accepted, w_.direction[i], state_.tangent[i]);
  }

 private:
  BasicState<Real>& state_;
  T& target_;
  const BasicMetric<Real>& metric_;
  const Random& random_;
  BasicWorkspace<Real>& w_;
};

/// The same in no memory but the position's: v, v* and z are read from the stream wherever they are needed.
/// The state has the tangent's name.
template <class T>
class RegeneratedTangents {
 public:
  RegeneratedTangents(State& state, T& target, const Stream& stream, std::uint64_t step)
      : state_(state), target_(target), stream_(stream), step_(step), noise_(stream, step) {}

  Jet draw_tangent(Order order) {
    state_.tangent_name = {step_, Purpose::direction};
    v_.emplace(stream_, step_, Purpose::direction, size());
    return target_.jet_from(HeldVector(state_.position), &*v_, order);
  }
  void propose(const TangentProposal<double>& forward) {
    forward_ = forward;
    if (!v_) v_.emplace(stream_, state_.tangent_name.step, state_.tangent_name.purpose, size());
  }
  Jet jet_there(Order order) {
    v_there_.emplace(stream_, step_, Purpose::reverse_direction, size());
    return target_.jet_from(proposal(), &*v_there_, order);
  }
  NoiseSquares<double> squares(const TangentProposal<double>& back) const {
    simd::SumOfSquares noise_squares, reverse_squares;
    for_stretches(size(), [&](std::size_t first, std::size_t count) {
      Stretch noises, moves, directions;
      const auto noise = std::span(noises).first(count), move = std::span(moves).first(count);
      read_move(first, noise, move);
      noise_squares.add(noise);
      reverse_noise<double>(back, move, v_there_->read(first, std::span(directions).first(count)), move);
      reverse_squares.add(move);
    });
    return {noise_squares.sum(), reverse_squares.sum()};
  }
  void commit(bool accepted) {
    if (!accepted) return;
    proposal().write_to(state_.position);
    state_.tangent_name = {step_, Purpose::reverse_direction};
  }

 private:
  std::size_t size() const { return state_.position.size(); }
  void read_move(std::size_t first, std::span<double> noise, std::span<double> out) const {
    noise_.read(first, noise);
    tangent_move<double>(forward_, v_->read(first, out), noise, out);
  }
  auto proposal() const {
    return ComputedVector([this](std::size_t first, std::span<double> out) {
      Stretch noise;
      read_move(first, std::span(noise).first(out.size()), out);
      add<double>(VectorView(state_.position).subspan(first, out.size()), 1.0, out, out);
    });
  }
  State& state_;
  T& target_;
  const Stream& stream_;
  std::uint64_t step_;
  NoiseVector noise_;
  std::optional<UnitVector> v_, v_there_;
  TangentProposal<double> forward_{};
};

/// One step, whatever its vectors are. K has `order`, the order of its jets, and `rule(D)`, which gives a
/// function from a jet to the TangentProposal, the same for both ends.
template <Tangent tangent, class K, class Real, class Random, class Vectors>
BasicStepInfo<Real> tangent_step_with(const K& kernel, BasicState<Real>& state, const Random& random,
                                      Vectors vectors) {
  BasicStepInfo<Real> info;

  // v ~ Uniform(S) and the jet along it, unless they are known
  if (!knows_tangent<tangent>(state, random)) state.jet = vectors.draw_tangent(K::order);
  state.jet_known = true;
  const auto here = state.jet;

  // propose θ*
  const auto rule = kernel.rule(state.position.size());
  const TangentProposal<Real> forward = rule(here, info.floored);
  vectors.propose(forward);

  // v* ~ Uniform(S), the jet at θ* along it, and the noise that would bring θ* back to θ
  const auto there = vectors.jet_there(K::order);
  const TangentProposal<Real> back = rule(there, info.floored);
  const NoiseSquares<Real> squares = vectors.squares(back);

  const Real log_forward = log_density_of_noise(forward, squares.forward);
  const Real log_reverse = log_density_of_noise(back, squares.reverse);
  decide(state, there.value, there.value + log_reverse - (here.value + log_forward), random, info);

  // where it was accepted, the tangent is v* and the jet is that at θ*
  vectors.commit(info.accepted);
  state.jet = select(info.accepted, there, here);
  return info;
}

/// The step without vectors. Out of line: its stretches would make the frame of every step large.
template <Tangent tangent, class K, class T, class Random>
[[gnu::noinline]] StepInfo tangent_step_without(const K& kernel, State& state, T& target,
                                                const Random& random) {
  return tangent_step_with<tangent>(
      kernel, state, random, RegeneratedTangents<T>(state, target, random.sphere_stream(), random.number()));
}

/// The step with the vectors that the kernel asks for; the draws are the same, bit for bit.
template <Tangent tangent, class K, class Real, class T, class Random>
BasicStepInfo<Real> tangent_step(const K& kernel, BasicState<Real>& state, T& target,
                                 const BasicMetric<Real>& metric, const Random& random,
                                 BasicWorkspace<Real>& w) {
  if constexpr (can_regenerate<Real, Random>)
    if (kernel.vectors == Vectors::regenerated)
      return tangent_step_without<tangent>(kernel, state, target, random);
  return tangent_step_with<tangent>(kernel, state, random,
                                    HeldTangents<Real, T, Random>(state, target, metric, random, w));
}

}  // namespace onward
