#include "model_options.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "help.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/util/suggest.hpp"
#include "program.hpp"
#include "terminal.hpp"

namespace onward::app {
namespace {

using Type = Option::Type;

/// What is shown beside an option: `fields` as they are typed.
std::string description(const CLI::App& command, const Option& option) {
  std::string text =
      option.type == Type::flag && option.on_by_default ? "without " + option.help : option.help;
  if (!option.otherwise.empty()) text += fmt::format(" [{}]", option.otherwise);
  return in_option_words(command, text);
}

/// The help of one model. Options that all models share have a page of their own.
std::string model_help(const CLI::App& command, const ModelKind& kind, bool for_runs, std::size_t width) {
  std::string text = wrapped_at(fmt::format("{}: {}", kind.name, kind.summary), width, 0);
  text += fmt::format("\nUsage: onward {} {} [OPTIONS]\n\nOptions of {}:\n", command.get_name(), kind.name,
                      kind.name);
  bool any = false;
  for (const auto& option : kind.options) {
    if (option.for_runs && !for_runs) continue;
    const std::string value = value_word(option);
    text += help_row(fmt::format("{}{}{}{}", typed_option(option), value.empty() ? "" : " ", value,
                                 option.required ? " REQUIRED" : ""),
                     description(command, option), width);
    any = true;
  }
  if (!any) text += "  none\n";
  return text + "\n" +
         wrapped_at(
             fmt::format("`onward {} --help` has the options that all models share.", command.get_name()),
             width, 0) +
         "\n";
}

/// The kind that a model's word names: that of plugin:FILE is plugin.
const ModelKind& kind_of(const std::string& word) {
  const std::string stem = word.substr(0, word.find(':'));
  const bool has_subject = stem.size() < word.size();
  const ModelKind& kind = model_registry().find(has_subject ? stem : word);
  if (has_subject && kind.subject.empty())
    throw UsageError(
        fmt::format("nothing can follow {} and a colon: write the model as {} alone", stem, stem));
  return kind;
}

}  // namespace

std::string typed_option(const Option& option) {
  std::string name = option.name;
  std::ranges::replace(name, '_', '-');
  return (option.type == Type::flag && option.on_by_default ? "--no-" : "--") + name;
}

void add_model_options(CLI::App& command, ModelWords& words, bool for_runs, const std::string& only) {
  std::vector<std::string> names;
  for (const auto& kind : model_registry().kinds()) names.push_back(kind.name);
  words.kind = only;
  if (only.empty())
    command
        .add_option(
            "MODEL", words.kind,
            fmt::format("one of {} (`onward models` tells what they are).\nOptions of one: `onward {} MODEL "
                        "--help`",
                        joined(names), command.get_name()))
        ->required()
        ->type_name("");
  for (const auto& kind : model_registry().kinds())
    for (const auto& option : kind.options) {
      if (option.for_runs && !for_runs) continue;
      if (!only.empty() && kind.name != only) continue;
      const std::string typed = typed_option(option);
      CLI::Option* known = command.get_option_no_throw(typed);
      const bool flag = option.type == Type::flag;
      if (known != nullptr && (known->get_expected_max() == 0) != flag)
        throw std::logic_error(fmt::format("{} takes a value in one model and none in another", typed));
      if (known != nullptr) continue;
      std::string& value = words.values[option.name];
      if (flag)
        known = command.add_flag_callback(
            typed, [&value, on = !option.on_by_default] { value = on ? "true" : "false"; });
      else
        known = command.add_option(typed, value)->type_name(value_word(option));
      if (option.repeatable) known->multi_option_policy(CLI::MultiOptionPolicy::Join)->delimiter(';');
      // Help has it by model.
      known->description(only.empty() ? option.help : description(command, option))
          ->group(only.empty() ? "" : own_group(only));
    }
  if (!only.empty()) return;
  command.formatter(std::make_shared<HelpFormatter>(
      [&command, &words, for_runs](std::size_t width) -> std::optional<std::string> {
        if (words.kind.empty()) return std::nullopt;
        return model_help(command, kind_of(words.kind), for_runs, width);
      }));
}

ModelSpec spec_of(const ModelWords& words) {
  const ModelKind& kind = kind_of(words.kind);
  ModelSpec spec{kind.name};
  std::map<std::string, std::string> values = words.values;
  if (const auto colon = words.kind.find(':'); colon != std::string::npos)
    values[kind.subject] = words.kind.substr(colon + 1);
  for (const auto& [field, value] : values) {
    if (value.empty()) continue;
    const auto option = std::ranges::find(kind.options, field, &Option::name);
    if (option == kind.options.end()) {
      const auto others = model_registry().kinds_with(field);
      throw UsageError(fmt::format("`{}` belongs to the model{} {}, not to {}", field,
                                   others.size() == 1 ? "" : "s", joined(others), kind.name));
    }
    const bool is_json = option->type == Type::json && value.starts_with('{');
    spec.options[field] = is_json ? parse_json<nlohmann::ordered_json>(value, typed_option(*option))
                                  : parse_value(*option, value);
  }
  return spec;
}

std::vector<std::string> words_of(const ModelSpec& spec) {
  const ModelKind& kind = model_registry().find(spec.kind);
  const OptionValues values(kind.name, kind.options, spec.options);
  std::vector<std::string> words{kind.name};
  for (const auto& option : kind.options) {
    if (!values.has(option.name)) continue;
    const auto& value = values.json().at(option.name);
    if (option.type == Type::flag) {
      if (value.get<bool>() != option.on_by_default) words.push_back(typed_option(option));
    } else {
      words.insert(words.end(),
                   {typed_option(option), value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
  return words;
}

}  // namespace onward::app
