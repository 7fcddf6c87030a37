#include "onward/glm/run.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <thread>

namespace onward::glm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Steps as whole sweeps, rounded up.
std::size_t sweeps_of(std::size_t steps, std::size_t sweep) { return (steps + sweep - 1) / sweep; }

/// Passes the sampler's draws on to the run's records and listener.
class Recorder {
 public:
  Recorder(Run& run, const Hooks& hooks) : run_(run), hooks_(hooks), warm_(run.chains.size(), 0) {}

  void warmed_up(std::size_t chain) {
    warm_[chain] = 1;
    if (hooks_.listener) hooks_.listener->warmed_up(chain, step_size, Metric());
  }

  void drawn(const AxisDraw& draw) {
    ChainRecord& record = run_.chains[draw.chain];
    ++record.draws;
    record.sampling_steps += *run_.settings.thin;
    acceptance_sum(record) += draw.acceptance;
    if (hooks_.keep_draws) {
      record.values.insert(record.values.end(), draw.parameters.begin(), draw.parameters.end());
      record.log_density.push_back(draw.log_density);
    }
    if (hooks_.listener)
      hooks_.listener->drawn(draw.chain, {draw.log_density, draw.acceptance, step_size, draw.parameters, {}});
  }

  void finish(const AxisReport& report) {
    for (std::size_t c = 0; c < run_.chains.size(); ++c) {
      ChainRecord& record = run_.chains[c];
      if (!warm_[c]) warmed_up(c);
      if (record.draws > 0) record.acceptance /= static_cast<double>(record.draws);
      record.step_size = step_size;
      record.warmup_seconds = report.chains[c].warmup_seconds;
      record.counts.curvatures = report.chains[c].updates;
      record.counts.nonfinite = report.chains[c].nonfinite;
      record.floored = report.chains[c].floored;
      if (hooks_.listener) hooks_.listener->finished(c);
    }
  }

 private:
  static constexpr double step_size = 1;  // there is none: the curvature decides
  static double& acceptance_sum(ChainRecord& record) { return record.acceptance; }

  Run& run_;
  const Hooks& hooks_;
  std::vector<char> warm_;  // one a chain, each written by its own thread
};

Progress how_far(const AxisProgress& done, const RunSettings& s, std::size_t sweep, double seconds) {
  Progress p;
  p.steps_total = s.chains * (*s.warmup + s.draws * *s.thin);
  p.steps_done = done.sweeps * sweep;
  (p.steps_done < s.chains * *s.warmup ? p.chains_warming : p.chains_sampling) = s.chains;
  p.seconds = seconds;
  if (p.steps_done == 0) return p;
  p.acceptance = static_cast<double>(done.accepted) / static_cast<double>(done.updates);
  p.steps_per_second = static_cast<double>(p.steps_done) / seconds;
  p.seconds_left = static_cast<double>(p.steps_total - p.steps_done) / p.steps_per_second;
  return p;
}

}  // namespace

RunSettings resolve_axes(RunSettings s, const Posterior& posterior) {
  const std::size_t sweep = posterior.dimension();
  const AxisSettings defaults;
  s.sampler = "newton-line";
  s.directions = "axes";
  s.metric = MetricKind::none;
  s.curvature_floor = defaults.curvature_floor;
  s.thin = sweep * std::max<std::size_t>(1, sweeps_of(s.thin.value_or(sweep), sweep));
  s.warmup = sweep * sweeps_of(s.warmup.value_or(defaults.warmup * sweep), sweep);
  const std::size_t threads = s.threads;
  s = resolve(std::move(s), sweep);
  s.start = {.kind = Start::Kind::given, .word = "near the mode"};
  // Threads without a chain of their own help with the rows.
  s.threads = threads > 0 ? threads : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return s;
}

AxisRun sample_axes(Posterior posterior, const RunSettings& resolved, const Hooks& hooks,
                    const std::function<void(const std::vector<std::string>&)>& notes) {
  const std::size_t sweep = posterior.dimension();
  AxisRun result;
  Run& run = result.run;
  run.settings = resolved;
  run.dimension = sweep;
  run.names = posterior.names();
  run.chains.resize(resolved.chains);
  const AxisSettings settings{.chains = resolved.chains,
                              .warmup = *resolved.warmup / sweep,
                              .draws = resolved.draws,
                              .thin = *resolved.thin / sweep,
                              .seed = *resolved.seed,
                              .threads = resolved.threads,
                              .relaxation = resolved.relaxation,
                              .curvature_floor = resolved.curvature_floor};

  std::atomic<bool> stop{false};
  AxisProgress progress;
  Recorder recorder(run, hooks);
  // The sampler works in a thread of its own, so that this one can show progress and notice signals.
  auto finished = std::async(std::launch::async, [&] {
    AxisSampler sampler(std::move(posterior), settings, &stop);
    if (notes) notes(sampler.warnings());
    const AxisReport report = sampler.run({.drawn = [&](const AxisDraw& draw) { recorder.drawn(draw); },
                                           .warmed_up = [&](std::size_t c) { recorder.warmed_up(c); },
                                           .stop = &stop,
                                           .progress = &progress});
    recorder.finish(report);
    return report;
  });
  const auto begin = Clock::now();
  try {
    while (finished.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      const double seconds = seconds_since(begin);
      if (hooks.stop && hooks.stop->load()) {
        if (!stop.exchange(true)) run.ending = Ending::interrupted;
      } else if (resolved.max_seconds > 0 && seconds >= resolved.max_seconds) {
        if (!stop.exchange(true)) run.ending = Ending::time_limit;
      }
      if (hooks.progress) hooks.progress(how_far(progress, resolved, sweep, seconds));
    }
  } catch (...) {
    stop = true;  // the sampler's thread must end before its surroundings do
    throw;
  }
  const AxisReport report = finished.get();
  result.set_up_seconds = report.set_up_seconds;
  result.largest_drift = report.largest_drift;
  // Threads share the time; what of it was warm-up is known from the chains.
  const double threads = static_cast<double>(std::min(resolved.threads, resolved.chains));
  const double warmup = std::min(report.seconds, report.warmup_seconds / threads);
  run.warmup_seconds = report.set_up_seconds + warmup;
  run.sampling_seconds = report.seconds - warmup;
  const bool cut_short = std::any_of(run.chains.begin(), run.chains.end(), [&](const ChainRecord& record) {
    return record.draws < resolved.draws;
  });
  if (!cut_short) run.ending = Ending::complete;
  return result;
}

}  // namespace onward::glm
