// Closed forms where finite differences cannot go: limits at 0, -0 and infinity, and places far out, whose
// figures were computed with 80 to 1500 digits.

#include <ranges>

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

/// x, and the value and the first two derivatives of a function there.
struct Known {
  double x, value, first, second;
};

template <class F>
void expect(const std::string& name, const F& f, std::initializer_list<Known> rows) {
  for (const Known& known : rows) {
    const Jet2<double> y = f(Jet2<double>(known.x, 1, 0));
    EXPECT_TRUE(close(y.value, known.value, 1e-13)) << name << '(' << known.x << ") is " << y.value;
    EXPECT_TRUE(close(y.slope, known.first, 1e-10)) << name << '(' << known.x << ") has slope " << y.slope;
    EXPECT_TRUE(close(y.curvature, known.second, 1e-8))
        << name << '(' << known.x << ") has curvature " << y.curvature;
  }
  const Jet2<double> y = f(Jet2<double>(nan, 1, 0));
  EXPECT_TRUE(std::isnan(y.value)) << name << "(NaN) is " << y.value;
  EXPECT_TRUE(std::isnan(y.slope) || y.slope == 0) << name << "(NaN) has slope " << y.slope;  // 0: steps
}

TEST(AdLimits, AtTheEdge) {
  expect("exp", ONWARD_CALL(exp), {{-inf, 0, 0, 0}, {inf, inf, inf, inf}, {-0.0, 1, 1, 1}, {-800, 0, 0, 0}});
  expect("expm1", ONWARD_CALL(expm1), {{-inf, -1, 0, 0}, {inf, inf, inf, inf}, {-0.0, -0.0, 1, 1}});
  expect("log", ONWARD_CALL(log), {{0, -inf, inf, -inf}, {-0.0, -inf, inf, -inf}, {inf, inf, 0, 0}});
  expect("log2", ONWARD_CALL(log2), {{0, -inf, inf, -inf}, {inf, inf, 0, 0}});
  expect("log10", ONWARD_CALL(log10), {{0, -inf, inf, -inf}, {inf, inf, 0, 0}});
  expect("log1p", ONWARD_CALL(log1p), {{-1, -inf, inf, -inf}, {inf, inf, 0, 0}, {-0.0, -0.0, 1, -1}});
  expect("sqrt", ONWARD_CALL(sqrt), {{0, 0, inf, -inf}, {-0.0, -0.0, inf, -inf}, {inf, inf, 0, 0}});
  expect("cbrt", ONWARD_CALL(cbrt), {{0, 0, inf, -inf}, {inf, inf, 0, 0}, {-inf, -inf, 0, 0}});
  expect("asin", ONWARD_CALL(asin), {{1, M_PI_2, inf, inf}, {-1, -M_PI_2, inf, -inf}});
  expect("acos", ONWARD_CALL(acos), {{1, 0, -inf, -inf}, {-1, M_PI, -inf, inf}});
  expect("atan", ONWARD_CALL(atan), {{inf, M_PI_2, 0, 0}, {-inf, -M_PI_2, 0, 0}, {-0.0, -0.0, 1, 0}});
  expect("sinh", ONWARD_CALL(sinh), {{inf, inf, inf, inf}, {-inf, -inf, inf, -inf}});
  expect("cosh", ONWARD_CALL(cosh), {{inf, inf, inf, inf}, {-inf, inf, -inf, inf}});
  expect("tanh", ONWARD_CALL(tanh), {{inf, 1, 0, 0}, {-inf, -1, 0, 0}, {-400, -1, 0, 0}});
  expect("asinh", ONWARD_CALL(asinh), {{inf, inf, 0, 0}, {-inf, -inf, 0, 0}});
  expect("acosh", ONWARD_CALL(acosh), {{1, 0, inf, -inf}, {inf, inf, 0, 0}});
  expect("atanh", ONWARD_CALL(atanh), {{1, inf, inf, inf}, {-1, -inf, inf, -inf}});
  expect("erf", ONWARD_CALL(erf), {{inf, 1, 0, 0}, {-inf, -1, 0, 0}, {-30, -1, 0, 0}});
  expect("erfc", ONWARD_CALL(erfc), {{inf, 0, 0, 0}, {-inf, 2, 0, 0}, {30, 0, 0, 0}});
  expect("lgamma", ONWARD_CALL(lgamma), {{inf, inf, inf, 0}, {0, inf, -inf, inf}});
  expect("digamma", ONWARD_OURS(digamma), {{inf, inf, 0, 0}, {0, -inf, inf, -inf}});
  expect("abs", ONWARD_CALL(abs), {{0, 0, 0, 0}, {-0.0, 0, 0, 0}, {-inf, inf, -1, 0}, {inf, inf, 1, 0}});
  expect("floor", ONWARD_CALL(floor), {{inf, inf, 0, 0}, {0, 0, 0, 0}});
  expect("round", ONWARD_CALL(round),
         {{inf, inf, 0, 0},
          {2.5, 3, 0, 0},
          {-2.5, -3, 0, 0},
          {0.49999999999999994, 0, 0, 0},
          {4503599627370497.0, 4503599627370497.0, 0, 0}});
  expect("softplus", ONWARD_OURS(softplus), {{inf, inf, 1, 0}, {-inf, 0, 0, 0}, {-800, 0, 0, 0}});
  expect("inv_logit", ONWARD_OURS(inv_logit), {{inf, 1, 0, 0}, {-inf, 0, 0, 0}, {0, 0.5, 0.25, 0}});
  expect("log_inv_logit", ONWARD_OURS(log_inv_logit), {{inf, 0, 0, 0}, {-inf, -inf, 1, 0}, {800, 0, 0, 0}});
  expect("logit", ONWARD_OURS(logit), {{0, -inf, inf, -inf}, {1, inf, inf, inf}, {0.5, 0, 4, 0}});
  expect("log1m", ONWARD_OURS(log1m), {{1, -inf, -inf, -inf}, {-inf, inf, 0, 0}});
  expect("log1m_exp", ONWARD_OURS(log1m_exp),
         {{0, -inf, -inf, -inf}, {-0.0, -inf, -inf, -inf}, {-inf, 0, 0, 0}, {-800, 0, 0, 0}});
  expect("normal_cdf", ONWARD_OURS(normal_cdf), {{inf, 1, 0, 0}, {-inf, 0, 0, 0}});
  expect("normal_lcdf", ONWARD_OURS(normal_lcdf), {{inf, 0, 0, 0}, {-inf, -inf, inf, -1}});
  expect("normal_lccdf", ONWARD_OURS(normal_lccdf), {{-inf, 0, 0, 0}, {inf, -inf, -inf, -1}});
  expect("inv", ONWARD_OURS(inv), {{inf, 0, 0, 0}, {0, inf, -inf, inf}, {-0.0, -inf, -inf, -inf}});
}

