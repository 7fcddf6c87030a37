#pragma once
// The algebra of model formulas: what `a * b`, `a / b`, `(a + b)^2` and `- c` stand for, by the rules and in
// the order of R's terms().

#include <cstdint>
#include <string>
#include <vector>

#include "syntax.hpp"

namespace onward::formula::detail {

/// A term: the variables that it multiplies, by their numbers, rising. An empty term is nothing.
using Term = std::vector<std::uint32_t>;

struct Terms {
  /// An expression such as `x`, `log(x)` or `offset(z)`, as R writes it; of a column that `.` stands for, its
  /// name.
  struct Variable {
    std::string label;
    std::optional<NodeId> node;
    std::string column = {};
  };
  std::vector<Variable> variables;  // in order of appearance
  std::vector<Term> terms;          // by degree, then in order of appearance; offsets are not among them
  std::vector<std::uint32_t> offsets;
  bool intercept = true;

  std::string label(const Term& term) const;
  /// Whether a factor in a term is coded by contrasts, because the terms before it have the rest of the term;
  /// if not, it has a column for each level.
  bool by_contrasts(std::size_t term, std::uint32_t variable) const;
};

/// The terms of an expression; `dot` is what `.` stands for. Groups, such as (1 | g), are passed over.
Terms expand_terms(const Syntax& syntax, NodeId id, const std::vector<std::string>& dot);

/// All groups of a right-hand side: their bars, in order.
std::vector<NodeId> find_bars(const Syntax& syntax, NodeId id);

/// Whether the expression has a `.` that stands for columns.
bool has_dot(const Syntax& syntax, NodeId id);

}  // namespace onward::formula::detail
