// says: arguments of the log density: 3, declared parameters: 2. It must take one argument for each parameter
// lines: 26
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.vector("x", 3).real("mu");
  auto target = onward::target(parameters, [](auto x, auto mu, auto sigma) { return -x[0] * mu - sigma; });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
