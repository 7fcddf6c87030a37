// Lines: the plain form has the bits of jets at places that were written out, a model's own line is asked in
// its place, and either is guarded, counted and tempered as jets are.

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>

#include "models/models.hpp"
#include "onward/error.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/lanes.hpp"
#include "onward/target/target.hpp"

namespace onward {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

bool same_bits(const Jet& a, const Jet& b) { return std::memcmp(&a, &b, sizeof(Jet)) == 0; }
bool is_nowhere(const Jet& jet) { return jet.value == -inf && jet.slope == 0 && jet.curvature == 0; }

std::vector<double> normals(std::size_t size, std::uint64_t step) {
  std::vector<double> z(size);
  Stream(4, 0).normals(step, Purpose::noise, z);
  return z;
}

std::vector<double> moved(const std::vector<double>& theta, double alpha, const std::vector<double>& v) {
  std::vector<double> out(theta.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = theta[i] + alpha * v[i];
  return out;
}

TEST(Direction, KnowsItsShape) {
  const std::vector<double> v{0, 0, 1, 2, 0};
  EXPECT_EQ(Direction(v).shape(), Shape::dense);
  EXPECT_EQ(Direction(v).support(), (Support{0, 5}));
  EXPECT_EQ(Direction(v, {2, 2}).shape(), Shape::block);
  EXPECT_EQ(Direction(v, {2, 1}).shape(), Shape::axis);
  const HeldVector source(v);
  const Direction read(source, 5);
  EXPECT_EQ(read.shape(), Shape::dense);
  EXPECT_TRUE(read.held().empty());
  std::vector<double> scratch(5);
  EXPECT_EQ(DirectionSource(read).read(0, scratch)[3], 2);
  EXPECT_EQ(PlaceOnLine(v, 0.5, read).read(0, scratch)[3], 3);
}

TEST(Line, InItsPlainFormHasTheBitsOfJetsAtItsPlaces) {
  for (const std::string name : {"funnel", "eight-schools", "rosenbrock"}) {
    AnyTarget a = models::make(name).target, b = a;
    auto theta = normals(a.dimension(), 1);
    const auto v = normals(a.dimension(), 2), w = normals(a.dimension(), 3);
    for (const Order order : {Order::slope, Order::curvature}) {
      auto line = a.line(theta, Direction(v));
      EXPECT_TRUE(same_bits(line.here(order), b.jet(theta, v, order))) << name;
      const auto there = moved(theta, 0.3, v);
      EXPECT_TRUE(same_bits(line.jet(0.3, order), b.jet(there, v, order))) << name;
      EXPECT_EQ(line.jet(0.3, Order::value).value, b.value(there)) << name;
      const JetPair ours = line.jet_pair(0.3, Direction(w), order), plain = b.jet_pair(there, v, w, order);
      EXPECT_TRUE(same_bits(ours.first, plain.first) && same_bits(ours.second, plain.second)) << name;

      const auto before = theta;
      line.jet(0.7, order);
      line.commit(0.7, false);
      EXPECT_EQ(theta, before) << "a rejection moves nothing";
      line.commit(0.3);
      EXPECT_EQ(theta, there) << "also if the last jet was elsewhere";
      EXPECT_TRUE(same_bits(line.jet(-0.1, order), b.jet(moved(there, -0.1, v), v, order)))
          << "alpha counts from where it went";
    }
    EXPECT_EQ(a.counts().slopes, b.counts().slopes + 1);
    EXPECT_EQ(a.counts().slope_pairs, 1u);
    EXPECT_EQ(a.counts().curvature_pairs, 1u);
    EXPECT_FALSE(a.drifts());
    a.refresh();
  }
}

/// -x² in one dimension, which says what it was asked.
struct Told {
  struct Line {
    Told* model;
    double at, v;
    Jet jet(double alpha, Order) {
      ++model->asked;
      if (model->problem) model->problem();
      const double x = at + alpha * v;
      return {-x * x, -2 * x * v, -2 * v * v};
    }
    JetPair jet_pair(double alpha, const Direction& next, Order order) {
      return {jet(alpha, order), Line{model, at + alpha * v, next.held()[0]}.jet(0, order)};
    }
    void commit(double alpha) {
      at += alpha * v;
      ++model->commits;
    }
  };
  static std::size_t dimension() { return 1; }
  static Jet jet(VectorView, VectorView, Order) { throw std::logic_error("it has a line"); }
  Line line(VectorView theta, const Direction& v) {
    ++lines;
    return {this, theta[0], v.held()[0]};
  }
  double refresh() {
    ++refreshed;
    return 0;
  }
  std::function<void()> problem;
  int lines = 0, asked = 0, commits = 0, refreshed = 0;
};

/// A model that others hold as well.
struct Shared {
  Told* told;
  static std::size_t dimension() { return 1; }
  static Jet jet(VectorView theta, VectorView v, Order order) { return Told::jet(theta, v, order); }
  Told::Line line(VectorView theta, const Direction& v) { return told->line(theta, v); }
  double refresh() { return told->refresh(); }
};

TEST(Line, OfTheModelIsAskedInPlaceOfJets) {
  Told told;
  AnyTarget t{Shared{&told}};
  std::vector<double> theta{1}, v{0.5}, w{-1};
  auto line = t.line(theta, Direction(v));
  EXPECT_TRUE(same_bits(line.here(Order::curvature), {-1, -1, -0.5}));
  EXPECT_TRUE(same_bits(line.jet(2, Order::curvature), {-4, -2, -0.5}));
  line.commit(2);
  EXPECT_EQ(theta[0], 2);
  const JetPair pair = line.jet_pair(2, Direction(w), Order::curvature);
  EXPECT_EQ(pair.first.value, -9);
  EXPECT_EQ(pair.second.slope, 6);
  line.commit(2, false);
  EXPECT_EQ(theta[0], 2);
  EXPECT_EQ(told.lines, 1);
  EXPECT_EQ(told.commits, 1);
  EXPECT_EQ(t.counts().curvatures, 2u);
  EXPECT_EQ(t.counts().curvature_pairs, 1u);
  EXPECT_EQ(t.jet_pair_price(Order::slope), 1);
  EXPECT_TRUE(t.drifts());
  t.refresh();
  EXPECT_EQ(told.refreshed, 1);

  AnyTarget hot = t.tempered(2);
  auto warm = hot.line(theta, Direction(v));
  EXPECT_TRUE(same_bits(warm.here(Order::slope), {-2, -1, -0.25}));
}

TEST(Line, OfTheModelIsGuarded) {
  Told told;
  AnyTarget t{Shared{&told}};
  std::vector<double> theta{1}, v{2};
  auto line = t.line(theta, Direction(v));
  for (const double alpha : {inf, std::nan(""), 1e308})
    EXPECT_TRUE(is_nowhere(line.jet(alpha, Order::slope)));
  EXPECT_EQ(told.asked, 0) << "these are no places";
  EXPECT_EQ(t.counts().nonfinite, 3u);
  told.problem = [] { throw std::domain_error("no density here"); };
  EXPECT_TRUE(is_nowhere(line.jet(0.5, Order::slope)));
  EXPECT_TRUE(is_nowhere(line.jet_pair(0.5, Direction(v), Order::slope).second));
  EXPECT_EQ(t.counts().nonfinite, 5u);
  EXPECT_EQ(t.counts().threw, 2u);
  EXPECT_EQ(t.counts().first_message, "no density here");
  told.problem = [] { throw std::runtime_error("a fault"); };
  EXPECT_THROW(line.jet(0.5, Order::slope), std::runtime_error);
  EXPECT_EQ(t.counts().threw, 2u) << "a fault is not counted, it ends the run";
}

TEST(Line, ThroughVectorsThatAreNotInMemoryNeedsATargetThatReadsThem) {
  AnyTarget t = models::make("funnel").target;
  auto theta = normals(t.dimension(), 1);
  const HeldVector source(theta);
  EXPECT_THROW(t.line(theta, Direction(source, theta.size())), UsageError);
}

TEST(Line, OfLanesCommitsWhereItIsTold) {
  using Batch = simd::Batch<double>;
  const auto density = [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1]); };
  LaneTarget<decltype(density)> target(2, density);
  std::vector<Batch> theta{Batch(1.0), Batch(2.0)};
  const std::vector<Batch> v{Batch(1.0), Batch(0.0)};
  auto line = target.line(theta, BasicDirection<Batch>(v));
  EXPECT_EQ(simd::lane(line.here(Order::slope).slope, 0), -1);
  const Batch alpha(0.5);
  EXPECT_EQ(simd::lane(line.jet(alpha, Order::slope).slope, 0), -1.5);
  alignas(Batch) std::array<double, simd::lanes_v<Batch>> lanes{};
  lanes[0] = 1;
  line.commit(alpha, Batch::load_aligned(lanes.data()) == Batch(1.0));
  EXPECT_EQ(simd::lane(theta[0], 0), 1.5);
  EXPECT_EQ(simd::lane(theta[0], 1), 1.0);
}

}  // namespace
}  // namespace onward
