// Jets and gradients of networks against plain ones in double.

#include "onward/net/posterior.hpp"
#include "onward/sampler/samplers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "net/reference.hpp"
#include "onward/error.hpp"
#include "onward/target/target.hpp"

namespace onward::net {
namespace {

static_assert(Target<NetworkPosterior> && HasGradient<NetworkPosterior> && HasNames<NetworkPosterior> &&
              HasConstrain<NetworkPosterior>);

Activation activation(ActivationKind kind) { return {kind}; }
constexpr auto relu = ActivationKind::relu;

struct Case {
  std::string name;
  Description description;
  bool labels = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

/// Every kind of layer, in the neighbourhoods that matter to how it is computed.
std::vector<Case> cases() {
  std::vector<Case> cases{
      {"linear", {{3, 1, 1}, {Linear{2}}}},
      {"linear_without_bias", {{3, 1, 1}, {Linear{4, false}, activation(relu), Linear{2, false}}}},
      {"labels", {{3, 1, 1}, {Linear{7}, activation(relu), Linear{4}}}, true},
      {"conv", {{2, 5, 5}, {Conv2d{.channels = 3, .padding = 1}, activation(relu), Flatten{}, Linear{2}}}},
      {"conv_strides",
       {{3, 7, 6},
        {Conv2d{.channels = 5, .kernel_height = 2, .kernel_width = 3, .stride = 2, .padding = 1},
         activation(ActivationKind::tanh),
         Conv2d{.channels = 4, .kernel_height = 1, .kernel_width = 1, .bias = false}, Flatten{}, Linear{3}}},
       true},
      {"conv_wide",
       {{16, 6, 6},
        {Conv2d{.channels = 32, .padding = 1}, activation(relu), Pool{}, Conv2d{.channels = 16, .padding = 1},
         activation(relu), Flatten{}, Linear{3}}},
       true},
      {"relu_then_max_pool",
       {{2, 6, 6}, {Conv2d{.channels = 4}, activation(relu), Pool{}, Flatten{}, Linear{3}}},
       true},
      {"max_pool_that_overlaps",
       {{2, 7, 7}, {Conv2d{.channels = 4}, Pool{PoolKind::max, 3, 1}, Flatten{}, Linear{3}}}},
      {"average_pool",
       {{2, 7, 7},
        {Conv2d{.channels = 4}, activation(relu), Pool{PoolKind::average, 2, 2}, Flatten{}, Linear{3}}}},
      {"batch_norm",
       {{2, 6, 6},
        {Conv2d{.channels = 4}, BatchNorm{}, activation(relu), Pool{}, Flatten{}, BatchNorm{}, Linear{3}}},
       true},
      {"batch_norm_first",
       {{3, 1, 1}, {BatchNorm{}, Linear{3}, activation(ActivationKind::softplus), Linear{1}}}},
      {"residual",
       {{3, 5, 5},
        {Conv2d{.channels = 3, .padding = 1}, activation(relu), Conv2d{.channels = 3, .padding = 1},
         Residual{3}, activation(relu), Flatten{}, Linear{2}}}},
      {"residual_from_inside",  // the relu after the product cannot be computed with it
       {{4, 1, 1},
        {Linear{5}, activation(relu), Linear{5}, Residual{2}, activation(ActivationKind::tanh), Residual{4},
         Linear{2}}}},
      {"residual_of_relu_before_pool",
       {{2, 4, 4},
        {Conv2d{.channels = 3, .padding = 1}, activation(relu), Pool{PoolKind::max, 1, 1}, Residual{1},
         Flatten{}, Linear{2}}}},
      {"flatten_last", {{2, 3, 3}, {Conv2d{.channels = 2}, activation(ActivationKind::tanh), Flatten{}}}},
      {"image_of_one_channel", {{1, 3, 3}, {Flatten{}, Linear{4}, activation(relu), Linear{2}}}},
  };
  for (const auto kind : {relu, ActivationKind::tanh, ActivationKind::gelu, ActivationKind::softplus})
    cases.push_back({kind_of(activation(kind)), mlp(3, {19, 5, 17}, 2, kind)});
  return cases;
}

struct Made {
  std::shared_ptr<const Network> network;
  Data data;
  std::vector<double> theta, v;
};

constexpr std::size_t rows = 11;

Made make(const Case& c, std::uint64_t seed = 1, bool with_sigma = false) {
  Numbers numbers(seed);
  const Layout layout(c.description);
  auto statistics = numbers.some<float>(layout.statistic_count(), 0.5);
  for (const Tensor& tensor : layout.statistics())
    for (std::size_t i = 0; tensor.name.ends_with("var") && i < tensor.size; ++i)
      statistics[tensor.offset + i] += 1;
  Made made{std::make_shared<const Network>(layout, std::move(statistics)), {}, {}, {}};
  made.data.inputs = Inputs::values(layout.input(), numbers.some<float>(rows * layout.input().size(), 1.5));
  const std::size_t width = layout.output().size();
  if (c.labels) {
    std::vector<std::uint8_t> labels(rows);
    for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<std::uint8_t>(i % width);
    made.data.answers = Answers::labels(width, labels);
  } else {
    made.data.answers = Answers::values(width, numbers.some<float>(rows * width, 1.0));
  }
  const std::size_t dimension = layout.parameter_count() + (with_sigma ? 1 : 0);
  made.theta = numbers.some<double>(dimension, 0.7);
  made.v = numbers.some<double>(dimension, 0.3);
  return made;
}

PosteriorOptions options_for(const Case& c, std::size_t piece = 0) {
  PosteriorOptions options{.prior_sd = 1.5, .piece = piece};
  if (!c.labels) options.known_sigma = 0.6;
  return options;
}

struct Posed {
  Made made;
  PosteriorOptions options;
};

/// In pieces of 4 rows: with sigma known and, where there is one, sampled.
std::vector<Posed> with_and_without_sigma(const Case& c) {
  std::vector<Posed> posed{{make(c), options_for(c, 4)}};
  if (c.labels) return posed;
  posed.push_back({make(c, 1, true), options_for(c, 4)});
  posed.back().options.known_sigma.reset();
  return posed;
}

double norm(std::span<const double> x) {
  double sum = 0;
  for (const double entry : x) sum += entry * entry;
  return std::sqrt(sum);
}

/// Float products, added in double: what is allowed is relative to the sizes at hand.
void expect_close(const Jet& jet, const Jet& expected, Order order) {
  const double scale = std::abs(expected.value);
  EXPECT_NEAR(jet.value, expected.value, 3e-6 * scale);
  if (order == Order::value) return;
  EXPECT_NEAR(jet.slope, expected.slope, 1e-5 * (std::abs(expected.slope) + scale));
  if (order == Order::slope) return;
  EXPECT_NEAR(jet.curvature, expected.curvature, 1e-5 * (std::abs(expected.curvature) + scale));
}

class NetCase : public testing::TestWithParam<Case> {};

TEST_P(NetCase, JetsAreThoseOfThePlainNetwork) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Made made = make(GetParam(), seed);
    for (const std::size_t piece : {0u, 4u, 1u}) {
      NetworkPosterior posterior(made.network, made.data, options_for(GetParam(), piece));
      const Jet expected = reference_jet(posterior, made.theta, made.v);
      for (const Order order : {Order::value, Order::slope, Order::curvature})
        expect_close(posterior.jet(made.theta, made.v, order), expected, order);
    }
  }
}

TEST_P(NetCase, SlopesAreDifferencesOfValues) {
  const Made made = make(GetParam());
  NetworkPosterior posterior(made.network, made.data, options_for(GetParam()));
  constexpr double step = 1e-6;
  std::vector<double> before = made.theta, after = made.theta;
  for (std::size_t i = 0; i < before.size(); ++i) {
    before[i] -= step * made.v[i];
    after[i] += step * made.v[i];
  }
  const Jet jet = posterior.jet(made.theta, made.v, Order::curvature);
  const double slope =
      (reference_density<double>(posterior, after) - reference_density<double>(posterior, before)) /
      (2 * step);
  EXPECT_NEAR(jet.slope, slope, 1e-5 * (std::abs(slope) + std::abs(jet.value)));
  const double curvature =
      (reference_jet(posterior, after, made.v).slope - reference_jet(posterior, before, made.v).slope) /
      (2 * step);
  EXPECT_NEAR(jet.curvature, curvature, 1e-5 * (std::abs(curvature) + std::abs(jet.value)));
}

TEST_P(NetCase, LinesWithinALayerAreLines) {
  const Made made = make(GetParam());
  NetworkPosterior posterior(made.network, made.data, options_for(GetParam(), 4));
  for (const auto& step : made.network->layout.steps()) {
    if (step.begin == step.end) continue;
    std::vector<double> v(made.v.size(), 0.0);
    std::copy(made.v.begin() + static_cast<std::ptrdiff_t>(step.begin),
              made.v.begin() + static_cast<std::ptrdiff_t>(step.end),
              v.begin() + static_cast<std::ptrdiff_t>(step.begin));
    const Jet expected = reference_jet(posterior, made.theta, v);
    for (const Order order : {Order::slope, Order::curvature})
      expect_close(posterior.jet(made.theta, v, order), expected, order);
  }
}

/// Along all parameters, and along lines that leave some layers alone.
TEST_P(NetCase, JetsOfVectorsThatAreReadInStretches) {
  for (const auto& [made, options] : with_and_without_sigma(GetParam())) {
    NetworkPosterior held(made.network, made.data, options), read(made.network, made.data, options);
    const auto copy = [](const std::vector<double>& values) {
      return ComputedVector([&values](std::size_t first, std::span<double> out) {
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
      });
    };
    const auto theta = copy(made.theta), v = copy(made.v);
    for (const Order order : {Order::value, Order::slope, Order::curvature}) {
      const Jet a = held.jet(made.theta, made.v, order);
      const Jet b = read.jet_from(theta, order == Order::value ? nullptr : &v, order);
      EXPECT_EQ(a.value, b.value);
      EXPECT_EQ(a.slope, b.slope);
      EXPECT_EQ(a.curvature, b.curvature);
    }
    std::vector<double> nowhere = made.theta;
    nowhere[nowhere.size() / 2] = std::nan("");
    EXPECT_EQ(read.jet_from(copy(nowhere), &v, Order::slope).value, -std::numeric_limits<double>::infinity());
  }
}

TEST_P(NetCase, TwoSlopesInOnePassAreThoseOfTwoJets) {
  for (const auto& [made, options] : with_and_without_sigma(GetParam())) {
    NetworkPosterior one(made.network, made.data, options), two(made.network, made.data, options);
    std::vector<std::vector<double>> directions{made.v, Numbers(9).some<double>(made.v.size(), 0.4)};
    for (const auto& step : made.network->layout.steps()) {
      if (step.begin == step.end) continue;
      std::vector<double> v(made.v.size(), 0.0);
      for (std::size_t i = step.begin; i < step.end; ++i) v[i] = made.v[i];
      directions.push_back(v);
    }
    for (const auto& v : directions)
      for (const auto& w : directions)
        for (const Order order : {Order::slope, Order::curvature}) {
          const JetPair both = two.jet_pair(made.theta, v, w, order);
          const Jet first = one.jet(made.theta, v, order), second = one.jet(made.theta, w, order);
          for (const auto& [a, b] : {std::pair{both.first, first}, std::pair{both.second, second}}) {
            EXPECT_EQ(a.value, b.value);
            EXPECT_EQ(a.slope, b.slope);
            EXPECT_EQ(a.curvature, b.curvature);
          }
        }
  }
}

/// Chains of lines, within layers and across, with and without memory for what stays as it is: jets on them
/// have the bits of jets of a target that has never been anywhere.
TEST_P(NetCase, LinesHaveTheBitsOfJetsAtTheirPlaces) {
  for (Posed posed : with_and_without_sigma(GetParam()))
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 20}) {
      const Made& made = posed.made;
      posed.options.kept_activations_bytes = bytes;
      NetworkPosterior posterior(made.network, made.data, posed.options);
      auto theta = made.theta;
      std::vector<Support> supports{{0, theta.size()}, {theta.size() - 1, 1}};
      for (const auto& step : made.network->layout.steps())
        if (step.begin < step.end) supports.push_back({step.begin, step.end - step.begin});
      Numbers numbers(3);
      const auto expect_same = [](const Jet& a, const Jet& b) {
        EXPECT_EQ(a.value, b.value);
        EXPECT_EQ(a.slope, b.slope);
        EXPECT_EQ(a.curvature, b.curvature);
      };
      for (std::size_t number = 0; number < 3 * supports.size(); ++number) {
        const Support support = supports[number % supports.size()];
        std::vector<double> v(theta.size(), 0.0), there(theta.size());
        for (std::size_t i = 0; i < support.count; ++i) v[support.first + i] = 0.2 * numbers.next();
        const Order order = number % 2 == 0 ? Order::slope : Order::curvature;
        auto line = posterior.line(theta, {v, support});
        if (number % 3 != 2)  // else the first jet is known, say
          expect_same(line.jet(0, order), NetworkPosterior(posterior).jet(theta, v, order));
        for (const double alpha : {0.3, -0.2, 0.1}) {  // of which the second is accepted
          for (std::size_t i = 0; i < v.size(); ++i) there[i] = theta[i] + alpha * v[i];
          expect_same(line.jet(alpha, order), NetworkPosterior(posterior).jet(there, v, order));
          if (alpha > 0) continue;
          line.commit(alpha);
          theta = there;
        }
        const JetPair pair = line.jet_pair(0.1, Direction(made.v), order);
        expect_same(pair.first, NetworkPosterior(posterior).jet(there, v, order));
        expect_same(pair.second, NetworkPosterior(posterior).jet(there, made.v, order));
      }
    }
}

