// Every kernel leaves its target invariant. Many independent chains begin at exact draws of a target that can
// be drawn from directly and make a few steps; if the kernel is exact, where they end are again independent
// exact draws, so means of functions with known expectation and variance are normal with known error. A bound
// of 5.5 standard errors is passed by chance once in 26 million; the broken twins must exceed it.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "broken_kernels.hpp"
#include "models/funnel.hpp"
#include "models/rosenbrock.hpp"
#include "onward/ad/ad.hpp"
#include "onward/target/callable.hpp"

namespace onward::testing {
namespace {

using StepFunction =
    std::function<StepInfo(State&, AnyTarget&, const Metric&, const StepRandom&, Workspace&)>;

/// A target with a way to draw from it, from standard normals and uniforms.
struct Drawable {
  std::string name;
  AnyTarget target;
  std::function<void(const Stream&, std::vector<double>&)> draw;
  std::function<std::vector<double>(const std::vector<double>&)>
      normals;  // the draw turned back: standard normal if exact
};

/// Correlated normal in three dimensions: x = A z.
Drawable gaussian() {
  // A = [[1,0,0],[0.8,0.6,0],[-2,1,3]]; log density -½|A⁻¹x|²
  const auto back = [](const auto& x) {
    auto z0 = x[0];
    auto z1 = (x[1] - 0.8 * z0) / 0.6;
    auto z2 = (x[2] + 2.0 * z0 - z1) / 3.0;
    return std::array{z0, z1, z2};
  };
  return {"gaussian",
          target(3,
                 [back](const auto& x) {
                   const auto z = back(x);
                   return -0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
                 }),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(3);
            stream.normals(0, Purpose::start, z);
            x = {z[0], 0.8 * z[0] + 0.6 * z[1], -2 * z[0] + z[1] + 3 * z[2]};
          },
          [back](const std::vector<double>& x) {
            const auto z = back(x);
            return std::vector<double>{z[0], z[1], z[2]};
          }};
}

Drawable funnel() {
  return {"funnel", target(3, models::FunnelDensity{}),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(3);
            stream.normals(0, Purpose::start, z);
            const double w = 3 * z[0], scale = std::exp(-w / 2);
            x = {w, scale * z[1], scale * z[2]};
          },
          [](const std::vector<double>& x) {
            const double scale = std::exp(x[0] / 2);
            return std::vector<double>{x[0] / 3, scale * x[1], scale * x[2]};
          }};
}

Drawable rosenbrock() {
  return {"rosenbrock", target(2, models::RosenbrockDensity{}),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(2);
            stream.normals(0, Purpose::start, z);
            const double a = 1 + z[0] * std::sqrt(0.5);
            x = {a, a * a + z[1] * std::sqrt(0.005)};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{(x[0] - 1) / std::sqrt(0.5), (x[1] - x[0] * x[0]) / std::sqrt(0.005)};
          }};
}

/// Uniform on (0, 1), brought to mean 0 and variance 1.
double standardised(double u) { return std::sqrt(12.0) * (u - 0.5); }

/// The logistic distribution: nearly linear tails, where curvature vanishes and the floor acts.
Drawable logistic() {
  return {"logistic", target(1, [](const auto& x) { return x[0] - 2.0 * softplus(x[0]); }),
          [](const Stream& stream, std::vector<double>& x) {
            const double u = stream.uniform(0, Purpose::start);
            x = {std::log(u / (1 - u))};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{standardised(inv_logit(x[0]))};  // inv_logit(x) is uniform
          }};
}

