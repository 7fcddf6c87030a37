// Neal's funnel, sampled from its log density alone: w ~ N(0, 3²), and given w ten x ~ N(0, exp(-w)).
#include <cmath>
#include <iostream>
#include <onward/onward.hpp>

int main() {
  auto target = onward::target(11, [](const auto& t) {
    using std::exp;
    auto w = t[0];
    auto f = -w * w / 18.0;
    for (std::size_t i = 1; i < t.size(); ++i) f += 0.5 * w - 0.5 * exp(w) * t[i] * t[i];
    return f;
  });
  auto run = onward::sample(target, {.sampler = "pc-line-fmala", .draws = 1000, .chains = 4, .seed = 1});
  std::cout << run.report();
}
