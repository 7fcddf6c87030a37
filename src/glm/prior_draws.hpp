#pragma once
// Parameters of a regression drawn from their priors.

#include <string>
#include <vector>

#include "onward/glm/mixed_posterior.hpp"
#include "onward/glm/simulate.hpp"

namespace onward::glm {

/// Throws UsageError that names the first parameter whose prior is flat, and what to give in its place.
void require_proper(const RegressionPosterior& population, const std::vector<GroupPriors>& priors);

struct DrawnParameters {
  std::vector<double> coefficients;          ///< for the columns as they were given
  std::vector<double> reported;              ///< in the order of the posterior's names, effects left out
  std::vector<std::vector<double>> effects;  ///< of each term, level after level
  std::vector<double> numbers;               ///< of the family, as rows read them
};

/// `population` may be without groups: then there are no terms.
DrawnParameters draw_parameters(const RegressionPosterior& population, const std::vector<GroupTerm>& terms,
                                const std::vector<GroupPriors>& priors, RandomSequence& random);

}  // namespace onward::glm
