#pragma once
// Rules of powers, exponentials and logarithms, of circular and hyperbolic functions, and of functions made
// of straight pieces.

#include "onward/ad/rule_tools.hpp"

namespace onward::ad::rule {

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

/// The logarithm to base 2 or 10.
template <int base>
struct LogTo {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const double one_over_log_base = base == 2 ? 1.4426950408889634074 : 0.43429448190325182765;
    const T r = T(1) / (x + T(0)), d = num<T>(one_over_log_base) * r;
    return {base == 2 ? simd::log2(x) : simd::log10(x), d, simd::neg(T(d * r))};
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

template <bool cosine>
struct SinOrCos {
  static constexpr bool smooth = true;
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = cosine ? simd::cos(x) : simd::sin(x);
    if constexpr (N == 0) return {f};
    return {f, cosine ? simd::neg(simd::sin(x)) : simd::cos(x), simd::neg(f)};
  }
};

struct Tan {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = simd::tan(x), d = T(1) + f * f;
    return {f, d, num<T>(2) * f * d};
  }
};

template <bool cosine>
struct AsinOrAcos {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = cosine ? simd::acos(x) : simd::asin(x);
    if constexpr (N == 0) return {f};
    const T d = T(cosine ? -1 : 1) / simd::sqrt((T(1) - x) * (T(1) + x));
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

template <bool cosine>
struct SinhOrCosh {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    const T f = cosine ? simd::cosh(x) : simd::sinh(x);
    if constexpr (N == 0) return {f};
    return {f, cosine ? simd::sinh(x) : simd::cosh(x), f};
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

// The slope of a function made of pieces is that of the piece, and 0 at the kink of abs.

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

}  // namespace onward::ad::rule
