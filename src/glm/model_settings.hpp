#pragma once
// What options of a regression mean, whether its data are arrays or a table.

#include <string>
#include <vector>

#include "onward/glm/posterior.hpp"
#include "onward/util/option.hpp"

namespace onward::glm {

/// By `family` and `link`.
Family family_of(const OptionValues& given);
/// Priors, and sigma or phi if it is known. Throws UsageError for what does not go with the family, with
/// columns or with there being an intercept or not; what is said of groups is passed over.
PosteriorOptions posterior_options(const OptionValues& given, Family family, bool intercept,
                                   std::vector<std::string> column_names);

}  // namespace onward::glm
