#pragma once
// nuts: trajectories that double until they turn back (trajectory.hpp), from a momentum z that is drawn anew
// for each step. It asks for whole gradients, one for each leapfrog.

#include "onward/sampler/description.hpp"
#include "onward/sampler/trajectory.hpp"

namespace onward {

struct Nuts {
  static constexpr KernelFacts facts{
      .name = "nuts",
      .summary = "trajectories that end where they would turn back, with steps halved where it is narrow",
      .needs_gradient = true,
      .piloted = true,
      .follows_trajectories = true,
      .target_acceptance = 0.8,
      .held_vectors = 30};
  static auto options() {
    return std::tuple{
        described(&Nuts::max_depth, {.name = "max_depth",
                                     .help = "how often a trajectory may double: at most 2^this steps",
                                     .least = 1,
                                     .most = 20}),
        described(&Nuts::max_halvings, {.name = "max_halvings",
                                        .help = "how often a step may be halved where it loses energy; 0: "
                                                "never, as in the plain sampler",
                                        .least = 0,
                                        .most = 20}),
        described(&Nuts::energy_error, {.name = "energy_error",
                                        .help = "energy that a step may lose or gain before it is halved",
                                        .range = Range{}})};
  }
  static constexpr DirectionLaw needs = DirectionLaw::none;
  static constexpr Order order = Order::slope;

  double step_size = 1;
  std::size_t max_depth = 10;
  std::size_t max_halvings = 8;
  double energy_error = 1;
  TrajectoryRules rules = {};

  template <class T, class Random>
  StepInfo step(State& state, T& target, const Metric& metric, const Random& random, Workspace& w) const {
    const std::size_t dimension = state.position.size();
    if (state.gradient.size() != dimension) {
      state.gradient.resize(dimension);
      state.value = target.gradient(state.position, state.gradient);
    }
    TrajectoryScratch& scratch = w.trajectory;
    TrajectoryPlace& begin = scratch.ends[0];
    begin.position = state.position;
    begin.gradient = state.gradient;
    begin.value = state.value;
    begin.momentum.resize(dimension);
    random.noise(begin.momentum);

    w.followed = follow_trajectory({step_size, max_depth, max_halvings, energy_error, rules}, target, metric,
                                   Numbers<Random>(random), scratch, w.stop);
    StepInfo info;
    info.acceptance = w.followed.acceptance;
    info.accepted = scratch.chosen.position != state.position;
    std::swap(state.position, scratch.chosen.position);
    std::swap(state.gradient, scratch.chosen.gradient);
    state.value = scratch.chosen.value;
    return info;
  }

 private:
  template <class Random>
  class Numbers final : public TrajectoryNumbers {
   public:
    explicit Numbers(const Random& random) : random_(random) {}
    double choose(std::uint64_t index) const override { return random_.uniform(index); }
    double turn(std::uint64_t index) const override { return random_.choice(index); }

   private:
    const Random& random_;
  };
};

}  // namespace onward
