// `onward models` and `onward samplers`: what there is, a line each.

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "onward/io/json.hpp"
#include "onward/model/registry.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::app {
namespace {

bool needs_data(const ModelKind& kind) { return std::ranges::any_of(kind.options, &Option::required); }

nlohmann::json options_json(const std::vector<Option>& options) {
  auto rows = nlohmann::json::array();
  for (const auto& option : options)
    rows.push_back({{"name", option.name},
                    {"required", option.required},
                    {"help", option.help},
                    {"otherwise", option.otherwise},
                    {"default", option.usual}});
  return rows;
}

}  // namespace

std::string hint_for_model(const std::string& word) {
  const auto& kinds = model_registry().kinds();
  if (std::ranges::find(kinds, word, &ModelKind::name) == kinds.end()) return "";
  return fmt::format(" It is a model: `onward sample {}` samples it.", word);
}

void add_lists(CLI::App& app, Action& action) {
  static bool json = false;
  auto* models_command = app.add_subcommand("models", "the models, a line each");
  models_command->add_flag("--json", json, "as a JSON array on stdout");
  models_command->callback([&action] {
    action = [] {
      auto rows = nlohmann::json::array();
      for (const auto& kind : model_registry().kinds()) {
        if (!json) fmt::print("{:<22} {}\n", kind.name, kind.summary);
        rows.push_back({{"name", kind.name},
                        {"summary", kind.summary},
                        {"needs_data", needs_data(kind)},
                        {"options", options_json(kind.options)}});
      }
      if (json) fmt::print("{}\n", json_text(rows, 1));
      return done;
    };
  });
  auto* samplers_command = app.add_subcommand("samplers", "the samplers, a line each");
  samplers_command->add_flag("--json", json, "as a JSON array on stdout");
  samplers_command->callback([&action] {
    action = [] {
      auto rows = nlohmann::json::array();
      for (const auto& sampler : all_samplers()) {
        if (!json) fmt::print("{:<15} {}\n", sampler.name, sampler.summary);
        rows.push_back({{"name", sampler.name},
                        {"summary", sampler.summary},
                        {"line", sampler.line},
                        {"needs_gradient", sampler.needs_gradient},
                        {"target_acceptance", sampler.target_acceptance},
                        {"options", options_json(sampler.options)}});
      }
      if (json) fmt::print("{}\n", json_text(rows, 1));
      return done;
    };
  });
}

}  // namespace onward::app
