// Any target behind one type: copies are independent, bad places are counted and never look acceptable,
// temperature divides everything.

#include "onward/target/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "onward/error.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Says what it is told to say, and remembers how often it was asked.
struct Puppet {
  std::function<Jet()> answer;
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  std::size_t size = 2;

  std::size_t dimension() const { return size; }
  Jet jet(VectorView, VectorView, Order) {
    ++*asked;
    return answer();
  }
  double gradient(VectorView, std::span<double> out) {
    ++*asked;
    const Jet jet = answer();
    out[0] = jet.slope;
    out[1] = jet.curvature;
    return jet.value;
  }
};

/// The least that is a target: no gradient, no names.
struct Least {
  static std::size_t dimension() { return 2; }
  static Jet jet(VectorView theta, VectorView, Order) { return {-theta[0] * theta[0], 0, 0}; }
};

/// Keeps state of its own: what a copy must not share.
struct Counting {
  int calls = 0;
  static std::size_t dimension() { return 1; }
  Jet jet(VectorView, VectorView, Order) { return {static_cast<double>(++calls), 0, 0}; }
};

const std::vector<double> place{0.5, -1.0}, axis{1.0, 0.0};

void expect_no_density(const Jet& jet) {
  EXPECT_EQ(jet.value, -inf);
  EXPECT_EQ(jet.slope, 0);
  EXPECT_EQ(jet.curvature, 0);
}

TEST(AnyTarget, CopiesHaveTheirOwnModelAndCounts) {
  const std::vector<double> x{0.0};
  AnyTarget first{Counting{}};
  EXPECT_EQ(first.value(x), 1);
  EXPECT_EQ(first.value(x), 2);
  AnyTarget second = first;
  EXPECT_EQ(second.counts().jets(), 0u);
  EXPECT_EQ(second.value(x), 3);
  EXPECT_EQ(second.value(x), 4);
  EXPECT_EQ(first.value(x), 3);
  EXPECT_EQ(first.counts().jets(), 3u);
  EXPECT_EQ(second.counts().jets(), 2u);
  second = first;
  EXPECT_EQ(second.counts().jets(), 0u);
  EXPECT_EQ(second.value(x), 4);
  first.reset_counts();
  EXPECT_EQ(first.counts().jets(), 0u);
}

TEST(AnyTarget, ADomainErrorIsAPlaceWithoutDensity) {
  int calls = 0;
  AnyTarget t{
      Puppet{[&]() -> Jet { throw std::domain_error(++calls == 1 ? "tau is negative" : "something else"); }}};
  expect_no_density(t.jet(place, axis, Order::curvature));
  std::vector<double> gradient{7, 7};
  EXPECT_EQ(t.gradient(place, gradient), -inf);
  EXPECT_THAT(gradient, ElementsAre(0, 0));
  EXPECT_EQ(t.counts().jets(), 1u);
  EXPECT_EQ(t.counts().gradients, 1u);
  EXPECT_EQ(t.counts().nonfinite, 2u);
  EXPECT_EQ(t.counts().threw, 2u);
  EXPECT_EQ(t.counts().first_message, "tau is negative");
}

TEST(AnyTarget, WhatIsNotFiniteIsAPlaceWithoutDensity) {
  const std::vector<Jet> bad{{nan, 0, 0}, {inf, 0, 0},  {-inf, 0, 0}, {0, nan, 0},
                             {0, inf, 0}, {0, 0, -inf}, {0, 0, nan}};
  std::uint64_t count = 0;
  Jet now;
  AnyTarget t{Puppet{[&] { return now; }}};
  for (const Jet& jet : bad) {
    now = jet;
    expect_no_density(t.jet(place, axis, Order::curvature));
    std::vector<double> gradient{7, 7};
    EXPECT_EQ(t.gradient(place, gradient), -inf);
    EXPECT_THAT(gradient, ElementsAre(0, 0));
    count += 2;
    EXPECT_EQ(t.counts().nonfinite, count);
  }
  EXPECT_EQ(t.counts().threw, 0u);
  now = {1, 2, 3};
  EXPECT_EQ(t.jet(place, axis, Order::curvature).curvature, 3);
  EXPECT_EQ(t.counts().nonfinite, count) << "a finite jet was counted as not finite";
}

TEST(AnyTarget, APlaceThatIsNoNumberNeverReachesTheModel) {
  const Puppet puppet{[] { return Jet{1, 2, 3}; }};
  AnyTarget t{puppet};
  for (const double x : {nan, inf, -inf}) {
    const std::vector<double> nowhere{0.0, x};
    expect_no_density(t.jet(nowhere, axis, Order::slope));
    std::vector<double> gradient{7, 7};
    EXPECT_EQ(t.gradient(nowhere, gradient), -inf);
    EXPECT_THAT(gradient, ElementsAre(0, 0));
  }
  EXPECT_EQ(*puppet.asked, 0);
  EXPECT_EQ(t.counts().nonfinite, 6u);
}

