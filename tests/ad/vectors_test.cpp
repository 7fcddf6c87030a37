// Functions of whole vectors: the values and derivatives of plain loops with every scalar type, the same bits
// in batches and at every order, one node on the tape, no allocation, and what is said of wrong lengths.

#include <Eigen/Core>

#include "ad/harness.hpp"
#include "onward/target/callable.hpp"

namespace onward::ad_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Eleven numbers made of two that move: more than a register full, and not a multiple of one.
template <class X>
std::vector<X> made_of(const X& a, const X& b) {
  std::vector<X> x;
  for (int i = 0; i < 11; ++i) {
    const double u = 0.3 * i - 1, v = 0.7 - 0.1 * i;
    x.push_back(i == 4 ? a * 1.0 : i == 7 ? a * b : a * u + b * v);
  }
  return x;
}

const std::vector<double> data{0.5, -1.25, 2, 0.75, 0, -0.5, 1, 3, -2, 0.25, 1.5};
const std::vector<int> counts{0, 3, 1, 0, 7, 2, 300, 1, 0, 4, 2};
const std::vector<bool> answers{true, false, false, true, true, false, true, false, true, true, false};

const auto places = at({{0.7, 1.3}, {2, -1.5}, {-0.3, 0.4}, {0.5, 0.25}});

/// The vector function beside the loop in long double. A gradient's pass of several tangents may add them in
/// an order of its own; everything else is the same to the bit.
template <class F, class Loop>
void compare(const std::string& name, const F& f, const Loop& loop) {
  Tables t = tables(name, f, loop, places);
  for (Row& r : t.single) {
    EXPECT_NEAR(r.chunk_slope, r.dual.slope, 1e-13 * (1 + std::abs(r.dual.slope))) << name;
    r.chunk_slope = r.dual.slope;
  }
  EXPECT_THAT(compare_columns(t), IsEmpty());
  EXPECT_THAT(compare_truth(t), IsEmpty());
}

TEST(AdVectors, SumsAndProducts) {
  compare(
      "sum", [](const auto& a, const auto& b) { return onward::sum(made_of(a, b)); },
      [](long double a, long double b) {
        long double s = 0;
        for (const auto x : made_of(a, b)) s += x;
        return s;
      });
  compare(
      "dot of data and parameters",
      [](const auto& a, const auto& b) { return onward::dot(data, made_of(a, b)); },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b);
        for (std::size_t i = 0; i < x.size(); ++i) s += static_cast<long double>(data[i]) * x[i];
        return s;
      });
  compare(
      "dot of parameters",
      [](const auto& a, const auto& b) { return onward::dot(made_of(a, b), made_of(b, a)); },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b), y = made_of(b, a);
        for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
        return s;
      });
  compare(
      "sum of squares", [](const auto& a, const auto& b) { return onward::sum_of_squares(made_of(a, b)); },
      [](long double a, long double b) {
        long double s = 0;
        for (const auto x : made_of(a, b)) s += x * x;
        return s;
      });
  compare(
      "squared distances",
      [](const auto& a, const auto& b) {
        const auto x = made_of(a, b);
        return onward::squared_distance(data, x) + onward::squared_distance(x, b) +
               onward::squared_distance(x, made_of(b, a));
      },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b), y = made_of(b, a);
        for (std::size_t i = 0; i < x.size(); ++i)
          s += (data[i] - x[i]) * (data[i] - x[i]) + (x[i] - b) * (x[i] - b) + (x[i] - y[i]) * (x[i] - y[i]);
        return s;
      });
}

long double normal(long double y, long double mu, long double sigma) {
  const long double z = (y - mu) / sigma;
  return -z * z / 2 - std::log(sigma) - std::log(2 * std::acos(-1.0L)) / 2;
}