/// The posterior without its lines.
struct JetsAlone {
  NetworkPosterior posterior;
  std::size_t dimension() const { return posterior.dimension(); }
  Jet jet(VectorView theta, VectorView v, Order order) { return posterior.jet(theta, v, order); }
};

TEST_P(NetCase, ChainsAreTheSameWithoutLines) {
  const Posed posed = with_and_without_sigma(GetParam()).back();
  PosteriorOptions options = posed.options;
  options.kept_activations_bytes = 1 << 20;
  const NetworkPosterior posterior(posed.made.network, posed.made.data, options);
  const Stream stream(8, 0);
  for (const std::string source : {"blocks", "frames+axes"})
    for (const std::string sampler : {"line-fmala", "newton-line", "rwm"}) {
      const Kernel kernel = make_kernel({.sampler = sampler, .step_size = 0.05, .options = {{"inner", 2}}});
      const auto run = [&](AnyTarget target) {
        State state;
        state.position = posed.made.theta;
        state.value = target.value(state.position);
        Workspace w(target.dimension());
        Directions directions = make_directions(source, DirectionLaw::any, target.dimension(),
                                                posterior.names(), posterior.blocks());
        for (std::uint64_t number = 1; number <= 30; ++number)
          step(kernel, state, target, Metric{}, stream, number, directions, w);
        return state.position;
      };
      const auto by_lines = run(posterior);
      EXPECT_EQ(by_lines, run(JetsAlone{posterior})) << sampler << ", " << source;
      EXPECT_NE(by_lines, posed.made.theta) << "nothing was accepted";
    }
}

