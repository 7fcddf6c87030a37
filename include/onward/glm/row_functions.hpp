#pragma once
// The log likelihood of one row as a function of its linear predictor, with two derivatives, for a number or
// for a register of rows (same bits). In float each is good to a few units in the last place of its largest
// term; forms that subtract large numbers are written so that what remains is accurate (deviances for counts,
// log1p and expm1 elsewhere).

#include <onward/simd/elementary.hpp>

namespace onward::glm {

/// Value and derivatives by the linear predictor.
template <simd::Real T>
struct RowJet {
  T value, slope, curvature;
};

namespace detail {

/// c[0] + c[1] x + ... with the fewest operations: in these loops many rows are under way, so latency is
/// hidden.
template <simd::Real T, std::size_t N>
[[gnu::always_inline]] inline T horner(const T& x, const simd::scalar_t<T> (&c)[N]) {
  T sum(c[N - 1]);
  for (std::size_t i = N - 1; i > 0; --i) sum = simd::mul_add(sum, x, T(c[i - 1]));
  return sum;
}

/// -|x|
template <simd::Real T>
[[gnu::always_inline]] inline T minus_abs(const T& x) {
  if constexpr (simd::is_batch_v<T>)
    return simd::from_bits<T>(simd::to_bits(x) | simd::to_bits(T(simd::scalar_t<T>(-0.0))));
  else
    return -std::abs(x);
}

// The polynomials below interpolate at Chebyshev nodes; errors are of the whole expression, absolute.

/// e^a for a float a <= 0: error 1e-7.
template <simd::Real T>
[[gnu::always_inline]] inline T exp_of_negative(T a) {
  using K = simd::detail::ConstantsOf<T>;
#if !defined(__AVX512F__)
  a = simd::max(T(K::exp_min), a);  // without the scaling instruction, exponents must stay in range
#endif
  constexpr float power[] = {1.000000075f,   0.693147188f,    0.2402210749f,
                             0.05550357114f, 0.009676031918f, 0.001339086336f};  // 2^f, |f| <= 1/2
  const T n = simd::detail::nearest_whole(a, K::log2_e);
  const T f = simd::mul_add(a, T(K::log2_e), T(T(0.0f) - n));
  return simd::detail::scale(horner(f, power), n);
}

/// log(1 + e) / e for a float e in [0, 1]: error 2e-8.
template <simd::Real T>
[[gnu::always_inline]] inline T log1p_ratio(const T& e) {
  constexpr float c[] = {0.999999965926f,  -0.499994449763f,  0.333181217075f,
                         -0.248353989885f, 0.190768807357f,   -0.136022476225f,
                         0.0775160867404f, -0.0290740646775f, 0.00512610214097f};
  return horner(e, c);
}

/// 1 / (1 + e) for a float e in [0, 1]: a cubic good to 2e-3, then one step of third order; cheaper than a
/// division.
template <simd::Real T>
[[gnu::always_inline]] inline T reciprocal_1p(const T& e) {
  constexpr float c[] = {0.998266897747f, -0.94280762565f, 0.665511265165f, -0.221837088388f};
  const T near = horner(e, c);
  const T rest = simd::mul_add(T(T(-1.0f) - e), near, T(1.0f));
  return simd::mul_add(near, simd::mul_add(rest, rest, rest), near);
}

/// What the logistic function is made of, with e = exp(-|t|).
template <simd::Real T>
struct Logistic {
  T softplus_rest;  ///< log(1 + e), so that log(1 + exp(t)) = max(t, 0) + this
  T q;              ///< 1 / (1 + e)
  T eq;             ///< e / (1 + e)
};

template <simd::Real T>
[[gnu::always_inline]] inline Logistic<T> logistic(const T& t) {
  if constexpr (std::same_as<simd::scalar_t<T>, double>) {
    const T e = simd::exp(minus_abs(t));
    const T q = T(1.0) / (T(1.0) + e);
    return {simd::log1p(e), q, T(e * q)};
  } else {
    const T e = exp_of_negative(minus_abs(t));
    const T q = reciprocal_1p(e);
    return {T(e * log1p_ratio(e)), q, T(e * q)};
  }
}

}  // namespace detail

/// y successes and f failures with log odds t: y t - (y + f) log(1 + e^t). No term is larger than the result
/// warrants, so that f may be the large phi of a nearly Poisson count.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> logit_row(const T& t, const T& y, const T& f) {
  const auto [rest, q, eq] = detail::logistic(t);
  const T n = y + f;
  const auto left = t < T(simd::scalar_t<T>(0));
  const T surprising = simd::select(left, y, f);  // outcomes against the odds
  const T gap = simd::mul_add(n, eq, simd::neg(surprising));
  return {simd::neg(simd::mul_add(n, rest, T(surprising * simd::abs(t)))),
          simd::select(left, simd::neg(gap), gap), simd::neg(T(n * T(q * eq)))};
}

