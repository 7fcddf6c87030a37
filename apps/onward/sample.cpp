// `onward sample`: from options to a run folder, a table and a picture.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "earlier_run.hpp"
#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/io/csv_names.hpp"
#include "onward/io/csv_sink.hpp"
#include "onward/io/json.hpp"
#include "onward/io/netcdf_sink.hpp"
#include "onward/io/npy_sink.hpp"
#include "onward/io/run_json.hpp"
#include "onward/io/trace.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/suggest.hpp"
#include "onward/version.hpp"
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
  if (s.out == "") throw UsageError("--out is empty: name a folder, or leave it out, or write --out none");
  if (s.resume && s.force)
    throw UsageError("--resume goes on with a run and --force replaces it: leave one of them out");
  if (s.out && s.out != "none" && !s.resume) RunFolder::check(*s.out, s.force);
}

/// The folder to write to: the one asked for, or the first free of onward-out, onward-out-2, ...
std::optional<RunFolder> make_folder(const SampleSettings& s, bool begins_again) {
  if (s.out == "none") return std::nullopt;
  if (begins_again) return RunFolder::create(*s.out, true);
  if (s.resume) return RunFolder::reopen(*s.out);
  if (s.out) return RunFolder::create(*s.out, s.force);
  return RunFolder::create_next("onward-out");
}

struct Formats {
  bool csv = false, netcdf = false, npy = false;
};

Formats parse_formats(const SampleSettings& s) {
  Formats formats;
  const auto& kinds = model_registry().kinds();
  const bool arrays = model_registry().find(s.spec.kind).has_arrays;
  std::vector<std::string> others;
  for (const auto& kind : kinds)
    if (kind.has_arrays) others.push_back(kind.name);
  for (std::size_t begin = 0; begin <= s.format.size();) {
    const std::size_t end = std::min(s.format.find(',', begin), s.format.size());
    const std::string word = s.format.substr(begin, end - begin);
    if (word == "csv")
      formats.csv = true;
    else if (word == "netcdf")
      formats.netcdf = true;
    else if (word == "npy" && arrays)
      formats.npy = true;
    else
      throw UsageError(fmt::format("--format {} is not known: it is csv or netcdf, or both as csv,netcdf{}",
                                   word,
                                   arrays          ? ", and npy"
                                   : word == "npy" ? "; npy is for the model " + joined(others)
                                                   : ""));
    begin = end + 1;
  }
  if (formats.npy) formats.csv = true;  // of what is shown: the arrays have the parameters alone
  return formats;
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
  hooks.progress = [&](const Progress& progress) { bar.show(progress, "choosing a sampler: "); };
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

/// What listens to the run.
struct Sinks {
  std::vector<std::unique_ptr<Sink>> all;
  ModelSink* own = nullptr;  // of the model
  MomentsSink* moments = nullptr;
  NetcdfSink* netcdf = nullptr;

  template <class S, class... Arguments>
  S* add(Arguments&&... arguments) {
    auto sink = std::make_unique<S>(std::forward<Arguments>(arguments)...);
    S* pointer = sink.get();
    all.push_back(std::move(sink));
    return pointer;
  }
};

Sinks make_sinks(const SampleSettings& s, const Plan& plan, const RunSettings& resolved,
                 const RunFolder* folder, const Checkpoint* resumed) {
  Sinks sinks;
  const Formats formats = parse_formats(s);
  const std::size_t dimension = plan.maker->dimension();
  if (plan.model.make_sink) {
    auto sink = plan.model.make_sink(resolved.chains, folder);
    sinks.own = sink.get();
    sinks.all.push_back(std::move(sink));
  }
  if (s.keep == "moments") sinks.moments = sinks.add<MomentsSink>(plan.model.names.size(), resolved.chains);
  if (!folder) return sinks;
  if (s.keep == "trace") sinks.add<TraceSink>(*folder, resolved, resumed);
  if (s.keep != "draws") return sinks;
  if (formats.csv)
    sinks.add<CsvSink>(*folder, s.spec.kind, resolved, plan.model.names, plan.model.name_indices, resumed);
  if (formats.npy) sinks.add<NpySink>(*folder, dimension, resolved.chains, resumed);
  if (formats.netcdf)
    sinks.netcdf = sinks.add<NetcdfSink>(*folder, s.spec.kind, resolved, plan.model.names,
                                         plan.model.name_indices, s.single_precision, resumed);
  return sinks;
}

/// run.json: everything needed to do the run again, and how it stands.
class RunFile {
 public:
  RunFile(const RunFolder* folder, ordered_json json) : folder_(folder), json_(std::move(json)) {}
  void write(const char* status) {
    if (folder_ == nullptr) return;
    json_["status"] = status;
    write_file_atomically(folder_->run_json(), json_text(json_, 1) + "\n");
  }

 private:
  const RunFolder* folder_;
  ordered_json json_;
};

/// How long a run is if nobody says: until it is good enough, but within bounds
/// (docs/decisions/until-ess.md).
constexpr double usual_ess = 400;
constexpr std::size_t usual_least = 1000, usual_most = 8000, most_when_asked = 100'000;
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
  s.run.draws = s.max_draws.value_or(usual_most);
  if (!s.run_words.contains("min_draws")) s.run.min_draws = usual_least;
}

}  // namespace

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
  parse_formats(s);
  constexpr std::array kept{"draws", "predictions", "moments", "trace"};
  if (std::ranges::find(kept, s.keep) == kept.end())
    throw UsageError(
        fmt::format("--keep {} is not known: it is draws, predictions, moments or trace", s.keep));
  if (s.run.until_ess && s.keep != "draws")
    throw UsageError(fmt::format(
        "--until-ess judges draws, which --keep {} does not keep: leave one of them out", s.keep));
  if (s.keep == "trace" && s.out == "none")
    throw UsageError("--keep trace needs a folder to keep it in: give --out a name");
  check_choosable(s.run);
}

