// Row functions against automatic differentiation, at ordinary and extreme predictors, and lane against
// number.

#include "onward/glm/row_functions.hpp"

#include <gtest/gtest.h>

#include "reference.hpp"

namespace onward::testing {
namespace {

using glm::RowJet;

/// Value, slope and curvature of a plain function at x.
template <class F>
Jet exact(const F& f, double x) {
  const auto j = f(Jet2<double>(x, 1.0, 0.0));
  return {j.value, j.slope, j.curvature};
}

const std::vector<double> places{-30, -12, -7.5, -3, -1, -0.3, -1e-3, 0, 1e-4, 0.2, 0.69, 1, 2.5, 6, 11, 25};

template <class S>
constexpr double unit = std::same_as<S, float> ? 2e-7 : 1e-13;

/// Errors are to be small beside the largest term that the row has.
template <class S>
void expect_row(const RowJet<S>& row, const Jet& wanted, double size, double x) {
  EXPECT_NEAR(static_cast<double>(row.value), wanted.value, unit<S> * size) << x;
  EXPECT_NEAR(static_cast<double>(row.slope), wanted.slope, unit<S> * size) << x;
  EXPECT_NEAR(static_cast<double>(row.curvature), wanted.curvature, unit<S> * size) << x;
}

template <class S>
void expect_rows() {
  for (const double place : places) {
    const double x = static_cast<S>(place);
    const S s(static_cast<S>(x));
    for (const double y : {0.0, 1.0}) {
      expect_row(glm::bernoulli_row(s, S(y - 0.5)), exact([&](auto t) { return y * t - softplus(t); }, x),
                 1 + std::abs(x), x);
      expect_row(glm::probit_row(s, S(2 * y - 1)),
                 exact([&](auto t) { return normal_lcdf(t * (2 * y - 1)); }, x), 3 * (1 + x * x), x);
      if (x < 20)
        expect_row(glm::cloglog_row(s, S(y)),
                   exact(
                       [&](auto t) {
                         using std::exp, std::expm1, std::log, std::log1p;
                         const auto m = exp(t);
                         if (y == 0) return decltype(t)(-m);
                         return m < 1 ? decltype(t)(log(-expm1(-m))) : decltype(t)(log1p(-exp(-m)));
                       },
                       x),
                   4 * (1 + std::exp(std::min(x, 3.0)) + (y == 0 ? std::exp(x) : std::abs(x))), x);
    }
    for (const auto& [y, f] : {std::pair{3.0, 4.0}, {0.0, 7.0}, {250.0, 0.0}, {2.0, 1e5}})
      expect_row(glm::logit_row(s, S(y), S(f)),
                 exact([&](auto t) { return y * t - (y + f) * softplus(t); }, x),
                 4 * ((y + f) * std::exp(std::min(x, 0.0)) + y * std::abs(x) + (x > 0 ? f * x : 0) + 1), x);
    for (const double y : {0.0, 1.0, 7.0, 4000.0}) {
      if (x > 12) continue;
      const double m = std::max(y, 1.0);
      const S log_m = S(std::log(m));
      const double shift = static_cast<double>(log_m);
      const auto wanted = exact(
          [&](auto t) {
            using std::expm1;
            return y * t - m * expm1(t);
          },
          x - shift);
      expect_row(glm::poisson_row(S(s - log_m), S(y), S(m)), wanted,
                 4 * (m * std::exp(x - shift) + m + y * std::abs(x - shift)), x);
    }
    expect_row(glm::student_row<false>(s, S(0.5), S(0.8), S(0.25), S(5)),
               exact(
                   [&](auto t) {
                     using std::log1p;
                     const auto z = (0.5 - t) * static_cast<double>(S(0.8));
                     return -2.5 * log1p(z * z * 0.25);
                   },
                   x),
               12, x);
    expect_row(glm::ordinal_row(s, S(1.5), S(0.25)),
               exact([&](auto t) { return -softplus(t - 1.5) - softplus(0.25 - t); }, x),
               3 * (1 + std::abs(x)), x);
    if (x < 5)
      expect_row(glm::inflated_zero_row<false>(s, S(-0.75)),
                 exact(
                     [&](auto t) {
                       using std::exp;
                       const auto mean = exp(t);
                       return softplus(-0.75 + mean) - mean;
                     },
                     x),
                 8 * (1 + std::exp(2 * x)), x);
    if (x > -20)
      expect_row(glm::gamma_row(s),
                 exact(
                     [&](auto t) {
                       using std::expm1;
                       return -t - expm1(-t);
                     },
                     x),
                 1 + std::abs(x) + std::exp(-x), x);
    expect_row(glm::gaussian_row(s, S(0.5)), exact([&](auto t) { return -0.5 * ((0.5 - t) * (0.5 - t)); }, x),
               1 + x * x, x);
  }
}

TEST(RowFunctions, AgreeWithDerivativesInFloat) { expect_rows<float>(); }
TEST(RowFunctions, AgreeWithDerivativesInDouble) { expect_rows<double>(); }

/// A thousand: certain outcomes have value 0 and nothing left to learn; impossible ones are linear.
TEST(RowFunctions, ExtremePredictors) {
  // A zero may be certain however large the mean would be.
  const auto zero = glm::inflated_zero_row<false>(200.0f, -2.0f);
  EXPECT_FLOAT_EQ(zero.value, -2.0f);
  EXPECT_EQ(zero.slope, 0.0f);
  EXPECT_EQ(zero.curvature, 0.0f);
  EXPECT_NEAR(glm::inflated_zero_row<true>(-200.0f, -2.0f).value, std::log1p(std::exp(-2.0f)), 1e-6f);
  const auto far = glm::student_row<true>(1e15f, 0.0f, 1.0f, 0.25f, 5.0f);
  EXPECT_NEAR(far.value, -2.5f * std::log(0.25e30f), 1e-3f);
  EXPECT_NEAR(far.slope * 1e15f, -5.0f, 1e-4f);
  const auto last = glm::ordinal_row(300.0f, 1e6f, 2.0f), first = glm::ordinal_row(300.0f, 0.0f, -1e6f);
  EXPECT_EQ(last.value, 0.0f);
  EXPECT_FLOAT_EQ(first.value, -300.0f);
  EXPECT_FLOAT_EQ(first.slope, -1.0f);
  const auto sure = glm::bernoulli_row(1000.0f, 0.5f), wrong = glm::bernoulli_row(-1000.0f, 0.5f);
  EXPECT_EQ(sure.value, 0.0f);
  EXPECT_NEAR(sure.slope, 0, 1e-7);
  EXPECT_NEAR(sure.curvature, 0, 1e-7);
  EXPECT_FLOAT_EQ(wrong.value, -1000.0f);
  EXPECT_NEAR(wrong.slope, 1, 1e-7);
  const auto counts = glm::logit_row(-1000.0, 3.0, 4.0);
  EXPECT_DOUBLE_EQ(counts.value, -3000.0);
  EXPECT_DOUBLE_EQ(counts.slope, 3.0);
  const auto probit = glm::probit_row(-1000.0f, 1.0f);
  EXPECT_NEAR(probit.value, -500007.83f, 0.5f);
  EXPECT_NEAR(probit.slope, 1000.0f, 0.5f);
  EXPECT_EQ(glm::probit_row(1000.0f, 1.0f).value, 0.0f);
  const auto none = glm::poisson_row(-1000.0f, 0.0f, 1.0f);
  EXPECT_FLOAT_EQ(none.value, 1.0f);  // that is -e^eta, plus 1
  EXPECT_EQ(none.slope, 0.0f);
  EXPECT_EQ(glm::poisson_row(1000.0f, 2.0f, 2.0f).value, -INFINITY);  // a place without density
  const auto yes = glm::cloglog_row(1000.0f, 1.0f);
  EXPECT_NEAR(yes.value, 0, 1e-30);
  EXPECT_NEAR(yes.slope, 0, 1e-30);
  EXPECT_FALSE(std::isnan(yes.curvature));
  EXPECT_FLOAT_EQ(glm::cloglog_row(-1000.0f, 1.0f).value, -1000.0f);
  EXPECT_EQ(glm::cloglog_row(-1000.0f, 0.0f).value, 0.0f);
}

template <class S, class F>
void expect_same_bits(const F& f) {
  using T = simd::Batch<S>;
  std::vector<double> z(16 * simd::lanes_v<T>);
  Stream(2, 0).normals(0, Purpose::noise, z);
  for (std::size_t i = 0; i < z.size(); i += simd::lanes_v<T>) {
    alignas(T) std::array<S, simd::lanes_v<T>> in;
    for (std::size_t j = 0; j < in.size(); ++j) in[j] = static_cast<S>(8 * z[i + j]);
    const RowJet<T> all = f(T::load_aligned(in.data()));
    for (std::size_t j = 0; j < in.size(); ++j) {
      const RowJet<S> one = f(in[j]);
      EXPECT_EQ(simd::lane(all.value, j), one.value) << in[j];
      EXPECT_EQ(simd::lane(all.slope, j), one.slope) << in[j];
      EXPECT_EQ(simd::lane(all.curvature, j), one.curvature) << in[j];
    }
  }
}

template <class S>
void expect_all_same_bits() {
  expect_same_bits<S>([](auto t) { return glm::bernoulli_row(t, decltype(t)(S(0.5))); });
  expect_same_bits<S>([](auto t) { return glm::logit_row(t, decltype(t)(S(3)), decltype(t)(S(1.5))); });
  expect_same_bits<S>([](auto t) { return glm::poisson_row(t, decltype(t)(S(3)), decltype(t)(S(3))); });
  expect_same_bits<S>([](auto t) { return glm::probit_row(t, decltype(t)(S(-1))); });
  expect_same_bits<S>([](auto t) { return glm::cloglog_row(t, decltype(t)(S(1))); });
  expect_same_bits<S>([](auto t) { return glm::cloglog_row(t, decltype(t)(S(0))); });
  expect_same_bits<S>([](auto t) { return glm::gamma_row(t); });
  expect_same_bits<S>([](auto t) {
    using T = decltype(t);
    return glm::student_row<false>(t, T(S(1)), T(S(2)), T(S(0.3)), T(S(4)));
  });
  expect_same_bits<S>([](auto t) { return glm::ordinal_row(t, decltype(t)(S(1.5)), decltype(t)(S(0))); });
  expect_same_bits<S>([](auto t) { return glm::inflated_zero_row<false>(t, decltype(t)(S(-1))); });
  expect_same_bits<S>([](auto t) { return glm::gaussian_row(t, decltype(t)(S(1))); });
}

TEST(RowFunctions, LanesHaveTheBitsOfNumbers) {
  expect_all_same_bits<float>();
  expect_all_same_bits<double>();
}

}  // namespace
}  // namespace onward::testing
