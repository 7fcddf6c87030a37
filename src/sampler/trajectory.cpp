#include "onward/sampler/trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/simd/reduce.hpp"
#include "onward/target/target.hpp"
#include "onward/util/stopped.hpp"

namespace onward {
namespace {

using Vector = std::vector<double>;
using Place = TrajectoryPlace;
using Candidate = TrajectoryScratch::Candidate;

/// Energy that is lost for good: the integrator has left the trajectory.
constexpr double lost = 1000;

double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high == -INFINITY ? high : high + std::log1p(std::exp(low - high));
}

/// Whether a trajectory with these momenta at its ends and this sum of all its momenta still leads apart.
bool leads_apart(const Vector& begin, const Vector& end, const Vector& sum) {
  return simd::dot<double>(begin, sum) > 0 && simd::dot<double>(end, sum) > 0;
}

class Trajectory {
 public:
  Trajectory(const TrajectorySettings& settings, AnyTarget& target, const Metric& metric,
             const TrajectoryNumbers& numbers, TrajectoryScratch& scratch, const std::atomic<bool>* stop)
      : settings_(settings),
        rules_(settings.rules),
        target_(target),
        metric_(metric),
        numbers_(numbers),
        s_(scratch),
        stop_(stop),
        size_(target.dimension()) {
    s_.velocity.resize(size_);
    s_.both.resize(size_);
    if (s_.levels.size() < settings.max_depth) s_.levels.resize(settings.max_depth);
  }

  TrajectoryInfo follow() {
    Place& begin = s_.ends[0];
    begin.pulled.resize(size_);
    metric_.pull(begin.gradient, begin.pulled);
    set_energy(begin);
    first_energy_ = begin.energy;
    s_.ends[1] = begin;
    s_.sum = begin.momentum;
    keep(begin, s_.chosen);
    double weight = 0;  // logarithm of the sum over the trajectory, the first place being 1

    for (std::size_t depth = 0; depth < settings_.max_depth; ++depth) {
      const std::size_t side = numbers_.turn(depth) < 0.5 ? 0 : 1;
      sign_ = side == 0 ? -1 : 1;
      Place& end = s_.ends[side];
      s_.joint = end.momentum;
      s_.moving = end;
      double new_weight = 0;
      if (!build(depth, s_.new_sum, s_.new_begin, s_.new_end, s_.candidate, new_weight)) break;
      std::swap(s_.moving, end);
      ++info_.depth;

      if (new_weight >= weight || uniform() < std::exp(new_weight - weight))
        std::swap(s_.chosen, s_.candidate);
      weight = log_add(weight, new_weight);

      // Across the joint too: a U-turn may be half on either side.
      const Vector& other = s_.ends[1 - side].momentum;
      const bool joint_apart = leads_apart(other, s_.new_begin, added(s_.sum, s_.new_begin)) &&
                               leads_apart(s_.joint, s_.new_end, added(s_.new_sum, s_.joint));
      for (std::size_t i = 0; i < size_; ++i) s_.sum[i] += s_.new_sum[i];
      if (!joint_apart || !leads_apart(other, s_.new_end, s_.sum)) break;
    }
    info_.energy = s_.chosen.energy;
    info_.acceptance = places_ > 0 ? acceptance_ / places_ : 0;
    return info_;
  }

 private:
  /// Goes on by 2^depth places from s_.moving. False where the trajectory must end: a U-turn within, energy
  /// lost, or a step that could not be taken back.
  bool build(std::size_t depth, Vector& sum, Vector& begin, Vector& end, Candidate& candidate,
             double& weight) {
    if (depth == 0) {
      if (!advance()) return false;
      const Place& here = s_.moving;
      const double log_weight = first_energy_ - here.energy;
      weight = rules_.weigh ? log_weight : 0;
      if (!halved_) acceptance_ += std::min(1.0, std::exp(log_weight));
      places_ += 1;
      sum = begin = end = here.momentum;
      keep(here, candidate);
      return true;
    }
    TrajectoryScratch::Level& level = s_.levels[depth - 1];
    double first = 0, second = 0;
    if (!build(depth - 1, level.sum_first, begin, level.end_first, candidate, first)) return false;
    if (!build(depth - 1, level.sum_second, level.begin_second, end, level.candidate, second)) return false;
    weight = log_add(first, second);
    if (uniform() < std::exp(second - weight)) std::swap(candidate, level.candidate);
    sum.resize(size_);
    for (std::size_t i = 0; i < size_; ++i) sum[i] = level.sum_first[i] + level.sum_second[i];
    if (!rules_.check_halves) return true;
    return leads_apart(begin, end, sum) &&
           leads_apart(begin, level.begin_second, added(level.sum_first, level.begin_second)) &&
           leads_apart(level.end_first, end, added(level.sum_second, level.end_first));
  }

