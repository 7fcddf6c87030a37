#pragma once
// exp, expm1, log, log1p, sin, cos, tanh: one implementation for a number and for a SIMD register.
//
// Each is a range reduction and a polynomial, without branches, so a batch does to each lane what a plain
// number gets and the bits agree. The coefficients interpolate the function at Chebyshev nodes of the reduced
// interval. Largest errors measured, in units in the last place: 1 for exp, log, log1p, sin and cos, 1.25 for
// expm1, 1.5 for tanh, 1.4 for sincos_2pi (2.1 on a machine without fused multiply-add). Zeros keep their
// sign; infinities, NaN, overflow and subnormal results are those of the C library.

#include <onward/simd/batch.hpp>

namespace onward::simd {

/// Sine and cosine of the same angle.
template <Real T>
struct SinCos {
  T sin, cos;
};

namespace detail {

/// c[0] + c[1] x + c[2] x^2 + ... by halving (Estrin): short chains of dependent operations.
template <Real T, std::size_t N>
inline T polynomial(const T& x, const std::array<T, N>& c) {
  if constexpr (N == 1) {
    return c[0];
  } else {
    std::array<T, (N + 1) / 2> half;
    for (std::size_t i = 0; i < N / 2; ++i) half[i] = simd::mul_add(c[2 * i + 1], x, c[2 * i]);
    if constexpr (N % 2 == 1) half[N / 2] = c[N - 1];
    if constexpr (half.size() == 1)
      return half[0];
    else
      return polynomial(T(x * x), half);
  }
}

template <Real T, class S, std::size_t N>
inline T polynomial_of(const T& x, const S (&coefficients)[N]) {
  static_assert(std::same_as<S, scalar_t<T>>);
  std::array<T, N> c;
  for (std::size_t i = 0; i < N; ++i) c[i] = T(coefficients[i]);
  return polynomial(x, c);
}

/// All that depends on the format of the number.
template <class S>
struct Constants;

template <>
struct Constants<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr double bias = 1023;
  static constexpr double whole = 0x1p52;            // adding it leaves a whole number in the low bits
  static constexpr double whole_signed = 0x1.8p52;   // the same, for either sign
  static constexpr double subnormal_scale = 0x1p54;  // lifts any subnormal into the normal range
  static constexpr double subnormal_shift = 54;
  static constexpr double tiny = 0x1p-54;  // below it x + O(x^2) rounds to x
  static constexpr double exp_max = 710, exp_min = -746, expm1_min = -50, tanh_max = 20;
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  // ln 2 and pi/2 in pieces short enough that a piece times the multiple is exact.
  static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double half_pi[4] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                        0x1.b839a252049c1p-104};
  static constexpr double trig_max = 1e6;  // keeps the multiple of pi/2 below 2^20
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1, two_pi = 0x1.921fb54442d18p+2;
  static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
  // (e^r - 1 - r) / r^2 for |r| < ln(2)/2
  static constexpr double exp[] = {0x1.p-1,
                                   0x1.5555555555557p-3,
                                   0x1.5555555555556p-5,
                                   0x1.11111111100bep-7,
                                   0x1.6c16c16c162c3p-10,
                                   0x1.a01a01abf85abp-13,
                                   0x1.a01a01a6e1e2ap-16,
                                   0x1.71de01fdbf9cap-19,
                                   0x1.27e4db46cddd1p-22,
                                   0x1.af4e554377204p-26,
                                   0x1.1f7340dbc337ep-29};
  // (2 atanh(s)/s - 2) / s^2 in s^2, for s = f/(2+f), 1+f in (sqrt(1/2), sqrt(2))
  static constexpr double log[] = {0x1.5555555555558p-1, 0x1.9999999995273p-2, 0x1.2492492dfd86cp-2,
                                   0x1.c71c62d5e53ep-3,  0x1.7462b91b8df65p-3, 0x1.39fdcceb4bb45p-3,
                                   0x1.2b5f68a50d903p-3};
  // (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 in r^2, for |r| < pi/4
  static constexpr double sin[] = {-0x1.5555555555555p-3, 0x1.1111111110ba5p-7,   -0x1.a01a019e8069ap-13,
                                   0x1.71de3792528abp-19, -0x1.ae60069ee3ecfp-26, 0x1.5e09858a97437p-33};
  static constexpr double cos[] = {0x1.5555555555555p-5,   -0x1.6c16c16c1696p-10, 0x1.a01a019f4d0fp-16,
                                   -0x1.27e4fa15bdc69p-22, 0x1.1eeb66b6cb12cp-29, -0x1.907c0e977e8bdp-37};
  // (sin(2 pi r) - 2 pi r) / r^3 and (cos(2 pi r) - 1) / r^2 in r^2, for |r| < 1/8
  static constexpr double sin_2pi[] = {-0x1.4abbce625be52p+5, 0x1.466bc6775a476p+6,  -0x1.32d2cce500387p+6,
                                       0x1.50783208843ebp+5,  -0x1.e3027dea82bd7p+3, 0x1.e4a9d9166f052p+1};
  static constexpr double cos_2pi[] = {-0x1.3bd3cc9be45dep+4, 0x1.03c1f081b5acp+6,   -0x1.55d3c7e3cb241p+6,
                                       0x1.e1f5068688d5bp+5,  -0x1.a6d1eef479be1p+4, 0x1.f9ce245cada0bp+2,
                                       -0x1.b2f3eb054afcdp+0};
};

