#include "onward/run/run.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/run/choice.hpp"
#include "onward/warmup/warmup.hpp"

namespace onward {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What a chain's thread tells the thread that shows progress.
struct ChainProgress {
  std::atomic<std::uint64_t> steps{0};
  std::atomic<double> acceptance_sum{0};
  enum Phase { waiting, warming, sampling, done };
  std::atomic<Phase> phase{waiting};
};

/// Finds where a chain begins, and leaves the state's value set. Random starts are tried again; other ones
/// are not.
State find_start(const RunSettings& settings, AnyTarget& target, const Stream& stream, std::size_t chain) {
  constexpr std::uint64_t tries = 100;
  const std::size_t dimension = target.dimension();
  State state;
  state.position.resize(dimension);
  const bool chance = settings.start.kind == Start::Kind::random || !settings.start.spread.empty();
  const std::uint64_t attempts = chance ? tries : 1;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    switch (settings.start.kind) {
      case Start::Kind::zeros:
        std::fill(state.position.begin(), state.position.end(), 0.0);
        break;
      case Start::Kind::given:
        state.position = settings.start.position;
        if (settings.start.spread.empty()) break;
        stream.normals(attempt, Purpose::start, state.position);
        for (std::size_t i = 0; i < dimension; ++i)
          state.position[i] = settings.start.position[i] + settings.start.spread[i] * state.position[i];
        break;
      case Start::Kind::random:
        stream.normals(attempt, Purpose::start, state.position);
        for (double& x : state.position) x *= settings.start.scale;
        break;
    }
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
      counts.threw > 0 ? fmt::format("the model threw: {}", counts.first_message)
                       : std::string("the log density, its slope or its curvature is not finite there");
  const std::string where = settings.start.kind == Start::Kind::zeros ? "at zero"
                            : settings.start.kind == Start::Kind::given
                                ? "at the start that was given"
                                : fmt::format("at {} random places of scale {}", tries, settings.start.scale);
  throw Error(
      fmt::format("chain {} cannot start: {}, {}. Give a place with density by --init FILE, or random starts "
                  "of another scale by "
                  "--init random:SCALE; `onward evaluate` shows the density at a place",
                  chain + 1, where, why));
}

/// One chain, advanced a slice at a time so that any number of threads can take turns with any number of
/// chains. What it computes does not depend on the slices.
class ChainRunner {
 public:
  ChainRunner(const AnyTarget& target, const RunSettings& settings, const Hooks& hooks, std::size_t chain,
              const std::atomic<bool>& stop, ChainProgress& progress, ChainRecord& record)
      : target_(target),
        settings_(settings),
        hooks_(hooks),
        chain_(chain),
        stop_(stop),
        progress_(progress),
        record_(record),
        stream_(*settings.seed, static_cast<std::uint32_t>(chain)),
        workspace_(target_.dimension()) {}

  /// Goes on for a slice of time; true when the chain has ended.
  bool advance() {
    const auto begin = Clock::now();
    if (progress_.phase == ChainProgress::waiting) start();
    if (progress_.phase == ChainProgress::warming) {
      warm_up();
      record_.warmup_seconds += seconds_since(begin);
    } else {
      sample();
      record_.sampling_seconds += seconds_since(begin);
    }
    const bool ended = stop_ || record_.draws == settings_.draws;
    if (ended) end();
    // A slice is long enough not to be felt and short enough that chains keep abreast.
    const double seconds = seconds_since(begin);
    if (seconds < 0.01) slice_ *= 2;
    if (seconds > 0.04 && slice_ > 1) slice_ /= 2;
    return ended;
  }

 private:
  void start() {
    progress_.phase = ChainProgress::warming;
    if (stop_) return;
    state_ = find_start(settings_, target_, stream_, chain_);
    warmup_.emplace(warmup_settings(), target_);
    warmup_->search_step_size(state_, target_, stream_, workspace_);
  }

  void warm_up() {
    if (!warmup_) return;
    for (std::uint64_t k = 0; k < slice_ && number_ < *settings_.warmup && !stop_; ++k)
      count(warmup_->step(state_, target_, stream_, ++number_, workspace_));
    if (number_ == *settings_.warmup) freeze();
  }

  void freeze() {
    frozen_ = std::move(*warmup_).freeze();
    if (settings_.step_size) {
      frozen_->settings.step_size = *settings_.step_size;
      frozen_->kernel = make_kernel(frozen_->settings);
    }
    warmup_.reset();
    record_.step_size = frozen_->settings.step_size;
    if (hooks_.listener) hooks_.listener->warmed_up(chain_, frozen_->settings.step_size, frozen_->metric);
    parameters_.resize(target_.names().size());
    if (hooks_.keep_draws) {
      // Not all of it if draws are more than will ever come, as with a time limit.
      constexpr std::size_t most = std::size_t{1} << 24;
      const std::size_t draws = std::min(settings_.draws, most / parameters_.size() + 1);
      record_.values.reserve(draws * parameters_.size());
      record_.log_density.reserve(draws);
    }
    progress_.phase = ChainProgress::sampling;
  }

