#pragma once
// Log densities of whole vectors: the sums of what densities.hpp has for one observation, up to rounding. In
// gradients by reverse mode each is one node of the tape, and exponentials and logarithms are computed a
// register full at a time.
//
//     f += normal_lpdf(y, alpha + X * beta, sigma);
//     f += bernoulli_logit_lpmf(y, alpha + X * beta);
//     f += normal_lpdf(theta, mu, tau);

#include "onward/ad/data_matrix.hpp"
#include "onward/ad/densities.hpp"

namespace onward {

namespace ad {

/// log P(y | eta) of one log odds eta; y is 0 or not.
struct BernoulliLogit {
  template <int N, class T>
  constexpr Unary<T> at(const T& eta, const T& y) const {
    const T sign = simd::select(y == T(0), T(-1), T(1));
    const Unary<T> f = rule::LogInvLogit{}.template at<N>(T(eta * sign));
    return {f.value, f.first * sign, f.second};
  }
  static constexpr bool has_shift = false;
};

/// log P(y | eta) of one log mean eta, up to the logarithm of y!.
struct PoissonLog {
  template <int N, class T>
  constexpr Unary<T> at(const T& eta, const T& y) const {
    const T mean = hoistable::exp(eta);
    return {eta * y - mean, y - mean, simd::neg(mean)};
  }
  static constexpr bool has_shift = true;
  /// - log y!, which does not move.
  static double shift(double y) {
    static const std::array<double, 256> table = [] {
      std::array<double, 256> logs{};
      for (std::size_t k = 0; k < logs.size(); ++k) logs[k] = simd::lgamma(static_cast<double>(k) + 1.0);
      return logs;
    }();
    const auto k = y >= 0 && y < 256 ? static_cast<std::size_t>(y) : std::size_t{0};
    return static_cast<double>(k) == y ? -table[k] : -simd::lgamma(y + 1.0);
  }
};

/// log N(y; 0, exp(h/2)) of one log variance h.
struct NormalLogVariance {
  template <int N, class T>
  constexpr Unary<T> at(const T& h, const T& y) const {
    const T e = (y * y) * hoistable::exp(simd::neg(h)), half = num<T>(0.5);
    return {num<T>(-0.5) * (h + e) - num<T>(rule::half_log_two_pi), half * e - half, num<T>(-0.5) * e};
  }
  static constexpr bool has_shift = false;
};

/// s + f(x) for a function whose derivatives at x are known.
template <class T>
ONWARD_ALWAYS_INLINE inline T plus_function(const T& s, const Unary<T>& f, const T&) {
  return s + f.value;
}
template <class T>
ONWARD_ALWAYS_INLINE inline Value<T> plus_function(const Value<T>& s, const Unary<T>& f, const Value<T>&) {
  return {s.value + f.value};
}
template <class T, class S>
ONWARD_ALWAYS_INLINE inline Dual<T, S> plus_function(const Dual<T, S>& s, const Unary<T>& f,
                                                     const Dual<T, S>& x) {
  return {s.value + f.value, simd::mul_add(S(f.first), x.slope, s.slope)};
}
template <class T, class S>
ONWARD_ALWAYS_INLINE inline Jet2<T, S> plus_function(const Jet2<T, S>& s, const Unary<T>& f,
                                                     const Jet2<T, S>& x) {
  const S bend = simd::mul_add(S(f.second), S(x.slope * x.slope), s.curvature);
  return {s.value + f.value, simd::mul_add(S(f.first), x.slope, s.slope),
          simd::mul_add(S(f.first), x.curvature, bend)};
}

/// log x, once in a program: it would fill the loops over eight entries.
template <class X>
[[gnu::noinline]] X log_of(const X& x) {
  return chain(rule::Log{}, x);
}

/// How many derivatives a rule has to give.
template <class R>
inline constexpr int order_of = 0;
template <class T, class S>
inline constexpr int order_of<Dual<T, S>> = 1;
template <class T>
inline constexpr int order_of<Reverse<T>> = 1;
template <class T, class S>
inline constexpr int order_of<Jet2<T, S>> = 2;

/// A rule at the places eta(i), i = first, ..., first + 7.
template <int N, class Rule, class Eta, class Y>
[[gnu::noinline]] void eight_at(const Rule& rule, const Eta& eta, const Y& y, std::size_t first,
                                std::array<Unary<double>, 8>& out) {
  using B = simd::Batch<double>;
  constexpr std::size_t width = simd::lanes_v<B>;
  alignas(B) std::array<double, 8> at, data, value, slope, curvature;
  for (std::size_t j = 0; j < 8; ++j) {
    at[j] = eta(first + j);
    data[j] = y.value(first + j);
  }
  for (std::size_t j = 0; j < 8; j += width) {
    const Unary<B> f = rule.template at<N>(B::load_aligned(&at[j]), B::load_aligned(&data[j]));
    f.value.store_aligned(&value[j]);
    f.first.store_aligned(&slope[j]);
    f.second.store_aligned(&curvature[j]);
  }
  for (std::size_t j = 0; j < 8; ++j) out[j] = {value[j], slope[j], curvature[j]};
}

/// The sum over i of what a rule says of y_i at eta_i.
template <class Rule, class Y, class Eta>
[[gnu::noinline]] auto sum_of_rule(const char* name, const Rule& rule, const Y& y, const Eta& eta) {
  static_assert(!AdScalar<Entry<Y>>, "the observations of this density are data");
  using R = NumberOf<Y, Eta>;
  using T = PlainOf<R>;
  constexpr int order = order_of<R>;
  const std::size_t n = common_size(name, y, eta);
  const auto data = source<T, 0>(y, n);
  const auto place = source<R, 1>(eta, n);
  T shift(0);
  if constexpr (Rule::has_shift)
    shift = T(static_cast<simd::scalar_t<T>>(in_eights<double>(
        n, [](double& s, double term) { s += term; },
        Entries{[&](std::size_t i) { return rule.shift(static_cast<double>(y[i])); }})));

  // sums are of kind S; use(s, f, i) adds entry i to one
  const auto add_all = [&]<class S>(std::array<S, 8>& sums, const auto& values, const auto& use) {
    std::size_t i = 0;
    if constexpr (std::same_as<T, double>) {
      std::array<Unary<double>, 8> f;
      for (; i + 8 <= n; i += 8) {
        eight_at<order>(rule, values, data, i, f);
        for (std::size_t j = 0; j < 8; ++j) use(sums[j], f[j], i + j);
      }
    }
    for (; i < n; ++i) use(sums[i % 8], rule.template at<order>(T(values(i)), data.value(i)), i);
  };

  if constexpr (is_reverse<R>) {
    auto& tape = Tape<T>::active();
    tape.read(8 * n);  // with their exponentials
    const std::span<T> weights = tape.scratch(7, n);
    std::array<T, 8> sums;
    sums.fill(T(0));
    add_all(
        sums, [&](std::size_t i) { return place.value(i); },
        [&](T& s, const Unary<T>& f, std::size_t i) {
          s += f.value;
          weights[i] = f.first;
        });
    tape.begin();
    place.scatter(tape, n, [&](std::size_t i) { return weights[i]; });
    return tape.end(fold(sums) + shift);
  } else {
    std::array<R, 8> sums;
    sums.fill(constant<R>(0.0));
    std::array<R, 8> eight;  // those that were asked for last
    add_all(
        sums,
        [&](std::size_t i) {
          eight[i % 8] = R(place.number(i));
          return as_plain<T>(eight[i % 8]);
        },
        [&](R& s, const Unary<T>& f, std::size_t i) { s = plus_function(s, f, eight[i % 8]); });
    return R(fold(sums) + shift);
  }
}

}  // namespace ad

/// y_i, yes (not 0) or no, with log odds eta_i: a vector or alpha + X * beta.
template <ad::NumberVector Y, ad::NumberVector Eta>
auto bernoulli_logit_lpmf(const Y& y, const Eta& eta) {
  return ad::sum_of_rule("bernoulli_logit_lpmf", ad::BernoulliLogit{}, y, eta);
}
template <ad::NumberVector Y, ad::SomeNumber Alpha, ad::NumberVector Beta>
auto bernoulli_logit_lpmf(const Y& y, const DataMatrix& x, const Alpha& alpha, const Beta& beta) {
  return bernoulli_logit_lpmf(y, alpha + x * beta);
}

/// Counts y_i with log means eta_i: a vector or alpha + X * beta.
template <ad::NumberVector Y, ad::NumberVector Eta>
auto poisson_log_lpmf(const Y& y, const Eta& eta) {
  return ad::sum_of_rule("poisson_log_lpmf", ad::PoissonLog{}, y, eta);
}
template <ad::NumberVector Y, ad::SomeNumber Alpha, ad::NumberVector Beta>
auto poisson_log_lpmf(const Y& y, const DataMatrix& x, const Alpha& alpha, const Beta& beta) {
  return poisson_log_lpmf(y, alpha + x * beta);
}

/// Normal y_i with mean 0 and log variances h_i: a vector or alpha + X * beta.
template <ad::NumberVector Y, ad::NumberVector H>
auto normal_log_variance_lpdf(const Y& y, const H& h) {
  return ad::sum_of_rule("normal_log_variance_lpdf", ad::NormalLogVariance{}, y, h);
}

/// The sum of log N(y_i; mu_i, sigma_i). y is a vector of data or parameters, mu and sigma are numbers or
/// vectors, and mu may be alpha + X * beta.
template <ad::NumberVector Y, class M, class S>
[[gnu::noinline]] auto normal_lpdf(const Y& y, const M& mu, const S& sigma) {
  using R = ad::NumberOf<Y, M, S>;
  using T = ad::PlainOf<R>;
  const std::size_t n = ad::common_size("normal_lpdf", y, mu, sigma);
  const auto a = ad::source<R, 0>(y, n);
  const auto b = ad::source<R, 1>(mu, n);
  const auto s = ad::source<R, 2>(sigma, n);
  const T count(static_cast<simd::scalar_t<T>>(n)), constant = count * ad::num<T>(ad::rule::half_log_two_pi);

  // Of a number there is one reciprocal and one logarithm.
  constexpr bool one_sigma = !ad::NumberVector<S>;
  if constexpr (ad::is_reverse<R>) {
    auto& tape = Tape<T>::active();
    tape.read(n);
    const std::span<T> to_mean = tape.scratch(7, n), to_sigma = tape.scratch(8, s.moves ? n : 0);
    const T once = one_sigma ? T(T(1) / s.value(0)) : T(0);
    const auto inverse = [&](std::size_t i) { return one_sigma ? once : T(T(1) / s.value(i)); };
    const T squares = ad::in_eights<T>(
        n, [](T& sum, const T& z) { sum = ad::plus_product(sum, z, z); }, ad::Entries{[&](std::size_t i) {
          const T r = inverse(i), z = (a.value(i) - b.value(i)) * r;
          to_mean[i] = z * r;
          if constexpr (s.moves) to_sigma[i] = simd::mul_add(z, z, T(-1)) * r;
          return z;
        }});
    T logs = count * ad::log_of(s.value(0));
    if constexpr (!one_sigma)
      logs = ad::in_eights<T>(
          n, [](auto& sum, const auto& x) { sum += ad::log_of(x); }, ad::values_of(s));
    tape.begin();
    a.scatter(tape, n, [&](std::size_t i) { return simd::neg(to_mean[i]); });
    b.scatter(tape, n, [&](std::size_t i) { return to_mean[i]; });
    s.scatter(tape, n, [&](std::size_t i) { return to_sigma[i]; });
    return tape.end((ad::num<T>(-0.5) * squares - logs) - constant);
  } else {
    const auto reciprocal = [](const auto& x) { return ad::chain(ad::rule::Inverse{}, x); };
    if constexpr (one_sigma) {
      const auto once = reciprocal(s.number(0));
      const R squares = ad::in_eights<R>(
          n,
          [](auto& sum, const auto& yi, const auto& mi, const auto& r) {
            const auto z = (yi - mi) * r;
            sum = ad::plus_product(sum, z, z);
          },
          a, b, ad::source<R, 2>(once, n));
      return R((squares * ad::num<T>(-0.5) - ad::log_of(s.number(0)) * count) - constant);
    } else {
      using Sigma = std::remove_cvref_t<decltype(s.number(0))>;
      const R squares = ad::in_eights<R>(
          n,
          [&](auto& sum, const auto& yi, const auto& mi, const auto& si) {
            const auto z = (yi - mi) * reciprocal(si);
            sum = ad::plus_product(sum, z, z);
          },
          a, b, s);
      const Sigma logs = ad::in_eights<Sigma>(
          n, [](auto& sum, const auto& x) { sum += ad::log_of(x); }, s);
      return R((squares * ad::num<T>(-0.5) - logs) - constant);
    }
  }
}

}  // namespace onward
