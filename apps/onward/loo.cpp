// `onward loo`: how well the models of runs on file would predict what they have not seen.

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "loo_report.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/record/stored_likelihood.hpp"
#include "progress_bar.hpp"
#include "regression_run.hpp"
#include "run_notes.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;

struct Settings {
  std::vector<std::string> folders;
  std::string pointwise;
  std::uint64_t threads = 0;
  bool waic = false, json = false, force = false, quiet = false;
};

/// What the first run was of: the others must have the same observations.
struct SameData {
  std::string folder;
  std::size_t observations = 0;
  std::optional<std::uint64_t> observed;

  void require(const std::string& other, const StoredLikelihood& stored) const {
    if (stored.log_likelihood.observations != observations)
      throw Error(
          fmt::format("the run in {} has {} observations and that in {} has {}: only models of the same "
                      "data can be compared",
                      folder, observations, other, stored.log_likelihood.observations));
    if (observed && stored.observed && *observed != *stored.observed)
      throw Error(
          fmt::format("the runs in {} and {} are of different outcomes, trials or weights: only models of "
                      "the same data can be compared",
                      folder, other));
  }
};

StoredLikelihood read_run(const std::string& folder, bool quiet, const CLI::App& sampling) {
  ProgressBar bar(quiet);
  return in_words_of(sampling, [&] {
    return read_stored_likelihood(
        folder, [&](std::size_t done, std::size_t all) { bar.show_pieces(done, all, "reading: ", "files"); });
  });
}

/// The result, or nothing if it was interrupted.
std::optional<Judged> judge_run(const std::string& folder, const StoredLikelihood& stored, const Settings& s,
                                const std::atomic<bool>& stop) {
  ProgressBar bar(s.quiet);
  const std::string before = s.folders.size() > 1 ? folder + ": " : "";
  const std::size_t observations = stored.log_likelihood.observations;
  const LooOptions options{.threads = s.threads, .stop = &stop, .progress = [&](double done) {
                             bar.show_pieces(static_cast<std::size_t>(done), observations, before,
                                             "observations");
                           }};
  const auto judged = [&](auto result) -> std::optional<Judged> {
    if (!result) return std::nullopt;
    return Judged{folder, stored.kind, std::move(*result), stored.rows};
  };
  return s.waic ? judged(waic(stored.log_likelihood, options)) : judged(loo(stored.log_likelihood, options));
}

int run_loo(const Settings& s, const CLI::App& sampling) {
  if (!s.pointwise.empty() && !s.force && fs::exists(s.pointwise))
    throw Error(fmt::format("{} exists already: choose another --pointwise, or replace it with --force",
                            s.pointwise));
  const std::atomic<bool>& stop = stop_when_told();
  std::vector<Judged> runs;
  std::optional<SameData> first;
  for (const std::string& folder : s.folders) {
    const StoredLikelihood stored = read_run(folder, s.quiet, sampling);
    if (!s.quiet) print_doubts(folder, stored.files);
    const std::size_t observations = stored.log_likelihood.observations;
    if (!s.quiet && observations < stored.rows_of_data)
      say("note: {} of the {} rows of the run in {} have weight 0 or no trials, and are no observations\n",
          stored.rows_of_data - observations, stored.rows_of_data, folder);
    if (first)
      first->require(folder, stored);
    else
      first = {folder, stored.log_likelihood.observations, stored.observed};
    auto judged = judge_run(folder, stored, s, stop);
    if (!judged) {
      if (!s.quiet) say("interrupted: there is no result, and nothing was written\n");
      return interrupted;
    }
    runs.push_back(std::move(*judged));
  }
  std::vector<std::vector<double>> elpds;
  for (const Judged& run : runs) elpds.push_back(run.elpds());
  const auto order = compare_models(elpds);
  if (!s.pointwise.empty()) write_file_atomically(s.pointwise, pointwise_csv(runs));
  if (s.json)
    fmt::print("{}\n", json_text(report_json(runs, order)));
  else
    fmt::print("{}",
               printable(runs.size() == 1 ? report(runs.front()) : comparison_report(runs, order), true));
  return done;
}

}  // namespace

void add_loo(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand(
      "loo", "how well models predict what they have not seen: cross-validation, and comparison of runs");
  command->add_option("DIR", s->folders, "folders of runs of regressions; several are compared")->required();
  command->add_flag("--waic", s->waic, "WAIC in place of leave-one-out cross-validation");
  command->add_option("--pointwise", s->pointwise, "write a CSV file with a line for each observation")
      ->type_name("FILE");
  command->add_flag("--force", s->force, "replace that file");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no notes, warnings or progress");
  command->callback(
      [s, &app, &action] { action = [s, &app] { return run_loo(*s, *app.get_subcommand("glm")); }; });
}

}  // namespace onward::app
