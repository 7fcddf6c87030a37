// A kernel's vectors are made when it needs them: those of a network are large.

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward {
namespace {

struct Normal {
  static std::size_t dimension() { return 5; }
  static double gradient(VectorView theta, std::span<double> out) {
    double value = 0;
    for (std::size_t i = 0; i < theta.size(); ++i) {
      out[i] = -theta[i];
      value -= 0.5 * theta[i] * theta[i];
    }
    return value;
  }
  static Jet jet(VectorView theta, VectorView v, Order) {
    Jet jet;
    for (std::size_t i = 0; i < theta.size(); ++i) {
      jet.value -= 0.5 * theta[i] * theta[i];
      if (v.empty()) continue;
      jet.slope -= theta[i] * v[i];
      jet.curvature -= v[i] * v[i];
    }
    return jet;
  }
};

/// Vectors of the workspace after some steps, and with the state's those that a chain holds.
struct Held {
  std::size_t workspace = 0, all = 0;
};

Held vectors_of(const std::string& sampler, const Metric& metric) {
  AnyTarget target{Normal{}};
  const Kernel kernel = make_kernel({.sampler = sampler, .step_size = 0.5});
  State state;
  state.position.assign(5, 0.25);
  state.value = target.value(state.position);
  Workspace w(5);
  const Stream stream(1, 0);
  for (std::uint64_t number = 1; number <= 3; ++number)
    step(kernel, state, target, metric, StepRandom(stream, number), w);
  Held held;
  for (const auto* vector :
       {&w.noise, &w.direction, &w.reverse, &w.move, &w.pushed, &w.next, &w.proposal, &w.gradient}) {
    EXPECT_TRUE(vector->empty() || vector->size() == 5);
    held.workspace += vector->empty() ? 0 : 1;
  }
  held.all = held.workspace;
  for (const auto* vector : {&state.position, &state.gradient, &state.tangent})
    held.all += vector->empty() ? 0 : 1;
  return held;
}

TEST(Workspace, HoldsWhatTheKernelUses) {
  const Metric none, diagonal = Metric::diagonal(std::vector<double>(5, 1.0));
  // A direction, which without a metric is there once; the proposal is the target's.
  for (const std::string line : {"line-fmala", "pc-line-fmala", "newton-line", "rwm"}) {
    EXPECT_EQ(vectors_of(line, none).workspace, 1u) << line;
    EXPECT_EQ(vectors_of(line, diagonal).workspace, 2u) << line;
  }
  for (const std::string all : {"fmala", "pc-fmala"}) EXPECT_EQ(vectors_of(all, none).workspace, 6u) << all;
}

/// Memory is estimated by what kernels say of themselves.
TEST(Workspace, IsWhatKernelsSay) {
  for (const auto& sampler : samplers()) {
    if (sampler.follows_trajectories) continue;  // those have memory of their own, as deep as trajectories
    EXPECT_EQ(vectors_of(sampler.name, {}).all, sampler.held_vectors) << sampler.name;
  }
}

}  // namespace
}  // namespace onward
