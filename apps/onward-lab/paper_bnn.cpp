// `onward paper bnn`: Table 3, regression by a network.

#include <memory>

#include "experiments/bnn_report.hpp"
#include "paper.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

struct Request {
  experiments::BnnSettings table;
  PaperOptions options;
};

int run(Request& r, const CLI::App& command) {
  auto& t = r.table;
  if (r.options.quick) {
    unless_given(command, "--steps", t.steps, 1000);
    unless_given(command, "--thin", t.thin, 10);
    t.tune_steps = 200;
  }
  unless_given(command, "--burn", t.burn, t.steps / 5);  // as in the paper
  experiments::validate(t);
  prepare_folder(r.options);
  t.folder = r.options.out;
  ProgressBar bar(r.options.quiet);
  const auto table = experiments::bnn_table(
      t,
      [&](std::size_t finished, double share) {
        bar.show_shares(finished, share, t.samplers.size() * t.temperatures.size());
      },
      stop_when_told());
  bar.clear();
  if (!table) return interrupted_run(r.options);
  return show(r.options, {experiments::bnn_text(*table), experiments::bnn_markdown(*table),
                          experiments::bnn_csv(*table), experiments::bnn_json(*table), table->seconds,
                          [&](const std::string& folder) { experiments::bnn_figures(*table, folder); }});
}

}  // namespace

void add_bnn(CLI::App& paper, Action& action) {
  auto r = std::make_shared<Request>();
  auto& t = r->table;
  auto& command = *paper.add_subcommand("bnn", "Table 3: regression by a network");
  add_common_settings(command, t);
  add_count(command, "--chains", t.chains, 1, "of each sampler");
  add_steps(command, t, "a fifth");
  add_stored_step_sizes(command, t);
  command.add_option("--data", t.data, "FILE.npy with rows of x and y [a set of that kind is made]")
      ->type_name("FILE");
  command
      .add_option_function<std::vector<std::string>>(
          "--temperature",
          [&temperatures = t.temperatures](const std::vector<std::string>& words) {
            temperatures.clear();
            for (const auto& word : words) temperatures.push_back(parse_number("--temperature", word));
          },
          "of the posterior; 400 is what was published")
      ->delimiter(',')
      ->type_name("X,...")
      ->default_str("400,1");
  command
      .add_option("--directions", t.directions,
                  "of line samplers; units: lines within what one unit takes in; sphere: as published, in "
                  "all parameters; or as in `onward sample`")
      ->capture_default_str();
  add_counts(command, "--hidden", t.hidden,
             "widths of the hidden layers; for others than the paper's step sizes are looked for",
             "100,100,100,100,100");
  add_paper_options(command, r->options, "1000 steps: under 60 s");
  set_action(command, action, r->options, [r, &command] { return run(*r, command); });
}

}  // namespace onward::app
