// The posteriors that samplers are measured on: densities against their formulas the long way, answers
// against runs, and what a measurement says of a run that is wrong.

#include "bench/posteriors/set.hpp"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "bench/posteriors/data.hpp"
#include "bench/posteriors/default_run.hpp"
#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward::testing {
namespace {

using namespace bench;
using posteriors::Data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double normal(double x, double mean, double sd) {
  return -0.5 * std::pow((x - mean) / sd, 2) - std::log(sd) - 0.5 * std::log(2 * std::numbers::pi);
}
double inv_logit(double x) { return 1 / (1 + std::exp(-x)); }

/// How much higher the density is at `a` than at `b`: constants do not matter.
double rise(AnyTarget target, const std::vector<double>& a, const std::vector<double>& b) {
  return target.value(a) - target.value(b);
}

TEST(PosteriorDensities, HiddenMarkovModelsSumOverAllPaths) {
  const Data data{
      {"u", {0.6, 1.7, 1.5, 0.8, 0.7}}, {"v", {1.1, 2.6, 2.9, 1.0, 0.8}}, {"tau", 0.3}, {"rho", 0.4}};
  const AnyTarget target = posteriors::hmm_drives(data);
  const auto density = [&](const std::vector<double>& at) {  // by parameters as they are reported
    double sum = 0;
    for (unsigned path = 0; path < 32; ++path) {
      double term = 1;
      for (std::size_t t = 0; t < 5; ++t) {
        const std::size_t state = path >> t & 1;
        term *= std::exp(normal(data["u"][t], at[4 + state], 0.3) + normal(data["v"][t], at[6 + state], 0.4));
        if (t > 0) term *= at[2 * (path >> (t - 1) & 1) + state];
      }
      sum += term;
    }
    return std::log(sum) + normal(at[4], 0, 1) + normal(at[5], 3, 1) + normal(at[6], 0, 1) +
           normal(at[7], 3, 1);
  };
  // Simplexes and ordered numbers bring a Jacobian, the same at places that differ by the priors' centre
  // alone: here it is written out. theta = inv_logit(u), positive_ordered: exp(a), exp(a) + exp(b).
  const auto full = [&](const std::vector<double>& u) {
    std::vector<double> at(8);
    target.constrain(u, at);
    const auto simplex = [](double p) { return std::log(p) + std::log(1 - p); };
    return density(at) + simplex(at[0]) + simplex(at[2]) + u[2] + u[3] + u[4] + u[5];
  };
  const std::vector<double> a{0.4, -0.7, -0.5, 0.1, 0.2, 0.3}, b{-0.3, 0.2, -0.2, 0.4, 0, 0.6};
  EXPECT_NEAR(rise(target, a, b), full(a) - full(b), 1e-10);
}

TEST(PosteriorDensities, GaussianProcessesAreMultivariateNormals) {
  const Data data{{"x", {-1, 0.5, 2, 2.5}}, {"y", {0.3, -0.4, 1.1, 0.9}}};
  const auto density = [&](double log_rho, double log_alpha, double log_sigma) {
    const double rho = std::exp(log_rho), alpha = std::exp(log_alpha), sigma = std::exp(log_sigma);
    Eigen::Matrix4d k;
    Eigen::Vector4d y;
    for (int i = 0; i < 4; ++i) {
      y[i] = data["y"][static_cast<std::size_t>(i)];
      for (int j = 0; j < 4; ++j) {
        const double d = data["x"][static_cast<std::size_t>(i)].get<double>() -
                         data["x"][static_cast<std::size_t>(j)].get<double>();
        k(i, j) = alpha * alpha * std::exp(-d * d / (2 * rho * rho)) + (i == j ? sigma : 0);
      }
    }
    return -0.5 * y.dot(k.inverse() * y) - 0.5 * std::log(k.determinant()) + 24 * std::log(rho) - 4 * rho +
           normal(alpha, 0, 2) + normal(sigma, 0, 1) + log_rho + log_alpha + log_sigma;
  };
  EXPECT_NEAR(rise(posteriors::gp_regression(data), {0.5, 0.2, -0.4}, {1.1, -0.3, 0.2}),
              density(0.5, 0.2, -0.4) - density(1.1, -0.3, 0.2), 1e-10);
}

TEST(PosteriorDensities, ArmaErrorsRemember) {
  const Data data{{"y", {1.0, 0.4, 0.9, 1.3}}};
  const auto density = [&](double mu, double phi, double theta, double log_sigma) {
    const double sigma = std::exp(log_sigma);
    double sum = normal(mu, 0, 10) + normal(phi, 0, 2) + normal(theta, 0, 2) -
                 std::log1p(sigma * sigma / 25) + log_sigma;
    std::vector<double> error;
    for (std::size_t t = 0; t < 4; ++t) {
      const double before = t == 0 ? mu : data["y"][t - 1].get<double>();
      error.push_back(data["y"][t].get<double>() - mu - phi * before - (t == 0 ? 0 : theta * error.back()));
      sum += normal(error.back(), 0, sigma);
    }
    return sum;
  };
  EXPECT_NEAR(rise(posteriors::arma(data), {0.2, 0.7, 0.3, -0.5}, {-0.1, 0.4, -0.8, 0.3}),
              density(0.2, 0.7, 0.3, -0.5) - density(-0.1, 0.4, -0.8, 0.3), 1e-10);
}

TEST(PosteriorDensities, GarchReportsWhatItsVariancesAreMadeOf) {
  const Data data{{"y", {1.0, -0.4, 0.9, 2.3}}, {"sigma1", 0.5}};
  const AnyTarget target = posteriors::garch11(data);
  EXPECT_THAT(target.names(), ElementsAre("mu", "alpha0", "alpha1", "beta1"));
  const auto density = [&](const std::vector<double>& u) {
    std::vector<double> at(4);
    target.constrain(u, at);
    EXPECT_NEAR(at[3], (1 - at[2]) * inv_logit(u[3]), 1e-14);
    double variance = 0.25, sum = 0;
    for (std::size_t t = 0; t < 4; ++t) {
      if (t > 0)
        variance = at[1] + at[2] * std::pow(data["y"][t - 1].get<double>() - at[0], 2) + at[3] * variance;
      sum += normal(data["y"][t], at[0], std::sqrt(variance));
    }
    const auto jacobian = [](double x) { return std::log(inv_logit(x)) + std::log(1 - inv_logit(x)); };
    return sum + u[1] + jacobian(u[2]) + jacobian(u[3]) + std::log(1 - at[2]);
  };
  const std::vector<double> a{0.3, -0.2, 0.4, -0.6}, b{0.8, 0.5, -1, 0.7};
  EXPECT_NEAR(rise(target, a, b), density(a) - density(b), 1e-10);
}

TEST(PosteriorDensities, CountsAreNegativeBinomial) {
  const Data data{{"x", {-1.0, 0.5}}, {"y", {3, 0}}};
  const auto density = [&](double a, double b, double log_shape) {
    const double shape = std::exp(log_shape);
    double sum = -2 * std::log1p(a * a / 18.75) + normal(b, 0, 2.5) + 0.01 * log_shape - 0.01 * shape;
    for (std::size_t n = 0; n < 2; ++n) {
      const double mean = std::exp(a + b * data["x"][n].get<double>()), y = data["y"][n];
      const double success = shape / (shape + mean);
      sum +=
          std::lgamma(y + shape) - std::lgamma(shape) + shape * std::log(success) + y * std::log(1 - success);
    }
    return sum;
  };
  EXPECT_NEAR(rise(posteriors::negative_binomial(data), {0.2, -0.3, 0.4}, {1, 0.5, -0.7}),
              density(0.2, -0.3, 0.4) - density(1, 0.5, -0.7), 1e-10);
}

TEST(PosteriorDensities, AnswersOfPeopleToQuestions) {
  const Data data{{"I", 2}, {"J", 2}, {"y", {{1, 0}, {1, 1}}}};
  const auto density = [&](const std::vector<double>& u) {  // theta, log a, b, log sigma_a, mu_b, log sigma_b
    const double sigma_a = std::exp(u[6]), mu_b = u[7], sigma_b = std::exp(u[8]);
    double sum = -std::log1p(sigma_a * sigma_a / 4) - std::log1p(sigma_b * sigma_b / 4) + normal(mu_b, 0, 5) +
                 u[6] + u[8];
    for (std::size_t i = 0; i < 2; ++i) {
      sum += normal(u[i], 0, 1) + normal(u[2 + i], 0, sigma_a) + normal(u[4 + i], mu_b, sigma_b);
      for (std::size_t j = 0; j < 2; ++j) {
        const double p = inv_logit(std::exp(u[2 + i]) * (u[j] - u[4 + i]));
        sum += std::log(data["y"][j][i] == 1 ? p : 1 - p);
      }
    }
    return sum;
  };
  const std::vector<double> a{0.1, -0.4, 0.3, -0.2, 0.5, 0.7, -0.1, 0.2, 0.3},
      b{0.6, 0.2, 0, 0.4, -0.3, 0.1, 0.5, -0.6, 0};
  EXPECT_NEAR(rise(posteriors::item_response(data), a, b), density(a) - density(b), 1e-10);
}

TEST(PosteriorSet, HasAnswersForEveryParameter) {
  for (const auto& name : chosen_posteriors({"simulated", "nasty"})) {
    const KnownPosterior p = make_posterior(name);
    // What the motorcycle's are nobody knows yet.
    EXPECT_EQ(p.quantities.mean.size(), name == "motorcycle" ? 0 : p.target.names().size()) << name;
    for (const double v : p.quantities.variance) EXPECT_GT(v, 0) << name;
  }
}

TEST(PosteriorSet, DimensionsAreThoseThatPagesName) {
  const auto dimension = [](const char* name) { return make_posterior(name).target.dimension(); };
  EXPECT_EQ(dimension("item-response"), 143);
  EXPECT_EQ(dimension("hierarchical-regression"), 105);
  EXPECT_EQ(dimension("motorcycle"), 66);
}

TEST(PosteriorSet, RefusesWhatItHasNot) {
  const auto error_of = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_THAT(error_of([] { chosen_posteriors({"armaa"}); }), HasSubstr("Did you mean arma?"));
  EXPECT_THAT(error_of([] { chosen_posteriors({"garch11"}); }), HasSubstr("--posteriordb DIR"));
  EXPECT_THAT(error_of([] { make_posterior("garch11", "/nowhere"); }),
              HasSubstr("/nowhere/garch-garch11.data.json"));
}

class PosteriorFiles : public Scratch {};

TEST_F(PosteriorFiles, DataAndAnswersAreReadAsPosteriordbStoresThem) {
  const auto moment = [](double mean, double sd) { return Data{{"mean", mean}, {"sd", sd}, {"n", 10000}}; };
  put("earnings-logearn_height.data.json", R"({"N": 4, "earn": [1, 3, 2, 9], "height": [60, 70, 65, 66]})");
  put("earnings-logearn_height.reference.json",
      Data{{"reference",
            {{"sigma", moment(0.5, 0.1)}, {"beta[2]", moment(2, 0.2)}, {"beta[1]", moment(1, 0.3)}}}}
          .dump());
  const KnownPosterior p = make_posterior("logearn_height", path("").string());
  EXPECT_THAT(p.target.names(), ElementsAre("beta.1", "beta.2", "sigma"));
  EXPECT_THAT(p.quantities.mean, ElementsAre(1, 2, 0.5));
  EXPECT_THAT(p.quantities.mean_error, ElementsAre(0.003, 0.002, 0.001));
}

/// Against answers that are exact: a mean of three is off by 5.5 standard errors once in nine million runs;
/// with 4,000 draws, worth at least 400 for a variance, that is off by less than 5.5 √(2/400).
TEST(DefaultRun, KnowsARunThatIsRightFromAWrongOne) {
  KnownPosterior p = make_posterior("earnings");
  DefaultSettings s;
  s.sampler = "nuts";
  s.length = Length::library;
  const DefaultFigures right = default_figures(p, s);
  EXPECT_EQ(right.draws, 1000);
  if (!right.arrived()) GTEST_FAIL() << "R-hat of " << right.worst << " is " << right.max_rhat;
  EXPECT_EQ(right.max_rhat, right.early_rhat);
  EXPECT_LT(right.mean_error, 5.5);
  EXPECT_LT(right.variance_error, 0.39);
  // The twin: an answer for sigma that is half a standard deviation off.
  p.quantities.mean[2] += 0.5 * std::sqrt(p.quantities.variance[2]);
  const DefaultFigures wrong = default_figures(p, s);
  EXPECT_EQ(wrong.min_ess, right.min_ess);
  EXPECT_GT(wrong.mean_error, 5.5);
  EXPECT_NEAR(wrong.mean_error_sd, 0.5, 0.28);
}

}  // namespace
}  // namespace onward::testing
