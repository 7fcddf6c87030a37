#include "earlier_run.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model_options.hpp"
#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/recording.hpp"
#include "onward/run/setting_fields.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// "step_size" is --step-size.
std::string option_of(std::string field) {
  std::ranges::replace(field, '_', '-');
  return "--" + field;
}

void add_settings(const ordered_json& fields, const CLI::App& command, const fs::path& folder,
                  std::vector<std::string>& words) {
  for (const auto& [field, value] : fields.items()) {
    if (value.is_null()) continue;
    if (command.get_option_no_throw(option_of(field)) == nullptr)
      throw Error(
          fmt::format("{} has '{}', which this version of onward does not know: a later one made the "
                      "run, or the file is damaged",
                      RunFolder::open(folder).run_json().string(), field));
    if (value.is_boolean()) {
      if (value.get<bool>()) words.push_back(option_of(field));
    } else if (field == "init" && value.is_object() && value.contains("random")) {
      words.insert(words.end(), {"--init", fmt::format("random:{}", value.at("random").dump())});
    } else if (!(field == "step_size" && value == "adapted")) {
      words.insert(words.end(), {option_of(field), word_of(value)});
    }
  }
}

/// Leaves out what was filled in for the sampler that the run had: another one has its own.
void forget_sampler(ordered_json& settings) {
  for (const auto& option : sampler_options()) settings.erase(option.name);
  for (const char* field :
       {"step_size", "adapt_in_warmup", "target_acceptance", "directions", "warmup", "thin"})
    settings.erase(field);
  for (const auto& field : setting_fields())
    if (field.concerns != nullptr && settings.contains(field.option.name) &&
        settings[field.option.name] == field.get(RunSettings{}))
      settings.erase(field.option.name);
}

}  // namespace

std::vector<std::string> words_of_run(const CLI::App& command, const fs::path& folder,
                                      const Instead& instead) {
  ordered_json json = read_run_json(folder);
  std::vector<std::string> words;
  try {
    words = words_of(ModelSpec::from_json(json["model"]));
    const RunSettings settings = settings_from_json(json["settings"]);
    if (!instead.sampler.empty() && instead.sampler != settings.sampler) forget_sampler(json["settings"]);
    const auto word = [&, kept = recording_in(json)](const char* field, std::string usual) {
      return kept.contains(field) && kept[field].is_string() ? kept[field].get<std::string>() : usual;
    };
    const Recording usual;
    Recording{.folder = folder, .format = word("format", usual.format), .keep = word("keep", usual.keep)}
        .check(words.front());
  } catch (const UsageError& problem) {  // of the file, and not of what was typed
    throw Error(fmt::format("{}: {} (the file was changed, or a later version of onward made it)",
                            RunFolder::open(folder).run_json().string(), problem.what()));
  }
  if (instead.exact_draws)
    for (const char* field : {"until_ess", "min_draws"}) json["settings"].erase(field);
  add_settings(json["settings"], command, folder, words);
  add_settings(recording_in(json), command, folder, words);
  return words;
}

std::vector<std::string> with_earlier_run(const CLI::App& app, std::vector<std::string> typed) {
  // Every command that samples: `sample`, and those of one model, which they are called.
  const auto sampling = app.get_subcommands([&](const CLI::App* command) {
    return !typed.empty() && command->get_name() == typed.front() &&
           command->get_option_no_throw("--from") != nullptr;
  });
  if (sampling.empty()) return typed;
  const CLI::App& command = *sampling.front();
  const bool takes_model = command.get_option_no_throw("MODEL") != nullptr;
  const auto value_of = [&](const std::string& option) -> std::optional<std::string> {
    std::optional<std::string> value;
    for (std::size_t i = 1; i < typed.size(); ++i) {
      if (typed[i] == option && i + 1 < typed.size()) value = typed[i + 1];
      if (typed[i].starts_with(option + "=")) value = typed[i].substr(option.size() + 1);
    }
    return value;
  };
  const bool resume = std::ranges::find(typed, "--resume") != typed.end();
  const auto folder = resume ? value_of("--out") : value_of("--from");
  const bool helps = std::ranges::any_of(typed, [](auto& word) { return word == "--help" || word == "-h"; });
  if (helps) return typed;
  if (resume && !folder) throw UsageError("--resume needs the folder of the run to go on with: --out DIR");
  if (resume && value_of("--from"))
    throw UsageError("--resume goes on with a run and --from begins a new one: leave one of them out");
  if (!folder) return typed;
  // A run that replaced another one and was killed at once gives way to the old one, as the folder's next
  // user is to find it.
  if (resume) static_cast<void>(RunFolder::reopen(*folder));
  // Whoever asks for so many draws gets so many.
  const Instead instead{.exact_draws = value_of("--draws") && !value_of("--until-ess"),
                        .sampler = resume ? "" : value_of("--sampler").value_or("")};
  // Before its options are looked at, which are another sampler's than the run's.
  if (const auto sampler = value_of("--sampler"); resume && sampler)
    if (const ordered_json had = read_run_json(*folder)["settings"]["sampler"]; had != *sampler)
      throw Error(fmt::format(
          "the run in {} has the setting sampler {}, not {}: a run that is resumed stays the same; "
          "leave that out, or begin a new one",
          *folder, word_of(had), *sampler));
  std::vector<std::string> words = words_of_run(command, *folder, instead);
  if (std::ranges::find(typed, "--quiet") == typed.end())
    for (const auto& field : missing_settings(read_run_json(*folder)["settings"]))
      if (!value_of(option_of(field)))
        say("note: {} does not say {}: the default is taken\n", RunFolder::open(*folder).run_json().string(),
            option_of(field));
  auto own = typed.begin() + (takes_model ? 1 : 0);  // where a model may be named
  if (own != typed.end() && !own->starts_with("-")) {
    if (*own != words.front())
      throw Error(fmt::format("the run in {} is of the model {}, not {}: {}", *folder, words.front(), *own,
                              takes_model ? "leave the model out" : "use `onward sample`"));
    ++own;
  }
  if (takes_model)
    words.insert(words.begin(), typed.front());
  else
    words.front() = typed.front();
  words.insert(words.end(), own, typed.end());
  return words;
}

}  // namespace onward::app
