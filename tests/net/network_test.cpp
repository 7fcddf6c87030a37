// What networks and data may be, what posteriors are made of them, and what they need.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <memory>

#include "net/reference.hpp"
#include "onward/error.hpp"
#include "onward/net/posterior.hpp"
#include "onward/target/target.hpp"
#include "onward/util/memory.hpp"

namespace onward::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

std::string layout_refusal(const Description& description) {
  return refusal([&] { const Layout layout(description); });
}

TEST(Layout, TheNetworksOfThePaperHaveItsNumbersOfParameters) {
  EXPECT_EQ(Layout(mlp(1, {100, 100, 100, 100, 100}, 1)).parameter_count(), 40701u);
  EXPECT_EQ(Layout(paper_cnn()).parameter_count(), 2395434u);
  EXPECT_EQ(Layout(paper_cnn(true)).parameter_count(), 2396330u);
  EXPECT_EQ(Layout(paper_cnn(true)).statistic_count(), 896u);
  EXPECT_EQ(Layout(paper_cnn()).output(), (Shape{10, 1, 1}));
}

TEST(Layout, ParametersAreNamedAndPlacedAsPyTorchDoes) {
  const Layout layout({{3, 8, 8},
                       {Conv2d{.channels = 4, .kernel_height = 3, .kernel_width = 2}, BatchNorm{},
                        Activation{}, Flatten{}, Linear{5, false}, Linear{2}}});
  std::vector<std::string> names;
  std::size_t end = 0;
  for (const Tensor& tensor : layout.parameters()) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.offset, end);
    end += tensor.size;
  }
  EXPECT_EQ(end, layout.parameter_count());
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "4.weight",
                                             "5.weight", "5.bias"}));
  EXPECT_EQ(layout.parameters()[0].shape, (std::vector<std::size_t>{4, 3, 3, 2}));
  EXPECT_EQ(layout.parameters()[4].shape, (std::vector<std::size_t>{5, 4 * 6 * 7}));
  EXPECT_EQ(layout.statistics()[1].name, "1.running_var");
}

TEST(Layout, LayersThatDoNotFitAreNamed) {
  EXPECT_THAT(layout_refusal({{3, 8, 8}, {Activation{}, Linear{4}}}),
              AllOf(HasSubstr("layer 1 (linear)"), HasSubstr("3x8x8"), HasSubstr("flatten")));
  EXPECT_THAT(layout_refusal({{3, 4, 4}, {Conv2d{.channels = 2, .kernel_height = 5, .kernel_width = 5}}}),
              AllOf(HasSubstr("layer 0 (conv2d)"), HasSubstr("5x5")));
  EXPECT_THAT(layout_refusal({{3, 4, 4}, {Conv2d{.channels = 2, .padding = 3}}}), HasSubstr("padding"));
  EXPECT_THAT(layout_refusal({{3, 1, 1}, {Linear{2}, Pool{}}}),
              AllOf(HasSubstr("layer 1 (max-pool)"), HasSubstr("2x2")));
  EXPECT_THAT(layout_refusal({{3, 1, 1}, {Linear{2}, Residual{1}}}),
              AllOf(HasSubstr("layer 1 (residual) is given 2"), HasSubstr("the 3 that went into layer 0")));
  EXPECT_THAT(layout_refusal({{3, 1, 1}, {Linear{3}, Residual{2}}}), HasSubstr("from 1 to the 1 before it"));
  EXPECT_THAT(layout_refusal({{3, 1, 1}, {Linear{0}}}), HasSubstr("outputs above 0"));
  EXPECT_THAT(layout_refusal({{0, 1, 1}, {Linear{2}}}), HasSubstr("input"));
  EXPECT_THAT(layout_refusal({{3, 1, 1}, {}}), HasSubstr("no layers"));
}

