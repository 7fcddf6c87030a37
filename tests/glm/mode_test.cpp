// Newton's method finds modes, and says what is wrong with data that have none.

#include "onward/glm/mode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "onward/error.hpp"
#include "onward/glm/whitening.hpp"
#include "reference.hpp"

namespace onward::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

glm::Mode mode_of(const Problem& p) {
  ThreadPool pool(2);
  return glm::find_mode(p.posterior(), pool);
}

TEST(Mode, HasNoSlopeAndTheCurvatureOfTheDensity) {
  for (const glm::Family family : all_families()) {
    if (family == glm::Family::categorical) continue;
    SCOPED_TRACE(glm::to_string(family));
    Problem p = problem(family, {.rows = 2000, .predictors = 3});
    const glm::Mode mode = mode_of(p);
    EXPECT_THAT(mode.warnings, IsEmpty());
    EXPECT_LT(mode.iterations, 40u);
    p.priors.known_scale = mode.scale;
    auto exact = target(p.dimension(), ReferenceDensity{p});
    for (std::size_t j = 0; j < p.columns; ++j) {
      std::vector<double> axis(p.dimension(), 0.0);
      axis[j] = 1;
      const Jet jet = exact.jet(mode.coefficients, axis, Order::curvature);
      const auto i = static_cast<Eigen::Index>(j);
      // In units of the posterior's width; floats end the search.
      EXPECT_LT(std::abs(jet.slope) / std::sqrt(-jet.curvature), 0.02) << j;
      EXPECT_NEAR(mode.precision(i, i), -jet.curvature, 2e-3 * std::abs(jet.curvature)) << j;
    }
  }
}

TEST(Whitening, MakesThePrecisionTheIdentity) {
  const glm::Mode mode = mode_of(problem(glm::Family::poisson, {.rows = 500, .predictors = 5}));
  const glm::Whitening w = glm::whiten(mode.precision);
  const auto n = mode.precision.rows();
  EXPECT_LT(
      (w.to_coefficients.transpose() * mode.precision * w.to_coefficients - Eigen::MatrixXd::Identity(n, n))
          .norm(),
      1e-9);
  EXPECT_LT((w.to_coefficients * w.from_coefficients - Eigen::MatrixXd::Identity(n, n)).norm(), 1e-9);
  EXPECT_TRUE(w.to_coefficients.isUpperTriangular());
  EXPECT_THROW(glm::whiten(Eigen::MatrixXd::Zero(2, 2)), Error);
}

/// One predictor that tells the outcomes apart.
Problem separable(glm::Family family) {
  Problem p = problem(family, {.rows = 40, .predictors = 1});
  for (std::size_t i = 0; i < p.rows; ++i) p.y[i] = p.x[i] > 0.1 ? 1 : 0;
  return p;
}

TEST(Mode, SaysThatDataAreSeparable) {
  for (const auto family : {glm::Family::bernoulli, glm::Family::probit, glm::Family::cloglog}) {
    SCOPED_TRACE(glm::to_string(family));
    Problem p = separable(family);
    p.priors.coefficients = glm::Prior::normal(0, 100);  // nearly flat
    p.priors.intercept = glm::Prior::normal(0, 100);
    EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("separable")));
    p.priors.coefficients = p.priors.intercept = glm::Prior::flat();
    EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("no maximum")));
  }
}

TEST(Mode, NamesDependentColumns) {
  Problem p = problem(glm::Family::bernoulli, {.rows = 100, .predictors = 3});
  for (std::size_t i = 0; i < p.rows; ++i) {
    p.x[3 * i + 1] = 4;                                         // constant
    p.x[3 * i + 2] = static_cast<float>(2 * p.x[3 * i] + 0.5);  // twice the first, shifted
  }
  EXPECT_THAT(mode_of(p).warnings,
              ElementsAre(HasSubstr("column 2 is constant"), HasSubstr("column 3 is a linear")));
  p.priors.coefficients = glm::Prior::flat();
  EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("column 2 is constant")));
  for (std::size_t i = 0; i < p.rows; ++i) p.x[3 * i + 1] = 0;
  p.priors.coefficients = glm::Prior::normal(0, 1);
  EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("column 2 is 0"), HasSubstr("column 3")));
}

}  // namespace
}  // namespace onward::testing
