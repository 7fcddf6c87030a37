#include "onward/plot/prediction_picture.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/plot/figure.hpp"

namespace onward::plot {

void prediction_picture(const std::string& path, const PredictionBand& band,
                        const std::vector<double>& data_x, const std::vector<double>& data_y,
                        const std::string& y_label) {
  if (band.x.empty()) throw Error(fmt::format("{}: there are no predictions to make a picture of", path));
  if (band.middle.size() != band.x.size() || band.low.size() != band.x.size() ||
      band.high.size() != band.x.size())
    throw UsageError(
        fmt::format("plot: predictions at {} places need as many middles and ends, not {}, {} and {}",
                    band.x.size(), band.middle.size(), band.low.size(), band.high.size()));
  std::vector<std::size_t> order(band.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return band.x[i]; });
  const auto in_order = [&](const std::vector<double>& values) {
    std::vector<double> result;
    for (const std::size_t i : order) result.push_back(values[i]);
    return result;
  };
  const auto x = in_order(band.x);

  Figure figure(1, 1, 14, 9);
  Color shade = palette(0);
  shade.alpha = 0.25;
  Panel& panel = figure.panel(0, 0);
  panel.x_label("x").y_label(y_label);
  panel.band(x, in_order(band.low), in_order(band.high), {.color = shade, .label = band.band_label});
  // Points under the line, which thousands of them would hide.
  if (!data_x.empty())
    panel.points(data_x, data_y, {.color = Color{0.35, 0.35, 0.35, 0.7}, .size = 2.5, .label = "data"});
  panel.line(x, in_order(band.middle), {.color = palette(0), .size = 1.5, .label = band.label});
  figure.save(path);
}

}  // namespace onward::plot
