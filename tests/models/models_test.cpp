// The built-in models: their names and refusals, their derivatives, and long runs against what is known of
// them.

#include "models/models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include "models/gaussian.hpp"
#include "models/independent_draws.hpp"
#include "models/logistic.hpp"
#include "models/one_dimensional.hpp"
#include "models/stochastic_volatility.hpp"
#include "onward/error.hpp"
#include "onward/random/stream.hpp"
#include "onward/run/run.hpp"
#include "onward/target/callable.hpp"

namespace onward::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Means and standard deviations of theta.1 ... theta.8, mu and tau in 10,000 independent reference draws
// (posteriordb, eight_schools-eight_schools_noncentered).
constexpr std::array<std::array<double, 2>, 10> eight_schools_reference{{{6.15050229, 5.61586342},
                                                                         {4.93958114, 4.64557811},
                                                                         {3.90590609, 5.28071195},
                                                                         {4.79601675, 4.77093802},
                                                                         {3.61443632, 4.61472069},
                                                                         {4.05114758, 4.7962484},
                                                                         {6.31716976, 5.0028554},
                                                                         {4.88399694, 5.31769206},
                                                                         {4.41051834, 3.30929648},
                                                                         {3.60205952, 3.19847767}}};

std::vector<double> random_place(std::size_t dimension, std::uint64_t number) {
  std::vector<double> x(dimension);
  Stream(5, 0).normals(number, Purpose::start, x);
  return x;
}

/// Slope, curvature and gradient against central differences of the value.
void expect_right_derivatives(AnyTarget t, const std::string& name) {
  const std::size_t size = t.dimension();
  const auto theta = random_place(size, 0);
  std::vector<double> v(size), gradient(size), moved(size);
  Stream(5, 1).direction(0, Purpose::direction, v);
  const auto along = [&](const std::vector<double>& d, double a) {
    for (std::size_t i = 0; i < size; ++i) moved[i] = theta[i] + a * d[i];
    return t.value(moved);
  };
  const double h = 1e-3;
  const auto slope = [&](const std::vector<double>& d) {
    return (8 * (along(d, h) - along(d, -h)) - (along(d, 2 * h) - along(d, -2 * h))) / (12 * h);
  };
  const double curvature =
      (16 * (along(v, h) + along(v, -h)) - (along(v, 2 * h) + along(v, -2 * h)) - 30 * along(v, 0)) /
      (12 * h * h);
  const Jet jet = t.jet(theta, v, Order::curvature);
  // rounding of the value, a few hundred at most, over h and h²
  const double size_of_value = 1 + std::abs(jet.value);
  EXPECT_NEAR(jet.slope, slope(v), 1e-9 * size_of_value) << name;
  EXPECT_NEAR(jet.curvature, curvature, 1e-7 * size_of_value) << name;
  EXPECT_DOUBLE_EQ(t.gradient(theta, gradient), jet.value) << name;
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> axis(size);
    axis[i] = 1;
    EXPECT_NEAR(gradient[i], slope(axis), 1e-9 * size_of_value) << name << ", parameter " << i + 1;
    EXPECT_NEAR(gradient[i], t.jet(theta, axis, Order::slope).slope, 1e-13 * size_of_value)
        << name << ", parameter " << i + 1;
  }
}

TEST(Models, HaveRightDerivatives) {
  for (const auto& info : list()) expect_right_derivatives(make(info.name).target, std::string(info.name));
  expect_right_derivatives(make("gaussian", {7, 100.0}).target, "gaussian of condition 100");
  expect_right_derivatives(make("gaussian", {40, 10.0}).target, "gaussian of dimension 40");
  expect_right_derivatives(make("rosenbrock", {6, {}}).target, "rosenbrock of dimension 6");
  expect_right_derivatives(target(5, LogisticDensity(50, 5)), "logistic of dimension 5");
  expect_right_derivatives(target(1, LogisticDistribution{}), "logistic distribution");
  expect_right_derivatives(target(1, LogGammaDistribution{}), "log-gamma");
  expect_right_derivatives(target(1, LogHalfCauchyDistribution{}), "log half-Cauchy");
}

