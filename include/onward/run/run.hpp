#pragma once
// A run: chains over threads, from settings to draws. It knows chains, never a model's insides or a file:
// draws go to sinks. There is one loop for chains of every kind; bits depend on neither threads nor slices,
// nor on whether the run was cut and resumed.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "onward/diagnostics/convergence.hpp"
#include "onward/diagnostics/trajectories.hpp"
#include "onward/run/chain.hpp"
#include "onward/run/checkpoint.hpp"
#include "onward/run/choice.hpp"
#include "onward/run/settings.hpp"
#include "onward/run/sink.hpp"
#include "onward/target/target.hpp"

namespace onward {

/// How far the run is.
struct Progress {
  std::uint64_t steps_done = 0, steps_total = 0;
  /// Of the way, from 0 to 1, and never less than before. A run that goes on until it is good enough keeps a
  /// tenth for what comes after it was first judged, half of that for what comes after the second time, ...
  double share = 0;
  std::size_t chains_warming = 0, chains_sampling = 0, chains_done = 0;
  double acceptance = 0;  ///< mean over all steps so far
  double seconds = 0, seconds_left = 0, steps_per_second = 0;
};

/// What the trajectories of a chain did while it was sampled; all zero for chains that follow none.
struct TrajectoryRecord {
  std::uint64_t draws = 0;
  std::uint64_t divergent = 0;  ///< draws whose trajectory lost its energy
  std::uint64_t deepest = 0;    ///< draws whose trajectory was as long as is allowed
  std::uint64_t leapfrogs = 0;
  void add(const TrajectoryInfo& draw, std::uint32_t max_depth);
  /// How much the energy changes from draw to draw, beside how much it varies over all (the energy's Bayesian
  /// fraction of missing information). Below 0.3 momenta drawn anew do not reach the tails.
  double energy_fraction() const;
  ChainTrajectories counted() const;
  void transfer(Archive& archive);

 private:
  double last_ = 0, mean_ = 0, squares_ = 0, changes_ = 0;  // of the energy
};

/// What one chain gave.
struct ChainRecord {
  std::vector<double> values;       ///< draws x parameters, one draw after the other
  std::vector<double> log_density;  ///< one a draw
  /// What led to each draw, of chains that follow trajectories.
  std::vector<TrajectoryInfo> followed = {};
  std::size_t draws = 0;
  std::uint64_t sampling_steps = 0;
  double step_size = 0;
  double acceptance = 0;      ///< mean acceptance probability while sampling
  Counts counts;              ///< warm-up included
  std::uint64_t floored = 0;  ///< sampling steps in which the curvature floor acted
  double largest_drift = 0;   ///< of what the chain carries from place to place
  double warmup_seconds = 0, sampling_seconds = 0;
  WarmUpRecord warmup = {};
  TrajectoryRecord trajectories = {};
  std::uint64_t warmup_steps = 0;  ///< fewer than the settings have if a time limit left no room for them
  bool joined = false;             ///< lagged behind in warm-up, and went on from where another chain was
};

/// Where a run goes on.
struct Resume {
  Checkpoint checkpoint;
  /// The draws up to there, of each chain, for those who keep draws in memory.
  std::vector<ChainRecord> chains = {};
};

struct Hooks {
  std::vector<Sink*> sinks = {};
  std::function<void(const Progress&)> progress =
      {};  ///< called from the calling thread a few times a second
  /// Set it (from a signal handler, say) and chains end at the next step.
  const std::atomic<bool>* stop = nullptr;
  bool keep_draws = true;  ///< in the Run's memory
  /// Draws in the Run's memory are rounded to floats. For a run that would have to read them back from a file
  /// of floats when it is resumed: it comes to the same summary then, whether it was cut or not.
  bool keep_floats = false;
  double seconds_used = 0;  ///< of max_seconds, before this: by pilots, say
  /// What the data call for, before anything is drawn.
  std::function<void(const std::vector<std::string>&)> notes = {};
  /// Is given a checkpoint after warm-up, every so many seconds and at the end, from the calling thread.
  std::function<void(const Checkpoint&)> checkpoint = {};
  double checkpoint_seconds = 30;
  const Resume* resume = nullptr;
};

enum class Ending { complete, interrupted, time_limit };

/// Chains x draws with what is needed to repeat them.
struct Run {
  /// Resolved: seed, thin, warmup, metric and target_acceptance have values. Only step_size stays empty when
  /// warm-up found it (ChainRecord::step_size has what it found), and until_ess when it was not asked for.
  RunSettings settings;
  std::optional<Choice> choice;  ///< how the sampler was chosen, if it was
  std::size_t dimension = 0;
  std::vector<std::string> names;
  std::vector<ChainRecord> chains;
  Ending ending = Ending::complete;
  double warmup_seconds = 0,
         sampling_seconds = 0;  ///< of the wall clock, shared out by what the chains' threads did

  std::uint64_t seed() const { return settings.seed; }
  std::size_t thin() const { return settings.thin; }      ///< steps from draw to draw
  std::size_t warmup() const { return settings.warmup; }  ///< steps
  std::size_t draws() const;                              ///< of the shortest chain
  Counts counts() const;
  Chains parameter(std::size_t index) const;
  /// A row for each parameter, over the chains that have draws.
  std::vector<ParameterSummary> summary() const;
  /// The least bulk ESS over the parameters, but no more than moves were made: draws of a chain that stands
  /// still would count as independent ones.
  double least_ess() const;
  std::string summary_table() const;  ///< the figures alone; report() says what to think of them
  /// What not to trust, one sentence for each problem: chains that have not mixed, too few effective draws,
  /// draws that are all equal or not finite. Empty if there is nothing to warn of.
  std::vector<std::string> warnings() const;
  /// What else is worth knowing: evaluations that were not finite, chains that were cut short.
  std::vector<std::string> notes() const;
  /// All that a person should see of a run: the table, then notes and warnings, a line each.
  std::string report() const;
  double steps_per_second() const;
  /// Of each chain that has draws; empty of a sampler that follows no trajectories.
  std::vector<ChainTrajectories> trajectories() const;
  /// Writes the run to a folder of its own, as the program does: draws in CSV files, run.json, summary.json
  /// and warmup.csv; save() in record/recording.hpp says more of it. `model` is what it is called there.
  void save(const std::filesystem::path& folder, const std::string& model = "model",
            bool replace = false) const;
};

/// Samples the target. Throws UsageError for settings that make no sense, Error if no chain can start.
/// If a sink or a model throws, chains stop and the exception is passed on.
Run sample(const AnyTarget& target, RunSettings settings = {}, const Hooks& hooks = {});

/// Runs chains of any kind, by settings that their maker has resolved.
Run run_chains(ChainMaker& maker, const RunSettings& resolved, const Hooks& hooks = {});

/// Throws UsageError unless chains with these settings go along lines one move at a time, so that a trace can
/// be kept of them (io/trace.hpp).
void check_traceable(const RunSettings& resolved);

/// Throws UsageError if the target lacks what these settings need of it.
void check_target(const RunSettings& settings, const AnyTarget& target);

}  // namespace onward
