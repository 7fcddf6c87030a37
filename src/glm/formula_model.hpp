#pragma once
// A regression from a table and a formula.

#include "onward/model/model.hpp"
#include "onward/util/option.hpp"

namespace onward::glm {

/// `given` has the options `data` and `formula`.
Model build_from_formula(const OptionValues& given, const BuildFor& what_for);

/// The options that belong to tables and formulas.
std::vector<Option> formula_options();

}  // namespace onward::glm
