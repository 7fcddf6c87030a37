// says: this number carries derivatives.*Call functions without std::
// lines: 26
#include <cmath>

#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [](auto mu, auto sigma) {
    auto f = -0.5 * mu * mu - std::log(sigma);
    return f - std::pow(mu, 2) - std::exp(mu);
  });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
