// Predictions of draws against their definitions.

#include "onward/net/predictive.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "io/scratch.hpp"
#include "onward/net/weights.hpp"

namespace onward::net {
namespace {

using onward::testing::error_of;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

double normal(double y, double mean, double sd) {
  const double z = (y - mean) / sd;
  return std::exp(-0.5 * z * z) / (sd * std::sqrt(2 * std::numbers::pi));
}

TEST(Predictive, NumbersFollowTheDefinitions) {
  // Two rows of two outputs, three draws, each with a noise of its own.
  const std::vector<std::vector<float>> draws{{1, 2, 3, 4}, {1.5f, 2, 2.5f, 5}, {0.5f, 2.5f, 3.5f, 4.5f}};
  const std::vector<double> sigma{0.5, 1, 2};
  const std::vector<float> y{1, 2.5f, 3, 4};
  Predictive predictive(false, 2, 2, Answers::values(2, y));
  for (std::size_t k = 0; k < 3; ++k) predictive.add(draws[k], sigma[k]);
  EXPECT_EQ(predictive.draws(), 3u);
  const std::vector<double> mean{1, 13.0 / 6, 3, 4.5};
  EXPECT_THAT(predictive.mean(), Pointwise(DoubleNear(1e-12), mean));
  EXPECT_THAT(predictive.sd(),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.5, std::sqrt(1.0 / 12), 0.5, 0.5}));
  double nll = 0, squares = 0;
  for (std::size_t row = 0; row < 2; ++row) {
    double density = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      double product = 1;
      for (std::size_t j = 0; j < 2; ++j)
        product *=
            normal(static_cast<double>(y[2 * row + j]), static_cast<double>(draws[k][2 * row + j]), sigma[k]);
      density += product / 3;
    }
    nll -= std::log(density) / 2;
    for (std::size_t j = 0; j < 2; ++j)
      squares += std::pow(mean[2 * row + j] - static_cast<double>(y[2 * row + j]), 2) / 4;
  }
  EXPECT_NEAR(predictive.scores().nll, nll, 1e-12);
  EXPECT_NEAR(*predictive.scores().mse, squares, 1e-12);
  EXPECT_FALSE(predictive.scores().accuracy);
}

TEST(Predictive, DrawsFarFromTheAnswerDoNotUnderflow) {
  Predictive predictive(false, 1, 1, Answers::values(1, {0}));
  predictive.add(std::vector<float>{1000}, 0.01);
  predictive.add(std::vector<float>{999}, 0.01);
  const double expected =
      0.5 * std::pow(999 / 0.01, 2) + std::log(0.01) + 0.5 * std::log(2 * std::numbers::pi) + std::log(2.0);
  EXPECT_NEAR(predictive.scores().nll / expected, 1, 1e-12);
}

TEST(Predictive, ClassesAreMixedAsProbabilities) {
  const std::vector<std::uint8_t> labels{1};
  Predictive predictive(true, 1, 2, Answers::labels(2, labels));
  predictive.add(std::vector<float>{0, 0});
  predictive.add(std::vector<float>{500, 500 + std::log(3.0f)});
  EXPECT_THAT(predictive.mean(), ElementsAre(DoubleNear(0.375, 1e-5), DoubleNear(0.625, 1e-5)));
  EXPECT_NEAR(predictive.scores().nll, -std::log(0.625), 1e-5);
  EXPECT_EQ(*predictive.scores().accuracy, 1);
  EXPECT_NEAR(*predictive.scores().ece, 0.375, 1e-5);
}

TEST(Predictive, ChainsAddUp) {
  const Answers answers = Answers::values(1, {0.5f, -1});
  Predictive whole(false, 2, 1, answers), first(false, 2, 1, answers), second(false, 2, 1, answers);
  for (int k = 0; k < 7; ++k) {
    const std::vector<float> draw{0.1f * static_cast<float>(k), 1000 + 0.3f * static_cast<float>(k * k)};
    whole.add(draw, 1 + 0.1 * k);
    (k < 3 ? first : second).add(draw, 1 + 0.1 * k);
  }
  first.add(second);
  first.add(Predictive(false, 2, 1, answers));
  EXPECT_EQ(first.draws(), 7u);
  EXPECT_THAT(first.mean(), Pointwise(DoubleNear(1e-9), whole.mean()));
  EXPECT_THAT(first.sd(), Pointwise(DoubleNear(1e-9), whole.sd()));
  EXPECT_NEAR(first.scores().nll / whole.scores().nll, 1, 1e-12);
}