TEST(AdLimits, FarOut) {
  expect("tanh", ONWARD_CALL(tanh),
         {{20.0, 1.0, 1.6993417021166355e-17, -3.398683404233271e-17},
          {-350.0, -1.0, 3.943870617503908e-304, 7.887741235007817e-304},
          {400.0, 1.0, 0, 0},
          {1e-09, 1e-09, 1.0, -2e-09}});
  expect("inv_logit", ONWARD_OURS(inv_logit),
         {{-800.0, 0, 0, 0},
          {-700.0, 9.85967654375977e-305, 9.85967654375977e-305, 9.85967654375977e-305},
          {800.0, 1.0, 0, 0},
          {30.0, 0.9999999999999064, 9.357622968838423e-14, -9.357622968836672e-14},
          {-30.0, 9.357622968839299e-14, 9.357622968838423e-14, 9.357622968836672e-14},
          {1e-09, 0.50000000025, 0.25, -1.25e-10},
          {0.0001, 0.5000249999999792, 0.249999999375, -1.2499999958333334e-05}});
  expect("softplus", ONWARD_OURS(softplus),
         {{-700.0, 9.85967654375977e-305, 9.85967654375977e-305, 9.85967654375977e-305},
          {800.0, 800.0, 1.0, 0},
          {40.0, 40.0, 1.0, 4.248354255291589e-18},
          {-40.0, 4.248354255291589e-18, 4.248354255291589e-18, 4.248354255291589e-18}});
  expect("log_inv_logit", ONWARD_OURS(log_inv_logit),
         {{-800.0, -800.0, 1.0, 0},
          {700.0, -9.85967654375977e-305, 9.85967654375977e-305, -9.85967654375977e-305},
          {40.0, -4.248354255291589e-18, 4.248354255291589e-18, -4.248354255291589e-18}});
  expect("erf", ONWARD_CALL(erf),
         {{30.0, 1.0, 0, 0},
          {5.0, 0.9999999999984626, 1.5670866531017336e-11, -1.5670866531017336e-10},
          {-6.0, -1.0, 2.617301239249265e-16, 3.1407614870991178e-15},
          {1e-09, 1.1283791670955127e-09, 1.1283791670955126, -2.2567583341910253e-09}});
  expect("erfc", ONWARD_CALL(erfc),
         {{26.0, 5.663192408856143e-296, -2.9470349932662697e-294, 1.53245819649846e-292},
          {10.0, 2.088487583762545e-45, -4.197656231354417e-44, 8.395312462708834e-43},
          {-30.0, 2.0, 0, 0}});
  expect("normal_cdf", ONWARD_OURS(normal_cdf),
         {{-37.0, 5.725571222524577e-300, 2.1200065515246056e-298, 7.84402424064104e-297},
          {-20.0, 2.7536241186062337e-89, 5.520948362159764e-88, 1.1041896724319527e-86},
          {9.0, 1.0, 1.0279773571668915e-18, -9.251796214502023e-18}});
  expect("normal_lcdf", ONWARD_OURS(normal_lcdf),
         {{-40.0, -804.6084420137538, 40.02496884720726, -0.9993773316214086},
          {-1000.0, -500007.82669481216, 1000.000999998, -0.999999000006},
          {-1000000.0, -500000000014.73444, 1000000.000001, -0.999999999999},
          {-6.0, -20.736768949974707, 6.158482604544599, -0.9760123632108332},
          {10.0, -7.619853024160525e-24, 7.694598626706419e-23, -7.694598626706419e-22},
          {37.0, -5.725571222524577e-300, 2.1200065515246056e-298, -7.84402424064104e-297}});
  expect("normal_lccdf", ONWARD_OURS(normal_lccdf),
         {{40.0, -804.6084420137538, -40.02496884720726, -0.9993773316214086},
          {1000000.0, -500000000014.73444, -1000000.000001, -0.999999999999},
          {-37.0, -5.725571222524577e-300, -2.1200065515246056e-298, -7.84402424064104e-297}});
  expect("log1m_exp", ONWARD_OURS(log1m_exp),
         {{-1e-10, -23.025850929990458, -9999999999.5, -1e+20},
          {-1e-300, -690.7755278982137, -9.999999999999999e+299, -inf},
          {-50.0, -1.9287498479639178e-22, -1.9287498479639178e-22, -1.9287498479639178e-22},
          {-700.0, -9.85967654375977e-305, -9.85967654375977e-305, -9.85967654375977e-305}});
  expect("logit", ONWARD_OURS(logit),
         {{1e-150, -345.38776394910684, 1e+150, -1e+300},
          {0.5000000001, 4.000000330961484e-10, 4.0, 3.200000264769187e-09},
          {0.999999999, 20.723265864228342, 1000000029.2819322, 1.0000000565638653e+18}});
  expect("log1m", ONWARD_OURS(log1m),
         {{0.999999999, -20.723265865228342, -1000000028.2819322, -1.0000000565638653e+18},
          {1e-12, -1.0000000000005e-12, -1.000000000001, -1.000000000002},
          {-1e+300, 690.7755278982137, -1e-300, 0}});
  expect("atan", ONWARD_CALL(atan),
         {{1e+100, 1.5707963267948966, 1e-200, -2e-300},
          {-100000.0, -1.570786326794897, 9.999999999e-11, 1.9999999996e-15},
          {1e-12, 1e-12, 1.0, -2e-12}});
  expect("asinh", ONWARD_CALL(asinh),
         {{1e+90, 207.92580555002405, 1e-90, -1e-180},
          {-100000000000.0, -26.021583203494448, 1e-11, 1e-22},
          {1e-12, 1e-12, 1.0, -1e-12}});
  expect("acosh", ONWARD_CALL(acosh),
         {{1e+90, 207.92580555002405, 1e-90, -1e-180},
          {1.0000001, 0.0004472135919037347, 2236.067920945309, -11180340157.215664}});
  expect("atanh", ONWARD_CALL(atanh),
         {{0.999999999, 10.708206522644144, 500000014.3909661, 5.000000282819327e+17},
          {1e-12, 1e-12, 1.0, 2e-12}});
  expect("asin", ONWARD_CALL(asin),
         {{0.999999999, 1.5707516054359754, 22360.68009678968, 11180340359006.29},
          {-1e-12, -1e-12, 1.0, -1e-12}});
  expect("log", ONWARD_CALL(log),
         {{1e-150, -345.38776394910684, 1e+150, -1e+300},
          {1e+150, 345.38776394910684, 1e-150, -1e-300},
          {5e-309, -709.889355822726, inf, -inf}});
  expect("sqrt", ONWARD_CALL(sqrt), {{1e-150, 1e-75, 5e+74, -2.5e+224}, {1e+200, 1e+100, 5e-101, -2.5e-301}});
  expect("cbrt", ONWARD_CALL(cbrt),
         {{1e-150, 1e-50, 3.333333333333333e+99, -2.2222222222222224e+249},
          {1e+150, 1e+50, 3.3333333333333336e-101, -2.2222222222222224e-251}});
  expect("lgamma", ONWARD_CALL(lgamma),
         {{1e-08, 18.42068073818021, -100000000.57721564, 1.0000000000000002e+16},
          {1000000.0, 12815504.569147611, 13.815510057964191, 1.0000005000001667e-06},
          {1e+100, 2.2925850929940456e+102, 230.25850929940458, 1e-100},
          {2.000001, 4.2278465762452923e-07, 0.422784980032332, 0.644933662734667}});
  expect("digamma", ONWARD_OURS(digamma),
         {{1e-08, -100000000.57721564, 1.0000000000000002e+16, -2e+24},
          {1000000.0, 13.815510057964191, 1.0000005000001667e-06, -1.0000010000005e-12},
          {-1.5, 0.7031566406452432, 9.379246644989124, -0.2362040516417274},
          {-20.25, 6.174235633614484, 19.69102535100871, 124.02278552474384}});
  expect("square", ONWARD_OURS(square),
         {{1e-150, 1e-300, 2e-150, 2.0}, {1e+150, 9.999999999999999e+299, 2e+150, 2.0}});
  expect("inv", ONWARD_OURS(inv),
         {{1e+100, 1e-100, -1e-200, 2e-300}, {-1e-100, -1e+100, -1e+200, -1.9999999999999998e+300}});
}

