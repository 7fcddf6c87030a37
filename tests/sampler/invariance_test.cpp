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

/// The logistic distribution: nearly linear tails, where curvature vanishes and the floor acts.
Drawable logistic() {
  return {"logistic", target(1, [](const auto& x) { return x[0] - 2.0 * softplus(x[0]); }),
          [](const Stream& stream, std::vector<double>& x) {
            const double u = stream.uniform(0, Purpose::start);
            x = {std::log(u / (1 - u))};
          },
          [](const std::vector<double>& x) {
            // x is logistic, so u = inv_logit(x) is uniform and √12 (u - ½) has mean 0 and variance 1
            return std::vector<double>{std::sqrt(12.0) * (inv_logit(x[0]) - 0.5)};
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

}  // namespace
}  // namespace onward::testing
