#pragma once
// Arithmetic over parameters, read from text: "exp(age) - 2 * `x1:x2`", or two such with a comparison between
// them, "age > 0".
//
//   + - * / ^ and parentheses; numbers; exp log sqrt abs
//   names in backquotes, or plain where that has one meaning only: `(Intercept)`, factor(k)2, beta.1
//
// The power binds most tightly and to the right, as in R: -2^2 is -4.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onward/error.hpp"

namespace onward {

/// What is wrong with a text, and where. The message has the text and a caret below the place.
class ExpressionError : public UsageError {
 public:
  ExpressionError(const std::string& what, std::string_view text, std::size_t position);
  std::size_t position() const { return position_; }  ///< in bytes

 private:
  std::size_t position_;
};

/// A function of numbers that have names.
class Expression {
 public:
  /// Throws ExpressionError; for a name that is not known it names the nearest.
  static Expression parse(std::string_view text, std::span<const std::string> names);

  /// Which of the names it has, ascending.
  std::span<const std::size_t> used() const { return used_; }
  /// From the values of used(), in that order. NaN or infinite where it has no value.
  double operator()(std::span<const double> values) const;

 private:
  friend class ExpressionParser;
  enum class Kind { number, name, negate, add, subtract, multiply, divide, power, exp, log, sqrt, abs };
  /// One step of a machine with a stack.
  struct Step {
    Kind kind = Kind::number;
    double number = 0;
    std::size_t name = 0;  ///< at first among all names, then among those that are used
  };
  void settle();

  std::vector<Step> steps_;
  std::vector<std::size_t> used_;
};

/// Two sides and what is said of them.
struct Comparison {
  enum class Kind { greater, less, equal };
  Kind kind = Kind::equal;
  std::string sign;       ///< as it was written: ">", ">=", ...
  Expression difference;  ///< the left side minus the right

  /// Throws ExpressionError, also if there is no comparison or more than one, or no parameter at all.
  static Comparison parse(std::string_view text, std::span<const std::string> names);
};

/// Texts may be nested so deep.
inline constexpr std::size_t deepest_nesting = 200;

}  // namespace onward
