// Jets along two lines at once: the same bits as one after the other, and the same care for bad places.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "models/models.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"
#include "onward/target/price.hpp"
#include "onward/target/target.hpp"

namespace onward {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool same_bits(const Jet& a, const Jet& b) { return std::memcmp(&a, &b, sizeof(Jet)) == 0; }

/// Every built-in model that offers pairs; those from callables all do.
TEST(JetPair, EqualsTwoJetsBitForBitForEveryModel) {
  std::size_t with_pairs = 0;
  for (const auto& info : models::list()) {
    AnyTarget target(models::make(info.name).target);
    with_pairs += target.has_jet_pair() ? 1 : 0;
    const std::size_t dimension = target.dimension();
    std::vector<double> theta(dimension), v(dimension), w(dimension);
    for (std::uint32_t chain = 0; chain < 50; ++chain) {
      const Stream stream(3, chain);
      stream.normals(0, Purpose::start, theta);
      stream.direction(0, Purpose::direction, v);
      stream.direction(0, Purpose::reverse_direction, w);
      for (const Order order : {Order::slope, Order::curvature}) {
        const JetPair both = target.jet_pair(theta, v, w, order);
        EXPECT_TRUE(same_bits(both.first, target.jet(theta, v, order))) << info.name;
        EXPECT_TRUE(same_bits(both.second, target.jet(theta, w, order))) << info.name;
        EXPECT_NE(both.first.slope, both.second.slope) << info.name;
      }
    }
  }
  EXPECT_GE(with_pairs, 4u);
}

struct Puppet {
  std::function<JetPair()> answer;
  static std::size_t dimension() { return 1; }
  Jet jet(VectorView, VectorView, Order) { return answer().first; }
  JetPair jet_pair(VectorView, VectorView, VectorView, Order) { return answer(); }
};

const std::vector<double> place{0.5}, along{1.0};

bool is_nowhere(const Jet& jet) { return jet.value == -inf && jet.slope == 0 && jet.curvature == 0; }

TEST(JetPair, OfABadPlaceHasNoDensity) {
  JetPair now{{1, 2, 3}, {1, 4, 5}};
  AnyTarget t{Puppet{[&] { return now; }}};
  ASSERT_TRUE(t.has_jet_pair());
  EXPECT_EQ(t.jet_pair(place, along, along, Order::curvature).second.slope, 4);
  EXPECT_EQ(t.counts().curvature_pairs, 1u);
  EXPECT_EQ(t.counts().nonfinite, 0u);

  now = {{nan, 2, 3}, {nan, 4, 5}};
  JetPair pair = t.jet_pair(place, along, along, Order::slope);
  EXPECT_TRUE(is_nowhere(pair.first) && is_nowhere(pair.second));
  EXPECT_EQ(t.counts().slope_pairs, 1u);
  EXPECT_EQ(t.counts().nonfinite, 1u);

  now = {{1, 2, 3}, {1, inf, 5}};  // no slope along the second line
  pair = t.jet_pair(place, along, along, Order::slope);
  EXPECT_EQ(pair.first.slope, 2);
  EXPECT_TRUE(is_nowhere(pair.second));

  pair = t.jet_pair(std::vector<double>{nan}, along, along, Order::slope);
  EXPECT_TRUE(is_nowhere(pair.first) && is_nowhere(pair.second));

  AnyTarget throws{Puppet{[]() -> JetPair { throw std::domain_error("no"); }}};
  pair = throws.jet_pair(place, along, along, Order::curvature);
  EXPECT_TRUE(is_nowhere(pair.first) && is_nowhere(pair.second));
  EXPECT_EQ(throws.counts().threw, 1u);
  EXPECT_EQ(throws.counts().nonfinite, 1u);
}

TEST(JetPair, IsTempered) {
  AnyTarget hot = AnyTarget{Puppet{[] { return JetPair{{1, 2, 3}, {1, 4, 5}}; }}}.tempered(2);
  const JetPair pair = hot.jet_pair(place, along, along, Order::curvature);
  EXPECT_TRUE(same_bits(pair.first, {0.5, 1, 1.5}));
  EXPECT_TRUE(same_bits(pair.second, {0.5, 2, 2.5}));
}

TEST(JetPair, OfAModelWithoutOneIsTwoJets) {
  struct Plain {
    static std::size_t dimension() { return 1; }
    static Jet jet(VectorView theta, VectorView v, Order) { return {theta[0], v[0], 0}; }
  };
  AnyTarget t{Plain{}};
  EXPECT_FALSE(t.has_jet_pair());
  const JetPair pair = t.jet_pair(place, along, std::vector<double>{-1.0}, Order::slope);
  EXPECT_EQ(pair.first.slope, 1);
  EXPECT_EQ(pair.second.slope, -1);
  EXPECT_EQ(t.counts().slopes, 2u);
  EXPECT_EQ(t.counts().slope_pairs, 0u);
}

/// Whoever asks for evaluations pays for them, and two lines at once cost less than one after the other.
TEST(EvaluationPrice, OfCounts) {
  const EvaluationPrice price = EvaluationPrice::of_dimension(10);
  Counts counts;
  counts.values = 3;
  EXPECT_EQ(price.of(counts), 3 * price.value);
  counts.slopes = 2;
  counts.curvatures = 5;
  EXPECT_DOUBLE_EQ(price.of(counts), 3 * price.value + 2 * price.slope + 5 * price.curvature);
  counts = {};
  counts.slope_pairs = 2;
  counts.curvature_pairs = 5;
  counts.gradients = 1;
  EXPECT_DOUBLE_EQ(price.of(counts), 2 * price.slope_pair + 5 * price.curvature_pair + price.gradient);
  EXPECT_LT(price.slope_pair, 2 * price.slope);
  EXPECT_LT(price.curvature_pair, 2 * price.curvature);
  EXPECT_LE(EvaluationPrice::of_dimension(1).gradient, EvaluationPrice::of_dimension(40).gradient);
  EXPECT_EQ(EvaluationPrice::of_dimension(100).gradient, EvaluationPrice::of_dimension(10'000).gradient);
}

}  // namespace
}  // namespace onward
