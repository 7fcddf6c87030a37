#pragma once
// Log densities that models ask for again and again, normalised, by the names and in the parameters that Stan
// gives them, for any mix of numbers: the observation, the parameters or all of them may move.
//
// An observation that cannot be has -inf; invalid parameters (a scale below 0) give NaN. A run counts both as
// rejections.

#include "onward/ad/densities_continuous.hpp"
#include "onward/ad/densities_discrete.hpp"
#include "onward/ad/densities_multivariate.hpp"
