// The contours are those of the model and hold what they say; the figure has the dots it is given.

#include "experiments/funnel_draws.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "models/funnel.hpp"
#include "onward/error.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"

namespace onward::experiments {
namespace {

using Points = std::vector<std::pair<double, double>>;

/// Exact draws of (x_1, w).
Points exact(std::size_t count) {
  const Stream stream(1, 0);
  Points points(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::array<double, 2> z{};
    stream.normals(i, Purpose::noise, z);
    const double w = 3 * z[0];
    points[i] = {z[1] * std::exp(-w / 2), w};
  }
  return points;
}

TEST(FunnelContour, HoldsItsShareAndIsOfOneDensity) {
  auto model = target(2, models::FunnelDensity{});
  const auto density = [&](const std::pair<double, double>& point) {
    const std::array<double, 2> place{point.second, point.first}, none{};
    return model.jet(place, none, Order::value).value;
  };
  const Points draws = exact(100'000);
  for (const double share : {0.05, 0.5, 0.9, 0.99}) {
    const Points contour = funnel_contour(share);
    const double level = density(contour.front());
    for (const auto& point : contour) EXPECT_NEAR(density(point), level, 1e-9) << point.first;
    const auto inside =
        std::count_if(draws.begin(), draws.end(), [&](const auto& draw) { return density(draw) > level; });
    // Five standard deviations of a binomial share.
    EXPECT_NEAR(static_cast<double>(inside) / 1e5, share, 5 * std::sqrt(share * (1 - share) / 1e5));
  }
  EXPECT_THROW(funnel_contour(0), UsageError);
  EXPECT_THROW(funnel_contour(1), UsageError);
}

class FunnelDrawsFigure : public onward::testing::Scratch {
 protected:
  std::size_t dots(std::size_t panels, std::size_t draws) const {
    funnel_draws_figure(7, std::vector<FunnelDraws>(panels, {"mala", 0.5, exact(draws)}), path(""));
    EXPECT_TRUE(std::filesystem::exists(path("draws-D7.png")));
    const std::string text = get(path("draws-D7.svg"));
    // The colour of the dots; every dot is a line to where it begins.
    std::size_t found = 0;
    for (std::size_t at = text.find("33.7%"); at != std::string::npos; at = text.find("33.7%", at + 1)) {
      const std::size_t end = text.find("/>", at);
      found += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                   text.begin() + static_cast<std::ptrdiff_t>(end), 'L'));
    }
    return found;
  }
};

TEST_F(FunnelDrawsFigure, ShowsAllDrawsOrAbout2000) {
  EXPECT_EQ(dots(1, 0), 0U);
  EXPECT_EQ(dots(1, 100), 100U);
  EXPECT_EQ(dots(5, 100), 500U);
  EXPECT_EQ(dots(1, 2000), 2000U);
  EXPECT_EQ(dots(2, 50'000), 4000U);
}

TEST_F(FunnelDrawsFigure, WithoutSamplersThereIsNone) {
  EXPECT_THROW(funnel_draws_figure(10, {}, path("")), UsageError);
}

}  // namespace
}  // namespace onward::experiments
