#include "onward/run/moments.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace onward {
namespace {

void draw(MomentsSink& sink, std::size_t chain, std::vector<double> values) {
  sink.drawn(chain, Draw{.log_density = 0, .acceptance = 1, .step_size = 1, .parameters = values});
}

TEST(Moments, AreThoseOfAllDrawsOfAllChains) {
  MomentsSink sink(2, 3);
  draw(sink, 0, {1e8 + 1, -1});
  draw(sink, 0, {1e8 + 2, -1});
  draw(sink, 2, {1e8 + 6, -1});
  EXPECT_NEAR(sink.mean()[0], 1e8 + 3, 1e-6);
  EXPECT_NEAR(sink.sd()[0], std::sqrt(7.0), 1e-6);
  EXPECT_EQ(sink.mean()[1], -1);
  EXPECT_EQ(sink.sd()[1], 0);
}

TEST(Moments, GoOnFromAnArchive) {
  MomentsSink whole(1, 1), first(1, 1), second(1, 1);
  for (const double x : {0.1, 0.7, -3.0, 12.5}) draw(whole, 0, {x});
  for (const double x : {0.1, 0.7}) draw(first, 0, {x});
  Archive saved;
  first.transfer(0, saved);
  const std::string bytes = std::move(saved).take();
  Archive loaded(bytes);
  second.transfer(0, loaded);
  for (const double x : {-3.0, 12.5}) draw(second, 0, {x});
  EXPECT_EQ(second.mean(), whole.mean());
  EXPECT_EQ(second.sd(), whole.sd());
  MomentsSink other(2, 1);
  Archive again(bytes);
  EXPECT_THROW(other.transfer(0, again), Error);
}

TEST(Moments, OfOneDrawHaveNoSpread) {
  MomentsSink sink(1, 1);
  draw(sink, 0, {2});
  EXPECT_EQ(sink.mean()[0], 2);
  EXPECT_TRUE(std::isnan(sink.sd()[0]));
}

}  // namespace
}  // namespace onward