TEST(Predictive, WrongRequests) {
  EXPECT_THAT(error_of([] { Predictive(false, 3, 1, Answers::values(1, {0.5f, -1})); }), HasSubstr("3 rows"));
  EXPECT_THAT(error_of([] { Predictive(false, 2, 1).scores(); }), HasSubstr("no answers"));
  EXPECT_TRUE(std::isnan(Predictive(false, 2, 1).mean()[0]));
}

class View : public ::testing::Test {
 protected:
  /// Two inputs, `outputs` outputs, and rows to look at.
  static NetworkPosterior posterior(std::size_t outputs, const Answers& answers,
                                    std::optional<double> sigma) {
    return {std::make_shared<Network>(Layout(mlp(2, {5}, outputs, ActivationKind::tanh))),
            {Inputs::values({2, 1, 1}, {1, 2, -1, 0.5f}), answers},
            {.known_sigma = sigma}};
  }
  const Inputs watched = Inputs::values({2, 1, 1}, {0.5f, 0.25f, 1, 2, 3, -3});
};

TEST_F(View, DrawsArePredictions) {
  NetworkPosterior p = posterior(1, Answers::values(1, {1, 2}), std::nullopt);
  const PredictionView view(p, watched);
  EXPECT_EQ(view.dimension(), p.dimension());
  EXPECT_THAT(view.names(), ElementsAre("f.1", "f.2", "f.3", "sigma"));
  const auto blocks = view.blocks();
  ASSERT_EQ(blocks.size(), 3u);  // 2-5-1, and sigma
  EXPECT_EQ(blocks[0].name + " " + blocks[1].name + " " + blocks[2].name, "0 2 sigma");
  EXPECT_THAT((std::vector{blocks[0].size, blocks[1].size, blocks[2].size}), ElementsAre(15, 6, 1));
  EXPECT_THAT((std::vector{blocks[0].units, blocks[1].units, blocks[2].units}), ElementsAre(5, 1, 0));
  EXPECT_TRUE(blocks[0].has_biases && blocks[1].has_biases && !blocks[2].has_biases);
  auto theta = lecun_start(p.network().layout, 3);
  theta.push_back(std::log(0.5));
  std::vector<double> out(4);
  view.constrain(theta, out);
  std::vector<float> direct(3);
  p.predict(theta, watched, direct);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out[i], static_cast<double>(direct[i]));
  EXPECT_NEAR(out[3], 0.5, 1e-12);
  // Jets are the posterior's own.
  const std::vector<double> v(theta.size(), 0.1);
  const Jet a = PredictionView(view).jet(theta, v, Order::curvature), b = p.jet(theta, v, Order::curvature);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.curvature, b.curvature);
}

TEST_F(View, NamesTellRowsAndOutputs) {
  const PredictionView two(posterior(2, Answers::values(2, {1, 2, 3, 4}), 1.0), watched.first(2));
  EXPECT_THAT(two.names(), ElementsAre("f.1.1", "f.1.2", "f.2.1", "f.2.2"));
  const std::vector<std::uint8_t> labels{0, 2};
  const PredictionView classes(posterior(3, Answers::labels(3, labels), {}), watched.first(1));
  EXPECT_THAT(classes.names(), ElementsAre("p.1.1", "p.1.2", "p.1.3"));
  std::vector<double> p(3);
  classes.constrain(std::vector<double>(classes.dimension(), 0.3), p);
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-12);
  EXPECT_THROW(
      PredictionView(posterior(1, Answers::values(1, {1, 2}), 1.0), Inputs::values({3, 1, 1}, {1, 2, 3})),
      UsageError);
}

}  // namespace
}  // namespace onward::net
