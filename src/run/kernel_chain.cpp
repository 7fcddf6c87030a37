#include "onward/run/kernel_chain.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/run/run.hpp"
#include "onward/util/stopped.hpp"
#include "onward/util/waiting.hpp"

namespace onward {
namespace {

/// Steps after which a target computes afresh what it carries from place to place. They are counted, so that
/// a chain that goes on from a checkpoint does so at the same places.
constexpr std::uint64_t refresh_every = 100;

/// Steps in a row without waiting for another process after which it is known that the target never waits.
/// One or another needs no answer: its proposal flew off to infinity, say.
constexpr std::uint64_t surely_quiet = 100;

/// Where a chain would begin at this attempt.
void place_start(const Start& start, const Stream& stream, std::uint64_t attempt,
                 std::vector<double>& position) {
  switch (start.kind) {
    case Start::Kind::zeros:
      std::fill(position.begin(), position.end(), 0.0);
      return;
    case Start::Kind::given:
      if (start.spread.empty()) {
        position = start.position;
        return;
      }
      stream.normals(attempt, Purpose::start, position);
      for (std::size_t i = 0; i < position.size(); ++i)
        position[i] = start.position[i] + start.spread[i] * position[i];
      return;
    case Start::Kind::random:
      stream.normals(attempt, Purpose::start, position);
      for (double& x : position) x *= start.scale;
      return;
  }
}

/// Finds where a chain begins, and leaves the state's value set. Starts that chance has a part in are tried
/// again; other ones are not.
State find_start(const RunSettings& settings, AnyTarget& target, const Stream& stream, std::size_t chain,
                 const std::atomic<bool>* stop) {
  constexpr std::uint64_t tries = 100;
  const std::size_t dimension = target.dimension();
  State state;
  state.position.resize(dimension);
  const bool chance = settings.start.kind == Start::Kind::random || !settings.start.spread.empty();
  const std::uint64_t attempts = chance ? tries : 1;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    throw_if_stopped(stop);
    place_start(settings.start, stream, attempt, state.position);
    // The full jet along some direction must exist, or the first step would fail for good.
    const Jet jet = [&] {
      if (settings.vectors == Vectors::regenerated) {
        const UnitVector direction(stream, attempt, Purpose::direction, dimension);
        return target.jet_from(HeldVector(state.position), &direction, Order::curvature);
      }
      std::vector<double> direction(dimension);
      stream.direction(attempt, Purpose::direction, direction);
      return target.jet(state.position, direction, Order::curvature);
    }();
    if (!std::isfinite(jet.value)) continue;
    state.value = jet.value;
    if (!find_sampler(settings.sampler).needs_gradient) return state;
    state.gradient.resize(dimension);
    state.value = target.gradient(state.position, state.gradient);
    if (std::isfinite(state.value)) return state;
  }
  const Counts& counts = target.counts();
  const std::string why =
      counts.threw > 0
          ? (counts.first_message.empty() ? std::string("the model says that it has no density there")
                                          : fmt::format("the model says: {}", counts.first_message))
          : std::string("the log density, its slope or its curvature is not finite there");
  const std::string where = settings.start.kind == Start::Kind::zeros ? "at zero"
                            : settings.start.kind == Start::Kind::given
                                ? "at the start that was given"
                                : fmt::format("at {} random places of scale {}", tries, settings.start.scale);
  throw StartError(fmt::format(
      "chain {} cannot start: {}, {}. Give a start that has a density, or random starts of another scale",
      chain + 1, where, why));
}

void transfer_counts(Archive& archive, Counts& counts) {
  archive(counts.values, counts.slopes, counts.curvatures, counts.slope_pairs, counts.curvature_pairs,
          counts.gradients, counts.nonfinite, counts.threw, counts.first_message);
}

}  // namespace

KernelChain::KernelChain(AnyTarget target, const RunSettings& settings, std::size_t number)
    : target_(std::move(target)),
      settings_(settings),
      number_(number),
      stream_(*settings.seed, static_cast<std::uint32_t>(number)),
      workspace_(target_.dimension()),
      follows_(find_sampler(settings.sampler).follows_trajectories) {}

std::uint64_t KernelChain::saved_every() const { return target_.drifts() ? refresh_every : 1; }

void KernelChain::start() {
  const Counts counts = target_.counts();
  try {
    state_ = find_start(settings_, target_, stream_, number_, stop_);
    warmup_.emplace(warmup_settings(), target_);
    if (*settings_.warmup > 0) warmup_->arrive(state_, target_, stop_, hurry_);
    warmup_->search_step_size(state_, target_, stream_, workspace_, stop_);
  } catch (const Stopped&) {
    state_ = {};
    warmup_.reset();
    target_.set_counts(counts);
    throw;
  }
}

