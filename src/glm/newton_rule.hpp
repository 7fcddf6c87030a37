#pragma once
// Newton's proposal along one line, in the form that the samplers of regressions use: a normal about where
// the quadratic that fits on the spot has its top.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "onward/target/jet.hpp"

namespace onward::glm {

/// How a jet becomes a proposal; the same rule both ways, whichever it is.
struct Rule {
  double relaxation;  ///< c
  double floor;       ///< kappa
  double longest;     ///< widths that the mean of a proposal may be away
};

/// For places far from the mode. The plain rule jumps from there straight to the mode, which the way back
/// hardly ever does, so that its proposals are all rejected; steps of a few widths are taken back often
/// enough.
inline constexpr Rule careful_rule{1.0, 0.02, 2.5};
/// One sweep in so many goes by the careful rule, so that no chain stays where the other cannot move it.
inline constexpr std::uint64_t careful_every = 10;

/// The newton-line proposal from a jet: N(mean, sd^2).
struct Proposal {
  double mean, sd;
};

inline Proposal propose(const Jet& jet, const Rule& rule, bool& floored) {
  const double curvature = std::abs(jet.curvature), least = rule.floor * jet.slope * jet.slope;
  floored = curvature < least;
  double h = std::max(curvature, least);
  if (h == 0) h = 1, floored = true;
  const double width = 1 / std::sqrt(h);
  return {rule.relaxation * std::clamp(jet.slope / h, -rule.longest * width, rule.longest * width),
          std::sqrt(rule.relaxation * (2 - rule.relaxation)) * width};
}

inline double log_normal(double x, const Proposal& p) {
  const double z = (x - p.mean) / p.sd;
  return -0.5 * z * z - std::log(p.sd);
}

/// Of the logarithm of a scale, whose conditional is skewed and may be narrow beside where a chain begins.
/// Farther from the top than `far` widths, where the density falls like e^(-s x), the step is Langevin's for
/// such a slope: there Newton's would hardly ever be taken back, and so hardly ever be accepted.
inline Proposal propose_scale(const Jet& jet) {
  constexpr double far = 2.5;
  const double h = std::abs(jet.curvature), slope = std::abs(jet.slope);
  if (slope * slope <= far * far * h && h > 0) return {jet.slope / h, 1 / std::sqrt(h)};
  if (slope == 0) return {0, 1};
  const double width = 2 / slope;
  return {0.5 * jet.slope * width * width, width};
}

/// Updates of each of a family's numbers in a sweep: they are cheap where there is one.
inline std::size_t number_moves(std::size_t numbers) { return numbers == 1 ? 3 : 2; }

inline Jet sum_of(const Jet& a, const Jet& b) {
  return {a.value + b.value, a.slope + b.slope, a.curvature + b.curvature};
}

/// One update of a number x whose log density has the jet jet_at(x), `here` being that of the present place.
/// A move in ten is a plain one of random width, the same both ways: tails of a log scale are nearly flat.
/// `noise` is normal, `choice` and `test` are uniform. Returns whether it moved.
template <class JetAt>
bool move_number(double& x, Jet& here, const JetAt& jet_at, double noise, double choice, double test) {
  Proposal forward = propose_scale(here);
  const bool plain = choice < 0.1;
  constexpr double narrowest = 0.003, log_range = 69;  // a tenth of which is the log of the widest over it
  if (plain) forward = {0, narrowest * std::exp(log_range * choice)};
  const double alpha = forward.mean + forward.sd * noise;
  const Jet there = jet_at(x + alpha);
  const Proposal back = plain ? forward : propose_scale(there);
  const double log_ratio = there.value - here.value + log_normal(-alpha, back) - log_normal(alpha, forward);
  if (!std::isfinite(log_ratio) || !(std::log(test) < log_ratio)) return false;
  x += alpha;
  here = there;
  return true;
}

}  // namespace onward::glm
