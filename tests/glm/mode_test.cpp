// Newton's method finds modes, and says what is wrong with data that have none.

#include "onward/glm/mode.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "onward/error.hpp"
#include "onward/glm/softmax.hpp"
#include "onward/glm/whitening.hpp"
#include "reference.hpp"

namespace onward::testing {
namespace {

using ::testing::AllOf;
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
    for (const bool centred : {false, true}) {
      Problem p = problem(family, {.rows = 2000, .predictors = 3});
      if (centred) {
        for (std::size_t i = 0; i < p.x.size(); i += 3) p.x[i] = std::round(2005 + 9 * p.x[i]);
        p = p.centred();
      }
      const glm::Mode mode = mode_of(p);
      EXPECT_THAT(mode.warnings, IsEmpty());
      EXPECT_LT(mode.iterations, 40u);
      std::vector<double> theta = mode.coefficients;
      for (const double number : mode.numbers) theta.push_back(std::log(number));
      auto exact = target(p.dimension(), ReferenceDensity{p});
      for (std::size_t j = 0; j < p.columns; ++j) {
        std::vector<double> axis(p.dimension(), 0.0);
        axis[j] = 1;
        const Jet jet = exact.jet(theta, axis, Order::curvature);
        const auto i = static_cast<Eigen::Index>(j);
        // In units of the posterior's width; floats end the search.
        EXPECT_LT(std::abs(jet.slope) / std::sqrt(-jet.curvature), 0.02) << j;
        EXPECT_NEAR(mode.precision(i, i), -jet.curvature, 2e-3 * std::abs(jet.curvature)) << j;
      }
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

TEST(Whitening, SharesTheMeanCovarianceOfTheClasses) {
  const Problem p = problem(glm::Family::categorical, {.rows = 300, .predictors = 2, .weights = true});
  const glm::RegressionPosterior posterior = p.posterior();
  const auto& y = posterior.observations();
  const std::size_t stride = glm::padded_rows(p.rows);
  ThreadPool pool(2);
  glm::Floats eta(y.classes() * stride, 0.0f), weights(y.classes() * stride, 0.0f);
  for (std::size_t k = 0; k < y.classes(); ++k)
    for (std::size_t i = 0; i < p.rows; ++i)
      eta[k * stride + i] = std::sin(static_cast<float>(3 * i + k)) - static_cast<float>(k);
  glm::add_class_weights(y, eta.data(), 0.5f, weights.data(), pool);
  glm::add_class_weights(y, eta.data(), 0.5f, weights.data(), pool);

  const auto n = static_cast<Eigen::Index>(p.columns);
  std::vector<Eigen::MatrixXd> precisions(y.classes(), Eigen::MatrixXd::Zero(n, n));
  Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(n, n), covariance = mean;
  for (std::size_t k = 0; k < y.classes(); ++k) {
    for (std::size_t i = 0; i < p.rows; ++i) {
      double total = 0;
      for (std::size_t j = 0; j < y.classes(); ++j)
        total += std::exp(static_cast<double>(eta[j * stride + i]));
      const double q = std::exp(static_cast<double>(eta[k * stride + i])) / total;
      const double weight = q * (1 - q) * p.weight(i);
      EXPECT_NEAR(weights[k * stride + i], weight, 1e-6) << i << ' ' << k;
      Eigen::VectorXd row(n);
      for (Eigen::Index j = 0; j < n; ++j) row[j] = p.entry(i, static_cast<std::size_t>(j));
      precisions[k] += weight * row * row.transpose();
    }
    for (Eigen::Index j = 0; j < n; ++j)
      precisions[k](j, j) += posterior.priors()[static_cast<std::size_t>(j)].precision();
    mean += precisions[k] / static_cast<double>(y.classes());
  }
  for (const auto& precision : precisions)
    covariance += (precision + 0.01 * mean).inverse() / static_cast<double>(y.classes());
  const Eigen::MatrixXd shared = glm::shared_precision(posterior, weights, pool);
  EXPECT_LT((shared * covariance - Eigen::MatrixXd::Identity(n, n)).norm(), 1e-4);

  // A class of which no row tells anything.
  std::fill(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(stride), 0.0f);
  EXPECT_NO_THROW(glm::whiten(glm::shared_precision(posterior, weights, pool)));
  // One set of weights stands for all classes.
  const glm::Floats one(weights.end() - static_cast<std::ptrdiff_t>(stride), weights.end());
  EXPECT_LT((glm::shared_precision(posterior, one, pool) - precisions.back()).norm(),
            1e-4 * precisions.back().norm());
}

/// One predictor that tells the outcomes apart.
Problem separable(glm::Family family) {
  Problem p = problem(family, {.rows = 40, .predictors = 1});
  for (std::size_t i = 0; i < p.rows; ++i) p.y[i] = p.x[i] > 0.1 ? 1 : 0;
  return p;
}

TEST(Mode, SaysThatDataSayNothing) {
  Problem p = problem(glm::Family::binomial, {.rows = 20, .predictors = 1});
  std::fill(p.options.trials.begin(), p.options.trials.end(), 0.0);
  std::fill(p.y.begin(), p.y.end(), 0.0);
  p.priors.coefficients = p.priors.intercept = glm::Prior::normal(0, 1);
  EXPECT_THAT(mode_of(p).warnings,
              ElementsAre(AllOf(HasSubstr("number of trials of 0"), HasSubstr("the prior"))));
  p.priors.coefficients = glm::Prior::flat();
  EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("the data say nothing")));
}

TEST(Mode, NamesLargeColumnsNotThePrior) {
  Problem p = problem(glm::Family::bernoulli, {.rows = 40, .predictors = 1});
  for (double& x : p.x) x *= 1e30;
  p.priors.coefficients = p.priors.intercept = glm::Prior::normal(0, 1);
  try {
    mode_of(p);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("Scale the columns"), ::testing::Not(HasSubstr("flat"))));
  }
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

