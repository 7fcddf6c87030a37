#include "onward/warmup/warmup.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/memory.hpp"
#include "onward/util/stopped.hpp"
#include "onward/warmup/climb.hpp"

namespace onward {
namespace {

// Trial steps of the search read the chain's stream far beyond any step that a run will reach.
constexpr std::uint64_t search_steps_begin = std::uint64_t{1} << 46;
constexpr int trials = 8;
constexpr int doublings = 60;

// A covariance matrix takes more places than it has rows, or it is singular. Gradients are as good as places,
// and where they are cheap there is more than one place a sweep.
std::size_t shortest_window(MetricKind metric, const AnyTarget& target) {
  constexpr std::size_t least = 25;
  return metric == MetricKind::dense && !target.has_gradient() ? std::max(least, 2 * target.dimension())
                                                               : least;
}

// Without a gradient a climb asks for slopes along all axes in turn.
constexpr std::size_t most_axes = 1000;

// Trajectories that do not know the scales yet would be very long, and are no better for it.
constexpr std::size_t first_depth = 5, second_depth = 7;

// On a flat target, or one that rejects everything, dual averaging goes on to infinity or to zero.
double usable(double step_size) { return std::clamp(step_size, 1e-300, 1e300); }

}  // namespace

WarmUp::WarmUp(const WarmUpSettings& settings, const AnyTarget& target)
    : settings_(settings),
      kernel_(make_kernel(settings.kernel)),
      directions_(make_directions(settings.directions, needed_law(kernel_), target.dimension(),
                                  target.names(), target.blocks())),
      averaging_(settings.target_acceptance, settings.kernel.step_size),
      learner_(settings.metric, target.dimension()),
      windows_(settings.steps / settings.sweep, shortest_window(settings.metric, target)),
      target_acceptance_(settings.target_acceptance) {
  const SamplerInfo& sampler = find_sampler(settings.kernel.sampler);
  if (target_acceptance_ <= 0) target_acceptance_ = sampler.target_acceptance;
  settings_.adapt_step_size = settings.adapt_step_size && sampler.tuned;
  averaging_ = DualAveraging(
      target_acceptance_, settings.kernel.step_size,
      sampler.follows_trajectories ? DualAveraging::for_trajectories : DualAveraging::for_proposals);
  begin_window(target);
}

/// The sweeps of a line kernel are long, and early windows have few: with cheap gradients places within a
/// sweep are learned from too, about 2.5 for each dimension in a window.
void WarmUp::begin_window(const AnyTarget& target) {
  constexpr double places_per_dimension = 2.5;
  extra_places_ = 0;
  limit_depth();
  if (!target.has_gradient() || settings_.sweep == 1) return;
  const double steps = static_cast<double>(windows_.current() * settings_.sweep),
               every = steps / (places_per_dimension * static_cast<double>(target.dimension()));
  if (every < static_cast<double>(settings_.sweep))
    extra_places_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(every));
}

void WarmUp::limit_depth() {
  const std::size_t full = max_depth(make_kernel(settings_.kernel));
  const std::size_t windows = settings_.metric == MetricKind::none ? 2 : windows_.ended();
  set_max_depth(kernel_, std::min(full, windows == 0 ? first_depth : windows == 1 ? second_depth : full));
}

bool WarmUp::learns_from(std::uint64_t step) const {
  if (settings_.metric == MetricKind::none) return false;
  const auto sweep = static_cast<std::size_t>((step + settings_.sweep - 1) / settings_.sweep);
  if (!windows_.learns(sweep)) return false;
  return step % settings_.sweep == 0 || (extra_places_ > 0 && step % extra_places_ == 0);
}

void WarmUp::arrive(State& state, AnyTarget& target, const std::atomic<bool>* stop,
                    const std::atomic<bool>* hurry) {
  if (settings_.metric == MetricKind::none || windows_.arrived() == 0) return;
  if (!target.has_gradient() && target.dimension() > most_axes) return;
  const Counts counts = target.counts();
  try {
    const std::size_t most = target.has_gradient() ? 1000 : 100;
    Ascent ascent = climb(target, state.position, most, stop, hurry);
    if (!std::isfinite(ascent.value)) return;
    state.forget();
    state.position = std::move(ascent.position);
    state.value = ascent.value;
    if (find_sampler(settings_.kernel.sampler).needs_gradient) state.gradient = std::move(ascent.gradient);
    metric_ = std::move(ascent.metric);
  } catch (const Stopped&) {
    target.set_counts(counts);
    throw;
  }
}

void WarmUp::set_step_size(double step_size) {
  settings_.kernel.step_size = usable(step_size);
  onward::set_step_size(kernel_, settings_.kernel.step_size);
}

