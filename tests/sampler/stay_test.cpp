// Newton-line does not stick where the curvature says nothing of the width: in tails that are linear, or
// heavy.

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drawables.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::testing {
namespace {

struct Stays {
  std::size_t longest = 0;  ///< steps at one place
  double ess_per_step = 0;
};

Stays stays(const Drawable& model, const KernelSettings& settings, std::size_t steps) {
  AnyTarget target(model.target);
  const Kernel kernel = make_kernel(settings);
  const Stream stream(5, 0);
  State state;
  state.position.resize(1);
  model.draw(stream, state.position);
  state.value = target.value(state.position);
  Workspace workspace(1);
  Stays result;
  std::size_t stay = 0;
  Chains places(1);
  places[0].reserve(steps);
  for (std::uint64_t number = 1; number <= steps; ++number) {
    const StepInfo info = step(kernel, state, target, Metric{}, StepRandom(stream, number), workspace);
    stay = info.accepted ? 0 : stay + 1;
    result.longest = std::max(result.longest, stay);
    places[0].push_back(state.position[0]);
  }
  result.ess_per_step = ess_bulk(places) / static_cast<double>(steps);
  return result;
}

struct Case {
  Drawable model;
  double least_ess;  ///< per step; about two thirds of what docs/decisions/newton-line.md reports
};

std::vector<Case> cases() {
  return {{logistic(), 0.4}, {log_gamma(1), 0.03}, {log_half_cauchy(), 0.2}, {student_t3(), 0.2}};
}

void expect_no_sticking(std::size_t steps) {
  for (const auto& [model, least_ess] : cases()) {
    const Stays found = stays(model, {.sampler = "newton-line"}, steps);
    std::printf("%s: ESS %.3f a step, longest stay %zu\n", model.name.c_str(), found.ess_per_step,
                found.longest);
    EXPECT_LT(found.longest, 500u) << model.name;
    EXPECT_GT(found.ess_per_step, least_ess) << model.name;
  }
}

TEST(Stay, NewtonLineDoesNotStick) { expect_no_sticking(200'000); }
TEST(Stay, NewtonLineDoesNotStickInAMillionStepsLong) { expect_no_sticking(1'000'000); }

/// A kernel that goes by the curvature alone does: the test could tell.
TEST(Stay, WithoutAFloorChainsStick) {
  const Stays found =
      stays(log_gamma(1), {.sampler = "pc-line-fmala", .step_size = 1.4, .options = {{"curvature_floor", 0}}},
            200'000);
  EXPECT_GT(found.longest, 500u);
}

}  // namespace
}  // namespace onward::testing
