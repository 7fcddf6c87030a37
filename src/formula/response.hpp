#pragma once
// The left-hand side of a formula: `y`, `log(y)`, `cbind(s, f)`, `s | trials(n)`, `y | weights(w)`.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context.hpp"
#include "syntax.hpp"
#include "variable.hpp"

namespace onward::formula::detail {

struct Response {
  std::string name;
  std::optional<Variable> y, failures, trials, weights;

  /// All that there are.
  std::vector<Variable*> variables();
};

/// Where the parts of a left-hand side are in it.
struct ResponseNodes {
  NodeId y = 0;
  std::optional<NodeId> trials, weights;
};

ResponseNodes response_nodes(const Syntax& syntax, NodeId left);

Response build_response(Context& context, NodeId left);

/// The trials of a response alone, if the table has their columns and there is something in them. Those of
/// cbind(successes, failures) come as these two.
Response build_trials(Context& context, NodeId left);

/// The names of columns that occur in an expression, in order, each once; not TRUE, FALSE, pi and the dot.
std::vector<std::string> names_in(const Syntax& syntax, NodeId id);

}  // namespace onward::formula::detail