TEST(Network, StatisticsMustFit) {
  const Layout layout({{3, 1, 1}, {BatchNorm{}, Linear{2}}});
  EXPECT_EQ(Network(layout).statistics, (std::vector<float>{0, 0, 0, 1, 1, 1}));
  EXPECT_THAT(refusal([&] { const Network network(layout, {1, 2}); }), AllOf(HasSubstr("2"), HasSubstr("6")));
  EXPECT_THAT(refusal([&] {
                const Network network(layout, {0, 0, 0, 1, -1, 1});
              }),
              HasSubstr("0.running_var[1] is -1"));
}

TEST(Data, PixelsAreNormalisedChannelByChannel) {
  const auto inputs = Inputs::pixels({2, 1, 2}, {0, 255, 51, 102, 1, 2, 3, 4}, {{0.5f, 0.1f}, {0.5f, 2.0f}});
  EXPECT_EQ(inputs.count(), 2u);
  EXPECT_EQ(inputs.bytes(), 8u);
  std::vector<float> out(4);
  inputs.read_channels_last(0, 1, out.data());
  const std::vector<float> expected{-1, (0.2f - 0.1f) / 2, 1, (0.4f - 0.1f) / 2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out[i], expected[i], 1e-6);
}

TEST(Data, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(refusal([] {
                Answers::labels(3, std::vector<std::uint8_t>{0, 2, 3});
              }),
              AllOf(HasSubstr("label 3 of row 2"), HasSubstr("0 to 2")));
  EXPECT_THAT(refusal([] { Inputs::values({2, 1, 1}, {1, 2, 3}); }), HasSubstr("3 inputs"));
  EXPECT_THAT(refusal([] { Inputs::pixels({1, 1, 1}, {1}, {{0, 0}, {1, 1}}); }), HasSubstr("2 means"));
  EXPECT_THAT(refusal([] { Inputs::pixels({1, 1, 1}, {1}, {{0}, {0}}); }), HasSubstr("sd of channel 0 is 0"));
  EXPECT_THAT(refusal([] { Inputs::values({1, 1, 1}, {1, 2}).first(3); }), HasSubstr("3 rows"));
}

std::shared_ptr<const Network> network_of(Description description) {
  return std::make_shared<const Network>(Layout(std::move(description)));
}

Data numbers_data(std::size_t rows, std::size_t width = 3) {
  Numbers numbers(8);
  return {Inputs::values({width, 1, 1}, numbers.some<float>(rows * width, 1)),
          Answers::values(2, numbers.some<float>(2 * rows, 1))};
}

TEST(NetPosterior, WhatDoesNotFitIsRefused) {
  const auto network = network_of(mlp(3, {4}, 2));
  const auto make = [](const std::shared_ptr<const Network>& of, const Data& data,
                       const PosteriorOptions& options) {
    return refusal([&] { const NetworkPosterior posterior(of, data, options); });
  };
  EXPECT_THAT(make(network, numbers_data(5, 4), {}), AllOf(HasSubstr("inputs are 4"), HasSubstr("takes 3")));
  EXPECT_THAT(make(network, numbers_data(0), {}), HasSubstr("no rows"));
  EXPECT_THAT(make(network_of(mlp(3, {4}, 5)), numbers_data(5), {}),
              AllOf(HasSubstr("5 numbers"), HasSubstr("2")));
  EXPECT_THAT(make(network, numbers_data(5), {.prior_sd = 0}), HasSubstr("prior's sd is 0"));
  EXPECT_THAT(make(network, numbers_data(5), {.known_sigma = -1.0}), HasSubstr("sigma is -1"));
  Data unequal = numbers_data(5);
  unequal.inputs = unequal.inputs.first(4);
  EXPECT_THAT(make(network, unequal, {}), AllOf(HasSubstr("4 inputs"), HasSubstr("5 answers")));
  Data labels = numbers_data(3);
  labels.answers = Answers::labels(2, std::vector<std::uint8_t>{0, 1, 0});
  EXPECT_THAT(make(network, labels, {.known_sigma = 1.0}), HasSubstr("no sigma"));
  const auto images = network_of({{3, 4, 4}, {Conv2d{.channels = 2}}});
  Data image{Inputs::values({3, 4, 4}, std::vector<float>(48)), Answers::values(8, std::vector<float>(8))};
  EXPECT_THAT(make(images, image, {}), HasSubstr("flatten"));
}

