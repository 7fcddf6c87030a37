// `onward paper logreg`: Table 2, softmax regression on MNIST.

#include <algorithm>
#include <memory>

#include "experiments/logreg_report.hpp"
#include "paper.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

struct Request {
  experiments::LogregSettings table;
  PaperOptions options;
};

int run(Request& r, const CLI::App& command) {
  auto& t = r.table;
  if (r.options.quick) {
    unless_given(command, "--images", t.images, 6000);
    unless_given(command, "--steps", t.steps, 1000);
    unless_given(command, "--thin", t.thin, 10);
    unless_given(command, "--sweeps", t.sweeps, 24);
    t.curve_points = 12;
    t.curve_draws = 20;
    t.tune_steps = 100;
  }
  unless_given(command, "--burn", t.burn, t.steps / 2);
  experiments::validate(t);
  note_other_contents(r.options, "mnist", t.data);
  prepare_folder(r.options);
  t.folder = r.options.out;
  ProgressBar bar(r.options.quiet);
  const auto table = experiments::logreg_table(
      t,
      [&](const std::string& sampler, double share) {
        const auto before = static_cast<std::size_t>(
            std::find(t.samplers.begin(), t.samplers.end(), sampler) - t.samplers.begin());
        bar.show_shares(before, share, t.samplers.size());
      },
      stop_when_told());
  bar.clear();
  if (!table) return interrupted_run(r.options);
  return show(r.options, {experiments::logreg_text(*table), experiments::logreg_markdown(*table), "",
                          experiments::logreg_json(*table), table->seconds,
                          [&](const std::string& folder) { experiments::logreg_figure(*table, folder); }});
}

}  // namespace

void add_logreg(CLI::App& paper, Action& action) {
  auto r = std::make_shared<Request>();
  auto& t = r->table;
  auto& command = *paper.add_subcommand("logreg", "Table 2: softmax regression on MNIST");
  add_common_settings(command, t);
  add_count(command, "--images", t.images, 1, "training images, the first so many");
  add_steps(command, t, "half of them");
  add_count(command, "--sweeps", t.sweeps, 8, "of newton-line-axis, 7850 steps each, a sixth burned");
  add_stored_step_sizes(command, t);
  command
      .add_option("--data", t.data,
                  "folder with other images, in files of MNIST's names [MNIST, by `onward data get mnist`]")
      ->type_name("DIR");
  add_paper_options(command, r->options, "6000 images, 1000 steps, 24 sweeps: under 60 s");
  set_action(command, action, r->options, [r, &command] { return run(*r, command); });
}

}  // namespace onward::app
