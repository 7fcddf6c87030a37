// Functions of two arguments, with both moving and with either one a plain number; arithmetic and
// comparisons.

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

using testing::IsEmpty;
using LongDouble = long double;

template <class F>
Complaints examine(const std::string& name, const F& f, const std::vector<Place>& places) {
  return examine(name, f, f, places);
}

LongDouble ref_log_sum_exp(LongDouble a, LongDouble b) {
  if (a == b) return a + std::log(2.0L);
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}
LongDouble ref_log_diff_exp(LongDouble a, LongDouble b) {
  if (a == b) return a == inf ? nan : -inf;
  return a + (b - a > -1 ? std::log(-std::expm1(b - a)) : std::log1p(-std::exp(b - a)));
}

const auto moderate = at({{0.7, 1.3}, {2, -1.5}, {-3, 0.4}, {-0.5, -2}});

TEST(AdPairs, Arithmetic) {
  EXPECT_THAT(examine(
                  "a + b", [](const auto& a, const auto& b) { return a + b; }, moderate),
              IsEmpty());
  EXPECT_THAT(examine(
                  "a - b", [](const auto& a, const auto& b) { return a - b; }, moderate),
              IsEmpty());
  const auto ratio = [](const auto& a, const auto& b) {
    auto x = a;
    x *= b;
    x += a;
    x -= -b;
    x /= +b;
    return x * x / (3 + a * a);
  };
  // Sums and products alone: the harness's look at awkward places is about functions.
  const Tables t = tables("ratio", ratio, ratio, moderate);
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdPairs, PlainNumbersBeside) {
  const auto mixed = [](const auto& x) {
    auto y = 2 * x + 1.5f - x / 4 + 3.0 / (x + 7) - (1 - x) * 0.5;
    y += 1;
    y -= 2.5;
    y *= 3;
    y /= 2.0f;
    return 7L - y;
  };
  const Tables t = tables("mixed", mixed, mixed, at({-2, 0, 0.5, 3}));
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdPairs, Power) {
  EXPECT_THAT(examine("pow", ONWARD_CALL2(pow), at({{0.7, 1.3}, {2, -1.5}, {3, 4}, {1e-3, 0.5}})), IsEmpty());
  const auto number_power = [](double p) {
    return [p](const auto& x) {
      using std::pow;
      return pow(x, p);
    };
  };
  for (double p : {-7.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 64.0})
    EXPECT_THAT(examine("x^" + std::to_string(p), number_power(p), at({-1.5, -0.3, 0.7, 2})), IsEmpty());
  for (double p : {-1.5, 0.3, 0.5, 2.5, 70.0})
    EXPECT_THAT(examine("x^" + std::to_string(p), number_power(p), at({0.3, 0.7, 2})), IsEmpty());
  const auto whole = [](const auto& x) {
    using std::pow;
    return pow(x, 3);
  };
  EXPECT_THAT(examine("x^3", whole, at({-1.5, 0, 2})), IsEmpty());
  for (double c : {0.0, 0.2, 1.0, 10.0}) {
    const auto power_to = [c](const auto& y) {
      using std::pow;
      return pow(static_cast<std::conditional_t<std::is_same_v<std::decay_t<decltype(y)>, LongDouble>,
                                                LongDouble, double>>(c),
                 y);
    };
    EXPECT_THAT(examine(std::to_string(c) + "^y", power_to, at({0.3, 0.7, 2})), IsEmpty());
  }
}

TEST(AdPairs, WholePowersAreExact) {
  using std::pow;
  const Jet2<double> minus_three(-3, 1, 0);
  for (const auto& cube : {pow(minus_three, 3), pow(minus_three, 3.0), pow(minus_three, 3u)}) {
    EXPECT_EQ(cube.value, -27);
    EXPECT_EQ(cube.slope, 27);
    EXPECT_EQ(cube.curvature, -18);
  }
  const Jet2<double> zero(0, 1, 0);
  EXPECT_EQ(pow(zero, 0).value, 1);
  EXPECT_EQ(pow(zero, 0).slope, 0);
  EXPECT_EQ(pow(zero, 1).slope, 1);
  EXPECT_EQ(pow(zero, 1).curvature, 0);
  EXPECT_EQ(pow(zero, 2).slope, 0);
  EXPECT_EQ(pow(zero, 2).curvature, 2);
  EXPECT_EQ(pow(zero, -1).value, inf);
}