/// One trial with log odds t, given y - 1/2: the loop that most regressions spend their time in, so every
/// operation counts. Derivatives are accurate to a float's rounding of 1, not to their own where they vanish.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> bernoulli_row(const T& t, const T& y_less_half) {
  using S = simd::scalar_t<T>;
  const T half(S(0.5)), a = detail::minus_abs(t);
  T e, loss, q;  // loss: -log(1 + e^|t|) + |t|/2
  if constexpr (std::same_as<S, double>) {
    e = simd::exp(a);
    loss = a * half - simd::log1p(e);
    q = T(1.0) / (T(1.0) + e);
  } else {
    e = detail::exp_of_negative(a);
    loss = simd::mul_add(T(T(0.0f) - e), detail::log1p_ratio(e), T(a * half));
    q = detail::reciprocal_1p(e);
  }
  return {simd::mul_add(y_less_half, t, loss), T(y_less_half - simd::copysign(T(q - half), t)),
          T(q * T(q - T(S(1))))};
}

/// A count y with log mean eta: y eta - e^eta, less its largest value where y > 0, and plus 1 where y = 0.
/// Takes t = eta - log m, m = y or 1: y t - m (e^t - 1).
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> poisson_row(const T& t, const T& y, const T& m) {
  const T grown = simd::expm1(t);
  const T change = m * grown;
  return {simd::mul_add(y, t, simd::neg(change)), T(T(y - m) - change), simd::neg(T(m + change))};
}

/// -(y - eta)^2 / 2: variance 1.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> gaussian_row(const T& eta, const T& y) {
  using S = simd::scalar_t<T>;
  const T r = y - eta;
  return {T(T(S(-0.5)) * T(r * r)), r, T(S(-1))};
}

/// A number y of mean e^eta, shape 1 and t = eta - log y: -t - e^-t + 1, which is 0 at its largest.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> gamma_row(const T& t) {
  using S = simd::scalar_t<T>;
  const T excess = simd::expm1(simd::neg(t));  // y / mean - 1
  return {simd::neg(T(t + excess)), excess, simd::neg(T(excess + T(S(1))))};
}

/// log Phi(z), for s eta with s = 1 where y = 1 and -1 where y = 0; derivatives by z.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> log_normal_cdf(const T& z) {
  using S = simd::scalar_t<T>;
  const T one(S(1)), half(S(0.5)), zero(S(0));
  const T x = simd::abs(z) * T(S(0.70710678118654752440));
  // erfc(x) = u exp(-x^2 + g) with u = 2 / (2 + x), g smooth in u: its Chebyshev interpolant in 2u - 1.
  const T u = T(S(2)) / (T(S(2)) + x);
  const T s = simd::mul_add(T(S(2)), u, T(S(-1)));
  T g;
  if constexpr (std::same_as<S, double>) {
    static constexpr double c[] = {
        -0.671794084056692265,    0.672643223977655911,      0.0473433068419041545,
        -0.0468956102310771636,   -0.00987268936637686523,   0.00882493855355717079,
        0.00175893355755305847,   -0.00234581244219484111,   -0.000146246860982796857,
        0.000673678248761925941,  -0.0000937350449920880419, -0.000174299745391281151,
        0.0000714010649696927577, 0.0000317327692102554383,  -0.0000301880086351740256,
        1.70656436826080497e-7,   8.56282780703802425e-6,    -3.00872584281553955e-6,
        -1.27253849184650638e-6,  1.32784478146085649e-6,    -1.68333217588304029e-7,
        -3.17503656817542185e-7,  1.53269452247724201e-7,    3.99658454906440205e-8,
        -3.91538236811506434e-8,  -1.62576340042000026e-9,   4.05920341687131973e-9};
    g = simd::detail::polynomial_of(s, c);
  } else {
    static constexpr float c[] = {-0.6717940841f,    0.6726431523f,    0.04734334109f,   -0.0468935903f,
                                  -0.009873662468f,  0.008808544323f,  0.001767003253f,  -0.002288123657f,
                                  -0.0001758054723f, 0.0005731254989f, -3.825410526e-5f, -8.705098833e-5f,
                                  1.540181728e-5f};
    g = simd::detail::polynomial_of(s, c);
  }
  const T scaled = u * simd::exp(g);              // erfc(x) exp(x^2)
  const T bell = simd::exp(T(simd::neg(x) * x));  // exp(-z^2/2)
  const T upper = half * T(scaled * bell);        // 1 - Phi(|z|)
  const auto left = z < zero;
  const T value = simd::select(left, T(simd::log(T(half * scaled)) - x * x), simd::log1p(simd::neg(upper)));
  const T root_two_over_pi(S(0.79788456080286535588));
  const T mills =
      simd::select(left, T(root_two_over_pi / scaled), T(half * root_two_over_pi * bell / (one - upper)));
  return {value, mills, simd::neg(T(mills * T(z + mills)))};
}

