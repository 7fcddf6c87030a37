#pragma once
// The priors of a regression for which none are given: weak in any units of X and y, so that a predictor may
// be a year, a length in micrometres or an income in dollars.
//
// A coefficient's scale is 2.5 divided by the standard deviation of its column (a constant column: 2.5), the
// intercept's is 10, and sigma or phi have a student-t of 3 degrees of freedom and scale 2.5, cut at 0. For a
// gaussian regression all of these are in standard deviations of y, and the intercept's prior is about the
// mean of y; likewise for student-t, with the median of y and the median distance from it (times 1.4826) in
// place of the mean and the standard deviation, since a few rows may be far out. For a gamma regression it is
// about the mean of log y. The shape of gamma has a Cauchy of scale 10, cut at 0: a shape is 1 over the
// square of a coefficient of variation, so that 1 and 400 are both usual, and a tail any thinner would pull
// large ones down. As in brms, the degrees of freedom of student-t have a gamma(2, 0.1) above 1, the
// probability of a certain 0 has a beta(1, 1), and the first threshold of an ordinal regression a student-t
// of 3 degrees of freedom and scale 2.5; the gaps between thresholds have the same, cut at 0.

#include <string>
#include <vector>

#include "onward/glm/family.hpp"
#include "onward/glm/prior.hpp"
#include "onward/glm/spread.hpp"

namespace onward::glm {

/// Takes the standard deviations of the columns (empty: 1 each, for whoever needs none of the coefficients).
class DefaultPriors {
 public:
  DefaultPriors(const Observations& y, std::vector<Spread> columns);

  Prior coefficient(std::size_t column) const;
  Prior intercept() const;
  Prior scale() const;                                    ///< of sigma, phi, shape, zi or a gap
  Prior degrees() const { return Prior::gamma(2, 0.1); }  ///< of nu, above 1
  double unit() const { return unit_; }  ///< of the predictor: sds of y where it is in the units of y, else 1

 private:
  std::vector<Spread> columns_;
  double centre_ = 0, unit_ = 1;  // of the predictor
  Family family_;
};

/// "normal(0, 2.5)", "student-t(3, 0, 2.5)" or "flat".
std::string to_string(const Prior& prior);

}  // namespace onward::glm
