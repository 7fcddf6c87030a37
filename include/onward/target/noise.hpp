#pragma once
// Noise around what a simulator gives: normal or Student-t, with a standard deviation that is known or is a
// parameter. From outputs and their tangents it makes the log likelihood, its exact slope, and the curvature
// of Gauss and Newton, which needs no second derivatives of the simulator.

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onward/target/jet.hpp"

namespace onward {

/// Which noise, in plain data. normal_noise() and student_t_noise() make one.
struct Noise {
  double degrees = std::numeric_limits<double>::infinity();  ///< of freedom; infinity: normal
  std::vector<double> scale = {};       ///< one for all data or one for each; empty: a parameter
  std::string parameter = {};           ///< the name of a number, or of a vector
  std::vector<std::size_t> which = {};  ///< for each datum, which entry of that vector; empty: one each
};

/// Of a known standard deviation.
Noise normal_noise(double sd);
Noise normal_noise(std::vector<double> sd);  ///< one for each datum
/// The standard deviation is a declared parameter: a number, or a vector with an entry for each datum, or for
/// each group of data, of which `which` says the group (from 0).
Noise normal_noise(std::string_view parameter, std::vector<std::size_t> which = {});

/// Student's t with that many degrees of freedom, for data with outliers.
Noise student_t_noise(double degrees, double scale);
Noise student_t_noise(double degrees, std::vector<double> scale);
Noise student_t_noise(double degrees, std::string_view parameter, std::vector<std::size_t> which = {});

/// Data with noise: the log likelihood of what a simulator gives.
class NoisyData {
 public:
  /// `names` are those of all constrained parameters; the first `inputs` go to the simulator. Throws
  /// UsageError for what does not fit.
  NoisyData(std::vector<double> data, Noise noise, const std::vector<std::string>& names, std::size_t inputs,
            std::size_t outputs);

  std::size_t size() const { return data_.size(); }

  /// The normalised log likelihood where the simulator gives `outputs` and the parameters are x, and what
  /// they change by along a line: `tangent` and dx, which may be empty for order value. The slope is exact.
  /// The curvature is -E[slope²] over data of the model, never above 0: for normal noise of a known scale
  /// -(Jv)ᵀS⁻¹Jv.
  Jet jet(VectorView outputs, VectorView tangent, VectorView x, VectorView dx, Order order) const;

  /// What the log likelihood changes by with each output, into `by_output`, and with each parameter that is
  /// a scale, added to `by_parameter`. Gives the log likelihood.
  double sensitivity(VectorView outputs, VectorView x, std::span<double> by_output,
                     std::span<double> by_parameter) const;

  /// Of each datum by itself.
  void log_likelihood(VectorView outputs, VectorView x, std::span<double> out) const;

 private:
  bool normal() const { return noise_.degrees == std::numeric_limits<double>::infinity(); }
  /// The place of a datum's scale among the constrained parameters; only if it is one.
  std::size_t scale_at(std::size_t i) const { return place_ + (noise_.which.empty() ? 0 : noise_.which[i]); }
  void settle_scale();
  void settle_parameter(const std::vector<std::string>& names, std::size_t inputs);
  double log_density(double z2, double log_scale) const;

  std::vector<double> data_;
  Noise noise_;
  std::vector<double> inverse_, log_;  // of known scales, one for each datum
  std::size_t place_ = 0, entries_ = 0;
  double normaliser_ = 0;
};

}  // namespace onward
