// A model of one's own: a mean and a scale from five numbers.
#include <array>
#include <iostream>
#include <onward/onward.hpp>

int main() {
  const std::array y{4.1, 5.3, 2.9, 4.8, 6.0};
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [&](auto mu, auto sigma) {
    auto f = onward::normal_lpdf(mu, 0.0, 10.0) + onward::exponential_lpdf(sigma, 0.1);
    for (double x : y) f += onward::normal_lpdf(x, mu, sigma);
    return f;
  });
  auto run = onward::sample(target, {.draws = 2000, .seed = 1});
  std::cout << run.report();
}
