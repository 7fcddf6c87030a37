// says: the log density does not take what was declared: write auto, not double, for each argument
// lines: 12
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [](double mu, auto sigma) { return -mu * mu - sigma; });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
