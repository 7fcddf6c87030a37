// `onward models` and `onward samplers`: what there is, a line each.

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "models/models.hpp"
#include "onward/io/json.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::app {
namespace {

struct Listed {
  std::string_view name, summary;
  bool needs_data = false;
};

/// The built-in models and those that data make.
std::vector<Listed> all_models() {
  std::vector<Listed> all;
  for (const auto& model : models::list()) all.push_back({model.name, model.summary, false});
  all.push_back({"glm", "a generalised linear model of your data: --x, --y and --family", true});
  all.push_back({"net", "a neural network on your data: --net, --x and --y", true});
  return all;
}

}  // namespace

std::string hint_for_model(const std::string& word) {
  const auto models = all_models();
  if (std::ranges::find(models, word, &Listed::name) == models.end()) return "";
  return fmt::format(" It is a model: `onward sample {}` samples it.", word);
}

void add_lists(CLI::App& app, Action& action) {
  static bool json = false;
  auto* models_command = app.add_subcommand("models", "the models, a line each");
  models_command->add_flag("--json", json, "as a JSON array on stdout");
  models_command->callback([&action] {
    action = [] {
      auto rows = nlohmann::json::array();
      for (const auto& model : all_models()) {
        if (!json) fmt::print("{:<22} {}\n", model.name, model.summary);
        rows.push_back({{"name", model.name}, {"summary", model.summary}, {"needs_data", model.needs_data}});
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
      for (const auto& sampler : samplers()) {
        if (!json) fmt::print("{:<15} {}\n", sampler.name, sampler.summary);
        rows.push_back({{"name", sampler.name},
                        {"summary", sampler.summary},
                        {"line", sampler.line},
                        {"needs_gradient", sampler.needs_gradient},
                        {"target_acceptance", sampler.target_acceptance}});
      }
      if (json) fmt::print("{}\n", json_text(rows, 1));
      return done;
    };
  });
}

}  // namespace onward::app