TEST(Models, HaveOneNameAParameterAndMomentsToMatch) {
  for (const auto& info : list()) {
    const Model model = make(info.name);
    const auto names = model.target.names();
    EXPECT_FALSE(info.summary.empty());
    EXPECT_EQ(model.target.dimension(), info.default_dimension + (info.name == "funnel" ? 1 : 0));
    if (!model.known) continue;
    EXPECT_EQ(model.known->mean.size(), names.size()) << info.name;
    EXPECT_EQ(model.known->sd.size(), names.size()) << info.name;
  }
  EXPECT_THAT(make("funnel", {2, {}}).target.names(), ElementsAre("w", "x.1", "x.2"));
  EXPECT_THAT(make("rosenbrock").target.names(), ElementsAre("x.1", "x.2"));
  EXPECT_THAT(make("gaussian", {3, {}}).target.names(), ElementsAre("x.1", "x.2", "x.3"));
  EXPECT_THAT(make("eight-schools").target.names(),
              ElementsAre("theta.1", "theta.2", "theta.3", "theta.4", "theta.5", "theta.6", "theta.7",
                          "theta.8", "mu", "tau"));
}

TEST(Models, KnownMomentsOfTheFunnel) {
  const auto known = *make("funnel", {3, {}}).known;
  EXPECT_EQ(known.sd[0], 3);
  EXPECT_DOUBLE_EQ(known.sd[1], std::exp(9.0 / 4));  // E x² = E exp(-w) = exp(9/2)
  for (const double mean : known.mean) EXPECT_EQ(mean, 0);
}

TEST(Models, TheGaussiansVariancesAreThoseOfItsCurvature) {
  // The density is quadratic, so its curvatures along axes and pairs of axes are its precision matrix, whose
  // inverse is the covariance.
  constexpr std::size_t size = 5;
  AnyTarget t = target(size, GaussianDensity(size, 100));
  const std::vector<double> zero(size);
  const auto curvature = [&](std::size_t i, std::size_t j) {
    std::vector<double> v(size);
    v[i] += 1;
    v[j] += 1;
    return t.jet(zero, v, Order::curvature).curvature;
  };
  Eigen::MatrixXd precision(size, size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double ii = curvature(i, i) / 4, jj = curvature(j, j) / 4;
      precision(static_cast<int>(i), static_cast<int>(j)) = i == j ? -ii : -(curvature(i, j) - ii - jj) / 2;
    }
  }
  const Eigen::MatrixXd covariance = precision.inverse();
  const auto known = *make("gaussian", {size, 100.0}).known;
  for (std::size_t i = 0; i < size; ++i) {
    const int k = static_cast<int>(i);
    EXPECT_NEAR(known.sd[i], std::sqrt(covariance(k, k)), 1e-10);
  }
  const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(precision).eigenvalues();
  EXPECT_NEAR(eigenvalues[0], 1, 1e-9);
  EXPECT_NEAR(eigenvalues[size - 1], 100, 1e-9);
}

TEST(Models, EightSchoolsIsTheDensityOfItsPage) {
  // theta_j = mu + tau z_j; everything up to a constant, so compare differences between two places.
  AnyTarget t = make("eight-schools").target;
  const std::array<double, 8> y{28, 8, -3, 7, -1, 1, 18, 12}, sigma{15, 10, 16, 11, 9, 11, 10, 18};
  const auto direct = [&](const std::vector<double>& x) {
    const double mu = x[8], tau = std::exp(x[9]);
    double sum = -0.5 * (mu / 5) * (mu / 5) - std::log(1 + (tau / 5) * (tau / 5)) + std::log(tau);
    for (std::size_t j = 0; j < 8; ++j) {
      const double z = (y[j] - (mu + tau * x[j])) / sigma[j];
      sum += -0.5 * x[j] * x[j] - 0.5 * z * z;
    }
    return sum;
  };
  const auto a = random_place(10, 1), b = random_place(10, 2);
  EXPECT_NEAR(t.value(a) - t.value(b), direct(a) - direct(b), 1e-11);
  std::vector<double> out(10);
  t.constrain(a, out);
  EXPECT_DOUBLE_EQ(out[9], std::exp(a[9]));
  EXPECT_EQ(out[8], a[8]);
  EXPECT_DOUBLE_EQ(out[3], a[8] + std::exp(a[9]) * a[3]);
}

TEST(Models, KnownMomentsOfEightSchools) {
  // Means and standard deviations of 10,000 independent reference draws (posteriordb,
  // eight_schools-eight_schools_noncentered). Their errors: sd/100, and twice sd/√2/100 for the standard
  // deviations, since tails are heavier than a normal's.
  const auto known = *make("eight-schools").known;
  for (std::size_t i = 0; i < 10; ++i) {
    const auto [mean, sd] = eight_schools_reference[i];
    EXPECT_NEAR(known.mean[i], mean, 5 * sd / 100) << i;
    EXPECT_NEAR(known.sd[i], sd, 5 * 2 * sd / std::sqrt(2.0) / 100) << i;
  }
}

