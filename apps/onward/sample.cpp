// `onward sample`: from options to a run folder, a table and a picture.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "model_options.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/io/csv_listener.hpp"
#include "onward/io/run_json.hpp"
#include "onward/plot/run_picture.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/version.hpp"
#include "progress_bar.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;

struct Settings {
  ModelWords model;
  RunSettings run;
  std::string bias_correction = "none", init = "random";
  std::optional<std::string> metric, out;
  std::string format = "csv";
  bool force = false, json = false, quiet = false, all_parameters = false;
};

std::atomic<bool> stop_asked{false};

extern "C" void ask_to_stop(int signal_number) {
  stop_asked = true;
  std::signal(signal_number, SIG_DFL);  // a second one ends the program at once
}

/// The folder to write to: the one asked for, or the first free of onward-out, onward-out-2, ...
std::optional<RunFolder> make_folder(const Settings& s) {
  if (s.out == "none") return std::nullopt;
  if (s.out) return RunFolder::create(*s.out, s.force);
  fs::path folder = "onward-out";
  for (int i = 2; fs::exists(fs::symlink_status(folder)); ++i) folder = fmt::format("onward-out-{}", i);
  return RunFolder::create(folder);
}

nlohmann::ordered_json run_json(const Settings& s, const RunSettings& resolved, std::size_t dimension,
                                const char* status) {
  nlohmann::ordered_json model{{"name", s.model.name}};
  if (s.model.options.dimension) model["dim"] = *s.model.options.dimension;
  if (s.model.options.condition) model["condition"] = *s.model.options.condition;
  return {{"onward", version},
          {"status", status},
          {"model", model},
          {"dimension", dimension},
          {"settings", settings_json(resolved)}};
}

const char* status_word(Ending ending) {
  switch (ending) {
    case Ending::complete:
      return "complete";
    case Ending::interrupted:
      return "interrupted";
    case Ending::time_limit:
      return "stopped at the time limit";
  }
  return "";
}

void draw_picture(const RunFolder& folder, const Run& run) {
  std::vector<plot::NamedChains> parameters;
  // A hierarchical model's last parameters are often its most telling ones; six fit a page.
  for (std::size_t i = 0; i < run.names.size() && i < 6; ++i)
    parameters.push_back({run.names[i], run.parameter(i)});
  plot::run_picture((folder.path() / "draws.png").string(), parameters);
}

void check_memory(const RunSettings& s, std::size_t parameters) {
  const double bytes =
      8.0 * static_cast<double>(parameters) * static_cast<double>(s.draws) * static_cast<double>(s.chains);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (bytes > memory / 2)
    throw UsageError(fmt::format(
        "{} draws of {} parameters in {} chains would take {:.1f} GB of this machine's {:.1f} GB; keep fewer "
        "by --draws, with a larger --thin",
        s.draws, parameters, s.chains, bytes / 1e9, memory / 1e9));
}