  void sample() {
    for (std::uint64_t k = 0; k < slice_ && record_.draws < settings_.draws && !stop_; ++k) {
      const StepInfo info = step(frozen_->kernel, state_, target_, frozen_->metric, stream_, ++number_,
                                 frozen_->directions, workspace_);
      count(info);
      acceptance_since_draw_ += info.acceptance;
      record_.floored += info.floored ? 1 : 0;
      ++record_.sampling_steps;
      if (++steps_since_draw_ == *settings_.thin) keep_draw();
    }
  }

  void keep_draw() {
    target_.constrain(state_.position, parameters_);
    if (hooks_.keep_draws) {
      record_.values.insert(record_.values.end(), parameters_.begin(), parameters_.end());
      record_.log_density.push_back(state_.value);
    }
    if (hooks_.listener)
      hooks_.listener->drawn(chain_,
                             {state_.value, acceptance_since_draw_ / static_cast<double>(*settings_.thin),
                              frozen_->settings.step_size, parameters_, state_.position});
    total_acceptance_ += acceptance_since_draw_;
    acceptance_since_draw_ = 0;
    steps_since_draw_ = 0;
    ++record_.draws;
  }

  void end() {
    if (warmup_) {  // stopped on the way: what has been learned so far
      const FrozenKernel so_far = warmup_->freeze();
      record_.step_size = so_far.settings.step_size;
      if (hooks_.listener) hooks_.listener->warmed_up(chain_, so_far.settings.step_size, so_far.metric);
    }
    if (hooks_.listener) hooks_.listener->finished(chain_);
    const auto steps = static_cast<double>(record_.draws * *settings_.thin);
    record_.acceptance = steps > 0 ? total_acceptance_ / steps : 0;
    record_.counts = target_.counts();
    progress_.phase = ChainProgress::done;
  }

