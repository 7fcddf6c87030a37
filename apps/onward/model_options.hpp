#pragma once
// The words with which several commands name a model and a place: MODEL --dim --condition, and FILE | zeros |
// random.

#include <string>
#include <vector>

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

/// What `--init` or `--at` says: FILE, zeros or random[:SCALE]. Throws UsageError for what is none of these
/// or a file of the wrong length, Error for a file that cannot be read.
Start parse_start(const std::string& option, const std::string& word, const ModelWords& model,
                  std::size_t dimension);

/// A file with an entry for every parameter that is sampled; throws as parse_start.
std::vector<double> read_place(const std::string& option, const std::string& file, const ModelWords& model,
                               std::size_t dimension);

}  // namespace onward::app