/// Five dimensions, variances from 1 to 100, turned so that no axis is special.
Drawable conditioned_gaussian() {
  const auto scale = [](std::size_t i) { return std::pow(10.0, static_cast<double>(i) / 4); };
  // The reflection x - (2/5) (Σ x) 1 is its own inverse.
  const auto reflect = [](const auto& x) {
    auto y = std::array{x[0], x[1], x[2], x[3], x[4]};
    const auto shift = 0.4 * (x[0] + x[1] + x[2] + x[3] + x[4]);
    for (auto& entry : y) entry -= shift;
    return y;
  };
  return {"gaussian of condition 100",
          target(5,
                 [=](const auto& x) {
                   auto z = reflect(x);
                   for (std::size_t i = 0; i < 5; ++i) z[i] /= scale(i);
                   return -0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2] + z[3] * z[3] + z[4] * z[4]);
                 }),
          [=](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(5);
            stream.normals(0, Purpose::start, z);
            for (std::size_t i = 0; i < 5; ++i) z[i] *= scale(i);
            const auto y = reflect(z);
            x.assign(y.begin(), y.end());
          },
          [=](const std::vector<double>& x) {
            const auto y = reflect(x);
            std::vector<double> z(y.begin(), y.end());
            for (std::size_t i = 0; i < 5; ++i) z[i] /= scale(i);
            return z;
          }};
}

/// 0.3 N(-2, 1) + 0.7 N(2, 0.5²): convex between the modes.
Drawable mixture() {
  return {"mixture",
          target(1,
                 [](const auto& x) {
                   const auto left = x[0] + 2.0, right = (x[0] - 2.0) / 0.5;
                   return log_sum_exp(std::log(0.3) - 0.5 * left * left,
                                      std::log(0.7 / 0.5) - 0.5 * right * right);
                 }),
          [](const Stream& stream, std::vector<double>& x) {
            const double z = stream.normal(0, Purpose::start);
            x = {stream.uniform(1, Purpose::start) < 0.3 ? z - 2 : 0.5 * z + 2};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{
                standardised(0.3 * normal_cdf(x[0] + 2) + 0.7 * normal_cdf((x[0] - 2) / 0.5))};
          }};
}

/// Heavy tails; convex beyond √3.
Drawable student_t3() {
  return {"student-t3", target(1, [](const auto& x) { return -2.0 * log1p(x[0] * x[0] / 3.0); }),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(4);
            stream.normals(0, Purpose::start, z);
            x = {z[0] / std::sqrt((z[1] * z[1] + z[2] * z[2] + z[3] * z[3]) / 3)};
          },
          [](const std::vector<double>& x) {
            const double t = x[0] / std::sqrt(3.0);
            return std::vector<double>{standardised(0.5 + (std::atan(t) + t / (1 + t * t)) / M_PI)};
          }};
}

/// The logarithm of a gamma variable of shape 2: one tail linear, the other double exponential.
Drawable log_gamma() {
  return {"log-gamma", target(1, [](const auto& x) { return 2.0 * x[0] - exp(x[0]); }),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> u(2);
            stream.uniforms(0, Purpose::start, u);
            x = {std::log(-std::log(u[0] * u[1]))};
          },
          [](const std::vector<double>& x) {
            const double g = std::exp(x[0]);
            return std::vector<double>{standardised(1 - (1 + g) * std::exp(-g))};
          }};
}

/// The largest |z| over means, squares and products of the standardised coordinates after the steps.
double worst_z(const Drawable& model, const StepFunction& kernel_step, const Metric& metric,
               std::uint32_t chains, std::uint64_t steps) {
  const std::size_t dimension = model.target.dimension();
  AnyTarget target(model.target);
  Workspace workspace(dimension);
  const std::size_t functions = dimension + dimension * (dimension + 1) / 2;
  std::vector<double> sum(functions), squares(functions);
  State state;
  state.position.resize(dimension);
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    const Stream stream(17, chain);
    model.draw(stream, state.position);
    state.value = target.value(state.position);
    state.gradient.clear();
    for (std::uint64_t number = 1; number <= steps; ++number)
      kernel_step(state, target, metric, StepRandom(stream, number), workspace);
    const auto z = model.normals(state.position);
    std::size_t k = 0;
    const auto record = [&](double x) {
      sum[k] += x;
      squares[k++] += x * x;
    };
    for (std::size_t i = 0; i < dimension; ++i) record(z[i]);
    for (std::size_t i = 0; i < dimension; ++i)
      for (std::size_t j = 0; j <= i; ++j) record(z[i] * z[j] - (i == j ? 1.0 : 0.0));
  }
  double worst = 0;
  const auto n = static_cast<double>(chains);
  for (std::size_t k = 0; k < functions; ++k) {
    const double mean = sum[k] / n, variance = squares[k] / n - mean * mean;
    worst = std::max(worst, std::abs(mean) / std::sqrt(variance / n));
  }
  return worst;
}