  WarmUpSettings warmup_settings() const {
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

  void count(const StepInfo& info) {
    progress_.steps.fetch_add(1, std::memory_order_relaxed);
    // One thread at a time writes the sum.
    progress_.acceptance_sum.store(progress_.acceptance_sum.load(std::memory_order_relaxed) + info.acceptance,
                                   std::memory_order_relaxed);
  }

  AnyTarget target_;
  const RunSettings& settings_;
  const Hooks& hooks_;
  std::size_t chain_;
  const std::atomic<bool>& stop_;
  ChainProgress& progress_;
  ChainRecord& record_;
  Stream stream_;
  Workspace workspace_;
  State state_;
  std::optional<WarmUp> warmup_;        // until it is done
  std::optional<FrozenKernel> frozen_;  // from then on
  std::vector<double> parameters_;
  std::uint64_t number_ = 0;  // steps so far
  std::uint64_t slice_ = 1;   // steps to go on for
  std::size_t steps_since_draw_ = 0;
  double acceptance_since_draw_ = 0, total_acceptance_ = 0;
};

Progress report(const std::vector<ChainProgress>& chains, const RunSettings& settings, double seconds) {
  Progress p;
  p.steps_total = settings.chains * (*settings.warmup + settings.draws * *settings.thin);
  double acceptance = 0;
  for (const auto& chain : chains) {
    p.steps_done += chain.steps.load(std::memory_order_relaxed);
    acceptance += chain.acceptance_sum.load(std::memory_order_relaxed);
    const auto phase = chain.phase.load();
    p.chains_warming += phase == ChainProgress::warming ? 1 : 0;
    p.chains_sampling += phase == ChainProgress::sampling ? 1 : 0;
    p.chains_done += phase == ChainProgress::done ? 1 : 0;
  }
  p.seconds = seconds;
  if (p.steps_done > 0) {
    const auto done = static_cast<double>(p.steps_done);
    p.acceptance = acceptance / done;
    p.steps_per_second = seconds > 0 ? done / seconds : 0;
    p.seconds_left = seconds * static_cast<double>(p.steps_total - p.steps_done) / done;
  }
  return p;
}

}  // namespace

void check_target(const RunSettings& settings, const AnyTarget& target) {
  if (find_sampler(settings.sampler).needs_gradient && !target.has_gradient())
    throw UsageError(fmt::format(
        "sampler {} needs a gradient, which this model does not offer; try pc-line-fmala", settings.sampler));
  if (settings.vectors == Vectors::regenerated && !target.has_jet_from())
    throw UsageError(
        "--vectors regenerated needs a model that reads its parameters a stretch at a time, as net does: "
        "leave it out");
}

Run sample(const AnyTarget& target, RunSettings requested, const Hooks& hooks) {
  const auto called = Clock::now();
  Run run;
  run.dimension = target.dimension();
  check_choosable(requested);
  if (requested.sampler == "auto" && !requested.step_size) {
    const RunSettings seeded = with_seed(requested);
    run.choice = choose_sampler(target, seeded, hooks);
    run.settings = resolve(with_choice(seeded, *run.choice), run.dimension);
  } else {
    run.settings = resolve(std::move(requested), run.dimension);
  }
  run.names = target.names();
  check_target(run.settings, target);
  const RunSettings& settings = run.settings;
  const AnyTarget sampled = settings.temperature == 1 ? target : target.tempered(settings.temperature);
  run.chains.resize(settings.chains);

  std::vector<ChainProgress> progress(settings.chains);
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::size_t running = settings.threads;
  std::exception_ptr problem;

  std::deque<ChainRunner> runners;
  std::deque<ChainRunner*> turns;
  for (std::size_t chain = 0; chain < settings.chains; ++chain)
    turns.push_back(
        &runners.emplace_back(sampled, settings, hooks, chain, stop, progress[chain], run.chains[chain]));

  // Each thread takes the chain whose turn it is, for a slice. When there is none left, other threads have
  // them all.
  const auto work = [&] {
    ChainRunner* runner = nullptr;
    while (true) {
      {
        const std::lock_guard lock(mutex);
        if (runner != nullptr) turns.push_back(runner);
        if (turns.empty()) break;
        runner = turns.front();
        turns.pop_front();
      }
      try {
        if (runner->advance()) runner = nullptr;
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!problem) problem = std::current_exception();
        stop = true;
        runner = nullptr;
      }
    }
    const std::lock_guard lock(mutex);
    --running;
    finished.notify_one();
  };

  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  try {
    for (std::size_t t = 0; t < settings.threads; ++t) threads.emplace_back(work);
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
      lock.unlock();
      const double seconds = seconds_since(begin);
      if (hooks.stop && hooks.stop->load()) {
        if (!stop.exchange(true)) run.ending = Ending::interrupted;
      } else if (settings.max_seconds > 0 &&
                 hooks.seconds_used + seconds_since(called) >= settings.max_seconds) {
        if (!stop.exchange(true)) run.ending = Ending::time_limit;
      }
      if (hooks.progress) hooks.progress(report(progress, settings, seconds));
      lock.lock();
    }
  } catch (...) {
    // A thread that could not be started, or hooks.progress: chains must end before the stack does.
    const std::lock_guard lock(mutex);
    if (!problem) problem = std::current_exception();
    stop = true;
  }
  for (auto& thread : threads) thread.join();
  if (problem) std::rethrow_exception(problem);

  const double seconds = seconds_since(begin);
  double warmup = 0, sampling = 0;
  bool complete = true;
  for (const auto& chain : run.chains) {
    warmup += chain.warmup_seconds;
    sampling += chain.sampling_seconds;
    complete = complete && chain.draws == settings.draws;
  }
  if (complete) run.ending = Ending::complete;
  run.warmup_seconds = warmup + sampling > 0 ? seconds * warmup / (warmup + sampling) : 0;
  run.sampling_seconds = seconds - run.warmup_seconds;
  if (hooks.progress) hooks.progress(report(progress, settings, seconds));
  return run;
}

std::size_t Run::draws() const {
  std::size_t least = chains.empty() ? 0 : chains.front().draws;
  for (const auto& chain : chains) least = std::min(least, chain.draws);
  return least;
}

Counts Run::counts() const {
  Counts sum;
  for (const auto& chain : chains) sum += chain.counts;
  return sum;
}

Chains Run::parameter(std::size_t index) const {
  Chains result(chains.size());
  for (std::size_t c = 0; c < chains.size(); ++c) {
    if (chains[c].values.size() < chains[c].draws * names.size())
      throw Error(
          "the draws of this run were not kept in memory (Hooks::keep_draws): take them from the listener");
    result[c].resize(chains[c].draws);
    for (std::size_t d = 0; d < chains[c].draws; ++d)
      result[c][d] = chains[c].values[d * names.size() + index];
  }
  return result;
}

std::vector<ParameterSummary> Run::summary() const {
  std::vector<ParameterSummary> rows;
  rows.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) rows.push_back(summarise(names[i], parameter(i)));
  return rows;
}

double Run::least_ess() const {
  double moves = 0;
  for (const auto& chain : chains) moves += chain.acceptance * static_cast<double>(chain.sampling_steps);
  double least = moves;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double ess = ess_bulk(parameter(i));
    least = std::isnan(ess) ? 0 : std::min(least, ess);
  }
  return least;
}

std::string Run::summary_table() const { return onward::summary_table(summary()); }

double Run::steps_per_second() const {
  std::uint64_t steps = 0;
  for (const auto& chain : chains) steps += chain.sampling_steps;
  return sampling_seconds > 0 ? static_cast<double>(steps) / sampling_seconds : 0;
}

}  // namespace onward
