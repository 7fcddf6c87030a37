#pragma once
// What all kernels share: the state they move, what they report of a step, where their random numbers come
// from, and the Metropolis decision. A kernel is a record of settings with one function `step`; it holds
// nothing else, so it can be tested, replayed and checkpointed alone. Real is double, or a SIMD batch whose
// lanes are chains.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "onward/direction/law.hpp"
#include "onward/direction/metric.hpp"
#include "onward/random/stream.hpp"
#include "onward/sampler/trajectory.hpp"
#include "onward/simd/batch.hpp"
#include "onward/simd/elementary.hpp"
#include "onward/simd/reduce.hpp"
#include "onward/target/direction.hpp"
#include "onward/target/jet.hpp"
#include "onward/util/archive.hpp"

namespace onward {

/// Where a chain is, and what is known there. MALA keeps the gradient from step to step; FMALA and PC-FMALA
/// keep a tangent and the jet along it; line kernels keep the direction of the next step and, if it came with
/// the last jet, the jet along it. All but the position can be forgotten and is then computed again.
template <class Real>
struct BasicState {
  std::vector<Real> position;
  Real value{};
  std::vector<Real> gradient;
  std::vector<Real> tangent;  ///< empty: none kept
  Support support;            ///< of a line kernel's tangent
  /// Which one it is, if it is not held but read from the stream (Vectors::regenerated).
  struct TangentName {
    std::uint64_t step = 0;
    Purpose purpose = Purpose::direction;
  } tangent_name;
  BasicJet<Real> jet{};
  bool jet_known = false;  ///< jet is that of position along tangent
  /// Line kernels: the mean acceptance of the last steps, up to twenty or so, and how many these are.
  double lately_accepted = 0;
  std::uint64_t lately_steps = 0;

  /// To be called when the metric or the kernel changes: tangents are in their units.
  void forget() {
    gradient.clear();
    tangent.clear();
    jet_known = false;
    lately_accepted = 0;
    lately_steps = 0;
  }
};
using State = BasicState<double>;
void transfer(Archive& archive, State& state);

/// What happened in one step.
template <class Real>
struct BasicStepInfo {
  using Mask = simd::mask_t<Real>;
  Real acceptance{};            ///< the probability with which the proposal was to be accepted
  Mask accepted = Mask(false);  ///< whether it was
  Mask floored = Mask(false);   ///< whether the curvature was raised to its floor (preconditioned kernels)
  Real moved{};                 ///< line kernels: how far along the line the last move went; 0: rejected
};
using StepInfo = BasicStepInfo<double>;

/// The random numbers of one step: a view of the chain's stream at that step. Directions are independent and
/// uniform on the sphere; SourcedRandom has other ones.
template <class Real>
class BasicStepRandom {
 public:
  using StreamType = std::conditional_t<simd::is_batch_v<Real>, StreamBatch, Stream>;
  BasicStepRandom(const StreamType& stream, std::uint64_t step) : stream_(&stream), step_(step) {}

  std::uint64_t number() const { return step_; }  ///< of the step
  void noise(std::span<Real> z) const { stream_->normals(step_, Purpose::noise, z); }
  Real noise(std::uint64_t index = 0) const { return stream_->normal(step_, Purpose::noise, index); }
  Support direction(std::span<Real> v) const { return direction(v, step_); }
  Support next_direction(std::span<Real> v) const { return direction(v, step_ + 1); }
  void reverse_direction(std::span<Real> v) const {
    stream_->direction(step_, Purpose::reverse_direction, v);
  }
  /// The stream that directions can be read from again.
  const StreamType& sphere_stream() const { return *stream_; }
  Real uniform(std::uint64_t index = 0) const { return stream_->uniform(step_, Purpose::accept, index); }
  /// For choices between kinds of moves.
  Real choice(std::uint64_t index = 0) const { return stream_->uniform(step_, Purpose::shuffle, index); }

