#include "expression_parser.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// What a plain word is made of; bytes of other alphabets belong to it.
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

void ExpressionParser::fail(const std::string& what, std::size_t at) const {
  throw ExpressionError(what, text_, at);
}

void ExpressionParser::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool ExpressionParser::take(char c) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

/// Counts how deep the text is nested for as long as it lives.
class ExpressionParser::Deeper {
 public:
  explicit Deeper(ExpressionParser& parser) : parser_(parser) {
    if (++parser_.depth_ > deepest_nesting)
      parser_.fail(fmt::format("this is nested more than {} deep: write it in parts", deepest_nesting),
                   parser_.at_);
  }
  ~Deeper() { --parser_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  ExpressionParser& parser_;
};

void ExpressionParser::sum() {
  product();
  for (;;) {
    if (take('+')) {
      product();
      push(Expression::Kind::add);
    } else if (take('-')) {
      product();
      push(Expression::Kind::subtract);
    } else {
      return;
    }
  }
}

void ExpressionParser::product() {
  signed_power();
  for (;;) {
    if (take('*')) {
      signed_power();
      push(Expression::Kind::multiply);
    } else if (take('/')) {
      signed_power();
      push(Expression::Kind::divide);
    } else {
      return;
    }
  }
}

void ExpressionParser::signed_power() {
  const Deeper deeper(*this);
  if (take('-')) {
    signed_power();
    push(Expression::Kind::negate);
  } else if (take('+')) {
    signed_power();
  } else {
    atom();
    if (take('^')) {
      signed_power();
      push(Expression::Kind::power);
    }
  }
}

void ExpressionParser::atom() {
  skip_space();
  if (at_ >= text_.size()) fail("a number or a parameter is missing here", at_);
  if (const auto name = plain_name()) {  // R's own backquotes, as in `my var`:x, are part of the name
    at_ += names_[*name].size();
    return push(Expression::Kind::name, 0, *name);
  }
  if (text_[at_] == '`') return quoted_name();
  if (is_digit(text_[at_]) || (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
    return number();
  if (take('(')) return rest_of_parentheses(at_ - 1);
  if (is_word(text_[at_])) return function();
  fail(fmt::format("'{}' where a number or a parameter is due", printable(text_.substr(at_, 1))), at_);
}

void ExpressionParser::rest_of_parentheses(std::size_t opened) {
  sum();
  if (!take(')')) {
    if (at_ >= text_.size()) fail("this parenthesis is not closed", opened);
    fail_at_rest();
  }
}

void ExpressionParser::number() {
  const std::string rest(text_.substr(at_, text_.find_first_not_of("0123456789.eE+-", at_) - at_));
  char* end = nullptr;
  const double value = std::strtod(rest.c_str(), &end);
  const std::size_t after = at_ + static_cast<std::size_t>(end - rest.c_str());
  if (after < text_.size() && is_word(text_[after])) {
    const std::string word = word_at(at_);
    fail(fmt::format(
             "'{}' is neither a number nor a parameter: names that begin with a digit need backquotes.{}",
             printable(word), suggestion(word, names_)),
         at_);
  }
  at_ = after;
  push(Expression::Kind::number, value);
}

void ExpressionParser::quoted_name() {
  const std::size_t begin = at_ + 1, end = text_.find('`', begin);
  if (end == std::string_view::npos) fail("this backquote is not closed", at_);
  const std::string name(text_.substr(begin, end - begin));
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) fail_unknown(name, begin);
  push(Expression::Kind::name, 0, static_cast<std::size_t>(found - names_.begin()));
  at_ = end + 1;
}

std::optional<Expression::Kind> ExpressionParser::function_at(std::size_t at, std::size_t& after) const {
  using enum Expression::Kind;
  for (const auto& [word, kind] :
       {std::pair{std::string_view("exp"), exp}, {"log", log}, {"sqrt", sqrt}, {"abs", abs}}) {
    if (!text_.substr(at).starts_with(word)) continue;
    after = at + word.size();
    while (after < text_.size() && is_space(text_[after])) ++after;
    if (after < text_.size() && text_[after] == '(') return kind;
  }
  return std::nullopt;
}

void ExpressionParser::function() {
  std::size_t after = 0;
  const auto kind = function_at(at_, after);
  if (!kind) fail_unknown(word_at(at_), at_);
  at_ = after + 1;
  rest_of_parentheses(after);
  push(*kind);
}

/// The longest parameter whose name stands here as it is. A name that could also be read as arithmetic, such
/// as log(x) beside x, is refused.
std::optional<std::size_t> ExpressionParser::plain_name() {
  const std::string_view rest = text_.substr(at_);
  if (is_digit(rest.front()) || rest.front() == '-' || rest.front() == '+') return std::nullopt;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    if (name.empty() || name == not_this_ || !rest.starts_with(name)) continue;
    const char next = name.size() < rest.size() ? rest[name.size()] : ' ';
    if (is_word(next) || next == ':' || next == '[') continue;  // of a longer name
    if (!best || name.size() > names_[*best].size()) best = i;
  }
  if (!best) return std::nullopt;
  const std::string& name = names_[*best];
  std::size_t after = 0;
  if (function_at(at_, after) && after >= at_ + name.size())
    return std::nullopt;  // exp(...), beside a parameter exp
  if (!std::ranges::all_of(name, is_word) && not_this_.empty() && is_arithmetic(name))
    fail(fmt::format(
             "{0} is a parameter, and arithmetic with others too: write `{0}` for the parameter, or put the "
             "others' names into backquotes",
             printable(name)),
         at_);
  return best;
}

bool ExpressionParser::is_arithmetic(const std::string& name) const {
  ExpressionParser other(name, names_);
  other.not_this_ = name;
  try {
    other.sum();
    other.skip_space();
    return other.at_ == name.size();
  } catch (const ExpressionError&) {
    return false;
  }
}

/// What was meant as one name: up to a space or a sign that is not within parentheses.
std::string ExpressionParser::word_at(std::size_t begin) const {
  std::size_t end = begin, open = 0;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    if (c == '(' || c == '[') ++open;
    if ((c == ')' || c == ']') && open-- == 0) break;
    if (open == 0 && (is_space(c) || std::string_view("+-*/^<>=!`").find(c) != std::string_view::npos)) break;
  }
  return std::string(text_.substr(begin, end - begin));
}

