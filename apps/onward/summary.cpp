// `onward summary`: the table again, from files of ours or of CmdStan's.

#include <algorithm>
#include <filesystem>
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
#include "onward/io/stan_csv.hpp"

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

int summarise_files(const Settings& s) {
  std::vector<fs::path> files;
  std::optional<RunStatus> status;  // of the first folder whose run is not complete
  for (const auto& path : s.paths) {
    if (fs::is_directory(path)) {
      if (!status || status->complete()) status = status_of(path, s.quiet);
      for (auto& file : find_chains(path)) files.push_back(std::move(file));
    } else {
      files.emplace_back(path);
    }
  }

  std::vector<StanCsv> chains;
  for (const auto& file : files) {
    chains.push_back(read_stan_csv(file));
    if (chains.back().columns != chains.front().columns)
      throw Error(fmt::format("{} and {} have different columns: they are not chains of one run",
                              files.front().string(), file.string()));
    if (chains.back().incomplete_last_line && !s.quiet)
      say("note: {} ends within a line, which is left out\n", file.string());
  }

  const std::size_t all = chains.size();
  std::erase_if(chains, [](const StanCsv& chain) { return chain.draws() == 0; });
  if (chains.empty())
    throw Error(fmt::format("{} has no draws: the run ended in warm-up, or has just begun", s.paths.front()));
  const auto [least, most] = std::ranges::minmax_element(chains, {}, &StanCsv::draws);
  const std::size_t draws = least->draws();
  if (!s.quiet) {
    if (status && !status->complete())
      say("note: the run {}{}\n", status->words(),
          status->draws ? fmt::format(", after {} of {} draws a chain", draws, *status->draws) : "");
    print_uneven_chains(all, chains.size(), draws, most->draws());
  }
  std::vector<ParameterSummary> parameters;
  for (std::size_t column : chains.front().parameter_columns()) {
    Chains values;
    for (const auto& chain : chains) values.push_back(chain.column(column));
    parameters.push_back(summarise(chains.front().names[column], values));
  }

  if (s.json) {
    const WorstCase worst = worst_case(parameters);
    nlohmann::ordered_json out{{"model", chains.front().setting("model").value_or("")},
                               {"chains", chains.size()},
                               {"draws", draws},
                               {"max_rhat", worst.rhat},
                               {"min_ess_bulk", worst.ess_bulk},
                               {"min_ess_tail", worst.ess_tail}};
    if (status) out["status"] = status->word;
    if (s.all_parameters || parameters.size() <= 1000) out["parameters"] = summary_json(parameters);
    fmt::print("{}\n", json_text(out));
  } else {
    fmt::print("{}",
               summary_table(parameters, {.max_rows = s.all_parameters ? std::size_t{0} : std::size_t{50}}));
  }
  if (!s.quiet) {
    const auto metric = chains.front().setting("metric").value_or("");
    const bool by_axes = chains.front().setting("model") == "glm" && metric == "none";
    for (const auto& warning : warnings(parameters, chains.size(), draws, !by_axes && metric != "dense"))
      say("warning: {}\n", warning);
  }
  return done;
}

}  // namespace

void add_summary(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand("summary", "the summary table from files");
  command->add_option("DIR|FILE", s->paths, "a run's folder, or CSV files of its chains (also CmdStan's)")
      ->required();
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--all-parameters", s->all_parameters, "report every parameter, however many there are");
  command->add_flag("--quiet", s->quiet, "no notes or warnings");
  command->callback([s, &action] { action = [s] { return summarise_files(*s); }; });
}

}  // namespace onward::app