constexpr double bound = 5.5;

StepFunction stepper(const KernelSettings& settings) {
  return [kernel = make_kernel(settings)](State& s, AnyTarget& t, const Metric& m, const StepRandom& r,
                                          Workspace& w) { return step(kernel, s, t, m, r, w); };
}

template <class K>
StepFunction stepper_of(K kernel) {
  return [kernel](State& s, AnyTarget& t, const Metric& m, const StepRandom& r, Workspace& w) {
    return kernel.step(s, t, m, r, w);
  };
}

std::vector<KernelSettings> kernel_list() {
  return {{.sampler = "rwm", .step_size = 0.5},
          {.sampler = "mala", .step_size = 0.4},
          {.sampler = "fmala", .step_size = 0.5},
          {.sampler = "fmala", .step_size = 0.4, .bias_correction = BiasCorrection::coupled},
          {.sampler = "fmala", .step_size = 0.5, .bias_correction = BiasCorrection::drift},
          {.sampler = "line-fmala", .step_size = 0.7},
          {.sampler = "line-fmala", .step_size = 0.4, .bias_correction = BiasCorrection::coupled},
          {.sampler = "pc-fmala", .step_size = 0.6, .curvature_floor = 0},
          {.sampler = "pc-fmala",
           .step_size = 0.8,
           .bias_correction = BiasCorrection::coupled,
           .curvature_floor = 0.1},
          {.sampler = "pc-line-fmala", .step_size = 1.2, .curvature_floor = 0},
          {.sampler = "pc-line-fmala", .step_size = 1.2, .curvature_floor = 0.1}};
}

void expect_invariant(const Drawable& model, std::uint32_t chains, std::uint64_t steps) {
  for (const auto& settings : kernel_list()) {
    SCOPED_TRACE(model.name + ", " + settings.sampler + ", bias correction " +
                 std::string(to_string(settings.bias_correction)) + ", floor " +
                 std::to_string(settings.curvature_floor));
    EXPECT_LT(worst_z(model, stepper(settings), {}, chains, steps), bound);
  }
}

