// `onward paper funnel`: Table 1, every sampler over a grid of step sizes.

#include <memory>

#include <fmt/format.h>

#include "experiments/funnel_draws.hpp"
#include "experiments/funnel_report.hpp"
#include "experiments/single_step.hpp"
#include "onward/error.hpp"
#include "paper.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

using experiments::FunnelTable;

struct Request {
  experiments::FunnelSettings table;
  std::string kl = "forward";
  PaperOptions options;
};

void draw_figures(const FunnelTable& table, const std::string& folder) {
  experiments::funnel_figures(table, folder);
  for (const std::size_t dim : table.settings.dims) {
    std::vector<experiments::FunnelDraws> draws;
    for (const auto& row : table.rows)
      if (row.dim == dim) draws.push_back({row.sampler, row.cells[row.best].step_size, row.points});
    experiments::funnel_draws_figure(dim, draws, folder);
  }
  experiments::single_step_figure(folder, table.settings.seed);
}

int run(Request& r, const CLI::App& command) {
  auto& t = r.table;
  if (r.kl != "forward" && r.kl != "reverse")
    throw UsageError(fmt::format(
        "--kl '{}' is not known: it is forward (KL(p||q), as in the paper's table) or reverse", r.kl));
  t.reverse_kl = r.kl == "reverse";
  if (r.options.quick) {
    unless_given(command, "--step-sizes", t.step_sizes, 12);
    unless_given(command, "--seeds", t.seeds, 4);
    unless_given(command, "--steps", t.steps, 2000);
  }
  experiments::validate(t);
  prepare_folder(r.options, "checkpoint");
  if (!r.options.out.empty()) t.checkpoint = r.options.out + "/checkpoint";
  ProgressBar bar(r.options.quiet);
  const auto table = experiments::funnel_table(
      t, [&](std::size_t done_pieces, std::size_t total) { bar.show_pieces(done_pieces, total); },
      &stop_when_told());
  bar.clear();
  if (!table) return interrupted_run(r.options);
  return show(r.options, {experiments::funnel_text(*table), experiments::funnel_markdown(*table),
                          experiments::funnel_csv(*table), experiments::funnel_json(*table), table->seconds,
                          [&](const std::string& folder) { draw_figures(*table, folder); }});
}

}  // namespace

void add_funnel(CLI::App& paper, Action& action) {
  auto r = std::make_shared<Request>();
  auto& t = r->table;
  auto& command = *paper.add_subcommand("funnel", "Table 1: every sampler over a grid of step sizes");
  add_counts(command, "--dims", t.dims, "numbers of x's", "10,50,100");
  add_common_settings(command, t);
  add_count(command, "--step-sizes", t.step_sizes, 1, "points of the grid, evenly spaced in log");
  add_number(command, "--min-step-size", t.min_step_size, "of the grid [0.1, or 0.01 from 100 x's on]");
  add_number(command, "--max-step-size", t.max_step_size, "of the grid");
  add_count(command, "--seeds", t.seeds, 1, "independent repetitions, which give the ±");
  add_count(command, "--chains", t.chains, 1, "in each of them");
  add_count(command, "--steps", t.steps, 2, "of each chain");
  command
      .add_option("--kl", r->kl,
                  "forward: KL(p||q), as in the paper's table; reverse: KL(q||p), as in its text")
      ->capture_default_str();
  command
      .add_option_function<std::vector<std::string>>(
          "--equal",
          [&t](const std::vector<std::string>& words) {
            t.equal.clear();
            if (words == std::vector<std::string>{"none"}) return;
            for (const auto& word : words) t.equal.push_back(experiments::budget_from_string(word));
          },
          "also the table at equal evaluations, time, or both: --equal evaluations,time")
      ->delimiter(',')
      ->default_str("none");
  add_count(command, "--lanes", t.lanes, 0,
            "chains that share a register, 0: all that fit; the table does not depend on it");
  add_paper_options(command, r->options, "12 step sizes, 4 seeds, 2000 steps: under 30 s");
  set_action(command, action, r->options, [r, &command] { return run(*r, command); });
}

}  // namespace onward::app
