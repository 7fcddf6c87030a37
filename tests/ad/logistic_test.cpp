// Functions of one argument that the standard library does not have, at ordinary and awkward places.

#include <boost/math/special_functions/digamma.hpp>

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

using testing::IsEmpty;
using LongDouble = long double;

// References by the textbook formula in long double, with the limits at infinity written out where the
// formula would meet inf - inf.
LongDouble ref_digamma(LongDouble x) {
  const double d = static_cast<double>(x);
  if (x == 0) return std::copysign(LongDouble(inf), -x);
  if (std::isnan(x) || (x < 0 && x == std::floor(x))) return nan;
  if (std::isinf(d) || std::isinf(x)) return x;
  return boost::math::digamma(x);
}
LongDouble ref_logit(LongDouble p) { return std::log(p) - std::log1p(-p); }
LongDouble ref_softplus(LongDouble x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }
LongDouble ref_log1m_exp(LongDouble x) {
  return x > -1 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}
LongDouble ref_normal_cdf(LongDouble x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
LongDouble ref_normal_lcdf(LongDouble x) {
  if (x > 0) return std::log1p(-std::erfc(x / std::sqrt(2.0L)) / 2);
  if (x > -100 || std::isnan(x)) return std::log(std::erfc(-x / std::sqrt(2.0L)) / 2);
  return -x * x / 2 - std::log(-x) - 0.91893853320467274178L + std::log1p(-1 / (x * x));
}

TEST(AdLogistic, Simple) {
  EXPECT_THAT(examine(
                  "square", ONWARD_OURS(square), [](auto x) { return x * x; }, at({-3, 0, 0.01, 2})),
              IsEmpty());
  EXPECT_THAT(examine(
                  "inv", ONWARD_OURS(inv), [](auto x) { return 1 / x; }, at({-3, 1e-5, 2})),
              IsEmpty());
  EXPECT_THAT(examine(
                  "log1m", ONWARD_OURS(log1m), [](LongDouble x) { return std::log1p(-x); },
                  at({-1e10, -2, 0, 0.01, 0.9})),
              IsEmpty());
  EXPECT_THAT(examine("digamma", ONWARD_OURS(digamma), ref_digamma, at({-2.5, -0.4, 0.01, 0.6, 2, 5, 50})),
              IsEmpty());
}

TEST(AdLogistic, Logistic) {
  const auto logit_places = at({1e-6, 0.1, 0.3, 0.4999, 0.5, 0.6, 0.8});
  EXPECT_THAT(examine("logit", ONWARD_OURS(logit), ref_logit, logit_places), IsEmpty());
  EXPECT_THAT(examine(
                  "inv_logit", ONWARD_OURS(inv_logit), [](LongDouble x) { return 1 / (1 + std::exp(-x)); },
                  at({-30, -1, -0.01, 0, 1e-3, 2, 8})),
              IsEmpty());
  EXPECT_THAT(examine("softplus", ONWARD_OURS(softplus), ref_softplus, at({-30, -1, 0.001, 2, 8})),
              IsEmpty());
  EXPECT_THAT(examine("log1p_exp", ONWARD_OURS(log1p_exp), ref_softplus, at({-1, 2})), IsEmpty());
  EXPECT_THAT(examine(
                  "log_inv_logit", ONWARD_OURS(log_inv_logit), [](LongDouble x) { return -ref_softplus(-x); },
                  at({-30, -1, 0.001, 2, 8})),
              IsEmpty());
  EXPECT_THAT(examine("log1m_exp", ONWARD_OURS(log1m_exp), ref_log1m_exp, at({-20, -1, -0.5, -1e-3})),
              IsEmpty());
}

TEST(AdLogistic, Normal) {
  EXPECT_THAT(examine("normal_cdf", ONWARD_OURS(normal_cdf), ref_normal_cdf, at({-8, -1, 0, 2, 5})),
              IsEmpty());
  EXPECT_THAT(examine("normal_lcdf", ONWARD_OURS(normal_lcdf), ref_normal_lcdf,
                      at({-30, -8, -5.01, -4.99, -1, 0, 2, 5})),
              IsEmpty());
  EXPECT_THAT(examine(
                  "normal_lccdf", ONWARD_OURS(normal_lccdf), [](LongDouble x) { return ref_normal_lcdf(-x); },
                  at({-5, -2, 0, 1, 4.99, 5.01, 30})),
              IsEmpty());
}

}  // namespace
}  // namespace onward::ad_test