WarmUpSettings KernelChain::warmup_settings() const {
  WarmUpSettings w;
  w.kernel = kernel_settings(settings_);
  w.adapt_step_size = !settings_.step_size || settings_.adapt_in_warmup;
  w.target_acceptance = *settings_.target_acceptance;
  w.metric = *settings_.metric;
  w.steps = *settings_.warmup;
  // Places to learn from are a sweep apart; for kernels without sweeps, so far that there are about 1,000.
  w.sweep =
      std::max<std::size_t>(sweep_steps(settings_.sampler, target_.dimension()), *settings_.warmup / 1000);
  w.directions = settings_.directions;
  return w;
}

/// At places that are counted in steps, so that the record of a run that was cut is that of one that was not.
void KernelChain::note_warm_up(double acceptance) {
  constexpr std::uint64_t places = 100;
  const std::uint64_t every = std::max<std::uint64_t>(1, *settings_.warmup / places);
  since_noted_ += acceptance;
  if (steps_ % every != 0) return;
  const bool fixed = settings_.step_size && !settings_.adapt_in_warmup;
  record_.steps.push_back(steps_);
  record_.step_size.push_back(fixed ? *settings_.step_size : warmup_->frozen_step_size());
  record_.acceptance.push_back(std::exchange(since_noted_, 0.0) / static_cast<double>(every));
}

StepInfo KernelChain::step() {
  ++steps_;
  if (warmup_) {
    const StepInfo info = warmup_->step(state_, target_, stream_, steps_, workspace_, stop_);
    note_warm_up(info.acceptance);
    return info;
  }
  const StepInfo info = onward::step(frozen_->kernel, state_, target_, frozen_->metric, stream_, steps_,
                                     frozen_->directions, workspace_);
  floored_ += info.floored ? 1 : 0;
  if (follows_) note_trajectory();
  if (keeps_moves_) moves_.push_back(info.moved);
  return info;
}

void KernelChain::note_trajectory() {
  const TrajectoryInfo& last = workspace_.followed;
  followed_.depth = std::max(followed_.depth, last.depth);
  followed_.leapfrogs += last.leapfrogs;
  followed_.halved += last.halved;
  followed_.divergent = followed_.divergent || last.divergent;
  followed_.energy = last.energy;
}

const TrajectoryInfo* KernelChain::take_trajectory() {
  if (!follows_) return nullptr;
  taken_ = std::exchange(followed_, {});
  return &taken_;
}

void KernelChain::meet(const Chain* other) {
  met_at_ = steps_;
  const auto* from = dynamic_cast<const KernelChain*>(other);
  if (from == nullptr) return;
  state_ = from->state_;
  warmup_ = from->warmup_;
  joined_ = true;
}

std::uint64_t KernelChain::advance(std::uint64_t steps, Monitor& monitor) {
  std::uint64_t made = 0;
  Counts counts;
  std::optional<BeforeStep> before;
  try {
    while (true) {
      if (follows_ || waits_) counts = target_.counts();  // the step may be cut short
      if (waits_) before = {state_, warmup_, record_, followed_, since_noted_};
      const Waiting waiting(Waiting::stop(), Waiting::news());
      const double acceptance = step().acceptance;
      ++made;
      quiet_ = waiting.announced() ? 0 : quiet_ + 1;
      waits_ = waits_ && quiet_ < surely_quiet;
      acceptance_ += acceptance;
      monitor.count(1, acceptance);
      if (steps_ % refresh_every == 0) largest_drift_ = std::max(largest_drift_, target_.refresh());
      if (made == steps || monitor.pause.load(std::memory_order_relaxed)) return made;
    }
  } catch (const Stopped&) {
    --steps_;  // the step that it was in has not been made
    if (follows_ || waits_) target_.set_counts(counts);
    if (waits_) {
      state_ = std::move(before->state);
      warmup_ = std::move(before->warmup);
      record_ = std::move(before->record);
      followed_ = before->followed;
      since_noted_ = before->since_noted;
    }
    return made;
  }
}

void KernelChain::freeze() {
  frozen_ = std::move(*warmup_).freeze();
  if (settings_.step_size) set_step_size(frozen_->kernel, *settings_.step_size);
  warmup_.reset();
}

