// Kernels are as exact with every source of directions that serves them as with independent ones, with every
// metric; and frames renew a normal faster.

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "invariance.hpp"
#include "onward/diagnostics/convergence.hpp"

namespace onward::testing {
namespace {

const std::vector<KernelSettings> line_kernels{
    {.sampler = "line-fmala", .step_size = 0.7},
    {.sampler = "pc-line-fmala", .step_size = 1.2, .options = {{"inner", 2}}},
    {.sampler = "newton-line"},
    {.sampler = "line-barker", .step_size = 0.9},
    {.sampler = "newton-line", .options = {{"tangent", "fresh"}, {"relaxation", 1.5}}}};
const std::vector<std::string> sources{
    "sphere", "frames", "axes", "blocks", "frames*3+axes", "axes+blocks*0.5+sphere", "blocks:x.1+w,x.2"};
const std::vector<std::string> names{"w", "x.1", "x.2"};  // in three dimensions

void expect_exact(const Drawable& model, const KernelSettings& settings, const std::string& source,
                  const Metric& metric, std::uint32_t chains, std::uint64_t steps) {
  SCOPED_TRACE(model.name + ", " + settings.sampler + " " + settings.options.dump() + ", directions " +
               source + ", metric " + std::string(to_string(metric.kind())));
  const std::size_t dimension = model.target.dimension();
  const Directions directions = make_directions(source, needed_law(make_kernel(settings)), dimension,
                                                dimension == 3 ? names : AnyTarget(model.target).names());
  EXPECT_LT(worst_z(model, stepper(settings, directions), metric, chains, steps), bound);
}

void expect_line_kernels_exact(std::uint32_t chains, std::uint64_t steps) {
  const auto metrics = some_metrics();
  for (std::size_t k = 0; k < line_kernels.size(); ++k)
    for (std::size_t s = 0; s < sources.size(); ++s)
      for (std::size_t m = 0; m < metrics.size(); ++m)
        // one target each, in turn
        expect_exact((k + s + m) % 2 == 0 ? gaussian() : funnel(), line_kernels[k], sources[s], metrics[m],
                     chains, steps);
}

TEST(Sources, LeaveTargetsInvariantUnderLineKernels) { expect_line_kernels_exact(5'000, 8); }
TEST(Sources, LeaveTargetsInvariantUnderLineKernelsLong) { expect_line_kernels_exact(50'000, 8); }

TEST(Sources, OrthogonalPairsLeaveTargetsInvariantUnderFreshFmala) {
  for (const auto& metric : some_metrics())
    for (const auto& model : {gaussian(), funnel()}) {
      expect_exact(model, {.sampler = "fmala", .step_size = 0.6, .options = {{"tangent", "fresh"}}}, "frames",
                   metric, 20'000, 8);
      expect_exact(model, {.sampler = "pc-fmala", .step_size = 0.6, .options = {{"tangent", "fresh"}}},
                   "frames", metric, 20'000, 8);
    }
}

/// Above the limit frames are made of another matrix.
TEST(Sources, LeaveAGaussianOfFortyDimensionsInvariant) {
  ASSERT_GT(std::size_t{40}, FrameDirections::haar_limit);
  for (const auto& settings : line_kernels)
    for (const std::string source : {"frames", "axes+frames"})
      expect_exact(wide_gaussian(40), settings, source, {}, 3'000, 45);
  for (const auto tangent : {Tangent::kept, Tangent::fresh})
    expect_exact(wide_gaussian(40),
                 {.sampler = "fmala", .step_size = 0.3, .options = {{"tangent", to_string(tangent)}}}, "auto",
                 {}, 3'000, 45);
}

/// Steps of newton-line that an independent draw of a standard normal costs.
double steps_per_draw(std::size_t dimension, const std::string& source) {
  AnyTarget target(onward::target(dimension, [](const auto& x) {
    auto sum = x[0] * x[0];
    for (std::size_t i = 1; i < x.size(); ++i) sum += x[i] * x[i];
    return -0.5 * sum;
  }));
  Directions directions = make_directions(source, DirectionLaw::any, dimension, target.names());
  const Kernel kernel = make_kernel({.sampler = "newton-line"});
  const Stream stream(2, 0);
  State state;
  state.position.resize(dimension);
  stream.normals(0, Purpose::start, state.position);
  state.value = target.value(state.position);
  Workspace workspace(dimension);
  constexpr std::size_t sweeps = 10'000;
  std::vector<Chains> kept(dimension, Chains(1));
  std::uint64_t number = 0;
  for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < dimension; ++i)
      step(kernel, state, target, Metric{}, stream, ++number, directions, workspace);
    for (std::size_t i = 0; i < dimension; ++i) kept[i][0].push_back(state.position[i]);
  }
  double ess = 0;
  for (const auto& chains : kept) ess += ess_bulk(chains) / static_cast<double>(dimension);
  return static_cast<double>(number) / ess;
}

/// On a whitened normal; counted at the ends of sweeps, where independent directions leave a correlation of
/// about exp(-1) from draw to draw.
TEST(Sources, FramesRenewANormalFasterThanIndependentDirections) {
  for (const std::size_t dimension : {10, 40}) {
    const double sphere = steps_per_draw(dimension, "sphere"), frames = steps_per_draw(dimension, "frames");
    std::printf("steps per draw in %zu dimensions: sphere %.1f, frames %.1f\n", dimension, sphere, frames);
    EXPECT_GT(sphere / frames, 1.4);
  }
}

}  // namespace
}  // namespace onward::testing
