// says: takes one argument, `const auto& t`.*write auto, not double
// lines: 12
#include <vector>

#include <onward/onward.hpp>

int main() {
  auto target = onward::target(2, [](const std::vector<double>& t) { return -t[0] * t[0]; });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