template <>
struct Constants<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr float bias = 127;
  static constexpr float whole = 0x1p23f;
  static constexpr float whole_signed = 0x1.8p23f;
  static constexpr float subnormal_scale = 0x1p25f;
  static constexpr float subnormal_shift = 25;
  static constexpr float tiny = 0x1p-25f;
  static constexpr float exp_max = 89, exp_min = -105, expm1_min = -20, tanh_max = 10;
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float half_pi[4] = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.444p-24f, 0x1.68c234p-39f};
  static constexpr float trig_max = 1e4f;
  static constexpr float two_over_pi = 0x1.45f306p-1f, two_pi = 0x1.921fb6p+2f;
  static constexpr float sqrt_half = 0x1.6a09e6p-1f;
  static constexpr float exp[] = {0x1.p-1f,      0x1.555556p-3f, 0x1.5554e8p-5f,
                                  0x1.1110ep-7f, 0x1.6d43bp-10f, 0x1.a1256cp-13f};
  static constexpr float log[] = {0x1.55555cp-1f, 0x1.997c22p-2f, 0x1.2ee8c8p-2f};
  static constexpr float sin[] = {-0x1.555556p-3f, 0x1.11110ep-7f, -0x1.a013a2p-13f, 0x1.6dbbeep-19f};
  static constexpr float cos[] = {0x1.555554p-5f, -0x1.6c12cep-10f, 0x1.9bd67p-16f};
  static constexpr float sin_2pi[] = {-0x1.4abbcep+5f, 0x1.466bc2p+6f, -0x1.32ce1ep+6f, 0x1.4cb762p+5f};
  static constexpr float cos_2pi[] = {-0x1.3bd3ccp+4f, 0x1.03c1eap+6f, -0x1.55cb98p+6f, 0x1.db6492p+5f};
};

template <Real T>
using ConstantsOf = Constants<scalar_t<T>>;

/// 2^n for a whole number n within the range of normal exponents.
template <Real T>
inline T power_of_two(const T& n) {
  using K = ConstantsOf<T>;
  return from_bits<T>(shift_left<K::mantissa_bits>(to_bits(T(n + T(K::whole_signed + K::bias)))));
}

/// x * 2^n for |x| in (1/2, 2) and a whole number n with which the result may over- or underflow; rounded
/// once.
template <Real T>
inline T scale(const T& x, const T& n) {
#if defined(__AVX512F__)
  // The instruction rounds once as well: same bits.
  if constexpr (std::same_as<T, Batch<double>>) return T(_mm512_maskz_scalef_pd(0xff, x, n));
  if constexpr (std::same_as<T, Batch<float>>) return T(_mm512_maskz_scalef_ps(0xffff, x, n));
  if constexpr (std::same_as<T, double>) return _mm_cvtsd_f64(_mm_scalef_sd(_mm_set_sd(x), _mm_set_sd(n)));
  if constexpr (std::same_as<T, float>) return _mm_cvtss_f32(_mm_scalef_ss(_mm_set_ss(x), _mm_set_ss(n)));
#else
  const T half = simd::round_to_even(T(n * T(scalar_t<T>(0.5))));
  return (x * power_of_two(half)) * power_of_two(T(n - half));  // the first product is exact
#endif
}

