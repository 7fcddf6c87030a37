// `onward paper`: the paper's experiments, each with its published figures beside ours.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "experiments/bnn_report.hpp"
#include "experiments/funnel_draws.hpp"
#include "experiments/funnel_report.hpp"
#include "experiments/logreg_report.hpp"
#include "experiments/single_step.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/util/suggest.hpp"
#include "paper_cnn.hpp"
#include "progress_bar.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using experiments::BnnSettings;
using experiments::FunnelSettings;
using experiments::LogregSettings;

struct Settings {
  FunnelSettings funnel;
  LogregSettings logreg;
  BnnSettings bnn;
  CnnRequest cnn;
  std::vector<std::string> cnn_options;  // that no other experiment has
  // What several experiments have, each with a default of its own.
  std::vector<std::string> samplers;
  std::optional<std::size_t> steps, chains, burn, thin, images, seeds;
  std::map<std::string, double> step_sizes;
  bool tune = false;
  std::string data;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  std::string experiment, kl = "forward", out;
  bool quick = false, json = false, quiet = false, force = false, resume = false;
  std::optional<RunFolder> folder;  ///< of --out, locked while the table is made
};

std::atomic<bool> stop_asked{false};
extern "C" void ask_paper_to_stop(int signal_number) {
  stop_asked = true;
  std::signal(signal_number, SIG_DFL);
}

/// The folder of --out: a new one, or with --resume the one of a run that was cut short, or with --force
/// cleared. Nobody else writes to it until the program ends.
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
    s.folder.emplace(RunFolder::reopen(folder));
  } else {
    s.folder.emplace(RunFolder::create(folder, s.force)).replace();
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with("row-") && file.ends_with(".json")) fs::remove(entry.path());
    }
  }
  s.funnel.checkpoint = (folder / "checkpoint").string();
  s.logreg.folder = s.bnn.folder = s.cnn.table.folder = folder.string();
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
    write_file_atomically(folder / "table.json", json_text(json, 1) + "\n");
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
    fmt::print("{}\n", json_text(json));
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
    write_file_atomically(folder / "table.json", json_text(json, 1) + "\n");
    experiments::logreg_figure(*table, s.out);
  }
  if (s.json)
    fmt::print("{}\n", json_text(json));
  else
    fmt::print("{}\n{}\n", experiments::logreg_text(*table), duration(table->seconds));
  return done;
}

int paper_bnn(Settings& s) {
  experiments::validate(s.bnn);
  prepare_folder(s);
  stop_when_told();
  ProgressBar bar(s.quiet);
  const std::size_t rows = s.bnn.samplers.size() * s.bnn.temperatures.size();
  const auto table = experiments::bnn_table(
      s.bnn,
      [&](std::size_t finished, double share) {
        constexpr std::size_t parts = 1000;  // of each sampler's way
        bar.show_pieces(parts * finished + static_cast<std::size_t>(share * parts), parts * rows);
      },
      stop_asked);
  bar.clear();
  if (!table) return interrupted_run(s);
  const auto json = experiments::bnn_json(*table);
  if (!s.out.empty()) {
    const fs::path folder = s.out;
    write_file_atomically(folder / "table.txt", experiments::bnn_text(*table));
    write_file_atomically(folder / "table.md", experiments::bnn_markdown(*table));
    write_file_atomically(folder / "table.csv", experiments::bnn_csv(*table));
    write_file_atomically(folder / "table.json", json_text(json, 1) + "\n");
    experiments::bnn_figures(*table, s.out);
  }
  if (s.json)
    fmt::print("{}\n", json_text(json));
  else
    fmt::print("{}\n{}\n", experiments::bnn_text(*table), duration(table->seconds));
  return done;
}

/// line-fmala=0.001 and so on.
void take_step_size(std::map<std::string, double>& step_sizes, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos)
    throw UsageError(
        fmt::format("--step-size {} lacks its sampler: write --step-size line-fmala=0.001", word));
  step_sizes[word.substr(0, equals)] = parse_number("--step-size", word.substr(equals + 1));
}

const std::vector<std::string> experiment_names{"funnel", "logreg", "bnn", "cnn"};

