#pragma once
// Reads expressions by recursive descent, one function for each level of precedence.

#include <optional>
#include <string>
#include <string_view>

#include "onward/util/expression.hpp"

namespace onward {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

  void sum();                ///< terms with + and - between them, up to what is none
  std::string comparison();  ///< the sign that stands here; empty if it is none
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  void subtract() { push(Expression::Kind::subtract); }  ///< the last two that were read
  Expression finished();
  [[noreturn]] void fail_at_rest();  ///< of something that follows where nothing should

 private:
  class Deeper;

  void push(Expression::Kind kind, double number = 0, std::size_t name = 0) {
    result_.steps_.push_back({kind, number, name});
  }
  void product();
  void signed_power();
  void atom();
  void number();
  void quoted_name();
  void function();
  void rest_of_parentheses(std::size_t opened);
  std::optional<std::size_t> plain_name();
  bool is_arithmetic(const std::string& name) const;
  std::optional<Expression::Kind> function_at(std::size_t at, std::size_t& after) const;
  std::string word_at(std::size_t begin) const;

  void skip_space();
  bool take(char c);
  [[noreturn]] void fail(const std::string& what, std::size_t at) const;
  [[noreturn]] void fail_unknown(const std::string& word, std::size_t at) const;

  std::string_view text_;
  std::span<const std::string> names_;
  std::string not_this_;  ///< a name that is not to be taken: whether it is arithmetic is the question
  std::size_t at_ = 0, depth_ = 0;
  Expression result_;
};

}  // namespace onward
