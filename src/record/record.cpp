// The whole way at once: a model sampled into a folder, a run in memory saved to one, draws summed up.

#include <algorithm>

#include <fmt/format.h>

#include "../model/settle.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/io/csv_sink.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_json.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/recording.hpp"
#include "onward/run/choice.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/clock.hpp"
#include "run_file.hpp"

namespace onward {
namespace {

bool keeps_draws(const Run& run) {
  return std::ranges::all_of(run.chains, [&](const ChainRecord& chain) {
    return chain.values.size() == chain.draws * run.names.size();
  });
}

/// The settings of the run that is there, as long and with such limits as is now asked for. A start that
/// stands there as a word is left to the model.
RunSettings as_it_began(const std::filesystem::path& folder, const RunSettings& asked) {
  RunSettings settings = settings_from_json(read_run_json(folder).at("settings"));
  if (!settings.start.word.empty()) settings.start = asked.start;
  settings.draws = asked.draws;
  settings.max_seconds = asked.max_seconds;
  settings.until_ess = asked.until_ess;
  settings.min_draws = asked.min_draws;
  settings.threads = asked.threads;
  return settings;
}

SampledDraws count_draws(const Run& run) {
  SampledDraws sampled;
  for (const auto& chain : run.chains) {
    if (chain.draws == 0) continue;
    sampled.draws = ++sampled.chains == 1 ? chain.draws : std::min(sampled.draws, chain.draws);
  }
  return sampled;
}

}  // namespace

SampledDraws summarise_draws(const Run& run, const std::function<void(std::size_t)>& done) {
  SampledDraws sampled = count_draws(run);
  // Draws that were not kept say nothing.
  if (!keeps_draws(run)) return sampled;
  const auto drawn = [&](std::size_t i) {
    Chains chains = run.parameter(i);
    std::erase_if(chains, [](const auto& chain) { return chain.empty(); });
    return chains;
  };
  sampled.parameters = summarise_all(run.names, drawn, run.settings.threads, done);
  return sampled;
}

Recorded record(Model model, RunSettings settings, const Recording& recording, const Hooks& given) {
  const auto called = Clock::now();
  Hooks hooks = given;
  if (recording.into == Recording::Into::resumed) settings = as_it_began(recording.folder, settings);
  detail::settle(model, settings, hooks);
  check_choosable(settings);

  Recorder recorder(model, recording);
  std::optional<Choice> choice;
  nlohmann::ordered_json found = nlohmann::ordered_json::object();
  if (!model.samples_itself(settings) && settings.sampler == choose_sampler_word && !settings.step_size) {
    settings = with_seed(std::move(settings));
    choice = choose_sampler(model.target, settings, hooks);
    settings = with_choice(std::move(settings), *choice);
    found["choice"] = choice_json(*choice);
  }
  const auto maker = make_chains(model, settings);
  recorder.begin(maker->resolve(std::move(settings)), maker->dimension(), std::move(found));
  hooks.seconds_used += seconds_since(called);
  Recorded result{recorder.run(*maker, hooks), {}, {}};
  result.run.choice = std::move(choice);
  recorder.close(result.run);
  result.summary = recorder.finish(
      result.run, recording.summarise ? summarise_draws(result.run) : count_draws(result.run));
  if (recorder.folder()) result.folder = recorder.folder()->path();
  recorder.rethrow();
  return result;
}

void Run::save(const std::filesystem::path& folder, const std::string& model, bool replace) const {
  onward::save(*this, folder, model, replace);
}

void save(const Run& run, const std::filesystem::path& folder, const std::string& model, bool replace) {
  save_with_model(run, folder, {{"name", model}}, replace);
}

void save_with_model(const Run& run, const std::filesystem::path& folder, const nlohmann::ordered_json& model,
                     bool replace) {
  if (!keeps_draws(run))
    throw Error(
        fmt::format("the run has kept no draws, so there is nothing to save in {}: sample with `keep_draws`, "
                    "or record it "
                    "as it goes on",
                    folder.string()));
  const std::string name = model.at("name").get<std::string>();
  RunFolder files = RunFolder::create(folder, replace);
  const std::vector<std::size_t> indices;
  nlohmann::ordered_json found = nlohmann::ordered_json::object();
  if (run.choice) found["choice"] = choice_json(*run.choice);
  const nlohmann::ordered_json json = detail::run_json({.model = model,
                                                        .settings = settings_json(run.settings),
                                                        .files = nlohmann::ordered_json::object(),
                                                        .recording = Recording{}.to_json(),
                                                        .dimension = run.dimension,
                                                        .names = run.names,
                                                        .name_indices = indices,
                                                        .found = found});
  detail::write_run_json(files, json, "unfinished");
  {
    CsvSink csv(files, name, run.settings, run.names);
    for (std::size_t c = 0; c < run.chains.size(); ++c) {
      const ChainRecord& chain = run.chains[c];
      csv.warmed_up(c, chain.step_size, Metric{});
      for (std::size_t d = 0; d < chain.draws; ++d)
        csv.drawn(c, {.log_density = chain.log_density[d],
                      .acceptance = chain.acceptance,
                      .step_size = chain.step_size,
                      .parameters = std::span(chain.values).subspan(d * run.names.size(), run.names.size()),
                      .trajectory = d < chain.followed.size() ? &chain.followed[d] : nullptr});
      csv.finished(c);
    }
    csv.make_durable();
  }
  detail::write_warmup(files, run);
  const SampledDraws sampled = summarise_draws(run);
  nlohmann::ordered_json result = result_json(name, run, sampled.parameters);
  result["draws"] = sampled.draws;
  result["status"] = detail::status_word(run.ending);
  write_file_atomically(files.summary_json(), json_text(result, 1) + "\n");
  detail::write_run_json(files, json, detail::status_word(run.ending));
  files.replace();
}

}  // namespace onward