TEST(NetPosterior, SigmaIsSampledUnlessItIsKnown) {
  const auto network = network_of(mlp(3, {6}, 2, ActivationKind::tanh));
  NetworkPosterior posterior(network, numbers_data(9), {.prior_sd = 2});
  ASSERT_TRUE(posterior.samples_sigma());
  EXPECT_EQ(posterior.dimension(), network->layout.parameter_count() + 1);
  const auto names = posterior.names();
  EXPECT_EQ(names.size(), posterior.dimension());
  EXPECT_EQ(names.front(), "0.weight.1.1");
  EXPECT_EQ(names[3 * 6 - 1], "0.weight.6.3");
  EXPECT_EQ(names[3 * 6], "0.bias.1");
  EXPECT_EQ(names.back(), "sigma");

  Numbers numbers(2);
  const auto theta = numbers.some<double>(posterior.dimension(), 0.8),
             v = numbers.some<double>(posterior.dimension(), 0.5);
  std::vector<double> natural(theta.size()), gradient(theta.size());
  posterior.constrain(theta, natural);
  EXPECT_DOUBLE_EQ(natural.back(), std::exp(theta.back()));
  const Jet expected = reference_jet(posterior, theta, v), jet = posterior.jet(theta, v, Order::curvature);
  EXPECT_NEAR(jet.value, expected.value, 1e-5 * std::abs(expected.value));
  EXPECT_NEAR(jet.slope, expected.slope, 1e-5 * std::abs(expected.slope));
  EXPECT_NEAR(jet.curvature, expected.curvature, 1e-5 * std::abs(expected.curvature));
  EXPECT_NEAR(posterior.gradient(theta, gradient), expected.value, 1e-5 * std::abs(expected.value));
  double along = 0;
  for (std::size_t i = 0; i < v.size(); ++i) along += gradient[i] * v[i];
  EXPECT_NEAR(along, expected.slope, 1e-5 * std::abs(expected.slope));
  // Along sigma alone.
  std::vector<double> only(v.size(), 0.0);
  only.back() = 1;
  EXPECT_NEAR(posterior.jet(theta, only, Order::slope).slope, gradient.back(),
              1e-5 * std::abs(gradient.back()));
  EXPECT_NEAR(posterior.jet(theta, only, Order::curvature).curvature,
              reference_jet(posterior, theta, only).curvature, 1e-3);
}

TEST(NetPosterior, PlacesThatAreNoNumbersAreRejections) {
  AnyTarget target(NetworkPosterior(network_of(mlp(3, {4}, 2)), numbers_data(5), {.known_sigma = 1.0}));
  std::vector<double> theta(target.dimension(), 0.1), gradient(theta.size());
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e39}) {
    theta[2] = bad;
    EXPECT_FALSE(std::isfinite(target.value(theta)));
    EXPECT_FALSE(std::isfinite(target.gradient(theta, gradient)));
  }
  EXPECT_EQ(target.counts().nonfinite, 6u);
  theta[2] = 0.1;
  EXPECT_TRUE(std::isfinite(target.value(theta)));
}

