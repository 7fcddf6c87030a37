// `onward sample`: from options to a run folder, a table and a picture.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "commands.hpp"
#include "glm_options.hpp"
#include "model_options.hpp"
#include "net_options.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/glm/mode.hpp"
#include "onward/glm/run.hpp"
#include "onward/io/csv_listener.hpp"
#include "onward/io/csv_names.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_json.hpp"
#include "onward/net/draw_keeper.hpp"
#include "onward/plot/run_picture.hpp"
#include "onward/run/tune.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/version.hpp"
#include "progress_bar.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;

struct Settings {
  ModelWords model;
  GlmWords glm;
  NetWords net;
  std::function<void(const std::string& sampler)> note_idle_options;
  std::function<void()> check_model;  ///< refuses options that do not go together
  RunSettings run;
  std::string bias_correction = "none", tangent = "kept", vectors = "held", init = "random";
  std::optional<std::string> metric, out, tune;
  TuneSettings tuning;
  std::string format = "csv";
  bool force = false, json = false, quiet = false, all_parameters = false;
};

bool is_glm(const Settings& s) { return s.model.name == "glm"; }
bool is_net(const Settings& s) { return s.model.name == "net"; }

std::atomic<bool> stop_asked{false};

extern "C" void ask_to_stop(int signal_number) {
  stop_asked = true;
  std::signal(signal_number, SIG_DFL);  // a second one ends the program at once
}

