#include "onward/diagnostics/compare.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace onward {

WelchTest welch_t_test(double mean1, double sd1, double n1, double mean2, double sd2, double n2) {
  const double difference = mean1 - mean2;
  const double a = sd1 * sd1 / n1;
  const double b = sd2 * sd2 / n2;
  if (a + b == 0) {
    const double infinite = std::copysign(std::numeric_limits<double>::infinity(), difference);
    const double undefined = std::numeric_limits<double>::quiet_NaN();
    return difference == 0 ? WelchTest{0, undefined, 1} : WelchTest{infinite, undefined, 0};
  }
  const double t = difference / std::sqrt(a + b);
  const double df = (a + b) * (a + b) / (a * a / (n1 - 1) + b * b / (n2 - 1));
  if (!std::isfinite(t) || !std::isfinite(df) || df <= 0)
    return {t, df, std::numeric_limits<double>::quiet_NaN()};
  const boost::math::students_t distribution(df);
  return {t, df, 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)))};
}

double kl_normal(double mean_p, double sd_p, double mean_q, double sd_q) {
  const double ratio = sd_p / sd_q;
  const double shift = (mean_p - mean_q) / sd_q;
  // r^2 - 1 - log(r^2) loses its digits near r = 1; with u = r^2 - 1 it is u - log1p(u).
  const double u = (ratio - 1) * (ratio + 1);
  return 0.5 * (shift * shift + u - std::log1p(u));
}

}  // namespace onward