TEST(AdVectors, NormalDensities) {
  using std::exp;
  const auto scales = [](const auto& x) {
    auto s = x;
    for (auto& each : s) each = exp(0.3 * each);
    return s;
  };
  compare(
      "normal_lpdf of data, mean and scale",
      [](const auto& a, const auto& b) { return onward::normal_lpdf(data, a, exp(b)); },
      [](long double a, long double b) {
        long double s = 0;
        for (const double y : data) s += normal(y, a, std::exp(b));
        return s;
      });
  compare(
      "normal_lpdf of vectors",
      [&](const auto& a, const auto& b) {
        const auto x = made_of(a, b);
        return onward::normal_lpdf(data, x, 0.5) + onward::normal_lpdf(x, b, 2) +
               onward::normal_lpdf(x, made_of(b, a), scales(x)) + onward::normal_lpdf(x, data, exp(a));
      },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b), y = made_of(b, a);
        for (std::size_t i = 0; i < x.size(); ++i)
          s += normal(data[i], x[i], 0.5) + normal(x[i], b, 2) + normal(x[i], y[i], std::exp(0.3L * x[i])) +
               normal(x[i], data[i], std::exp(a));
        return s;
      });
  const std::vector<double> known{0.5, 1, 2, 3, 4, 0.25, 0.7, 0.8, 0.9, 1.1, 1.2};
  compare(
      "normal_lpdf with known scales",
      [&](const auto& a, const auto& b) { return onward::normal_lpdf(made_of(a, b), a, known); },
      [&](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b);
        for (std::size_t i = 0; i < x.size(); ++i) s += normal(x[i], a, known[i]);
        return s;
      });
  double plain = 0;
  for (const double y : data) plain += normal_lpdf(y, 0.3, 1.5);
  EXPECT_NEAR(normal_lpdf(data, 0.3, 1.5), plain, 1e-13);
}

TEST(AdVectors, CountsAndAnswers) {
  compare(
      "bernoulli_logit_lpmf",
      [](const auto& a, const auto& b) { return onward::bernoulli_logit_lpmf(answers, made_of(a, b)); },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b);
        for (std::size_t i = 0; i < x.size(); ++i) s -= std::log1p(std::exp(answers[i] ? -x[i] : x[i]));
        return s;
      });
  compare(
      "normal_log_variance_lpdf",
      [](const auto& a, const auto& b) { return onward::normal_log_variance_lpdf(data, made_of(a, b)); },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b);
        for (std::size_t i = 0; i < x.size(); ++i) s += normal(data[i], 0, std::exp(x[i] / 2));
        return s;
      });
  compare(
      "poisson_log_lpmf",
      [](const auto& a, const auto& b) { return onward::poisson_log_lpmf(counts, made_of(a, b)); },
      [](long double a, long double b) {
        long double s = 0;
        const auto x = made_of(a, b);
        for (std::size_t i = 0; i < x.size(); ++i)
          s += counts[i] * x[i] - std::exp(x[i]) - std::lgamma(counts[i] + 1.0L);
        return s;
      });
}

/// A line of 11 rows and 3 columns.
DataMatrix matrix() {
  std::vector<double> x(33);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.0 + static_cast<double>(i * i));
  return {x, 3};
}

