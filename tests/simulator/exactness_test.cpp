// Samplers stay exact when slope and curvature are differences along the line: chains that begin at exact
// draws end at exact draws. A rule that is not the same there and back fails the same test.

#include <gtest/gtest.h>

#include <cmath>

#include "onward/simulator/forward.hpp"
#include "sampler/invariance.hpp"

namespace onward::testing {
namespace {

/// A simulator in this process, with a log density as its one output.
class Inside final : public Simulator {
 public:
  using Function = std::function<double(VectorView)>;
  Inside(std::size_t inputs, Function f) : f_(std::move(f)), facts_{"inside", {inputs}, {1}} {}
  std::unique_ptr<Simulator> clone() const override { return std::make_unique<Inside>(facts_.inputs[0], f_); }
  const SimulatorFacts& facts() const override { return facts_; }
  void evaluate(VectorView x, std::span<double> out) override { out[0] = f_(x); }
  void apply_jacobian(VectorView, VectorView, std::span<double>, std::span<double>) override { FAIL(); }
  void apply_transposed(VectorView, VectorView, std::span<double>) override { FAIL(); }
  void apply_hessian(VectorView, VectorView, VectorView, std::span<double>) override { FAIL(); }

 private:
  Function f_;
  SimulatorFacts facts_;
};

/// log of a gamma variable with shape 3, and a normal: neither is symmetric about where chains are.
double log_density(VectorView x) { return 3 * x[0] - std::exp(x[0]) - 0.5 * x[1] * x[1]; }

Drawable drawable(AnyTarget target) {
  return {"gamma and normal", std::move(target),
          [](const Stream& stream, std::vector<double>& x) {
            double sum = 0;
            for (std::uint32_t i = 0; i < 3; ++i) sum -= std::log(stream.uniform(0, Purpose::start, 10 + i));
            std::vector<double> z(1);
            stream.normals(1, Purpose::start, z);
            x = {std::log(sum), z[0]};
          },
          // mean and variance of the logarithm: digamma(3) and trigamma(3)
          [](const std::vector<double>& x) {
            return std::vector<double>{(x[0] - 0.92278433509846714) / std::sqrt(0.39493406684822644), x[1]};
          }};
}

AnyTarget by_differences(double step) {
  return OutsideDensity(std::make_unique<Inside>(2, log_density), parse_input_priors("flat", 2), step);
}

/// Slopes of the left and of the right side in turn, coarse enough to be different: not a function of the
/// place.
struct Alternating {
  std::size_t dimension() const { return 2; }
  Jet jet(VectorView x, VectorView v, Order order) {
    const double here = log_density(x);
    if (order == Order::value) return {here, 0, 0};
    const double step = (turn = !turn) ? 0.7 : -0.7;
    const std::vector<double> there{x[0] + step * v[0], x[1] + step * v[1]};
    const double slope = (log_density(there) - here) / step;
    return {here, slope, order == Order::curvature ? -1.0 - (turn ? 1.0 : 0.0) : 0};
  }
  bool turn = false;
};

double worst(const AnyTarget& target, const std::string& sampler) {
  constexpr std::uint32_t chains = 40'000;
  return worst_z(drawable(target), stepper({.sampler = sampler, .step_size = 1}), Metric{}, chains, 4);
}

TEST(Differences, LeaveSamplersExactHoweverCoarse) {
  for (const std::string sampler : {"newton-line", "line-fmala", "pc-line-fmala", "fmala"})
    for (const double step : {1e-4, 0.5}) {
      SCOPED_TRACE(sampler + " with steps of " + std::to_string(step));
      EXPECT_LT(worst(by_differences(step), sampler), bound);
    }
}

TEST(Differences, ARuleThatIsNotTheSameBothWaysIsFound) {
  EXPECT_GT(worst(Alternating{}, "newton-line"), bound);
}

TEST(Differences, AreTheDerivativesWhereTheyAreFine) {
  AnyTarget target = by_differences(1e-4);
  const std::vector<double> x{0.3, -1.2}, v{0.6, 0.8};
  const Jet jet = target.jet(x, v, Order::curvature);
  EXPECT_NEAR(jet.slope, 0.6 * (3 - std::exp(0.3)) + 0.8 * 1.2, 1e-7);
  EXPECT_NEAR(jet.curvature, -0.36 * std::exp(0.3) - 0.64, 1e-6);
  const Jet back = target.jet(x, std::vector<double>{-0.6, -0.8}, Order::curvature);
  EXPECT_EQ(back.slope, -jet.slope);
  EXPECT_EQ(back.curvature, jet.curvature);
}

/// At the edge of what can be simulated one side serves.
TEST(Differences, HaveOneSideAtAnEdge) {
  const auto cut = [](VectorView x) -> double {
    if (x[0] > 1) throw std::domain_error("beyond the edge");
    return -x[0];
  };
  AnyTarget target = OutsideDensity(std::make_unique<Inside>(1, cut), parse_input_priors("flat", 1));
  const Jet jet = target.jet(std::vector<double>{1.0}, std::vector<double>{1.0}, Order::curvature);
  EXPECT_EQ(jet.value, -1);
  EXPECT_NEAR(jet.slope, -1, 1e-9);
  EXPECT_EQ(jet.curvature, 0);
  EXPECT_EQ(target.counts().nonfinite, 0U);
}

}  // namespace
}  // namespace onward::testing