int run_experiment(Settings& s, const CLI::App& command) {
  const auto only_for = [&](const std::vector<std::string>& experiments,
                            const std::vector<std::string>& options) {
    if (std::find(experiments.begin(), experiments.end(), s.experiment) != experiments.end()) return;
    for (const auto& option : options)
      if (command.count(option) > 0)
        throw UsageError(fmt::format("{} belongs to `onward paper {}`, not to {}", option,
                                     fmt::join(experiments, "` and `onward paper "), s.experiment));
  };
  if (std::find(experiment_names.begin(), experiment_names.end(), s.experiment) == experiment_names.end())
    throw UsageError(fmt::format("there is no experiment '{}'.{} Experiments: {}", s.experiment,
                                 suggestion(s.experiment, experiment_names), joined(experiment_names)));
  only_for({"funnel"},
           {"--dims", "--step-sizes", "--min-step-size", "--max-step-size", "--kl", "--equal", "--lanes"});
  only_for({"funnel", "cnn"}, {"--seeds"});
  only_for({"funnel", "logreg", "bnn"}, {"--steps"});
  only_for({"funnel", "bnn", "cnn"}, {"--chains"});
  only_for({"logreg"}, {"--sweeps"});
  only_for({"logreg", "cnn"}, {"--images"});
  only_for({"logreg", "bnn"}, {"--burn", "--thin", "--tune"});
  only_for({"logreg", "bnn", "cnn"}, {"--step-size", "--data"});
  only_for({"bnn"}, {"--temperature", "--hidden", "--directions"});
  only_for({"cnn"}, s.cnn_options);
  const auto unless_given = [&](const char* option, std::size_t& value, std::size_t quick) {
    if (s.quick && command.count(option) == 0) value = quick;
  };
  auto& cnn = s.cnn.table;
  s.funnel.seed = s.logreg.seed = s.bnn.seed = cnn.seed = s.seed;
  s.funnel.threads = s.logreg.threads = s.bnn.threads = cnn.threads = s.threads;
  if (s.steps) s.funnel.steps = s.logreg.steps = s.bnn.steps = *s.steps;
  if (s.chains) s.funnel.chains = s.bnn.chains = cnn.chains = *s.chains;
  if (s.burn) s.logreg.burn = s.bnn.burn = *s.burn;
  if (s.thin) s.logreg.thin = s.bnn.thin = *s.thin;
  if (s.images) s.logreg.images = cnn.images = *s.images;
  if (s.seeds) s.funnel.seeds = cnn.seeds = *s.seeds;
  if (!s.samplers.empty()) s.funnel.samplers = s.logreg.samplers = s.bnn.samplers = cnn.samplers = s.samplers;
  s.logreg.step_sizes = s.bnn.step_sizes = cnn.step_sizes = s.step_sizes;
  s.logreg.tune = s.bnn.tune = s.tune;
  s.logreg.data = s.bnn.data = cnn.data = s.data;
  if (s.experiment == "funnel") {
    unless_given("--step-sizes", s.funnel.step_sizes, 12);
    unless_given("--seeds", s.funnel.seeds, 4);
    unless_given("--steps", s.funnel.steps, 2000);
    return paper_funnel(s);
  }
  if (s.experiment == "cnn") {
    if (s.quick) make_quick(s.cnn, command);
    return paper_cnn(s.cnn, {s.out, s.quick, s.json, s.quiet, stop_asked,
                             [&] {
                               prepare_folder(s);
                               stop_when_told();
                             },
                             [&] { return interrupted_run(s); }});
  }
  if (s.experiment == "bnn") {
    unless_given("--steps", s.bnn.steps, 1000);
    unless_given("--thin", s.bnn.thin, 10);
    if (s.quick) s.bnn.tune_steps = 200;
    // A fifth, as in the paper.
    if (!s.burn) s.bnn.burn = s.bnn.steps / 5;
    return paper_bnn(s);
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
  if (!s.burn) s.logreg.burn = s.logreg.steps / 2;
  return paper_logreg(s);
}

}  // namespace