TEST(NetPosterior, VectorsOfAnotherSizeAreRefused) {
  NetworkPosterior posterior(network_of(mlp(3, {4}, 2)), numbers_data(5), {.known_sigma = 1.0});
  std::vector<double> right(posterior.dimension(), 0.1), wrong(right.size() + 1, 0.1);
  std::vector<float> outputs(10);
  EXPECT_THAT(refusal([&] { posterior.jet(wrong, {}, Order::value); }), HasSubstr("theta has 27 entries"));
  EXPECT_THAT(refusal([&] { posterior.jet(right, wrong, Order::slope); }), HasSubstr("a direction has 27"));
  EXPECT_THAT(refusal([&] { posterior.gradient(right, wrong); }), HasSubstr("a gradient has 27"));
  EXPECT_THAT(refusal([&] { posterior.predict(right, numbers_data(4).inputs, outputs); }),
              HasSubstr("10 outputs"));
  EXPECT_THAT(refusal([&] { posterior.predict(right, numbers_data(5, 4).inputs, outputs); }),
              HasSubstr("takes 3"));
}

TEST(NetPosterior, ValuesHaveTheSameBitsInJetsOfAnyOrder) {
  Numbers numbers(5);
  NetworkPosterior posterior(
      network_of({{3, 12, 12}, {Conv2d{.channels = 16}, Activation{}, Pool{}, Flatten{}, Linear{2}}}),
      {Inputs::values({3, 12, 12}, numbers.some<float>(70 * 432, 1)),
       Answers::values(2, numbers.some<float>(140, 1))},
      {.known_sigma = 1.0});
  const auto theta = numbers.some<double>(posterior.dimension(), 0.3),
             v = numbers.some<double>(theta.size(), 0.3);
  const double value = posterior.jet(theta, {}, Order::value).value;
  EXPECT_EQ(posterior.jet(theta, v, Order::slope).value, value);
  EXPECT_EQ(posterior.jet(theta, v, Order::curvature).value, value);
}

/// More rows than go through the layers at once, with a rest, and layers of any width up to what is narrow.
TEST(NarrowNetwork, JetsAreThoseOfThePlainNetwork) {
  for (const auto kind : {ActivationKind::relu, ActivationKind::tanh})
    for (const std::size_t rows : {1u, 16u, 64u, 150u})
      for (const auto& hidden : std::vector<std::vector<std::size_t>>{{7, 6, 13}, {256}, {257}}) {
        Numbers numbers(rows);
        NetworkPosterior posterior(network_of(mlp(3, hidden, 2, kind)), numbers_data(rows),
                                   {.known_sigma = 0.8, .piece = rows == 150 ? 70u : 0u});
        const auto theta = numbers.some<double>(posterior.dimension(), 0.3),
                   v = numbers.some<double>(theta.size(), 0.2);
        const Jet expected = reference_jet(posterior, theta, v);
        for (const Order order : {Order::value, Order::slope, Order::curvature, Order::curvature}) {
          const Jet jet = posterior.jet(theta, v, order);
          EXPECT_NEAR(jet.value, expected.value, 3e-6 * std::abs(expected.value));
          const double scale = std::abs(expected.value) + std::abs(expected.slope);
          if (order != Order::value) {
            EXPECT_NEAR(jet.slope, expected.slope, 1e-5 * scale);
          }
          if (order == Order::curvature) {
            EXPECT_NEAR(jet.curvature, expected.curvature, 1e-5 * (scale + std::abs(expected.curvature)));
          }
        }
      }
}

