// The command line program: it parses, calls the library, prints, and turns problems into exit codes.

#include "commands.hpp"
#include "earlier_run.hpp"
#include "onward/model/registry.hpp"
#include "onward/net/model.hpp"

int main(int argc, char** argv) {
  using namespace onward::app;
  if (argc > 1 && belongs_to_lab(argv[1])) return start_lab(argv);
  onward::net::register_models(onward::model_registry());
  return run_program(
      argc, argv, "onward", "Gradient-based MCMC without the backward pass.",
      [](CLI::App& app, Action& action) {
        app.footer(
            "First steps: `onward sample eight-schools --out schools`, then `onward summary schools`; "
            "`onward "
            "models` and `onward samplers` list what there is.\n"
            "Results go to stdout, progress and notes to stderr. `onward COMMAND --help` tells more.\n"
            "Exit codes: 0 done, 1 could not do it, 2 wrong usage, 130 interrupted (what was sampled is "
            "kept).");
        add_sample(app, action);
        add_glm(app, action);
        add_predict(app, action);
        add_effects(app, action);
        add_check(app, action);
        add_report(app, action);
        add_sbc(app, action);
        add_evaluate(app, action);
        add_serve(app, action);
        add_summary(app, action);
        add_replay(app, action);
        add_loo(app, action);
        add_hypothesis(app, action);
        add_lists(app, action);
        add_lab(app, action);
        add_data(app, action);
      },
      [](const CLI::App& app, std::vector<std::string> typed) {
        return with_earlier_run(app, with_hypotheses_apart(std::move(typed)));
      },
      hint_for_model);
}
