// Expressions as R's deparse writes them, since columns are named by them.

#include <fmt/format.h>

#include <array>

#include "onward/table/column.hpp"
#include "syntax.hpp"

namespace onward::formula::detail {
namespace {

std::string quoted(const std::string& text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == quote || c == '\\')
      out += {'\\', c};
    else
      out += c;
  }
  return out + quote;
}

std::string name_of(const std::string& name) {
  const bool constant = name == "TRUE" || name == "FALSE" || name == "NULL";
  return constant || is_syntactic(name) ? name : quoted(name, '`');
}

bool is_operator(const std::string& word) {
  return !word.empty() && std::string_view("+-*/^:|&!<>=%~").find(word[0]) != std::string_view::npos;
}

/// R puts no blanks around these.
bool is_tight(const std::string& word) {
  return word == "/" || word == "^" || word == ":" || word == "%%" || word == "%/%";
}

}  // namespace

std::string deparse(const Syntax& syntax, NodeId id) {
  const Node& node = syntax[id];
  switch (node.kind) {
    case Node::Kind::number:
      return spelled_number(node.number) + node.word;
    case Node::Kind::text:
      return quoted(node.word, '"');
    case Node::Kind::name:
      return name_of(node.word);
    case Node::Kind::call:
      break;
  }
  // The long way down is along the left sides of sums.
  constexpr std::size_t deepest = 1000;
  if (node.height > deepest)
    syntax.fail_at(id, fmt::format("an expression here is more than {} operators deep.", deepest));
  const auto part = [&](std::size_t i) { return deparse(syntax, node.arguments[i]); };
  if (node.word == "(") return fmt::format("({})", part(0));
  if (is_operator(node.word) && node.arguments.size() == 1) return node.word + part(0);
  if (is_operator(node.word) && node.arguments.size() == 2)
    return is_tight(node.word) ? fmt::format("{}{}{}", part(0), node.word, part(1))
                               : fmt::format("{} {} {}", part(0), node.word, part(1));
  std::string out = name_of(node.word) + "(";
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    if (i > 0) out += ", ";
    if (!node.argument_names[i].empty()) out += name_of(node.argument_names[i]) + " = ";
    out += part(i);
  }
  return out + ")";
}

}  // namespace onward::formula::detail
