// A picture, a network, and a built-in model, from installed headers alone.
#include <cstdio>
#include <onward/models/funnel.hpp>
#include <onward/net/description.hpp>
#include <onward/plot/figure.hpp>

std::size_t sizes_in_all();

int main() {
  onward::plot::Figure figure(1, 1, 8, 6);
  figure.panel(0, 0).line(std::vector<double>{0, 1}, std::vector<double>{1, 2}, {});
  figure.save("picture.svg");
  std::printf("%zu in all\n", sizes_in_all());
}
