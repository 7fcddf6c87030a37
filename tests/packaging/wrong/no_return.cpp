// says: the log density returns nothing: end it with `return`
// lines: 12
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [](auto mu, auto sigma) {
    auto f = -0.5 * mu * mu;
    f -= sigma;
  });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