/// Two predictors, and a third that is 1 in every fifth row, where y is made `there`.
Problem quasi_separable(glm::Family family, double there) {
  Problem p = problem(family, {.rows = 300, .predictors = 3});
  for (std::size_t i = 0; i < p.rows; ++i) {
    p.x[3 * i + 2] = i % 5 == 0 ? 1 : 0;
    if (i % 5 == 0) p.y[i] = there * (family == glm::Family::binomial ? p.options.trials[i] : 1);
  }
  return p;
}

TEST(Mode, SaysThatAColumnTellsSomeOutcomes) {
  for (const glm::Family family : all_families()) {
    // Of measurements no outcome is ever certain.
    if (family == glm::Family::categorical || family == glm::Family::gaussian ||
        family == glm::Family::gamma || family == glm::Family::student_t || family == glm::Family::ordinal)
      continue;
    const bool counts = family == glm::Family::poisson || family == glm::Family::negative_binomial ||
                        family == glm::Family::zero_inflated_poisson;
    for (const double there : {0.0, 1.0}) {
      SCOPED_TRACE(fmt::format("{} {}", glm::to_string(family), there));
      Problem p = quasi_separable(family, there);
      for (const double scale : {2.5, 1000.0}) {
        p.priors.coefficients = glm::Prior::normal(0, scale);
        if (counts && there == 1)
          EXPECT_THAT(mode_of(p).warnings, IsEmpty());
        else
          EXPECT_THAT(mode_of(p).warnings,
                      ElementsAre(AllOf(HasSubstr("column 3 tells some"), HasSubstr("quasi-separable"))));
      }
      p.priors.coefficients = glm::Prior::flat();
      if (counts && there == 1)
        EXPECT_THAT(mode_of(p).warnings, IsEmpty());
      else
        EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("no maximum")));
    }
  }
}

TEST(Mode, SaysThatAColumnTellsTheLastOrTheFirstOfOrderedClasses) {
  for (const double there : {1.0, 4.0}) {
    Problem p = quasi_separable(glm::Family::ordinal, there);
    EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("column 3 tells some")));
    p.priors.coefficients = glm::Prior::flat();
    EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("no maximum")));
  }
  EXPECT_THAT(mode_of(quasi_separable(glm::Family::ordinal, 2.0)).warnings, IsEmpty());
}

TEST(Mode, SaysSoOfCentredColumnsToo) {
  for (const double there : {0.0, 1.0}) {
    Problem p = quasi_separable(glm::Family::bernoulli, there).centred();
    EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("column 3 tells some")));
    p.priors.intercept = glm::Prior::flat();  // the coefficient that grows has a prior
    EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("column 3 tells some")));
    p.priors.coefficients = glm::Prior::flat();
    EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("no maximum")));
  }
}

