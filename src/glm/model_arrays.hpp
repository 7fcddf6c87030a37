#pragma once
// What files have of a regression as arrays with named dimensions: its parameters, its data, and the log
// likelihood of each observation. The dimensions are called observation, predictor (a column of X) and class.

#include <vector>

#include "onward/glm/posterior.hpp"
#include "onward/io/named_arrays.hpp"
#include "onward/model/model.hpp"

namespace onward::glm {

/// intercept, beta with a predictor for each column of X; for categorical by class besides.
ParameterShapes coefficient_arrays(const RegressionPosterior& posterior);
/// With the family's numbers.
ParameterShapes parameter_arrays(const RegressionPosterior& posterior);

/// y as observed; x, trials, offset and weights as constants. They are read anew from their files, part by
/// part, or from memory.
std::vector<DataArray> data_arrays(const OptionValues& given, const BuildFor& what_for,
                                   const RegressionPosterior& posterior);

/// As a function of a draw. Shares the posterior's data.
LogLikelihood log_likelihood(const RegressionPosterior& posterior);

}  // namespace onward::glm
