#pragma once
// The words with which several commands name a regression: the arrays in .npy files, the family, the priors.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "onward/glm/posterior.hpp"

namespace onward::app {

struct GlmWords {
  std::string x, y, family, link, trials, offset, weights, names;
  std::string prior, prior_intercept, prior_scale;
  std::optional<double> sigma, phi;
  bool no_intercept = false;
};

/// The options, under a heading of their own in the help.
std::vector<const CLI::Option*> add_glm_options(CLI::App& command, GlmWords& words);
/// Throws UsageError if one of these was given although the model is another, which shares some of them.
void refuse_glm_options(const std::vector<const CLI::Option*>& options, const std::string& model,
                        const std::vector<std::string>& shared = {});

/// Reads the files and checks everything. `pool` is what products are shared by; null: one thread.
glm::Posterior make_regression(const GlmWords& words, std::shared_ptr<ThreadPool> pool = nullptr);

/// For run.json: the priors as numbers, and where the intercept's stands.
nlohmann::ordered_json priors_json(const glm::Posterior& posterior);

/// For run.json: files and choices, as they were given.
nlohmann::ordered_json glm_json(const GlmWords& words);

}  // namespace onward::app
