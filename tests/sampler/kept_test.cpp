// Kept tangents: line kernels have the same draws, bit for bit, for fewer evaluations; fmala and pc-fmala
// have one evaluation a step.

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/models.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward::testing {
namespace {

constexpr std::uint64_t steps = 500;

struct Trace {
  std::vector<double> draws, values, acceptance;
  Counts counts;
  std::size_t accepted = 0;
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

Trace trace(const AnyTarget& model, const KernelSettings& settings, const std::string& source,
            const Metric& metric) {
  AnyTarget target(model);
  const std::size_t dimension = target.dimension();
  const Stream stream(31, 0);
  State state;
  state.position.resize(dimension);
  stream.normals(0, Purpose::start, state.position);
  for (double& x : state.position) x *= 0.3;
  state.value = target.value(state.position);
  target.reset_counts();
  Workspace workspace(dimension);
  const Kernel kernel = make_kernel(settings);
  Directions directions = make_directions(source, needed_law(kernel), dimension, target.names());
  Trace result;
  for (std::uint64_t number = 1; number <= steps; ++number) {
    const StepInfo info = step(kernel, state, target, metric, stream, number, directions, workspace);
    result.accepted += info.accepted ? 1 : 0;
    result.draws.insert(result.draws.end(), state.position.begin(), state.position.end());
    result.values.push_back(state.value);
    result.acceptance.push_back(info.acceptance);
  }
  result.counts = target.counts();
  return result;
}

struct OneDirectionAtATime {
  AnyTarget target;
  std::size_t dimension() const { return target.dimension(); }
  Jet jet(VectorView theta, VectorView v, Order order) { return target.jet(theta, v, order); }
};

TEST(KeptTangent, GivesLineKernelsTheSameDrawsForFewerEvaluations) {
  const std::vector<std::pair<std::string, double>> cases{
      {"gaussian", 1.5}, {"funnel", 0.5}, {"eight-schools", 2}, {"rosenbrock", 0.1}};
  for (const auto& [name, step_size] : cases) {
    const AnyTarget model = models::make(name).target;
    const std::size_t dimension = model.dimension();
    std::vector<Metric> metrics{Metric{}, Metric::diagonal(std::vector<double>(dimension, 0.7))};
    Eigen::MatrixXd wide = Eigen::MatrixXd::Constant(static_cast<Eigen::Index>(dimension), 1, 1.0);
    wide /= wide.norm();
    metrics.push_back(
        Metric::lowrank(std::vector<double>(dimension, 0.6), wide, Eigen::VectorXd::Constant(1, 0.5)));
    for (const auto& metric : metrics)
      for (const std::string sampler : {"line-fmala", "pc-line-fmala", "newton-line"})
        for (const std::string source : {"sphere", "frames", "axes"})
          for (const std::size_t inner : {1, 3}) {
            SCOPED_TRACE(name + ", " + sampler + ", directions " + source + ", inner " +
                         std::to_string(inner) + ", metric " + std::string(to_string(metric.kind())));
            KernelSettings kept{.sampler = sampler, .step_size = step_size, .options = {{"inner", inner}}},
                fresh = kept;
            fresh.options["tangent"] = "fresh";
            const Trace once = trace(model, kept, source, metric),
                        twice = trace(model, fresh, source, metric);
            EXPECT_TRUE(same_bits(once.draws, twice.draws));
            EXPECT_TRUE(same_bits(once.values, twice.values));
            EXPECT_TRUE(same_bits(once.acceptance, twice.acceptance));
            EXPECT_GT(once.accepted, steps / 10);
            EXPECT_LT(once.accepted, steps);

            EXPECT_EQ(twice.counts.jets(), steps * (1 + inner));
            EXPECT_EQ(twice.counts.slope_pairs + twice.counts.curvature_pairs, 0u);
            EXPECT_EQ(once.counts.slope_pairs + once.counts.curvature_pairs, steps) << "one a step";
            // No first jet after an acceptance; the last acceptance has no next step.
            const std::uint64_t first_jets =
                once.counts.slopes + once.counts.curvatures - steps * (inner - 1);
            EXPECT_GE(first_jets, steps - once.accepted);
            EXPECT_LE(first_jets, steps - once.accepted + 1);
          }
  }
}

/// Along some directions there is no slope at some places, though the density is fine.
struct BlindThere {
  static std::size_t dimension() { return 2; }
  static Jet jet(VectorView x, VectorView v, Order order) {
    const double value = -0.5 * (x[0] * x[0] + x[1] * x[1]);
    if (order == Order::value) return {value, 0, 0};
    const bool blind = v[0] > 0.5 && x[1] > 0;
    return {value, blind ? NAN : -x[0] * v[0] - x[1] * v[1], -v[0] * v[0] - v[1] * v[1]};
  }
  static JetPair jet_pair(VectorView x, VectorView v, VectorView w, Order order) {
    return {jet(x, v, order), jet(x, w, order)};
  }
};

TEST(KeptTangent, GivesTheSameDrawsWhereJetsFailAlongSomeDirections) {
  KernelSettings kept{.sampler = "newton-line"}, fresh = kept;
  fresh.options["tangent"] = "fresh";
  const Trace once = trace(BlindThere{}, kept, "sphere", {}),
              twice = trace(BlindThere{}, fresh, "sphere", {});
  EXPECT_TRUE(same_bits(once.draws, twice.draws));
  EXPECT_GT(once.accepted, steps / 4);
  EXPECT_GT(once.counts.nonfinite, steps / 50);
}

/// Two slopes at the price of one and two thirds, as of a network.
struct PricedPairs {
  AnyTarget model;
  std::size_t dimension() const { return model.dimension(); }
  Jet jet(VectorView x, VectorView v, Order order) { return model.jet(x, v, order); }
  JetPair jet_pair(VectorView x, VectorView v, VectorView w, Order order) {
    return {model.jet(x, v, order), model.jet(x, w, order)};
  }
  static double jet_pair_price(Order) { return 5.0 / 3; }
};

TEST(KeptTangent, TakesPairsWhileTheyPay) {
  const AnyTarget model = models::make("eight-schools").target;
  for (const double step_size : {0.01, 0.9, 60.0}) {
    const KernelSettings settings{.sampler = "line-fmala", .step_size = step_size};
    KernelSettings fresh = settings;
    fresh.options["tangent"] = "fresh";
    const Trace paid = trace(PricedPairs{model}, settings, "sphere", {}),
                plain = trace(model, fresh, "sphere", {});
    EXPECT_TRUE(same_bits(paid.draws, plain.draws)) << step_size;
    const double acceptance = static_cast<double>(paid.accepted) / static_cast<double>(steps),
                 pairs = static_cast<double>(paid.counts.slope_pairs) / static_cast<double>(steps);
    if (acceptance > 0.9) {
      EXPECT_GT(pairs, 0.8) << step_size;
    }
    if (acceptance < 0.3) {
      EXPECT_LT(pairs, 0.05) << step_size;
    }
    const double price =
        static_cast<double>(paid.counts.slopes) + 5.0 / 3 * static_cast<double>(paid.counts.slope_pairs);
    EXPECT_LE(price, 2.02 * static_cast<double>(steps)) << "never much dearer than two jets a step";
  }
}

TEST(KeptTangent, ChangesNothingForATargetWithoutPairs) {
  const AnyTarget model = models::make("funnel").target;
  const AnyTarget plain{OneDirectionAtATime{model}};
  ASSERT_FALSE(plain.has_jet_pair());
  ASSERT_TRUE(model.has_jet_pair());
  const KernelSettings settings{.sampler = "newton-line"};
  const Trace a = trace(plain, settings, "frames", {}), b = trace(model, settings, "frames", {});
  EXPECT_TRUE(same_bits(a.draws, b.draws));
  EXPECT_EQ(a.counts.curvatures, 2 * steps);
}

TEST(KeptTangent, GivesFmalaOneEvaluationAStep) {
  const AnyTarget model = models::make("eight-schools").target;
  for (const std::string sampler : {"fmala", "pc-fmala"}) {
    KernelSettings kept{.sampler = sampler, .step_size = 0.3}, fresh = kept;
    fresh.options["tangent"] = "fresh";
    const Trace once = trace(model, kept, "sphere", {}), twice = trace(model, fresh, "sphere", {});
    EXPECT_EQ(twice.counts.jets(), 2 * steps) << sampler;
    // and one more at the start, and where the tangent is drawn anew
    EXPECT_EQ(once.counts.jets(), steps + 1 + steps / tangent_life) << sampler;
    EXPECT_GT(once.accepted, steps / 10) << sampler;
    EXPECT_FALSE(same_bits(once.draws, twice.draws)) << "another chain, and as good";
  }
}

/// What is kept must be of the place where the chain stands and the tangent that goes with it.
TEST(KeptTangent, IsTrueOfTheState) {
  AnyTarget target(models::make("eight-schools").target);
  const std::size_t dimension = target.dimension();
  const std::vector<double> scale(dimension, 0.7);
  const Metric metric = Metric::diagonal(scale);
  const Stream stream(31, 0);
  Workspace workspace(dimension);
  for (const std::string sampler : {"fmala", "pc-fmala", "line-fmala", "pc-line-fmala", "newton-line"}) {
    const bool line = find_sampler(sampler).line;
    const Kernel kernel = make_kernel({.sampler = sampler, .step_size = 0.4});
    State state;
    state.position.resize(dimension, 0.2);
    state.value = target.value(state.position);
    std::size_t known = 0;
    for (std::uint64_t number = 1; number <= 200; ++number) {
      step(kernel, state, target, metric, StepRandom(stream, number), workspace);
      EXPECT_DOUBLE_EQ(state.value, target.value(state.position));
      if (!state.jet_known) continue;
      ++known;
      std::vector<double> along = state.tangent;  // line kernels keep it pushed
      if (!line) metric.push(state.tangent, along);
      const Order order =
          sampler.starts_with("pc") || sampler == "newton-line" ? Order::curvature : Order::slope;
      const Jet jet = target.jet(state.position, along, order);
      EXPECT_EQ(jet.value, state.jet.value) << sampler;
      EXPECT_EQ(jet.slope, state.jet.slope) << sampler;
      EXPECT_EQ(jet.curvature, state.jet.curvature) << sampler;
    }
    EXPECT_GT(known, 40u) << sampler;
  }
}

}  // namespace
}  // namespace onward::testing
