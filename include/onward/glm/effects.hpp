#pragma once
// Conditional effects: the expected response over one predictor while the others stay where they are usual.
// Numbers are held at their means, factors at their first level; groups count for nothing, offsets are taken
// at the means of their columns.

#include <string>
#include <vector>

#include "onward/glm/predict.hpp"

namespace onward::glm {

/// One line of a picture: what is expected at each place.
struct EffectSeries {
  std::string by;          ///< the value of the second predictor; empty if there is none
  std::string class_name;  ///< of a categorical response
  std::vector<PredictedRow> rows;
};

struct Effect {
  std::string term;                 ///< "x", or "x:f"
  std::string variable;             ///< over which
  std::string by;                   ///< the second predictor, if there is one
  std::vector<double> places;       ///< of a number
  std::vector<std::string> levels;  ///< of a factor; else empty
  std::vector<EffectSeries> series;
  std::string held;  ///< what the other predictors are, in words: "age = 41.3, sex = f"
};

struct EffectOptions {
  std::vector<std::string> terms = {};  ///< predictors, or two of them as "x:f"; empty: all of the formula
  std::size_t places = 100;             ///< of a number
  std::vector<double> probabilities = {0.05, 0.5, 0.95};
  std::size_t threads = 0;
};

/// `data` are those that the regression was fitted to. Throws UsageError for a term that is not in the
/// formula, Error if the formula has no predictors.
std::vector<Effect> conditional_effects(const FittedRegression& fitted, const Table& data,
                                        const StoredDraws& draws, const EffectOptions& options = {});

}  // namespace onward::glm
