// says: arguments of the log density: 1, declared parameters: 2. It must take one argument for each parameter
// lines: 26
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").vector("x", 3);
  auto target = onward::target(parameters, [](auto mu) { return -mu * mu; });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
