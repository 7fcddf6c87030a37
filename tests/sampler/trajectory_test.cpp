// Trajectories beside an enumeration: the places of a trajectory are laid out one by one, every sequence of
// turns is gone through, and the probability of each place is written down. The sampler must choose places
// with these probabilities, and they must leave the density along the trajectory as it is. What makes it so
// is left out in turn, and missed.

#include "onward/sampler/trajectory.hpp"

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "invariance.hpp"
#include "models/funnel.hpp"
#include "onward/target/callable.hpp"

namespace onward::testing {
namespace {

/// Somewhat bent, so that trajectories of different lengths turn at different places.
AnyTarget bent() {
  return target(2, [](const auto& t) {
    const auto y = t[1] - 0.6 * t[0] * t[0];
    return -0.5 * t[0] * t[0] - 2.0 * y * y;
  });
}

struct Phase {
  Eigen::Vector2d position, momentum;
  double weight = 0;
};

/// The places k = -reach..reach of the trajectory through a place, by leapfrogs without a metric.
class Orbit {
 public:
  Orbit(AnyTarget target, const Phase& middle, double step, int reach) : target_(std::move(target)) {
    places_[0] = weighed(middle);
    for (const int sign : {1, -1})
      for (int k = 1; k <= reach; ++k) places_[sign * k] = leapfrog(places_[sign * (k - 1)], sign * step);
  }
  const Phase& at(int k) const { return places_.at(k); }

  /// Whether the places from a to b lead apart.
  bool apart(int a, int b) const {
    Eigen::Vector2d sum(0, 0);
    for (int k = a; k <= b; ++k) sum += at(k).momentum;
    return at(a).momentum.dot(sum) > 0 && at(b).momentum.dot(sum) > 0;
  }
  /// And across the middle of two halves.
  bool joins(int a, int middle, int b) const {
    return apart(a, b) && apart(a, middle + 1) && apart(middle, b);
  }
  /// Whether a stretch of 2^n places, all halves of it included, leads apart.
  bool sound(int a, int b) const {
    if (a == b) return true;
    const int middle = a + (b - a) / 2;
    return sound(a, middle) && sound(middle + 1, b) && joins(a, middle, b);
  }
  double weight(int a, int b) const {
    double sum = 0;
    for (int k = a; k <= b; ++k) sum += at(k).weight;
    return sum;
  }

  /// Where a transition from place `from` ends, with what probability.
  std::map<int, double> law(int from, int max_depth, const TrajectoryRules& rules) const {
    std::map<int, double> total;
    extend(from, from, {{from, 1.0}}, max_depth, 1.0, rules, total);
    return total;
  }

 private:
  Phase weighed(Phase p) {
    const std::vector<double> x{p.position[0], p.position[1]};
    p.weight = std::exp(target_.value(x) - 0.5 * p.momentum.squaredNorm());
    return p;
  }
  Eigen::Vector2d force(const Eigen::Vector2d& at) {
    const std::vector<double> x{at[0], at[1]};
    std::vector<double> g(2);
    target_.gradient(x, g);
    return {g[0], g[1]};
  }
  Phase leapfrog(Phase p, double step) {
    p.momentum += step / 2 * force(p.position);
    p.position += step * p.momentum;
    p.momentum += step / 2 * force(p.position);
    return weighed(p);
  }

  void extend(int a, int b, const std::map<int, double>& chosen, int left, double probability,
              const TrajectoryRules& rules, std::map<int, double>& total) const {
    const auto end = [&] {
      for (const auto& [k, p] : chosen) total[k] += probability * p;
    };
    if (left == 0) return end();
    const int size = b - a + 1;
    for (const bool forward : {true, false}) {
      const int from = forward ? b + 1 : a - size, to = forward ? b + size : a - 1;
      if (rules.check_halves && !sound(from, to)) {
        for (const auto& [k, p] : chosen) total[k] += probability / 2 * p;
        continue;
      }
      const auto weight_of = [&](int first, int last) {
        return rules.weigh ? weight(first, last) : static_cast<double>(last - first + 1);
      };
      const double share = std::min(1.0, weight_of(from, to) / weight_of(a, b));
      std::map<int, double> next;
      for (const auto& [k, p] : chosen) next[k] += (1 - share) * p;
      for (int k = from; k <= to; ++k) next[k] += share * weight_of(k, k) / weight_of(from, to);
      const int low = std::min(a, from), high = std::max(b, to), middle = forward ? b : a - 1;
      if (joins(low, middle, high))
        extend(low, high, next, left - 1, probability / 2, rules, total);
      else
        for (const auto& [k, p] : next) total[k] += probability / 2 * p;
    }
  }

