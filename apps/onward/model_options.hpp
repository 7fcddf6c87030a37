#pragma once
// How commands name a model: MODEL, and the options that its kind describes. All kinds' options are known to
// the command line, so that one of another kind can be told from one that nobody has.

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "onward/model/registry.hpp"

namespace onward::app {

/// What was typed of a model.
struct ModelWords {
  std::string kind;
  std::map<std::string, std::string> values;  ///< by field, as they were typed; flags: "true" or "false"
};

/// How a field is typed: `prior_intercept` is --prior-intercept, and what is on by default is turned off by
/// --no-intercept.
std::string typed_option(const Option& option);

/// Adds MODEL and the options, and help of the command for one model. `for_runs`: also those that say
/// something of runs alone. Words must outlive the command.
void add_model_options(CLI::App& command, ModelWords& words, bool for_runs, const std::string& kind = "");

/// The specification that the words are. Throws UsageError for a model that there is not, for an option of
/// another kind and for a value that cannot be.
ModelSpec spec_of(const ModelWords& words);

/// The words that specify a model, MODEL first.
std::vector<std::string> words_of(const ModelSpec& spec);

}  // namespace onward::app
