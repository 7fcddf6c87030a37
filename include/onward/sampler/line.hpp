#pragma once
// What line kernels share. Along θ + αv each of them proposes α from a normal whose mean and width it takes
// from the jet at the place; the way back is proposed by the same rule from the jet at θ*. They differ in
// that rule alone. The line is the same both ways, so any direction that ignores the state is exact.

#include "onward/sampler/kernel.hpp"
#include "onward/sampler/regenerated.hpp"

namespace onward {

/// A proposal along the line: α ~ N(mean, sd²).
template <class Real>
struct LineProposal {
  Real mean, sd;
};

/// log of the Metropolis ratio of a move by alpha = forward.mean + forward.sd z.
template <class Real>
Real line_log_ratio(const BasicJet<Real>& here, const LineProposal<Real>& forward, Real z, Real alpha,
                    const BasicJet<Real>& there, const LineProposal<Real>& back) {
  const Real z_back = (alpha + back.mean) / back.sd;  // the noise that would bring θ* back to θ
  const Real log_forward = Real(-0.5) * z * z - simd::log(forward.sd);
  const Real log_reverse = Real(-0.5) * z_back * z_back - simd::log(back.sd);
  return there.value + log_reverse - (here.value + log_forward);
}

/// A line step without vectors but the position: v is read from the stream wherever it is needed. The draws
/// are those of line_step(), bit for bit.
template <class K, class T, class Random>
StepInfo regenerated_line_step(const K& kernel, State& state, T& target, const Random& random) {
  StepInfo info;
  const std::size_t dimension = state.position.size();
  const UnitVector v(random.sphere_stream(), random.number(), Purpose::direction, dimension);
  Jet here = target.jet_from(HeldVector(state.position), &v, K::order);
  double acceptance = 0;
  for (std::size_t move = 0; move < kernel.inner; ++move) {
    const auto rule = kernel.rule(random, move, dimension);
    const LineProposal<double> forward = rule(here, info.floored);
    const double z = random.noise(move), alpha = forward.mean + forward.sd * z;
    const ComputedVector proposal([&](std::size_t first, std::span<double> out) {
      v.read(first, out);
      add<double>(VectorView(state.position).subspan(first, out.size()), alpha, out, out);
    });
    const Jet there = target.jet_from(proposal, &v, K::order);
    const LineProposal<double> back = rule(there, info.floored);
    decide(state, there.value, line_log_ratio(here, forward, z, alpha, there, back), random, info, move);
    acceptance += info.acceptance;
    if (!info.accepted) continue;
    proposal.write_to(state.position);
    here = there;
  }
  info.acceptance = acceptance / static_cast<double>(kernel.inner);
  return info;
}

/// One step of a line kernel: `inner` moves along one line.
///
/// K has `order`, the order of its jets; `inner`; `tangent`; `vectors`; and `rule(random, move, D)`, which
/// gives a function from a jet to the LineProposal of that move, the same for both ends.
///
/// With a kept tangent and a target that offers jet pairs, the jet at θ* is taken along this line and the
/// next one in one pass: after an acceptance the next step begins with its first jet known. That saves a jet
/// as often as moves are accepted, so it is done while that is worth what a pair costs more than a jet. The
/// draws are the same, bit for bit.
template <class K, class Real, class T, class Random>
BasicStepInfo<Real> line_step(const K& kernel, BasicState<Real>& state, T& target,
                              const BasicMetric<Real>& metric, const Random& random,
                              BasicWorkspace<Real>& w) {
  if constexpr (can_regenerate<Real, T, Random>)
    if (kernel.vectors == Vectors::regenerated) return regenerated_line_step(kernel, state, target, random);
  BasicStepInfo<Real> info;
  constexpr bool can_pair = !simd::is_batch_v<Real> && requires { target.has_jet_pair(); };
  bool pairs = false, drawn = false;
  if constexpr (can_pair) {
    const double price = target.jet_pair_price(K::order);
    pairs = kernel.tangent == Tangent::kept && price < 2 && price - 1 <= state.lately_accepted;
    drawn = kernel.tangent == Tangent::kept && !state.tangent.empty();
  }

  // v, ignoring the state
  if (drawn) {
    std::swap(w.pushed, state.tangent);
    std::swap(w.next, state.tangent);  // whose memory the direction after this one may take
  } else {
    push_drawn<Real>([&](auto& v) { random.direction(v); }, metric, w, w.direction, w.pushed);
  }
  w.use(w.proposal);
  auto here = drawn && state.jet_known ? state.jet : target.jet(state.position, w.pushed, K::order);
  state.jet_known = false;
  state.tangent.clear();

  Real acceptance(0.0);
  for (std::size_t move = 0; move < kernel.inner; ++move) {
    // propose θ* = θ + α v
    const auto rule = kernel.rule(random, move, state.position.size());
    const LineProposal<Real> forward = rule(here, info.floored);
    const Real z = random.noise(move);
    const Real alpha = forward.mean + forward.sd * z;
    add<Real>(state.position, alpha, w.pushed, w.proposal);

    BasicJet<Real> there;
    if constexpr (can_pair) {
      if (pairs && move + 1 == kernel.inner) {
        push_drawn<Real>([&](auto& v) { random.next_direction(v); }, metric, w, w.direction, w.next);
        const JetPair both = target.jet_pair(w.proposal, w.pushed, w.next, K::order);
        there = both.first;
        state.jet = both.second;
      } else {
        there = target.jet(w.proposal, w.pushed, K::order);
      }
    } else {
      there = target.jet(w.proposal, w.pushed, K::order);
    }
    const LineProposal<Real> back = rule(there, info.floored);
    metropolis(state, w, there.value, line_log_ratio(here, forward, z, alpha, there, back), random, info,
               move);
    acceptance += info.acceptance;
    here = {simd::select(info.accepted, there.value, here.value),
            simd::select(info.accepted, there.slope, here.slope),
            simd::select(info.accepted, there.curvature, here.curvature)};
  }
  info.acceptance = acceptance / Real(static_cast<double>(kernel.inner));
  if constexpr (can_pair) {
    if (pairs) {
      std::swap(state.tangent, w.next);
      state.jet_known = info.accepted;
    }
    constexpr std::uint64_t lately = 20;
    state.watched = std::min(state.watched + 1, lately);
    state.lately_accepted += (info.acceptance - state.lately_accepted) / static_cast<double>(state.watched);
  }
  return info;
}

}  // namespace onward
