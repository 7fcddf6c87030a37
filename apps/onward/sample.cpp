// `onward sample`: from options to a run folder, a table and a picture.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_json.hpp"
#include "onward/record/earlier.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "program.hpp"
#include "progress_bar.hpp"
#include "sample_plan.hpp"
#include "sample_report.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

using nlohmann::ordered_json;

/// What is wrong with --out is told before pilots take their time.
void check_folder(const SampleSettings& s) {
  if (s.resume && s.force)
    throw UsageError("--resume goes on with a run and --force replaces it: leave one of them out");
  if (s.out && s.out != "none" && !s.resume) RunFolder::check(*s.out, s.force);
}

/// For --from: a run that is done again is another one if its files are.
void note_changed_files(const SampleSettings& s, const Model& model) {
  if (s.from.empty() || s.quiet) return;
  const ordered_json then = read_run_json(s.from), none = ordered_json::object();
  std::vector<std::string> changed = changed_files(model.spec.files, then["model"].value("files", none));
  for (auto& file : changed_files(fingerprints_of_start(model.start.word), then.value("files", none)))
    changed.push_back(std::move(file));
  for (const auto& file : changed)
    say("note: {} has changed since the run in {}: the draws will be others\n", file, s.from);
}

/// For the sampler auto: what pilots showed. Nothing if the sampler was given.
std::optional<Choice> choose(SampleSettings& s, const Plan& plan, const std::atomic<bool>& stop) {
  if (!s.run.chooses_sampler() || !plan.target) return std::nullopt;
  // Whatever is wrong with the settings is found before the pilots are run.
  RunSettings checked = s.run;
  checked.sampler = usual_sampler;
  resolve(checked, plan.target->dimension());
  s.run = with_seed(s.run);
  ProgressBar bar(s.quiet);
  Hooks hooks;
  // How many pilots there will be is not known before they are over: the line shows that they go on.
  hooks.progress = [&](const Progress& progress) { bar.show_speed(progress, "choosing a sampler"); };
  hooks.stop = &stop;
  Choice choice = choose_sampler(*plan.target, s.run, hooks);
  bar.clear();
  if (!s.quiet && !stop) say("sampler: {}\n", describe(choice));
  return choice;
}

/// For --tune: what was tried. Leaves the best step size in the settings.
std::optional<Tuning> tune(SampleSettings& s, const Plan& plan, const std::atomic<bool>& stop) {
  if (!s.tune || !plan.target) return std::nullopt;
  const AnyTarget& target = *plan.target;
  s.tuning.search = search_from_string(*s.tune);
  if (s.run.step_size)
    throw UsageError("--tune looks for a step size and --step-size gives one: leave one of them out");
  if (s.run.sampler == choose_sampler_word)
    throw UsageError("--tune needs to know for which sampler: name it, as in --sampler pc-line-fmala");
  const RunSettings whole = resolve(s.run, target.dimension());
  s.run = with_seed(s.run);
  ProgressBar bar(s.quiet);
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { bar.show(progress, "looking for a step size: "); };
  hooks.stop = &stop;
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

/// What the run's files and its results are to say of how settings were found.
ordered_json found_json(const std::optional<Choice>& choice, const std::optional<Tuning>& tuning) {
  ordered_json found = ordered_json::object();
  if (choice) found["choice"] = choice_json(*choice);
  if (tuning) found["tuning"] = tuning_json(*tuning);
  return found;
}

Run run_with_progress(const SampleSettings& s, Plan& plan, const std::atomic<bool>& stop,
                      double seconds_used) {
  ProgressBar bar(s.quiet);
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { bar.show(progress); };
  hooks.notes = [&](const std::vector<std::string>& notes) {
    bar.clear();
    if (!s.quiet)
      for (const auto& note : notes) say("note: {}\n", s.in_options(note));
  };
  hooks.stop = &stop;
  hooks.seconds_used = seconds_used;
  try {
    return plan.recorder->run(*plan.maker, hooks);
  } catch (const Error&) {  // a full disk, say: what was saved before is worth going on with
    bar.clear();
    const RunFolder* folder = plan.recorder->folder();
    if (!s.quiet && folder != nullptr && std::filesystem::exists(folder->checkpoint()))
      say("note: `onward sample --resume --out {}` goes on from the last checkpoint once that is mended\n",
          folder->path().string());
    throw;
  }
}

void draw_pictures(Recorder& recorder, const Run& run, const SampledDraws& sampled) {
  if (sampled.chains == 0) return;
  if (!sampled.parameters.empty())
    recorder.keep([&](const RunFolder& folder) { draw_picture(folder, run, sampled); });
  if (const ModelSink* predictions = recorder.predictions())
    if (const auto curve = predictions->curve())
      recorder.keep([&](const RunFolder& folder) { draw_curve(folder, *curve); });
}

void print_all(const SampleSettings& s, const Plan& plan, const Run& run, const SampledDraws& sampled) {
  if (sampled.chains == 0) return;
  print_result(s, plan.model, run, sampled);
  if (const MomentsSink* moments = plan.recorder->moments()) print_moments(s, plan.model.names, *moments);
  for (const auto& line : plan.model.words) fmt::print("{}\n", line);
  if (const ModelSink* predictions = plan.recorder->predictions()) fmt::print("{}\n", predictions->words());
}

/// How long a run is if nobody says: until it is good enough, but within bounds
/// (docs/decisions/until-ess.md).
constexpr double usual_ess = 400;
constexpr std::size_t usual_least = 1000, most_when_asked = 100'000;
/// Many draws of few parameters are no burden.
constexpr std::size_t usual_most(std::size_t parameters) {
  return parameters <= 25 ? 64'000 : parameters <= 125 ? 16'000 : 8'000;
}
/// Draws of more parameters would fill a machine's memory before there are so many.
constexpr std::size_t most_parameters = 10'000;

void settle_length(SampleSettings& s, const Model& model) {
  const bool draws_given = s.run_words.contains("draws");
  if (s.run.until_ess) {
    if (s.max_draws || !draws_given) s.run.draws = s.max_draws.value_or(most_when_asked);
    return;
  }
  if (draws_given || s.keep != "draws" || model.beyond_metrics || model.names.size() > most_parameters)
    return;
  s.run.until_ess = usual_ess;
  s.run.draws = s.max_draws.value_or(usual_most(model.names.size()));
  if (!s.run_words.contains("min_draws")) s.run.min_draws = usual_least;
}

}  // namespace