TEST(AdLimits, ConstantsStayStillAtASingularity) {
  using std::log, std::pow, std::sqrt;
  const Jet2<double> zero(0), moving(0, 1, 0);
  EXPECT_EQ(sqrt(zero).slope, 0);
  EXPECT_EQ(sqrt(zero).curvature, 0);
  EXPECT_EQ(log(zero).slope, 0);
  EXPECT_EQ(sqrt(moving).slope, inf);
  // A constant exponent may be whole and the base negative, even when both are jets.
  const Jet2<double> y = pow(Jet2<double>(-2, 1, 0), Jet2<double>(3));
  EXPECT_EQ(y.value, -8);
  EXPECT_EQ(y.slope, 12);
  EXPECT_EQ(y.curvature, -12);
}

TEST(AdLimits, PowersAtZeroAndInfinity) {
  const auto power = [](double p) {
    return [p](const auto& x) {
      using std::pow;
      return pow(x, p);
    };
  };
  const auto check = [&](double x, double p, double value, double first, double second) {
    const Jet2<double> y = power(p)(Jet2<double>(x, 1, 0));
    EXPECT_EQ(y.value, value) << x << '^' << p;
    EXPECT_EQ(y.slope, first) << x << '^' << p;
    EXPECT_EQ(y.curvature, second) << x << '^' << p;
  };
  check(0, 2.5, 0, 0, 0);
  check(0, 1.5, 0, 0, inf);
  check(0, 0.5, 0, inf, -inf);
  check(inf, 0.5, inf, 0, 0);
  check(inf, -0.5, 0, 0, 0);
  check(inf, 2.5, inf, inf, inf);
  check(0, -0.5, inf, -inf, inf);
  const Jet2<double> tiny =
      power(2.5)(Jet2<double>(1e-200, 1, 0));  // the value underflows, the slope does not
  EXPECT_TRUE(close(tiny.slope, 2.5e-300L, 1e-10)) << tiny.slope;
  EXPECT_TRUE(close(tiny.curvature, 3.75e-100L, 1e-8)) << tiny.curvature;
}

