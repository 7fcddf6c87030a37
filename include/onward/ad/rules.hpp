#pragma once
// The table of rules: each function once, as value, first and second derivative. Everything that carries
// derivatives (Value, Dual, Jet2, Reverse) takes its functions from here.
//
// A rule is an object with `at<N>(x)`, which gives the value and the first N derivatives for any plain
// number: double, float or a batch. Rules are free of branches on single lanes, so that a batch has the bits
// of its lanes taken one at a time. What the forms below take care of:
//   - relative accuracy of the derivatives far out (1 - tanh² would be 0 long before its limit);
//   - limits at 0, -0 and ±inf, where the plain formula would multiply 0 by inf;
//   - the sign of zero in a batch (simd::neg, not the minus sign: xsimd makes +0 of it);
//   - the value does not depend on N: an evaluation without derivatives has the same bits.

#include <limits>
#include "onward/ad/chain.hpp"
#include "onward/ad/polygamma.hpp"
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

template <std::floating_point T>
[[gnu::const, gnu::noinline]] T exp_of(T x) {
  return simd::exp(x);
}
template <std::floating_point T>
[[gnu::const, gnu::noinline]] T log_of(T x) {
  return simd::log(x);
}
template <std::floating_point T>
[[gnu::const, gnu::noinline]] T log1p_of(T x) {
  return simd::log1p(x);
}

template <class T>
T exp(const T& x) {
  if constexpr (simd::is_batch_v<T>) {
    return simd::exp(x);
  } else {
    return exp_of<T>(x);
  }
}
template <class T>
T log(const T& x) {
  if constexpr (simd::is_batch_v<T>) {
    return simd::log(x);
  } else {
    return log_of<T>(x);
  }
}
template <class T>
T log1p(const T& x) {
  if constexpr (simd::is_batch_v<T>) {
    return simd::log1p(x);
  } else {
    return log1p_of<T>(x);
  }
}

}  // namespace hoistable

namespace rule {

// ---- powers, exponentials, logarithms
// ----------------------------------------------------------------------

struct Square {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    return {x * x, x + x, T(2)};
  }
};

struct Inverse {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = T(1) / x, d = simd::neg(T(f * f));
    return {f, d, num<T>(-2) * d * f};
  }
};

struct Sqrt {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::sqrt(x);
    if constexpr (N == 0) return {f};
    const T d = num<T>(0.5) / (f + T(0));  // + 0 turns -0 into 0: the slope there is +inf
    return {f, d, num<T>(-0.5) * d / (x + T(0))};
  }
};

struct Cbrt {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::cbrt(x);
    if constexpr (N == 0) return {f};
    const T d = num<T>(1.0 / 3) / (f * f);
    return {f, d, num<T>(-2.0 / 3) * d / x};
  }
};

struct Exp {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = hoistable::exp(x);
    return {f, f, f};
  }
};

struct Expm1 {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    if constexpr (N == 0) return {simd::expm1(x)};
    const T e = simd::exp(x);
    return {simd::expm1(x), e, e};
  }
};

struct Log {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T d = T(1) / (x + T(0));
    return {hoistable::log(x), d, simd::neg(T(d * d))};
  }
};

struct Log1p {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T d = T(1) / (T(1) + x);
    return {hoistable::log1p(x), d, simd::neg(T(d * d))};
  }
};

/// log(1 - x)
struct Log1m {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T d = T(1) / (T(1) - x);
    return {simd::log1p(simd::neg(x)), simd::neg(d), simd::neg(T(d * d))};
  }
};

struct Log2 {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T r = T(1) / (x + T(0)), d = num<T>(1.4426950408889634074) * r;
    return {simd::log2(x), d, simd::neg(T(d * r))};
  }
};

struct Log10 {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T r = T(1) / (x + T(0)), d = num<T>(0.43429448190325182765) * r;
    return {simd::log10(x), d, simd::neg(T(d * r))};
  }
};

/// x^n for a whole number n, by multiplications: exact signs, exact small powers, no limit to take at 0.
struct WholePower {
  int n;

