#pragma once
// A run with its files: one folder that has the draws, run.json, a checkpoint to go on from and the results.
//
//     auto model = onward::build({"glm", {{"x", "x.npy"}, {"y", "y.npy"}, {"family", "poisson"}}});
//     auto recorded = onward::record(std::move(model), {.seed = 1}, {.folder = "out", .format = "netcdf"});
//
// The program does the same in steps, by a Recorder, since it has things to show in between.

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/diagnostics/convergence.hpp"
#include "onward/io/netcdf_sink.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/model/model.hpp"
#include "onward/run/moments.hpp"
#include "onward/run/run.hpp"

namespace onward {

/// What is written of a run, and where.
struct Recording {
  enum class Into {
    fresh,     ///< a folder that is not there yet, or empty
    numbered,  ///< the first free of NAME, NAME-2, NAME-3, ...
    replaced,  ///< in place of the run that is there, if there is one
    resumed,   ///< the run that is there goes on
  };
  std::filesystem::path folder = {};  ///< empty: nothing is written
  Into into = Into::fresh;
  std::string format = "csv";      ///< of draws: csv, netcdf, npy, or several with commas
  std::string keep = "draws";      ///< or predictions, moments, trace
  bool single_precision = false;   ///< netcdf: draws as floats
  bool unconstrained = false;      ///< netcdf: also the draws in the space that is sampled
  bool log_likelihood = false;     ///< netcdf: also the log likelihood of each observation at each draw
  bool no_data = false;            ///< netcdf: without the data that the model was given
  double checkpoint_seconds = 30;  ///< 0: after warm-up and at the end alone
  bool summarise = true;  ///< false: the summary has no parameters, which take time if draws are many

  bool has_format(const std::string& word) const;
  /// As run.json keeps it: how draws are kept, which a resumed run must not change.
  nlohmann::ordered_json to_json() const;
  /// Throws UsageError for words that are not known, for this kind of model, and for choices that do not go
  /// together.
  void check(const std::string& kind) const;
};

/// Draws that came to a summary: chains without any are left out of it.
struct SampledDraws {
  std::size_t chains = 0, draws = 0;
  std::vector<ParameterSummary> parameters = {};
};
/// `done` hears how many parameters are done: millions of draws take minutes.
SampledDraws summarise_draws(const Run& run, const std::function<void(std::size_t done)>& done = {});

/// The parts of a run that is recorded, in their order: made before the model's chains are, begin(), run(),
/// close(), finish().
class Recorder {
 public:
  /// Takes from the model what is there only until its chains are made. Throws UsageError if the model lacks
  /// what is to be recorded.
  Recorder(const Model& model, Recording recording);

  /// Makes or opens the folder. For a run that goes on it finds the checkpoint, and throws Error if the
  /// model, the settings, the data or what is kept of draws are not what they were. `found`: how settings
  /// were found, such as {"choice": ...}, for run.json and summary.json.
  void begin(const RunSettings& resolved, std::size_t dimension, nlohmann::ordered_json found = {});
  /// Whether a run that was to go on had ended before its first checkpoint, and so begins anew.
  bool begins_again() const { return begins_again_; }
  /// Whether a run that goes on had all its draws already.
  bool had_all(const Run& run) const;

  /// Runs the chains. The hooks are the caller's; sinks, checkpoints and what to go on from are added. If it
  /// throws, run.json says that the run failed.
  Run run(ChainMaker& maker, Hooks hooks);

  /// Everything is drawn: makes draws.nc, and run.json says how the run ended.
  void close(const Run& run);
  /// Writes what the draws come to, and gives what summary.json has; of more parameters than `most` it has
  /// none.
  nlohmann::ordered_json finish(const Run& run, const SampledDraws& sampled, std::size_t most = 1000);

  /// Writes something to the folder, if there is one. An Error is kept for later, so that what was sampled
  /// can be shown all the same.
  void keep(const std::function<void(const RunFolder& folder)>& write);
  /// Throws the first Error that was kept.
  void rethrow() const;

  const RunFolder* folder() const { return folder_ ? &*folder_ : nullptr; }
  const ModelSink* predictions() const { return own_; }  ///< what the model has to say of the draws, or null
  const MomentsSink* moments() const { return moments_; }

 private:
  template <class S, class... Arguments>
  S* add(Arguments&&... arguments);
  void make_sinks();
  void write_run_json(const std::string& status);
  nlohmann::ordered_json about() const;

  Recording recording_;
  std::string kind_;
  nlohmann::ordered_json model_;
  std::vector<std::string> names_;
  std::vector<std::size_t> name_indices_;
  std::optional<std::size_t> shown_;
  NetcdfContents netcdf_contents_;
  std::function<std::unique_ptr<ModelSink>(std::size_t, const RunFolder*)> make_own_;

  RunSettings settings_;
  std::size_t dimension_ = 0;
  nlohmann::ordered_json run_json_, found_;
  std::optional<RunFolder> folder_;
  std::optional<Resume> resume_;
  bool begins_again_ = false;

  std::vector<std::unique_ptr<Sink>> sinks_;
  ModelSink* own_ = nullptr;
  MomentsSink* moments_ = nullptr;
  NetcdfSink* netcdf_ = nullptr;
  std::exception_ptr trouble_;
};

struct Recorded {
  Run run;
  nlohmann::ordered_json summary;  ///< what summary.json has
  std::filesystem::path folder;
};
/// Samples a model, as sample() does, and records it. A run that goes on is to be given the settings that it
/// began with, seed included. Throws as sample(), and Error if files cannot be written.
Recorded record(Model model, RunSettings settings, const Recording& recording, const Hooks& hooks = {});

/// Writes a run that was sampled in memory to a folder of its own: draws in CSV files, run.json and
/// summary.json. There is no checkpoint, so that it cannot be resumed. `model` is what it is called there.
/// Throws Error if the folder has files, unless they are to be replaced, or if the run has kept no draws.
void save(const Run& run, const std::filesystem::path& folder, const std::string& model = "model",
          bool replace = false);
/// With what the model is, as Model::to_json() has it, so that it can be built again.
void save_with_model(const Run& run, const std::filesystem::path& folder, const nlohmann::ordered_json& model,
                     bool replace);

}  // namespace onward
