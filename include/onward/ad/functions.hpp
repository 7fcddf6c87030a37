#pragma once
// The functions a model may call on a number that carries derivatives, found by argument-dependent lookup:
// `using std::exp; exp(x)` works for double and for every scalar of this folder. Each takes its rule from the
// table in rules.hpp; the few at the end are compositions, written once for all types.
//
// Names that the standard library lacks (softplus, log_sum_exp, ...) also take plain numbers.

#include <cmath>
#include <initializer_list>
#include <iterator>

#include "onward/ad/dual.hpp"
#include "onward/ad/jet2.hpp"
#include "onward/ad/reverse.hpp"
#include "onward/ad/rules.hpp"
#include "onward/ad/value.hpp"

namespace onward {

// clang-format off
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X sqrt(const X& x) { return ad::chain(ad::rule::Sqrt{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X cbrt(const X& x) { return ad::chain(ad::rule::Cbrt{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X exp(const X& x) { return ad::chain(ad::rule::Exp{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X expm1(const X& x) { return ad::chain(ad::rule::Expm1{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X log(const X& x) { return ad::chain(ad::rule::Log{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X log1p(const X& x) { return ad::chain(ad::rule::Log1p{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X log2(const X& x) { return ad::chain(ad::rule::LogTo<2>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X log10(const X& x) { return ad::chain(ad::rule::LogTo<10>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X sin(const X& x) { return ad::chain(ad::rule::SinOrCos<false>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X cos(const X& x) { return ad::chain(ad::rule::SinOrCos<true>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X tan(const X& x) { return ad::chain(ad::rule::Tan{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X asin(const X& x) { return ad::chain(ad::rule::AsinOrAcos<false>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X acos(const X& x) { return ad::chain(ad::rule::AsinOrAcos<true>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X atan(const X& x) { return ad::chain(ad::rule::Atan{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X sinh(const X& x) { return ad::chain(ad::rule::SinhOrCosh<false>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X cosh(const X& x) { return ad::chain(ad::rule::SinhOrCosh<true>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X tanh(const X& x) { return ad::chain(ad::rule::Tanh{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X asinh(const X& x) { return ad::chain(ad::rule::Asinh{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X acosh(const X& x) { return ad::chain(ad::rule::Acosh{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X atanh(const X& x) { return ad::chain(ad::rule::Atanh{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X erf(const X& x) { return ad::chain(ad::rule::ErfOrErfc<false>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X erfc(const X& x) { return ad::chain(ad::rule::ErfOrErfc<true>{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X lgamma(const X& x) { return ad::chain(ad::rule::Lgamma{}, x); }
/// Slope 0 at the kink.
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X abs(const X& x) { return ad::chain(ad::rule::Abs{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X fabs(const X& x) { return ad::chain(ad::rule::Abs{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X floor(const X& x) { return ad::chain(ad::rule::Floor{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X ceil(const X& x) { return ad::chain(ad::rule::Ceil{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X round(const X& x) { return ad::chain(ad::rule::Round{}, x); }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X trunc(const X& x) { return ad::chain(ad::rule::Trunc{}, x); }

template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X digamma(const X& x) { return ad::chain(ad::rule::Digamma{}, x); }
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X square(const X& x) { return ad::chain(ad::rule::Square{}, x); }
/// 1 / x
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X inv(const X& x) { return ad::chain(ad::rule::Inverse{}, x); }
/// log(x / (1 - x))
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X logit(const X& x) { return ad::chain(ad::rule::Logit{}, x); }
/// 1 / (1 + exp(-x))
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X inv_logit(const X& x) { return ad::chain(ad::rule::InvLogit{}, x); }
/// log(1 + exp(x))
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X softplus(const X& x) { return ad::chain(ad::rule::Softplus{}, x); }
/// Another name for softplus.
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X log1p_exp(const X& x) { return ad::chain(ad::rule::Softplus{}, x); }
/// log(inv_logit(x))
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X log_inv_logit(const X& x) { return ad::chain(ad::rule::LogInvLogit{}, x); }
/// log(1 - x)
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X log1m(const X& x) { return ad::chain(ad::rule::Log1m{}, x); }
/// log(1 - exp(x)) for x <= 0
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X log1m_exp(const X& x) { return ad::chain(ad::rule::Log1mExp{}, x); }
/// Φ(x), the standard normal distribution function.
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X normal_cdf(const X& x) { return ad::chain(ad::rule::NormalCdf{}, x); }
/// log Φ(x), accurate in both tails.
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X normal_lcdf(const X& x) { return ad::chain(ad::rule::NormalLcdf{}, x); }
/// log(1 - Φ(x)), accurate in both tails.
template <AnyNumber X> ONWARD_ALWAYS_INLINE constexpr X normal_lccdf(const X& x) { return normal_lcdf(X(-x)); }

// Two arguments: any mix of moving numbers and constants.
template <AdScalar X> constexpr X atan2(const X& y, const X& x) { return ad::chain(ad::rule::Atan2{}, y, x); }
template <AdScalar X, ConstantFor<X> C> constexpr X atan2(const X& y, const C& x) { return atan2(y, X(x)); }
template <AdScalar X, ConstantFor<X> C> constexpr X atan2(const C& y, const X& x) { return atan2(X(y), x); }

/// Slope 0 at the origin.
template <AdScalar X> constexpr X hypot(const X& a, const X& b) { return ad::chain(ad::rule::Hypot{}, a, b); }
template <AdScalar X, ConstantFor<X> C> constexpr X hypot(const X& a, const C& b) { return hypot(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X hypot(const C& a, const X& b) { return hypot(X(a), b); }
// clang-format on

template <AdScalar X>
constexpr X pow(const X& a, const X& b) {
  return ad::chain(ad::rule::Pow{}, a, b);
}
/// x^p for a number p: small whole powers by multiplication (any sign of x, exact), others for x >= 0.
template <AdScalar X, ConstantFor<X> C>
constexpr X pow(const X& x, const C& p) {
  if constexpr (std::is_arithmetic_v<C>) {
    constexpr int largest = 64;
    const auto q = static_cast<double>(p);
    const int n = q >= -largest && q <= largest ? static_cast<int>(q) : 0;
    if (n == q) return ad::chain(ad::rule::WholePower{n}, x);
  }
  return ad::chain(ad::rule::PowerOf<C>{p}, x);
}
template <AdScalar X, ConstantFor<X> C>
constexpr X pow(const C& c, const X& y) {
  return ad::chain(ad::rule::PowerTo<C>{c}, y);
}

// clang-format off
/// The smaller number; of two equal ones the first; a NaN loses, as in the standard library's fmin.
template <AdScalar X> constexpr X fmin(const X& a, const X& b) { return select((a.value <= b.value) || simd::is_nan(b.value), a, b); }
template <AdScalar X> constexpr X fmax(const X& a, const X& b) { return select((a.value >= b.value) || simd::is_nan(b.value), a, b); }
template <AdScalar X> constexpr X min(const X& a, const X& b) { return fmin(a, b); }
template <AdScalar X> constexpr X max(const X& a, const X& b) { return fmax(a, b); }
template <AdScalar X, ConstantFor<X> C> constexpr X fmin(const X& a, const C& b) { return fmin(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X fmin(const C& a, const X& b) { return fmin(X(a), b); }
template <AdScalar X, ConstantFor<X> C> constexpr X fmax(const X& a, const C& b) { return fmax(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X fmax(const C& a, const X& b) { return fmax(X(a), b); }
template <AdScalar X, ConstantFor<X> C> constexpr X min(const X& a, const C& b) { return fmin(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X min(const C& a, const X& b) { return fmin(X(a), b); }
template <AdScalar X, ConstantFor<X> C> constexpr X max(const X& a, const C& b) { return fmax(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X max(const C& a, const X& b) { return fmax(X(a), b); }

template <AdScalar X> constexpr auto isfinite(const X& x) { return simd::is_finite(x.value); }
template <AdScalar X> constexpr auto isnan(const X& x) { return simd::is_nan(x.value); }
template <AdScalar X> constexpr auto isinf(const X& x) { return simd::abs(x.value) == ad::infinity<scalar_t<X>>(); }
// clang-format on

// Sums of exponentials.

namespace ad {

/// low - high in an exponent, for value_of(low) <= value_of(high): 0 where the values are equal, even if
/// infinite, and a constant -inf where exp() of it is 0, so that a part without weight adds nothing, whatever
/// its slope.
template <AnyNumber X>
constexpr X gap(const X& low, const X& high) {
  using T = scalar_t<X>;
  const T l = value_of(low), h = value_of(high);
  const T difference = simd::select(l == h, T(0), T(l - h));
  if constexpr (AdScalar<X>) {
    X result = low - high;
    result.value = difference;
    return select(difference < num<T>(-800), X(neg_infinity<T>()), result);
  } else {
    return difference;
  }
}

template <AnyNumber X>
constexpr X choose(const auto& mask, const X& a, const X& b) {
  if constexpr (AdScalar<X>) {
    return select(mask, a, b);
  } else {
    return pick(mask, a, b);
  }
}

/// What a range that can be read again and again holds; its iterators may make the entries when asked.
template <class R>
using entry_t = std::remove_cvref_t<decltype(*std::begin(std::declval<const R&>()))>;

/// Sum of exp(x - high) over a range, without the first entry that is the highest (in each lane).
template <class R, AnyNumber X>
constexpr X sum_of_others(const R& range, const X& high) {
  using T = scalar_t<X>;
  X sum = num<T>(0);
  simd::mask_t<T> found = T(0) > T(0);
  for (const auto& entry : range) {
    const X& x = [&]() -> const X& {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(entry)>, X>) {
        return entry;
      } else {
        return entry.value;
      }
    }();
    const simd::mask_t<T> skip = (value_of(x) == value_of(high)) && !found;
    found = found || skip;
    if (!simd::all(skip)) sum += choose(skip, X(num<T>(0)), chain(rule::Exp{}, gap(x, high)));
  }
  return sum;
}

}  // namespace ad

/// log(exp(a) + exp(b)), taken from the larger one: value, slope and curvature are those of the larger plus a
/// correction, so nothing cancels. Equal arguments weigh the same, infinite ones too.
template <AnyNumber X>
constexpr X log_sum_exp(const X& a, const X& b) {
  const auto first = value_of(a) >= value_of(b);
  const X high = ad::choose(first, a, b), low = ad::choose(first, b, a);
  return high + softplus(ad::gap(low, high));
}
// clang-format off
template <AdScalar X, ConstantFor<X> C> constexpr X log_sum_exp(const X& a, const C& b) { return log_sum_exp(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X log_sum_exp(const C& a, const X& b) { return log_sum_exp(X(a), b); }
// clang-format on

/// log of the sum of exp over a range, shifted by the largest entry in value, slope and curvature. Entries of
/// -inf add nothing, a range of -inf only (or an empty one) gives -inf, an entry of +inf gives +inf.
template <class R>
requires AnyNumber<ad::entry_t<R>>
constexpr auto log_sum_exp(const R& range) {
  using X = ad::entry_t<R>;
  using T = scalar_t<X>;
  if (std::begin(range) == std::end(range)) return X(ad::neg_infinity<T>());
  X high = *std::begin(range);
  if constexpr (std::same_as<X, Reverse<T>>) {  // one node, with a weight for each entry
    for (const X& x : range) high.value = simd::select(x.value > high.value, x.value, high.value);
    const T rest = ad::sum_of_others(range, high.value);
    const auto count = static_cast<std::size_t>(std::distance(std::begin(range), std::end(range)));
    Tape<T>& tape = Tape<T>::active();
    tape.begin();
    const auto list = tape.add_list(count);
    std::size_t k = 0;
    for (const X& x : range) {
      const T weight = simd::exp(ad::gap(x.value, high.value)) / (T(1) + rest);
      list.weights[k] = ad::product(x.scale, weight);
      list.parents[k++] = x.index;
    }
    const X result = tape.end(high.value + simd::log1p(rest));
    return result;
  } else {
    for (const X& x : range) high = ad::choose(value_of(x) > value_of(high), x, high);
    return X(high + ad::chain(ad::rule::Log1p{}, ad::sum_of_others(range, high)));
  }
}
template <AnyNumber X>
constexpr X log_sum_exp(std::initializer_list<X> list) {
  return log_sum_exp<std::initializer_list<X>>(list);
}

/// log(exp(a) - exp(b)) for a >= b; -inf where they are equal.
template <AnyNumber X>
constexpr X log_diff_exp(const X& a, const X& b) {
  return a + log1m_exp(ad::gap(b, a));
}
// clang-format off
template <AdScalar X, ConstantFor<X> C> constexpr X log_diff_exp(const X& a, const C& b) { return log_diff_exp(a, X(b)); }
template <AdScalar X, ConstantFor<X> C> constexpr X log_diff_exp(const C& a, const X& b) { return log_diff_exp(X(a), b); }
// clang-format on

}  // namespace onward
