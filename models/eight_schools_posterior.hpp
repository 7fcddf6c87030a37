#pragma once
// The posterior of eight schools without sampling: given tau everything is normal, so that one integral over
// log tau is all there is to do, and the trapezoidal rule does it to the last digits.

#include <span>
#include <vector>

#include "models.hpp"
#include "onward/random/stream.hpp"

namespace onward::models {

class EightSchoolsPosterior {
 public:
  EightSchoolsPosterior();

  /// Of theta.1 ... theta.8, mu and tau.
  KnownMoments moments() const;

  /// A draw of z, mu and log tau, and its log weight. log tau comes from a histogram of its posterior; the
  /// weight is the posterior over the histogram, 1 within a fraction of a percent.
  double draw(const Stream& stream, std::span<double> out) const;

 private:
  /// mu given tau is N(mean, 1/precision).
  struct GivenTau {
    double log_density;  ///< of log tau, up to a constant
    double mean, precision;
  };
  static GivenTau given_tau(double log_tau);

  std::vector<double> cumulative_;  ///< of the histogram's cells
};

}  // namespace onward::models
