// Regions where the log density is flat: slope and curvature are 0, and a step scaled by them alone would
// never enter such a region or leave it.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward::testing {
namespace {

/// Share of chains whose place is in (-1, 1) after so many steps from a start.
double share_inside(const AnyTarget& density, const std::string& sampler, double start, int chains,
                    int steps) {
  const Kernel kernel =
      make_kernel({.sampler = sampler, .step_size = 1.5, .options = {{"curvature_floor", 0.1}}});
  AnyTarget target = density;
  const Metric metric;
  Workspace workspace(1);
  int inside = 0;
  for (int chain = 0; chain < chains; ++chain) {
    const Stream stream(3, static_cast<std::uint32_t>(chain));
    State state;
    state.position = {start};
    state.value = target.value(state.position);
    for (int n = 1; n <= steps; ++n)
      step(kernel, state, target, metric, StepRandom(stream, static_cast<std::uint64_t>(n)), workspace);
    inside += std::abs(state.position[0]) < 1 ? 1 : 0;
  }
  return static_cast<double>(inside) / chains;
}

/// Flat on (-1, 1), falling like a normal outside: from either side chains find both parts.
TEST(Flat, PlateauIsEnteredAndLeft) {
  const AnyTarget plateau = target(1, [](const auto& x) {
    using T = scalar_of<decltype(x)>;
    const T over = abs(x[0]) - 1.0;
    return over > 0 ? T(-0.5 * over * over) : T(0);
  });
  const double expected = 2 / (2 + std::sqrt(2 * M_PI));
  constexpr int chains = 8000;
  const double error = std::sqrt(expected * (1 - expected) / chains);
  for (const std::string sampler : {"pc-fmala", "pc-line-fmala", "newton-line"})
    for (const double start : {0.0, 2.0}) {
      SCOPED_TRACE(sampler + " from " + std::to_string(start));
      EXPECT_NEAR(share_inside(plateau, sampler, start, chains, 100), expected, 5.5 * error);
    }
}

/// Uniform on (-2, 2), and no density beyond.
TEST(Flat, BoxIsFilled) {
  const AnyTarget box = target(1, [](const auto& x) {
    using T = scalar_of<decltype(x)>;
    return abs(x[0]) < 2 ? T(0) : T(-INFINITY);
  });
  constexpr int chains = 8000;
  for (const std::string sampler : {"pc-fmala", "pc-line-fmala", "newton-line"}) {
    SCOPED_TRACE(sampler);
    EXPECT_NEAR(share_inside(box, sampler, 1.9, chains, 100), 0.5, 5.5 * std::sqrt(0.25 / chains));
  }
}

}  // namespace
}  // namespace onward::testing
