// The options of `onward sample`.

#include <algorithm>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/util/suggest.hpp"
#include "program.hpp"
#include "sample_settings.hpp"

namespace onward::app {

namespace {

/// What the program does unless it is told (settle_length in sample.cpp).
const std::map<std::string, std::string> usual_lengths{
    {"draws",
     "at least 1000, and on until every ESS is 400, up to 8000 (16000 of at most 125 parameters, 64000 of at "
     "most 25)"},
    {"until_ess", "400, unless `draws` is given"},
    {"min_draws", "125; 1000 if `until_ess` is not given"}};

/// The fields of RunSettings, and whatever samplers describe, as options of the command.
class RunOptions {
 public:
  RunOptions(CLI::App& command, std::map<std::string, std::string>& words)
      : command_(command), words_(words) {}

  void add() {
    for (const auto& field : setting_fields()) add(field.option, "Options");
    for (auto& option : sampler_options()) {
      option.help = fmt::format("{} ({})", option.help, joined(samplers_with(option.name)));
      option.otherwise = usual_values(option);
      add(option, "Options of some samplers");
    }
    // Only now does the command know all options that texts may name.
    for (const auto& [option, text] : texts_) option->description(in_option_words(command_, text));
  }

 private:
  void add(const Option& option, const char* group) {
    const std::string typed = typed_option(option);
    const auto take = [&words = words_, name = option.name](const std::string& word) { words[name] = word; };
    CLI::Option* added = option.type == Option::Type::flag
                             ? command_.add_flag_callback(typed, [take] { take("true"); })
                             : command_.add_option_function<std::string>(typed, take);
    if (option.type != Option::Type::flag) added->type_name(value_word(option));
    added->group(group);
    const auto usual = usual_lengths.find(option.name);
    const std::string otherwise = usual != usual_lengths.end() ? usual->second : otherwise_of(option);
    texts_.emplace_back(added,
                        otherwise.empty() ? option.help : fmt::format("{} [{}]", option.help, otherwise));
  }

  /// The default, and that of samplers that have another.
  static std::string usual_values(const Option& option) {
    std::string text = otherwise_of(option);
    for (const auto& sampler : all_samplers())
      for (const auto& own : sampler.options)
        if (own.name == option.name && own.usual != option.usual)
          text += fmt::format("; {}: {}", sampler.name, otherwise_of(own));
    return text;
  }

  static std::string otherwise_of(const Option& option) {
    if (!option.otherwise.empty() || option.type == Option::Type::flag || option.usual.is_null())
      return option.otherwise;
    if (option.usual.is_string()) return option.usual.get<std::string>();
    return fmt::format("{}", option.usual.get<double>());
  }

  CLI::App& command_;
  std::map<std::string, std::string>& words_;
  std::vector<std::pair<CLI::Option*, std::string>> texts_;
};

/// Options of one sampler that this one does not have change nothing, which is worth a word.
void note_idle(const SampleSettings& s, const SamplerInfo& sampler) {
  for (const auto& [name, word] : s.run_words)
    if (!concerns(name, sampler))
      say("{}\n", s.in_options(fmt::format("note: `{}` changes nothing for {}", name, sampler.name)));
  if (s.max_draws && !s.run.until_ess) say("note: --max-draws changes nothing without --until-ess\n");
  if (s.tuning.trials != TuneSettings{}.trials && !s.tune)
    say("note: --tune-trials changes nothing without --tune\n");
}

/// A model's own sampler finds by itself what kernels are told.
void check_own_sampler(const SampleSettings& s) {
  const ModelKind& kind = model_registry().find(s.spec.kind);
  const bool takes_own = s.run.sampler == choose_sampler_word || s.run.sampler == kind.own_sampler;
  if (kind.own_sampler.empty() || !takes_own) return;
  const auto refuse = [&](const std::string& option) {
    throw UsageError(
        fmt::format("{} is not an option of {}'s own sampler, {}: leave it out, or name another by --sampler",
                    option, kind.name, kind.own_sampler));
  };
  if (s.tune) refuse("--tune");
  for (const auto& [name, word] : s.run_words)
    if (!concerns(name, find_sampler(kind.own_sampler))) refuse("`" + name + "`");
}

}  // namespace

std::shared_ptr<SampleSettings> add_sample_options(CLI::App* command, const std::string& kind) {
  auto s = std::make_shared<SampleSettings>();
  add_model_options(*command, s->words, true, kind);
  RunOptions(*command, s->run_words).add();
  add_count(*command, "--max-draws", s->max_draws, 1,
            "--until-ess: the most draws a chain makes [100000; 8000, or 64000 of at most 25 parameters, if "
            "--until-ess is not given]");
  command->add_option("--tune", s->tune,
                      "look for the step size by short runs: bayes (expected improvement) or grid");
  add_count(*command, "--tune-trials", s->tuning.trials, 1, "short runs of --tune");
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
  s->note_idle_options = [s = s.get()](const std::string& sampler) { note_idle(*s, find_sampler(sampler)); };
  s->in_options = [command](const std::string& text) { return in_option_words(*command, text); };
  s->check_model = [s = s.get()] { check_own_sampler(*s); };
  return s;
}

void add_sample(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("sample", "sample a model");
  const auto s = add_sample_options(command);
  command->callback([s, &action] { action = [s] { return sample_model(*s); }; });
}

void add_glm(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("glm", "sample a regression from a table and a formula");
  const auto s = add_sample_options(command, "glm");
  command->callback([s, &action] { action = [s] { return sample_model(*s); }; });
}

}  // namespace onward::app