void WarmUp::search_step_size(const State& state, AnyTarget& target, const Stream& stream,
                              Workspace& workspace, const std::atomic<bool>* stop) {
  if (!settings_.adapt_step_size) return;
  const double begin = settings_.kernel.step_size;
  const Counts counts = target.counts();
  const bool follows = find_sampler(settings_.kernel.sampler).follows_trajectories;
  const auto acceptance = [&](int round) {
    const Kernel kernel = with_short_steps(kernel_);
    double sum = 0;
    for (int trial = 0; trial < trials; ++trial) {
      throw_if_stopped(stop);
      State copy = state;
      if (!follows) copy.forget();
      const std::uint64_t number =
          search_steps_begin + (searches_ << 16) + static_cast<std::uint64_t>(round * trials + trial);
      sum += onward::step(kernel, copy, target, metric_, stream, number, directions_, workspace).acceptance;
    }
    return sum / trials;
  };
  try {
    const bool grow = acceptance(0) > target_acceptance_;
    for (int round = 1; round <= doublings; ++round) {
      const double before = settings_.kernel.step_size;
      set_step_size(grow ? 2 * before : before / 2);
      if ((acceptance(round) > target_acceptance_) != grow) {
        if (grow) set_step_size(before);
        break;
      }
    }
  } catch (const Stopped&) {
    set_step_size(begin);
    target.set_counts(counts);
    throw;
  }
  ++searches_;
  averaging_.restart(settings_.kernel.step_size);
}

StepInfo WarmUp::step(State& state, AnyTarget& target, const Stream& stream, std::uint64_t number,
                      Workspace& workspace, const std::atomic<bool>* stop) {
  if (settings_.metric != MetricKind::none) end_window(state, target, stream, number - 1, workspace, stop);
  const StepInfo info = onward::step(kernel_, state, target, metric_, stream, number, directions_, workspace);
  if (settings_.adapt_step_size) {
    averaging_.update(info.acceptance);
    set_step_size(averaging_.current());
  }
  if (!learns_from(number)) return info;
  learner_.add(state.position, gradient_at(state, target));
  level_sum_ += state.value;
  level_count_ += 1;
  return info;
}

/// Renews the metric if a window ended with the last step. That is the next step's work: a search that is cut
/// short is then made again, from its beginning, by whoever goes on from here.
void WarmUp::end_window(State& state, AnyTarget& target, const Stream& stream, std::uint64_t number,
                        Workspace& workspace, const std::atomic<bool>* stop) {
  WarmUpWindows windows = windows_;
  if (number % settings_.sweep != 0 || !windows.ends(static_cast<std::size_t>(number / settings_.sweep)))
    return;
  Metric before = std::exchange(metric_, learner_.metric());
  const double step_size = settings_.kernel.step_size;
  if (settings_.adapt_step_size) set_step_size(averaging_.average());
  try {
    search_step_size(state, target, stream, workspace, stop);
  } catch (const Stopped&) {
    metric_ = std::move(before);
    set_step_size(step_size);
    throw;
  }
  windows_ = windows;
  begin_window(target);
  learner_.clear();
  level_sum_ = level_count_ = 0;
  if (!find_sampler(settings_.kernel.sampler).follows_trajectories)
    state.forget();  // tangents were in the units of the old metric
}

/// What the learner is given: a sweep's D jets dwarf it. A model that offers no gradient is asked for its
/// slopes along the axes, while that is no more than a sweep.
std::span<const double> WarmUp::gradient_at(const State& state, AnyTarget& target) {
  const std::size_t dimension = state.position.size();
  gradient_.resize(dimension);
  if (state.gradient.size() == dimension) return state.gradient;
  if (target.has_gradient()) {
    // One that failed is all zeros, which would look like a summit.
    if (!std::isfinite(target.gradient(state.position, gradient_))) return {};
    return gradient_;
  }
  if (settings_.metric != MetricKind::dense) return {};
  std::vector<double> axis(dimension);
  for (std::size_t i = 0; i < dimension; ++i) {
    axis[i] = 1;
    const Jet jet = target.jet(state.position, axis, Order::slope);
    if (!std::isfinite(jet.value)) return {};
    gradient_[i] = jet.slope;
    axis[i] = 0;
  }
  return gradient_;
}

double WarmUp::log_mass() const {
  return level_count_ > 0 ? level_sum_ / level_count_ + learner_.log_volume() : -INFINITY;
}

void WarmUp::transfer(Archive& archive) {
  archive(settings_.kernel.step_size, searches_, level_sum_, level_count_);
  metric_.transfer(archive);
  averaging_.transfer(archive);
  learner_.transfer(archive);
  windows_.transfer(archive);
  archive(extra_places_);
  if (!archive.loading()) return;
  set_step_size(settings_.kernel.step_size);
  limit_depth();
}

FrozenKernel WarmUp::freeze() const& { return WarmUp(*this).freeze(); }

FrozenKernel WarmUp::freeze() && {
  FrozenKernel frozen{std::move(metric_), make_kernel(settings_.kernel), std::move(directions_)};
  onward::set_step_size(frozen.kernel, frozen_step_size());
  return frozen;
}

double WarmUp::frozen_step_size() const {
  return settings_.adapt_step_size ? usable(averaging_.average()) : step_size(kernel_);
}

void check_dense_metric(std::size_t dimension, std::size_t chains) {
  const auto d = static_cast<double>(dimension);
  // The learner's products, a copy while it is factorised, and the factor.
  const double bytes = 3 * 8 * d * d * static_cast<double>(chains);
  if (bytes > machine_bytes() / 2)
    throw UsageError(
        fmt::format("a dense metric for {} parameters and {} chains would take {} of this machine's {}; "
                    "use `metric` diag, or fewer chains",
                    dimension, chains, shown_bytes(bytes), shown_bytes(machine_bytes())));
}

}  // namespace onward
