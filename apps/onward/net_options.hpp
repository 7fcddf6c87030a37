#pragma once
// The words with which several commands name a network, its data and how it is sampled.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "glm_options.hpp"
#include "onward/net/posterior.hpp"
#include "onward/net/predictive.hpp"
#include "onward/run/settings.hpp"

namespace onward::app {

struct NetWords {
  std::string net, data, test_x, test_y, likelihood, gradient = "pieces", memory, keep, show;
  std::optional<std::size_t> images, test_images;
  std::size_t piece = 0;
  double prior_sd = 1;
  bool standardise = false;
  double keep_otherwise = 0;  ///< bytes of --keep-activations if it is not given
  std::size_t chains = 1;     ///< that are there at a time
  double vectors = 9;         ///< of all parameters that each of them holds at most
  bool for_mala = false;      ///< which needs gradients
  bool in_pairs = true;       ///< a kernel that may take jets on two lines at once
};

/// The options, under a heading of their own in the help; --x, --y and --sigma are glm's.
std::vector<const CLI::Option*> add_net_options(CLI::App& command, NetWords& words,
                                                bool for_sampling = false);
/// Those of glm that networks share.
inline const std::vector<std::string> glm_options_of_nets{"--x", "--y", "--sigma"};
/// Throws UsageError if one of these was given although the model is another.
void refuse_net_options(const std::vector<const CLI::Option*>& options, const std::string& model);

/// A network's posterior, where its chains start, and the rows whose predictions are wanted.
struct NetModel {
  net::Posterior posterior;
  Start start;
  net::Inputs test;
  std::optional<net::Answers> test_answers;
  bool own_rows = true;            ///< test are the rows that the posterior is made of
  nlohmann::ordered_json units;    ///< of --standardise: means and sds; null without
  std::vector<std::string> notes;  ///< for the user
};

/// Reads the files and checks everything. `start` is the option's name and `word` what it says: lecun, zeros,
/// random[:SCALE], a file of weights, or a vector of all that is sampled.
NetModel make_net(const NetWords& words, const GlmWords& shared, const std::string& start,
                  const std::string& word, std::shared_ptr<ThreadPool> pool = nullptr);

/// Throws Error, with the sizes, where gradients need more than --max-memory allows, or than the machine has.
void check_gradient_memory(const NetWords& words, const NetModel& model);

/// What is given for kept activations, in bytes, where directions are of one layer.
constexpr double usual_keep = 256e6;

/// Whether a run is looked at by what the network predicts, rather than by its weights: what --show says, or
/// else wherever more than one layer has weights, since units can then change places.
bool shows_predictions(const NetWords& words, const net::Posterior& posterior);

/// Networks with more parameters than this are by default sampled in a fixed number of steps without a
/// metric.
constexpr std::size_t large_network = 1000;
/// Fills in what the user left open, for a large network.
void set_large_defaults(RunSettings& settings);

/// What draws say of the rows to predict, in JSON and in a line of words.
nlohmann::ordered_json predictions_json(const NetModel& model, const net::Predictive& predictive);
std::string describe_predictions(const NetModel& model, const net::Predictive& predictive);

/// For run.json: files and choices, as they were given.
nlohmann::ordered_json net_json(const NetWords& words, const GlmWords& shared, const NetModel& model);

}  // namespace onward::app