/// Chains go back and forth between a few places: whatever was asked before, the bits are those of a first
/// question.
TEST(NarrowNetwork, KnownValuesChangeNoBits) {
  const auto network = network_of(mlp(3, {11, 20}, 2));
  const Data data = numbers_data(150);
  const PosteriorOptions options{.known_sigma = 0.8};
  NetworkPosterior asked(network, data, options, std::make_shared<ThreadPool>(2));
  Numbers numbers(4);
  std::vector<std::vector<double>> places;
  for (int i = 0; i < 3; ++i) places.push_back(numbers.some<double>(asked.dimension(), 0.5));
  const auto pick = [&](std::size_t count) {
    return static_cast<std::size_t>(std::abs(numbers.next()) * 1e6) % count;
  };
  for (int i = 0; i < 200; ++i) {
    auto& theta = places[pick(3)];
    if (pick(4) == 0) theta[pick(theta.size())] += 1e-6;
    auto v = numbers.some<double>(theta.size(), 0.3);
    const auto& steps = network->layout.steps();
    if (pick(2) == 0) {  // a line within a layer, and a step along it
      const auto& layer = steps[2 * pick(3)];
      for (std::size_t p = 0; p < v.size(); ++p)
        if (p < layer.begin || p >= layer.end) v[p] = 0;
      for (std::size_t p = 0; p < v.size(); ++p) theta[p] += 0.01 * v[p];
    }
    const auto order = static_cast<Order>(pick(3));
    NetworkPosterior fresh(network, data, options);
    const Jet a = asked.jet(theta, v, order), b = fresh.jet(theta, v, order);
    ASSERT_EQ(a.value, b.value);
    ASSERT_EQ(a.slope, b.slope);
    ASSERT_EQ(a.curvature, b.curvature);
    if (pick(5) == 0) {  // other questions in between
      std::vector<double> first(theta.size()), second(theta.size());
      ASSERT_EQ(asked.gradient(theta, first), fresh.gradient(theta, second));
      ASSERT_EQ(first, second);
      std::vector<float> outputs(300), others(300);
      asked.predict(theta, data.inputs, outputs);
      fresh.predict(theta, data.inputs, others);
      ASSERT_EQ(outputs, others);
    }
  }
}

/// Everything that can lie before a layer: images taken a few rows at a time, and vectors.
TEST(NetPosterior, KeptActivationsChangeNoBits) {
  const auto network =
      network_of({{2, 6, 6},
                  {Conv2d{.channels = 4, .padding = 1}, Activation{}, Pool{},
                   Conv2d{.channels = 4, .padding = 1}, Activation{ActivationKind::tanh}, Residual{2},
                   Flatten{}, Linear{6}, Activation{}, Linear{5}, Activation{}, Linear{2}}});
  Numbers numbers(6);
  const Data data{Inputs::values({2, 6, 6}, numbers.some<float>(41 * 72, 1)),
                  Answers::values(2, numbers.some<float>(82, 1))};
  const PosteriorOptions options{.known_sigma = 0.7, .piece = 16};
  PosteriorOptions keeping = options;
  keeping.kept_activations_bytes = 1 << 20;
  auto pool = std::make_shared<ThreadPool>(2);
  NetworkPosterior plain_one(network, data, options), keeper(network, data, keeping, pool);
  auto theta = numbers.some<double>(keeper.dimension(), 0.5);
  const auto& steps = network->layout.steps();
  const auto check = [&](std::size_t layer, Order order) {
    std::vector<double> v(theta.size(), 0.0);
    for (std::size_t i = steps[layer].begin; i < steps[layer].end; ++i) v[i] = 0.3 * numbers.next();
    const Jet a = plain_one.jet(theta, v, order), b = keeper.jet(theta, v, order);
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.slope, b.slope);
    EXPECT_EQ(a.curvature, b.curvature);
    return v;
  };
  for (const std::size_t layer : {7u, 3u, 9u, 11u, 0u, 7u})
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto v = check(layer, repeat == 1 ? Order::curvature : Order::slope);
      for (std::size_t i = 0; i < v.size(); ++i) theta[i] += 0.1 * v[i];
      EXPECT_EQ(plain_one.jet(theta, {}, Order::value).value, keeper.jet(theta, {}, Order::value).value);
      std::vector<float> first(41 * 2), second(41 * 2);
      plain_one.predict(theta, data.inputs, first);
      keeper.predict(theta, data.inputs, second);
      EXPECT_EQ(first, second);
    }
  // Layers 7 (twice), 3 and 9 keep what lies before them once and use it five times; layer 11 uses what lies
  // before 9 six times, since there is little between; before layer 0 there is nothing to keep.
  EXPECT_EQ(keeper.kept().stored, 4u);
  EXPECT_EQ(keeper.kept().reused, 26u);
  EXPECT_EQ(plain_one.kept().stored + plain_one.kept().reused, 0u);
}

