#pragma once
// What line kernels share. Along θ + αv each of them proposes α from a normal whose mean and width it takes
// from the jet at the place; the way back is proposed by the same rule from the jet at θ*. They differ in
// that rule alone. The line is the same both ways, so any direction that ignores the state is exact.

#include <optional>

#include "onward/sampler/description.hpp"
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

/// Whether jets along two lines at once can be had: of one chain, on a target that may offer them.
template <class Real, class T>
constexpr bool can_pair = !simd::is_batch_v<Real> && requires(const T& target) {
  target.has_jet_pair();
};

/// With a kept tangent and a target that offers jet pairs, the jet at θ* is taken along this line and the
/// next one in one pass: after an acceptance the next step begins with its first jet known. That saves a jet
/// as often as moves are accepted, so it is done while that is worth what a pair costs more than a jet. The
/// draws are the same, bit for bit.
template <class K, class Real, class T>
bool pairs_pay([[maybe_unused]] const K& kernel, [[maybe_unused]] const BasicState<Real>& state,
               [[maybe_unused]] const T& target) {
  if constexpr (can_pair<Real, T>) {
    const double price = target.jet_pair_price(K::order);
    return kernel.tangent == Tangent::kept && kernel.vectors == Vectors::held && price < 2 &&
           price - 1 <= state.lately_accepted;
  }
  return false;
}

/// The line step's direction, ignoring the state: read from the stream wherever it is needed, known since the
/// last step, or drawn.
template <class K, class Real, class Random>
BasicDirection<Real> line_direction(const K& kernel, BasicState<Real>& state, const BasicMetric<Real>& metric,
                                    const Random& random, BasicWorkspace<Real>& w,
                                    [[maybe_unused]] std::optional<UnitVector>& unit) {
  if constexpr (can_regenerate<Real, Random>)
    if (kernel.vectors == Vectors::regenerated) {
      unit.emplace(random.sphere_stream(), random.number(), Purpose::direction, w.size);
      return {*unit, w.size};
    }
  if (kernel.tangent == Tangent::fresh || state.tangent.empty())
    return push_drawn<Real>([&](auto& v) { return random.direction(v); }, metric, w, w.direction, w.pushed);
  std::swap(w.pushed, state.tangent);
  std::swap(w.next, state.tangent);  // whose memory the direction after this one may take
  return {w.pushed, state.support};
}

/// The jet at θ* and, if it is to come in one pass with it, the first one of the next step.
template <class K, class Line, class Real, class Random>
BasicJet<Real> jet_there(Line& line, Real alpha, [[maybe_unused]] bool pair,
                         [[maybe_unused]] BasicState<Real>& state,
                         [[maybe_unused]] const BasicMetric<Real>& metric,
                         [[maybe_unused]] const Random& random, [[maybe_unused]] BasicWorkspace<Real>& w) {
  if constexpr (requires(const Direction& next) { line.jet_pair(alpha, next, K::order); })
    if (pair) {
      const Direction next =
          push_drawn<Real>([&](auto& v) { return random.next_direction(v); }, metric, w, w.direction, w.next);
      const JetPair both = line.jet_pair(alpha, next, K::order);
      state.support = next.support();
      state.jet = both.second;
      return both.first;
    }
  return line.jet(alpha, K::order);
}

/// One step of a line kernel: `inner` moves along one line.
///
/// K has `order`, the order of its jets; `inner`; `tangent`; `vectors`; and `rule(random, move, D)`, which
/// gives a function from a jet to the LineProposal of that move, the same for both ends.
template <class K, class Real, class T, class Random>
BasicStepInfo<Real> line_step(const K& kernel, BasicState<Real>& state, T& target,
                              const BasicMetric<Real>& metric, const Random& random,
                              BasicWorkspace<Real>& w) {
  BasicStepInfo<Real> info;
  const bool pairs = pairs_pay(kernel, state, target);
  const bool known = kernel.tangent == Tangent::kept && !state.tangent.empty() && state.jet_known;

  // v, ignoring the state, and the jet along it
  std::optional<UnitVector> unit;
  const BasicDirection<Real> v = line_direction(kernel, state, metric, random, w, unit);
  auto line = target.line(state.position, v);
  BasicJet<Real> here = known ? state.jet : line.here(K::order);
  state.jet_known = false;
  state.tangent.clear();

  Real acceptance(0.0);
  for (std::size_t move = 0; move < kernel.inner; ++move) {
    // propose θ* = θ + α v
    const auto rule = kernel.rule(random, move, state.position.size());
    const LineProposal<Real> forward = rule(here, info.floored);
    const Real z = random.noise(move);
    const Real alpha = forward.mean + forward.sd * z;

    // the jet there, and the proposal that would bring θ* back to θ
    const bool last = move + 1 == kernel.inner;
    const auto there = jet_there<K>(line, alpha, pairs && last, state, metric, random, w);
    const LineProposal<Real> back = rule(there, info.floored);

    const Real log_ratio = line_log_ratio(here, forward, z, alpha, there, back);
    decide(state, there.value, log_ratio, random, info, move);
    line.commit(alpha, info.accepted);
    info.moved = simd::select(info.accepted, alpha, Real(0.0));
    here = select(info.accepted, there, here);
    acceptance += info.acceptance;
  }
  info.acceptance = acceptance / Real(static_cast<double>(kernel.inner));

  if constexpr (can_pair<Real, T>) {
    if (pairs) {
      std::swap(state.tangent, w.next);
      state.jet_known = info.accepted;
    }
    constexpr std::uint64_t lately = 20;
    state.lately_steps = std::min(state.lately_steps + 1, lately);
    state.lately_accepted +=
        (info.acceptance - state.lately_accepted) / static_cast<double>(state.lately_steps);
  }
  return info;
}

}  // namespace onward
