#pragma once
// Rows with a predictor for each class. Seen from one class, with the others fixed, a softmax is a logistic
// regression whose log odds are eta_k - log sum_{j != k} exp(eta_j): that is what axis lines move along.
//
// Arrays hold padded_rows(n) floats a class, class after class.

#include "onward/glm/family.hpp"

namespace onward::glm {

/// The log likelihood at eta + alpha d, with slope and curvature along d; along `next` too, if it is not
/// null. d may be null; `moved` gets eta + alpha d if it is not.
LineSums softmax_sums(const Observations& y, const RowLine& line, ThreadPool& pool);

/// residuals[k][i] = w_i (1{y_i = k} - p_ik); returns the log likelihood.
double softmax_residuals(const Observations& y, const float* eta, float* residuals, ThreadPool& pool);

/// others[i] = log sum_{j != k} exp(eta_j) and odds[i] = eta_k - others.
void class_odds(const Observations& y, const float* eta, std::size_t k, float* odds, float* others,
                ThreadPool& pool);

/// Adds factor times w_i p (1 - p) of each class, class after class, to `out`.
void add_class_weights(const Observations& y, const float* eta, float factor, float* out, ThreadPool& pool);

}  // namespace onward::glm
