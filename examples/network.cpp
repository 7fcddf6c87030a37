// A network as a target: a sine with noise, learned by 10 hidden units. What its draws say of new inputs is
// what there is to look at; the weights themselves can change places.

#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include <onward/net/description.hpp>
#include <onward/net/posterior.hpp>
#include <onward/net/predictive.hpp>
#include <onward/net/weights.hpp>
#include <onward/onward.hpp>
#include <onward/random/stream.hpp>

namespace net = onward::net;

int main() {
  // 40 places between -2 and 2, and sin(2x) there with noise of sd 0.2.
  std::vector<double> noise(40);
  onward::Stream(1, 0).normals(0, onward::Purpose::noise, noise);
  std::vector<float> x, y;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    x.push_back(-2 + static_cast<float>(i) / 10);
    y.push_back(static_cast<float>(std::sin(2 * x[i]) + 0.2 * noise[i]));
  }

  const net::Shape one{1, 1, 1};
  auto network = std::make_shared<net::Network>(
      net::Layout({one, {net::Linear{10}, net::Activation{net::ActivationKind::tanh}, net::Linear{1}}}));
  const net::NetworkPosterior posterior(network, {net::Inputs::values(one, x), net::Answers::values(1, y)},
                                        {.known_sigma = 0.2});

  // Draws of what the network says at three places, from a start as it is usual for networks.
  const net::PredictionView view(posterior, net::Inputs::values(one, {-1, 0, 1}));
  const net::StartLaw start = net::lecun_law(network->layout);
  const auto run = onward::sample(
      view,
      {.sampler = "newton-line",
       .warmup = 5000,
       .draws = 1000,
       .thin = 50,
       .seed = 1,
       .start = {.kind = onward::Start::Kind::given, .position = start.centre, .spread = start.spread}});
  std::cout << run.report();

  // The test that runs this example wants the sine within reach of the draws.
  bool right = true;
  const auto rows = run.summary();
  for (std::size_t i = 0; i < 3; ++i)
    right = right && std::abs(rows[i].mean - std::sin(2 * (static_cast<double>(i) - 1))) < 5 * rows[i].sd &&
            rows[i].rhat < 1.05;
  return right ? 0 : 1;
}
