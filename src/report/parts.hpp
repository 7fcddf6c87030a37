#pragma once
// The parts of a report as JSON, which the page's script draws. Each part is made from an Input and knows
// nothing of HTML.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/report/report.hpp"

namespace onward::report {

/// What the pictures of all parameters of a run share.
struct Shape {
  std::size_t chains = 0, draws = 0;
  std::vector<std::size_t> trace;  ///< draws that begin a piece of a trace; each draw itself if they are few
  bool extremes = false;           ///< a piece is shown by its lowest and its highest draw
  std::vector<std::size_t>
      joint;  ///< draws of each chain that are shown together with those of other parameters
  std::vector<std::size_t> growth;  ///< numbers of draws at which ESS is computed
  /// Chain and draw of some whose trajectory diverged, which are marked where draws are shown together.
  std::vector<std::pair<std::size_t, std::size_t>> divergent = {};

  Shape(std::size_t chains, std::size_t draws);
};

/// A row of the table.
nlohmann::ordered_json row_of(const ParameterSummary& summary);
/// What the pictures of one parameter show, beside its row.
nlohmann::ordered_json pictures_of(const ParameterSummary& summary, const Chains& chains, const Shape& shape);
/// Any series over the draws of all chains, thinned as a trace is.
std::string trace_of(const Chains& chains, const Shape& shape);
/// A density upon a grid of its own: {"x0", "dx", "y"}; the pooled draws first, then each chain.
nlohmann::ordered_json densities(const Chains& chains, std::size_t points);

/// Figures of each chain, and densities of the energy and of how it changes from draw to draw, both about 0.
nlohmann::ordered_json trajectories_json(const Input& input);
/// At most so many of the draws whose trajectory diverged, evenly spread.
std::vector<std::pair<std::size_t, std::size_t>> divergent_draws(const Input& input, std::size_t most);

nlohmann::ordered_json regression_json(const Regression& regression);
/// `sigma`: the sd of the noise, if it is known or was sampled.
nlohmann::ordered_json predictions_json(const PredictedRows& rows, std::optional<double> sigma,
                                        const nlohmann::ordered_json& summary);
/// What two runs of one model say of the same parameters.
nlohmann::ordered_json comparison_json(const Input& one, const std::vector<ParameterSummary>& rows_of_one,
                                       const Input& other,
                                       const std::vector<ParameterSummary>& rows_of_other);

/// The model's name in run.json, or "model".
std::string model_name(const Input& input);
/// What differs between the settings of two runs, or their models: [{"field", "one", "other"}, ...].
nlohmann::ordered_json differences(const nlohmann::ordered_json& one, const nlohmann::ordered_json& other);

}  // namespace onward::report