TEST(Models, KnownMomentsOfTheMixture) {
  const auto known = *make("mixture").known;
  // 0.5·0 + 0.3·1.5 + 0.2·2, and 0.5 + 0.3 (0.49 + 2.25) + 0.2 (1.44 + 4) less its square
  EXPECT_NEAR(known.mean[0], 0.85, 1e-12);
  EXPECT_NEAR(known.sd[0], std::sqrt(0.5 + 0.3 * 2.74 + 0.2 * 5.44 - 0.85 * 0.85), 1e-12);
  EXPECT_NEAR(known.mean[1], 0.05, 1e-12);
  EXPECT_NEAR(known.mean[4], 0.45, 1e-12);
}

template <class Density>
void expect_moments(const Density& density, double mean, double variance) {
  // The trapezoidal rule: the tails are exponential, so that 80 to both sides is all there is.
  double total = 0, first = 0, second = 0;
  for (double x = -80; x <= 80; x += 0.01) {
    const double p = std::exp(density(std::vector<double>{x}));
    total += p;
    first += p * x;
    second += p * x * x;
  }
  EXPECT_NEAR(first / total, mean, 1e-10);
  EXPECT_NEAR(second / total - first * first / total / total, variance, 1e-9);
}

TEST(Models, OneDimensionalDistributions) {
  constexpr double euler = 0.57721566490153286;
  expect_moments(LogisticDistribution{}, 0, M_PI * M_PI / 3);
  expect_moments(LogGammaDistribution{1}, -euler, M_PI * M_PI / 6);
  expect_moments(LogGammaDistribution{2}, 1 - euler, M_PI * M_PI / 6 - 1);
  expect_moments(LogHalfCauchyDistribution{}, 0, M_PI * M_PI / 4);
}

TEST(Models, StochasticVolatilityIsTheDensityOfItsPage) {
  // Over h itself, with the Jacobians of z to h, phi and sigma; everything up to a constant.
  AnyTarget t = make("stochastic-volatility").target;
  const StochasticVolatilityDensity density(200);
  const auto direct = [&](const std::vector<double>& u) {
    std::vector<double> x(203);
    t.constrain(u, x);
    const double mu = x[0], phi = x[1], sigma = x[2];
    const double* h = &x[3];
    double f = -0.5 * mu * mu / 25 + 19 * std::log((1 + phi) / 2) + 0.5 * std::log((1 - phi) / 2) -
               0.5 * sigma * sigma + std::log(1 - phi * phi) + u[2];
    // what dh/dz is, since the target's density is over z
    f += 200 * std::log(sigma) - 0.5 * std::log(1 - phi * phi);
    for (std::size_t k = 0; k < 200; ++k) {
      const double mean = k == 0 ? mu : mu + phi * (h[k - 1] - mu);
      const double sd = k == 0 ? sigma / std::sqrt(1 - phi * phi) : sigma;
      f += -0.5 * std::pow((h[k] - mean) / sd, 2) - std::log(sd);
      f += -0.5 * std::pow(density.y()[k] / std::exp(h[k] / 2), 2) - h[k] / 2;
    }
    return f;
  };
  auto a = random_place(203, 1), b = random_place(203, 2);
  for (auto* u : {&a, &b}) {
    (*u)[1] += 2;  // phi and sigma of a likely size, so that h stays in bounds
    (*u)[2] -= 1;
  }
  EXPECT_NEAR(t.value(a) - t.value(b), direct(a) - direct(b), 1e-9 * (1 + std::abs(t.value(a))));
  EXPECT_EQ(make("stochastic-volatility").known->mean.size(), 203U);
}

TEST(Models, RefuseWhatMakesNoSense) {
  struct Case {
    const char* name;
    ModelOptions options;
    std::vector<const char*> words;
  };
  const std::vector<Case> cases{
      {"funel", {}, {"'funel'", "Did you mean funnel?", "gaussian"}},
      {"eight_schools", {}, {"Did you mean eight-schools?"}},
      {"", {}, {"''", "Models: "}},
      {"gaussian", {0, {}}, {"dimension 0", "`dim` 1"}},
      {"funnel", {0, {}}, {"dimension 0"}},
      {"gaussian", {std::size_t{1} << 62, {}}, {"4611686018427387904", "at most 100000000"}},
      {"rosenbrock", {3, {}}, {"`dim` 3", "even"}},
      {"eight-schools", {5, {}}, {"fixed dimension", "`dim` 5"}},
      {"funnel", {{}, 10.0}, {"no condition number", "`condition` 10"}},
      {"gaussian", {{}, 0.5}, {"condition number 0.5", "1 or more"}},
      {"gaussian", {{}, NAN}, {"condition number nan"}},
      {"gaussian", {{}, INFINITY}, {"condition number inf"}},
  };
  for (const auto& c : cases) {
    try {
      make(c.name, c.options);
      ADD_FAILURE() << c.name << " was made";
    } catch (const UsageError& e) {
      for (const char* word : c.words) EXPECT_THAT(e.what(), HasSubstr(word));
    }
  }
}