  template <class T>
  static constexpr T power(T x, int n) {
    if (n < 0) return T(1) / power(x, -n);
    T result = T(1);
    for (; n > 0; n /= 2, x *= x) {
      if (n % 2 != 0) result *= x;
    }
    return result;
  }

  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = power(x, n);
    const T d = N < 1 || n == 0 ? T(0) : T(num<T>(n) * power(x, n - 1));
    const T dd = N < 2 || n == 0 || n == 1 ? T(0) : T(num<T>(n) * num<T>(n - 1) * power(x, n - 2));
    return {f, d, dd};
  }
};

/// x^(p-1) from f = x^p: by division where that is safe, anew where f or x is 0 or infinite.
template <class T>
constexpr T lower_power(const T& f, const T& x, const T& p) {
  const auto plain = (!(f == T(0))) && (simd::abs(f) < infinity<T>()) && (!(x == T(0)));
  return either(
      plain, [&] { return T(f / x); }, [&] { return simd::pow(x, T(p - T(1))); });
}

/// x^p for a number p that is not a small whole number.
template <class C>
struct PowerOf {
  C p;

  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T q = constant<T>(p), f = simd::pow(x, q);
    if constexpr (N == 0) return {f};
    const T g = lower_power(f, x, q);
    if constexpr (N == 1) return {f, q * g};
    return {f, q * g, q * (q - T(1)) * lower_power(g, x, T(q - T(1)))};
  }
};

/// c^y for a number c.
template <class C>
struct PowerTo {
  C c;

  template <int N, class T>
  constexpr Unary<T> at(const T& y) const {
    const T f = simd::pow(constant<T>(c), y);
    if constexpr (N == 0) return {f};
    const T l = simd::log(constant<T>(c));
    const T d = vanish(f, l);
    return {f, d, vanish(d, l)};
  }
};

/// a^b, both moving.
struct Pow {
  template <int N, class T>
  constexpr Binary<T> at(const T& a, const T& b) const {
    const T f = simd::pow(a, b);
    if constexpr (N == 0) return {f};
    const T l = simd::log(a), g = lower_power(f, a, b);
    const T fb = vanish(f, l);
    if constexpr (N == 1) return {f, vanish(b, g), fb};
    const T h = lower_power(g, a, T(b - T(1)));
    return {f, vanish(b, g), fb, vanish(T(b * (b - T(1))), h), vanish(g, T(T(1) + b * l)), vanish(fb, l)};
  }
};

// ---- circular and hyperbolic functions
// ---------------------------------------------------------------------

struct Sin {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::sin(x);
    if constexpr (N == 0) return {f};
    return {f, simd::cos(x), simd::neg(f)};
  }
};

struct Cos {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::cos(x);
    if constexpr (N == 0) return {f};
    return {f, simd::neg(simd::sin(x)), simd::neg(f)};
  }
};

struct Tan {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::tan(x), d = T(1) + f * f;
    return {f, d, num<T>(2) * f * d};
  }
};

struct Asin {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::asin(x);
    if constexpr (N == 0) return {f};
    const T d = T(1) / simd::sqrt((T(1) - x) * (T(1) + x));
    return {f, d, x * (d * d * d)};
  }
};

struct Acos {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::acos(x);
    if constexpr (N == 0) return {f};
    const T d = T(-1) / simd::sqrt((T(1) - x) * (T(1) + x));
    return {f, d, x * (d * d * d)};
  }
};

struct Atan {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T d = T(1) / (T(1) + x * x);
    return {simd::atan(x), d, num<T>(-2) * d * vanish(d, x)};
  }
};

/// atan2(y, x); at the origin, where no limit exists, the slope is 0.
struct Atan2 {
  template <int N, class T>
  constexpr Binary<T> at(const T& y, const T& x) const {
    const T f = simd::atan2(y, x);
    if constexpr (N == 0) return {f};
    const T h = simd::hypot(x, y);
    const T r = simd::select(h == T(0), T(0), T(T(1) / h));
    const T c = vanish(r, x), s = vanish(r, y);  // cosine and sine of the angle
    const T rr = r * r, cross = num<T>(2) * (c * r) * (s * r);
    return {f, c * r, simd::neg(T(s * r)), simd::neg(cross), rr * (s * s - c * c), cross};
  }
};

struct Sinh {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::sinh(x);
    if constexpr (N == 0) return {f};
    return {f, simd::cosh(x), f};
  }
};

struct Cosh {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::cosh(x);
    if constexpr (N == 0) return {f};
    return {f, simd::sinh(x), f};
  }
};

