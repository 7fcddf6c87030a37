// `onward paper`: the paper's experiments, each with its published figures beside ours.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "experiments/funnel_draws.hpp"
#include "experiments/funnel_report.hpp"
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

struct Settings {
  FunnelSettings funnel;
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
    if (!fs::exists(folder / "checkpoint"))
      throw Error(fmt::format("{} has no checkpoint to go on from; leave --resume out to begin", s.out));
  } else {
    RunFolder::create(folder, s.force);
  }
  s.funnel.checkpoint = (folder / "checkpoint").string();
}

int paper_funnel(Settings& s) {
  if (s.kl != "forward" && s.kl != "reverse")
    throw UsageError(fmt::format(
        "--kl '{}' is not known: it is forward (KL(p||q), as in the paper's table) or reverse", s.kl));
  s.funnel.reverse_kl = s.kl == "reverse";
  experiments::validate(s.funnel);
  prepare_folder(s);
  std::signal(SIGINT, ask_paper_to_stop);
  std::signal(SIGTERM, ask_paper_to_stop);
  ProgressBar bar(s.quiet);
  const auto table = experiments::funnel_table(
      s.funnel, [&](std::size_t done_pieces, std::size_t total) { bar.show_pieces(done_pieces, total); },
      &stop_asked);
  bar.clear();
  if (!table) {
    if (!s.quiet)
      say("interrupted{}\n",
          s.out.empty() ? "" : fmt::format("; `--resume --out {}` goes on from there", s.out));
    return interrupted;
  }
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

}  // namespace

void add_paper(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto& f = s->funnel;
  auto* command = app.add_subcommand("paper", "the paper's experiments beside its published figures");
  command->add_option("EXPERIMENT", s->experiment, "funnel: Table 1, every sampler over a grid of step sizes")
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
  command->add_option("--samplers", f.samplers, "`onward samplers` lists them")
      ->delimiter(',')
      ->capture_default_str();
  add_count(*command, "--step-sizes", f.step_sizes, 1, "points of the grid, evenly spaced in log");
  add_number(*command, "--min-step-size", f.min_step_size, "of the grid [0.1, or 0.01 from 100 x's on]");
  add_number(*command, "--max-step-size", f.max_step_size, "of the grid");
  add_count(*command, "--seeds", f.seeds, 1, "independent repetitions, which give the ±");
  add_count(*command, "--chains", f.chains, 1, "in each of them");
  add_count(*command, "--steps", f.steps, 2, "of each chain");
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
          "tables beside the paper's, at an equal number of evaluations and at equal time, or none")
      ->delimiter(',')
      ->default_str("evaluations,time");
  add_count(*command, "--seed", f.seed, 0, "of all random numbers");
  add_count(*command, "--threads", f.threads, 0, "0: all cores; the table does not depend on it");
  add_count(*command, "--lanes", f.lanes, 0,
            "chains that share a register, 0: all that fit; the table does not depend on it");
  command->add_flag("--quick", s->quick, "12 step sizes, 4 seeds, 2000 steps: under 30 s");
  command->add_option("--out", s->out, "folder for table.txt, .md, .csv, .json and figures");
  command->add_flag("--force", s->force, "write into an existing folder, replacing the run that is there");
  command->add_flag("--resume", s->resume, "go on with a run into --out that was cut short");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no progress or notes");
  command->callback([s, command, &action] {
    if (s->quick) {
      const auto unless_given = [&](const char* option, std::size_t& value, std::size_t quick) {
        if (command->count(option) == 0) value = quick;
      };
      unless_given("--step-sizes", s->funnel.step_sizes, 12);
      unless_given("--seeds", s->funnel.seeds, 4);
      unless_given("--steps", s->funnel.steps, 2000);
    }
    action = [s] {
      const std::vector<std::string> experiments{"funnel"};
      if (s->experiment == "funnel") return paper_funnel(*s);
      throw UsageError(fmt::format("there is no experiment '{}'.{} Experiments: {}", s->experiment,
                                   suggestion(s->experiment, experiments), joined(experiments)));
    };
  });
}

}  // namespace onward::app
