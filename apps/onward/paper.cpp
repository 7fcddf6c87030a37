// `onward paper`: the paper's experiments, each with its published figures beside ours.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "experiments/funnel_draws.hpp"
#include "experiments/funnel_report.hpp"
#include "experiments/logreg_report.hpp"
#include "experiments/single_step.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/util/suggest.hpp"
#include "progress_bar.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using experiments::FunnelSettings;
using experiments::LogregSettings;

struct Settings {
  FunnelSettings funnel;
  LogregSettings logreg;
  // What several experiments have, each with a default of its own.
  std::vector<std::string> samplers;
  std::optional<std::size_t> steps;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  std::string experiment, kl = "forward", out;
  bool quick = false, json = false, quiet = false, force = false, resume = false;
};

std::atomic<bool> stop_asked{false};
extern "C" void ask_paper_to_stop(int signal_number) {
  stop_asked = true;
  std::signal(signal_number, SIG_DFL);
}

/// The folder of --out: a new one, or with --resume the one of a run that was cut short, or with --force
/// cleared.
void prepare_folder(Settings& s) {
  if (s.out.empty()) {
    if (s.resume) throw UsageError("--resume needs the --out of the run to go on with");
    return;
  }
  const fs::path folder = s.out;
  if (s.resume) {
    const bool begun = s.experiment == "funnel" ? fs::exists(folder / "checkpoint") : fs::exists(folder);
    if (!begun)
      throw Error(fmt::format("{} has no checkpoint to go on from; leave --resume out to begin", s.out));
  } else {
    RunFolder::create(folder, s.force);
  }
  s.funnel.checkpoint = (folder / "checkpoint").string();
  s.logreg.folder = folder.string();
}

void stop_when_told() {
  std::signal(SIGINT, ask_paper_to_stop);
  std::signal(SIGTERM, ask_paper_to_stop);
}

int interrupted_run(const Settings& s) {
  if (!s.quiet)
    say("interrupted{}\n",
        s.out.empty() ? "" : fmt::format("; `--resume --out {}` goes on from there", s.out));
  return interrupted;
}

int paper_funnel(Settings& s) {
  if (s.kl != "forward" && s.kl != "reverse")
    throw UsageError(fmt::format(
        "--kl '{}' is not known: it is forward (KL(p||q), as in the paper's table) or reverse", s.kl));
  s.funnel.reverse_kl = s.kl == "reverse";
  experiments::validate(s.funnel);
  prepare_folder(s);
  stop_when_told();
  ProgressBar bar(s.quiet);
  const auto table = experiments::funnel_table(
      s.funnel, [&](std::size_t done_pieces, std::size_t total) { bar.show_pieces(done_pieces, total); },
      &stop_asked);
  bar.clear();
  if (!table) return interrupted_run(s);
  const auto json = experiments::funnel_json(*table);
  if (!s.out.empty()) {
    const fs::path folder = s.out;
    write_file_atomically(folder / "table.txt", experiments::funnel_text(*table));
    write_file_atomically(folder / "table.md", experiments::funnel_markdown(*table));
    write_file_atomically(folder / "table.csv", experiments::funnel_csv(*table));
    write_file_atomically(folder / "table.json", json.dump(1) + "\n");
    experiments::funnel_figures(*table, s.out);
    for (std::size_t dim : table->settings.dims) {
      std::vector<experiments::FunnelDraws> draws;
      for (const auto& row : table->rows)
        if (row.dim == dim) draws.push_back({row.sampler, row.cells[row.best].step_size, row.points});
      experiments::funnel_draws_figure(dim, draws, s.out);
    }
    experiments::single_step_figure(s.out, s.funnel.seed);
  }
  if (s.json)
    fmt::print("{}\n", json.dump());
  else
    fmt::print("{}\n{}\n", experiments::funnel_text(*table), duration(table->seconds));
  return done;
}

