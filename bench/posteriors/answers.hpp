#pragma once
// Means and standard deviations of the posteriors that are ours, with standard errors: exact or by quadrature
// where that can be had (errors 0), from long runs elsewhere.

#include <string_view>
#include <vector>

namespace onward::bench {

struct Answer {
  double mean, sd;
  double mean_error = 0, sd_error = 0;
};

/// In the order of the parameters' names; empty for a posterior whose answers are not known.
std::vector<Answer> answers(std::string_view name);

}  // namespace onward::bench
