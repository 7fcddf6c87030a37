#include "token.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "onward/util/printable.hpp"

namespace onward::formula::detail {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_'; }

/// Reads text up to the closing quote; `at` is behind the opening one.
std::string read_quoted(const Syntax& syntax, std::size_t& at, char quote) {
  const std::size_t opened = at - 1;
  const std::string& text = syntax.text;
  std::string word;
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\') {
      word += text[at];
      continue;
    }
    if (++at == text.size()) break;
    const char c = text[at];
    if (c == 'n' || c == 't')
      word += c == 'n' ? '\n' : '\t';
    else if (c == '\\' || c == '"' || c == '\'' || c == '`')
      word += c;
    else
      syntax.fail(at - 1, fmt::format("\\{} is not understood in quotes.", printable({&c, 1})));
  }
  if (at == text.size()) syntax.fail(opened, fmt::format("the quote {} is not closed.", quote));
  ++at;
  return word;
}

void read_number(const Syntax& syntax, std::size_t& at, Token& token) {
  const std::string& text = syntax.text;
  const char* const first = text.data() + at;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, token.number);
  if (error != std::errc()) syntax.fail(at, "this number is out of range.");
  at += static_cast<std::size_t>(end - first);
  if (at < text.size() && text[at] == 'L') {
    token.word.assign(1, 'L');
    ++at;
  }
  if (at < text.size() && is_name_part(text[at]))
    syntax.fail(at, "a name cannot begin with a digit; write such a name in backquotes.");
}

void read_sign(const Syntax& syntax, std::size_t& at, Token& token) {
  const std::string_view rest = std::string_view(syntax.text).substr(at);
  if (rest.front() == '%') {
    const auto end = rest.find('%', 1);
    if (end == std::string_view::npos)
      syntax.fail(at, "an operator begins with % and does not end with one.");
    token.word = std::string(rest.substr(0, end + 1));
    at += end + 1;
    return;
  }
  static constexpr std::array<std::string_view, 22> signs{"**", "||", "&&", "==", "!=", "<=", ">=", "+",
                                                          "-",  "*",  "/",  "^",  ":",  "~",  "(",  ")",
                                                          ",",  "|",  "&",  "!",  "<",  ">"};
  for (const auto sign : signs) {
    if (!rest.starts_with(sign)) continue;
    at += sign.size();
    token.word = std::string(sign == "**" ? "^" : sign);
    return;
  }
  if (rest.front() == '=') {
    ++at;
    token.word.assign(1, '=');
    return;
  }
  syntax.fail(at, fmt::format("{} has no meaning in a formula.", printable(rest.substr(0, 1))));
}

}  // namespace

bool is_syntactic(std::string_view name) {
  static constexpr std::array<std::string_view, 19> reserved{
      "if",          "else",     "repeat",        "while", "function",   "for", "next",
      "break",       "TRUE",     "FALSE",         "NULL",  "Inf",        "NaN", "NA",
      "NA_integer_", "NA_real_", "NA_character_", "in",    "NA_complex_"};
  if (name.empty() || !(is_letter(name[0]) || name[0] == '.')) return false;
  if (name[0] == '.' && name.size() > 1 && is_digit(name[1])) return false;
  for (const char c : name)
    if (!is_name_part(c)) return false;
  for (const auto word : reserved)
    if (name == word) return false;
  return true;
}

Token next_token(const Syntax& syntax, std::size_t& at) {
  const std::string& text = syntax.text;
  while (at < text.size()) {
    if (text[at] == '#')
      while (at < text.size() && text[at] != '\n') ++at;
    else if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')
      ++at;
    else
      break;
  }
  Token token;
  token.at = at;
  if (at == text.size()) return token;
  const char c = text[at];
  if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
    token.kind = Token::Kind::number;
    read_number(syntax, at, token);
  } else if (is_letter(c) || c == '.') {
    token.kind = Token::Kind::name;
    while (at < text.size() && is_name_part(text[at])) token.word += text[at++];
  } else if (c == '`') {
    token.kind = Token::Kind::name;
    token.quoted = true;
    token.word = read_quoted(syntax, ++at, c);
    if (token.word.empty()) syntax.fail(token.at, "a name in backquotes is empty.");
  } else if (c == '"' || c == '\'') {
    token.kind = Token::Kind::text;
    token.word = read_quoted(syntax, ++at, c);
  } else {
    token.kind = Token::Kind::sign;
    read_sign(syntax, at, token);
  }
  return token;
}

}  // namespace onward::formula::detail