/// From here on a run that is told to stop ends in good order.
void stop_when_told() {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  if (std::signal(SIGHUP, ask_to_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as nohup wants it
}

/// The folder to write to: the one asked for, or the first free of onward-out, onward-out-2, ...
/// What is wrong with --out is told before pilots take their time.
void check_folder(const Settings& s) {
  if (s.out == "") throw UsageError("--out is empty: name a folder, or leave it out, or write --out none");
  if (s.out && s.out != "none") RunFolder::check(*s.out, s.force);
}

std::optional<RunFolder> make_folder(const Settings& s) {
  if (s.out == "none") return std::nullopt;
  if (s.out) return RunFolder::create(*s.out, s.force);
  return RunFolder::create_next("onward-out");
}

nlohmann::ordered_json run_json(const Settings& s, const std::optional<NetModel>& net,
                                const nlohmann::ordered_json& settings, std::size_t dimension,
                                const char* status) {
  nlohmann::ordered_json model = net         ? net_json(s.net, s.glm, *net)
                                 : is_glm(s) ? glm_json(s.glm)
                                             : nlohmann::ordered_json{{"name", s.model.name}};
  if (s.model.options.dimension) model["dim"] = *s.model.options.dimension;
  if (s.model.options.condition) model["condition"] = *s.model.options.condition;
  return {{"onward", version},
          {"status", status},
          {"model", model},
          {"dimension", dimension},
          {"settings", settings}};
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

/// What the chains gave that have draws. A run that was cut short may have chains that had not begun.
struct Sampled {
  std::size_t chains = 0, draws = 0, most_draws = 0;
  std::vector<ParameterSummary> parameters;
};

Chains drawn_chains(const Run& run, std::size_t parameter) {
  Chains chains = run.parameter(parameter);
  std::erase_if(chains, [](const auto& chain) { return chain.empty(); });
  return chains;
}

Sampled summarise_run(const Run& run) {
  Sampled sampled;
  for (const auto& chain : run.chains) {
    if (chain.draws == 0) continue;
    sampled.draws = ++sampled.chains == 1 ? chain.draws : std::min(sampled.draws, chain.draws);
    sampled.most_draws = std::max(sampled.most_draws, chain.draws);
  }
  for (std::size_t i = 0; i < run.names.size(); ++i)
    sampled.parameters.push_back(summarise(run.names[i], drawn_chains(run, i)));
  return sampled;
}

void draw_picture(const RunFolder& folder, const Run& run) {
  std::vector<plot::NamedChains> parameters;
  // More than six would not fit a page.
  for (std::size_t i = 0; i < run.names.size() && i < 6; ++i)
    parameters.push_back({run.names[i], drawn_chains(run, i)});
  plot::run_picture((folder.path() / "draws.png").string(), parameters);
}

/// Refuses what could never be kept, before anything of that size is made.
void check_memory(const RunSettings& s, std::size_t parameters) {
  // A chain has its draws, some vectors of its own and a little besides, which counts where chains are many.
  constexpr double own_vectors = 10, own_bytes = 8192;
  const double bytes =
      (8.0 * static_cast<double>(parameters) * (static_cast<double>(s.draws) + own_vectors) + own_bytes) *
      static_cast<double>(s.chains);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (bytes > memory / 2)
    throw UsageError(fmt::format(
        "{} draws of {} parameters in {} chains would take {:.3g} GB of this machine's {:.3g} GB; keep fewer "
        "by --draws (with a larger --thin), or take fewer --chains or a smaller --dim",
        s.draws, parameters, s.chains, bytes / 1e9, memory / 1e9));
}

void print_result(const Settings& s, const Run& run, const Sampled& sampled) {
  fmt::print("{}: {} of {} by {}, {} from draw to draw, seed {}\n\n", s.model.name,
             counted(sampled.chains, "chain"), counted(sampled.draws, "draw"), run.settings.sampler,
             counted(*run.settings.thin, "step"), *run.settings.seed);
  fmt::print("{}", summary_table(sampled.parameters,
                                 {.max_rows = s.all_parameters ? std::size_t{0} : std::size_t{50}}));
  double acceptance = 0;
  for (const auto& chain : run.chains) acceptance += chain.acceptance / static_cast<double>(sampled.chains);
  const std::string size = find_sampler(run.settings.sampler).tuned
                               ? fmt::format("step size {:.3g}", run.chains.front().step_size)
                               : fmt::format("relaxation {:.3g}", run.settings.relaxation);
  fmt::print("\nacceptance {:.2f}, {}; warm-up {}, sampling {}, {:.3g} steps/s\n", acceptance, size,
             duration(run.warmup_seconds), duration(run.sampling_seconds), run.steps_per_second());
}

void print_notes(const Settings& s, const Run& run, const Sampled& sampled) {
  const Counts counts = run.counts();
  if (counts.nonfinite > 0)
    say("note: {} of {} evaluations were not finite{}; each was a rejection\n", counts.nonfinite,
        counts.jets() + counts.gradients,
        counts.threw > 0
            ? fmt::format(", {} because the model threw ({})", counts.threw, counts.first_message)
            : std::string());
  if (sampled.chains > 0) {
    print_uneven_chains(run.chains.size(), sampled.chains, sampled.draws, sampled.most_draws);
    const bool by_axes = is_glm(s) && s.run.sampler == "auto";
    const bool large = is_net(s) && run.dimension > large_network;
    const bool other_metric = !by_axes && !large && run.settings.metric != MetricKind::dense;
    for (const auto& warning : warnings(sampled.parameters, sampled.chains, sampled.draws, other_metric))
      say("warning: {}\n", warning);
  }
  const auto so_far = sampled.chains == 0 ? std::string("in warm-up, without draws")
                                          : fmt::format("after {} draws a chain", sampled.draws);
  if (run.ending == Ending::interrupted) say("interrupted {}\n", so_far);
  if (run.ending == Ending::time_limit)
    say("note: stopped at --max-seconds {} {}{}\n", run.settings.max_seconds, so_far,
        sampled.chains == 0 ? ": allow more time or a shorter --warmup" : "");
}

/// For the sampler auto: what pilots showed. Nothing if the sampler was given.
std::optional<Choice> choose(Settings& s, const AnyTarget& target) {
  if (s.run.sampler != "auto" || s.run.step_size) return std::nullopt;
  // Whatever is wrong with the settings is found before the pilots are run.
  RunSettings checked = s.run;
  checked.sampler = "newton-line";
  resolve(checked, target.dimension());
  s.run = with_seed(s.run);
  ProgressBar bar(s.quiet);
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { bar.show(progress, "choosing a sampler: "); };
  hooks.stop = &stop_asked;
  Choice choice = choose_sampler(target, s.run, hooks);
  bar.clear();
  if (!s.quiet && !stop_asked) say("sampler: {}\n", describe(choice));
  return choice;
}

/// For --tune: what was tried. Leaves the best step size in the settings.
std::optional<Tuning> tune(Settings& s, const AnyTarget& target) {
  if (!s.tune) return std::nullopt;
  s.tuning.search = search_from_string(*s.tune);
  if (s.run.step_size)
    throw UsageError("--tune looks for a step size and --step-size gives one: leave one of them out");
  if (s.run.sampler == "auto")
    throw UsageError("--tune needs to know for which sampler: name it, as in --sampler pc-line-fmala");
  const RunSettings whole = resolve(s.run, target.dimension());
  s.run = with_seed(s.run);
  ProgressBar bar(s.quiet);
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { bar.show(progress, "looking for a step size: "); };
  hooks.stop = &stop_asked;
  s.tuning.max_seconds = s.run.max_seconds / 2;
  Tuning found = tune_step_size(target, trial_settings(s.run, target.dimension()), s.tuning, hooks);
  bar.clear();
  if (!s.quiet) {
    const Trial* best = &*std::ranges::max_element(found.trials, {}, &Trial::score);
    say("step sizes tried (effective draws per 1000 evaluations, acceptance):\n");
    for (const auto& trial : found.trials)
      say("  {:<10.4g} {:8.4g}  {:.2f}{}\n", trial.step_size, 1000 * trial.score, trial.acceptance,
          &trial == best ? "  best" : "");
  }
  s.run.step_size = found.step_size;
  s.run.adapt_in_warmup = true;
  s.run.metric = whole.metric;
  return found;
}

/// What is to be sampled, and how. A regression that the axis sampler takes is not held as a target besides:
/// its data would then be in memory twice.
struct Plan {
  std::optional<AnyTarget> target;
  std::optional<glm::Posterior> by_axes;
  std::optional<NetModel> net;
  std::size_t dimension = 0;
  std::vector<std::string> names;
  std::vector<std::size_t> name_indices;  ///< of a regression; see csv_names
  std::string priors;                     ///< of a regression, in words
  nlohmann::ordered_json priors_as_json;
};

/// Chains share the threads; a lone chain has them for its rows.
std::shared_ptr<ThreadPool> pool_of_a_chain(const Settings& s) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::make_shared<ThreadPool>(s.run.chains > 1 ? 1 : s.run.threads > 0 ? s.run.threads : cores);
}

/// Whether the sampler, or one that is yet to be chosen, may take jets on two lines at once.
bool may_pair(const RunSettings& run) { return run.sampler == "line-fmala" || run.sampler == "auto"; }

/// How many vectors of all parameters a chain on a network has at most.
double held_vectors(const RunSettings& run) {
  if (run.vectors == Vectors::regenerated) return 2;
  const double metric = run.metric && *run.metric != MetricKind::none ? 3 : 0;
  if (run.sampler == "mala") return metric + 9;
  if (run.sampler == "fmala" || run.sampler == "pc-fmala") return metric + 8;
  if (run.sampler == "rwm") return metric + 5;
  // A line sampler's own, and the tables of each source of directions.
  const double own = may_pair(run) ? 5 : 4;
  const double sources =
      run.directions == "sphere" ? 0 : 1 + static_cast<double>(std::ranges::count(run.directions, '+'));
  return metric + own + 3 * sources;
}

void plan_net(Settings& s, Plan& plan) {
  s.net.chains = s.run.chains;
  s.net.vectors = held_vectors(s.run);
  s.net.for_mala = s.run.sampler == "mala";
  s.net.in_pairs = may_pair(s.run);
  for (const char* within_layers : {"blocks", "units"})
    if (s.run.directions.find(within_layers) != std::string::npos) s.net.keep_otherwise = usual_keep;
  plan.net.emplace(make_net(s.net, s.glm, "--init", s.init, pool_of_a_chain(s)));
  if (!s.quiet)
    for (const auto& note : plan.net->notes) say("note: {}\n", note);
  const auto& posterior = plan.net->posterior;
  if (posterior.dimension() > large_network) set_large_defaults(s.run);
  if (shows_predictions(s.net, posterior)) {
    // Rows in the table: what fits a screen.
    const std::size_t rows = std::clamp<std::size_t>(50 / posterior.network().layout.output().size(), 1, 20);
    plan.target.emplace(
        net::PredictionView(posterior, plan.net->test.first(std::min(rows, plan.net->test.count()))));
  } else {
    plan.target.emplace(posterior);
  }
  if (s.run.sampler == "mala") check_gradient_memory(s.net, *plan.net);
}

void describe_regression(const glm::Posterior& posterior, Plan& plan) {
  plan.name_indices = posterior.name_indices();
  plan.priors = glm::describe_priors(posterior);
  plan.priors_as_json = priors_json(posterior);
}

Plan make_plan(Settings& s) {
  Plan plan;
  s.check_model();
  if (is_glm(s) && s.run.sampler == "auto") {
    plan.by_axes = make_regression(s.glm);
    describe_regression(*plan.by_axes, plan);
    plan.dimension = plan.by_axes->dimension();
    plan.names = plan.by_axes->names();
    return plan;
  }
  if (is_glm(s)) {
    auto posterior = make_regression(s.glm, pool_of_a_chain(s));
    describe_regression(posterior, plan);
    const auto warnings = glm::data_warnings(posterior, posterior.pool());
    if (!s.quiet)
      for (const auto& warning : warnings) say("note: {}\n", warning);
    plan.target.emplace(std::move(posterior));
  } else if (is_net(s)) {
    plan_net(s, plan);
  } else {
    plan.target.emplace(make_model(s.model).target);
  }
  plan.dimension = plan.target->dimension();
  plan.names = plan.target->names();
  return plan;
}

/// Runs the chains.
Run carry_out(const Settings& s, Plan& plan, RunSettings resolved, const Hooks& hooks) {
  if (!plan.by_axes) return sample(*plan.target, std::move(resolved), hooks);
  auto result = glm::sample_axes(std::move(*plan.by_axes), resolved, hooks, [&](const auto& warnings) {
    if (s.quiet) return;
    for (const auto& warning : warnings) say("note: {}\n", warning);
  });
  // Ten times the rounding that a few hundred moves leave in a predictor of ordinary size.
  constexpr double worth_a_word = 1e-2;
  if (!s.quiet && result.largest_drift > worth_a_word)
    say("note: cached predictors were off by up to {:.2g} when they were computed afresh; standardise X, and "
        "if y has a large mean subtract it\n",
        result.largest_drift);
  return std::move(result.run);
}

int sample_model(Settings& s) {
  if (s.format != "csv" && !(is_net(s) && s.format == "npy"))
    throw UsageError(fmt::format("--format {} is not known: it is csv{}", s.format,
                                 is_net(s)           ? " or npy"
                                 : s.format == "npy" ? ", or npy for the model net"
                                                     : ""));
  s.run.bias_correction = bias_correction_from_string(s.bias_correction);
  s.run.tangent = tangent_from_string(s.tangent);
  s.run.vectors = vectors_from_string(s.vectors);
  check_choosable(s.run);
  if (s.metric) s.run.metric = metric_from_string(*s.metric);
  check_memory(s.run, s.model.options.dimension.value_or(1));
  Plan plan = make_plan(s);
  const std::size_t dimension = plan.dimension;
  s.run.start = plan.net ? std::move(plan.net->start) : parse_start("--init", s.init, s.model, dimension);
  const auto& names = plan.names;
  check_memory(s.run, names.size());
  check_folder(s);
  stop_when_told();
  const auto begin = std::chrono::steady_clock::now();
  const auto tuning = plan.target ? tune(s, *plan.target) : std::nullopt;
  const auto choice = stop_asked || !plan.target ? std::nullopt : choose(s, *plan.target);
  if (stop_asked) {
    say("interrupted while the sampler or its step size was being chosen, without draws\n");
    return interrupted;
  }
  RunSettings resolved = plan.by_axes ? glm::resolve_axes(s.run, *plan.by_axes)
                                      : resolve(choice ? with_choice(s.run, *choice) : s.run, dimension);
  s.run.start = {};  // a network's is large, and the run has its own
  // What is wrong with the directions, or for this model, is told before there is a folder.
  if (plan.target) {
    check_target(resolved, *plan.target);
    make_directions(resolved.directions, needed_law(make_kernel(kernel_settings(resolved))), dimension,
                    plan.target->names(), plan.target->blocks());
  }

  if (!s.quiet && s.run.sampler == "auto" && s.run.step_size)
    say("note: --step-size without --sampler means pc-line-fmala\n");
  if (!s.quiet) s.note_idle_options(resolved.sampler);

  auto folder = make_folder(s);
  const auto write_status = [&, settings = settings_json(resolved)](const char* status) {
    if (!folder) return;
    auto json = run_json(s, plan.net, settings, dimension, status);
    if (!plan.priors_as_json.is_null()) json["model"]["priors"] = plan.priors_as_json;
    for (const auto& [in_file, name] : csv_names(names, plan.name_indices).changed)
      json["names_in_csv"][in_file] = name;
    if (choice) json["choice"] = choice_json(*choice);
    if (tuning) json["tuning"] = tuning_json(*tuning);
    write_file_atomically(folder->run_json(), json_text(json, 1) + "\n");
  };
  write_status("running");
  std::optional<Run> finished;
  std::optional<net::DrawKeeper> keeper;
  try {
    std::optional<CsvListener> files;
    if (folder) files.emplace(*folder, s.model.name, resolved, names, plan.name_indices);
    if (plan.net)
      keeper.emplace(plan.net->posterior, plan.net->test, plan.net->test_answers, resolved.chains,
                     net::DrawKeeper::Options{.folder = folder ? &*folder : nullptr,
                                              .draws = s.format == "npy",
                                              .next = files ? &*files : nullptr,
                                              .with_metric = dimension <= large_network});
    ProgressBar bar(s.quiet);
    Hooks hooks;
    hooks.listener = keeper ? static_cast<DrawListener*>(&*keeper) : files ? &*files : nullptr;
    hooks.progress = [&](const Progress& progress) {
      if (folder && progress.steps_done > 0) folder->replace();
      bar.show(progress);
    };
    hooks.stop = &stop_asked;
    hooks.seconds_used = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    finished = carry_out(s, plan, std::move(resolved), hooks);
    finished->choice = choice;
    if (folder) folder->replace();
  } catch (...) {
    try {
      write_status("failed");
    } catch (
        const std::exception& error) {  // the disk may be full: what went wrong first is what to end with
      if (!s.quiet) say("note: {}\n", error.what());
    }
    throw;
  }
  const Run& run = *finished;

  // The files first: whoever reads stdout may be gone. But what was sampled is shown even if they fail.
  std::exception_ptr trouble;
  const auto keep = [&](const auto& write) {
    try {
      if (folder) write();
    } catch (const Error&) {
      if (!trouble) trouble = std::current_exception();
    }
  };
  keep([&] { write_status(status_word(run.ending)); });
  std::signal(SIGINT, SIG_DFL);  // every draw is on disk
  std::signal(SIGTERM, SIG_DFL);
  const Sampled sampled = summarise_run(run);
  auto result = result_json(s.model.name, run, sampled.parameters,
                            s.all_parameters ? sampled.parameters.size() : std::size_t{1000});
  result["draws"] = sampled.draws;
  result["status"] = status_word(run.ending);
  if (tuning) result["tuning"] = tuning_json(*tuning);
  std::optional<net::Predictive> predictive;
  if (keeper && sampled.chains > 0) {
    predictive = keeper->predictive();
    result["predictions"] = predictions_json(*plan.net, *predictive);
    keep([&] { net::write_predictions(*folder, *predictive, predictive->width()); });
  }
  keep([&] { write_file_atomically(folder->summary_json(), json_text(result, 1) + "\n"); });
  if (sampled.chains > 0) keep([&] { draw_picture(*folder, run); });

  if (s.json)
    fmt::print("{}\n", json_text(result));
  else if (sampled.chains > 0)
    print_result(s, run, sampled);
  if (!plan.priors.empty() && !s.json && sampled.chains > 0) fmt::print("priors: {}\n", plan.priors);
  if (predictive && !s.json) fmt::print("{}\n", describe_predictions(*plan.net, *predictive));
  std::fflush(stdout);  // before what goes to stderr, should both go to one place
  if (!s.quiet) {
    print_notes(s, run, sampled);
    if (folder) say("files: {}\n", folder->path().string());
  }
  if (trouble) std::rethrow_exception(trouble);
  if (run.ending == Ending::interrupted) return interrupted;
  if (sampled.chains == 0 && s.quiet)
    say("stopped at --max-seconds {} in warm-up, without draws\n", run.settings.max_seconds);
  return sampled.chains == 0 ? failed : done;
}

}  // namespace

void add_sample(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto& run = s->run;
  auto* command = app.add_subcommand("sample", "sample a model");
  add_model_options(*command, s->model);
  const auto glm_options = add_glm_options(*command, s->glm);
  const auto net_options = add_net_options(*command, s->net, true);
  command
      ->add_option("--sampler", run.sampler,
                   "auto: short pilots choose; or a name of those that `onward samplers` lists")
      ->capture_default_str();
  add_number(*command, "--step-size", run.step_size, "fixed; without it warm-up finds it");
  command->add_option("--tune", s->tune,
                      "look for the step size by short runs: bayes (expected improvement) or grid");
  add_count(*command, "--tune-trials", s->tuning.trials, 1, "short runs of --tune");
  add_number(*command, "--target-acceptance", run.target_acceptance,
             "what warm-up steers to [the sampler's own]");
  command
      ->add_option("--bias-correction", s->bias_correction,
                   "none, coupled or drift: the paper's appendix B.1")
      ->capture_default_str();
  add_number(*command, "--curvature-floor", run.curvature_floor,
             "pc samplers: curvature is at least this times slope²; 0 is the paper's");
  command->add_flag("--as-published", run.as_published, "mala: two gradients a step, as in the paper");
  command
      ->add_option("--directions", run.directions,
                   "auto, sphere, frames, axes, blocks[:NAMES], units (of a network) or a mixture such as "
                   "frames*3+axes")
      ->capture_default_str();
  command
      ->add_option(
          "--tangent", s->tangent,
          "kept: what is known of the next step's jet is used; fresh: as in the paper, two jets a step")
      ->capture_default_str();
  command
      ->add_option(
          "--vectors", s->vectors,
          "held: directions and noise in memory; regenerated: read from their stream at each use, for "
          "large networks (sphere, no metric)")
      ->capture_default_str();
  add_count(*command, "--inner", run.inner, 1, "line samplers: moves along each line");
  add_number(*command, "--relaxation", run.relaxation,
             "newton-line: between 0 and 2, over-relaxed above 1; glm's own sampler unless given: 1.3");
  add_count(*command, "--warmup", run.warmup, 0,
            "steps of warm-up per chain [1000, times D for line samplers; glm: 100 sweeps; net with more "
            "than 1000 parameters: 1000]");
  add_count(*command, "--draws", run.draws, 1, "draws kept per chain");
  add_count(
      *command, "--thin", run.thin, 1,
      "steps from one kept draw to the next [by the pilots of --sampler auto; else 1, D for line samplers]");
  add_count(*command, "--chains", run.chains, 1, "independent chains");
  add_count(*command, "--threads", run.threads, 0,
            "0: as many as chains and cores allow; the draws do not depend on it");
  add_count(*command, "--seed", run.seed, 0, "without it one is taken from the system and reported");
  command
      ->add_option(
          "--init", s->init,
          "start, in the space that is sampled: FILE (JSON array or .npy; net: also .safetensors), zeros, "
          "random[:SCALE], or for net lecun, which is its default")
      ->capture_default_str();
  command->add_option(
      "--metric", s->metric,
      "what warm-up learns besides the step size: none, diag, dense or lowrank [dense up to 100 parameters, "
      "lowrank above; none with --step-size]");
  add_number(*command, "--temperature", run.temperature, "samples density^(1/T)");
  add_number(*command, "--max-seconds", run.max_seconds, "stop there and keep what there is; 0: no limit");
  command->add_option(
      "--out", s->out,
      "folder for the run's files, or none [the first free of onward-out, onward-out-2, ...]");
  command->add_flag("--force", s->force, "write into an existing folder, replacing the run that is there");
  command->add_option("--format", s->format, "of the draws: csv; net: also npy, all parameters as floats")
      ->capture_default_str();
  command->add_flag("--all-parameters", s->all_parameters, "report every parameter, however many there are");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no progress, notes or warnings");
  s->note_idle_options = [command, s = s.get()](const std::string& sampler) {
    const bool line = find_sampler(sampler).line, forward = sampler != "rwm" && sampler != "mala",
               pc = sampler.starts_with("pc-"), newton = sampler == "newton-line";
    const std::pair<const char*, bool> used[] = {
        {"--directions", forward},
        {"--tangent", forward},
        {"--inner", line},
        {"--relaxation", newton},
        {"--curvature-floor", pc || newton},
        {"--as-published", sampler == "mala"},
        {"--gradient", sampler == "mala"},
        {"--target-acceptance", !newton},
        {"--bias-correction", forward && !newton && sampler != "pc-line-fmala"}};
    for (const auto& [option, does_something] : used)
      if (command->count(option) > 0 && !does_something)
        say("note: {} changes nothing for {}\n", option, sampler);
    if (command->count("--keep-activations") > 0 && s->net.keep_otherwise == 0)
      say("note: --keep-activations changes nothing without --directions blocks or units\n");
    if (command->count("--tune-trials") > 0 && command->count("--tune") == 0)
      say("note: --tune-trials changes nothing without --tune\n");
  };
  s->check_model = [s = s.get(), command, glm_options, net_options] {
    const std::string& model = s->model.name;
    if (!is_net(*s)) refuse_net_options(net_options, model);
    if (!is_glm(*s))
      refuse_glm_options(glm_options, model, is_net(*s) ? glm_options_of_nets : std::vector<std::string>{});
    if (is_net(*s) && command->count("--init") == 0) s->init = "lecun";
    if (!is_glm(*s) && !is_net(*s)) return;
    for (const char* option : {"--dim", "--condition"})
      if (command->count(option) > 0)
        throw UsageError(fmt::format("{} is not an option of {}: the data give the size", option, model));
    if (is_net(*s)) return;
    if (s->run.sampler != "auto") return;
    if (command->count("--relaxation") == 0) s->run.relaxation = glm::AxisSettings{}.relaxation;
    for (const char* option : {"--step-size", "--tune", "--target-acceptance", "--bias-correction",
                               "--curvature-floor", "--as-published", "--directions", "--tangent",
                               "--vectors", "--inner", "--init", "--metric", "--temperature"})
      if (command->count(option) > 0)
        throw UsageError(fmt::format(
            "{} is not an option of glm's own sampler, which goes along whitened axes from near the mode: "
            "leave it out, or name another by --sampler",
            option));
  };
  command->callback([s, &action] { action = [s] { return sample_model(*s); }; });
}

}  // namespace onward::app
