#pragma once
// A variable of a formula, such as `x`, `poly(x, 2)` or a factor, and the columns that it contributes to a
// term.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "expression.hpp"
#include "factor.hpp"
#include "terms.hpp"

namespace onward::formula::detail {

/// Polynomials of a variable: raw powers, or orthogonal ones by their recurrence, as R's poly() has them:
/// p[k + 1] = (x - alpha[k]) p[k] - (norms[k] / norms[k - 1]) p[k - 1], divided by the root of norms[k].
struct Polynomial {
  std::size_t degree = 1;
  bool raw = false;
  std::vector<double> alpha, norms;
  /// The k-th one, counted from 1, in place.
  void evaluate(std::size_t k, std::span<double> x) const;
};

/// How a variable appears in a term: numbers as they are, a factor by contrasts or with a column for each
/// level.
enum class Coding { plain, treatment, sum, full };

struct Variable {
  enum class Kind { number, polynomial, logical, factor };
  std::string label;
  Kind kind = Kind::number;
  std::shared_ptr<const Expression> numbers;  // of all kinds but factors
  Polynomial polynomial;
  Factor factor;

  bool is_categorical() const { return kind == Kind::logical || kind == Kind::factor; }
  std::size_t levels() const { return kind == Kind::logical ? 2 : factor.levels.size(); }
  std::string level(std::size_t k) const;
  std::size_t columns(Coding coding) const;
  /// The name of column k as R has it.
  std::string column_name(std::size_t k, Coding coding) const;
  void evaluate(std::size_t k, Coding coding, const Rows& rows, std::span<double> out) const;
  /// Clears the entries of `keep` where the variable is missing.
  void mark_missing(std::span<std::uint8_t> keep) const;
  /// The first row of `keep` in which the variable is infinite, or nothing.
  std::optional<std::size_t> first_infinite(std::span<const std::uint8_t> keep) const;
};

/// Builds a variable. What it estimates goes into the state, but for the levels of a factor: these wait for
/// `settle_levels`.
Variable build_variable(Context& context, const Terms::Variable& variable);

/// Once it is known which rows are used: the levels of a factor are those of the fitted model, or those that
/// rows have.
void settle_levels(Context& context, std::span<const std::uint8_t> keep, Variable& variable);

}  // namespace onward::formula::detail