void add_paper(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto& f = s->funnel;
  auto* command = app.add_subcommand("paper", "the paper's experiments beside its published figures");
  command
      ->add_option(
          "EXPERIMENT", s->experiment,
          "funnel: Table 1, every sampler over a grid of step sizes; logreg: Table 2, MNIST; bnn: "
          "Table 3, regression by a network; cnn: Tables 4 to 7, a convolutional network on CIFAR-10")
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
  add_count(*command, "--seeds", s->seeds, 1, "independent repetitions, which give the ± [funnel 10, cnn 3]");
  add_count(*command, "--chains", s->chains, 1,
            "funnel: in each of them [5]; bnn: of each sampler [1]; cnn: of each seed, short ones from one "
            "start [12]");
  add_count(*command, "--steps", s->steps, 2, "of each chain [funnel 10000, logreg 100000, bnn 50000]");
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
  add_count(*command, "--images", s->images, 1, "training images, the first so many [logreg 60000, cnn 250]");
  add_count(*command, "--burn", s->burn, 0, "steps that are not kept [logreg half of them, bnn a fifth]");
  add_count(*command, "--thin", s->thin, 1, "logreg, bnn: steps from one kept draw to the next [100]");
  add_count(*command, "--sweeps", l.sweeps, 8,
            "logreg: of newton-line-axis, 7850 steps each, a sixth burned");
  command
      ->add_option_function<std::vector<std::string>>(
          "--step-size",
          [&step_sizes = s->step_sizes](const std::vector<std::string>& words) {
            for (const auto& word : words) take_step_size(step_sizes, word);
          },
          "logreg, bnn: SAMPLER=X,... in place of the stored ones; cnn: in place of a grid")
      ->delimiter(',');
  command->add_flag("--tune", s->tune,
                    "logreg, bnn: look for step sizes first, by short runs from the start");
  command->add_option(
      "--data", s->data,
      "logreg: folder with other images, in files of MNIST's names [MNIST, by `onward data get mnist`]; bnn: "
      "FILE.npy with rows of x and y [a set of that kind is made]; cnn: folder with files of CIFAR-10's "
      "names "
      "[CIFAR-10, by `onward data get cifar10`]");
  command
      ->add_option_function<std::vector<std::string>>(
          "--temperature",
          [&temperatures = s->bnn.temperatures](const std::vector<std::string>& words) {
            temperatures.clear();
            for (const auto& word : words) temperatures.push_back(parse_number("--temperature", word));
          },
          "bnn: of the posterior; 400 is what was published")
      ->delimiter(',')
      ->default_str("400,1");
  command
      ->add_option(
          "--directions", s->bnn.directions,
          "bnn: of line samplers; units: lines within what one unit takes in; sphere: as published, in "
          "all parameters; or as in `onward sample`")
      ->capture_default_str();
  command
      ->add_option_function<std::vector<std::string>>(
          "--hidden",
          [&hidden = s->bnn.hidden](const std::vector<std::string>& words) {
            hidden.clear();
            for (const auto& word : words) hidden.push_back(parse_count("--hidden", word, 1));
          },
          "bnn: widths of the hidden layers; for others than the paper's step sizes are looked for")
      ->delimiter(',')
      ->default_str("100,100,100,100,100");
  s->cnn_options = add_cnn_options(*command, s->cnn);
  command->add_flag(
      "--quick", s->quick,
      "funnel: 12 step sizes, 4 seeds, 2000 steps, under 30 s; logreg: 6000 images, 1000 steps, 24 "
      "sweeps, under 60 s; bnn: 1000 steps, under 60 s; cnn: another network, of width 8, pretraining "
      "included, under 60 s");
  command->add_option("--out", s->out, "folder for table.txt, .md, .csv, .json and figures");
  command->add_flag("--force", s->force, "write into an existing folder, replacing the run that is there");
  command->add_flag("--resume", s->resume, "go on with a run into --out that was cut short");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no progress or notes");
  command->callback([s, command, &action] {
    action = [s, command] {
      try {
        return run_experiment(*s, *command);
      } catch (...) {
        // A folder made for nothing would be in the way of the next try.
        std::error_code none;
        if (!s->out.empty() && fs::is_empty(s->out, none)) fs::remove(s->out, none);
        throw;
      }
    };
  });
}

}  // namespace onward::app
