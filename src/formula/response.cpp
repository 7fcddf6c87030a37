#include "response.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace onward::formula::detail {
namespace {

Variable number_variable(Context& context, NodeId id, const char* what) {
  Variable variable = build_variable(context, {.label = deparse(context.syntax, id), .node = id});
  if (variable.kind == Variable::Kind::factor || variable.kind == Variable::Kind::polynomial)
    context.syntax.fail_at(id, fmt::format("{} are numbers, and {} is not.", what, variable.label));
  return variable;
}

/// Names that are no columns.
bool is_constant(const std::string& name) {
  return name == "TRUE" || name == "FALSE" || name == "pi" || name == ".";
}

void read_addition(const Syntax& syntax, NodeId id, ResponseNodes& nodes) {
  id = without_parentheses(syntax, id);
  if (syntax.is_call(id, "+", 2)) {
    read_addition(syntax, syntax.argument(id, 0), nodes);
    read_addition(syntax, syntax.argument(id, 1), nodes);
    return;
  }
  const bool trials = syntax.is_call(id, "trials", 1), weights = syntax.is_call(id, "weights", 1);
  if (!trials && !weights) syntax.fail_at(id, "behind the response can stand | trials(n) and | weights(w).");
  auto& slot = trials ? nodes.trials : nodes.weights;
  if (slot) syntax.fail_at(id, fmt::format("{} are given twice.", syntax[id].word));
  slot = syntax.argument(id, 0);
}

/// The two columns of cbind(successes, failures).
void add_counts(Context& context, NodeId cbind, Response& response) {
  response.y = number_variable(context, context.syntax.argument(cbind, 0), "successes");
  response.failures = number_variable(context, context.syntax.argument(cbind, 1), "failures");
}

}  // namespace

std::vector<Variable*> Response::variables() {
  std::vector<Variable*> all;
  for (auto* part : {&y, &failures, &trials, &weights})
    if (*part) all.push_back(&**part);
  return all;
}

ResponseNodes response_nodes(const Syntax& syntax, NodeId left) {
  ResponseNodes nodes{.y = left, .trials = {}, .weights = {}};
  if (syntax.is_call(left, "|", 2)) {
    nodes.y = syntax.argument(left, 0);
    read_addition(syntax, syntax.argument(left, 1), nodes);
  }
  const Node& y = syntax[nodes.y];
  if (y.kind == Node::Kind::call && y.word == "cbind") {
    if (y.arguments.size() != 2) syntax.fail_at(nodes.y, "a response is cbind(successes, failures).");
    if (nodes.trials) syntax.fail_at(nodes.y, "cbind(successes, failures) has the trials in it already.");
  }
  return nodes;
}

Response build_response(Context& context, NodeId left) {
  const Syntax& syntax = context.syntax;
  const ResponseNodes nodes = response_nodes(syntax, left);
  Response response;
  response.name = deparse(syntax, nodes.y);
  if (syntax.is_call(nodes.y, "cbind", 2)) {
    add_counts(context, nodes.y, response);
  } else {
    response.y = build_variable(context, {.label = response.name, .node = nodes.y});
    if (response.y->kind == Variable::Kind::polynomial) syntax.fail_at(nodes.y, "a response is one column.");
  }
  if (nodes.trials) response.trials = number_variable(context, *nodes.trials, "trials");
  if (nodes.weights) response.weights = number_variable(context, *nodes.weights, "weights");
  return response;
}

Response build_trials(Context& context, NodeId left) {
  const ResponseNodes nodes = response_nodes(context.syntax, left);
  Response response;
  response.name = deparse(context.syntax, nodes.y);
  const bool both = context.syntax.is_call(nodes.y, "cbind", 2);
  if (!nodes.trials && !both) return response;
  const auto names = names_in(context.syntax, both ? nodes.y : *nodes.trials);
  const auto is_there = [&](const std::string& name) {
    const auto column = context.table.look_up(name);
    return column != nullptr && column->missing() < column->rows();
  };
  if (!std::ranges::all_of(names, is_there)) return response;
  if (both)
    add_counts(context, nodes.y, response);
  else
    response.trials = number_variable(context, *nodes.trials, "trials");
  return response;
}

std::vector<std::string> names_in(const Syntax& syntax, NodeId id) {
  std::vector<std::string> names;
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    const Node& node = syntax[open.back()];
    open.pop_back();
    if (node.kind == Node::Kind::name && !is_constant(node.word) &&
        std::ranges::find(names, node.word) == names.end())
      names.push_back(node.word);
    for (std::size_t i = node.arguments.size(); i-- > 0;)
      // The T of `raw = T` is no column; elsewhere T may well be one.
      if (node.argument_names[i].empty() || !constant_logical(syntax, node.arguments[i]))
        open.push_back(node.arguments[i]);
  }
  return names;
}

}  // namespace onward::formula::detail