TEST_P(NetCase, GradientsOfAllFormsAreThoseOfThePlainNetwork) {
  const Made made = make(GetParam());
  for (const std::size_t piece : {0u, 4u}) {
    NetworkPosterior posterior(made.network, made.data, options_for(GetParam(), piece));
    std::vector<double> expected(made.theta.size()), axis(made.theta.size(), 0.0),
        gradient(made.theta.size());
    for (std::size_t i = 0; i < axis.size(); ++i) {
      axis[i] = 1;
      expected[i] = axis.size() > 500 && i % 97 != 0 ? 0 : reference_jet(posterior, made.theta, axis).slope;
      axis[i] = 0;
    }
    const double value = reference_density<double>(posterior, made.theta);
    for (const auto form : {GradientForm::whole, GradientForm::pieces, GradientForm::checkpoint}) {
      EXPECT_NEAR(posterior.gradient(made.theta, gradient, form), value, 3e-6 * std::abs(value));
      std::vector<double> difference;
      for (std::size_t i = 0; i < axis.size(); ++i)
        if (axis.size() <= 500 || i % 97 == 0) difference.push_back(gradient[i] - expected[i]);
      EXPECT_LE(norm(difference), 1e-5 * norm(expected));
      // And the slope along a line is the gradient's part in it.
      double along = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) along += gradient[i] * made.v[i];
      const double slope = posterior.jet(made.theta, made.v, Order::slope).slope;
      EXPECT_NEAR(along, slope, 1e-5 * norm(gradient) * norm(made.v));
    }
  }
}