// --- long runs

/// Mean and standard deviation of a parameter with their Monte Carlo standard errors; that of the standard
/// deviation from the mean of squared distances.
struct Moments {
  double mean, mean_error, sd, sd_error, ess;
};

Moments moments(const Run& run, std::size_t parameter) {
  Chains chains = run.parameter(parameter);
  const ParameterSummary first = summarise("x", chains);
  for (auto& chain : chains)
    for (double& x : chain) x = (x - first.mean) * (x - first.mean);
  const ParameterSummary second = summarise("(x - mean)²", chains);
  return {first.mean, first.mcse_mean, first.sd, second.mcse_mean / (2 * first.sd),
          std::min(first.ess_bulk, second.ess_bulk)};
}

RunSettings long_run(std::string sampler, std::size_t draws, std::size_t thin) {
  RunSettings s;
  s.sampler = std::move(sampler);
  s.seed = 20250518;
  s.draws = draws;
  s.thin = thin;
  return s;
}

void expect_known_moments(const Model& model, const RunSettings& settings, double least_ess = 1000) {
  const auto run = sample(model.target, settings);
  for (std::size_t i = 0; i < run.names.size(); ++i) {
    const Moments m = moments(run, i);
    EXPECT_GT(m.ess, least_ess) << settings.sampler << ": too few to say anything of " << run.names[i];
    const bool exact = model.known->mean_error.empty();
    const double mean_error = std::hypot(m.mean_error, exact ? 0 : model.known->mean_error[i]);
    const double sd_error = std::hypot(m.sd_error, exact ? 0 : model.known->sd_error[i]);
    EXPECT_NEAR(m.mean, model.known->mean[i], 5 * mean_error) << settings.sampler << ", " << run.names[i];
    EXPECT_NEAR(m.sd, model.known->sd[i], 5 * sd_error) << settings.sampler << ", sd of " << run.names[i];
  }
}

TEST(Models, GaussianOfCondition100Long) {
  const Model model = make("gaussian", {5, 100.0});
  for (const char* sampler : {"rwm", "mala", "fmala", "line-fmala", "pc-fmala", "pc-line-fmala"}) {
    RunSettings s = long_run(sampler, 5000, 50);
    s.metric = MetricKind::dense;
    s.warmup = 20'000;
    expect_known_moments(model, s);
  }
}

TEST(Models, RosenbrockFromABadStartLong) {
  const Model model = make("rosenbrock");
  // Not mala: steps that suit the banana's ends are so short that it gives 650 effective draws in this time.
  for (const char* sampler : {"rwm", "line-fmala", "pc-line-fmala"}) {
    RunSettings s = long_run(sampler, 10'000, 200);
    s.warmup = 20'000;
    s.metric = MetricKind::diag;
    s.start = {Start::Kind::given, 1, {-3.0, 25.0}};  // where the log density is -25,616
    expect_known_moments(model, s);
  }
}

TEST(Models, EightSchoolsLong) {
  for (const char* sampler : {"mala", "pc-line-fmala"}) {
    RunSettings s = long_run(sampler, 10'000, sampler == std::string("mala") ? 20 : 50);
    s.warmup = 20'000;
    expect_known_moments(make("eight-schools"), s);
  }
}

TEST(Models, MixtureLong) {
  for (const char* sampler : {"rwm", "mala", "pc-line-fmala"}) {
    RunSettings s = long_run(sampler, 5000, 100);
    s.warmup = 20'000;
    expect_known_moments(make("mixture"), s);
  }
}

TEST(Models, LogisticLong) {
  RunSettings s = long_run("mala", 1000, 10);
  s.metric = MetricKind::dense;
  s.warmup = 5000;
  expect_known_moments(make("logistic"), s);
}

TEST(Models, StochasticVolatilityLong) {
  RunSettings s = long_run("pc-line-fmala", 1000, 600);
  s.metric = MetricKind::diag;
  s.warmup = 200'000;
  expect_known_moments(make("stochastic-volatility"), s, 300);
}

}  // namespace
}  // namespace onward::models
