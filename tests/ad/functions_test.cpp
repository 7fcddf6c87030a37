// Functions of one argument that the standard library has too, at ordinary and awkward places.

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

using testing::IsEmpty;

template <class F>
Complaints examine(const std::string& name, const F& f, const std::vector<Place>& places) {
  return examine(name, f, f, places);
}

TEST(AdFunctions, PowersAndLogarithms) {
  EXPECT_THAT(examine("sqrt", ONWARD_CALL(sqrt), at({1e-8, 0.3, 1, 2, 1e10})), IsEmpty());
  EXPECT_THAT(examine("cbrt", ONWARD_CALL(cbrt), at({-8, -0.2, 0.001, 3})), IsEmpty());
  EXPECT_THAT(examine("exp", ONWARD_CALL(exp), at({-20, -1, 0, 0.01, 0.7, 30})), IsEmpty());
  EXPECT_THAT(examine("expm1", ONWARD_CALL(expm1), at({-20, -1, 0, 0.01, 0.7, 30})), IsEmpty());
  EXPECT_THAT(examine("log", ONWARD_CALL(log), at({1e-8, 0.3, 1, 2, 1e10})), IsEmpty());
  EXPECT_THAT(examine("log1p", ONWARD_CALL(log1p), at({-0.9, -0.1, 0, 0.01, 2, 1e10})), IsEmpty());
  EXPECT_THAT(examine("log2", ONWARD_CALL(log2), at({1e-8, 0.3, 1, 2, 1e10})), IsEmpty());
  EXPECT_THAT(examine("log10", ONWARD_CALL(log10), at({1e-8, 0.3, 1, 2, 1e10})), IsEmpty());
}

TEST(AdFunctions, Circular) {
  EXPECT_THAT(examine("sin", ONWARD_CALL(sin), at({-3, -0.5, 0, 1, 1.6, 10})), IsEmpty());
  EXPECT_THAT(examine("cos", ONWARD_CALL(cos), at({-3, -0.5, 0, 1, 1.6, 10})), IsEmpty());
  EXPECT_THAT(examine("tan", ONWARD_CALL(tan), at({-3, -0.5, 0, 1, 5})), IsEmpty());
  EXPECT_THAT(examine("asin", ONWARD_CALL(asin), at({-0.9, -0.2, 0, 0.5})), IsEmpty());
  EXPECT_THAT(examine("acos", ONWARD_CALL(acos), at({-0.9, -0.2, 0, 0.5})), IsEmpty());
  EXPECT_THAT(examine("atan", ONWARD_CALL(atan), at({-1000, -0.9, -0.2, 0, 0.5, 30})), IsEmpty());
}

TEST(AdFunctions, Hyperbolic) {
  EXPECT_THAT(examine("sinh", ONWARD_CALL(sinh), at({-5, -0.3, 0, 1, 20})), IsEmpty());
  EXPECT_THAT(examine("cosh", ONWARD_CALL(cosh), at({-5, -0.3, 0, 1, 20})), IsEmpty());
  EXPECT_THAT(examine("tanh", ONWARD_CALL(tanh), at({-5, -0.3, 0, 1, 8})), IsEmpty());
  EXPECT_THAT(examine("asinh", ONWARD_CALL(asinh), at({-500, -0.3, 0, 1, 1e7})), IsEmpty());
  EXPECT_THAT(examine("acosh", ONWARD_CALL(acosh), at({1.1, 2, 1e7})), IsEmpty());
  EXPECT_THAT(examine("atanh", ONWARD_CALL(atanh), at({-0.9, -0.2, 0, 0.5})), IsEmpty());
}

TEST(AdFunctions, ErrorAndGamma) {
  EXPECT_THAT(examine("erf", ONWARD_CALL(erf), at({-2, -0.4, 0, 1, 3})), IsEmpty());
  EXPECT_THAT(examine("erfc", ONWARD_CALL(erfc), at({-2, -0.4, 0, 1, 3, 8})), IsEmpty());
  EXPECT_THAT(examine("lgamma", ONWARD_CALL(lgamma), at({-2.5, -0.4, 0.01, 0.6, 1, 2, 5, 50})), IsEmpty());
}

TEST(AdFunctions, Pieces) {
  EXPECT_THAT(examine("abs", ONWARD_CALL(abs), at({-2, 0.5})), IsEmpty());
  EXPECT_THAT(examine("fabs", ONWARD_CALL(fabs), at({-2, 0.5})), IsEmpty());
  EXPECT_THAT(examine("floor", ONWARD_CALL(floor), at({-2.5, -0.4, 0.5, 3.7})), IsEmpty());
  EXPECT_THAT(examine("ceil", ONWARD_CALL(ceil), at({-2.5, -0.4, 0.5, 3.7})), IsEmpty());
  EXPECT_THAT(examine("trunc", ONWARD_CALL(trunc), at({-2.5, -0.4, 0.5, 3.7})), IsEmpty());
  EXPECT_THAT(examine("round", ONWARD_CALL(round), at({-2.6, -0.4, 0.3, 3.7})), IsEmpty());
}

}  // namespace
}  // namespace onward::ad_test
