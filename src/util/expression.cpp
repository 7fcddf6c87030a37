#include "onward/util/expression.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "expression_parser.hpp"
#include "onward/util/printable.hpp"

namespace onward {
namespace {

/// The text about a place, with a caret below it. Long texts are cut.
std::string shown(std::string_view text, std::size_t position) {
  constexpr std::size_t around = 50;
  const auto inside_letter = [&](std::size_t at) { return at < text.size() && !begins_character(text[at]); };
  std::size_t begin = position > around ? position - around : 0;
  std::size_t end = std::min(text.size(), position + around);
  while (begin > 0 && inside_letter(begin)) --begin;
  while (inside_letter(end)) ++end;
  const std::string before = (begin > 0 ? "..." : "") + printable(text.substr(begin, position - begin));
  return fmt::format("  {}{}{}\n  {}^", before, printable(text.substr(position, end - position)),
                     end < text.size() ? "..." : "", std::string(columns_in(before), ' '));
}

}  // namespace

ExpressionError::ExpressionError(const std::string& what, std::string_view text, std::size_t position)
    : UsageError(what + "\n" + shown(text, position)), position_(position) {}

void Expression::settle() {
  std::set<std::size_t> used;
  for (const Step& step : steps_)
    if (step.kind == Kind::name) used.insert(step.name);
  used_.assign(used.begin(), used.end());
  for (Step& step : steps_)
    if (step.kind == Kind::name)
      step.name = static_cast<std::size_t>(std::ranges::lower_bound(used_, step.name) - used_.begin());
}

double Expression::operator()(std::span<const double> values) const {
  std::vector<double> stack;
  const auto two = [&](auto f) {
    const double right = stack.back();
    stack.pop_back();
    stack.back() = f(stack.back(), right);
  };
  const auto one = [&](auto f) { stack.back() = f(stack.back()); };
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Kind::number:
        stack.push_back(step.number);
        break;
      case Kind::name:
        stack.push_back(values[step.name]);
        break;
      case Kind::negate:
        one([](double x) { return -x; });
        break;
      case Kind::add:
        two([](double a, double b) { return a + b; });
        break;
      case Kind::subtract:
        two([](double a, double b) { return a - b; });
        break;
      case Kind::multiply:
        two([](double a, double b) { return a * b; });
        break;
      case Kind::divide:
        two([](double a, double b) { return a / b; });
        break;
      case Kind::power:
        two([](double a, double b) { return std::pow(a, b); });
        break;
      case Kind::exp:
        one([](double x) { return std::exp(x); });
        break;
      case Kind::log:
        one([](double x) { return std::log(x); });
        break;
      case Kind::sqrt:
        one([](double x) { return std::sqrt(x); });
        break;
      case Kind::abs:
        one([](double x) { return std::abs(x); });
        break;
    }
  }
  return stack.back();
}

Expression Expression::parse(std::string_view text, std::span<const std::string> names) {
  ExpressionParser parser(text, names);
  parser.sum();
  if (!parser.at_end()) parser.fail_at_rest();
  return parser.finished();
}

Comparison Comparison::parse(std::string_view text, std::span<const std::string> names) {
  ExpressionParser parser(text, names);
  parser.sum();
  Comparison result;
  result.sign = parser.comparison();
  if (result.sign.empty()) {
    if (!parser.at_end()) parser.fail_at_rest();
    throw ExpressionError(
        "a hypothesis compares two sides, as in `age > 0`: a sign >, <, >=, <= or = is missing", text,
        text.size());
  }
  result.kind = result.sign.front() == '>'   ? Kind::greater
                : result.sign.front() == '<' ? Kind::less
                                             : Kind::equal;
  parser.sum();
  if (!parser.at_end()) parser.fail_at_rest();
  parser.subtract();
  result.difference = parser.finished();
  if (result.difference.used().empty())
    throw ExpressionError("this names no parameter, so that draws say nothing of it", text, 0);
  return result;
}

}  // namespace onward
