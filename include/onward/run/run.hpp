#pragma once
// A run: chains over threads, from settings to draws. It knows kernels and targets, never a model's insides
// or a file: draws go to whoever listens.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "onward/diagnostics/convergence.hpp"
#include "onward/run/choice.hpp"
#include "onward/run/settings.hpp"
#include "onward/target/target.hpp"

namespace onward {

/// One kept state of one chain.
struct Draw {
  double log_density;  ///< of what is sampled: tempered, and in the space that is sampled
  double acceptance;   ///< mean over the steps since the last draw
  double step_size;
  std::span<const double> parameters;  ///< as the target's names() has them
  std::span<const double> position{};  ///< in the space that is sampled; empty where there is none such
};

/// Whoever wants to have draws as they come (a file writer, say). Functions are called from the chain's
/// thread, each chain from one thread at a time, chains at the same time. A chain whose turn has not come
/// when the run is stopped is finished without having warmed up.
class DrawListener {
 public:
  virtual ~DrawListener() = default;
  virtual void warmed_up(std::size_t chain, double step_size, const Metric& metric) = 0;
  virtual void drawn(std::size_t chain, const Draw& draw) = 0;
  virtual void finished(std::size_t chain) = 0;
};

/// How far the run is.
struct Progress {
  std::uint64_t steps_done = 0, steps_total = 0;
  std::size_t chains_warming = 0, chains_sampling = 0, chains_done = 0;
  double acceptance = 0;  ///< mean over all steps so far
  double seconds = 0, seconds_left = 0, steps_per_second = 0;
};

struct Hooks {
  DrawListener* listener = nullptr;
  std::function<void(const Progress&)> progress;  ///< called from the calling thread a few times a second
  const std::atomic<bool>* stop =
      nullptr;              ///< set it (from a signal handler, say) and chains end at the next step
  bool keep_draws = true;   ///< in the Run's memory
  double seconds_used = 0;  ///< of max_seconds, before this: by pilots, say
};

/// What one chain gave.
struct ChainRecord {
  std::vector<double> values;       ///< draws x parameters, one draw after the other
  std::vector<double> log_density;  ///< one a draw
  std::size_t draws = 0;
  std::uint64_t sampling_steps = 0;
  double step_size = 0;
  double acceptance = 0;      ///< mean acceptance probability while sampling
  Counts counts;              ///< warm-up included
  std::uint64_t floored = 0;  ///< sampling steps in which the curvature floor acted
  double warmup_seconds = 0, sampling_seconds = 0;
};

enum class Ending { complete, interrupted, time_limit };

/// Chains x draws with what is needed to repeat them.
struct Run {
  RunSettings settings;          ///< resolved
  std::optional<Choice> choice;  ///< how the sampler was chosen, if it was
  std::size_t dimension = 0;
  std::vector<std::string> names;
  std::vector<ChainRecord> chains;
  Ending ending = Ending::complete;
  double warmup_seconds = 0,
         sampling_seconds = 0;  ///< of the wall clock, shared out by what the chains' threads did

  std::size_t draws() const;  ///< of the shortest chain
  Counts counts() const;
  Chains parameter(std::size_t index) const;
  std::vector<ParameterSummary> summary() const;
  /// The least bulk ESS over the parameters, but no more than moves were made: draws of a chain that stands
  /// still would count as independent ones.
  double least_ess() const;
  std::string summary_table() const;
  double steps_per_second() const;
};

/// Samples the target. Throws UsageError for settings that make no sense, Error if no chain can start.
/// If a listener throws, chains stop and the exception is passed on.
Run sample(const AnyTarget& target, RunSettings settings = {}, const Hooks& hooks = {});

/// Throws UsageError if the target lacks what these settings need of it. sample() begins with it.
void check_target(const RunSettings& settings, const AnyTarget& target);

}  // namespace onward
