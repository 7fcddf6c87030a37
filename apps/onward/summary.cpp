// `onward summary`: the table again, from files of ours, of CmdStan's or of ArviZ's.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/io/run_json.hpp"
#include "onward/io/run_status.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/util/thread_pool.hpp"
#include "progress_bar.hpp"

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
  bool dense_metric_may_help = true;
};

bool is_netcdf(const fs::path& path) { return path.extension() == ".nc"; }

[[noreturn]] void refuse_empty(const std::string& path) {
  throw Error(fmt::format("{} has no draws: the run ended in warm-up, or has just begun", path));
}

/// On all cores, with a bar once it takes its time.
std::vector<ParameterSummary> summarise_all(const std::vector<std::string>& names,
                                            const std::function<Chains(std::size_t)>& chains_of, bool quiet) {
  ProgressBar bar(quiet);
  return onward::summarise_all(names, chains_of, 0, [&](std::size_t done) {
    bar.show_pieces(done, names.size(), "computing the summary: ", "parameters");
  });
}

/// From a netCDF file, a few parameters in memory at a time.
Summarised read_netcdf(const fs::path& file, bool quiet) {
  NetcdfReader reader(file);
  std::vector<std::size_t> lengths;
  for (std::size_t chain = 0; chain < reader.chains(); ++chain)
    if (reader.draws(chain) > 0) lengths.push_back(reader.draws(chain));
  if (lengths.empty()) refuse_empty(file.string());
  const auto [least, most] = std::ranges::minmax(lengths);
  if (!quiet) print_uneven_chains(reader.chains(), lengths.size(), least, most);
  Summarised result{reader.attribute("model").value_or(""), lengths.size(), least, {}};
  std::vector<std::string> names;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // variable and entry
  for (std::size_t k = 0; k < reader.variables().size(); ++k)
    for (std::size_t entry = 0; entry < reader.variables()[k].size(); ++entry) {
      names.push_back(reader.entry_name(k, entry));
      places.emplace_back(k, entry);
    }
  std::mutex one_at_a_time;  // the netCDF library is not for several threads
  const auto column = [&](std::size_t i) {
    const std::lock_guard lock(one_at_a_time);
    Chains values = reader.column(places[i].first, places[i].second);
    std::erase_if(values, [](const auto& chain) { return chain.empty(); });
    return values;
  };
  result.parameters = summarise_all(names, column, quiet);
  return result;
}

/// The files of chains, several at a time.
std::vector<StanCsv> read_chains(const std::vector<fs::path>& files, bool quiet) {
  std::vector<StanCsv> chains(files.size());
  ProgressBar bar(quiet);
  ThreadPool pool(std::min<std::size_t>(files.size(), std::max(1U, std::thread::hardware_concurrency())));
  const auto caller = std::this_thread::get_id();
  std::atomic<std::size_t> done{0};
  pool.for_each(files.size(), [&](std::size_t i) {
    chains[i] = read_stan_csv(files[i]);
    const std::size_t so_far = ++done;
    if (std::this_thread::get_id() == caller) bar.show_pieces(so_far, files.size(), "reading: ", "files");
  });
  return chains;
}

Summarised read_csv(const std::vector<fs::path>& files, const Settings& s) {
  std::vector<StanCsv> chains = read_chains(files, s.quiet);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (chains[i].columns != chains.front().columns)
      throw Error(fmt::format("{} and {} have different columns: they are not chains of one run",
                              files.front().string(), files[i].string()));
    if (chains[i].incomplete_last_line && !s.quiet)
      say("note: {} ends within a line, which is left out\n", files[i].string());
  }

  const std::size_t all = chains.size();
  std::erase_if(chains, [](const StanCsv& chain) { return chain.draws() == 0; });
  if (chains.empty()) refuse_empty(s.paths.front());
  const auto [least, most] = std::ranges::minmax_element(chains, {}, &StanCsv::draws);
  const auto& first = chains.front();
  Summarised result{first.setting("model").value_or(""), chains.size(), least->draws(), {}};
  if (!s.quiet) print_uneven_chains(all, chains.size(), result.draws, most->draws());
  const auto columns = first.parameter_columns();
  std::vector<std::string> names;
  for (const std::size_t column : columns) names.push_back(first.names[column]);
  const auto values_of = [&](std::size_t i) {
    Chains values;
    for (const auto& chain : chains) values.push_back(chain.column(columns[i]));
    return values;
  };
  result.parameters = summarise_all(names, values_of, s.quiet);
  const auto metric = first.setting("metric").value_or("");
  const bool by_axes = first.setting("model") == "glm" && metric == "none";
  result.dense_metric_may_help = !by_axes && metric != "dense";
  return result;
}

Summarised read_files(const Settings& s) {
  std::vector<fs::path> files;
  for (const auto& path : s.paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
    } else if (const fs::path netcdf = RunFolder::open(path).netcdf();
               fs::exists(netcdf) && !fs::exists(RunFolder::open(path).chain_csv(1))) {
      files.push_back(netcdf);
    } else {
      for (auto& file : find_chains(path)) files.push_back(std::move(file));
    }
  }
  if (std::ranges::none_of(files, is_netcdf)) return read_csv(files, s);
  if (files.size() > 1)
    throw UsageError(fmt::format(
        "{} files, among them a netCDF file, which has all chains of a run: give it alone", files.size()));
  return read_netcdf(files.front(), s.quiet);
}

int summarise_files(const Settings& s) {
  std::optional<RunStatus> status;  // of the first folder whose run is not complete
  for (const auto& path : s.paths)
    if (fs::is_directory(path) && (!status || status->complete())) status = status_of(path, s.quiet);
  const Summarised run = read_files(s);
  if (!s.quiet && status && !status->complete())
    say("note: the run {}{}\n", status->words(),
        status->draws ? fmt::format(", after {} of {} draws a chain", run.draws, *status->draws) : "");
  if (s.json) {
    const WorstCase worst = worst_case(run.parameters);
    nlohmann::ordered_json out{
        {"model", run.model},     {"chains", run.chains},           {"draws", run.draws},
        {"max_rhat", worst.rhat}, {"min_ess_bulk", worst.ess_bulk}, {"min_ess_tail", worst.ess_tail}};
    if (status) out["status"] = status->word;
    if (s.all_parameters || run.parameters.size() <= 1000) out["parameters"] = summary_json(run.parameters);
    fmt::print("{}\n", json_text(out));
  } else {
    fmt::print("{}", table_for_stdout(run.parameters, s.all_parameters));
  }
  if (!s.quiet)
    for (const auto& warning :
         warnings(run.parameters, run.chains, run.draws, run.dense_metric_may_help, option_words))
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
