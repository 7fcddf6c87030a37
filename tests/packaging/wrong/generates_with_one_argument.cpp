// says: what generates quantities takes `auto& random`, then one argument for each parameter
// lines: 16
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [](auto mu, auto sigma) { return -mu * mu - sigma; });
  auto more =
      target.generate(onward::Quantities{}.real("y"), [](auto& random, auto y) { y = random.normal(); });
  auto run = onward::sample(more, {.draws = 10, .seed = 1});
}