int sample_model(SampleSettings& s) {
  s.spec = spec_of(s.words);
  read_words(s);
  check_memory(s.run, s.spec.options.value("dim", std::size_t{1}));
  check_folder(s);
  Plan plan = make_plan(s);
  if (s.keep == "predictions" && !plan.model.make_sink)
    throw UsageError(fmt::format("--keep predictions is for models that predict, as networks do, not for {}",
                                 s.spec.kind));
  settle_length(s, plan.model);
  s.run.start = std::move(plan.model.start);
  check_memory(s.run, plan.model.names.size());
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
  if (s.keep == "trace") check_traceable(resolved);
  if (!s.quiet) s.note_idle_options(resolved.sampler);

  ordered_json about{{"model", plan.model.to_json()},
                     {"settings", settings_json(resolved)},
                     {"files", fingerprints_of_start(resolved.start.word)}};
  const ordered_json earlier = s.resume ? read_run_json(*s.out) : ordered_json::object();
  const bool begins_again = s.resume && ended_before_checkpoint(*s.out);
  if (begins_again) {
    require_same(*s.out, about, earlier);
    if (!s.quiet) say("note: the run in {} ended before its first checkpoint: it begins again\n", *s.out);
  }
  auto folder = make_folder(s, begins_again);
  std::optional<Resume> resume;
  if (s.resume && !begins_again)
    resume = read_resume(*s.out, about, plan.model.names, plan.model.name_indices,
                         s.keep == "draws" && parse_formats(s).csv);
  ordered_json json{{"onward", version}, {"status", ""}, {"dimension", plan.maker->dimension()}};
  json.update(about);
  json["format"] = s.format;
  json["keep"] = s.keep;
  if (s.single_precision) json["single_precision"] = true;
  for (const auto& [in_file, name] : csv_names(plan.model.names, plan.model.name_indices).changed)
    json["names_in_csv"][in_file] = name;
  if (choice) json["choice"] = choice_json(*choice);
  if (tuning) json["tuning"] = tuning_json(*tuning);
  for (const auto& [field, value] : earlier.items())  // how the sampler was chosen, say
    if (!json.contains(field)) json[field] = value;
  RunFile run_file(folder ? &*folder : nullptr, std::move(json));

  std::optional<Run> finished;
  Sinks sinks;
  try {
    run_file.write("unfinished");  // first: from here on --resume knows what to do
    sinks =
        make_sinks(s, plan, resolved, folder ? &*folder : nullptr, resume ? &resume->checkpoint : nullptr);
    if (resume && sinks.netcdf && !parse_formats(s).csv) resume->chains = sinks.netcdf->earlier();
    ProgressBar bar(s.quiet);
    Hooks hooks;
    for (const auto& sink : sinks.all) hooks.sinks.push_back(sink.get());
    hooks.progress = [&](const Progress& progress) {
      if (folder && progress.steps_done > 0) folder->replace();
      bar.show(progress);
    };
    hooks.notes = [&](const std::vector<std::string>& notes) {
      if (!s.quiet)
        for (const auto& note : notes) say("note: {}\n", s.in_options(note));
    };
    hooks.stop = &stop;
    hooks.seconds_used = seconds_since(begin);
    hooks.resume = resume ? &*resume : nullptr;
    hooks.keep_draws = s.keep == "draws";
    if (folder)
      hooks.checkpoint = [&](const Checkpoint& checkpoint) {
        write_checkpoint(folder->checkpoint(), about, checkpoint);
      };
    hooks.checkpoint_seconds = s.checkpoint_seconds > 0 ? s.checkpoint_seconds : 1e300;
    finished = run_chains(*plan.maker, resolved, hooks);
    finished->choice = choice;
    if (folder) folder->replace();
  } catch (...) {
    try {
      run_file.write("failed");
    } catch (const std::exception& error) {  // a full disk, say: what went wrong first is what to end with
      if (!s.quiet) say("note: {}\n", error.what());
    }
    throw;
  }
  const Run& run = *finished;

  // The files first: whoever reads stdout may be gone. But what was sampled is shown even if they fail.
  std::exception_ptr trouble;
  const auto keep = [&](const auto& write) {
    try {
      if (folder) write();
    } catch (const Error&) {
      if (!trouble) trouble = std::current_exception();
    }
  };
  if (sinks.netcdf) keep([&] { sinks.netcdf->close(); });
  keep([&] { run_file.write(status_word(run.ending)); });
  std::signal(SIGINT, SIG_DFL);  // every draw is on disk
  std::signal(SIGTERM, SIG_DFL);
  const Sampled sampled = summarise_run(run, s.quiet);
  auto result = result_json(s.spec.kind, run, sampled.parameters,
                            s.all_parameters ? sampled.parameters.size() : std::size_t{1000});
  result["draws"] = sampled.draws;
  result["status"] = status_word(run.ending);
  if (tuning) result["tuning"] = tuning_json(*tuning);
  for (const char* field : {"choice", "tuning"})
    if (earlier.contains(field)) result[field] = earlier[field];
  if (sinks.own && sampled.chains > 0) {
    result[sinks.own->name()] = sinks.own->result();
    keep([&] { sinks.own->write(*folder); });
  }
  if (sinks.moments) keep([&] { write_moments(*folder, *sinks.moments); });
  keep([&] { write_file_atomically(folder->summary_json(), json_text(result, 1) + "\n"); });
  if (sampled.chains > 0 && !sampled.parameters.empty()) keep([&] { draw_picture(*folder, run); });
  if (sinks.own && sampled.chains > 0)
    if (const auto curve = sinks.own->curve()) keep([&] { draw_curve(*folder, *curve); });

  if (s.json)
    fmt::print("{}\n", json_text(result));
  else if (sampled.chains > 0)
    print_result(s, run, sampled);
  if (sinks.moments && !s.json && sampled.chains > 0) print_moments(s, plan.model.names, *sinks.moments);
  if (!s.json && sampled.chains > 0) {
    for (const auto& line : plan.model.words) fmt::print("{}\n", line);
    if (sinks.own) fmt::print("{}\n", sinks.own->words());
  }
  std::fflush(stdout);  // before what goes to stderr, should both go to one place
  if (!s.quiet) {
    print_notes(run, sampled, plan.model.beyond_metrics);
    const auto has_all = [&](const ChainRecord& chain) {
      return chain.draws ==
             resume->checkpoint.chains[static_cast<std::size_t>(&chain - run.chains.data())].draws;
    };
    if (resume && run.ending == Ending::complete && std::ranges::all_of(run.chains, has_all))
      say("note: all draws were there already; more --draws prolong the run\n");
    if (folder) say("files: {}\n", folder->path().string());
  }
  if (trouble) std::rethrow_exception(trouble);
  if (run.ending == Ending::interrupted) return interrupted;
  if (sampled.chains == 0 && s.quiet)
    say("stopped at --max-seconds {} in warm-up, without draws\n", run.settings.max_seconds);
  return sampled.chains == 0 ? failed : done;
}

}  // namespace onward::app
