// Gradients by reverse mode: equal to the slopes of Dual, the same for a batch, without allocation once warm.

#include <cstdlib>
#include <new>
#include <numeric>

#include "ad/harness.hpp"

namespace {
std::size_t allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace onward::ad_test {
namespace {

/// A log density that uses most kinds of nodes.
struct Density {
  template <class X>
  X operator()(std::span<const X> t) const {
    using std::exp, std::log, std::tanh, std::pow, std::max;
    X f = -0.5 * t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i) {
      f += 0.5 * t[0] - 0.5 * exp(t[0]) * t[i] * t[i] + softplus(t[i] * t[i - 1]);
      f -= tanh(t[i]) / (2 + t[0] * t[0]) + 1 / (3 + pow(t[i], 2)) - max(t[i], t[i - 1]);
    }
    return f + log_sum_exp(t) + log_sum_exp(t[0], t[1]) - log(1 + t[0] * t[0]);
  }
};

std::vector<double> start(std::size_t n, double shift) {
  std::vector<double> theta(n);
  for (std::size_t i = 0; i < n; ++i) theta[i] = std::sin(1.0 + shift + 2.0 * static_cast<double>(i));
  return theta;
}

TEST(AdReverse, GradientEqualsSlopesAlongTheAxes) {
  const auto theta = start(7, 0);
  std::vector<double> g(7);
  const double value = gradient(Density{}, std::span<const double>(theta), std::span<double>(g));
  for (std::size_t k = 0; k < theta.size(); ++k) {
    std::vector<Dual<double>> x(theta.begin(), theta.end());
    x[k].slope = 1;
    const Dual<double> y = Density{}(std::span<const Dual<double>>(x));
    EXPECT_EQ(y.value, value);
    EXPECT_NEAR(g[k], y.slope, 1e-13 * (1 + std::abs(y.slope))) << k;
  }
}

TEST(AdReverse, BatchHasTheBitsOfItsLanes) {
  using B = simd::Batch<double>;
  constexpr std::size_t n = 5;
  std::vector<std::vector<double>> thetas;
  for (std::size_t i = 0; i < B::size; ++i) thetas.push_back(start(n, 0.1 * static_cast<double>(i)));
  std::vector<B> theta(n), g(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double> xs;
    for (const auto& t : thetas) xs.push_back(t[k]);
    theta[k] = lanes_of<B>(xs);
  }
  Tape<B> tape;
  const B value = gradient(Density{}, std::span<const B>(theta), std::span<B>(g), tape);
  for (std::size_t i = 0; i < B::size; ++i) {
    std::vector<double> one(n);
    const double v = gradient(Density{}, std::span<const double>(thetas[i]), std::span<double>(one));
    EXPECT_EQ(simd::lane(value, i), v);
    for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(simd::lane(g[k], i), one[k]) << i << ' ' << k;
  }
}

TEST(AdReverse, WarmTapeDoesNotAllocate) {
  const auto theta = start(2000, 0);
  std::vector<double> g(theta.size()), again(theta.size());
  Tape<double> tape;
  gradient(Density{}, std::span<const double>(theta), std::span<double>(g), tape);
  const std::size_t before = allocations;
  gradient(Density{}, std::span<const double>(theta), std::span<double>(again), tape);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(g, again);
}

TEST(AdReverse, WarmVectorFunctionsDoNotAllocate) {
  const auto theta = start(40, 0), numbers = start(60, 0.2), y = start(20, 0.4);
  const DataMatrix x(numbers, 3);
  const auto f = [&](const auto& t) {
    using std::exp;
    return normal_lpdf(y, t[0] + x * t.subspan(1, 3), exp(t[4])) + dot(t.first(20), t.last(20)) +
           bernoulli_logit_lpmf(y, x * t.last(3)) + sum_of_squares(t) + poisson_log_lpmf(y, t.last(20));
  };
  std::vector<double> g(theta.size()), again(theta.size());
  Tape<double> tape;
  gradient(f, std::span<const double>(theta), std::span<double>(g), tape);
  const std::vector<Jet2<double>> jets(theta.begin(), theta.end());
  const double value = f(std::span<const Jet2<double>>(jets)).value;
  const std::size_t before = allocations;
  EXPECT_EQ(gradient(f, std::span<const double>(theta), std::span<double>(again), tape), value);
  EXPECT_EQ(f(std::span<const Jet2<double>>(jets)).value, value);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(g, again);
}

TEST(AdReverse, ConstantsAndUnusedVariablesHaveNoGradient) {
  const std::vector<double> theta{0.0, 4.0};
  std::vector<double> g(2, nan);
  const auto density = [](auto t) {
    using std::sqrt;
    const auto unused = sqrt(t[0]);  // infinite derivative, multiplied by a constant 0
    return 0.0 * unused + sqrt(t[1]);
  };
  EXPECT_EQ(gradient(density, std::span<const double>(theta), std::span<double>(g)), 2);
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(g[1], 0.25);
  const auto constant = [](auto) { return Reverse<double>(3.0); };
  EXPECT_EQ(gradient(constant, std::span<const double>(theta), std::span<double>(g)), 3);
  EXPECT_EQ(g[0], 0);
}

/// What writes nodes, and what does not.
TEST(AdReverse, OnlyNumbersOfDifferentNodesMeetOnTheTape) {
  using std::exp, std::sqrt;
  const std::vector<double> theta{0.5, 2.0, -1.0};
  Tape<double> tape;
  const auto nodes = [&](const auto& f) {
    const Tape<double>::Active active(tape);
    tape.start(theta);
    const Reverse<double> y = f(tape.entry(0), tape.entry(1), tape.entry(2));
    tape.sweep(y);
    return tape.counts().nodes;
  };
  EXPECT_EQ(nodes([](auto x, auto, auto) { return 3 * exp(-x) / 2 + 1; }), 0u);
  EXPECT_EQ(nodes([](auto x, auto, auto) { return (x * x - exp(x)) / (1 + x) + sqrt(x) - 1 / x; }), 0u);
  EXPECT_EQ(nodes([](auto x, auto y, auto) { return x * y; }), 1u);
  EXPECT_EQ(nodes([](auto x, auto y, auto) { return exp(x * y) * (x * y); }), 3u);  // x * y is made twice
  EXPECT_EQ(nodes([](auto x, auto y, auto z) {
              auto sum = 0.0 * x;
              for (int i = 0; i < 10; ++i) sum += 2 * x;
              return sum + y - z;
            }),
            2u);
}

/// A sum that is used while it grows, long ones, and sums in sums.
TEST(AdReverse, SumsThatAreUsedOnTheWay) {
  const auto f = [](auto t) {
    using T = std::remove_cvref_t<decltype(t[0])>;
    using std::exp;
    T outer(0.0), inner(0.0);
    for (std::size_t i = 0; i < t.size(); ++i) {
      const T copy = outer;
      outer += t[i] * t[(i + 1) % t.size()];
      inner -= outer * t[i];
      if (i % 3 == 0) outer -= 0.5 * exp(0.1 * copy);
      if (i % 4 == 0) outer += inner;
    }
    return outer * inner + outer;
  };
  const auto theta = start(13, 0.3);
  std::vector<double> g(theta.size());
  gradient(f, std::span<const double>(theta), std::span<double>(g));
  for (std::size_t k = 0; k < theta.size(); ++k) {
    std::vector<Dual<double>> x(theta.begin(), theta.end());
    x[k].slope = 1;
    const Dual<double> y = f(std::span<const Dual<double>>(x));
    EXPECT_NEAR(g[k], y.slope, 1e-12 * (1 + std::abs(y.slope))) << k;
  }
}

/// Infinite derivatives of what is multiplied by 0 before or after do no harm, wherever the 0 is met.
TEST(AdReverse, ZeroTimesInfinityIsZero) {
  const std::vector<double> theta{0.0, 4.0};
  std::vector<double> g(2, nan);
  const auto of = [&](const auto& f) {
    gradient(f, std::span<const double>(theta), std::span<double>(g));
    return g;
  };
  using testing::ElementsAre;
  const auto root_of_sum = [](auto t) {  // the sum has a node; its root an infinite derivative
    using std::sqrt;
    return 0.0 * sqrt(t[0] + 0.0 * t[1]) + t[1];
  };
  EXPECT_THAT(of(root_of_sum), ElementsAre(0, 1));
  const auto met_in_the_sweep = [](auto t) {
    using std::sqrt;
    const auto edge = sqrt(t[0]) * t[1];              // a node with an infinite derivative
    return (edge - t[1]) * (t[0] * t[1]) + 3 * t[1];  // whose adjoint is 0
  };
  EXPECT_THAT(of(met_in_the_sweep), ElementsAre(-16, 3));
  const auto zero_inside = [](auto t) {  // 0 is on the tape, infinity comes later
    using std::sqrt;
    return sqrt((0.0 * t[0]) * t[0] + 0.0 * t[1]) + t[1];
  };
  EXPECT_THAT(of(zero_inside), ElementsAre(0, 1));
  const auto not_a_number = [](auto t) {
    using std::log;
    return log(t[0] - t[1]) * t[1];  // and no density here
  };
  EXPECT_TRUE(std::isnan(gradient(not_a_number, std::span<const double>(theta), std::span<double>(g))));
}

/// A density that asks for another gradient while it is evaluated.
TEST(AdReverse, TapesWithinTapes) {
  const std::vector<double> theta{0.3, 0.7};
  std::vector<double> g(2), inner(2);
  const auto outer = [&](auto t) {
    Tape<double> other;
    const auto first = t[0] * t[1];
    gradient([](auto u) { return u[0] * u[0] * u[1]; }, std::span<const double>(theta),
             std::span<double>(inner), other);
    return first * t[0];
  };
  gradient(outer, std::span<const double>(theta), std::span<double>(g));
  EXPECT_DOUBLE_EQ(g[0], 2 * 0.3 * 0.7);
  EXPECT_DOUBLE_EQ(g[1], 0.09);
  EXPECT_DOUBLE_EQ(inner[0], 2 * 0.3 * 0.7);
}

TEST(AdReverse, ForwardTypesDoNotAllocate) {
  const auto theta = start(50, 0);
  std::vector<Jet2<double>> x(theta.begin(), theta.end());
  const std::size_t before = allocations;
  const Jet2<double> y = Density{}(std::span<const Jet2<double>>(x));
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(std::isfinite(y.value));
}

}  // namespace
}  // namespace onward::ad_test
