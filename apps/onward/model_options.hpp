#pragma once
// The words with which several commands name a model and a place: MODEL --dim --condition, and FILE | zeros |
// random.

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "models/models.hpp"
#include "onward/run/settings.hpp"

namespace onward::app {

struct ModelWords {
  std::string name;
  models::ModelOptions options;
};

void add_model_options(CLI::App& command, ModelWords& words);
models::Model make_model(const ModelWords& words);

/// FILE, zeros or random[:SCALE]. Throws UsageError for what is none of these, Error for a file that cannot
/// be read.
Start parse_start(const std::string& word);

}  // namespace onward::app
