#include "functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "onward/formula/formula.hpp"

namespace onward::formula {
namespace detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Comparisons with a missing number are missing.
template <class Compare>
double compared(double a, double b, Compare compare) {
  return std::isnan(a) || std::isnan(b) ? nan : compare(a, b) ? 1 : 0;
}

/// R's rules: what decides alone does so beside a missing value, too.
double both(double a, double b) {
  if (a == 0 || b == 0) return 0;
  return std::isnan(a) || std::isnan(b) ? nan : 1;
}
double either(double a, double b) {
  if ((a != 0 && !std::isnan(a)) || (b != 0 && !std::isnan(b))) return 1;
  return std::isnan(a) || std::isnan(b) ? nan : 0;
}

struct NamedUnary {
  std::string_view name;
  Unary function;
};
struct NamedOperator {
  std::string_view name;
  Binary function;
};

constexpr auto unaries = std::to_array<NamedUnary>({
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"abs", [](double x) { return std::abs(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceiling", [](double x) { return std::ceil(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
    {"as.numeric", [](double x) { return x; }},
});

constexpr auto operators = std::to_array<NamedOperator>({
    {"+", [](double a, double b) { return a + b; }},
    {"-", [](double a, double b) { return a - b; }},
    {"*", [](double a, double b) { return a * b; }},
    {"/", [](double a, double b) { return a / b; }},
    {"^", [](double a, double b) { return b == 2 ? a * a : std::pow(a, b); }},
    {"%%", [](double a, double b) { return b == 0 ? nan : a - std::floor(a / b) * b; }},
    {"%/%", [](double a, double b) { return std::floor(a / b); }},
    {"==", [](double a, double b) { return compared(a, b, std::equal_to<>()); }},
    {"!=", [](double a, double b) { return compared(a, b, std::not_equal_to<>()); }},
    {"<", [](double a, double b) { return compared(a, b, std::less<>()); }},
    {"<=", [](double a, double b) { return compared(a, b, std::less_equal<>()); }},
    {">", [](double a, double b) { return compared(a, b, std::greater<>()); }},
    {">=", [](double a, double b) { return compared(a, b, std::greater_equal<>()); }},
    {"&", both},
    {"|", either},
});

/// Functions that are more than numbers in and numbers out.
constexpr std::array<std::string_view, 10> others{"I",       "poly",   "scale", "factor", "as.factor",
                                                  "relevel", "offset", "cbind", "trials", "weights"};

}  // namespace

Unary find_unary(std::string_view name) {
  const auto found = std::ranges::find(unaries, name, &NamedUnary::name);
  return found == unaries.end() ? nullptr : found->function;
}

Binary find_operator(std::string_view sign) {
  const auto found = std::ranges::find(operators, sign, &NamedOperator::name);
  return found == operators.end() ? nullptr : found->function;
}

bool is_logical_operator(std::string_view sign) {
  return sign == "==" || sign == "!=" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=" ||
         sign == "&" || sign == "|";
}

bool is_function(std::string_view name) {
  return find_unary(name) != nullptr || std::ranges::find(others, name) != others.end();
}

double log_to_base(double x, double base) {
  return base == 2 ? std::log2(x) : base == 10 ? std::log10(x) : std::log(x) / std::log(base);
}

double round_to_digits(double x, double digits) {
  // Of the two decimals around x the nearer one, as R has it; x itself need not be what it is written as.
  const double power = std::pow(10.0, std::floor(digits + 0.5));
  const double below = std::floor(x * power), above = std::ceil(x * power);
  const double down = x - below / power, up = above / power - x;
  const bool even = std::fmod(below, 2) == 0;
  return (down < up || (down == up && even) ? below : above) / power;
}

}  // namespace detail

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : detail::unaries) names.emplace_back(name);
  names.insert(names.end(), detail::others.begin(), detail::others.end());
  return names;
}

}  // namespace onward::formula