TEST(NetPosterior, GradientsTellHowMuchMemoryTheyWillNeed) {
  const auto network = network_of(paper_cnn());
  const std::size_t images = 50'000;
  NetworkPosterior posterior(
      network,
      {Inputs::pixels({3, 32, 32}, std::vector<std::uint8_t>(images * 3072), cifar10_normalisation()),
       Answers::labels(10, std::vector<std::uint8_t>(images))},
      {.prior_sd = 10});
  // Activations of an image are half a megabyte; the forms differ in how many of them there are at a time.
  EXPECT_GT(posterior.gradient_bytes(GradientForm::whole), images * 500'000);
  EXPECT_LT(posterior.gradient_bytes(GradientForm::pieces), 100'000'000u);
  EXPECT_LT(posterior.gradient_bytes(GradientForm::checkpoint),
            posterior.gradient_bytes(GradientForm::pieces));
  EXPECT_LT(posterior.jet_bytes(Order::curvature), 60'000'000u);
}

/// The most memory that a child process used in `work` beyond what it had when that began, in bytes.
double peak_of(const std::function<void()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    forget_peak();
    const double before = resident_bytes();
    work();
    const double more = peak_resident_bytes() - before;
    const bool written = write(ends[1], &more, sizeof more) == sizeof more;
    _exit(written ? 0 : 1);
  }
  double more = -1;
  if (read(ends[0], &more, sizeof more) != sizeof more) more = -1;
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  return more;
}

void evaluate_all_orders(const NetworkPosterior& made) {
  NetworkPosterior posterior(made);
  Numbers numbers(7);
  const auto theta = numbers.some<double>(posterior.dimension(), 0.1),
             v = numbers.some<double>(theta.size(), 0.1);
  for (const Order order : {Order::value, Order::slope, Order::curvature}) posterior.jet(theta, v, order);
}

constexpr double megabyte = 1e6;

TEST(NetMemory, DoesNotDependOnTheNumberOfRows) {
  const auto network = network_of(
      {{3, 32, 32}, {Conv2d{.channels = 16, .padding = 1}, Activation{}, Pool{}, Flatten{}, Linear{10}}});
  const auto peak = [&](std::size_t images) {
    const NetworkPosterior posterior(
        network,
        {Inputs::pixels({3, 32, 32}, std::vector<std::uint8_t>(images * 3072), cifar10_normalisation()),
         Answers::labels(10, std::vector<std::uint8_t>(images))});
    return peak_of([&] { evaluate_all_orders(posterior); });
  };
  const double few = peak(500), many = peak(4000);
  ASSERT_GT(few, 0);
  // Were activations kept, those of 3,500 more images, with slope and curvature, would be 688 MB. What is
  // allowed is for the odd page, or for a sanitizer's books.
  EXPECT_LE(many, few + 20 * megabyte);
}

TEST(NetMemory, DoesNotDependOnDepth) {
  constexpr std::size_t width = 32, rows = 4096;
  Numbers numbers(9);
  const Data data{Inputs::values({width, 1, 1}, numbers.some<float>(rows * width, 1)),
                  Answers::values(2, numbers.some<float>(rows * 2, 1))};
  const auto peak = [&](std::size_t layers) {
    const NetworkPosterior posterior(network_of(mlp(width, std::vector<std::size_t>(layers, width), 2)), data,
                                     {.known_sigma = 1.0, .piece = rows});
    return peak_of([&] { evaluate_all_orders(posterior); });
  };
  const double shallow = peak(10), deep = peak(100);
  ASSERT_GT(shallow, 0);
  // Of each parameter: the caller's two doubles, two floats and those packed. Were activations kept, those of
  // 90 layers would be 140 MB.
  const double parameters = 90 * (width * width + width);
  EXPECT_LE(deep, shallow + 64 * parameters + 14 * megabyte);
}

}  // namespace
}  // namespace onward::net
