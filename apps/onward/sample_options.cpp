// The options of `onward sample`.

#include <algorithm>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "sample_settings.hpp"

namespace onward::app {

std::shared_ptr<SampleSettings> add_sample_options(CLI::App* command) {
  auto s = std::make_shared<SampleSettings>();
  auto& run = s->run;
  add_model_options(*command, s->words, true);
  command
      ->add_option("--sampler", run.sampler,
                   "auto: short pilots choose; or a name of those that `onward samplers` lists")
      ->capture_default_str();
  add_number(*command, "--step-size", run.step_size, "fixed; without it warm-up finds it");
  command->add_option("--tune", s->tune,
                      "look for the step size by short runs: bayes (expected improvement) or grid");
  add_count(*command, "--tune-trials", s->tuning.trials, 1, "short runs of --tune");
  command->add_flag("--adapt-in-warmup", run.adapt_in_warmup,
                    "with --step-size: warm-up finds one of its own to learn the metric by");
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
  add_number(*command, "--until-ess", run.until_ess,
             "go on until every bulk and tail ESS is so large and R-hat < 1.01, for at most --max-draws");
  add_count(*command, "--max-draws", s->max_draws, 1, "--until-ess: the most draws a chain makes");
  add_count(*command, "--chains", run.chains, 1, "independent chains");
  add_count(*command, "--threads", run.threads, 0,
            "0: as many as chains and cores allow; the draws do not depend on it");
  add_count(*command, "--seed", run.seed, 0, "without it one is taken from the system and reported");
  command->add_option(
      "--init", s->init,
      "start, in the space that is sampled: FILE (JSON array or .npy; net: also .safetensors), zeros, "
      "random[:SCALE], or for net lecun [random; net: lecun]");
  command->add_option(
      "--metric", s->metric,
      "what warm-up learns besides the step size: none, diag, dense or lowrank [dense up to 100 parameters, "
      "lowrank above; none with --step-size]");
  add_number(*command, "--temperature", run.temperature, "samples density^(1/T)");
  add_number(*command, "--max-seconds", run.max_seconds, "stop there and keep what there is; 0: no limit");
  command->add_option(
      "--out", s->out,
      "folder for the run's files, or none [the first free of onward-out, onward-out-2, ...]");
  command->add_option("--from", s->from,
                      "folder of an earlier run: its model and settings, seed included, unless given here");
  command->add_flag("--resume", s->resume,
                    "go on with the run in --out DIR as if it had never stopped; more --draws prolong it");
  add_number(*command, "--checkpoint-seconds", s->checkpoint_seconds,
             "how often what --resume needs is saved; 0: after warm-up and at the end alone");
  command->add_flag("--force", s->force, "write into an existing folder, replacing the run that is there");
  command
      ->add_option("--format", s->format,
                   "of the draws, one or several with commas: csv, netcdf; net: also npy, all parameters as "
                   "floats")
      ->capture_default_str();
  command
      ->add_option(
          "--keep", s->keep,
          "draws; predictions (net); moments: means and sds of all parameters; trace: 8 bytes a step, "
          "from which `onward replay` gives every state back")
      ->capture_default_str();
  command->add_flag("--single-precision", s->single_precision, "netcdf: draws as floats");
  command->add_flag("--unconstrained", s->unconstrained,
                    "netcdf: also the draws in the space that is sampled, as unconstrained_posterior");
  command->add_flag("--log-likelihood", s->log_likelihood,
                    "netcdf, regressions: also the log likelihood of each observation at each draw");
  command->add_flag("--no-data", s->no_data,
                    "netcdf, regressions: leave out the data (observed_data and constant_data)");
  command->add_flag("--all-parameters", s->all_parameters, "report every parameter, however many there are");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no progress, notes or warnings");
  s->note_idle_options = [command](const std::string& sampler) {
    for (const char* option : {"directions", "tangent", "inner", "relaxation", "curvature_floor",
                               "as_published", "target_acceptance", "bias_correction"}) {
      std::string word = std::string("--") + option;
      std::ranges::replace(word, '_', '-');
      if (command->count(word) > 0 && !uses(sampler, option))
        say("note: {} changes nothing for {}\n", word, sampler);
    }
    if (command->count("--tune-trials") > 0 && command->count("--tune") == 0)
      say("note: --tune-trials changes nothing without --tune\n");
  };
  s->in_options = [command](const std::string& text) { return in_option_words(*command, text); };
  s->check_model = [s = s.get(), command] {
    const ModelKind& kind = model_registry().find(s->spec.kind);
    if (kind.own_sampler.empty() || (s->run.sampler != "auto" && s->run.sampler != kind.own_sampler)) return;
    for (const char* option : {"--step-size", "--tune", "--target-acceptance", "--bias-correction",
                               "--curvature-floor", "--as-published", "--directions", "--tangent",
                               "--vectors", "--inner", "--init", "--metric", "--temperature"})
      if (command->count(option) > 0)
        throw UsageError(fmt::format(
            "{} is not an option of {}'s own sampler, {}: leave it out, or name another by --sampler", option,
            kind.name, kind.own_sampler));
  };
  s->most_draws_given = [command] {
    return command->count("--max-draws") > 0 || command->count("--draws") == 0;
  };
  return s;
}

void add_sample(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("sample", "sample a model");
  const auto s = add_sample_options(command);
  command->callback([s, &action] { action = [s] { return sample_model(*s); }; });
}

}  // namespace onward::app