TEST(AdLimits, PairsAtTheOriginAndFarOut) {
  using std::atan2, std::hypot;
  const Jet2<double> zero(0, 1, 0), three(3e200, 1, 0), four(4e200, 1, 0);
  EXPECT_EQ(hypot(zero, zero).slope, 0);
  EXPECT_EQ(hypot(zero, zero).curvature, 0);
  EXPECT_EQ(atan2(zero, zero).slope, 0);
  EXPECT_TRUE(close(hypot(three, four).slope, 1.4L, 1e-14));
  EXPECT_TRUE(close(hypot(three, four).curvature, 0.04L / 5e200L, 1e-8)) << hypot(three, four).curvature;
  EXPECT_TRUE(close(atan2(three, four).slope, 0.04e-200L, 1e-10)) << atan2(three, four).slope;
  EXPECT_EQ(hypot(Jet2<double>(-inf, 1, 0), four).slope, -1);
}

TEST(AdLimits, LogSumExp) {
  using Jet = Jet2<double>;
  const auto lse = [](const std::vector<Jet>& xs) { return log_sum_exp(xs); };
  const auto expect_jet = [](const Jet& y, double value, double slope, double curvature) {
    EXPECT_DOUBLE_EQ(y.value, value);
    EXPECT_DOUBLE_EQ(y.slope, slope);
    EXPECT_DOUBLE_EQ(y.curvature, curvature);
  };
  expect_jet(lse({}), -inf, 0, 0);
  expect_jet(lse({Jet(-inf)}), -inf, 0, 0);
  expect_jet(lse({Jet(-inf), Jet(-inf, 2, 0)}), -inf, 1, 1);  // equal weights
  expect_jet(lse({Jet(1, 2, 3), Jet(-inf, -inf, nan)}), 1, 2, 3);
  expect_jet(lse({Jet(1, 5, 5), Jet(inf, 2, 3)}), inf, 2, 3);
  expect_jet(log_sum_exp(Jet(1, 2, 3), Jet(-inf, inf, inf)), 1, 2, 3);
  expect_jet(log_sum_exp(Jet(1e308, 2, 3), Jet(1e308, 4, 5)), 1e308, 3,
             5);  // the mean, and the variance 1 besides
  // Large slopes that nearly agree: their common part must not drown the curvature.
  expect_jet(lse({Jet(0, 1e9, 0), Jet(0, 1e9 + 1, 0), Jet(0, 1e9 - 1, 0)}), std::log(3.0), 1e9, 2.0 / 3);
  expect_jet(log_sum_exp(Jet(0, 1e9, 0), Jet(0, 1e9 + 1, 0)), std::log(2.0), 1e9 + 0.5, 0.25);
  EXPECT_TRUE(std::isnan(lse({Jet(1), Jet(nan)}).value));
  EXPECT_TRUE(std::isnan(lse({Jet(nan), Jet(1)}).value));
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector{1.0, 1.0}), 1 + std::log(2.0));
  EXPECT_DOUBLE_EQ(log_sum_exp({Dual<double>(1, 2), Dual<double>(1, 4)}).slope, 3);

  // A view that makes its entries when asked is a range too.
  const std::array<double, 3> numbers{1, 2, 3};
  const auto view = numbers | std::views::transform([](double x) { return Jet(x, 1, 0); });
  EXPECT_DOUBLE_EQ(log_sum_exp(view).slope, 1);

  expect_jet(log_diff_exp(Jet(1, 2, 3), Jet(-inf, inf, inf)), 1, 2, 3);
  expect_jet(log_diff_exp(Jet(1, 2, 3), Jet(1, 2, 3)), -inf, 2, 3);
}

}  // namespace
}  // namespace onward::ad_test
