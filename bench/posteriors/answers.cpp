#include "bench/posteriors/answers.hpp"

#include <cmath>

namespace onward::bench {

std::vector<Answer> answers(std::string_view name) {
  // Of widths 1 and 0.01, half of the mass each: the variance is (1 + 0.0001) / 2.
  if (name == "mixture-widths") return {{0, std::sqrt(0.50005)}};
  return {};
}

}  // namespace onward::bench