void ExpressionParser::fail_unknown(const std::string& word, std::size_t at) const {
  std::string hint = suggestion(word, names_);
  if (hint.empty() && names_.size() <= 12) hint = " The parameters are " + joined(names_) + ".";
  const std::size_t open = word.find('(');
  if (open != std::string::npos && hint.starts_with(" The"))
    hint = " The functions are exp, log, sqrt and abs." + hint;
  fail(fmt::format("there is no parameter '{}'.{}", printable(word), hint), at);
}

void ExpressionParser::fail_at_rest() {
  skip_space();
  const char c = text_[at_];
  if (c == ')') fail("this parenthesis was not opened", at_);
  if (c == '<' || c == '>' || c == '=' || c == '!')
    fail("a hypothesis has one comparison, outside of parentheses: give another one on its own", at_);
  if (is_word(c) || c == '`' || c == '(') fail("a sign such as + or * is missing before this", at_);
  fail(fmt::format("'{}' is not known here", printable(text_.substr(at_, 1))), at_);
}

std::string ExpressionParser::comparison() {
  skip_space();
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("!=")) fail("!= says little of a continuous quantity: ask for =, > or <", at_);
  for (const char* sign : {">=", "<=", "==", ">", "<", "="})
    if (rest.starts_with(sign)) {
      at_ += std::string_view(sign).size();
      return sign;
    }
  return "";
}

Expression ExpressionParser::finished() {
  result_.settle();
  return std::move(result_);
}

}  // namespace onward
