// The pictures of one step show what the kernels do: the same proposals, and densities that give the same
// acceptance.

#include "experiments/single_step.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "models/rosenbrock.hpp"
#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward::experiments {
namespace {

struct Case {
  const char* sampler;
  double step_size;
};
const Case cases[] = {{"fmala", 0.1}, {"line-fmala", 0.1}, {"pc-fmala", 0.8}, {"pc-line-fmala", 0.8}};

TEST(SingleStep, ProposesAndAcceptsAsTheKernelDoes) {
  AnyTarget model(target(2, models::RosenbrockDensity{}));
  for (const auto& [sampler, step_size] : cases) {
    const Kernel kernel =
        make_kernel({.sampler = sampler, .step_size = step_size, .options = {{"curvature_floor", 0}}});
    int moved = 0, doubtful = 0;
    for (std::uint64_t number = 1; number <= 300; ++number) {
      const Place from{-0.5 + 0.005 * static_cast<double>(number), 0.3};
      const SingleStep shown = single_step(sampler, step_size, from, 7, number);
      State state;
      state.position = {from[0], from[1]};
      state.value = model.value(state.position);
      Workspace workspace(2);
      const Stream stream(7, 0);
      const StepInfo info = step(kernel, state, model, Metric{}, StepRandom(stream, number), workspace);
      EXPECT_NEAR(shown.acceptance(), info.acceptance, 1e-9 + 1e-8 * info.acceptance)
          << sampler << " " << number;
      doubtful += info.acceptance > 0.01 && info.acceptance < 0.99 ? 1 : 0;
      if (!info.accepted) continue;
      ++moved;
      for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(shown.to[i], state.position[i], 1e-12) << sampler;
    }
    EXPECT_GT(moved, 20) << sampler;
    EXPECT_GT(doubtful, 20) << sampler;
  }
}

TEST(SingleStep, DensitiesIntegrateToOne) {
  for (const auto& [sampler, step_size] : cases) {
    const Proposal proposal = single_step(sampler, step_size, {-0.4, 0.4}, 7, 1).forward;
    const double width = proposal.scale / 10;
    const Place v = proposal.direction;
    double sum = 0;
    for (int i = -80; i <= 80; ++i)
      for (int j = proposal.line ? 0 : -80; j <= (proposal.line ? 0 : 80); ++j) {
        const Place place{proposal.mean[0] + width * (i * v[0] - j * v[1]),
                          proposal.mean[1] + width * (i * v[1] + j * v[0])};
        sum += std::exp(proposal.log_density(place)) * (proposal.line ? width : width * width);
      }
    EXPECT_NEAR(sum, 1, 1e-9) << sampler;
  }
}

TEST(SingleStep, KnowsFourKernels) {
  EXPECT_THAT(onward::testing::error_of([] {
                single_step("mala", 0.1, {0, 0}, 1, 1);
              }),
              ::testing::HasSubstr("'mala'"));
}

class SingleStepFigure : public onward::testing::Scratch {};

TEST_F(SingleStepFigure, IsAFunctionOfTheSeed) {
  const auto drawn = [&](std::uint64_t seed) {
    single_step_figure(path("").string(), seed);
    EXPECT_TRUE(std::filesystem::exists(path("single-step.svg")));
    return get(path("single-step.png"));
  };
  const std::string first = drawn(1);
  EXPECT_FALSE(drawn(2) == first);
  EXPECT_TRUE(drawn(1) == first);
}

}  // namespace
}  // namespace onward::experiments
