#pragma once
// What the data do not determine: the coefficients of columns that depend on others, and whole regressions
// whose likelihood has no maximum, because columns tell the outcomes without error, because a gaussian y is
// fitted exactly, or because no row says anything. There the prior decides, and a flat one cannot be sampled.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "likelihood.hpp"

namespace onward::glm {

/// Columns of which those before them leave nothing, and sentences about them.
struct DependentColumns {
  std::vector<std::size_t> columns;
  std::vector<std::string> sentences;
};
/// `gram` is X^T X.
DependentColumns find_dependent_columns(const RegressionPosterior& posterior, const Eigen::MatrixXd& gram);

/// What a search for the mode has left.
struct SearchEnd {
  Eigen::VectorXd mode;
  Eigen::VectorXd early;               ///< where the search came near the mode for the first time
  std::vector<std::size_t> dependent;  ///< columns that others determine
};

/// True if a coefficient has a flat prior.
bool any_flat(const RegressionPosterior& posterior);

/// A sentence if y (gaussian) is fitted exactly by fewer coefficients than rows; throws Error if nothing else
/// holds sigma.
std::optional<std::string> exact_fit(Likelihood& likelihood, const SearchEnd& end);

/// A sentence if the likelihood grows for ever along a direction, or if no row says anything; throws Error if
/// there the prior is flat. `gram` is X^T X, and the likelihood was last at the mode.
std::optional<std::string> separation(Likelihood& likelihood, const SearchEnd& end,
                                      const Eigen::MatrixXd& gram);

/// Throws the Error of a search that ran away.
[[noreturn]] void throw_diverged(const Likelihood& likelihood);

}  // namespace onward::glm
