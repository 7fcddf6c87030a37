#pragma once
// What rules are written with: constants of any number type, choices lane by lane, products and differences
// that keep their limits.

#include <concepts>
#include <limits>

#include "onward/ad/chain.hpp"
#include "onward/simd/elementary.hpp"
#include "onward/simd/special.hpp"

namespace onward::ad {

/// A number as a T (fills the lanes of a batch).
template <class T>
constexpr T num(double c) {
  return constant<T>(c);
}

template <class T>
constexpr T infinity() {
  return T(std::numeric_limits<simd::scalar_t<T>>::infinity());
}

template <class T>
constexpr T neg_infinity() {
  return T(-std::numeric_limits<simd::scalar_t<T>>::infinity());
}

/// f() where the mask holds and g() elsewhere; neither is computed if no lane asks for it.
template <class Mask, class F, class G>
constexpr auto either(const Mask& mask, const F& f, const G& g) {
  if (simd::all(mask)) return f();
  if (!simd::any(mask)) return g();
  return simd::select(mask, f(), g());
}

/// x * y, but 0 where x is 0 and y infinite: for products whose first factor wins the race to the limit.
template <class T>
constexpr T vanish(const T& x, const T& y) {
  return simd::select(x == T(0), x, T(x * y));
}

/// 1 - exp(-y) for y >= 0 with e = exp(-y) at hand; the series takes over where the difference would cancel.
template <class T>
constexpr T one_minus_exp(const T& y, const T& e) {
  const T series = y * (T(1) - y * num<T>(0.5) * (T(1) - y * num<T>(1.0 / 3) * (T(1) - y * num<T>(0.25))));
  return simd::select(y < num<T>(1.0 / 1024), series, T(T(1) - e));
}

/// exp, log and log1p of a single number as calls that the compiler knows to be free of side effects: it
/// moves them out of a loop that does not change their argument (exp(w) or log(sigma) in a sum over data),
/// which it cannot do with their inlined bodies. Batches stay inline.
namespace hoistable {

template <class F, std::floating_point T>
[[gnu::const, gnu::noinline]] T call(T x) {
  return F::of(x);
}
template <class F, class T>
T maybe_call(const T& x) {
  if constexpr (simd::is_batch_v<T>)
    return F::of(x);
  else
    return call<F, T>(x);
}

// clang-format off
struct Exp { static auto of(const auto& x) { return simd::exp(x); } };
struct Log { static auto of(const auto& x) { return simd::log(x); } };
struct Log1p { static auto of(const auto& x) { return simd::log1p(x); } };
template <class T> T exp(const T& x) { return maybe_call<Exp>(x); }
template <class T> T log(const T& x) { return maybe_call<Log>(x); }
template <class T> T log1p(const T& x) { return maybe_call<Log1p>(x); }
// clang-format on

}  // namespace hoistable

}  // namespace onward::ad