TEST(AdVectors, LinearPredictors) {
  const DataMatrix x = matrix();
  const auto rows = [&x](const auto& a, const auto& b) {
    std::vector<std::decay_t<decltype(a * b)>> eta;
    for (std::size_t i = 0; i < x.rows(); ++i)
      eta.push_back(b + x(i, 0) * a + x(i, 1) * b + x(i, 2) * (a * b));
    return eta;
  };
  const auto coefficients = []<class X>(const X& a, const X& b) { return std::array<X, 3>{a, b, a * b}; };
  compare(
      "likelihoods of alpha + X * beta",
      [&](const auto& a, const auto& b) {
        const auto beta = coefficients(a, b);
        return onward::bernoulli_logit_lpmf(answers, b + x * beta) +
               onward::bernoulli_logit_lpmf(answers, x, b, beta) +
               onward::poisson_log_lpmf(counts, x * beta + b) + onward::normal_lpdf(data, b + x * beta, 0.7) +
               onward::sum(b + x * beta) + onward::normal_lpdf(data, x * beta, 2.0);
      },
      [&](long double a, long double b) {
        long double s = 0;
        const auto eta = rows(a, b);
        for (std::size_t i = 0; i < eta.size(); ++i)
          s += -2 * std::log1p(std::exp(answers[i] ? -eta[i] : eta[i])) + counts[i] * eta[i] -
               std::exp(eta[i]) - std::lgamma(counts[i] + 1.0L) + normal(data[i], eta[i], 0.7) + eta[i] +
               normal(data[i], eta[i] - b, 2.0);
        return s;
      });
  EXPECT_NEAR((1.0 + x * std::array<double, 3>{0.5, 2, 1})[4], rows(0.5, 2.0)[4] - 1, 1e-14);
}

/// A scale of 0, an infinite predictor, numbers that overflow: forward and reverse mode say the same.
TEST(AdVectors, AwkwardPlaces) {
  const auto f = [](const auto& a, const auto& b) {
    const auto x = made_of(a, b);
    return onward::sum_of_squares(x) + onward::dot(data, x) + onward::bernoulli_logit_lpmf(answers, x) +
           onward::normal_lpdf(x, a, b);
  };
  const auto unused = [](long double a, long double b) { return a + b; };
  const Tables t = tables("awkward", f, unused, awkward_places());
  std::size_t finite = 0;
  for (std::size_t i = 0; i < t.places.size(); ++i) {
    const Row &one = t.single[i], &lane = t.lanes[i];
    for (const double value : {one.dual.value, one.jet.value, one.reverse_value, one.chunk_jet.value,
                               lane.value, lane.dual.value, lane.jet.value, lane.reverse_value})
      EXPECT_TRUE(same(value, one.value)) << t.places[i] << ": " << value << ", " << one.value;
    EXPECT_TRUE(same(lane.dual.slope, one.dual.slope)) << t.places[i];
    EXPECT_TRUE(same(lane.reverse_slope, one.reverse_slope)) << t.places[i];
    if (!std::isfinite(one.dual.slope) || !std::isfinite(one.value)) continue;
    ++finite;
    EXPECT_NEAR(one.reverse_slope, one.dual.slope, 1e-12 * std::abs(one.dual.slope)) << t.places[i];
  }
  EXPECT_GT(finite, 5u);
}

/// Through a target: parameters as independent variables that lie side by side, pairs of tangents, chunks.
struct Regression {
  DataMatrix x = matrix();
  std::vector<double> ys = data;
  template <class V>
  auto operator()(const V& t) const {
    using std::exp;
    const auto beta = t.subspan(1, 3);
    return normal_lpdf(ys, t[0] + x * beta, exp(t[4])) + normal_lpdf(beta, 0, 1) -
           sum_of_squares(t.subspan(4)) + dot(beta, t.subspan(2, 3)) + sum(t) +
           bernoulli_logit_lpmf(answers, x * t.subspan(5, 3)) - squared_distance(t, t[0]) +
           dot(data, t.first(11)) + poisson_log_lpmf(counts, t.last(11));
  }
};
/// The same by loops.
struct RegressionInLoops {
  DataMatrix x = matrix();
  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    using std::exp;
    T f(0.0);
    for (std::size_t i = 0; i < 11; ++i) {
      T eta = t[0], other(0.0);
      for (std::size_t j = 0; j < 3; ++j) {
        eta += x(i, j) * t[1 + j];
        other += x(i, j) * t[5 + j];
      }
      f += normal_lpdf(data[i], eta, exp(t[4])) + bernoulli_logit_lpmf(answers[i], other) + data[i] * t[i] +
           poisson_log_lpmf(static_cast<unsigned>(counts[i]), t[t.size() - 11 + i]);
    }
    for (std::size_t j = 0; j < 3; ++j) f += normal_lpdf(t[1 + j], 0, 1) + t[1 + j] * t[2 + j];
    for (std::size_t i = 0; i < t.size(); ++i)
      f += t[i] - (t[i] - t[0]) * (t[i] - t[0]) - (i < 4 ? T(0.0) : T(t[i] * t[i]));
    return f;
  }
};

