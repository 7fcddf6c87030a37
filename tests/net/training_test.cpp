// Gradients of a batch's mean loss, through the statistics of the batch.

#include "onward/net/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "net/reference.hpp"
#include "onward/error.hpp"

namespace onward::net {
namespace {

Description small_net() {
  return {{2, 6, 6},
          {Conv2d{.channels = 5, .padding = 1}, BatchNorm{}, Activation{ActivationKind::tanh},
           Pool{PoolKind::average, 2, 2}, Conv2d{.channels = 4, .padding = 1}, BatchNorm{},
           Activation{ActivationKind::softplus}, Flatten{}, Linear{3}}};
}

struct Batch {
  std::vector<float> theta, inputs, statistics;
  std::vector<std::uint8_t> labels;
};

/// More rows than one thread takes at a time.
Batch make_batch(const Layout& layout, std::size_t rows = 50) {
  Numbers numbers(3);
  Batch batch{numbers.some<float>(layout.parameter_count(), 0.5),
              numbers.some<float>(rows * layout.input().size(), 1.5),
              Network(layout).statistics,
              {}};
  for (std::size_t i = 0; i < rows; ++i)
    batch.labels.push_back(static_cast<std::uint8_t>(i * 7 % layout.output().size()));
  return batch;
}

/// The mean loss in double, layer by layer over the whole batch.
double plain_loss(const Layout& layout, const Batch& batch, std::span<const double> theta) {
  const std::size_t rows = batch.labels.size();
  std::vector<Row<double>> now(rows);
  for (std::size_t n = 0; n < rows; ++n)
    now[n].assign(batch.inputs.begin() + static_cast<std::ptrdiff_t>(n * layout.input().size()),
                  batch.inputs.begin() + static_cast<std::ptrdiff_t>((n + 1) * layout.input().size()));
  for (std::size_t s = 0; s < layout.steps().size(); ++s) {
    const auto& step = layout.steps()[s];
    // One layer as a network of its own; a batch norm's statistics are the batch's.
    Network one(Layout({step.in, {step.layer}}));
    if (const auto* norm = std::get_if<BatchNorm>(&step.layer)) {
      const std::size_t channels = step.in.channels, pixels = step.in.size() / channels;
      std::vector<double> mean(channels, 0), variance(channels, 0);
      const auto count = static_cast<double>(rows * pixels);
      for (const auto& row : now)
        for (std::size_t i = 0; i < row.size(); ++i) mean[i / pixels] += row[i] / count;
      for (const auto& row : now)
        for (std::size_t i = 0; i < row.size(); ++i)
          variance[i / pixels] += (row[i] - mean[i / pixels]) * (row[i] - mean[i / pixels]) / count;
      for (auto& row : now)
        for (std::size_t i = 0; i < row.size(); ++i) {
          const std::size_t c = i / pixels;
          row[i] = (row[i] - mean[c]) / std::sqrt(variance[c] + norm->epsilon) * theta[step.begin + c] +
                   theta[step.begin + channels + c];
        }
      continue;
    }
    const ReferenceNet<double> net(one, theta.subspan(step.begin, step.end - step.begin));
    for (auto& row : now) row = net.outputs(row);
  }
  double sum = 0;
  for (std::size_t n = 0; n < rows; ++n) {
    double total = 0;
    for (const double z : now[n]) total += std::exp(z);
    sum += std::log(total) - now[n][batch.labels[n]];
  }
  return sum / static_cast<double>(rows);
}

TEST(Training, GradientsGoThroughTheStatisticsOfTheBatch) {
  const auto layout = std::make_shared<const Layout>(small_net());
  Batch batch = make_batch(*layout);
  Training training(layout);
  std::vector<float> gradient(batch.theta.size());
  std::vector<double> theta(batch.theta.begin(), batch.theta.end());
  const double loss =
      training.gradient(batch.theta, batch.inputs, batch.labels, batch.statistics, 0.1, gradient);
  EXPECT_NEAR(loss, plain_loss(*layout, batch, theta), 1e-6 * loss);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < theta.size(); ++i) {
    constexpr double step = 1e-5;
    const double x = theta[i];
    theta[i] = x + step;
    const double up = plain_loss(*layout, batch, theta);
    theta[i] = x - step;
    const double expected = (up - plain_loss(*layout, batch, theta)) / (2 * step);
    theta[i] = x;
    difference += (gradient[i] - expected) * (gradient[i] - expected);
    size += expected * expected;
  }
  EXPECT_LE(std::sqrt(difference / size), 1e-5);
}

TEST(Training, RunningStatisticsMoveTowardsTheBatch) {
  // A batch norm first: its statistics are those of the inputs.
  const auto layout =
      std::make_shared<const Layout>(Description{{2, 3, 1}, {BatchNorm{}, Flatten{}, Linear{2}}});
  Batch batch = make_batch(*layout, 40);
  Training training(layout);
  std::vector<float> gradient(batch.theta.size());
  training.gradient(batch.theta, batch.inputs, batch.labels, batch.statistics, 0.25, gradient);
  for (std::size_t c = 0; c < 2; ++c) {
    double mean = 0, squares = 0;
    for (std::size_t n = 0; n < 40; ++n)
      for (std::size_t i = 0; i < 3; ++i) mean += batch.inputs[(n * 2 + c) * 3 + i] / 120;
    for (std::size_t n = 0; n < 40; ++n)
      for (std::size_t i = 0; i < 3; ++i) squares += std::pow(batch.inputs[(n * 2 + c) * 3 + i] - mean, 2);
    EXPECT_NEAR(batch.statistics[c], 0.25 * mean, 1e-6);
    EXPECT_NEAR(batch.statistics[2 + c], 0.75 + 0.25 * squares / 119, 1e-6);
  }
}

TEST(Training, WithoutBatchNormsItIsTheLikelihoodsGradient) {
  Numbers numbers(4);
  const auto network = std::make_shared<const Network>(Layout(mlp(3, {9, 8}, 2)));
  const auto layout = std::make_shared<const Layout>(network->layout);
  const auto inputs = numbers.some<float>(60, 1.0), answers = numbers.some<float>(40, 1.0);
  const auto theta = numbers.some<double>(layout->parameter_count(), 0.8);
  const std::vector<float> floats(theta.begin(), theta.end());
  std::vector<float> gradient(theta.size());
  std::vector<double> of_posterior(theta.size());
  Training training(layout);
  training.gradient(floats, inputs, answers, {}, 0.1, gradient);
  // With sigma 1 and hardly a prior, the posterior is minus the summed loss.
  NetworkPosterior posterior(network, {Inputs::values({3, 1, 1}, inputs), Answers::values(2, answers)},
                             {.prior_sd = 1e6, .known_sigma = 1.0});
  posterior.gradient(theta, of_posterior);
  for (std::size_t i = 0; i < theta.size(); ++i) EXPECT_NEAR(-20 * gradient[i], of_posterior[i], 1e-4);
}

TEST(Training, BitsAreTheSameForAnyNumberOfThreads) {
  const auto layout = std::make_shared<const Layout>(small_net());
  Batch one = make_batch(*layout, 100), three = one;
  Training alone(layout), shared(layout, std::make_shared<ThreadPool>(3));
  std::vector<float> first(one.theta.size()), second(one.theta.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_EQ(alone.gradient(one.theta, one.inputs, one.labels, one.statistics, 0.1, first),
              shared.gradient(three.theta, three.inputs, three.labels, three.statistics, 0.1, second));
    EXPECT_EQ(first, second);
    EXPECT_EQ(one.statistics, three.statistics);
  }
}

TEST(Training, BatchesThatDoNotFitAreRefused) {
  const auto layout = std::make_shared<const Layout>(small_net());
  Batch batch = make_batch(*layout, 4);
  Training training(layout);
  std::vector<float> gradient(batch.theta.size());
  const std::vector<std::uint8_t> three(batch.labels.begin(), batch.labels.begin() + 3), none;
  EXPECT_THROW(training.gradient(batch.theta, batch.inputs, three, batch.statistics, 0.1, gradient),
               UsageError);
  EXPECT_THROW(
      training.gradient(batch.theta, std::span<const float>{}, none, batch.statistics, 0.1, gradient),
      UsageError);
  EXPECT_THROW(training.gradient(batch.theta, batch.inputs, batch.labels, {}, 0.1, gradient), UsageError);
  batch.labels[2] = 3;
  EXPECT_THROW(training.gradient(batch.theta, batch.inputs, batch.labels, batch.statistics, 0.1, gradient),
               Error);
}

}  // namespace
}  // namespace onward::net