struct Tanh {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::tanh(x);
    if constexpr (N == 0) return {f};
    const T e = simd::exp(num<T>(-2) * simd::abs(x)), r = T(1) / (T(1) + e);
    const T d = num<T>(4) * e * (r * r);
    return {f, d, num<T>(-2) * f * d};
  }
};

struct Asinh {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::asinh(x);
    if constexpr (N == 0) return {f};
    const T far =
        num<T>(sizeof(simd::scalar_t<T>) == 8 ? 1e10 : 1e5);  // beyond it 1 + x² is x² (which may overflow)
    const T y = simd::abs(x), near = simd::select(y > far, far, y);  // NaN stays NaN
    const T d = T(1) / simd::select(y > far, y, simd::sqrt(T(1) + near * near));
    return {f, d, simd::neg(vanish(d, x)) * (d * d)};
  }
};

struct Acosh {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::acosh(x);
    if constexpr (N == 0) return {f};
    const T d = T(1) / (simd::sqrt(x - T(1)) * simd::sqrt(x + T(1)));
    return {f, d, simd::neg(vanish(d, x)) * (d * d)};
  }
};

struct Atanh {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T d = T(1) / ((T(1) - x) * (T(1) + x));
    return {simd::atanh(x), d, num<T>(2) * x * (d * d)};
  }
};

/// hypot(a, b); at the origin the slope is 0, as for abs.
struct Hypot {
  template <int N, class T>
  constexpr Binary<T> at(const T& a, const T& b) const {
    const T h = simd::hypot(a, b);
    if constexpr (N == 0) return {h};
    const auto inner = (h > T(0)) && (h < infinity<T>());
    const T r = simd::select(inner, T(T(1) / h), T(0));
    const T u = limit(a, h, inner), v = limit(b, h, inner);
    if constexpr (N == 1) return {h, u, v};
    return {h, u, v, v * v * r, simd::neg(T(u * v)) * r, u * u * r};
  }

 private:
  /// a / h; at the origin 0; with h infinite the sign of the infinite entry, 0 for the finite one. NaN stays
  /// NaN.
  template <class T, class Mask>
  static constexpr T limit(const T& a, const T& h, const Mask& inner) {
    const T far = simd::select(simd::abs(a) == infinity<T>(), simd::copysign(T(1), a), T(a * T(0)));
    return simd::select(inner, T(a / h), T(far + simd::select(h == h, T(0), h)));
  }
};

// ---- error function, normal distribution, gamma function
// ---------------------------------------------------

constexpr double two_over_sqrt_pi = 1.1283791670955125739;

struct Erf {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::erf(x);
    if constexpr (N == 0) return {f};
    const T d = num<T>(two_over_sqrt_pi) * simd::exp(simd::neg(T(x * x)));
    return {f, d, num<T>(-2) * vanish(d, x)};
  }
};

struct Erfc {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::erfc(x);
    if constexpr (N == 0) return {f};
    const T d = num<T>(-two_over_sqrt_pi) * simd::exp(simd::neg(T(x * x)));
    return {f, d, num<T>(-2) * vanish(d, x)};
  }
};

constexpr double sqrt_half = 0.70710678118654752440;
constexpr double inv_sqrt_two_pi = 0.39894228040143267794;
constexpr double half_log_two_pi = 0.91893853320467274178;

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

// ---- logistic family
// ---------------------------------------------------------------------------------------

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

// ---- pieces: the slope is that of the piece, and 0 at the kink of abs
// --------------------------------------

struct Abs {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T sign = simd::select(x == T(0), T(0), simd::copysign(T(1), x));
    return {simd::abs(x), simd::select(x == x, sign, x), T(0)};
  }
};

struct Floor {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    return {simd::floor(x), T(0), T(0)};
  }
};

struct Ceil {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    return {simd::ceil(x), T(0), T(0)};
  }
};

struct Trunc {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    return {simd::copysign(simd::floor(simd::abs(x)), x), T(0), T(0)};
  }
};

/// To the nearest whole number, halves away from 0, as std::round.
struct Round {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T y = simd::abs(x), low = simd::floor(y);
    const T up = simd::select(y - low < num<T>(0.5), T(0), T(1));
    return {simd::copysign(T(low + simd::select(y < infinity<T>(), up, T(0))), x), T(0), T(0)};
  }
};

}  // namespace rule
}  // namespace onward::ad
