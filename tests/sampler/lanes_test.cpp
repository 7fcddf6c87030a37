// Chains that share a register have, bit for bit, the draws of chains that run alone.

#include <cstring>

#include <gtest/gtest.h>

#include "models/eight_schools.hpp"
#include "models/funnel.hpp"
#include "models/gaussian.hpp"
#include "models/rosenbrock.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"
#include "onward/target/lanes.hpp"

namespace onward {
namespace {

using Batch = simd::Batch<double>;
constexpr std::size_t lanes = simd::lanes_v<Batch>;
constexpr std::uint64_t seed = 11;
constexpr std::uint64_t steps = 300;

template <class Kernel, class Density>
std::vector<std::vector<double>> together(const Kernel& kernel, std::size_t dimension,
                                          const Density& density) {
  LaneTarget<Density> target(dimension, density);
  const StreamBatch stream(seed, 0);
  BasicState<Batch> state;
  state.position.resize(dimension);
  stream.normals(0, Purpose::start, state.position);
  state.value = target.jet(state.position, {}, Order::value).value;
  BasicWorkspace<Batch> workspace(dimension);
  std::vector<std::vector<double>> draws(lanes);
  for (std::uint64_t number = 1; number <= steps; ++number) {
    kernel.step(state, target, BasicMetric<Batch>{}, BasicStepRandom<Batch>(stream, number), workspace);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (const Batch& x : state.position) draws[lane].push_back(simd::lane(x, lane));
  }
  return draws;
}

template <class Density>
std::vector<double> alone(const KernelSettings& settings, std::uint32_t chain, std::size_t dimension,
                          const Density& density) {
  CallableTarget<Density> model(dimension, density);
  AnyTarget target(model);
  const Stream stream(seed, chain);
  State state;
  state.position.resize(dimension);
  stream.normals(0, Purpose::start, state.position);
  state.value = target.value(state.position);
  Workspace workspace(dimension);
  const Kernel kernel = make_kernel(settings);
  std::vector<double> draws;
  for (std::uint64_t number = 1; number <= steps; ++number) {
    step(kernel, state, target, Metric{}, StepRandom(stream, number), workspace);
    draws.insert(draws.end(), state.position.begin(), state.position.end());
  }
  return draws;
}

template <class Kernel, class Density>
void expect_same_bits(const Kernel& kernel, const KernelSettings& settings, std::size_t dimension,
                      const Density& density) {
  const auto batched = together(kernel, dimension, density);
  std::size_t moved = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const auto single = alone(settings, static_cast<std::uint32_t>(lane), dimension, density);
    ASSERT_EQ(batched[lane].size(), single.size());
    EXPECT_EQ(std::memcmp(batched[lane].data(), single.data(), single.size() * sizeof(double)), 0)
        << settings.sampler << ", lane " << lane;
    for (std::size_t i = dimension; i < single.size(); i += dimension)
      moved += single[i] != single[i - dimension] ? 1 : 0;
  }
  EXPECT_GT(moved, lanes * steps / 20) << settings.sampler << ": chains that stand still prove nothing";
}

template <class Density>
void expect_all_kernels(std::size_t dimension, const Density& density, double eta) {
  const auto settings = [&](const char* name, double step_size, double floor) {
    return KernelSettings{.sampler = name, .step_size = step_size, .options = {{"curvature_floor", floor}}};
  };
  expect_same_bits(BasicRwm<Batch>{Batch(eta)}, settings("rwm", eta, 0), dimension, density);
  expect_same_bits(BasicFmala<Batch>{Batch(eta)}, settings("fmala", eta, 0), dimension, density);
  expect_same_bits(BasicLineFmala<Batch>{Batch(eta)}, settings("line-fmala", eta, 0), dimension, density);
  expect_same_bits(BasicPcFmala<Batch>{.step_size = Batch(0.3), .curvature_floor = 0},
                   settings("pc-fmala", 0.3, 0), dimension, density);
  const auto fresh = [](KernelSettings s) {
    s.options["tangent"] = "fresh";
    return s;
  };
  expect_same_bits(BasicFmala<Batch, Tangent::fresh>{Batch(eta)}, fresh(settings("fmala", eta, 0)), dimension,
                   density);
  expect_same_bits(BasicPcFmala<Batch, Tangent::fresh>{.step_size = Batch(0.3), .curvature_floor = 0},
                   fresh(settings("pc-fmala", 0.3, 0)), dimension, density);
  expect_same_bits(BasicPcLineFmala<Batch>{Batch(1.2), 0.1}, settings("pc-line-fmala", 1.2, 0.1), dimension,
                   density);
  for (const double relaxation : {1.0, 1.5})
    for (const std::size_t inner : {1, 3}) {
      KernelSettings newton = settings("newton-line", 1, 0.1);
      newton.options["relaxation"] = relaxation;
      newton.options["inner"] = inner;
      expect_same_bits(
          BasicNewtonLine<Batch>{.relaxation = relaxation, .curvature_floor = 0.1, .inner = inner}, newton,
          dimension, density);
    }
}

TEST(Lanes, FunnelHasTheBitsOfChainsAlone) { expect_all_kernels(11, models::FunnelDensity{}, 0.4); }
TEST(Lanes, EightSchoolsHasTheBitsOfChainsAlone) {
  expect_all_kernels(10, models::EightSchoolsDensity{}, 0.3);
}
TEST(Lanes, RosenbrockHasTheBitsOfChainsAlone) { expect_all_kernels(2, models::RosenbrockDensity{}, 0.05); }
TEST(Lanes, CorrelatedGaussianHasTheBitsOfChainsAlone) {
  expect_all_kernels(20, models::GaussianDensity(20, 10), 0.2);
}

}  // namespace
}  // namespace onward
