// Log densities: normalised, right in every argument that may move, and with -inf and NaN where they belong.

#include <boost/math/distributions.hpp>

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

using testing::IsEmpty;
namespace bm = boost::math;

TEST(AdDensities, ValuesAreNormalised) {
  EXPECT_NEAR(std_normal_lpdf(0.3), std::log(bm::pdf(bm::normal(0, 1), 0.3)), 1e-14);
  EXPECT_NEAR(normal_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::normal(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(normal_lcdf(0.3, 1.0, 2.0), std::log(bm::cdf(bm::normal(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(normal_lccdf(0.3, 1.0, 2.0), std::log(bm::cdf(bm::complement(bm::normal(1, 2), 0.3))), 1e-14);
  EXPECT_NEAR(skew_normal_lpdf(0.3, 1.0, 2.0, -1.5), std::log(bm::pdf(bm::skew_normal(1, 2, -1.5), 0.3)),
              1e-14);
  EXPECT_NEAR(student_t_lpdf(0.3, 4.0, 1.0, 2.0), std::log(bm::pdf(bm::students_t(4), -0.35) / 2), 1e-14);
  EXPECT_NEAR(cauchy_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::cauchy(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(double_exponential_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::laplace(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(logistic_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::logistic(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(uniform_lpdf(0.3, -1.0, 2.0), std::log(bm::pdf(bm::uniform(-1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(exponential_lpdf(0.3, 2.0), std::log(bm::pdf(bm::exponential(2), 0.3)), 1e-14);
  EXPECT_NEAR(gamma_lpdf(0.3, 3.0, 2.0), std::log(bm::pdf(bm::gamma_distribution<>(3, 0.5), 0.3)), 1e-14);
  EXPECT_NEAR(inv_gamma_lpdf(0.3, 3.0, 2.0), std::log(bm::pdf(bm::inverse_gamma(3, 2), 0.3)), 1e-13);
  EXPECT_NEAR(chi_square_lpdf(0.3, 3.0), std::log(bm::pdf(bm::chi_squared(3), 0.3)), 1e-14);
  EXPECT_NEAR(lognormal_lpdf(0.3, 1.0, 2.0), std::log(bm::pdf(bm::lognormal(1, 2), 0.3)), 1e-14);
  EXPECT_NEAR(weibull_lpdf(0.3, 3.0, 2.0), std::log(bm::pdf(bm::weibull(3, 2), 0.3)), 1e-13);
  EXPECT_NEAR(beta_lpdf(0.3, 3.0, 2.0), std::log(bm::pdf(bm::beta_distribution<>(3, 2), 0.3)), 1e-13);
  EXPECT_NEAR(bernoulli_lpmf(1, 0.3), std::log(0.3), 1e-15);
  EXPECT_NEAR(bernoulli_lpmf(0, 0.3), std::log(0.7), 1e-15);
  EXPECT_NEAR(bernoulli_logit_lpmf(true, 0.7), std::log(1 / (1 + std::exp(-0.7))), 1e-14);
  EXPECT_NEAR(bernoulli_logit_lpmf(false, 0.7), std::log(1 / (1 + std::exp(0.7))), 1e-14);
  EXPECT_NEAR(poisson_lpmf(4, 2.0), std::log(bm::pdf(bm::poisson(2), 4)), 1e-14);
  EXPECT_NEAR(poisson_log_lpmf(4, 0.7), std::log(bm::pdf(bm::poisson(std::exp(0.7)), 4)), 1e-14);
  for (const int n : {0, 3, 7, 20, 25}) {
    EXPECT_NEAR(binomial_lpmf(n, 25, 0.3), std::log(bm::pdf(bm::binomial(25, 0.3), n)), 1e-12);
    EXPECT_NEAR(binomial_logit_lpmf(n, 25, 0.4),
                std::log(bm::pdf(bm::binomial(25, 1 / (1 + std::exp(-0.4))), n)), 1e-12);
    const double p = 2.5 / (2.5 + 4);  // Boost counts failures before so many successes
    EXPECT_NEAR(neg_binomial_2_lpmf(n, 4.0, 2.5), std::log(bm::pdf(bm::negative_binomial(2.5, p), n)), 1e-12);
    EXPECT_NEAR(neg_binomial_2_log_lpmf(n, std::log(4.0), 2.5),
                std::log(bm::pdf(bm::negative_binomial(2.5, p), n)), 1e-12);
    EXPECT_NEAR(neg_binomial_lpmf(n, 2.5, 2.5 / 4), std::log(bm::pdf(bm::negative_binomial(2.5, p), n)),
                1e-12);
    // It becomes Poisson; above 16 factors gamma functions of 1e9 cancel.
    EXPECT_NEAR(neg_binomial_2_lpmf(n, 4.0, 1e9), poisson_lpmf(n, 4.0), n <= 16 ? 1e-7 : 2e-5);
  }
}

double sum_of(const std::function<double(int)>& log_mass, int first, int last) {
  double sum = 0;
  for (int n = first; n <= last; ++n) sum += std::exp(log_mass(n));
  return sum;
}

TEST(AdDensities, MassesSumToOne) {
  const std::vector<double> three{0.4, -1.2, 0.3}, cuts{-0.7, 0.2, 1.9}, shares{0.2, 0.5, 0.3};
  EXPECT_NEAR(sum_of([&](int k) { return categorical_logit_lpmf(k, three); }, 1, 3), 1, 1e-14);
  EXPECT_NEAR(sum_of([&](int k) { return categorical_lpmf(k, shares); }, 1, 3), 1, 1e-14);
  EXPECT_NEAR(sum_of([&](int k) { return ordered_logistic_lpmf(k, 0.6, cuts); }, 1, 4), 1, 1e-14);
  EXPECT_NEAR(std::exp(ordered_logistic_lpmf(1, 0.6, cuts)), 1 / (1 + std::exp(0.6 + 0.7)), 1e-14);
  EXPECT_NEAR(sum_of([&](int n) { return beta_binomial_lpmf(n, 30, 0.7, 2.5); }, 0, 30), 1, 1e-12);
  EXPECT_NEAR(std::exp(beta_binomial_lpmf(3, 30, 1.0, 1.0)), 1.0 / 31, 1e-12) << "any number is as likely";
}

TEST(AdDensities, VonMisesIsNormalisedOverTheCircle) {
  for (const double kappa : {0.0, 0.3, 4.0, 19.9, 20.1, 300.0}) {
    const int points = 2000;  // the trapezium rule is exact but for e^-1000 on a circle
    double sum = 0;
    for (int i = 0; i < points; ++i)
      sum += std::exp(von_mises_lpdf(6.283185307179586 * i / points, 0.4, kappa));
    EXPECT_NEAR(sum * 6.283185307179586 / points, 1, 1e-12) << kappa;
  }
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

constexpr long double pi = 3.14159265358979323846L;

/// A density against its formula; a and b stand for the observation and the parameters in turn.
template <class F, class Truth>
void expect_right(const std::string& name, const F& f, const Truth& truth,
                  std::initializer_list<std::pair<double, double>> places) {
  const Tables t = tables(name, f, truth, at(places));
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdDensities, RealNumbersMove) {
  using L = long double;
  expect_right(
      "skew_normal", [](const auto& a, const auto& b) { return skew_normal_lpdf(a, 0.5 * b, b, a + b); },
      [](L a, L b) {
        const L z = (a - b / 2) / b;
        return std::log(2 / b) - z * z / 2 - std::log(2 * pi) / 2 +
               std::log(std::erfc(-(a + b) * z / std::sqrt(2.0L)) / 2);
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "double_exponential",
      [](const auto& a, const auto& b) { return double_exponential_lpdf(a, 0.5 * b, a + b); },
      [](L a, L b) { return -std::log(2 * (a + b)) - std::abs(a - b / 2) / (a + b); },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "logistic", [](const auto& a, const auto& b) { return logistic_lpdf(a, 0.5 * b, a * b); },
      [](L a, L b) {
        const L z = (a - b / 2) / (a * b);
        return -z - std::log(a * b) - 2 * std::log1p(std::exp(-z));
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "uniform", [](const auto& a, const auto& b) { return uniform_lpdf(a, 0.1 * b, a + b); },
      [](L a, L b) { return -std::log(a + b - 0.1L * b); }, {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "exponential", [](const auto& a, const auto& b) { return exponential_lpdf(a, b); },
      [](L a, L b) { return std::log(b) - a * b; }, {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "inv_gamma", [](const auto& a, const auto& b) { return inv_gamma_lpdf(a, b, a + b); },
      [](L a, L b) { return b * std::log(a + b) - std::lgamma(b) - (b + 1) * std::log(a) - (a + b) / a; },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "chi_square", [](const auto& a, const auto& b) { return chi_square_lpdf(a, b); },
      [](L a, L b) {
        return -b / 2 * std::log(2.0L) - std::lgamma(b / 2) + (b / 2 - 1) * std::log(a) - a / 2;
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "lognormal", [](const auto& a, const auto& b) { return lognormal_lpdf(a, b, a + b); },
      [](L a, L b) {
        const L z = (std::log(a) - b) / (a + b);
        return -std::log(a) - z * z / 2 - std::log(a + b) - std::log(2 * pi) / 2;
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "weibull", [](const auto& a, const auto& b) { return weibull_lpdf(a, b, a + b); },
      [](L a, L b) {
        const L z = a / (a + b);
        return std::log(b / (a + b)) + (b - 1) * std::log(z) - std::pow(z, b);
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "beta", [](const auto& a, const auto& b) { return beta_lpdf(a, b, a + b); },
      [](L a, L b) {
        return std::lgamma(a + 2 * b) - std::lgamma(b) - std::lgamma(a + b) + (b - 1) * std::log(a) +
               (a + b - 1) * std::log1p(-a);
      },
      {{0.7, 1.3}, {0.2, 0.6}});
  expect_right(
      "von_mises", [](const auto& a, const auto& b) { return von_mises_lpdf(a, 0.5 * b, b); },
      [](L a, L b) {
        return b * std::cos(a - b / 2) - std::log(2 * pi) - std::log(std::cyl_bessel_il(0, b));
      },
      {{0.7, 1.3}, {2, 0.6}, {1, 12}});
}

TEST(AdDensities, TheBesselFunctionIsRightOnBothSidesOfItsSeam) {
  const auto f = [](const auto& x) { return ad::chain(ad::rule::LogBesselI0{}, x); };
  const auto truth = [](long double x) { return std::log(std::cyl_bessel_il(0, x)); };
  const Tables t = tables("log I0", f, truth, at({0.1, 1, 5, 19, 19.9, 20.1, 25, 60, 200}));
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdDensities, CountsAndClassesMove) {
  using L = long double;
  const auto log_choose = [](L n, L k) {
    return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  };
  expect_right(
      "bernoulli",
      [](const auto& a, const auto& b) { return bernoulli_lpmf(1, a) + bernoulli_lpmf(0, a * b); },
      [](L a, L b) { return std::log(a) + std::log1p(-a * b); }, {{0.7, 1.3}, {0.2, 0.6}});
  expect_right(
      "binomial",
      [](const auto& a, const auto& b) {
        return binomial_lpmf(4, 9, a) + binomial_logit_lpmf(2, 5, b) + binomial_logit_lpmf(0, 3, a);
      },
      [=](L a, L b) {
        return log_choose(9, 4) + 4 * std::log(a) + 5 * std::log1p(-a) + log_choose(5, 2) -
               2 * std::log1p(std::exp(-b)) - 3 * std::log1p(std::exp(b)) - 3 * std::log1p(std::exp(a));
      },
      {{0.7, 1.3}, {0.2, 0.6}});
  expect_right(
      "beta_binomial", [](const auto& a, const auto& b) { return beta_binomial_lpmf(7, 30, a, b); },
      [=](L a, L b) {
        return log_choose(30, 7) + std::lgamma(a + 7) + std::lgamma(b + 23) - std::lgamma(a + b + 30) -
               std::lgamma(a) - std::lgamma(b) + std::lgamma(a + b);
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "poisson", [](const auto& a, const auto& b) { return poisson_lpmf(3, a) + poisson_lpmf(0, b); },
      [](L a, L b) { return 3 * std::log(a) - a - std::log(6.0L) - b; }, {{0.7, 1.3}, {2, 0.6}});
  for (const int n : {0, 3, 16, 17, 40}) {
    const L k = n;
    const auto negative = [=](L mu, L phi) {
      return std::lgamma(k + phi) - std::lgamma(phi) - std::lgamma(k + 1) + k * std::log(mu / (mu + phi)) +
             phi * std::log(phi / (mu + phi));
    };
    expect_right("neg_binomial_2", [=](const auto& a, const auto& b) { return neg_binomial_2_lpmf(n, a, b); },
                 negative, {{0.7, 1.3}, {2, 0.6}, {3, 5}});
    expect_right(
        "neg_binomial_2_log", [=](const auto& a, const auto& b) { return neg_binomial_2_log_lpmf(n, a, b); },
        [=](L a, L b) { return negative(std::exp(a), b); }, {{0.7, 1.3}, {2, 0.6}});
    expect_right(
        "neg_binomial", [=](const auto& a, const auto& b) { return neg_binomial_lpmf(n, a, b); },
        [=](L a, L b) { return negative(a / b, a); }, {{0.7, 1.3}, {2, 0.6}});
  }
  expect_right(
      "categorical",
      [](const auto& a, const auto& b) {
        const std::array<std::remove_cvref_t<decltype(a)>, 3> beta{a, b, a * b};
        return categorical_logit_lpmf(2, beta) + categorical_lpmf(3, beta);
      },
      [](L a, L b) { return b - std::log(std::exp(a) + std::exp(b) + std::exp(a * b)) + std::log(a * b); },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "ordered_logistic",
      [](const auto& a, const auto& b) {
        const std::array<std::remove_cvref_t<decltype(a)>, 2> cuts{a, a + b};
        return ordered_logistic_lpmf(1, b, cuts) + ordered_logistic_lpmf(2, b, cuts) +
               ordered_logistic_lpmf(3, b, cuts);
      },
      [](L a, L b) {
        const auto above = [](L x) { return 1 / (1 + std::exp(-x)); };
        return std::log(1 - above(b - a)) + std::log(above(b - a) - above(-a)) + std::log(above(-a));
      },
      {{0.7, 1.3}, {2, 0.6}});
}

/// A matrix of three rows whose lower triangle is given.
template <class T>
struct Lower3 {
  std::array<T, 6> entries;
  const T& operator()(std::size_t i, std::size_t j) const { return entries[i * (i + 1) / 2 + j]; }
  std::size_t rows() const { return 3; }
};

TEST(AdDensities, VectorsAndMatricesMove) {
  using L = long double;
  expect_right(
      "dirichlet",
      [](const auto& a, const auto& b) {
        using T = std::remove_cvref_t<decltype(a)>;
        const std::array<T, 3> theta{0.5 * a, 0.25 * a, 1.0 - 0.75 * a}, alpha{b, a + b, 2.0 * b};
        return dirichlet_lpdf(theta, alpha);
      },
      [](L a, L b) {
        return std::lgamma(a + 4 * b) - std::lgamma(b) - std::lgamma(a + b) - std::lgamma(2 * b) +
               (b - 1) * std::log(a / 2) + (a + b - 1) * std::log(a / 4) +
               (2 * b - 1) * std::log1p(-0.75L * a);
      },
      {{0.7, 1.3}, {0.3, 0.6}});
  expect_right(
      "multi_normal_cholesky",
      [](const auto& a, const auto& b) {
        using T = std::remove_cvref_t<decltype(a)>;
        const std::array<T, 3> y{a, b, a * b}, mu{b, 2.0 * a, T(1.0)}, sigma{a, b, a + b};
        const Lower3<T> l{{T(1.0), 0.5 * a, b, 0.3 * b, a - b, 2.0 + a}};
        return multi_normal_cholesky_lpdf(y, mu, diag_pre_multiply(sigma, l));
      },
      [](L a, L b) {
        const L l11 = a, l21 = b * a / 2, l22 = b * b, l31 = (a + b) * 0.3L * b, l32 = (a + b) * (a - b),
                l33 = (a + b) * (2 + a);
        const L z1 = (a - b) / l11, z2 = (b - 2 * a - l21 * z1) / l22,
                z3 = (a * b - 1 - l31 * z1 - l32 * z2) / l33;
        return -(z1 * z1 + z2 * z2 + z3 * z3) / 2 - std::log(l11 * l22 * l33) - 1.5L * std::log(2 * pi);
      },
      {{0.7, 1.3}, {2, 0.6}});
  expect_right(
      "lkj_corr_cholesky",
      [](const auto& a, const auto& b) {
        using T = std::remove_cvref_t<decltype(a)>;
        const Lower3<T> l{{T(1.0), T(0.0), a, T(0.0), T(0.0), a * b}};
        return lkj_corr_cholesky_lpdf(l, b);
      },
      [](L a, L b) {
        return 2 * std::lgamma(b + 1) - std::lgamma(b + 0.5L) - std::lgamma(b) - 1.5L * std::log(pi) +
               (2 * b - 1) * std::log(a) + (2 * b - 2) * std::log(a * b);
      },
      {{0.7, 1.3}, {0.4, 0.6}});
}

TEST(AdDensities, OutOfTheSupportIsMinusInfinityAndInvalidParametersAreNan) {
  const std::vector<double> cuts{-1, 1}, falling{1, -1}, shares{0.5, 0.5}, off{0.5, 0.6}, below{-0.5, 1.5};
  const std::vector<double> ones{1, 1}, bad{1, 0};
  EXPECT_EQ(uniform_lpdf(3.0, 0.0, 1.0), -inf);
  EXPECT_EQ(exponential_lpdf(-0.1, 2.0), -inf);
  EXPECT_EQ(gamma_lpdf(-0.1, 2.0, 1.0), -inf);
  EXPECT_EQ(inv_gamma_lpdf(0.0, 2.0, 1.0), -inf);
  EXPECT_EQ(lognormal_lpdf(0.0, 0.0, 1.0), -inf);
  EXPECT_EQ(weibull_lpdf(-1.0, 2.0, 1.0), -inf);
  EXPECT_EQ(beta_lpdf(1.1, 2.0, 1.0), -inf);
  EXPECT_EQ(bernoulli_lpmf(2, 0.5), -inf);
  EXPECT_EQ(bernoulli_logit_lpmf(2, 0.5), -inf);
  EXPECT_EQ(binomial_lpmf(6, 5, 0.5), -inf);
  EXPECT_EQ(binomial_logit_lpmf(-1, 5, 0.5), -inf);
  EXPECT_EQ(poisson_lpmf(-1, 0.5), -inf);
  EXPECT_EQ(poisson_log_lpmf(1.5, 0.5), -inf);
  EXPECT_EQ(neg_binomial_2_lpmf(-1, 0.5, 1.0), -inf);
  EXPECT_EQ(categorical_logit_lpmf(3, ones), -inf);
  EXPECT_EQ(categorical_lpmf(0, shares), -inf);
  EXPECT_EQ(ordered_logistic_lpmf(4, 0.0, cuts), -inf);
  EXPECT_EQ(dirichlet_lpdf(off, ones), -inf);
  EXPECT_EQ(dirichlet_lpdf(below, ones), -inf);

  EXPECT_TRUE(std::isnan(normal_lpdf(0.0, 0.0, -1.0)));
  EXPECT_TRUE(std::isnan(skew_normal_lpdf(0.0, 0.0, -1.0, 1.0)));
  EXPECT_TRUE(std::isnan(double_exponential_lpdf(0.0, 0.0, -1.0)));
  EXPECT_TRUE(std::isnan(logistic_lpdf(0.0, 0.0, -1.0)));
  EXPECT_TRUE(std::isnan(uniform_lpdf(0.5, 1.0, 0.0)));
  EXPECT_TRUE(std::isnan(exponential_lpdf(1.0, -1.0)));
  EXPECT_TRUE(std::isnan(gamma_lpdf(1.0, -0.5, 1.0)));
  EXPECT_TRUE(std::isnan(inv_gamma_lpdf(1.0, 1.0, -1.0)));
  EXPECT_TRUE(std::isnan(chi_square_lpdf(1.0, -0.5)));
  EXPECT_TRUE(std::isnan(lognormal_lpdf(1.0, 1.0, -1.0)));
  EXPECT_TRUE(std::isnan(weibull_lpdf(1.0, -1.0, 1.0)));
  EXPECT_TRUE(std::isnan(beta_lpdf(0.5, 1.0, -0.5)));
  EXPECT_TRUE(std::isnan(von_mises_lpdf(0.5, 1.0, -0.5)));
  EXPECT_TRUE(std::isnan(bernoulli_lpmf(1, 1.5)));
  EXPECT_TRUE(std::isnan(binomial_lpmf(1, 2, -0.5)));
  EXPECT_TRUE(std::isnan(binomial_logit_lpmf(1, -2, 0.5)));
  EXPECT_TRUE(std::isnan(beta_binomial_lpmf(1, 2, 1.0, -1.0)));
  EXPECT_TRUE(std::isnan(poisson_lpmf(1, -1.0)));
  EXPECT_TRUE(std::isnan(neg_binomial_2_lpmf(1, 1.0, -1.0)));
  EXPECT_TRUE(std::isnan(neg_binomial_lpmf(1, -1.0, 1.0)));
  EXPECT_TRUE(std::isnan(ordered_logistic_lpmf(2, 0.0, falling)));
  EXPECT_TRUE(std::isnan(dirichlet_lpdf(shares, bad)));
  const Lower3<double> flat{{1, 0, 1, 0, 0, -1}};
  EXPECT_TRUE(std::isnan(multi_normal_cholesky_lpdf(std::array<double, 3>{}, std::array<double, 3>{}, flat)));
  EXPECT_TRUE(std::isnan(lkj_corr_cholesky_lpdf(flat, 1.0)));
  EXPECT_TRUE(std::isnan(exponential_lpdf(nan, 1.0))) << "what is not known is not outside";
}

TEST(AdDensities, TheEdgeOfTheSupportBelongsToIt) {
  EXPECT_DOUBLE_EQ(exponential_lpdf(0.0, 2.0), std::log(2.0));
  EXPECT_DOUBLE_EQ(gamma_lpdf(0.0, 1.0, 2.0), std::log(2.0));
  EXPECT_DOUBLE_EQ(weibull_lpdf(0.0, 1.0, 2.0), -std::log(2.0));
  EXPECT_DOUBLE_EQ(beta_lpdf(0.0, 1.0, 2.0), std::log(2.0));
  EXPECT_DOUBLE_EQ(beta_lpdf(1.0, 2.0, 1.0), std::log(2.0));
  EXPECT_EQ(gamma_lpdf(0.0, 2.0, 2.0), -inf);
  EXPECT_EQ(binomial_lpmf(0, 5, 0.0), 0);
  EXPECT_EQ(poisson_lpmf(0, 0.0), 0);
  EXPECT_EQ(bernoulli_lpmf(0, 1.0), -inf);
}

TEST(AdDensities, LanesThatAreOutsideOrInvalidLeaveOthersAlone) {
  using B = simd::Batch<double>;
  if constexpr (B::size >= 2) {
    const Dual<B> y(lanes_of<B>({-0.5, 0.5}), B(1.0)), rate(lanes_of<B>({2.0, 2.0}), B(0.0));
    const auto f = exponential_lpdf(y, rate);
    EXPECT_EQ(simd::lane(f.value, 0), -inf);
    EXPECT_DOUBLE_EQ(simd::lane(f.value, 1), std::log(2.0) - 1);
    EXPECT_DOUBLE_EQ(simd::lane(f.slope, 1), -2);
    const auto g = exponential_lpdf(B(0.5), Dual<B>(lanes_of<B>({-2.0, 2.0}), B(1.0)));
    EXPECT_TRUE(std::isnan(simd::lane(g.value, 0)));
    EXPECT_DOUBLE_EQ(simd::lane(g.slope, 1), 0);
  }
}

TEST(AdDensities, NumbersBesideAJet) {
  const Jet2<double> x(0.4, 1, 0);
  EXPECT_DOUBLE_EQ(normal_lpdf(1, x, 2.0).slope, 0.6 / 4);
  EXPECT_DOUBLE_EQ(normal_lpdf(x, 1, 2).curvature, -0.25);
  EXPECT_DOUBLE_EQ(poisson_log_lpmf(3, x).slope, 3 - exp(x).value);
  EXPECT_DOUBLE_EQ(bernoulli_logit_lpmf(true, x).slope, 1 - inv_logit(0.4));
  EXPECT_DOUBLE_EQ(exponential_lpdf(2, x).slope, 1 / 0.4 - 2);
  EXPECT_DOUBLE_EQ(gamma_lpdf(x, 3, 2).slope, 2 / 0.4 - 2);
  EXPECT_DOUBLE_EQ(beta_lpdf(x, 3, 1).slope, 2 / 0.4);
  EXPECT_DOUBLE_EQ(uniform_lpdf(x, 0, 1).slope, 0);
  EXPECT_DOUBLE_EQ(lognormal_lpdf(2, x, 1).slope, std::log(2.0) - 0.4);
  EXPECT_DOUBLE_EQ(poisson_lpmf(3, x).slope, 3 / 0.4 - 1);
  EXPECT_DOUBLE_EQ(von_mises_lpdf(1, x, 2).slope, 2 * std::sin(0.6));
  const std::vector<double> y{1, 2}, mu{0, 0};
  EXPECT_NEAR(lkj_corr_cholesky_lpdf(Lower3<double>{{1, 0, 1, 0, 0, 1}}, x).value,
              lkj_corr_cholesky_lpdf(Lower3<double>{{1, 0, 1, 0, 0, 1}}, 0.4), 1e-14);
}

}  // namespace
}  // namespace onward::ad_test
