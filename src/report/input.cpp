// What a report is made of, from a run in memory and from a folder.

#include <algorithm>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/npy.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/io/run_json.hpp"
#include "onward/io/run_status.hpp"
#include "onward/model/registry.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/recording.hpp"
#include "onward/record/stored_likelihood.hpp"
#include "onward/report/read.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/version.hpp"

namespace onward::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Log likelihoods beyond this many take longer than anybody waits for a report.
constexpr double most_log_likelihoods = 3e8;
/// Responses that are made up for predictive checks.
constexpr double most_responses = 5e7;

/// Samplers of models' own have no metric; of files that other programs made nothing is known.
bool dense_metric_may_help(const ordered_json& settings) {
  if (!settings.is_object() || settings.value("metric", "") == "dense") return false;
  const auto known = std::ranges::find(all_samplers(), settings.value("sampler", ""), &SamplerInfo::name);
  return known != all_samplers().end() && known->kernel;
}

/// Effects of groups are called r(GROUP)...; they come after what a regression is about.
std::optional<std::size_t> shown_of(const ordered_json& run, const std::vector<std::string>& names) {
  if (!run.is_object() || run.value(ordered_json::json_pointer("/model/name"), "") != "glm")
    return std::nullopt;
  const auto first =
      std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("r("); });
  if (first == names.end() || first == names.begin()) return std::nullopt;
  return static_cast<std::size_t>(first - names.begin());
}

bool stopped(const ReadOptions& options) { return options.stop != nullptr && *options.stop; }

void tell(const ReadOptions& options, const std::string& what) {
  if (options.progress) options.progress(what);
}

/// Makes a part of the page, or leaves the reason why there is none.
template <class Make>
void attempt(const char* what, std::vector<std::string>& left_out, const Make& make) {
  try {
    make();
  } catch (const Error& problem) {
    left_out.push_back(fmt::format("{}: {}", what, problem.what()));
  }
}

void add_loo(const fs::path& folder, const ReadOptions& options, Regression& regression) {
  attempt("Cross-validation", regression.left_out, [&] {
    const StoredLikelihood stored = read_stored_likelihood(folder);
    const auto& of = stored.log_likelihood;
    const double work = static_cast<double>(of.observations) * static_cast<double>(of.chains * of.draws);
    if (work > most_log_likelihoods)
      throw Error(fmt::format("{} observations at {} draws take too long for a report", of.observations,
                              of.chains * of.draws));
    regression.loo_rows = stored.rows;
    regression.loo = loo(of, {.threads = options.threads, .stop = options.stop});
  });
}

Regression read_regression(const fs::path& folder, const ordered_json& run, const StoredDraws& draws,
                           const ReadOptions& options) {
  Regression regression;
  attempt("Conditional effects and predictive checks", regression.left_out, [&] {
    const auto& model = run.at("model");
    const auto fitted = glm::FittedRegression::from_json(model);
    check_files(ModelSpec::from_json(model));
    regression = describe_regression(fitted, read_table(fitted.data, fitted.table), draws, options);
  });
  tell(options, "cross-validation");
  if (!stopped(options)) add_loo(folder, options, regression);
  return regression;
}

/// Of a network: its rows from the model, what was predicted from the run's files.
std::optional<PredictedRows> read_predictions(const fs::path& folder, const ordered_json& run,
                                              std::vector<std::string>& notes) {
  const fs::path means = folder / "predictions.npy", sds = folder / "predictions-sd.npy";
  if (!fs::exists(means)) return std::nullopt;
  std::optional<PredictedRows> rows;
  attempt("The predictions are not shown", notes, [&] {
    const Model model = build(ModelSpec::from_json(run.at("model")));
    if (!model.make_sink) return;
    PredictedRows known = model.make_sink(1, nullptr)->predicted_rows();
    known.mean = read_npy(means).to_doubles();
    if (fs::exists(sds)) known.sd = read_npy(sds).to_doubles();
    if (known.mean.size() != known.rows * known.width)
      throw Error(fmt::format("{} has {} numbers where the model has {} rows of {}: it is of another run",
                              means.string(), known.mean.size(), known.rows, known.width));
    rows = std::move(known);
  });
  return rows;
}

/// chain,steps,step_size,acceptance; nothing if the file is not there or is not that.
std::vector<WarmUpRecord> read_warmup(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::vector<WarmUpRecord> chains;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::size_t chain = 0;
    std::uint64_t steps = 0;
    double step_size = 0, acceptance = 0;
    char comma = 0;
    if (!(fields >> chain >> comma >> steps >> comma >> step_size >> comma >> acceptance) || chain == 0 ||
        chain > chains.size() + 1000)
      return {};
    if (chain > chains.size()) chains.resize(chain);
    chains[chain - 1].steps.push_back(steps);
    chains[chain - 1].step_size.push_back(step_size);
    chains[chain - 1].acceptance.push_back(acceptance);
  }
  return chains;
}

/// A summary that is missing or cannot be read costs a few lines of the page, and no more.
ordered_json read_summary(const fs::path& file) {
  std::ifstream in(file);
  auto json = ordered_json::parse(in, nullptr, false);
  return json.is_object() ? json : ordered_json();
}

