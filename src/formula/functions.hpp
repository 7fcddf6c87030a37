#pragma once
// The functions and operators of numbers that formulas know.

#include <string>
#include <string_view>
#include <vector>

namespace onward::formula::detail {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

/// A function of one number, or null.
Unary find_unary(std::string_view name);
/// An operator between two numbers, or null.
Binary find_operator(std::string_view sign);
/// Whether an operator gives true or false.
bool is_logical_operator(std::string_view sign);
/// Whether a name is that of some function of formulas, of whatever kind.
bool is_function(std::string_view name);

double log_to_base(double x, double base);
double round_to_digits(double x, double digits);

}  // namespace onward::formula::detail
