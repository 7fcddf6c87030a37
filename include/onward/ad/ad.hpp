#pragma once
// Everything of the ad folder: scalars that carry derivatives through one generic callable.

#include "onward/ad/data_matrix.hpp"
#include "onward/ad/densities.hpp"
#include "onward/ad/dual.hpp"
#include "onward/ad/eigen.hpp"
#include "onward/ad/functions.hpp"
#include "onward/ad/jet2.hpp"
#include "onward/ad/limits.hpp"
#include "onward/ad/reverse.hpp"
#include "onward/ad/value.hpp"
#include "onward/ad/vector_densities.hpp"
#include "onward/ad/vectors.hpp"
