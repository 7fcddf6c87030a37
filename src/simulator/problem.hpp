#pragma once
// What is asked of a simulator: data, noise and priors, from options or from one JSON file.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/model/model.hpp"
#include "onward/simulator/priors.hpp"
#include "onward/simulator/simulator.hpp"
#include "onward/target/noise.hpp"

namespace onward::detail {

struct SimulatorProblem {
  std::optional<std::vector<double>> data = {};  ///< none: the output is a log density
  Noise noise = {};
  InputPriors priors = {};       ///< of the inputs, and then of the noise's number, if it has one
  std::string noise_words = {};  ///< as it was written

  std::string words() const;  ///< priors and noise in a line; empty if there are none
};

/// Throws UsageError for what does not fit together or does not fit the simulator.
SimulatorProblem read_problem(const SimulatorFacts& facts, const OptionValues& options,
                              const BuildFor& what_for);

/// The object of an option of type json: itself, or what its file holds. Throws Error.
nlohmann::ordered_json read_json_option(const OptionValues& options, const std::string& field);

}  // namespace onward::detail