 private:
  Support direction(std::span<Real> v, std::uint64_t step) const {
    stream_->direction(step, Purpose::direction, v);
    return {0, v.size()};
  }
  const StreamType* stream_;
  std::uint64_t step_;
};
using StepRandom = BasicStepRandom<double>;

/// Vectors a step needs besides the state, kept from step to step so that nothing is allocated. A kernel says
/// at the beginning of a step which ones: those of a network are large.
template <class Real>
struct BasicWorkspace {
  explicit BasicWorkspace(std::size_t dimension) : size(dimension) {}
  template <class... Vectors>
  void use(Vectors&... vectors) const {
    (vectors.resize(size), ...);
  }
  std::size_t size;
  std::vector<Real> noise, direction, reverse, move, pushed, next, proposal, gradient;
  TrajectoryScratch trajectory;  ///< of kernels that follow trajectories, and
  TrajectoryInfo followed;       ///< what the last one did
  /// Ends a trajectory that is being followed: it throws Stopped, and no step was made.
  const std::atomic<bool>* stop = nullptr;
};
using Workspace = BasicWorkspace<double>;

/// What becomes of the tangent v* at which a proposal was judged.
enum class Tangent {
  kept,  ///< with its jet it is the next step's v after an acceptance: half the evaluations, as exact
  fresh  ///< as published: every step draws v and evaluates anew
};

/// The paper's appendix B.1: the unit direction v carries 1/D of the gradient; scaling it by √D removes that
/// bias.
enum class BiasCorrection {
  none,     ///< as in the algorithm boxes
  coupled,  ///< drift and noise both with η√D (what the paper's experiments with networks and regressions
            ///< use)
  drift     ///< the drift alone: η²D/2, noise η
};

/// h: what the preconditioned kernels scale by. |curvature|, but at least κ·slope², since where the density
/// is nearly linear along v the curvature says nothing of its width. A function of the place and v alone, the
/// same forward and reverse, so the Metropolis ratio stays exact. Where the density is flat along v both are
/// 0 and h is 1, a plain step of η: without it no chain would enter such a region or leave it, and nothing
/// would tell. κ = 0 is the paper's kernel.
template <class Real>
Real curvature_scale(const BasicJet<Real>& jet, double floor, simd::mask_t<Real>& floored) {
  const Real curvature = simd::abs(jet.curvature);
  const Real least = Real(floor) * jet.slope * jet.slope;
  const Real h = simd::max(curvature, least);
  if (floor == 0) return h;
  const auto flat = h == Real(0);
  floored = floored | (curvature < least) | flat;
  return simd::select(flat, Real(1), h);
}

/// position + Σ moves, the proposal.
template <class Real>
void add(std::span<const Real> position, Real factor, std::span<const Real> direction, std::span<Real> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = position[i] + factor * direction[i];
}

/// Move number `move` of a step: accept with probability min(1, exp(log_ratio)); a ratio that is not a number
/// is a rejection. So is an infinite one: it means that the jet at the present place failed, and since moves
/// to such a place are rejected, moves away from it must be too. The state gets the value; who calls moves
/// the position.
template <class Real, class Random>
void decide(BasicState<Real>& state, Real proposed_value, Real log_ratio, const Random& random,
            BasicStepInfo<Real>& info, std::uint64_t move = 0) {
  const auto possible = simd::is_finite(proposed_value) & (log_ratio < Real(INFINITY));
  const Real ratio = simd::select(possible, simd::min(log_ratio, Real(0)), Real(-INFINITY));
  info.acceptance = simd::exp(ratio);
  info.accepted = simd::log(random.uniform(move)) < ratio;
  state.value = simd::select(info.accepted, proposed_value, state.value);
}

/// Where it was accepted, the position is w.proposal.
template <class Real>
void move_position(BasicState<Real>& state, BasicWorkspace<Real>& w, const simd::mask_t<Real>& accepted) {
  if constexpr (simd::is_batch_v<Real>) {
    for (std::size_t i = 0; i < state.position.size(); ++i)
      state.position[i] = simd::select(accepted, w.proposal[i], state.position[i]);
  } else {
    if (accepted) std::swap(state.position, w.proposal);
  }
}

/// The decision and the move.
template <class Real, class Random>
void metropolis(BasicState<Real>& state, BasicWorkspace<Real>& w, Real proposed_value, Real log_ratio,
                const Random& random, BasicStepInfo<Real>& info, std::uint64_t move = 0) {
  decide(state, proposed_value, log_ratio, random, info, move);
  move_position(state, w, info.accepted);
}

/// What is known where a move was accepted, and where it was not.
template <class Real>
BasicJet<Real> select(const simd::mask_t<Real>& accepted, const BasicJet<Real>& there,
                      const BasicJet<Real>& here) {
  return {simd::select(accepted, there.value, here.value), simd::select(accepted, there.slope, here.slope),
          simd::select(accepted, there.curvature, here.curvature)};
}

/// What `draw` gives, pushed through the metric to `out`; `units` is for what it is in the metric's units. If
/// those are the parameters' own, it need not be there twice.
template <class Real, class Draw>
BasicDirection<Real> push_drawn(const Draw& draw, const BasicMetric<Real>& metric,
                                const BasicWorkspace<Real>& w, std::vector<Real>& units,
                                std::vector<Real>& out) {
  w.use(out);
  if (metric.kind() == MetricKind::none) {
    const Support support = draw(out);
    return {out, support};
  }
  w.use(units);
  const Support support = draw(units);
  metric.push(units, out);
  return {out, metric.mixes() ? Support{} : support};
}

}  // namespace onward