TEST(Mode, OneExceptionIsEnoughForAMaximum) {
  for (const auto family : {glm::Family::bernoulli, glm::Family::probit, glm::Family::cloglog}) {
    SCOPED_TRACE(glm::to_string(family));
    for (const double there : {0.0, 1.0}) {
      Problem p = quasi_separable(family, there);
      p.y[100] = 1 - there;
      p.priors.coefficients = p.priors.intercept = glm::Prior::flat();
      EXPECT_THAT(mode_of(p).warnings, IsEmpty());
    }
  }
}

TEST(Mode, SaysThatAllCountsAre0) {
  for (const auto family : {glm::Family::poisson, glm::Family::negative_binomial}) {
    SCOPED_TRACE(glm::to_string(family));
    Problem p = problem(family, {.rows = 50, .predictors = 2});
    p.y.assign(p.rows, 0.0);
    EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("every y is 0")));
    p.priors.coefficients = p.priors.intercept = glm::Prior::flat();
    EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("no maximum")));
  }
}

TEST(Mode, SaysThatYIsFittedExactly) {
  Problem p = problem(glm::Family::gaussian, {.rows = 50, .predictors = 2});
  Problem constant = p;
  constant.y.assign(p.rows, 2.0);
  EXPECT_THAT(mode_of(constant).warnings, ElementsAre(HasSubstr("every y is 2: sigma has no positive")));
  for (std::size_t i = 0; i < p.rows; ++i) p.y[i] = 0.5 + p.x[2 * i] - 3 * p.x[2 * i + 1];
  EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("fitted exactly")));
  for (Problem* q : {&p, &constant}) {
    q->priors.coefficients = glm::Prior::flat();
    EXPECT_THAT([&] { mode_of(*q); }, ThrowsMessage<Error>(HasSubstr("sigma")));
    q->priors.known_scale = 1;
    EXPECT_THAT(mode_of(*q).warnings, IsEmpty());
  }
}

TEST(Mode, SaysThatGammaIsFittedExactly) {
  Problem p = problem(glm::Family::gamma, {.rows = 50, .predictors = 2});
  EXPECT_THAT(mode_of(p).warnings, IsEmpty());
  p.y.assign(p.rows, 1.0);
  EXPECT_THAT(mode_of(p).warnings, ElementsAre(HasSubstr("every y is 1: the shape has no finite")));
}

TEST(DataWarnings, OfClasses) {
  Problem p = problem(glm::Family::categorical, {.rows = 200, .predictors = 2});
  ThreadPool pool(1);
  EXPECT_THAT(glm::data_warnings(p.posterior(), pool), IsEmpty());
  Problem missing = p;
  for (double& y : missing.y) y = std::max(y, 1.0);
  EXPECT_THAT(glm::data_warnings(missing.posterior(), pool), ElementsAre(HasSubstr("no row has class 0")));
  p.priors.coefficients = glm::Prior::flat();
  EXPECT_THAT([&] { glm::data_warnings(p.posterior(), pool); },
              ThrowsMessage<Error>(HasSubstr("flat prior")));
}

TEST(Mode, NamesDependentColumns) {
  Problem p = problem(glm::Family::bernoulli, {.rows = 100, .predictors = 3});
  for (std::size_t i = 0; i < p.rows; ++i) {
    p.x[3 * i + 1] = 4;                                         // constant
    p.x[3 * i + 2] = static_cast<float>(2 * p.x[3 * i] + 0.5);  // twice the first, shifted
  }
  EXPECT_THAT(mode_of(p).warnings,
              ElementsAre(HasSubstr("column 2 is constant"), HasSubstr("column 3 is a linear")));
  EXPECT_THAT(mode_of(p.centred()).warnings,
              ElementsAre(HasSubstr("column 2 is constant"), HasSubstr("column 3 is a linear")));
  Problem named = p;
  named.priors.column_names = {"age", "one", "twice age"};
  EXPECT_THAT(mode_of(named).warnings, ElementsAre(HasSubstr("column 'one' is constant"),
                                                   HasSubstr("column 'twice age' is a linear")));
  p.priors.coefficients = glm::Prior::flat();
  EXPECT_THAT([&] { mode_of(p); }, ThrowsMessage<Error>(HasSubstr("column 2 is constant")));
  for (std::size_t i = 0; i < p.rows; ++i) p.x[3 * i + 1] = 0;
  p.priors.coefficients = glm::Prior::normal(0, 1);
  for (const Problem& q : {p, p.centred()})
    EXPECT_THAT(mode_of(q).warnings, ElementsAre(HasSubstr("column 2 is 0"), HasSubstr("column 3")));
}

}  // namespace
}  // namespace onward::testing