Recording SampleSettings::recording() const {
  using enum Recording::Into;
  return {.folder = out == "none" ? "" : out.value_or("onward-out"),
          .into = resume  ? resumed
                  : !out  ? numbered
                  : force ? replaced
                          : fresh,
          .format = format,
          .keep = keep,
          .single_precision = single_precision,
          .unconstrained = unconstrained,
          .log_likelihood = log_likelihood,
          .no_data = no_data,
          .checkpoint_seconds = checkpoint_seconds};
}

void read_words(SampleSettings& s) {
  for (const auto& field : setting_fields()) {
    const auto typed = s.run_words.find(field.option.name);
    if (typed == s.run_words.end()) continue;
    if (field.option.name == "init")
      s.init = typed->second;  // which words there are is for the model to say
    else
      field.set(s.run, parse_value(field.option, typed->second));
  }
  for (const auto& option : sampler_options())
    if (const auto typed = s.run_words.find(option.name); typed != s.run_words.end())
      s.run.sampler_options[option.name] = parse_value(option, typed->second);
  s.recording().check(s.spec.kind);
  if (s.run.until_ess && s.keep != "draws")
    throw UsageError(fmt::format(
        "--until-ess judges draws, which --keep {} does not keep: leave one of them out", s.keep));
  if (s.max_draws && s.run_words.contains("min_draws") && s.run.min_draws > *s.max_draws)
    throw UsageError(fmt::format(
        "--min-draws {} is more than --max-draws {}: the run would end before it is first judged; "
        "give a smaller --min-draws or a larger --max-draws",
        s.run.min_draws, *s.max_draws));
  check_choosable(s.run);
}

int sample_model(SampleSettings& s) {
  s.spec = spec_of(s.words);
  read_words(s);
  check_memory(s.run, s.keep == "draws", s.spec.options.value("dim", std::size_t{1}));
  check_folder(s);
  if (s.spec.kind == "glm") return_large_arrays();  // a table, and what is made of it, come and go
  Plan plan = make_plan(s);
  note_changed_files(s, plan.model);
  Recorder& recorder = *plan.recorder;
  settle_length(s, plan.model);
  s.run.start = std::move(plan.model.start);
  check_memory(s.run, s.keep == "draws", plan.model.names.size());
  const std::atomic<bool>& stop = stop_when_told();
  const auto begin = Clock::now();
  const auto tuning = tune(s, plan, stop);
  const auto choice = stop ? std::nullopt : choose(s, plan, stop);
  if (stop) {
    say("interrupted while the sampler or its step size was being chosen, without draws\n");
    return interrupted;
  }
  if (!s.quiet && s.run.sampler == choose_sampler_word && s.run.step_size)
    say("note: --step-size without --sampler means pc-line-fmala\n");
  const RunSettings resolved = plan.maker->resolve(choice ? with_choice(s.run, *choice) : s.run);
  s.run.start = {};  // a network's is large, and the run has its own
  plan.target.reset();
  if (!s.quiet) s.note_idle_options(resolved.sampler);

  recorder.begin(resolved, plan.maker->dimension(), found_json(choice, tuning));
  if (recorder.begins_again() && !s.quiet)
    say("note: the run in {} ended before its first checkpoint: it begins again\n", *s.out);
  Run run = run_with_progress(s, plan, stop, seconds_since(begin));
  run.choice = choice;

  // The files first: whoever reads stdout may be gone. But what was sampled is shown even if they fail.
  recorder.close(run);
  end_when_told();  // every draw is on disk
  plan.release_data();
  const SampledDraws sampled = summarise_run(run, s.quiet);
  const ordered_json result =
      recorder.finish(run, sampled, s.all_parameters ? sampled.parameters.size() : std::size_t{1000});
  draw_pictures(recorder, run, sampled);
  if (s.json)
    fmt::print("{}\n", json_text(result));
  else
    print_all(s, plan, run, sampled);
  std::fflush(stdout);  // before what goes to stderr, should both go to one place
  if (!s.quiet) {
    print_notes(run, plan.model, sampled, s.all_parameters);
    if (recorder.had_all(run)) say("note: all draws were there already; more --draws prolong the run\n");
    if (recorder.folder()) {
      const std::string folder = recorder.folder()->path().string();
      if (run.ending == Ending::interrupted) say("to go on: onward sample --resume --out {}\n", folder);
      say("files: {}\n", folder);
    }
  }
  recorder.rethrow();
  if (run.ending == Ending::interrupted) return interrupted;
  if (sampled.chains == 0 && s.quiet)
    say("stopped at --max-seconds {} in warm-up, without draws\n", run.settings.max_seconds);
  return sampled.chains == 0 ? failed : done;
}

}  // namespace onward::app
