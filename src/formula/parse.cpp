// The grammar of formulas is R's: operators by their precedence, calls with named arguments.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "syntax.hpp"
#include "token.hpp"

namespace onward::formula::detail {
namespace {

constexpr int deepest_nesting = 200;

/// How strongly an operator binds, as R's ?Syntax has it; 0 for what is none.
int strength(const Token& token) {
  if (token.kind != Token::Kind::sign) return 0;
  const std::string& sign = token.word;
  if (sign == "|" || sign == "||") return 2;
  if (sign == "&" || sign == "&&") return 3;
  if (sign == "==" || sign == "!=" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=") return 5;
  if (sign == "+" || sign == "-") return 6;
  if (sign == "*" || sign == "/") return 7;
  if (sign.starts_with('%')) return 8;
  if (sign == ":") return 9;
  if (sign == "^") return 11;
  return 0;
}
constexpr int negation_strength = 4, sign_strength = 10, power_strength = 11;

class Parser {
 public:
  explicit Parser(std::string_view text) {
    syntax_.text = text;
    if (text.find('\0') != std::string_view::npos || !is_utf8(text))
      throw UsageError("the formula is not text in UTF-8.");
    advance();
  }

  Syntax parse() {
    if (token_.kind == Token::Kind::end)
      syntax_.fail(token_.at, "the formula is empty. Write one such as y ~ x.");
    if (!is_sign("~")) syntax_.left = expression(1);
    if (!is_sign("~")) fail_unexpected("`~`, which divides the response from its predictors");
    advance();
    syntax_.right = expression(1);
    if (is_sign("~")) syntax_.fail(token_.at, "a formula has one `~`.");
    if (token_.kind != Token::Kind::end) fail_unexpected("an operator such as +");
    return std::move(syntax_);
  }

 private:
  bool is_sign(std::string_view sign) const {
    return token_.kind == Token::Kind::sign && token_.word == sign;
  }
  void advance() { token_ = next_token(syntax_, at_); }

  [[noreturn]] void fail_unexpected(const std::string& wanted) const {
    if (token_.kind == Token::Kind::end)
      syntax_.fail(token_.at, fmt::format("the formula ends where {} should follow.", wanted));
    syntax_.fail(token_.at, fmt::format("this should be {}.", wanted));
  }

  NodeId add(Node node) {
    for (const NodeId id : node.arguments) node.height = std::max(node.height, syntax_[id].height + 1);
    syntax_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(syntax_.nodes.size() - 1);
  }
  NodeId add_call(std::string word, std::size_t at, std::vector<NodeId> arguments) {
    Node node;
    node.kind = Node::Kind::call;
    node.word = std::move(word);
    node.at = at;
    node.argument_names.resize(arguments.size());
    node.arguments = std::move(arguments);
    return add(std::move(node));
  }

  NodeId expression(int least) {
    if (++depth_ > deepest_nesting)
      syntax_.fail(token_.at, fmt::format("the formula is nested more than {} deep here.", deepest_nesting));
    NodeId left = operand();
    for (;;) {
      const Token sign = token_;
      const int binds = strength(sign);
      if (binds == 0 || binds < least) break;
      advance();
      const NodeId right = expression(binds == power_strength ? binds : binds + 1);
      left = add_call(sign.word, sign.at, {left, right});
    }
    --depth_;
    return left;
  }

  NodeId operand() {
    const Token token = token_;
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::sign) return signed_operand(token);
    advance();
    Node node;
    node.at = token.at;
    node.word = token.word;
    node.number = token.number;
    if (token.kind == Token::Kind::name && is_sign("(")) return call(token);
    node.kind = token.kind == Token::Kind::number ? Node::Kind::number
                : token.kind == Token::Kind::text ? Node::Kind::text
                                                  : Node::Kind::name;
    return add(std::move(node));
  }

  NodeId signed_operand(const Token& token) {
    if (is_sign("(")) {
      advance();
      const NodeId inner = expression(1);
      close(token.at);
      return add_call("(", token.at, {inner});
    }
    if (!is_sign("-") && !is_sign("+") && !is_sign("!")) fail_unexpected("a variable, a number or `(`");
    advance();
    const NodeId inner = expression(token.word == "!" ? negation_strength : sign_strength);
    return add_call(token.word, token.at, {inner});
  }

  void close(std::size_t opened) {
    if (token_.kind == Token::Kind::end) syntax_.fail(opened, "this parenthesis is not closed.");
    if (!is_sign(")")) fail_unexpected("an operator or `)`");
    advance();
  }

  NodeId call(const Token& function) {
    const std::size_t opened = token_.at;
    advance();
    Node node;
    node.kind = Node::Kind::call;
    node.word = function.word;
    node.at = function.at;
    while (!is_sign(")")) {
      std::string name;
      const std::size_t before = at_;
      const Token first = token_;
      if (first.kind == Token::Kind::name) {  // perhaps `name = value`
        advance();
        if (is_sign("=")) {
          name = first.word;
          advance();
        } else {
          at_ = before;
          token_ = first;
        }
      }
      node.arguments.push_back(expression(1));
      node.argument_names.push_back(std::move(name));
      if (is_sign(")")) break;
      if (token_.kind == Token::Kind::end) syntax_.fail(opened, "this parenthesis is not closed.");
      if (!is_sign(",")) fail_unexpected("an operator, `,` or `)`");
      advance();
    }
    advance();
    return add(std::move(node));
  }

  Syntax syntax_;
  std::size_t at_ = 0;
  Token token_;
  int depth_ = 0;
};

}  // namespace

Syntax parse(std::string_view text) { return Parser(text).parse(); }

void Syntax::fail(std::size_t at, const std::string& what) const {
  // A line around the place, in which every character takes one column.
  constexpr std::size_t around = 60;
  const auto continues = [&](std::size_t i) { return !begins_character(text[i]); };
  std::size_t first = at > around ? at - around : 0;
  std::size_t last = std::min(text.size(), at + around);
  while (first > 0 && continues(first)) --first;
  while (last < text.size() && continues(last)) ++last;
  std::string line = first > 0 ? "..." : "";
  std::size_t caret = line.size();
  for (std::size_t i = first; i < last; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    line += byte < 0x20 || byte == 0x7f ? ' ' : text[i];
    if (i < at && !continues(i)) ++caret;
  }
  if (last < text.size()) line += "...";
  throw UsageError(fmt::format("formula: {}\n  {}\n  {}^", what, line, std::string(caret, ' ')));
}

NodeId without_parentheses(const Syntax& syntax, NodeId id) {
  while (syntax.is_call(id, "(", 1)) id = syntax.argument(id, 0);
  return id;
}

std::optional<NodeId> group_bar(const Syntax& syntax, NodeId id) {
  if (!syntax.is_call(id, "(", 1)) return std::nullopt;
  id = without_parentheses(syntax, id);
  if (syntax.is_call(id, "|", 2) || syntax.is_call(id, "||", 2)) return id;
  return std::nullopt;
}

}  // namespace onward::formula::detail