TEST(Invariance, Gaussian) { expect_invariant(gaussian(), 20'000, 10); }
TEST(Invariance, Funnel) { expect_invariant(funnel(), 20'000, 10); }
TEST(Invariance, Rosenbrock) { expect_invariant(rosenbrock(), 20'000, 10); }
TEST(Invariance, Logistic) { expect_invariant(logistic(), 20'000, 10); }

TEST(Invariance, ConditionedGaussian) { expect_invariant(conditioned_gaussian(), 20'000, 10); }
TEST(Invariance, Mixture) { expect_invariant(mixture(), 20'000, 10); }
TEST(Invariance, StudentT3) { expect_invariant(student_t3(), 20'000, 10); }
TEST(Invariance, LogGamma) { expect_invariant(log_gamma(), 20'000, 10); }
TEST(Invariance, OneStep) {
  for (const auto& model : {gaussian(), funnel(), mixture(), student_t3(), log_gamma()})
    expect_invariant(model, 20'000, 1);
}

TEST(Invariance, WithMetrics) {
  Eigen::MatrixXd lower(3, 3);
  lower << 0.7, 0, 0, 0.3, 1.2, 0, -1, 0.5, 2;
  for (const auto& metric : {Metric::diagonal({0.5, 1.5, 3.0}), Metric::dense(lower)})
    for (const auto& settings : kernel_list()) {
      SCOPED_TRACE(settings.sampler + ", metric " + std::string(to_string(metric.kind())));
      EXPECT_LT(worst_z(gaussian(), stepper(settings), metric, 20'000, 10), bound);
    }
}

TEST(Invariance, GaussianLong) { expect_invariant(gaussian(), 200'000, 20); }
TEST(Invariance, FunnelLong) { expect_invariant(funnel(), 200'000, 20); }
TEST(Invariance, RosenbrockLong) { expect_invariant(rosenbrock(), 200'000, 20); }
TEST(Invariance, LogisticLong) { expect_invariant(logistic(), 200'000, 20); }

TEST(Invariance, ConditionedGaussianLong) { expect_invariant(conditioned_gaussian(), 200'000, 20); }
TEST(Invariance, MixtureLong) { expect_invariant(mixture(), 200'000, 20); }
TEST(Invariance, StudentT3Long) { expect_invariant(student_t3(), 200'000, 20); }
TEST(Invariance, LogGammaLong) { expect_invariant(log_gamma(), 200'000, 20); }

TEST(Invariance, CatchesBrokenTwins) {
  const std::vector<std::pair<std::string, StepFunction>> twins{
      {"rwm", stepper_of(BrokenRwm{0.5})},          {"mala", stepper_of(BrokenMala{0.6})},
      {"fmala", stepper_of(BrokenFmala{0.8})},      {"line-fmala", stepper_of(BrokenLineFmala{0.7})},
      {"pc-fmala", stepper_of(BrokenPcFmala{0.6})}, {"pc-line-fmala", stepper_of(BrokenPcLineFmala{1.2})}};
  for (const auto& [name, twin] : twins) {
    SCOPED_TRACE(name);
    // On a gaussian the curvature along a line is the same everywhere, so the preconditioned twins need
    // another target.
    const bool needs_curvature = name.starts_with("pc-");
    EXPECT_GT(worst_z(needs_curvature ? funnel() : gaussian(), twin, {}, 60'000, 10), 1.5 * bound);
  }
}

/// Directions that are not exchangeable: axes in fixed order, one forward and the next for the way back.
TEST(Invariance, CatchesAxesInFixedOrder) {
  const auto stepper_along_axes = [](auto kernel) {
    return [kernel, axis = std::size_t{0}](State& s, AnyTarget& t, const Metric& m, const StepRandom& r,
                                           Workspace& w) mutable {
      return kernel.step(s, t, m, FixedAxes{r, axis++}, w);
    };
  };
  EXPECT_GT(worst_z(gaussian(), stepper_along_axes(Fmala{0.8}), {}, 60'000, 9), 1.5 * bound);
  EXPECT_GT(worst_z(gaussian(), stepper_along_axes(PcFmala{0.6}), {}, 60'000, 9), 1.5 * bound);
}

/// The paper's appendix B: (∇f·v) v has mean ∇f / D and the variances that follow from the moments of the
/// sphere, E[v_j v_k v_i²] = (δ_jk + 2 δ_ij δ_ik) / (D (D + 2)).
TEST(DirectionalGradient, HasTheMeanAndVarianceOfTheSphere) {
  const Drawable model = conditioned_gaussian();
  AnyTarget target(model.target);
  const std::vector<double> theta{0.3, -1.2, 0.7, 2.0, -0.4};
  std::vector<double> gradient(5), v(5), mean(5), second(5), fourth(5);
  target.gradient(theta, gradient);
  double norm2 = 0;
  for (double g : gradient) norm2 += g * g;
  constexpr std::uint64_t count = 200'000;
  const Stream stream(23, 0);
  for (std::uint64_t n = 0; n < count; ++n) {
    stream.direction(n, Purpose::direction, v);
    const double slope = target.jet(theta, v, Order::slope).slope;
    for (std::size_t i = 0; i < 5; ++i) {
      const double error = slope * v[i] - gradient[i] / 5;
      mean[i] += error / count;
      second[i] += error * error / count;
      fourth[i] += std::pow(error, 4) / count;
    }
  }
  for (std::size_t i = 0; i < 5; ++i) {
    const double g2 = gradient[i] * gradient[i];
    const double variance = (norm2 + 2 * g2) / (5 * 7) - g2 / 25;
    EXPECT_LT(std::abs(mean[i]), bound * std::sqrt(variance / count)) << i;
    EXPECT_LT(std::abs(second[i] - variance), bound * std::sqrt((fourth[i] - variance * variance) / count))
        << i;
  }
}

}  // namespace
}  // namespace onward::testing
