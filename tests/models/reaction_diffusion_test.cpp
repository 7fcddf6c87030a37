// The reaction-diffusion equation of the examples: forward slopes and adjoints agree, by a trajectory and by
// snapshots, and snapshots are placed so that no other schedule makes fewer steps.

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "bench/reaction_adjoint.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/observed.hpp"

namespace onward::testing {
namespace {

using bench::ReactionAdjoint;

/// The least number of advances, by trying every place for the next snapshot.
std::size_t by_search(std::size_t steps, std::size_t snapshots,
                      std::map<std::pair<std::size_t, std::size_t>, std::size_t>& known) {
  if (steps == 1) return 0;
  if (snapshots == 1) return steps * (steps - 1) / 2;
  const auto key = std::pair{steps, snapshots};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::size_t best = steps * steps;
  for (std::size_t m = 1; m < steps; ++m)
    best = std::min(best, m + by_search(steps - m, snapshots - 1, known) + by_search(m, snapshots, known));
  return known[key] = best;
}

/// Checks that every step is reversed once, from the state before it.
struct Recorder {
  std::vector<std::size_t> snapshots;
  std::size_t state = 0, advances = 0, next;
  bool right = true;
  Recorder(std::size_t steps, std::size_t count) : snapshots(count), next(steps) {}
  void load(std::size_t k) { state = snapshots.at(k); }
  void store(std::size_t k) { snapshots.at(k) = state; }
  void advance(std::size_t n) {
    right = right && state == n;
    ++state;
    ++advances;
  }
  void reverse(std::size_t n) {
    right = right && state == n && n + 1 == next;
    next = n;
  }
};

TEST(BinomialCheckpointing, MakesAsFewStepsAsCanBe) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  for (std::size_t snapshots = 1; snapshots <= 6; ++snapshots)
    for (std::size_t steps = 1; steps <= 60; ++steps) {
      Recorder recorder(steps, snapshots);
      bench::reverse_steps(recorder, 0, steps, 0, snapshots);
      EXPECT_TRUE(recorder.right && recorder.next == 0) << steps << ", " << snapshots;
      EXPECT_EQ(recorder.advances, by_search(steps, snapshots, known)) << steps << ", " << snapshots;
      EXPECT_EQ(recorder.advances, bench::least_advances(steps, snapshots)) << steps << ", " << snapshots;
    }
  Recorder large(10'000, 30);
  bench::reverse_steps(large, 0, 10'000, 0, 30);
  EXPECT_TRUE(large.right && large.next == 0);
  EXPECT_EQ(large.advances, bench::least_advances(10'000, 30));
}

TEST(ReactionDiffusion, ForwardSlopesAreThoseOfTheAdjoint) {
  const Square square{.side = 12, .patches = 4, .steps = 300, .times = 3, .sensors = 4, .duration = 60};
  const auto map = forward(square.inputs(), square.outputs(), [square](auto in, auto out) {
    simulate<typename decltype(out)::value_type>(square, in, out);
  });
  std::vector<double> d(square.inputs()), v(d.size()), data(square.outputs());
  const Stream stream(5, 0);
  stream.normals(0, Purpose::noise, d);
  for (double& x : d) x = std::exp(0.4 * x);
  stream.direction(0, Purpose::direction, v);
  stream.normals(1, Purpose::noise, data);
  auto model = observed(map, data, normal_noise(1.0));
  const Jet jet = model.jet(d, v, Order::slope);

  ReactionAdjoint adjoint(square, data);
  std::vector<double> gradient(d.size()), other(d.size());
  const double value = adjoint.by_trajectory(d, gradient);
  double slope = 0;
  for (std::size_t i = 0; i < d.size(); ++i) slope += gradient[i] * v[i];
  const double constant = -0.91893853320467274178 * static_cast<double>(data.size());
  EXPECT_NEAR(value + constant, jet.value, 1e-10 * std::abs(value));
  EXPECT_NEAR(slope, jet.slope, 1e-10 * std::abs(slope));
  for (const std::size_t snapshots : {1, 2, 5, 40, 400}) {
    EXPECT_EQ(adjoint.by_snapshots(d, other, snapshots), value) << snapshots;
    EXPECT_EQ(other, gradient) << snapshots;
    EXPECT_EQ(adjoint.advances(), bench::least_advances(square.steps, snapshots)) << snapshots;
  }
  EXPECT_NEAR(model.gradient(d, other), jet.value, 1e-10 * std::abs(value));
  for (std::size_t i = 0; i < d.size(); ++i) EXPECT_NEAR(other[i], gradient[i], 1e-10) << i;
}

/// Nothing leaves the square, and without growth nothing comes.
TEST(ReactionDiffusion, KeepsWhatThereIs) {
  const Square square{.side = 10, .patches = 2, .steps = 50, .growth = 0, .duration = 5};
  const std::vector<double> d{0.5, 1, 2, 0.1};
  const Passages<double> passages(square, d);
  Field<double> u(square), next(square);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < square.cells(); ++i) before += u.cells()[i] = square.start(i);
  for (std::size_t n = 0; n < square.steps; ++n) {
    advance(square, passages, u, next);
    std::swap(u.numbers, next.numbers);
  }
  for (std::size_t i = 0; i < square.cells(); ++i) after += u.cells()[i];
  EXPECT_GT(before, 0);
  EXPECT_NEAR(after, before, 1e-12 * before);
  EXPECT_EQ(u.numbers[0], 0);
}

}  // namespace
}  // namespace onward::testing
