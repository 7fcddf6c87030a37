#pragma once
// A parsed formula: nodes that name each other by number, so that the longest sum of terms is a flat list in
// memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward::formula::detail {

using NodeId = std::uint32_t;

struct Node {
  enum class Kind { number, text, name, call };
  Kind kind = Kind::name;
  std::string word;  // a name, a function, an operator such as "+", or the text itself; "L" of an integer
  double number = 0;
  std::vector<NodeId> arguments;
  std::vector<std::string> argument_names;  // one for each argument; "" for those without
  std::size_t at = 0;                       // where it is in the text
  std::size_t height = 1;
};

struct Syntax {
  std::string text;
  std::vector<Node> nodes;
  std::optional<NodeId> left;
  NodeId right = 0;

  const Node& operator[](NodeId id) const { return nodes[id]; }
  bool is_call(NodeId id, std::string_view word, std::size_t arguments) const {
    const Node& node = nodes[id];
    return node.kind == Node::Kind::call && node.word == word && node.arguments.size() == arguments;
  }
  bool is_name(NodeId id, std::string_view word) const {
    return nodes[id].kind == Node::Kind::name && nodes[id].word == word;
  }
  NodeId argument(NodeId id, std::size_t i) const { return nodes[id].arguments[i]; }

  /// Throws UsageError: what is wrong, and the formula with a caret under the place.
  [[noreturn]] void fail(std::size_t at, const std::string& what) const;
  [[noreturn]] void fail_at(NodeId id, const std::string& what) const { fail(nodes[id].at, what); }
};

Syntax parse(std::string_view text);

/// An expression as R writes it: `log(x, base = 2)`, `I(x^2)`, `a:b`.
std::string deparse(const Syntax& syntax, NodeId id);

/// Whether the name can stand in a formula without backquotes.
bool is_syntactic(std::string_view name);

/// The node within any number of parentheses.
NodeId without_parentheses(const Syntax& syntax, NodeId id);

/// Whether the node is `(... | g)` or `(... || g)`; gives the bar itself.
std::optional<NodeId> group_bar(const Syntax& syntax, NodeId id);

}  // namespace onward::formula::detail