TEST(AdPairs, Angles) {
  EXPECT_THAT(examine("atan2", ONWARD_CALL2(atan2), moderate), IsEmpty());
  EXPECT_THAT(examine("hypot", ONWARD_CALL2(hypot), moderate), IsEmpty());
  const auto mixed = [](const auto& x) {
    using std::atan2, std::hypot;
    return atan2(x, 2.0) + atan2(1.0, x) + hypot(x, 2.0) + hypot(1.0, x);
  };
  const Tables t = tables("angles beside numbers", mixed, mixed, at({-2, 0.5, 3}));
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdPairs, Extremes) {
  EXPECT_THAT(examine("fmin", ONWARD_CALL2(fmin), moderate), IsEmpty());
  EXPECT_THAT(examine("fmax", ONWARD_CALL2(fmax), moderate), IsEmpty());
  const auto mixed = [](const auto& x) {
    using std::fmax, std::fmin;
    return fmax(x, 1.0) * fmin(2.0, x) + fmin(x, 0.5) * fmax(-1.0, x);
  };
  const Tables t = tables("extremes beside numbers", mixed, mixed, at({-2, 0.7, 3}));
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
  using std::max, std::min;
  const Dual<double> two(2, 5), three(3, 7);
  EXPECT_EQ(min(two, three).slope, 5);
  EXPECT_EQ(max(two, three).slope, 7);
  EXPECT_EQ(max(two, 2.5).slope, 0);
  EXPECT_EQ(min(2.5, two).slope, 5);
}

TEST(AdPairs, SumsOfExponentials) {
  const auto two = [](const auto& a, const auto& b) { return onward::log_sum_exp(a, b); };
  EXPECT_THAT(examine("log_sum_exp", two, ref_log_sum_exp, moderate), IsEmpty());
  const auto range = [](const auto& a, const auto& b) { return onward::log_sum_exp(std::array{a, b}); };
  EXPECT_THAT(examine("log_sum_exp of a range", range, ref_log_sum_exp, moderate), IsEmpty());
  const auto apart = at({{1.3, 0.7}, {2, -1.5}, {-3, -3.4}, {30, 1}});
  const auto difference = [](const auto& a, const auto& b) { return onward::log_diff_exp(a, b); };
  EXPECT_THAT(examine("log_diff_exp", difference, ref_log_diff_exp, apart), IsEmpty());
}

TEST(AdPairs, ComparisonsLookAtValues) {
  const Jet2<double> a(1, 9, 9), b(2, -9, -9);
  EXPECT_TRUE(a < b && a <= b && b > a && b >= a && a != b && a == Jet2<double>(1));
  EXPECT_TRUE(a < 2 && a <= 1.0 && a > 0.5f && a >= 1 && a == 1 && a != 2);
  EXPECT_TRUE(2 > a && 1.0 >= a && 0.5f < a && 1 <= a && 1 == a && 2 != a);
  using B = simd::Batch<double>;
  const Dual<B> x(lanes_of<B>({1, 3}), B(1));
  const auto mask = x > 2.0;
  EXPECT_TRUE(simd::any(mask));
  EXPECT_FALSE(simd::all(mask));
  const Dual<B> chosen = select(mask, x * 10, -x);
  EXPECT_EQ(simd::lane(chosen.value, 0), -1);
  EXPECT_EQ(simd::lane(chosen.value, 1), 30);
  EXPECT_EQ(simd::lane(chosen.slope, 0), -1);
  EXPECT_EQ(simd::lane(chosen.slope, 1), 10);
}

}  // namespace
}  // namespace onward::ad_test