void check_traceable(const RunSettings& settings) {
  const SamplerInfo& sampler = find_sampler(settings.sampler);
  if (!sampler.line || !sampler.kernel)
    throw UsageError(
        fmt::format("a trace is kept of samplers that go along lines, which {} does not: take one "
                    "that does, such as pc-line-fmala",
                    settings.sampler));
  if (const std::size_t moves = moves_per_step(make_kernel(kernel_settings(settings))); moves != 1)
    throw UsageError(fmt::format("a trace is kept of one move a step, not of {}: leave `inner` out", moves));
}

void KernelChain::keep_moves() {
  check_traceable(settings_);
  keeps_moves_ = true;
}

double KernelChain::take_acceptance() { return std::exchange(acceptance_, 0.0); }

double KernelChain::draw(std::span<double> parameters) {
  target_.report(state_.position, stream_, steps_, parameters);
  return state_.value;
}

double KernelChain::step_size() const {
  return frozen_ ? onward::step_size(frozen_->kernel) : warmup_ ? warmup_->frozen_step_size() : 1;
}

Metric KernelChain::metric() const {
  return frozen_ ? frozen_->metric : warmup_ ? warmup_->freeze().metric : Metric();
}

ChainReport KernelChain::report() const {
  return {.step_size = step_size(),
          .counts = target_.counts(),
          .floored = floored_,
          .largest_drift = largest_drift_,
          .joined = joined_};
}

void KernelChain::transfer(Archive& archive) {
  archive(steps_, floored_, acceptance_, largest_drift_, moves_);
  archive(record_.steps, record_.step_size, record_.acceptance, since_noted_);
  archive(met_at_, joined_, followed_.depth, followed_.leapfrogs, followed_.halved, followed_.divergent,
          followed_.energy);
  onward::transfer(archive, state_);
  bool frozen = frozen_.has_value();
  archive(frozen);
  if (archive.loading()) {
    warmup_.emplace(warmup_settings(), target_);
    if (frozen) freeze();
  }
  if (frozen_) {
    double step_size = onward::step_size(frozen_->kernel);
    archive(step_size);
    set_step_size(frozen_->kernel, step_size);
    onward::transfer(archive, frozen_->metric);
  } else {
    warmup_->transfer(archive);
  }
  Counts counts = target_.counts();
  transfer_counts(archive, counts);
  target_.set_counts(counts);
  if (archive.loading() && state_.position.size() != target_.dimension())
    throw Error("the saved state of a chain is of a model of another size");
  if (archive.loading() && !target_.drifts()) require_same_density();
}

/// A model from outside is told from another one by nothing but its values.
void KernelChain::require_same_density() const {
  AnyTarget copy = target_;  // whose counts are nobody's concern
  const std::vector<double> nowhere;
  const double now = copy.jet(state_.position, nowhere, Order::value).value;
  constexpr double rounding = 1e-6;  // of other processors, or of other builds of a library
  if (std::abs(now - state_.value) <= rounding * (1 + std::abs(state_.value))) return;
  throw Error(fmt::format(
      "chain {} was saved where the log density was {:.10g}, and the model says {:.10g} there: it is another "
      "model, or its data have changed. Hand over the model that the run began with, or begin a new run",
      number_ + 1, state_.value, now));
}

RunSettings KernelChainMaker::resolve(RunSettings requested) const {
  RunSettings settings = onward::resolve(std::move(requested), dimension());
  check_target(settings, target_);
  // What is wrong with the directions is told before anything starts.
  make_directions(settings.directions, needed_law(make_kernel(kernel_settings(settings))), dimension(),
                  target_.names(), target_.blocks());
  return settings;
}

void KernelChainMaker::prepare(const RunSettings& resolved, ThreadPool&, const std::atomic<bool>&) {
  settings_ = &resolved;
  if (resolved.temperature != 1) target_ = target_.tempered(resolved.temperature);
}

std::unique_ptr<Chain> KernelChainMaker::make(std::size_t number, std::shared_ptr<ThreadPool> pool) {
  AnyTarget target = target_;
  target.use_pool(std::move(pool));
  return std::make_unique<KernelChain>(std::move(target), *settings_, number);
}

void check_target(const RunSettings& settings, const AnyTarget& target) {
  if (find_sampler(settings.sampler).needs_gradient && !target.has_gradient())
    throw UsageError(fmt::format(
        "sampler {} needs a gradient, which this model does not offer; try pc-line-fmala", settings.sampler));
  if (settings.vectors == Vectors::regenerated && !target.has_jet_from())
    throw UsageError(
        "`vectors` regenerated needs a model that reads its parameters a stretch at a time, as net does: "
        "use held ones");
}

}  // namespace onward
