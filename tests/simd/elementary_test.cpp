// Every function against the C library's long double, and every lane of a batch against the plain number.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <onward/simd/special.hpp>
#include <random>
#include <string>
#include <vector>

namespace simd = onward::simd;

namespace {

template <class S>
bool same_bits(S a, S b) {
  return simd::to_bits(a) == simd::to_bits(b) || (std::isnan(a) && std::isnan(b));
}

/// Distance in units in the last place of the correctly rounded result.
template <class S>
double ulps(S got, long double exact) {
  using L = std::numeric_limits<S>;
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const S rounded = static_cast<S>(exact);
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e9;
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int last = std::max(exponent, L::min_exponent) - L::digits;
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / std::ldexp(1.0L, last));
}

/// Awkward points, then points spread over all magnitudes, then over everyday ones.
template <class S>
std::vector<S> points() {
  using L = std::numeric_limits<S>;
  std::vector<S> x = {S(0),
                      S(-0.0),
                      L::infinity(),
                      -L::infinity(),
                      L::quiet_NaN(),
                      L::min(),
                      -L::min(),
                      S(1),
                      S(-1),
                      L::max(),
                      -L::max(),
                      L::denorm_min(),
                      S(0.5),
                      S(2),
                      S(-2),
                      S(-0.5),
                      L::epsilon(),
                      -L::denorm_min(),
                      S(0.34657359028L),
                      S(-0.34657L),
                      S(0.55),
                      S(709.79),
                      S(-745.2),
                      S(88.73),
                      S(-103.98),
                      S(1e6),
                      S(1e4)};
  for (int q = 1; q < 6000; q += 7) {  // near the zeros of sin and cos
    const S near = static_cast<S>(q * 1.57079632679489661923132169163975144L);
    x.insert(x.end(), {near, -near, std::nextafter(near, S(0)), std::nextafter(near, S(1e9))});
  }
  std::mt19937_64 bits(20240601);
  std::uniform_real_distribution<double> exponent(L::min_exponent - L::digits, L::max_exponent),
      wide(-800, 800), middle(-30, 30), small(-2, 2);
  for (int i = 0; i < 20000; ++i) {
    const double magnitude = std::exp2(exponent(bits));
    x.push_back(static_cast<S>(i % 2 ? magnitude : -magnitude));
    x.push_back(static_cast<S>(wide(bits)));
    x.push_back(static_cast<S>(middle(bits)));
    for (int k = 0; k < 3; ++k) x.push_back(static_cast<S>(small(bits)));
  }
  x.resize(x.size() / 64 * 64);
  return x;
}

template <class S>
struct Case {
  using B = simd::Batch<S>;
  std::string name;
  std::function<S(S)> one;
  std::function<B(const B&)> many;
  std::function<long double(long double)> exact;
  double bound;  // in units in the last place
};

#define CASE(f, bound)                                                                                       \
  Case<S> {                                                                                                  \
#f, [](S x) { return simd::f(x); },                                                                      \
                                     [](const B& x) { return simd::f(x); },                                  \
                                                                         [](long double                      \
                                                                                x) { return std::f(x); },    \
                                                                                                       bound \
  }

template <class S>
class Elementary : public testing::Test {};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(Elementary, Scalars);

TYPED_TEST(Elementary, IsAccurateAndTheSameInEveryLane) {
  using S = TypeParam;
  using B = simd::Batch<S>;
  const auto inputs = points<S>();
  const std::vector<Case<S>> cases = {
      CASE(exp, 1.25), CASE(expm1, 1.5), CASE(log, 1.1),  CASE(log1p, 1.1), CASE(sin, 1.1),
      CASE(cos, 1.1),  CASE(tanh, 1.75), CASE(sqrt, 0.5), CASE(floor, 0),   CASE(ceil, 0),
      CASE(abs, 0),    CASE(log2, 3),    CASE(log10, 3),  CASE(cbrt, 3),    CASE(tan, 3),
      CASE(asin, 3),   CASE(acos, 3),    CASE(atan, 3),   CASE(sinh, 4),    CASE(cosh, 3),
      CASE(asinh, 4),  CASE(acosh, 4),   CASE(atanh, 4),  CASE(erf, 3),     CASE(erfc, 6)};
  for (const auto& c : cases) {
    double worst = 0;
    S at = 0;
    for (std::size_t i = 0; i < inputs.size(); i += B::size) {
      const B y = c.many(B::load_unaligned(&inputs[i]));
      for (std::size_t j = 0; j < B::size; ++j) {
        const S one = c.one(inputs[i + j]);
        ASSERT_TRUE(same_bits(one, simd::lane(y, j))) << c.name << "(" << inputs[i + j] << ")";
        const double error = ulps(one, c.exact(inputs[i + j]));
        if (error > worst) worst = error, at = inputs[i + j];
      }
    }
    EXPECT_LE(worst, c.bound) << c.name << " at " << at;
  }
}

