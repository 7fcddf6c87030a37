// says: the log density must return a number
// lines: 12
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.vector("x", 3);
  auto target = onward::target(parameters, [](auto x) { return x; });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
