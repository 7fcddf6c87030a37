#pragma once
// What is known of a simulator's inputs before the data, in words: a sentence for each input, in their order.
//
//     auto priors = onward::parse_input_priors("growth ~ lognormal(0, 1); k[100] ~ normal(0, 1)");
//
// Each input is sampled in coordinates of its prior, so that steps of size 1 suit inputs of any unit.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/ad/densities.hpp"
#include "onward/target/transform.hpp"

namespace onward {

struct InputPrior {
  enum class Kind {
    flat,         ///< any number, nothing is known
    normal,       ///< location, scale
    student_t,    ///< degrees of freedom, location, scale
    laplace,      ///< location, scale
    lognormal,    ///< location and scale of the logarithm
    exponential,  ///< rate
    gamma,        ///< shape, rate
    inv_gamma,    ///< shape, scale
    half_normal,  ///< scale
    half_t,       ///< degrees of freedom, scale
    uniform,      ///< from, to
    beta          ///< a, b
  };
  Kind kind = Kind::flat;
  double a = 0, b = 1, c = 1;  ///< its numbers, in that order

  /// The input from the free number u; its log density there, with the Jacobian, is added to `log_density`.
  template <class T>
  T evaluate(const T& u, T& log_density) const {
    using std::abs, std::exp;
    constexpr double log_two = 0.693147180559945309417;
    switch (kind) {
      case Kind::flat:
        return u;
      case Kind::normal:
        log_density += normal_lpdf(u, 0.0, 1.0);
        return a + b * u;
      case Kind::student_t:
        log_density += student_t_lpdf(u, a, 0.0, 1.0);
        return b + c * u;
      case Kind::laplace:
        log_density += -abs(u) - log_two;
        return a + b * u;
      case Kind::lognormal:
        log_density += normal_lpdf(u, 0.0, 1.0);
        return exp(a + b * u);
      case Kind::exponential: {
        const T y = exp(u);
        log_density += u - y;
        return y / a;
      }
      case Kind::gamma: {  // about its mean
        const T y = exp(u);
        log_density += a * u - a * y + (a * std::log(a) - std::lgamma(a));
        return (a / b) * y;
      }
      case Kind::inv_gamma: {
        const T y = exp(-u);
        log_density += (a * std::log(a) - std::lgamma(a)) - a * u - a * y;
        return (b / a) * exp(u);
      }
      case Kind::half_normal: {
        const T y = exp(u);
        log_density += normal_lpdf(y, 0.0, 1.0) + u + log_two;
        return a * y;
      }
      case Kind::half_t: {
        const T y = exp(u);
        log_density += student_t_lpdf(y, a, 0.0, 1.0) + u + log_two;
        return b * y;
      }
      case Kind::uniform:
        log_density += transform::detail::log_inv_logit_slope(u);
        return a + (b - a) * inv_logit(u);
      case Kind::beta:
        log_density +=
            (std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b)) - a * softplus(-u) - b * softplus(u);
        return inv_logit(u);
    }
    return u;
  }

  bool is_positive() const;  ///< of numbers above 0 alone
};

/// A prior law (target/observed.hpp) of named numbers that are independent of each other.
class InputPriors {
 public:
  struct Entry {
    std::string name;
    std::size_t size = 1;
    bool is_vector = false;  ///< its numbers are called NAME.1, NAME.2, ...
    InputPrior prior = {};
    std::string text = {};  ///< as it was written
  };

  InputPriors() = default;
  /// Throws UsageError for names that make no sense or are given twice.
  explicit InputPriors(std::vector<Entry> entries);

  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t dimension() const { return each_.size(); }
  std::size_t constrained_size() const { return each_.size(); }
  std::vector<std::string> names() const;
  const InputPrior& at(std::size_t i) const { return each_[i]; }  ///< of one number
  std::vector<std::size_t> name_indices() const;                  ///< how many indices each name ends in

  template <class T>
  T evaluate(std::span<const T> u, std::span<T> x) const {
    T log_density(0.0);
    for (std::size_t i = 0; i < each_.size(); ++i) x[i] = each_[i].evaluate(u[i], log_density);
    return log_density;
  }

 private:
  std::vector<Entry> entries_;
  std::vector<InputPrior> each_;
};

/// Sentences such as "k ~ normal(0, 1)" or "k[100] ~ normal(0, 1)", separated by semicolons or line ends. A
/// distribution by itself, "normal(0, 1)", is for all `inputs`, which are called theta. Throws UsageError
/// with the sentence, what is wrong and what is understood.
InputPriors parse_input_priors(std::string_view text, std::size_t inputs);

}  // namespace onward
