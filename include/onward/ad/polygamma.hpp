#pragma once
// trigamma and tetragamma: the derivatives of digamma, needed as slope and curvature of lgamma and digamma.

#include <array>
#include <cmath>
#include <cstddef>
#include "onward/ad/concepts.hpp"
#include "onward/simd/elementary.hpp"

namespace onward::ad {

/// ψ′ and ψ″ at one place.
struct Polygamma {
  double trigamma, tetragamma;
};

/// Both derivatives of digamma in one go: reflection for x < 0, the recurrence up to x = 12, then the
/// asymptotic series in 1/x² with Bernoulli numbers (its last term is below 1e-17 there).
inline Polygamma polygamma(double x) {
  constexpr double pi = 3.141592653589793238;
  if (x < 0) {  // ψ′(x) = π²/sin²(πx) - ψ′(1-x); r keeps the distance to the pole exact
    const double r = x - std::round(x);
    const double s = pi / simd::sin(pi * r);
    const Polygamma mirror = polygamma(1 - x);
    return {s * s - mirror.trigamma, -2 * s * s * s * simd::cos(pi * r) + mirror.tetragamma};
  }
  Polygamma sum{0, 0};
  for (; x < 12; x += 1) {
    const double r = 1 / x;
    sum.trigamma += r * r;
    sum.tetragamma -= 2 * r * r * r;
  }
  static constexpr std::array bernoulli{1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                                        5.0 / 66, -691.0 / 2730.0, 7.0 / 6,  -3617.0 / 510};
  const double r = 1 / x, r2 = r * r;
  double one = 0, two = 0;
  for (std::size_t k = bernoulli.size(); k > 0; --k) {
    one = (one + bernoulli[k - 1]) * r2;
    two = (two + static_cast<double>(2 * k + 1) * bernoulli[k - 1]) * r2;
  }
  sum.trigamma += r * (1 + r / 2 + one);
  sum.tetragamma -= r2 * (1 + r + two);
  return sum;
}

/// The same for any plain number, lane by lane: the places are too different to share a branch-free form.
template <class T>
void polygamma(const T& x, T& trigamma, T& tetragamma) {
  if constexpr (std::is_arithmetic_v<T>) {
    const Polygamma p = polygamma(static_cast<double>(x));
    trigamma = static_cast<T>(p.trigamma);
    tetragamma = static_cast<T>(p.tetragamma);
  } else {
    using L = simd::scalar_t<T>;
    alignas(T) std::array<L, T::size> in, one, two;
    x.store_aligned(in.data());
    for (std::size_t i = 0; i < T::size; ++i) polygamma(in[i], one[i], two[i]);
    trigamma = T::load_aligned(one.data());
    tetragamma = T::load_aligned(two.data());
  }
}

}  // namespace onward::ad
