#pragma once
// The words of a formula.

#include <cstddef>
#include <string>
#include <string_view>

#include "syntax.hpp"

namespace onward::formula::detail {

struct Token {
  enum class Kind { end, number, text, name, sign };
  Kind kind = Kind::end;
  std::string word;  // of a sign: the operator itself, "**" as "^"; of an integer such as 2L: "L"
  double number = 0;
  std::size_t at = 0;
  bool quoted = false;  // a name in backquotes
};

/// The token at `at` or behind blanks and comments there; `at` moves behind it.
Token next_token(const Syntax& syntax, std::size_t& at);

}  // namespace onward::formula::detail
