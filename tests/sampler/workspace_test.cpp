// A kernel's vectors are made when it needs them: those of a network are large.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward {
namespace {

struct Normal {
  static std::size_t dimension() { return 5; }
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

/// Vectors of the workspace after some steps.
std::size_t vectors_of(const std::string& sampler, const Metric& metric) {
  AnyTarget target{Normal{}};
  const Kernel kernel = make_kernel({.sampler = sampler, .step_size = 0.5});
  State state;
  state.position.assign(5, 0.25);
  state.value = target.value(state.position);
  Workspace w(5);
  const Stream stream(1, 0);
  for (std::uint64_t number = 1; number <= 3; ++number)
    step(kernel, state, target, metric, StepRandom(stream, number), w);
  std::size_t count = 0;
  for (const auto* vector :
       {&w.noise, &w.direction, &w.reverse, &w.move, &w.pushed, &w.next, &w.proposal, &w.gradient}) {
    EXPECT_TRUE(vector->empty() || vector->size() == 5);
    count += vector->empty() ? 0 : 1;
  }
  return count;
}

TEST(Workspace, HoldsWhatTheKernelUses) {
  const Metric none, diagonal = Metric::diagonal(std::vector<double>(5, 1.0));
  // A direction, which without a metric is there once; the proposal is the target's.
  for (const std::string line : {"line-fmala", "pc-line-fmala", "newton-line", "rwm"}) {
    EXPECT_EQ(vectors_of(line, none), 1u) << line;
    EXPECT_EQ(vectors_of(line, diagonal), 2u) << line;
  }
  for (const std::string all : {"fmala", "pc-fmala"}) EXPECT_EQ(vectors_of(all, none), 6u) << all;
}

}  // namespace
}  // namespace onward