  AnyTarget target_;
  std::map<int, Phase> places_;
};

const Phase some_place{{0.7, -0.4}, {0.8, 1.1}, 0};
constexpr double step_size = 0.4;
constexpr int depth = 4;

/// How much of place 0's weight transitions from all places bring back to it.
double kept(const TrajectoryRules& rules) {
  constexpr int reach = 1 << depth;
  const Orbit orbit(bent(), some_place, step_size, 2 * reach);
  double sum = 0;
  for (int from = -reach + 1; from < reach; ++from) {
    const auto law = orbit.law(from, depth, rules);
    const auto back = law.find(0);
    if (back != law.end()) sum += orbit.at(from).weight * back->second;
  }
  return sum / orbit.at(0).weight;
}

TEST(Trajectory, EnumerationLeavesTheDensityAsItIs) {
  EXPECT_NEAR(kept({}), 1, 1e-10);
  EXPECT_GT(std::abs(kept({.weigh = false}) - 1), 1e-3);
  EXPECT_GT(std::abs(kept({.check_halves = false}) - 1), 1e-3);
}

class StreamNumbers final : public TrajectoryNumbers {
 public:
  explicit StreamNumbers(std::uint64_t step) : step_(step) {}
  double choose(std::uint64_t index) const override { return stream_.uniform(step_, Purpose::accept, index); }
  double turn(std::uint64_t index) const override { return stream_.uniform(step_, Purpose::shuffle, index); }

 private:
  Stream stream_{5, 0};
  std::uint64_t step_;
};

/// The largest |z| of how often each place was chosen, beside the enumeration.
double worst_frequency(const TrajectoryRules& rules, std::uint64_t trials) {
  const Orbit orbit(bent(), some_place, step_size, 2 << depth);
  const auto law = orbit.law(0, depth, {});
  AnyTarget target = bent();
  TrajectoryScratch scratch;
  std::map<int, double> counts;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    TrajectoryPlace& begin = scratch.ends[0];
    begin.position = {some_place.position[0], some_place.position[1]};
    begin.momentum = {some_place.momentum[0], some_place.momentum[1]};
    begin.gradient.resize(2);
    begin.value = target.gradient(begin.position, begin.gradient);
    follow_trajectory({.step_size = step_size, .max_depth = depth, .rules = rules}, target, {},
                      StreamNumbers(trial), scratch);
    int found = 1 << 20;
    for (const auto& [k, p] : law) {
      const auto& there = orbit.at(k).position;
      if (std::abs(there[0] - scratch.chosen.position[0]) + std::abs(there[1] - scratch.chosen.position[1]) <
          1e-9)
        found = k;
    }
    counts[found] += 1;
  }
  double worst = 0;
  const auto n = static_cast<double>(trials);
  for (const auto& [k, count] : counts) {
    const auto p = law.find(k);
    if (p == law.end()) return INFINITY;  // a place that cannot be reached
    worst = std::max(worst, std::abs(count - n * p->second) / std::sqrt(n * p->second * (1 - p->second)));
  }
  for (const auto& [k, p] : law)
    if (!counts.contains(k)) worst = std::max(worst, std::sqrt(n * p));
  return worst;
}

TEST(Trajectory, ChoosesPlacesAsTheEnumerationHasIt) {
  constexpr std::uint64_t trials = 40'000;
  EXPECT_LT(worst_frequency({}, trials), bound);
  EXPECT_GT(worst_frequency({.weigh = false}, trials), 1.5 * bound);
  EXPECT_GT(worst_frequency({.check_halves = false}, trials), 1.5 * bound);
}

/// A step far too large for the neck of a funnel: it is halved there, and invariance needs the way back.
TEST(Trajectory, HalvedStepsNeedTheWayBack) {
  Nuts halving{.step_size = 1.5, .max_halvings = 6, .energy_error = 0.4};
  EXPECT_LT(worst_z(funnel(), stepper_of(halving), {}, 20'000, 10), bound);
  halving.rules.check_way_back = false;
  EXPECT_GT(worst_z(funnel(), stepper_of(halving), {}, 60'000, 10), 1.5 * bound);
}

TEST(Trajectory, SaysWhatItDid) {
  const Drawable model = gaussian();
  AnyTarget target(model.target);
  State state;
  state.position.assign(target.dimension(), 0.3);
  Workspace w(target.dimension());
  const Stream stream(1, 0);
  Nuts{.step_size = 0.1}.step(state, target, Metric(), StepRandom(stream, 1), w);
  EXPECT_GE(w.followed.depth, 3U);
  EXPECT_EQ(w.followed.leapfrogs, target.counts().gradients - 1);  // the first is of the start
  EXPECT_FALSE(w.followed.divergent);
  EXPECT_EQ(state.value, target.value(state.position));
  Nuts{.step_size = 50, .max_halvings = 0}.step(state, target, Metric(), StepRandom(stream, 2), w);
  EXPECT_TRUE(w.followed.divergent);
  EXPECT_EQ(w.followed.depth, 0U);
}

}  // namespace
}  // namespace onward::testing