int sample_model(Settings& s) {
  if (s.format != "csv") throw UsageError(fmt::format("--format {} is not known: it is csv", s.format));
  s.run.bias_correction = bias_correction_from_string(s.bias_correction);
  if (s.metric) s.run.metric = metric_from_string(*s.metric);
  const models::Model model = make_model(s.model);
  const std::size_t dimension = model.target.dimension();
  s.run.start = parse_start(s.init);
  if (s.run.start.kind == Start::Kind::given && s.run.start.position.size() != dimension)
    throw UsageError(fmt::format("--init {} has {} entries, but {} has {} parameters to sample", s.init,
                                 s.run.start.position.size(), s.model.name, dimension));
  const RunSettings resolved = resolve(s.run, dimension);
  const auto names = model.target.names();
  check_memory(resolved, names.size());

  if (!s.quiet && resolved.bias_correction != BiasCorrection::none &&
      (resolved.sampler == "rwm" || resolved.sampler == "mala" || resolved.sampler == "pc-line-fmala"))
    fmt::print(stderr, "note: --bias-correction changes nothing for {}\n", resolved.sampler);

  const auto folder = make_folder(s);
  std::optional<CsvListener> files;
  if (folder) {
    write_file_atomically(folder->run_json(), run_json(s, resolved, dimension, "running").dump(1) + "\n");
    files.emplace(*folder, s.model.name, resolved, names);
  }

  ProgressBar bar(s.quiet);
  Hooks hooks;
  hooks.listener = files ? &*files : nullptr;
  hooks.progress = [&](const Progress& progress) { bar.show(progress); };
  hooks.stop = &stop_asked;
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  const Run run = sample(model.target, resolved, hooks);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  bar.clear();

  const auto parameters = run.summary();
  auto result = result_json(s.model.name, run, parameters, s.all_parameters ? parameters.size() : 1000);
  result["status"] = status_word(run.ending);
  if (folder) {
    write_file_atomically(folder->run_json(),
                          run_json(s, resolved, dimension, status_word(run.ending)).dump(1) + "\n");
    write_file_atomically(folder->summary_json(), result.dump(1) + "\n");
    if (run.draws() > 0) draw_picture(*folder, run);
  }

  if (s.json) {
    fmt::print("{}\n", result.dump());
  } else if (run.draws() > 0) {
    fmt::print("{}: {} chains of {} draws by {}, {} steps from draw to draw, seed {}\n\n", s.model.name,
               resolved.chains, run.draws(), resolved.sampler, *resolved.thin, *resolved.seed);
    fmt::print("{}",
               summary_table(parameters, {.max_rows = s.all_parameters ? std::size_t{0} : std::size_t{50}}));
    double acceptance = 0;
    for (const auto& chain : run.chains)
      acceptance += chain.acceptance / static_cast<double>(run.chains.size());
    fmt::print("\nacceptance {:.2f}, step size {:.3g}; warm-up {}, sampling {}, {:.3g} steps/s\n", acceptance,
               run.chains.front().step_size, duration(run.warmup_seconds), duration(run.sampling_seconds),
               run.steps_per_second());
  }

  const Counts counts = run.counts();
  if (!s.quiet) {
    if (counts.nonfinite > 0)
      fmt::print(stderr, "note: {} of {} evaluations were not finite{}; each was a rejection\n",
                 counts.nonfinite, counts.jets + counts.gradients,
                 counts.threw > 0
                     ? fmt::format(", {} because the model threw ({})", counts.threw, counts.first_message)
                     : std::string());
    if (run.draws() > 0)
      for (const auto& warning : warnings(parameters, resolved.chains, run.draws()))
        fmt::print(stderr, "warning: {}\n", warning);
    if (run.ending == Ending::interrupted)
      fmt::print(stderr, "interrupted after {} draws a chain{}\n", run.draws(),
                 run.draws() == 0 ? " (still in warm-up)" : "");
    if (run.ending == Ending::time_limit)
      fmt::print(stderr, "note: stopped at --max-seconds {} with {} draws a chain{}\n", resolved.max_seconds,
                 run.draws(),
                 run.draws() == 0 ? ": still in warm-up; allow more time or a shorter --warmup" : "");
    if (folder) fmt::print(stderr, "files: {}\n", folder->path().string());
  }
  if (run.ending == Ending::interrupted) return interrupted;
  return run.draws() == 0 ? failed : done;
}

}  // namespace

void add_sample(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto& run = s->run;
  auto* command = app.add_subcommand("sample", "sample a model");
  add_model_options(*command, s->model);
  command->add_option("--sampler", run.sampler, "`onward samplers` lists them")->capture_default_str();
  command->add_option("--step-size", run.step_size, "fixed; without it warm-up finds it");
  command->add_option("--target-acceptance", run.target_acceptance,
                      "what warm-up steers to [the sampler's own]");
  command
      ->add_option("--bias-correction", s->bias_correction,
                   "none, coupled or drift: the paper's appendix B.1")
      ->capture_default_str();
  command
      ->add_option("--curvature-floor", run.curvature_floor,
                   "pc samplers: curvature is at least this times slope²; 0 is the paper's")
      ->capture_default_str();
  command->add_flag("--as-published", run.as_published, "mala: two gradients a step, as in the paper");
  command->add_option("--warmup", run.warmup, "steps of warm-up per chain [1000, times D for line samplers]");
  command->add_option("--draws", run.draws, "draws kept per chain")->capture_default_str();
  command->add_option("--thin", run.thin, "steps from one kept draw to the next [1, D for line samplers]");
  command->add_option("--chains", run.chains)->capture_default_str();
  command
      ->add_option("--threads", run.threads,
                   "0: as many as chains and cores allow; the draws do not depend on it")
      ->capture_default_str();
  command->add_option("--seed", run.seed, "without it one is taken from the system and reported");
  command
      ->add_option("--init", s->init,
                   "start, in the space that is sampled: FILE (JSON array or .npy), zeros, or random[:SCALE]")
      ->capture_default_str();
  command->add_option(
      "--metric", s->metric,
      "what warm-up learns besides the step size: none, diag or dense [diag; none with --step-size]");
  command->add_option("--temperature", run.temperature, "samples density^(1/T)")->capture_default_str();
  command->add_option("--max-seconds", run.max_seconds, "stop there and keep what there is");
  command->add_option(
      "--out", s->out,
      "folder for the run's files, or none [the first free of onward-out, onward-out-2, ...]");
  command->add_flag("--force", s->force, "write into an existing folder, replacing the run that is there");
  command->add_option("--format", s->format, "of the draws: csv")->capture_default_str();
  command->add_flag("--all-parameters", s->all_parameters, "report every parameter, however many there are");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no progress, notes or warnings");
  command->callback([s, &action] { action = [s] { return sample_model(*s); }; });
}

}  // namespace onward::app
