// Transforms carry derivatives: jets against differences, reverse gradients against slopes, batches against
// single numbers.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "transform_kinds.hpp"

namespace onward {
namespace {

// Derivatives: of F(alpha) = sum_k c_k x_k + log|dx/du| at u + alpha v.

template <class T, class Transform>
T probe(const Transform& transform, std::span<const T> u) {
  std::vector<T> x(transform.size());
  T result(0.0);
  transform.constrain(u, std::span<T>(x), result);
  for (std::size_t k = 0; k < x.size(); ++k) result += x[k] * (0.3 + 0.2 * static_cast<double>(k));
  return result;
}

/// The numbers u as T, moving with slopes v where T has room for them.
template <class T>
std::vector<T> moving(const Numbers& u, const Numbers& v) {
  std::vector<T> result(u.begin(), u.end());
  if constexpr (requires(T t) { t.slope; }) {
    for (std::size_t k = 0; k < u.size(); ++k) result[k].slope = v[k];
  }
  return result;
}

template <class T, class Transform>
T probe_at(const Transform& transform, const Numbers& u, const Numbers& v) {
  const std::vector<T> line = moving<T>(u, v);
  return probe<T>(transform, line);
}

TEST(TransformDerivatives, AgreeWithDifferences) {
  std::mt19937 generator(5);
  for_each_kind([&](const auto& transform) {
    const std::size_t n = transform.unconstrained_size();
    for (int repeat = 0; repeat < 10; ++repeat) {
      // u = 0 is where a run may start, and where a form with |u| in it would have a kink.
      const Numbers u = repeat == 0 ? Numbers(n, 0.0) : random_numbers(n, 1.0, generator);
      const Numbers v = random_numbers(n, 0.5, generator);
      const auto at = [&](double alpha) {
        Numbers moved = u;
        for (std::size_t k = 0; k < n; ++k) moved[k] += alpha * v[k];
        return probe<double>(transform, moved);
      };
      const double h = 3e-3;
      const double a = at(-2 * h), b = at(-h), c = at(0), d = at(h), e = at(2 * h);
      const double slope = ((a - e) + 8 * (d - b)) / (12 * h);
      const double curvature = (16 * (b + d) - (a + e) - 30 * c) / (12 * h * h);

      const auto jet = probe_at<Jet2<double>>(transform, u, v);
      const double scale = 1 + std::abs(jet.value);
      EXPECT_NEAR(jet.value, c, 1e-13 * scale);
      EXPECT_NEAR(jet.slope, slope, 1e-9 * scale);
      EXPECT_NEAR(jet.curvature, curvature, 1e-7 * scale);

      const auto dual = probe_at<Dual<double>>(transform, u, v);
      EXPECT_EQ(dual.value, jet.value);
      EXPECT_EQ(dual.slope, jet.slope);
      EXPECT_EQ(probe_at<Value<double>>(transform, u, v).value, jet.value);
      // One value with a register of slopes, as gradients in chunks use it.
      const auto chunk = probe_at<Dual<double, simd::Batch<double>>>(transform, u, v);
      EXPECT_EQ(chunk.value, jet.value);
      EXPECT_EQ(chunk.slope.get(1), jet.slope);
    }
  });
}

TEST(TransformDerivatives, ReverseGradientGivesTheSlope) {
  std::mt19937 generator(7);
  Tape<double> tape;
  for_each_kind([&](const auto& transform) {
    const std::size_t n = transform.unconstrained_size();
    for (int repeat = 0; repeat < 10; ++repeat) {
      const Numbers u = repeat == 0 ? Numbers(n, 0.0) : random_numbers(n, 1.0, generator);
      const Numbers v = random_numbers(n, 0.5, generator);
      const Tape<double>::Active active(tape);
      tape.clear();
      std::vector<Reverse<double>> variables;
      for (double number : u) variables.push_back(tape.variable(number));
      const Reverse<double> f = probe<Reverse<double>>(transform, variables);
      tape.sweep(f);
      double slope = 0;
      for (std::size_t k = 0; k < n; ++k) slope += tape.adjoint(variables[k]) * v[k];
      const auto jet = probe_at<Jet2<double>>(transform, u, v);
      EXPECT_EQ(f.value, jet.value);
      EXPECT_NEAR(slope, jet.slope, 1e-12 * (1 + std::abs(jet.value)));
    }
  });
}

TEST(TransformDerivatives, EachLaneOfABatchHasTheBitsOfItsOwnJet) {
  using Batch = simd::Batch<double>;
  constexpr std::size_t lanes = Batch::size;
  std::mt19937 generator(6);
  const Numbers special{0.0, -0.0, 40.0, -40.0, 700.0, -700.0, 1e-9};
  std::uniform_int_distribution<std::size_t> pick(0, 2 * special.size());
  for_each_kind([&](const auto& transform) {
    const std::size_t n = transform.unconstrained_size();
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<Numbers> u, v;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        u.push_back(random_numbers(n, 2.0, generator));
        v.push_back(random_numbers(n, 1.0, generator));
        for (double& number : u.back()) {
          if (const std::size_t which = pick(generator); which < special.size()) number = special[which];
        }
      }
      std::vector<Jet2<Batch>> together(n);
      for (std::size_t k = 0; k < n; ++k) {
        std::array<double, lanes> values, slopes;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          values[lane] = u[lane][k];
          slopes[lane] = v[lane][k];
        }
        together[k] = {Batch::load_unaligned(values.data()), Batch::load_unaligned(slopes.data())};
      }
      const Jet2<Batch> batched = probe<Jet2<Batch>>(transform, together);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const auto alone = probe_at<Jet2<double>>(transform, u[lane], v[lane]);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(batched.value.get(lane)),
                  std::bit_cast<std::uint64_t>(alone.value));
        EXPECT_EQ(batched.slope.get(lane), alone.slope);
        EXPECT_EQ(batched.curvature.get(lane), alone.curvature);
        EXPECT_TRUE(std::isfinite(alone.value) && std::isfinite(alone.slope) &&
                    std::isfinite(alone.curvature));
      }
    }
  });
}

}  // namespace
}  // namespace onward
