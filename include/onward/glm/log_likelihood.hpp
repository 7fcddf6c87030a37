#pragma once
// The log likelihood of each row of a regression at a draw, with all its constants: what cross-validation
// and information criteria are made from.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "onward/glm/posterior.hpp"

namespace onward::glm {

/// In double, from the numbers that the design holds. A row that counts w times has w times its log
/// likelihood, so that the sum over rows is that of the posterior. Without its temperature.
class RowLogLikelihood {
 public:
  /// Shares the posterior's data, which then are nobody else's alone.
  explicit RowLogLikelihood(const RegressionPosterior& posterior);

  std::size_t rows() const { return posterior_.observations().rows(); }
  /// From parameters as RegressionPosterior::names() has them. Several threads may call it at a time.
  void operator()(std::span<const double> parameters, std::span<double> out) const {
    part(parameters, 0, out);
  }
  /// The same of the rows first, first + 1, ... alone, as many as `out` has room for, with the same bits.
  void part(std::span<const double> parameters, std::size_t first, std::span<double> out) const;
  /// Writes what else adds to the predictor, from row `first` on.
  using More = std::function<void(std::size_t first, std::span<double> eta)>;
  /// With such parts of the predictor. Coefficients and the family's numbers are as they are reported.
  void part(std::span<const double> coefficients, std::span<const double> numbers, const More& more,
            std::size_t first, std::span<double> out) const;

 private:
  void predict(std::size_t piece, std::span<const double> parameters, std::span<float> panel,
               std::span<double> eta) const;
  double row(std::size_t i, const double* eta, std::span<const double> numbers) const;

  RegressionPosterior posterior_;
  std::vector<double> constants_;  // of each row; empty where there are none
};

}  // namespace onward::glm
