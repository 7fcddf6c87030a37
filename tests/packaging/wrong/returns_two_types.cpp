// says: inconsistent types .double. and .onward::Value<double>. deduced for lambda return type
// lines: 20
#include <limits>

#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [](auto mu, auto sigma) {
    if (mu < 0) return -std::numeric_limits<double>::infinity();
    return -0.5 * mu * mu - sigma;
  });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