constexpr std::size_t dimension = 19;
std::vector<double> wave(double phase) {
  std::vector<double> x(dimension);
  for (std::size_t i = 0; i < dimension; ++i) x[i] = 0.6 * std::cos(1.7 * static_cast<double>(i) + phase);
  return x;
}

TEST(AdVectors, TargetsHaveTheJetsAndGradientsOfLoops) {
  auto vectors = target(dimension, Regression{});
  auto loops = target(dimension, RegressionInLoops{});
  const auto theta = wave(0.3), v = wave(1.1), w = wave(2.5);
  const Jet expected = loops.jet(theta, v, Order::curvature), jet = vectors.jet(theta, v, Order::curvature);
  const double size = std::abs(expected.value) + std::abs(expected.slope) + std::abs(expected.curvature);
  EXPECT_NEAR(jet.value, expected.value, 1e-13 * size);
  EXPECT_NEAR(jet.slope, expected.slope, 1e-13 * size);
  EXPECT_NEAR(jet.curvature, expected.curvature, 1e-13 * size);
  EXPECT_EQ(vectors.jet(theta, {}, Order::value).value, jet.value);
  const Jet slope = vectors.jet(theta, v, Order::slope);
  EXPECT_EQ(slope.value, jet.value);
  EXPECT_EQ(slope.slope, jet.slope);
  const JetPair pair = vectors.jet_pair(theta, w, v, Order::curvature);
  EXPECT_EQ(pair.second.value, jet.value);
  EXPECT_NEAR(pair.second.slope, jet.slope, 1e-13 * size);
  EXPECT_NEAR(pair.second.curvature, jet.curvature, 1e-13 * size);
  std::vector<double> forward(dimension), reverse(dimension), truth(dimension);
  EXPECT_EQ(vectors.forward_gradient(theta, forward), jet.value);
  EXPECT_EQ(vectors.reverse_gradient(theta, reverse), jet.value);
  loops.forward_gradient(theta, truth);
  for (std::size_t i = 0; i < dimension; ++i) {
    EXPECT_NEAR(forward[i], truth[i], 1e-13 * size) << i;
    EXPECT_NEAR(reverse[i], truth[i], 1e-13 * size) << i;
  }
}

/// Chains in the lanes of a batch: values, slopes and gradients to the bit.
TEST(AdVectors, LanesHaveTheBitsOfChainsAlone) {
  using B = simd::Batch<double>;
  std::vector<std::vector<double>> thetas;
  for (std::size_t k = 0; k < B::size; ++k) thetas.push_back(wave(0.2 * static_cast<double>(k)));
  std::vector<B> theta(dimension), gradient(dimension);
  for (std::size_t i = 0; i < dimension; ++i) {
    std::vector<double> xs;
    for (const auto& t : thetas) xs.push_back(t[i]);
    theta[i] = lanes_of<B>(xs);
  }
  Tape<B> tape;
  tape.start(theta);
  const B value = ad::gradient_on(tape, std::span<B>(gradient),
                                  [&] { return Regression{}(LineView<Reverse<B>>(theta)); });
  auto alone = target(dimension, Regression{});
  for (std::size_t k = 0; k < B::size; ++k) {
    std::vector<double> g(dimension);
    EXPECT_EQ(simd::lane(value, k), alone.reverse_gradient(thetas[k], g));
    for (std::size_t i = 0; i < dimension; ++i) EXPECT_EQ(simd::lane(gradient[i], k), g[i]) << k << ' ' << i;
  }
}