int paper_logreg(Settings& s) {
  experiments::validate(s.logreg);
  prepare_folder(s);
  stop_when_told();
  ProgressBar bar(s.quiet);
  const std::size_t samplers = s.logreg.samplers.size();
  const auto table = experiments::logreg_table(
      s.logreg,
      [&](const std::string& sampler, double share) {
        const auto& all = s.logreg.samplers;
        const auto before =
            static_cast<std::size_t>(std::find(all.begin(), all.end(), sampler) - all.begin());
        constexpr std::size_t parts = 1000;  // of each sampler's way
        bar.show_pieces(parts * before + static_cast<std::size_t>(share * parts), parts * samplers);
      },
      stop_asked);
  bar.clear();
  if (!table) return interrupted_run(s);
  const auto json = experiments::logreg_json(*table);
  if (!s.out.empty()) {
    const fs::path folder = s.out;
    write_file_atomically(folder / "table.txt", experiments::logreg_text(*table));
    write_file_atomically(folder / "table.md", experiments::logreg_markdown(*table));
    write_file_atomically(folder / "table.json", json.dump(1) + "\n");
    experiments::logreg_figure(*table, s.out);
  }
  if (s.json)
    fmt::print("{}\n", json.dump());
  else
    fmt::print("{}\n{}\n", experiments::logreg_text(*table), duration(table->seconds));
  return done;
}

/// line-fmala=0.001 and so on.
void take_step_size(LogregSettings& logreg, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos)
    throw UsageError(
        fmt::format("--step-size {} lacks its sampler: write --step-size line-fmala=0.001", word));
  logreg.step_sizes[word.substr(0, equals)] = parse_number("--step-size", word.substr(equals + 1));
}

const std::vector<std::string> experiment_names{"funnel", "logreg"};

int run_experiment(Settings& s, const CLI::App& command) {
  const auto only_for = [&](const char* experiment, std::initializer_list<const char*> options) {
    for (const char* option : options)
      if (s.experiment != experiment && command.count(option) > 0)
        throw UsageError(
            fmt::format("{} belongs to `onward paper {}`, not to {}", option, experiment, s.experiment));
  };
  if (std::find(experiment_names.begin(), experiment_names.end(), s.experiment) == experiment_names.end())
    throw UsageError(fmt::format("there is no experiment '{}'.{} Experiments: {}", s.experiment,
                                 suggestion(s.experiment, experiment_names), joined(experiment_names)));
  only_for("funnel", {"--dims", "--step-sizes", "--min-step-size", "--max-step-size", "--seeds", "--chains",
                      "--kl", "--equal", "--lanes"});
  only_for("logreg", {"--images", "--burn", "--thin", "--sweeps", "--step-size", "--tune", "--data"});
  const auto unless_given = [&](const char* option, std::size_t& value, std::size_t quick) {
    if (s.quick && command.count(option) == 0) value = quick;
  };
  s.funnel.seed = s.logreg.seed = s.seed;
  s.funnel.threads = s.logreg.threads = s.threads;
  if (s.steps) s.funnel.steps = s.logreg.steps = *s.steps;
  if (!s.samplers.empty()) s.funnel.samplers = s.logreg.samplers = s.samplers;
  if (s.experiment == "funnel") {
    unless_given("--step-sizes", s.funnel.step_sizes, 12);
    unless_given("--seeds", s.funnel.seeds, 4);
    unless_given("--steps", s.funnel.steps, 2000);
    return paper_funnel(s);
  }
  unless_given("--images", s.logreg.images, 6000);
  unless_given("--steps", s.logreg.steps, 1000);
  unless_given("--thin", s.logreg.thin, 10);
  unless_given("--sweeps", s.logreg.sweeps, 24);
  if (s.quick) {
    s.logreg.curve_points = 12;
    s.logreg.curve_draws = 20;
    s.logreg.tune_steps = 100;
  }
  if (command.count("--burn") == 0) s.logreg.burn = s.logreg.steps / 2;
  return paper_logreg(s);
}

}  // namespace

