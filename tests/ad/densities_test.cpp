// Log densities: normalised, and right in every argument that may move.

#include <boost/math/distributions.hpp>

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

using testing::IsEmpty;
namespace bm = boost::math;

TEST(AdDensities, ValuesAreNormalised) {
  EXPECT_NEAR(normal_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::normal(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(normal_lcdf(0.3, 1.0, 2.0), std::log(bm::cdf(bm::normal(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(normal_lccdf(0.3, 1.0, 2.0), std::log(bm::cdf(bm::complement(bm::normal(1, 2), 0.3))), 1e-14);
  EXPECT_NEAR(student_t_lpdf(0.3, 4.0, 1.0, 2.0), std::log(bm::pdf(bm::students_t(4), -0.35) / 2), 1e-14);
  EXPECT_NEAR(cauchy_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::cauchy(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(gamma_lpdf(0.3, 3.0, 2.0), std::log(bm::pdf(bm::gamma_distribution<>(3, 0.5), 0.3)), 1e-14);
  EXPECT_NEAR(bernoulli_logit_lpmf(true, 0.7), std::log(1 / (1 + std::exp(-0.7))), 1e-14);
  EXPECT_NEAR(bernoulli_logit_lpmf(false, 0.7), std::log(1 / (1 + std::exp(0.7))), 1e-14);
  EXPECT_NEAR(poisson_log_lpmf(4, 0.7), std::log(bm::pdf(bm::poisson(std::exp(0.7)), 4)), 1e-14);
}

/// Every real argument moves: a stands for the first, b for the rest.
TEST(AdDensities, EveryArgumentMoves) {
  const auto f = [](const auto& a, const auto& b) {
    return normal_lpdf(a, b, b) + student_t_lpdf(a, b, a * b, b) + cauchy_lpdf(a, b, b) + gamma_lpdf(a, b, b);
  };
  const auto truth = [](long double a, long double b) {
    const long double pi = std::acos(-1.0L), z = (a - b) / b, t = (a - a * b) / b;
    const long double normal = -z * z / 2 - std::log(b) - std::log(2 * pi) / 2;
    const long double student = std::lgamma((b + 1) / 2) - std::lgamma(b / 2) - std::log(b * pi) / 2 -
                                std::log(b) - (b + 1) / 2 * std::log1p(t * t / b);
    const long double cauchy = -std::log(pi * b * (1 + z * z));
    return normal + student + cauchy + b * std::log(b) - std::lgamma(b) + (b - 1) * std::log(a) - b * a;
  };
  const Tables t = tables("densities", f, truth, at({{0.7, 1.3}, {2, 0.6}, {3, 5}}));
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdDensities, NumbersBesideAJet) {
  const Jet2<double> x(0.4, 1, 0);
  EXPECT_DOUBLE_EQ(normal_lpdf(1, x, 2.0).slope, 0.6 / 4);
  EXPECT_DOUBLE_EQ(normal_lpdf(x, 1, 2).curvature, -0.25);
  EXPECT_DOUBLE_EQ(poisson_log_lpmf(3, x).slope, 3 - exp(x).value);
  EXPECT_DOUBLE_EQ(bernoulli_logit_lpmf(true, x).slope, 1 - inv_logit(0.4));
}

}  // namespace
}  // namespace onward::ad_test