  /// Moves s_.moving on by one step. Where that loses more energy than is allowed, by two halves, by four
  /// quarters and so on. So that the same places would be found from the other end, the coarser steps must
  /// fail from there as well.
  bool advance() {
    std::size_t halvings = 0;
    while (!attempt(s_.moving, sign_, halvings) && halvings < settings_.max_halvings) ++halvings;
    const Place& there = s_.attempt;
    const bool divergent = !(there.energy - first_energy_ < lost);
    if (divergent) {
      info_.divergent = true;
      return false;
    }
    std::swap(s_.moving, s_.attempt);
    halved_ = halvings > 0;
    if (!halved_) return true;
    ++info_.halved;
    if (rules_.check_way_back)
      for (std::size_t coarser = 0; coarser < halvings; ++coarser)
        if (attempt(s_.moving, -sign_, coarser)) return false;
    return true;
  }

  /// From a place to s_.attempt by 2^halvings small steps. Whether the energy stayed within bounds; if not,
  /// what is there is of use only after the finest steps of all.
  bool attempt(const Place& from, int sign, std::size_t halvings) {
    Place& to = s_.attempt;
    to = from;
    const bool finest = halvings == settings_.max_halvings;
    const std::size_t count = std::size_t{1} << halvings;
    const double step = sign * settings_.step_size / static_cast<double>(count);
    double low = from.energy, high = from.energy;
    bool within = true;
    for (std::size_t i = 0; i < count; ++i) {
      leapfrog(to, step);
      low = std::min(low, to.energy);
      high = std::max(high, to.energy);
      within = high - low <= settings_.energy_error;  // false where it is not a number
      if (!within && (!finest || !std::isfinite(to.energy))) return false;
    }
    return within;
  }

  void leapfrog(Place& place, double step) {
    throw_if_stopped(stop_);
    ++info_.leapfrogs;
    for (std::size_t i = 0; i < size_; ++i) place.momentum[i] += 0.5 * step * place.pulled[i];
    metric_.push(place.momentum, s_.velocity);
    for (std::size_t i = 0; i < size_; ++i) place.position[i] += step * s_.velocity[i];
    place.value = target_.gradient(place.position, place.gradient);
    metric_.pull(place.gradient, place.pulled);
    for (std::size_t i = 0; i < size_; ++i) place.momentum[i] += 0.5 * step * place.pulled[i];
    set_energy(place);
  }

  static void set_energy(Place& place) {
    const double energy = 0.5 * simd::sum_of_squares<double>(place.momentum) - place.value;
    place.energy = std::isnan(energy) ? INFINITY : energy;
  }

  static void keep(const Place& place, Candidate& candidate) {
    candidate.position = place.position;
    candidate.gradient = place.gradient;
    candidate.value = place.value;
    candidate.energy = place.energy;
  }

  const Vector& added(const Vector& a, const Vector& b) {
    for (std::size_t i = 0; i < size_; ++i) s_.both[i] = a[i] + b[i];
    return s_.both;
  }

  double uniform() { return numbers_.choose(uniforms_++); }

  const TrajectorySettings& settings_;
  const TrajectoryRules& rules_;
  AnyTarget& target_;
  const Metric& metric_;
  const TrajectoryNumbers& numbers_;
  TrajectoryScratch& s_;
  const std::atomic<bool>* stop_;
  std::size_t size_;
  int sign_ = 1;
  bool halved_ = false;  // the last step
  double first_energy_ = 0, acceptance_ = 0, places_ = 0;
  std::uint64_t uniforms_ = 0;
  TrajectoryInfo info_;
};

}  // namespace

TrajectoryInfo follow_trajectory(const TrajectorySettings& settings, AnyTarget& target, const Metric& metric,
                                 const TrajectoryNumbers& numbers, TrajectoryScratch& scratch,
                                 const std::atomic<bool>* stop) {
  return Trajectory(settings, target, metric, numbers, scratch, stop).follow();
}

}  // namespace onward
