// `onward summary`: the table again, from files of ours, of CmdStan's or of ArviZ's.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/io/run_json.hpp"
#include "onward/io/run_status.hpp"
#include "onward/io/stored_draws.hpp"
#include "onward/sampler/samplers.hpp"
#include "progress_bar.hpp"
#include "run_notes.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;

struct Settings {
  std::vector<std::string> paths;
  bool json = false, all_parameters = false, quiet = false;
};

/// A run.json that cannot be read is no reason to keep back draws that can.
std::optional<RunStatus> status_of(const fs::path& folder, bool quiet) {
  try {
    return read_run_status(folder);
  } catch (const Error& problem) {
    if (!quiet) say("note: {}\n", problem.what());
    return std::nullopt;
  }
}

/// What the table and its warnings are made from.
struct Summarised {
  std::string model;
  std::size_t chains = 0, draws = 0;
  std::vector<ParameterSummary> parameters;
  std::vector<ChainTrajectories> trajectories = {};
  bool dense_metric_may_help = true;
};

/// Whether the run's sampler could have another metric: samplers of models' own have none. Files that other
/// programs made have samplers that we do not know.
bool may_have_metric(const StoredDraws& stored) {
  auto name = stored.setting("algorithm");      // in CSV files, as CmdStan calls it
  if (!name) name = stored.setting("sampler");  // in netCDF files
  const auto known = std::ranges::find(all_samplers(), name, &SamplerInfo::name);
  return known == all_samplers().end() || known->kernel;
}

/// On all cores, with a bar once it takes its time.
std::vector<ParameterSummary> summarise_all(const std::vector<std::string>& names,
                                            const std::function<Chains(std::size_t)>& chains_of, bool quiet) {
  ProgressBar bar(quiet);
  return onward::summarise_all(names, chains_of, 0, [&](std::size_t done) {
    bar.show_pieces(done, names.size(), "computing the summary: ", "parameters");
  });
}

Summarised read_files(const Settings& s) {
  std::vector<fs::path> files;
  for (const auto& path : s.paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (auto& file : files_of_draws(path)) files.push_back(std::move(file));
  }
  ProgressBar bar(s.quiet);
  const StoredDraws stored = read_stored_draws(
      files, [&](std::size_t done) { bar.show_pieces(done, files.size(), "reading: ", "files"); });
  bar.clear();
  if (!s.quiet) print_notes_of_files(stored);
  Summarised result{stored.setting("model").value_or(""), stored.chains, stored.draws, {}};
  result.parameters = summarise_all(stored.names, stored.column, s.quiet);
  result.trajectories = trajectories_in(stored);
  result.dense_metric_may_help = stored.setting("metric") != "dense" && may_have_metric(stored);
  return result;
}

int summarise_files(const Settings& s) {
  std::optional<RunStatus> status;  // of the first folder whose run is not complete
  for (const auto& path : s.paths)
    if (fs::is_directory(path) && (!status || status->complete())) status = status_of(path, s.quiet);
  const Summarised run = read_files(s);
  if (!s.quiet && status) print_status(*status, run.draws);
  if (s.json) {
    const WorstCase worst = worst_case(run.parameters);
    nlohmann::ordered_json out{
        {"model", run.model},     {"chains", run.chains},           {"draws", run.draws},
        {"max_rhat", worst.rhat}, {"min_ess_bulk", worst.ess_bulk}, {"min_ess_tail", worst.ess_tail}};
    if (!run.trajectories.empty()) out["trajectories"] = trajectories_json(run.trajectories);
    if (status) out["status"] = status->word;
    if (s.all_parameters || run.parameters.size() <= 1000) out["parameters"] = summary_json(run.parameters);
    fmt::print("{}\n", json_text(out));
  } else {
    fmt::print("{}", table_for_stdout(run.parameters, s.all_parameters));
  }
  if (s.quiet) return done;
  for (const auto& warning :
       warnings(run.parameters, run.chains, run.draws, run.dense_metric_may_help, option_words))
    say("warning: {}\n", warning);
  for (const auto& warning : trajectory_warnings(run.trajectories, option_words))
    say("warning: {}\n", warning);
  return done;
}

}  // namespace

void add_summary(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand("summary", "the summary table from files");
  command
      ->add_option(
          "DIR|FILE", s->paths,
          "a run's folder, CSV files of its chains (also CmdStan's), or a netCDF file (also ArviZ's)")
      ->required();
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--all-parameters", s->all_parameters, "report every parameter, however many there are");
  command->add_flag("--quiet", s->quiet, "no notes or warnings");
  command->callback([s, &action] { action = [s] { return summarise_files(*s); }; });
}

}  // namespace onward::app