TEST(AnyTarget, EveryOtherExceptionGoesThrough) {
  std::vector<double> gradient(2);
  AnyTarget fault{Puppet{[]() -> Jet { throw std::runtime_error("index 7 of 5"); }}};
  EXPECT_THROW(fault.jet(place, axis, Order::slope), std::runtime_error);
  EXPECT_THROW(fault.gradient(place, gradient), std::runtime_error);
  EXPECT_EQ(fault.counts().threw, 0u);
  AnyTarget memory{Puppet{[]() -> Jet { throw std::bad_alloc(); }}};
  EXPECT_THROW(memory.jet(place, axis, Order::value), std::bad_alloc);
  EXPECT_THROW(memory.gradient(place, gradient), std::bad_alloc);
  AnyTarget other{Puppet{[]() -> Jet { throw 42; }}};
  EXPECT_THROW(other.jet(place, axis, Order::value), int);
}

TEST(AnyTarget, TemperatureDividesEverything) {
  const AnyTarget t{Puppet{[] { return Jet{1, 2, 3}; }}};
  AnyTarget hot = t.tempered(4);
  EXPECT_EQ(hot.temperature(), 4);
  EXPECT_EQ(t.temperature(), 1);
  const Jet jet = hot.jet(place, axis, Order::curvature);
  EXPECT_EQ(jet.value, 0.25);
  EXPECT_EQ(jet.slope, 0.5);
  EXPECT_EQ(jet.curvature, 0.75);
  std::vector<double> gradient(2);
  EXPECT_EQ(hot.gradient(place, gradient), 0.25);
  EXPECT_THAT(gradient, ElementsAre(0.5, 0.75));
  AnyTarget hotter = hot.tempered(2);
  EXPECT_EQ(hotter.value(place), 0.125) << "temperatures multiply";
  AnyTarget copy = hot;
  EXPECT_EQ(copy.value(place), 0.25) << "a copy keeps the temperature";
}

TEST(AnyTarget, ATemperatureThatOverflowsIsNoDensity) {
  AnyTarget cold = AnyTarget{Puppet{[] { return Jet{1e10, 0, 0}; }}}.tempered(1e-300);
  expect_no_density(cold.jet(place, axis, Order::slope));
  std::vector<double> gradient(2);
  EXPECT_EQ(cold.gradient(place, gradient), -inf);
  EXPECT_EQ(cold.counts().nonfinite, 2u);
}

TEST(AnyTarget, RefusesTemperaturesThatMakeNoSense) {
  const AnyTarget t{Least{}};
  for (const double bad : {0.0, -1.0, nan, inf}) EXPECT_THROW(t.tempered(bad), UsageError);
  try {
    t.tempered(-2.5);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("temperature -2.5"));
  }
}

TEST(AnyTarget, SaysThatAGradientIsMissing) {
  AnyTarget t{Least{}};
  EXPECT_FALSE(t.has_gradient());
  EXPECT_TRUE(AnyTarget(Puppet{}).has_gradient());
  std::vector<double> gradient(2);
  try {
    t.gradient(place, gradient);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("gradient"));
    EXPECT_THAT(e.what(), HasSubstr("mala"));
  }
}

TEST(AnyTarget, NamesAndConstrainHaveDefaults) {
  const AnyTarget t{Least{}};
  EXPECT_EQ(t.dimension(), 2u);
  EXPECT_THAT(t.names(), ElementsAre("theta.1", "theta.2"));
  std::vector<double> out(2);
  t.constrain(place, out);
  EXPECT_EQ(out, place);
}

TEST(AnyTarget, PassesOnNamesAndConstrain) {
  const AnyTarget t{
      target(Parameters{}.positive("tau").simplex("p", 2), [](auto tau, auto) { return -tau; })};
  EXPECT_EQ(t.dimension(), 2u);
  EXPECT_THAT(t.names(), ElementsAre("tau", "p.1", "p.2"));
  std::vector<double> out(3);
  t.constrain(std::vector<double>{0.0, 0.0}, out);
  EXPECT_THAT(out, ElementsAre(1.0, 0.5, 0.5));
}

TEST(AnyTarget, RefusesNamesThatDoNotFitTheDimension) {
  struct Misnamed : Least {
    static std::vector<std::string> names() { return {"only"}; }
  };
  try {
    AnyTarget(Misnamed{}).names();
    FAIL() << "one name for two parameters was taken";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("1 parameters"));
    EXPECT_THAT(e.what(), HasSubstr("dimension 2"));
  }
}

TEST(Counts, AddUpAndKeepTheFirstMessage) {
  Counts a, b, c;
  a.values = 10;
  a.slopes = 1;
  a.gradients = 1;
  a.nonfinite = 2;
  b.values = 5;
  b.curvatures = 7;
  b.gradients = 2;
  b.nonfinite = 3;
  b.threw = 2;
  b.first_message = "b said";
  c = b;
  c.slope_pairs = 4;
  c.curvature_pairs = 5;
  c.first_message = "c said";
  a += b;
  a += c;
  EXPECT_EQ(a.values, 20u);
  EXPECT_EQ(a.slopes, 1u);
  EXPECT_EQ(a.curvatures, 14u);
  EXPECT_EQ(a.slope_pairs, 4u);
  EXPECT_EQ(a.curvature_pairs, 5u);
  EXPECT_EQ(a.jets(), 44u);
  EXPECT_EQ(a.gradients, 5u);
  EXPECT_EQ(a.nonfinite, 8u);
  EXPECT_EQ(a.threw, 4u);
  EXPECT_EQ(a.first_message, "b said");
}

}  // namespace
}  // namespace onward