/// Of a run that kept its predictions alone.
Input read_without_draws(const fs::path& folder, Input input) {
  input.summary = read_summary(RunFolder::open(folder).summary_json());
  input.warmup = read_warmup(folder / "warmup.csv");
  input.chains = input.run.at("settings").value("chains", std::size_t{0});
  input.draws = input.summary.is_object() ? input.summary.value("draws", std::size_t{0}) : 0;
  input.predictions = read_predictions(folder, input.run, input.notes);
  if (!input.predictions)
    throw Error(fmt::format(
        "the run in {} was to keep its predictions and no draws, and has no predictions{}: sample again",
        folder.string(), input.notes.empty() ? "" : " (" + input.notes.back() + ")"));
  return input;
}

void add_notes_of_files(const StoredDraws& stored, std::vector<std::string>& notes) {
  notes.insert(notes.end(), stored.notes.begin(), stored.notes.end());
  if (stored.chains < stored.all_chains)
    notes.push_back(fmt::format("{} of {} chains have no draws and are left out.",
                                stored.all_chains - stored.chains, stored.all_chains));
  if (stored.draws < stored.longest)
    notes.push_back(fmt::format("Chains have {} to {} draws; the first {} of each are used.", stored.draws,
                                stored.longest, stored.draws));
}

}  // namespace

Regression describe_regression(const glm::FittedRegression& fitted, const Table& data,
                               const StoredDraws& draws, const ReadOptions& options) {
  Regression regression;
  regression.response = fitted.state.value(ordered_json::json_pointer("/response/name"), std::string("y"));
  tell(options, "conditional effects");
  attempt("Conditional effects", regression.left_out, [&] {
    regression.effects = glm::conditional_effects(fitted, data, draws, {.threads = options.threads});
  });
  tell(options, "predictive checks");
  if (stopped(options)) return regression;
  attempt("Predictive checks", regression.left_out, [&] {
    const double rows = std::max(1.0, static_cast<double>(data.rows()));
    const auto replicates = static_cast<std::size_t>(std::clamp(most_responses / rows, 20.0, 1000.0));
    regression.check = glm::predictive_check(
        fitted, data, draws, {.replicates = replicates, .threads = options.threads, .stop = options.stop});
  });
  return regression;
}

Input input_of(const Run& run, const std::string& model) {
  Input input{.name = model};
  input.run = {{"onward", version},
               {"dimension", run.dimension},
               {"model", {{"name", model}}},
               {"settings", settings_json(run.settings)}};
  input.names = run.names;
  for (const auto& chain : run.chains) {
    if (chain.draws == 0) continue;
    input.draws = ++input.chains == 1 ? chain.draws : std::min(input.draws, chain.draws);
    input.log_density.push_back(chain.log_density);
    input.warmup.push_back(chain.warmup);
    if (chain.followed.empty()) continue;
    auto& diverging = input.diverging.emplace_back();
    auto& energy = input.energy.emplace_back();
    for (const TrajectoryInfo& trajectory : chain.followed) {
      diverging.push_back(trajectory.divergent ? 1 : 0);
      energy.push_back(trajectory.energy);
    }
  }
  input.column = [&run](std::size_t i) {
    Chains chains = run.parameter(i);
    std::erase_if(chains, [](const auto& chain) { return chain.empty(); });
    return chains;
  };
  input.trajectories = run.trajectories();
  input.summary = result_json(model, run, {});
  input.dense_metric_may_help = dense_metric_may_help(input.run["settings"]);
  if (run.ending == Ending::interrupted) input.unfinished = "was interrupted";
  if (run.ending == Ending::time_limit) input.unfinished = "stopped at its time limit";
  input.notes = run.notes();
  return input;
}

Input read_folder(const fs::path& folder, const ReadOptions& options) {
  const auto status = read_run_status(folder);
  Input input{.name = folder.filename().empty() ? folder.parent_path().filename().string()
                                                : folder.filename().string()};
  if (status) {
    input.run = read_run_json(folder);
    if (!status->complete()) input.unfinished = status->word == "failed" ? "failed" : status->words();
  }
  if (const std::string kept = status ? input.run.value("keep", "draws") : "draws"; kept != "draws") {
    if (kept == "predictions") return read_without_draws(folder, std::move(input));
    throw Error(
        fmt::format("the run in {} kept its {} and no draws, so there is nothing to report: sample again "
                    "with `keep` draws",
                    folder.string(), kept));
  }
  const auto files = files_of_draws(folder);
  tell(options, "reading draws");
  const StoredDraws stored = read_stored_draws(files);
  input.names = stored.names;
  input.chains = stored.chains;
  input.draws = stored.draws;
  input.column = stored.column;
  input.log_density = stored.statistic("lp");
  input.acceptance = stored.statistic("acceptance_rate");
  input.trajectories = trajectories_in(stored);
  if (!input.trajectories.empty()) {
    input.diverging = stored.statistic("diverging");
    input.energy = stored.statistic("energy");
  }
  input.summary = read_summary(RunFolder::open(folder).summary_json());
  input.warmup = read_warmup(folder / "warmup.csv");
  input.shown = shown_of(input.run, input.names);
  input.dense_metric_may_help =
      input.run.is_object() && dense_metric_may_help(input.run.value("settings", ordered_json()));
  add_notes_of_files(stored, input.notes);
  if (!options.checks || !status) return input;
  const std::string kind = input.run.value(ordered_json::json_pointer("/model/name"), "");
  if (kind == "glm") input.regression = read_regression(folder, input.run, stored, options);
  if (kind == "net") input.predictions = read_predictions(folder, input.run, input.notes);
  return input;
}

}  // namespace onward::report