/// A whole number near x * factor, for products well below whole.
template <Real T>
inline T nearest_whole(const T& x, scalar_t<T> factor) {
  using K = ConstantsOf<T>;
  return simd::mul_add(x, T(factor), T(K::whole_signed)) - T(K::whole_signed);  // quicker than rounding
}

/// The rounding error of a + b = sum, exactly.
template <Real T>
inline T sum_error(const T& a, const T& b, const T& sum) {
  const T t = sum - a;
  return (a - (sum - t)) + (b - t);
}

/// x clamped to [low, high]; NaN stays.
template <Real T>
inline T clamp(const T& x, scalar_t<T> low, scalar_t<T> high) {
  return simd::max(T(low), simd::min(T(high), x));
}

/// A positive number as 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
template <Real T>
struct Split {
  T k, f;
};

/// Splits a normal positive number.
template <Real T>
inline Split<T> split(const T& x) {
  using S = scalar_t<T>;
  using K = ConstantsOf<T>;
  using I = bits_t<S>;
  using B = bits_t<T>;
  // Shifted so that the mantissa starts at sqrt(1/2), the exponent field is k and the rest is the mantissa.
  constexpr I base = std::bit_cast<I>(K::sqrt_half);
  constexpr I one = std::bit_cast<I>(S(1));
  constexpr I mantissa = (I(1) << K::mantissa_bits) - 1;
  const B shifted = to_bits(x) + B(I(one - base));
  const T biased = from_bits<T>(B(shift_right<K::mantissa_bits>(shifted) | B(std::bit_cast<I>(K::whole))));
  const T m = from_bits<T>(B((shifted & B(mantissa)) + B(base)));
  return {T(biased - T(K::whole + K::bias)), T(m - T(S(1)))};
}

/// k ln 2 + log(1 + f) + c, for a small correction c and s = f / (2 + f).
template <Real T>
inline T log_of_split(const T& k, const T& f, const T& s, const T& c) {
  using K = ConstantsOf<T>;
  // log(1+f) = 2 atanh(s) = f - s (f - R): the large terms are exact, so errors enter only scaled by s.
  const T z = s * s;
  const T t = simd::mul_add(simd::neg(z), polynomial_of(z, K::log), f);
  const T low = simd::mul_add(k, T(K::ln2_low), c);
  return simd::mul_add(k, T(K::ln2_high), T(f - simd::mul_add(s, t, simd::neg(low))));
}

template <Real T>
inline T log_of_split(const T& k, const T& f, const T& c) {
  return log_of_split(k, f, T(f / (T(scalar_t<T>(2)) + f)), c);
}

/// A sum not yet rounded to one number.
template <Real T>
struct Sum {
  T high, low;
};

/// (e^x - 1) / 2: halved so that it does not overflow before e^x - 1 does. Not for |x| below tiny.
template <Real T>
inline Sum<T> half_expm1(const T& x) {
  using S = scalar_t<T>;
  using K = ConstantsOf<T>;
  const T y = clamp(x, K::expm1_min, K::exp_max);
  const T n = nearest_whole(y, K::log2_e);
  const T high = y - n * T(K::ln2_high);
  const T low = n * T(K::ln2_low);
  const T r = high - low;
  const T rest = (high - r) - low;
  const T tail = simd::mul_add(T(r * r), polynomial_of(r, K::exp), rest);
  // 2^n (1 + r + tail) - 1, halved
  const T p = power_of_two(T(n - T(S(1))));
  const T a = p - T(S(0.5));
  const T b = p * r;
  const T sum = a + b;
  return {sum, simd::mul_add(p, tail, sum_error(a, b, sum))};
}