TEST(AdVectors, EachIsOneNode) {
  const DataMatrix x = matrix();
  const auto theta = wave(0);
  Tape<double> tape;
  const Tape<double>::Active active(tape);
  const auto nodes = [&](const auto& f) {
    tape.start(theta);
    f(LineView<Reverse<double>>(theta));
    const std::size_t of_view = tape.counts().nodes;
    tape.start(theta);
    f(tape.entries());
    EXPECT_EQ(tape.counts().nodes, of_view);
    return of_view;
  };
  EXPECT_EQ(nodes([&](auto t) { return dot(data, t.first(11)); }), 1u);
  EXPECT_EQ(nodes([&](auto t) { return sum(t); }), 1u);
  EXPECT_EQ(nodes([&](auto t) { return sum_of_squares(t); }), 1u);
  EXPECT_EQ(nodes([&](auto t) { return normal_lpdf(data, t[0] + x * t.subspan(1, 3), t[4]); }), 1u);
  EXPECT_EQ(nodes([&](auto t) { return bernoulli_logit_lpmf(answers, x, t[0], t.subspan(1, 3)); }), 1u);
  EXPECT_EQ(nodes([&](auto t) { return poisson_log_lpmf(counts, t.first(11)); }), 1u);
}

TEST(AdVectors, EigenAndEmptyVectors) {
  const Eigen::VectorXd ys = Eigen::Map<const Eigen::VectorXd>(data.data(), 11);
  const Eigen::MatrixXd m{{1, 2}, {3, 4}, {5, 6}};
  const DataMatrix x(m);
  EXPECT_EQ(x(2, 1), 6);
  EXPECT_EQ(x.row(1)[0], 3);
  EXPECT_EQ(sum(ys), sum(data));
  EXPECT_EQ(dot(m.row(1), std::vector<double>{10, 1}), 34);
  const std::vector<Jet2<double>> none;
  EXPECT_EQ(sum(none).value, 0);
  EXPECT_EQ(normal_lpdf(none, 0, 1).value, 0);
}

TEST(AdVectors, PlainNumbersGoThroughToo) {
  const DataMatrix x = matrix();
  const std::vector<double> beta{0.5, -1, 2};
  double normals = 0, answered = 0, counted = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double eta = 0.3 + x(i, 0) * beta[0] + x(i, 1) * beta[1] + x(i, 2) * beta[2];
    normals += normal_lpdf(data[i], eta, 2.0);
    answered += bernoulli_logit_lpmf(answers[i], eta);
    counted += poisson_log_lpmf(static_cast<unsigned>(counts[i]), eta);
  }
  EXPECT_NEAR(normal_lpdf(data, 0.3 + x * beta, 2.0), normals, 1e-12);
  EXPECT_NEAR(bernoulli_logit_lpmf(answers, 0.3 + x * beta), answered, 1e-12);
  EXPECT_NEAR(poisson_log_lpmf(counts, x, 0.3, beta), counted, 1e-11);
  EXPECT_NEAR(squared_distance(data, 1.0), squared_distance(data, std::vector<double>(11, 1.0)), 1e-13);
}

TEST(AdVectors, WrongLengthsAreNamed) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const UsageError& problem) {
      return problem.what();
    }
    return "nothing";
  };
  const std::vector<double> three(3), four(4);
  EXPECT_THAT(message([&] { dot(three, four); }),
              AllOf(HasSubstr("dot()"), HasSubstr("3 numbers"), HasSubstr("one of 4")));
  EXPECT_THAT(message([&] { normal_lpdf(three, 0.0, four); }), HasSubstr("normal_lpdf()"));
  EXPECT_THAT(message([&] { matrix() * four; }), AllOf(HasSubstr("3 columns"), HasSubstr("4 entries")));
  EXPECT_THAT(message([&] { DataMatrix(four, 3); }), HasSubstr("was given 4 numbers"));
}

}  // namespace
}  // namespace onward::ad_test
