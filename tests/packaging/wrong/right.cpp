// Nothing is wrong here: what the others are copies of.
// lines: 0
#include <onward/onward.hpp>

int main() {
  auto parameters = onward::Parameters{}.real("mu").positive("sigma");
  auto target = onward::target(parameters, [](auto mu, auto sigma) {
    using std::log;
    if (sigma > 100) onward::reject("sigma is above 100");
    const auto most = mu > 0 ? mu : 0.0;
    return -0.5 * mu * mu - most - log(sigma);
  });
  auto run = onward::sample(target, {.draws = 10, .seed = 1});
}
