#pragma once
// A run as one HTML page that needs no network: what was run, whether its draws can be trusted, the table,
// and pictures of what was drawn. Two runs of one model are compared.
//
//     auto run = onward::sample(target, {.seed = 1});
//     onward::report::write("report.html", {onward::report::input_of(run, "my model")});
//
// A page is made from an Input, which is plain data: it is filled from a run in memory (input_of), from a
// folder (read.hpp), or by hand.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/diagnostics/convergence.hpp"
#include "onward/diagnostics/loo.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/glm/check.hpp"
#include "onward/glm/effects.hpp"
#include "onward/model/model.hpp"
#include "onward/run/run.hpp"

namespace onward::report {

/// What a regression has besides its draws. What could not be made has a sentence in `left_out` instead.
struct Regression {
  std::string response;
  std::vector<glm::Effect> effects = {};
  double interval = 0.9;  ///< of the effects
  std::optional<glm::PredictiveCheck> check = {};
  std::optional<Loo> loo = {};
  std::vector<std::size_t> loo_rows = {};  ///< of the table, from 0, that its observations are; empty: all
  std::vector<std::string> left_out = {};
};

/// One run. What is empty is left out of the page.
struct Input {
  std::string name;                     ///< what the page calls it: a folder, say
  nlohmann::ordered_json run = {};      ///< as run.json has it
  nlohmann::ordered_json summary = {};  ///< as summary.json has it
  std::string unfinished = {};          ///< "is still going on", say, of a run that is not complete
  std::vector<std::string> names = {};  ///< of the parameters
  std::size_t chains = 0;               ///< that have draws
  std::size_t draws = 0;                ///< of the shortest of them
  std::function<Chains(std::size_t)> column = {};    ///< the draws of one parameter; several threads call it
  Chains log_density = {};                           ///< of each draw of each chain
  Chains acceptance = {};                            ///< since the draw before
  std::vector<ChainTrajectories> trajectories = {};  ///< of each chain, if it followed them
  Chains diverging = {};                             ///< 1 for each draw whose trajectory lost its energy
  Chains energy = {};                                ///< of each draw, with its momentum
  std::vector<WarmUpRecord> warmup = {};             ///< of each chain
  std::vector<ParameterSummary> parameters = {};     ///< of all names, or none: they are computed
  std::optional<std::size_t> shown =
      {};  ///< the first so many names are what the run is about; the rest are effects of groups
  bool dense_metric_may_help = false;   ///< it was not used, and could have been
  std::vector<std::string> notes = {};  ///< what to know of the run or its files, in sentences
  std::optional<Regression> regression = {};
  std::optional<PredictedRows> predictions = {};  ///< of a network
};

struct Options {
  SettingWords words = {};  ///< what settings are called in advice
  std::size_t threads = 0;  ///< 0: as many as there are cores
  /// Of more parameters than this, those without it are in the table and have no pictures of their own.
  std::size_t pictured = 300;
  /// Hears, on the calling thread, how many of all parameters are done.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

/// How far a run can be trusted.
struct Verdict {
  enum class Level { good, doubtful, bad };
  Level level = Level::good;
  std::string headline;                   ///< in a sentence
  std::vector<std::string> reasons = {};  ///< with what to do about each
};
Verdict verdict(const Input& input, const SettingWords& words = {});

/// From a run in memory, which must outlive what is returned. `model` is what it is called.
Input input_of(const Run& run, const std::string& model);

/// The page. Throws UsageError without runs or with more than two, Error if a run has no draws, or if two
/// runs are of different models.
std::string page(const std::vector<Input>& runs, const Options& options = {});

/// Writes it, as a whole or not at all.
void write(const std::filesystem::path& file, const std::vector<Input>& runs, const Options& options = {});

/// What the page lacks because of how the library was built, in a sentence; empty if it lacks nothing.
std::string missing();

}  // namespace onward::report