void add_paper(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto& f = s->funnel;
  auto* command = app.add_subcommand("paper", "the paper's experiments beside its published figures");
  command
      ->add_option("EXPERIMENT", s->experiment,
                   "funnel: Table 1, every sampler over a grid of step sizes; logreg: Table 2, MNIST")
      ->required();
  command
      ->add_option_function<std::vector<std::string>>(
          "--dims",
          [&f](const std::vector<std::string>& words) {
            f.dims.clear();
            for (const auto& word : words) f.dims.push_back(parse_count("--dims", word, 1));
          },
          "numbers of x's")
      ->delimiter(',')
      ->default_str("10,50,100");
  command->add_option("--samplers", s->samplers, "those of the table that are wanted [all]")->delimiter(',');
  add_count(*command, "--step-sizes", f.step_sizes, 1, "points of the grid, evenly spaced in log");
  add_number(*command, "--min-step-size", f.min_step_size, "of the grid [0.1, or 0.01 from 100 x's on]");
  add_number(*command, "--max-step-size", f.max_step_size, "of the grid");
  add_count(*command, "--seeds", f.seeds, 1, "independent repetitions, which give the ±");
  add_count(*command, "--chains", f.chains, 1, "in each of them");
  add_count(*command, "--steps", s->steps, 2, "of each chain [funnel 10000, logreg 100000]");
  command
      ->add_option("--kl", s->kl,
                   "forward: KL(p||q), as in the paper's table; reverse: KL(q||p), as in its text")
      ->capture_default_str();
  command
      ->add_option_function<std::vector<std::string>>(
          "--equal",
          [&f](const std::vector<std::string>& words) {
            f.equal.clear();
            if (words == std::vector<std::string>{"none"}) return;
            for (const auto& word : words) f.equal.push_back(experiments::budget_from_string(word));
          },
          "also the table at equal evaluations, time, or both: --equal evaluations,time")
      ->delimiter(',')
      ->default_str("none");
  add_count(*command, "--seed", s->seed, 0, "of all random numbers");
  add_count(*command, "--threads", s->threads, 0, "0: all cores; the draws do not depend on it");
  add_count(*command, "--lanes", f.lanes, 0,
            "chains that share a register, 0: all that fit; the table does not depend on it");
  auto& l = s->logreg;
  add_count(*command, "--images", l.images, 10, "logreg: training images, the first so many");
  add_count(*command, "--burn", l.burn, 0, "logreg: steps that are not kept [half of them]");
  add_count(*command, "--thin", l.thin, 1, "logreg: steps from one kept draw to the next");
  add_count(*command, "--sweeps", l.sweeps, 8, "logreg: of newton-line-axis, 7850 steps each, half burned");
  command
      ->add_option_function<std::vector<std::string>>(
          "--step-size",
          [&l](const std::vector<std::string>& words) {
            for (const auto& word : words) take_step_size(l, word);
          },
          "logreg: SAMPLER=X,... in place of the stored ones")
      ->delimiter(',');
  command->add_flag("--tune", l.tune, "logreg: look for step sizes first, by short runs from the start");
  command->add_option(
      "--data", l.data,
      "logreg: folder with other images, in files of MNIST's names [MNIST, by `onward data get mnist`]");
  command->add_flag(
      "--quick", s->quick,
      "funnel: 12 step sizes, 4 seeds, 2000 steps, under 30 s; logreg: 6000 images, 1000 steps, 24 "
      "sweeps, under 60 s");
  command->add_option("--out", s->out, "folder for table.txt, .md, .csv, .json and figures");
  command->add_flag("--force", s->force, "write into an existing folder, replacing the run that is there");
  command->add_flag("--resume", s->resume, "go on with a run into --out that was cut short");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no progress or notes");
  command->callback(
      [s, command, &action] { action = [s, command] { return run_experiment(*s, *command); }; });
}

}  // namespace onward::app
