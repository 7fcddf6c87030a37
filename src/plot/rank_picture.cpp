#include "onward/plot/rank_picture.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/plot/figure.hpp"

namespace onward::plot {
namespace {

void draw(const RankPanel& ranks, double low, double high, Panel& panel) {
  const double bins = static_cast<double>(ranks.counts.size());
  Color shade{0.35, 0.35, 0.35, 0.18};
  panel.band(std::array{0.0, bins}, std::array{low, low}, std::array{high, high}, {.color = shade});
  std::vector<double> x{0}, y{0};  // the outline of the bars
  double most = high;
  for (std::size_t k = 0; k < ranks.counts.size(); ++k) {
    const double count = static_cast<double>(ranks.counts[k]);
    x.insert(x.end(), {static_cast<double>(k), static_cast<double>(k + 1)});
    y.insert(y.end(), {count, count});
    most = std::max(most, count);
  }
  x.push_back(bins), y.push_back(0);
  panel.line(x, y, {.color = palette(ranks.within ? 0 : 1), .size = 1.5});
  panel.title(ranks.name).x_range(0, bins).y_range(0, 1.08 * most);
  panel.x_ticks({{0, "0"}, {bins / 2, "0.5"}, {bins, "1"}});
}

}  // namespace

void rank_picture(const std::string& path, std::vector<RankPanel> panels, double low, double high) {
  if (panels.empty()) throw Error(fmt::format("{}: there are no ranks to make a picture of", path));
  std::ranges::stable_partition(panels, [](const RankPanel& panel) { return !panel.within; });
  constexpr std::size_t most = 24;
  if (panels.size() > most) panels.resize(most);
  const std::size_t columns = std::min<std::size_t>(panels.size(), 3),
                    rows = (panels.size() + columns - 1) / columns;
  Figure figure(rows, columns, 17, 1 + 4.2 * static_cast<double>(rows));
  for (std::size_t i = 0; i < rows * columns; ++i) {
    Panel& panel = figure.panel(i / columns, i % columns);
    if (i < panels.size())
      draw(panels[i], low, high, panel);
    else
      panel.hide();
  }
  figure.key({{"replicates by rank", palette(0)},
              {"outside of the band", palette(1)},
              {"99.9% band", {0.35, 0.35, 0.35, 0.3}}});
  figure.save(path);
}

}  // namespace onward::plot
