// says: the log density returns nothing: end it with `return`
// lines: 12
#include <onward/onward.hpp>

int main() {
  auto target = onward::target(1, [](const auto& t) {
    auto f = -0.5 * t[0] * t[0];
    f -= 1;
  });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
