#include "chain_task.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "onward/util/clock.hpp"
#include "onward/util/stopped.hpp"

namespace onward {
namespace {

/// Chains keep abreast to within one part in so many of what they have done.
constexpr std::uint64_t slices = 64;

}  // namespace

ChainTask::ChainTask(std::unique_ptr<Chain> chain, const RunSettings& settings, const Hooks& hooks,
                     std::size_t number, std::size_t parameters, ChainRecord& record)
    : chain_(std::move(chain)),
      settings_(settings),
      hooks_(hooks),
      number_(number),
      record_(record),
      warmup_(*settings.warmup),
      parameters_(parameters) {
  if (std::ranges::any_of(hooks_.sinks, &Sink::wants_moves)) chain_->keep_moves();
  counts_ = std::ranges::any_of(hooks_.sinks, &Sink::wants_counts);
  if (const auto& options = settings.sampler_options; options.contains("max_depth"))
    max_depth_ = options.at("max_depth").get<std::uint32_t>();
}

/// Whether it did; not if it was stopped meanwhile.
bool ChainTask::start() {
  try {
    chain_->start();
  } catch (const Stopped&) {
    return false;
  }
  started_ = true;
  phase_ = warming;
  if (hooks_.checkpoint && chain_->saved_every() > chain_->stride()) latest_ = save();
  return true;
}

/// Steps until something is to be done besides stepping.
std::uint64_t ChainTask::to_next_event(std::uint64_t slice) const {
  std::uint64_t steps = warm_ ? *settings_.thin - since_draw_ : warmup_ - steps_;
  if (const std::uint64_t meeting = warm_ ? 0 : chain_->meets_after(); meeting > steps_)
    steps = std::min(steps, meeting - steps_);
  const std::uint64_t stride = chain_->stride(), every = chain_->saved_every();
  if (every > stride) steps = std::min(steps, every - steps_ % every);
  return std::min(steps, std::max(stride, slice / stride * stride));
}

void ChainTask::advance(std::size_t draws_limit, const std::atomic<bool>& stop, bool hurry) {
  auto begin = Clock::now();
  if (!started_ && !start()) return;
  const std::uint64_t sweep = chain_->sweep();
  std::uint64_t left = std::max(sweep, steps_ / slices);
  if (hurry && !warm_) warmup_ = steps_ + (warmup_ - steps_) % chain_->stride();
  while (left > 0 && !stop && !(warm_ && record_.draws >= draws_limit) && !(meets() && !hurry)) {
    if (!warm_ && steps_ == warmup_) {
      freeze();
      record_.warmup_seconds += seconds_since(begin);
      begin = Clock::now();
      continue;
    }
    const std::uint64_t made = chain_->advance(to_next_event(left), monitor_);
    steps_ += made;
    left -= std::min(left, made);
    if (warm_) {
      since_draw_ += made;
      record_.sampling_steps += made;
      if (since_draw_ == *settings_.thin) keep_draw();
    }
    if (hooks_.checkpoint && chain_->saved_every() > chain_->stride() && steps_ % chain_->saved_every() == 0)
      latest_ = save();
    if (monitor_.pause) break;
  }
  (warm_ ? record_.sampling_seconds : record_.warmup_seconds) += seconds_since(begin);
}

void ChainTask::freeze() {
  chain_->freeze();
  chain_->take_acceptance();
  chain_->take_trajectory();
  if (counts_) at_draw_ = counted();
  warm_ = true;
  phase_ = sampling;
  tell_warm_up();
  if (hooks_.keep_draws) {
    // Not all of it if draws are more than will ever come, as with a time limit.
    constexpr std::size_t most = std::size_t{1} << 24;
    const std::size_t draws = std::min(settings_.draws, most / parameters_.size() + 1);
    record_.values.reserve(draws * parameters_.size());
    record_.log_density.reserve(draws);
  }
}

void ChainTask::tell_warm_up() {
  const Metric metric = chain_->metric();
  for (Sink* sink : hooks_.sinks) {
    sink->warmed_up(number_, chain_->step_size(), metric);
    // A chain that is resumed before its first draw may have made steps since it began.
    if (warm_ && since_draw_ == 0) sink->begins(number_, steps_, chain_->position());
  }
}

/// All that the chain has done so far.
SinceDraw ChainTask::counted() const {
  const ChainReport report = chain_->report();
  return {steps_, report.counts.jets() + report.counts.gradients, report.counts.nonfinite, report.floored};
}

void ChainTask::keep_draw() {
  const double log_density = chain_->draw(parameters_);
  if (hooks_.keep_draws) {
    for (const double value : parameters_)
      record_.values.push_back(hooks_.keep_floats ? static_cast<double>(static_cast<float>(value)) : value);
    record_.log_density.push_back(log_density);
  }
  // Not in parts, slice by slice: sums would round by slices then.
  const double acceptance = chain_->take_acceptance();
  const std::vector<double> moves = chain_->take_moves();
  Draw draw{log_density,         acceptance / static_cast<double>(*settings_.thin),
            chain_->step_size(), parameters_,
            chain_->position(),  moves};
  draw.trajectory = chain_->take_trajectory();
  if (draw.trajectory != nullptr) {
    record_.trajectories.add(*draw.trajectory, max_depth_);
    if (hooks_.keep_draws) record_.followed.push_back(*draw.trajectory);
  }
  if (counts_) {
    const SinceDraw now = counted(), then = std::exchange(at_draw_, now);
    draw.since = {now.steps - then.steps, now.evaluations - then.evaluations, now.nonfinite - then.nonfinite,
                  now.floored - then.floored};
  }
  for (Sink* sink : hooks_.sinks) sink->drawn(number_, draw);
  total_acceptance_ += acceptance;
  since_draw_ = 0;
  ++record_.draws;
}

void ChainTask::end() {
  if (started_ && !warm_) tell_warm_up();  // stopped on the way: what has been learned so far
  for (Sink* sink : hooks_.sinks) sink->finished(number_);
  const auto steps = static_cast<double>(record_.draws * *settings_.thin);
  record_.acceptance = steps > 0 ? total_acceptance_ / steps : 0;
  const ChainReport report = chain_->report();
  record_.step_size = report.step_size;
  record_.counts = report.counts;
  record_.floored = report.floored;
  record_.largest_drift = report.largest_drift;
  record_.joined = report.joined;
  record_.warmup_steps = warm_ ? warmup_ : steps_;
  record_.warmup = chain_->warmup();
  phase_ = done;
}

void ChainTask::transfer(Archive& archive) {
  double shown_acceptance = monitor_.acceptance_sum;
  archive(started_, warm_, since_draw_, total_acceptance_, shown_acceptance, record_.sampling_steps,
          record_.warmup_seconds, record_.sampling_seconds, at_draw_.steps, at_draw_.evaluations,
          at_draw_.nonfinite, at_draw_.floored, warmup_);
  record_.trajectories.transfer(archive);
  monitor_.acceptance_sum = shown_acceptance;
  if (started_) chain_->transfer(archive);
  for (Sink* sink : hooks_.sinks) sink->transfer(number_, archive);
}

ChainCheckpoint ChainTask::save() {
  Archive archive;
  transfer(archive);
  return {steps_, record_.draws, std::move(archive).take()};
}

ChainCheckpoint ChainTask::checkpoint() {
  for (Sink* sink : hooks_.sinks) sink->flush(number_);
  if (started_ && chain_->saved_every() > chain_->stride()) return latest_;
  return save();
}

void ChainTask::load(const ChainCheckpoint& checkpoint) {
  Archive archive(checkpoint.state);
  transfer(archive);
  archive.finish();
  steps_ = checkpoint.steps;
  record_.draws = checkpoint.draws;
  monitor_.steps = steps_;
  if (!started_) return;
  phase_ = warm_ ? sampling : warming;
  latest_ = checkpoint;
  // Files without draws were cut back to their beginning.
  if (warm_ && record_.draws == 0) tell_warm_up();
}

}  // namespace onward
