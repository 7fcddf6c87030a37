#pragma once
// What `onward sample` was told.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "model_options.hpp"
#include "onward/record/recording.hpp"
#include "onward/run/settings.hpp"
#include "onward/run/tune.hpp"

namespace onward::app {

struct SampleSettings {
  ModelWords words;
  ModelSpec spec;  ///< that the words are
  /// The fields of the run that were typed, by name, as they were typed.
  std::map<std::string, std::string> run_words;
  std::function<void(const std::string& sampler)> note_idle_options;
  std::function<void()> check_model;                          ///< refuses options that do not go together
  std::function<std::string(const std::string&)> in_options;  ///< a message with `fields` as they are typed
  RunSettings run;
  std::string init;  ///< empty: where the model begins by itself
  std::optional<std::string> out, tune;
  std::string from;  ///< the folder of an earlier run
  TuneSettings tuning;
  std::string format = "csv", keep = "draws";
  double checkpoint_seconds = 30;
  std::optional<std::uint64_t> max_draws;
  bool force = false, resume = false, json = false, quiet = false, all_parameters = false;
  bool single_precision = false, unconstrained = false, log_likelihood = false, no_data = false;

  Recording recording() const;  ///< what is to be written, and where
};

/// Adds the model and all options to a command, and gives where they go.
/// `kind`: the only model it is for; empty: any.
std::shared_ptr<SampleSettings> add_sample_options(CLI::App* command, const std::string& kind = "");

/// Turns words into settings; throws UsageError for those that are not known.
void read_words(SampleSettings& settings);

/// Carries it out; the exit code.
int sample_model(SampleSettings& settings);

}  // namespace onward::app