/// Yes (y = 1) or no with normal quantile eta, given s = 2 y - 1.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> probit_row(const T& eta, const T& s) {
  const RowJet<T> j = log_normal_cdf(T(s * eta));
  return {j.value, T(s * j.slope), j.curvature};
}

/// Yes (y = 1) with probability 1 - exp(-e^eta), else no.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> cloglog_row(const T& eta, const T& y) {
  using S = simd::scalar_t<T>;
  const T one(S(1)), zero(S(0));
  const auto yes = y > T(S(0.5));
  const T m = simd::exp(eta);
  // For yes, log(1 - e^-m): by its own forms for small and large m; nothing is left of m beyond 80.
  const T near = simd::min(m, T(S(80)));
  const T low = simd::exp(simd::neg(near));
  const T lost = simd::expm1(simd::neg(near));  // -(1 - e^-m)
  const T small = simd::log(simd::neg(lost));
  const T value = simd::select(near < T(S(0.7)), simd::select(m < T(S(1e-5)), T(eta - T(S(0.5)) * m), small),
                               simd::log1p(simd::neg(low)));
  // m / (e^m - 1), 1 where m vanishes
  const T g =
      simd::select(m < T(S(1e-30)), one, T(simd::neg(T(near * low)) / simd::select(lost == zero, one, lost)));
  return {simd::select(yes, value, simd::neg(m)), simd::select(yes, g, simd::neg(m)),
          simd::select(yes, T(g * T((one - near) - g)), simd::neg(m))};
}

/// A number y of location eta and scale s, t distributed with nu degrees of freedom, given 1 / s, 1 / nu and
/// nu + 1: -(nu + 1) / 2 log(1 + z^2 / nu) with z = (y - eta) / s. Far out the density is not log concave;
/// the curvature that touches is that of the normal which touches the density from below.
template <bool touching, simd::Real T>
[[gnu::always_inline]] inline RowJet<T> student_row(const T& eta, const T& y, const T& inverse_scale,
                                                    const T& inverse_nu, const T& nu_plus_one) {
  using S = simd::scalar_t<T>;
  const T one(S(1)), z = T(y - eta) * inverse_scale, far = T(z * z) * inverse_nu;
  const T weight = T(nu_plus_one * inverse_nu) / T(one + far);
  const T h = weight * T(inverse_scale * inverse_scale);
  return {T(T(S(-0.5)) * nu_plus_one) * simd::log1p(far), T(weight * T(z * inverse_scale)),
          touching ? T(simd::neg(h)) : T(T(h * T(far - one)) / T(one + far))};
}

/// log(logistic(a) - logistic(b)) less log(1 - e^(b - a)), with a and b the thresholds above and below y less
/// eta. The thresholds of the classes at the ends are far away.
template <simd::Real T>
[[gnu::always_inline]] inline RowJet<T> ordinal_row(const T& eta, const T& above, const T& below) {
  using S = simd::scalar_t<T>;
  const T most(S(1000)), zero(S(0));
  const T a = simd::min(T(above - eta), most), b = simd::max(T(below - eta), simd::neg(most));
  const auto at_a = detail::logistic(a), at_b = detail::logistic(b);
  const auto a_right = a > zero, b_right = b > zero;
  const T no_a = simd::select(a_right, at_a.eq, at_a.q);  // 1 - logistic(a)
  const T yes_b = simd::select(b_right, at_b.q, at_b.eq);
  const T loss_a = simd::max(simd::neg(a), zero) + at_a.softplus_rest,
          loss_b = simd::max(b, zero) + at_b.softplus_rest;
  return {simd::neg(T(loss_a + loss_b)), T(yes_b - no_a),
          simd::neg(T(T(at_a.q * at_a.eq) + T(at_b.q * at_b.eq)))};
}

/// A count of 0 that is one for certain with odds e^u, else one of a Poisson distribution of log mean eta:
/// log(e^u + e^-mu). The curvature that touches is that of a Poisson row that counts as often as 0 is likely
/// to be its own.
template <bool touching, simd::Real T>
[[gnu::always_inline]] inline RowJet<T> inflated_zero_row(const T& eta, const T& u) {
  using S = simd::scalar_t<T>;
  // A mean may be as large as it likes where 0 is certain; the logistic function has its limit by then.
  const T mu = simd::min(simd::exp(eta), T(S(1e30))), w = simd::min(T(u + mu), T(S(1000)));
  const auto odds = detail::logistic(w);
  const auto right = w > T(S(0));
  const T own = simd::select(right, odds.eq, odds.q), other = simd::select(right, odds.q, odds.eq);
  const T h = mu * own;
  return {T(simd::max(u, simd::neg(mu)) + odds.softplus_rest), simd::neg(h),
          touching ? T(simd::neg(h)) : T(h * T(T(mu * other) - T(S(1))))};
}

}  // namespace onward::glm
