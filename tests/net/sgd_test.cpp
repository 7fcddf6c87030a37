// Pretraining by stochastic gradients: the rate's course, how images are moved, that it learns, and that bits
// depend neither on threads nor on a pause.

#include "onward/net/sgd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "io/scratch.hpp"
#include "onward/error.hpp"
#include "onward/random/stream.hpp"

namespace onward::net {
namespace {

using onward::testing::Scratch;
using ::testing::HasSubstr;

/// Class 0 is bright above, class 1 below, with noise.
std::shared_ptr<const LabelledImages> halves(std::size_t count) {
  auto images = std::make_shared<LabelledImages>(LabelledImages{2, 8, 8, {}, {}});
  std::vector<double> u(count * 128);
  Stream(7, 0).uniforms(0, Purpose::noise, u);
  for (std::size_t i = 0; i < count; ++i) {
    images->labels.push_back(static_cast<std::uint8_t>(i % 2));
    for (std::size_t p = 0; p < 128; ++p) {
      const bool bright = (p % 64 < 32) == (i % 2 == 0);
      images->pixels.push_back(static_cast<std::uint8_t>(200 * u[i * 128 + p] + (bright ? 50 : 0)));
    }
  }
  return images;
}

std::shared_ptr<const Layout> small_net() {
  return std::make_shared<const Layout>(Description{
      {2, 8, 8},
      {Conv2d{.channels = 4, .padding = 1}, BatchNorm{}, Activation{}, Pool{}, Flatten{}, Linear{2}}});
}

Normalisation normalisation() { return {{0.4f, 0.5f}, {0.2f, 0.3f}}; }

SgdSettings few_epochs() { return {.epochs = 3, .batch = 40, .rate = 0.05, .shift = 1, .seed = 5}; }

TEST(Sgd, RateRisesInAStraightLineAndFallsAsACosine) {
  const SgdSettings s{.rate = 2, .rising = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate(s, 0, 100), 2 * 0.5 / 20);
  EXPECT_DOUBLE_EQ(learning_rate(s, 9, 100), 2 * 9.5 / 20);
  EXPECT_NEAR(learning_rate(s, 20, 100), 2, 1e-3);
  EXPECT_NEAR(learning_rate(s, 59, 100) + learning_rate(s, 60, 100), 2, 1e-12);  // about its middle
  EXPECT_LT(learning_rate(s, 99, 100), 1e-3);
  EXPECT_NEAR(learning_rate({.rate = 2, .rising = 0}, 0, 1000), 2, 1e-5);
}

TEST(Sgd, ImagesAreMovedMirroredAndNormalised) {
  // Every pixel has a value of its own, none 0.
  LabelledImages images{1, 3, 4, {}, {0}};
  for (std::uint8_t p = 0; p < 12; ++p) images.pixels.push_back(static_cast<std::uint8_t>(10 * (p + 1)));
  const Normalisation as_pixels{{0}, {1 / 255.0f}};
  ThreadPool pool(1);
  const std::size_t only[] = {0};
  std::set<std::vector<int>> seen, expected;
  for (int down = -1; down <= 1; ++down)
    for (int right = -1; right <= 1; ++right)
      for (const bool mirrored : {false, true}) {
        std::vector<int> moved;
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 4; ++x) {
            const int row = y + down, column = x + right;
            const bool inside = row >= 0 && row < 3 && column >= 0 && column < 4;
            moved.push_back(inside ? 10 * (4 * row + (mirrored ? 3 - column : column) + 1) : 0);
          }
        expected.insert(moved);
      }
  for (std::size_t epoch = 0; epoch < 400; ++epoch) {
    std::vector<float> out(12);
    augment(images, as_pixels, {.shift = 1, .seed = 3}, epoch, only, pool, out);
    std::vector<int> pixels;
    for (const float x : out) pixels.push_back(static_cast<int>(std::lround(x)));
    seen.insert(pixels);
  }
  // 18 ways, each missed in 400 epochs with probability (17/18)^400 = 1e-10.
  EXPECT_EQ(seen, expected);
  std::vector<float> out(12);
  augment(images, {{0.5f}, {0.25f}}, {.shift = 0, .mirror = false}, 0, only, pool, out);
  EXPECT_FLOAT_EQ(out[2], (30 / 255.0f - 0.5f) / 0.25f);
}

TEST(Sgd, Learns) {
  Sgd sgd(small_net(), halves(200), normalisation(), few_epochs());
  for (int i = 0; i < 3; ++i) sgd.epoch();
  ASSERT_EQ(sgd.state().epochs(), 3u);
  EXPECT_GT(sgd.state().losses[0], 0.2);
  EXPECT_LT(sgd.state().losses[2], 0.1);
}

TEST(Sgd, SameBitsForAnyNumberOfThreads) {
  Sgd one(small_net(), halves(100), normalisation(), few_epochs());
  Sgd three(small_net(), halves(100), normalisation(), few_epochs(), std::make_shared<ThreadPool>(3));
  for (int i = 0; i < 2; ++i) {
    one.epoch();
    three.epoch();
  }
  EXPECT_EQ(one.state().parameters, three.state().parameters);
  EXPECT_EQ(one.state().statistics, three.state().statistics);
  EXPECT_EQ(one.state().losses, three.state().losses);
  Sgd other(small_net(), halves(100), normalisation(), {.batch = 40, .seed = 6});
  EXPECT_NE(other.state().parameters, three.state().parameters);
}

class SgdFiles : public Scratch {};

TEST_F(SgdFiles, GoesOnFromAFileBitForBit) {
  Sgd whole(small_net(), halves(100), normalisation(), few_epochs());
  whole.epoch();
  write_state(path("state"), {whole.state(), "a note"});
  whole.epoch();
  Sgd resumed(small_net(), halves(100), normalisation(), few_epochs());
  auto stored = read_state(path("state"));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->note, "a note");
  resumed.set_state(std::move(stored->state));
  resumed.epoch();
  EXPECT_EQ(resumed.state().parameters, whole.state().parameters);
  EXPECT_EQ(resumed.state().velocity, whole.state().velocity);
  EXPECT_FALSE(read_state(path("nothing")));
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& problem) {
    return problem.what();
  }
  return "nothing was refused";
}

TEST(Sgd, RefusesWhatCannotBe) {
  const auto make = [](SgdSettings s, const std::shared_ptr<const LabelledImages>& images) {
    Sgd(small_net(), images, normalisation(), s);
  };
  EXPECT_THAT(refusal([&] { make({.batch = 101}, halves(100)); }), HasSubstr("batch of 101"));
  EXPECT_THAT(refusal([&] { make({.rate = -1}, halves(200)); }), HasSubstr("learning rate -1"));
  EXPECT_THAT(refusal([&] { make({.epochs = 0}, halves(200)); }), HasSubstr("epochs 0"));
  EXPECT_THAT(refusal([&] { make({.momentum = 1}, halves(200)); }), HasSubstr("momentum 1"));
  auto grey = std::make_shared<LabelledImages>(LabelledImages{1, 8, 8, {}, {}});
  EXPECT_THAT(refusal([&] { make({}, grey); }), HasSubstr("2x8x8"));
  Sgd sgd(small_net(), halves(200), normalisation(), {});
  EXPECT_THAT(refusal([&] { sgd.set_state({}); }), HasSubstr("0 parameters"));
  Sgd wild(small_net(), halves(200), normalisation(), {.epochs = 3, .batch = 40, .rate = 1e30, .rising = 0});
  EXPECT_THROW(wild.epoch(), Error);
}

}  // namespace
}  // namespace onward::net