TYPED_TEST(Elementary, TwoArgumentFunctionsAreTheSameInEveryLane) {
  using S = TypeParam;
  using B = simd::Batch<S>;
  const auto x = points<S>();
  const std::vector<S> y(x.rbegin(), x.rend());
  const auto check = [&](const char* name, auto f) {
    for (std::size_t i = 0; i < x.size(); i += B::size) {
      const B z = f(B::load_unaligned(&x[i]), B::load_unaligned(&y[i]));
      for (std::size_t j = 0; j < B::size; ++j)
        ASSERT_TRUE(same_bits(S(f(x[i + j], y[i + j])), simd::lane(z, j)))
            << name << " " << x[i + j] << " " << y[i + j];
    }
  };
  check("pow", [](auto a, auto b) { return simd::pow(a, b); });
  check("atan2", [](auto a, auto b) { return simd::atan2(a, b); });
  check("hypot", [](auto a, auto b) { return simd::hypot(a, b); });
  check("min", [](auto a, auto b) { return simd::min(a, b); });
  check("max", [](auto a, auto b) { return simd::max(a, b); });
  check("copysign", [](auto a, auto b) { return simd::copysign(a, b); });
  check("mul_add", [](auto a, auto b) { return simd::mul_add(a, b, decltype(a)(S(-1))); });
  check("neg", [](auto a, auto) { return simd::neg(a); });
  check("round_to_even", [](auto a, auto) { return simd::round_to_even(a); });
  check("is_nan", [](auto a, auto b) { return simd::select(simd::is_nan(a), b, a); });
  check("is_finite", [](auto a, auto b) { return simd::select(simd::is_finite(a), b, decltype(a)(S(7))); });
  check("lgamma", [](auto a, auto) { return simd::lgamma(a); });
  check("digamma", [](auto a, auto) { return simd::digamma(a); });
}

TYPED_TEST(Elementary, SineAndCosineOfTurns) {
  using S = TypeParam;
  using B = simd::Batch<S>;
  const long double two_pi = 6.283185307179586476925286766559L;
  std::mt19937_64 bits(5);
  alignas(B) std::array<S, B::size> u;
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    for (auto& v : u) v = static_cast<S>(std::generate_canonical<double, 53>(bits));
    if (i == 0) u[0] = 0, u[1] = S(0.125);
    if (i == 1) u[0] = S(0.5), u[1] = S(0.75);
    const auto both = simd::sincos_2pi(B::load_aligned(u.data()));
    for (std::size_t j = 0; j < B::size; ++j) {
      const auto one = simd::sincos_2pi(u[j]);
      ASSERT_TRUE(same_bits(one.sin, simd::lane(both.sin, j)) && same_bits(one.cos, simd::lane(both.cos, j)));
      const long double quarter = std::round(4 * static_cast<long double>(u[j]));
      const long double r = two_pi * (u[j] - quarter / 4);
      const long double s[] = {std::sin(r), std::cos(r), -std::sin(r), -std::cos(r)};
      const auto q = static_cast<std::size_t>(quarter) % 4;
      if (s[q] != 0) worst = std::max(worst, ulps(one.sin, s[q]));
      if (s[(q + 1) % 4] != 0) worst = std::max(worst, ulps(one.cos, s[(q + 1) % 4]));
    }
  }
  EXPECT_LE(worst, 2.25);
  EXPECT_EQ(simd::sincos_2pi(S(0.5)).cos, S(-1));
  EXPECT_EQ(simd::sincos_2pi(S(0.25)).sin, S(1));
}

TEST(Special, DigammaAtPolesAndKnownPoints) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(simd::digamma(1.0), -0.57721566490153286061, 1e-15);
  EXPECT_NEAR(simd::digamma(0.5), -1.96351002602142347944, 4e-15);
  EXPECT_NEAR(simd::digamma(-1.5), 0.70315664064524318723, 4e-15);
  EXPECT_EQ(simd::digamma(inf), inf);
  EXPECT_EQ(simd::digamma(0.0), -inf);
  EXPECT_EQ(simd::digamma(-0.0), inf);
  EXPECT_TRUE(std::isnan(simd::digamma(-3.0)));
  EXPECT_TRUE(std::isnan(simd::digamma(-inf)));
  EXPECT_NEAR(simd::lgamma(10.0), 12.8018274800814696112, 1e-14);
  EXPECT_EQ(simd::lgamma(-2.0), inf);
}

TEST(Batch, MasksAndLanes) {
  using B = simd::Batch<double>;
  const B one(1.0), two(2.0);
  EXPECT_TRUE(simd::all(one < two));
  EXPECT_FALSE(simd::any(one > two));
  std::array<double, B::size> a;
  for (std::size_t j = 0; j < a.size(); ++j) a[j] = static_cast<double>(j);
  const B x = B::load_unaligned(a.data());
  EXPECT_TRUE(simd::any(x == B(0.0)));
  EXPECT_FALSE(simd::all(x == B(0.0)));
  for (std::size_t n = 0; n < a.size(); ++n) {
    const B part = simd::load_partial(a.data(), n);
    std::array<double, B::size> to;
    to.fill(-1.0);
    simd::store_partial(to.data(), n, x);
    for (std::size_t j = 0; j < a.size(); ++j) {
      EXPECT_EQ(simd::lane(part, j), j < n ? a[j] : 0.0);
      EXPECT_EQ(to[j], j < n ? a[j] : -1.0);
    }
  }
}

}  // namespace
