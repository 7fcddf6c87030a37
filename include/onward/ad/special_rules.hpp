#pragma once
// Rules of the functions that statistics is made of: the error function and the normal distribution, the
// gamma function, and the logistic function with its relatives.

#include "onward/ad/polygamma.hpp"
#include "onward/ad/rule_tools.hpp"

namespace onward::ad::rule {

constexpr double two_over_sqrt_pi = 1.1283791670955125739;

template <bool complement>
struct ErfOrErfc {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = complement ? simd::erfc(x) : simd::erf(x);
    if constexpr (N == 0) return {f};
    const T d = num<T>(complement ? -two_over_sqrt_pi : two_over_sqrt_pi) * simd::exp(simd::neg(T(x * x)));
    return {f, d, num<T>(-2) * vanish(d, x)};
  }
};

constexpr double sqrt_half = 0.70710678118654752440;
constexpr double inv_sqrt_two_pi = 0.39894228040143267794;
constexpr double half_log_two_pi = 0.91893853320467274178;
constexpr double log_pi = 1.14472988584940017414;
constexpr double log_two = 0.69314718055994530942;
constexpr double log_two_pi = 1.83787706640934548356;

/// Φ(x), the standard normal distribution function.
struct NormalCdf {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = num<T>(0.5) * simd::erfc(x * num<T>(-sqrt_half));
    if constexpr (N == 0) return {f};
    const T d = num<T>(inv_sqrt_two_pi) * simd::exp(num<T>(-0.5) * (x * x));
    return {f, d, simd::neg(vanish(d, x))};
  }
};

/// log Φ(x). Its derivatives are the inverse Mills ratio m = φ/Φ and -m (x + m). Left of -5 they come from
/// the continued fraction m = t + 1/(t + 2/(t + 3/(t + ...))) with t = -x, which gives x + m without a
/// difference.
struct NormalLcdf {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const auto tail = x < T(-5);
    if (simd::all(tail)) return far<N>(x);
    const Unary<T> f = near<N>(x);
    if (!simd::any(tail)) return f;
    const Unary<T> g = far<N>(x);
    return {simd::select(tail, g.value, f.value), simd::select(tail, g.first, f.first),
            simd::select(tail, g.second, f.second)};
  }

 private:
  template <int N, class T>
  static constexpr Unary<T> near(const T& x) {
    const T q = num<T>(0.5) * simd::erfc(simd::abs(x) * num<T>(sqrt_half));  // the smaller side
    const T f = either(
        x > T(0), [&] { return simd::log1p(simd::neg(q)); }, [&] { return simd::log(q); });
    if constexpr (N == 0) return {f};
    const T density = num<T>(inv_sqrt_two_pi) * simd::exp(num<T>(-0.5) * (x * x));
    const T m = density / simd::select(x > T(0), T(T(1) - q), q);
    return {f, m, simd::neg(vanish(m, T(x + m)))};
  }

  template <int N, class T>
  static constexpr Unary<T> far(const T& x) {
    const T t = simd::max(T(5), simd::neg(x));
    T l = T(0);  // 2/(t + 3/(t + ...)); 25 terms are enough for double from t = 5 on
    for (int n = 25; n >= 2; --n) l = num<T>(n) / (t + l);
    const T rest = T(1) / (t + l), m = t + rest;
    const T f = num<T>(-0.5) * (t * t) - num<T>(half_log_two_pi) - simd::log(m);
    return {f, m, simd::neg(T(T(1) / (T(1) + l / t) + rest * rest))};  // m·rest, finite also at t = inf
  }
};

struct Lgamma {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::lgamma(x);
    if constexpr (N == 0) return {f};
    const T d = simd::digamma(x);
    if constexpr (N == 1) return {f, d};
    T trigamma{}, tetragamma{};
    polygamma(x, trigamma, tetragamma);
    return {f, d, trigamma};
  }
};

struct Digamma {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::digamma(x);
    if constexpr (N == 0) return {f};
    T trigamma{}, tetragamma{};
    polygamma(x, trigamma, tetragamma);
    return {f, trigamma, tetragamma};
  }
};

/// 1 / (1 + exp(-x))
struct InvLogit {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T y = simd::abs(x), e = simd::exp(simd::neg(y)), r = T(1) / (T(1) + e);
    const T f = simd::select(x < T(0), T(e * r), r);
    if constexpr (N == 0) return {f};
    const T d = e * (r * r);
    if constexpr (N == 1) return {f, d};
    return {f, d, simd::copysign(T(d * (one_minus_exp(y, e) * r)), simd::neg(x))};
  }
};

/// log(1 + exp(x))
struct Softplus {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T e = simd::exp(simd::neg(simd::abs(x)));
    const T f = simd::max(T(0), x) + simd::log1p(e);
    if constexpr (N == 0) return {f};
    const T r = T(1) / (T(1) + e), er = e * r;
    return {f, simd::select(x < T(0), er, r), er * r};
  }
};

/// log inv_logit(x) = -log(1 + exp(-x))
struct LogInvLogit {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const Unary<T> s = Softplus{}.template at<N>(simd::neg(x));
    return {simd::neg(s.value), s.first, simd::neg(s.second)};
  }
};

/// log(p / (1 - p)); the middle goes through log1p so that logit near 1/2 keeps its digits.
struct Logit {
  template <int N, class T>
  constexpr Unary<T> at(const T& p) const {
    const T q = T(1) - p, lean = p - q;
    const T f = either(
        simd::abs(lean) < num<T>(0.5), [&] { return simd::log1p(lean / q); },
        [&] { return simd::log(p / q); });
    const T d = T(1) / ((p + T(0)) * q);
    return {f, d, lean * (d * d)};
  }
};

/// log(1 - exp(x)) for x <= 0
struct Log1mExp {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T u = T(0) - simd::expm1(x), e = simd::exp(x);  // 0 - expm1, so that u is +0 at x = 0
    const T f = either(
        x > num<T>(-0.69314718055994530942), [&] { return simd::log(u); },
        [&] { return simd::log1p(simd::neg(e)); });
    const T d = simd::neg(T(e / u));
    return {f, d, d * (T(1) - d)};
  }
};

}  // namespace onward::ad::rule