/// Turns sin and cos of the rest r by q quarter circles (q a whole number).
template <Real T>
inline SinCos<T> turn(const T& q, const T& sin_r, const T& cos_r) {
  using S = scalar_t<T>;
  using K = ConstantsOf<T>;
  using B = bits_t<T>;
  using I = bits_t<S>;
  constexpr int to_sign = int(sizeof(S)) * 8 - 2;  // from bit 1 to the sign bit
  const T half = q * T(S(0.5));
  const auto even = half == simd::round_to_even(half);
  const B bits = to_bits(T(q + T(K::whole_signed)));
  const B sign_sin = shift_left<to_sign>(B(bits & B(I(2))));
  const B sign_cos = shift_left<to_sign>(B((bits + B(I(1))) & B(I(2))));
  return {from_bits<T>(B(to_bits(simd::select(even, sin_r, cos_r)) ^ sign_sin)),
          from_bits<T>(B(to_bits(simd::select(even, cos_r, sin_r)) ^ sign_cos))};
}

/// sin(2 pi r) and cos(2 pi r) for |r| <= 1/8.
template <Real T>
inline SinCos<T> sincos_2pi_arc(const T& r) {
  using K = ConstantsOf<T>;
  const T z = r * r;
  return {simd::mul_add(r, T(K::two_pi), T((r * z) * polynomial_of(z, K::sin_2pi))),
          simd::mul_add(z, polynomial_of(z, K::cos_2pi), T(scalar_t<T>(1)))};
}

/// sin and cos for |x| <= trig_max.
template <Real T>
inline SinCos<T> sincos_moderate(const T& x) {
  using S = scalar_t<T>;
  using K = ConstantsOf<T>;
  const T one(S(1));
  const T q = nearest_whole(x, K::two_over_pi);
  // x - q pi/2 = r + low; every product but the last is exact, and so is the first difference.
  const T a = x - q * T(K::half_pi[0]);
  const T b = q * T(-K::half_pi[1]);
  const T ab = a + b;
  const T c = q * T(-K::half_pi[2]);
  const T abc = ab + c;
  const T rest = (sum_error(a, b, ab) + sum_error(ab, c, abc)) - q * T(K::half_pi[3]);
  const T r = abc + rest;
  const T low = (abc - r) + rest;

  const T z = r * r;
  const T h = T(S(0.5)) * z;
  const T w = one - h;
  const T s = r + simd::mul_add(T(r * z), polynomial_of(z, K::sin), T(low * w));
  const T t = simd::mul_add(T(z * z), polynomial_of(z, K::cos), simd::neg(T(r * low)));
  return turn(q, s, T(w + (((one - w) - h) + t)));
}

}  // namespace detail

/// e^x.
template <Real T>
inline T exp(const T& x) {
  using S = scalar_t<T>;
  using K = detail::ConstantsOf<T>;
  const T y = detail::clamp(x, K::exp_min, K::exp_max);
  const T n = detail::nearest_whole(y, K::log2_e);
  const T r = simd::mul_add(n, T(-K::ln2_low), simd::mul_add(n, T(-K::ln2_high), y));
  const T p = simd::mul_add(T(r * r), detail::polynomial_of(r, K::exp), r);
  return detail::scale(T(T(S(1)) + p), n);
}

/// e^x - 1, accurate near 0 too.
template <Real T>
inline T expm1(const T& x) {
  const auto [high, low] = detail::half_expm1(x);
  const T half = high + low;
  return simd::select(simd::abs(x) < T(detail::ConstantsOf<T>::tiny), x, T(half + half));
}

/// The natural logarithm: -inf at 0, NaN below.
template <Real T>
inline T log(const T& x) {
  using S = scalar_t<T>;
  using K = detail::ConstantsOf<T>;
  using L = std::numeric_limits<S>;
  const auto small = x < T(L::min());
  const auto [k, f] = detail::split(simd::select(small, T(x * T(K::subnormal_scale)), x));
  const T shift = simd::select(small, T(-K::subnormal_shift), T(S(0)));
  const T y = detail::log_of_split(T(k + shift), f, T(S(0)));
  const T edge = simd::select(x == T(S(0)), T(-L::infinity()),
                              simd::select(x > T(S(0)), x, T(L::quiet_NaN())));  // x: +inf
  return simd::select((x > T(S(0))) && (x <= T(L::max())), y, edge);
}

