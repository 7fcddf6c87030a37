// The harness must catch what it is there to catch: each wrong rule below earns complaints.

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// exp, with one thing wrong.
template <class Mistake>
struct Wrong {
  template <int N, class T>
  ad::Unary<T> at(const T& x) const {
    ad::Unary<T> f = ad::rule::Exp{}.template at<N>(x);
    Mistake::template spoil<N>(f, x);
    return f;
  }
};
struct Nothing {
  template <int N, class T>
  static void spoil(ad::Unary<T>&, const T&) {}
};
struct First {  // off by one part in 10^9
  template <int N, class T>
  static void spoil(ad::Unary<T>& f, const T&) {
    f.first *= ad::num<T>(1 + 1e-9);
  }
};
struct Second {  // a Taylor coefficient instead of the derivative
  template <int N, class T>
  static void spoil(ad::Unary<T>& f, const T&) {
    f.second *= ad::num<T>(0.5);
  }
};
struct ValueByOrder {  // the value depends on whether derivatives were asked for
  template <int N, class T>
  static void spoil(ad::Unary<T>& f, const T&) {
    if (N == 0) f.value *= ad::num<T>(1 + 1e-15);
  }
};
struct OtherBatch {  // a batch takes another implementation than a single number
  template <int N, class T>
  static void spoil(ad::Unary<T>& f, const T&) {
    if constexpr (simd::is_batch_v<T>) f.second *= ad::num<T>(1 + 1e-6);
  }
};

template <class Mistake>
Complaints examine_wrong() {
  return examine(
      "wrong",
      [](const auto& x) {
        if constexpr (AdScalar<std::decay_t<decltype(x)>>) {
          return ad::chain(Wrong<Mistake>{}, x);
        } else {
          return std::exp(x);
        }
      },
      [](long double x) { return std::exp(x); }, at({-1, 0.5, 2}));
}

TEST(AdHarness, CatchesWrongRules) {
  EXPECT_THAT(examine_wrong<Nothing>(), IsEmpty());
  EXPECT_THAT(examine_wrong<First>(), Contains(HasSubstr("slope is")));
  EXPECT_THAT(examine_wrong<Second>(), Contains(HasSubstr("curvature is")));
  EXPECT_THAT(examine_wrong<ValueByOrder>(), Contains(HasSubstr("value of Value")));
  EXPECT_THAT(examine_wrong<OtherBatch>(), Contains(HasSubstr("curvature in a batch")));
}

TEST(AdHarness, FiniteDifferencesKeepTheirDigits) {
  const auto g = [](long double t) { return std::exp(2 * t); };
  EXPECT_NEAR(static_cast<double>(finite_difference(g, 1, 0.1L)), 2, 1e-13);
  EXPECT_NEAR(static_cast<double>(finite_difference(g, 2, 0.1L)), 4, 1e-10);
}

}  // namespace
}  // namespace onward::ad_test
