// A picture, a network, a built-in model and a report, from installed headers alone.
#include <cstdio>
#include <onward/models/funnel.hpp>
#include <onward/net/description.hpp>
#include <onward/onward.hpp>
#include <onward/plot/figure.hpp>
#include <onward/report/report.hpp>

std::size_t sizes_in_all();

int main() {
  onward::plot::Figure figure(1, 1, 8, 6);
  figure.panel(0, 0).line(std::vector<double>{0, 1}, std::vector<double>{1, 2}, {});
  figure.save("picture.svg");
  const auto run = onward::sample(onward::target(2, [](const auto& t) { return -t[0] * t[0] - t[1] * t[1]; }),
                                  {.draws = 100, .seed = 1});
  onward::report::write("report.html", {onward::report::input_of(run, "funnel")});
  std::printf("%zu in all\n", sizes_in_all());
}