/// log(1 + x), accurate near 0 too: -inf at -1, NaN below.
template <Real T>
inline T log1p(const T& x) {
  using S = scalar_t<T>;
  using K = detail::ConstantsOf<T>;
  using L = std::numeric_limits<S>;
  const T one(S(1)), zero(S(0));
  const T u = one + x;
  const auto [k, f] = detail::split(u);
  // Where 1 + x is near 1, f is x itself; elsewhere what 1 + x lost in rounding comes back as a correction.
  const auto near = k == zero;
  const T c = simd::select(near, zero, T(detail::sum_error(one, x, u) / u));
  const T y = detail::log_of_split(k, simd::select(near, x, f), c);
  const T edge =
      simd::select(u == zero, T(-L::infinity()), simd::select(u > zero, x, T(L::quiet_NaN())));  // x: +inf
  const T wide = simd::select((u > zero) && (u <= T(L::max())), y, edge);
  return simd::select(simd::abs(x) < T(K::tiny), x, wide);
}

/// Sine and cosine; angles beyond 10^6 (double) or 10^4 (float), where reduction needs many digits of pi, go
/// to the C library one by one.
template <Real T>
inline SinCos<T> sincos(const T& x) {
  using S = scalar_t<T>;
  using K = detail::ConstantsOf<T>;
  const auto large = simd::abs(x) > T(K::trig_max);
  auto [s, c] = detail::sincos_moderate(simd::select(large, T(S(0)), x));
  s = simd::select(simd::abs(x) < T(K::tiny), x, s);
  if (simd::any(large)) [[unlikely]] {
    const auto far = [](S v) { return std::abs(v) > K::trig_max; };
    s = simd::for_each_lane([&](S v, S w) { return far(v) ? S(std::sin(double(v))) : w; }, x, s);
    c = simd::for_each_lane([&](S v, S w) { return far(v) ? S(std::cos(double(v))) : w; }, x, c);
  }
  return {s, c};
}

/// The sine of x radians.
template <Real T>
inline T sin(const T& x) {
  return simd::sincos(x).sin;
}

/// The cosine of x radians.
template <Real T>
inline T cos(const T& x) {
  return simd::sincos(x).cos;
}

/// sin(2 pi u) and cos(2 pi u) for u in [0, 1].
template <Real T>
inline SinCos<T> sincos_2pi(const T& u) {
  using S = scalar_t<T>;
  const T q = simd::round_to_even(T(u * T(S(4))));
  const auto [s, c] = detail::sincos_2pi_arc(T(u - q * T(S(0.25))));  // the difference is exact
  return detail::turn(q, s, c);
}

/// The hyperbolic tangent.
template <Real T>
inline T tanh(const T& x) {
  using S = scalar_t<T>;
  using K = detail::ConstantsOf<T>;
  const T one(S(1));
  const T a = detail::clamp(simd::abs(x), S(0), K::tanh_max);
  const auto [high, low] = detail::half_expm1(T(a + a));
  // With e = h + l for (e^2a - 1)/2: e/(e+1) below 1/2, 1 - 1/(e+1) above, where the division's error counts
  // little.
  const auto large = a > T(S(0.55));
  const T h = high + low;
  const T l = (high - h) + low;
  const T below = h + one;
  const T ratio = simd::select(large, one, h) / below;
  // What rounding took from h + l and from h + 1, to first order; 1/(e+1) is 1 - ratio.
  const T lost = (h - (below - one)) + l;
  const T rest = (one - ratio) * simd::mul_add(simd::neg(ratio), lost, l);
  const T y = simd::select(large, T(one - ratio), T(ratio + rest));
  return simd::select(simd::abs(x) < T(K::tiny), x, simd::copysign(y, x));
}

}  // namespace onward::simd