TEST_P(NetCase, BitsAreTheSameForAnyNumberOfThreads) {
  const Made made = make(GetParam());
  NetworkPosterior one(made.network, made.data, options_for(GetParam(), 2), std::make_shared<ThreadPool>(1));
  NetworkPosterior three(made.network, made.data, options_for(GetParam(), 2),
                         std::make_shared<ThreadPool>(3));
  std::vector<double> first(made.theta.size()), second(made.theta.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Jet a = one.jet(made.theta, made.v, Order::curvature),
              b = three.jet(made.theta, made.v, Order::curvature);
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.slope, b.slope);
    EXPECT_EQ(a.curvature, b.curvature);
    EXPECT_EQ(one.gradient(made.theta, first), three.gradient(made.theta, second));
    EXPECT_EQ(first, second);
  }
}

TEST_P(NetCase, PredictsForOtherInputs) {
  const Made made = make(GetParam());
  const Made other = make(GetParam(), 5);
  NetworkPosterior posterior(made.network, made.data, options_for(GetParam(), 3));
  const std::size_t width = made.network->layout.output().size(), size = other.data.inputs.shape().size();
  std::vector<float> outputs(7 * width);
  posterior.predict(made.theta, other.data.inputs.first(7), outputs);
  const ReferenceNet<double> net(*made.network, made.theta);
  for (std::size_t n = 0; n < 7; ++n) {
    std::vector<float> last(size);
    other.data.inputs.read_channels_last(n, 1, last.data());
    const Shape& shape = other.data.inputs.shape();
    Row<double> row(size);
    for (std::size_t c = 0; c < shape.channels; ++c)
      for (std::size_t i = 0; i < size / shape.channels; ++i)
        row[c * (size / shape.channels) + i] = last[i * shape.channels + c];
    const auto expected = net.outputs(row);
    for (std::size_t k = 0; k < width; ++k)  // a small output may be the difference of large terms
      EXPECT_NEAR(outputs[n * width + k], expected[k], 2e-5 * (1 + norm(expected)));
  }
}

TEST(NetPosterior, WhatOverflowsHasNoDensity) {
  const std::vector<Case> all{
      {"narrow", mlp(8, {30, 30, 30}, 3), true},
      {"wide", mlp(8, {300, 300, 300}, 3), true},
      {"norms",
       {{8, 1, 1}, {Linear{300}, BatchNorm{}, activation(relu), Linear{300}, activation(relu), Linear{3}}},
       true},
      {"pooled",
       {{16, 8, 8},
        {Conv2d{.channels = 16, .padding = 1}, activation(relu), Pool{}, Conv2d{.channels = 16, .padding = 1},
         activation(relu), Pool{}, Flatten{}, Linear{30}, activation(relu), Linear{3}}},
       true}};
  for (const Case& c : all) {
    Made made = make(c);
    for (double& weight : made.theta) weight *= 1e19;
    PosteriorOptions options = options_for(c);
    options.prior_sd = 1e30;
    NetworkPosterior posterior(made.network, made.data, options);
    for (const Order order : {Order::value, Order::slope, Order::curvature})
      EXPECT_FALSE(std::isfinite(posterior.jet(made.theta, made.v, order).value)) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, NetCase, testing::ValuesIn(cases()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace onward::net
