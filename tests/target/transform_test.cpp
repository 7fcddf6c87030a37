// Every transform by the same checks: its Jacobian against a numerical determinant, its way back, its bounds
// far out, the law it induces by quadrature (with and without the Jacobian), its jets, its batches.

#include "onward/target/transform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "onward/error.hpp"

namespace onward {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A scalar kind in the shape of the others.
template <class Transform>
struct AsVector {
  Transform transform;
  std::size_t unconstrained_size() const { return 1; }
  std::size_t size() const { return 1; }
  template <class T>
  void constrain(std::span<const T> u, std::span<T> x, T& log_jacobian) const {
    x[0] = transform.constrain(u[0], log_jacobian);
  }
  void unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const {
    u[0] = transform.unconstrain(x[0], name);
  }
};
template <class Transform>
AsVector(Transform) -> AsVector<Transform>;

using Numbers = std::vector<double>;

struct Image {
  Numbers x;
  double log_jacobian = 0;
};

template <class Transform>
Image image(const Transform& transform, const Numbers& u) {
  Image result{Numbers(transform.size()), 0};
  transform.constrain(std::span<const double>(u), std::span<double>(result.x), result.log_jacobian);
  return result;
}

/// The coordinates of x in which its density is written: all, but for a simplex all but the last one, and for
/// a Cholesky factor those below the diagonal.
template <class Transform>
std::vector<std::size_t> coordinates(const Transform& transform) {
  std::vector<std::size_t> result;
  if constexpr (std::is_same_v<Transform, transform::CholeskyCorrelation>) {
    for (std::size_t i = 0; i < transform.rows(); ++i) {
      for (std::size_t j = 0; j < i; ++j) result.push_back(i + j * transform.rows());
    }
  } else {
    for (std::size_t k = 0; k < transform.unconstrained_size(); ++k) result.push_back(k);
  }
  return result;
}

/// Runs a check on every kind.
template <class Check>
void for_each_kind(Check check) {
  const auto named = [&](const char* name, const auto& transform) {
    SCOPED_TRACE(name);
    check(transform);
  };
  named("real", AsVector{transform::Real{}});
  named("positive", AsVector{transform::Positive{}});
  named("lower", AsVector{transform::Lower(-1.5)});
  named("upper", AsVector{transform::Upper(2.5)});
  named("interval", AsVector{transform::Interval(-0.3, 4.1)});
  named("ordered", transform::Ordered(4));
  named("positive ordered", transform::PositiveOrdered(4));
  named("simplex", transform::Simplex(5));
  named("simplex of 1", transform::Simplex(1));
  named("cholesky", transform::CholeskyCorrelation(4));
  named("cholesky of 1", transform::CholeskyCorrelation(1));
}

Numbers random_numbers(std::size_t size, double scale, std::mt19937& generator) {
  std::normal_distribution<double> normal(0.0, scale);
  Numbers result(size);
  for (double& number : result) number = normal(generator);
  return result;
}

/// By elimination with row exchanges.
double log_abs_determinant(std::vector<Numbers> a) {
  double result = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    result += std::log(std::abs(a[k][k]));
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < a.size(); ++j) a[i][j] -= factor * a[k][j];
    }
  }
  return result;
}

TEST(Transform, JacobianIsTheNumericalDeterminant) {
  std::mt19937 generator(1);
  for_each_kind([&](const auto& transform) {
    const auto n = transform.unconstrained_size();
    const auto chart = coordinates(transform);
    ASSERT_EQ(chart.size(), n);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const Numbers u = repeat == 0 ? Numbers(n, 0.0) : random_numbers(n, 1.0, generator);
      std::vector<Numbers> jacobian(n, Numbers(n));
      for (std::size_t column = 0; column < n; ++column) {
        // Five-point differences: error about 1e-12 at this step.
        const double h = 2e-3;
        const auto at = [&](double shift) {
          Numbers moved = u;
          moved[column] += shift;
          return image(transform, moved).x;
        };
        const Numbers a = at(-2 * h), b = at(-h), c = at(h), d = at(2 * h);
        for (std::size_t row = 0; row < n; ++row) {
          const std::size_t k = chart[row];
          jacobian[row][column] = ((a[k] - d[k]) + 8 * (c[k] - b[k])) / (12 * h);
        }
      }
      const double expected = log_abs_determinant(jacobian);
      EXPECT_NEAR(image(transform, u).log_jacobian, expected, 1e-8);
    }
  });
}

TEST(Transform, LogJacobianIsAddedToWhatIsThere) {
  for_each_kind([](const auto& transform) {
    const Numbers u(transform.unconstrained_size(), 0.4);
    Numbers x(transform.size());
    double sum = 10.0;
    transform.constrain(std::span<const double>(u), std::span<double>(x), sum);
    EXPECT_NEAR(sum, 10.0 + image(transform, u).log_jacobian, 1e-13);
  });
}

TEST(Transform, ThereAndBack) {
  std::mt19937 generator(2);
  for_each_kind([&](const auto& transform) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Numbers u = random_numbers(transform.unconstrained_size(), 1.5, generator);
      Numbers back(u.size());
      transform.unconstrain(image(transform, u).x, back, "x");
      for (std::size_t k = 0; k < u.size(); ++k) EXPECT_NEAR(back[k], u[k], 1e-10);
    }
  });
}

TEST(Transform, SmallPartsOfSimplexAndCholeskyKeepTheirDigits) {
  // One minus a sum would have lost these: the smallest entries are near 1e-18.
  const transform::Simplex simplex(3);
  const Numbers u{40.0, 1.0};
  Numbers back(2);
  simplex.unconstrain(image(simplex, u).x, back, "w");
  EXPECT_NEAR(back[0], 40.0, 1e-12);
  EXPECT_NEAR(back[1], 1.0, 1e-12);

  const transform::CholeskyCorrelation cholesky(3);
  const Numbers v{-20.0, 21.0, 0.5};
  Numbers back_v(3);
  cholesky.unconstrain(image(cholesky, v).x, back_v, "L");
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(back_v[k], v[k], 1e-12);
}

/// Checks that x is what its kind promises; bounds may be reached by rounding, never passed.
template <class Transform>
void expect_within_bounds(const Transform& transform, const Numbers& x) {
  for (double number : x) ASSERT_FALSE(std::isnan(number));
  if constexpr (std::is_same_v<Transform, AsVector<transform::Positive>>) {
    EXPECT_GT(x[0], 0.0);
  } else if constexpr (std::is_same_v<Transform, AsVector<transform::Lower>>) {
    EXPECT_GE(x[0], -1.5);
  } else if constexpr (std::is_same_v<Transform, AsVector<transform::Upper>>) {
    EXPECT_LE(x[0], 2.5);
  } else if constexpr (std::is_same_v<Transform, AsVector<transform::Interval>>) {
    EXPECT_GE(x[0], -0.3);
    EXPECT_LE(x[0], 4.1);
  } else if constexpr (std::is_same_v<Transform, transform::Ordered> ||
                       std::is_same_v<Transform, transform::PositiveOrdered>) {
    for (std::size_t k = 1; k < x.size(); ++k) EXPECT_GE(x[k], x[k - 1]);
    if (std::is_same_v<Transform, transform::PositiveOrdered>) {
      EXPECT_GT(x[0], 0.0);
    }
  } else if constexpr (std::is_same_v<Transform, transform::Simplex>) {
    double sum = 0;
    for (double number : x) {
      EXPECT_GE(number, 0.0);
      sum += number;
    }
    EXPECT_NEAR(sum, 1.0, 1e-14);
  } else if constexpr (std::is_same_v<Transform, transform::CholeskyCorrelation>) {
    const std::size_t rows = transform.rows();
    for (std::size_t i = 0; i < rows; ++i) {
      EXPECT_GE(x[i + i * rows], 0.0);
      double squares = 0;
      for (std::size_t j = 0; j < rows; ++j) {
        squares += x[i + j * rows] * x[i + j * rows];
        if (j > i) {
          EXPECT_EQ(x[i + j * rows], 0.0);
        }
      }
      EXPECT_NEAR(squares, 1.0, 1e-14);
    }
  }
}

TEST(Transform, BoundsHoldFarOut) {
  std::mt19937 generator(3);
  const Numbers far{-700.0, -50.0, 0.0, 50.0, 700.0};
  std::uniform_int_distribution<std::size_t> pick(0, far.size() - 1);
  for_each_kind([&](const auto& transform) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      Numbers u(transform.unconstrained_size());
      for (double& number : u) number = far[pick(generator)];
      const Image there = image(transform, u);
      expect_within_bounds(transform, there.x);
      EXPECT_TRUE(std::isfinite(there.log_jacobian));
    }
  });
}

TEST(Transform, LogJacobianFarOutIsItsAsymptote) {
  const auto scalar = [](const auto& transform, double u) {
    return image(AsVector{transform}, {u}).log_jacobian;
  };
  for (double u : {-700.0, -50.0, 50.0, 700.0}) {
    EXPECT_DOUBLE_EQ(scalar(transform::Positive{}, u), u);
    EXPECT_DOUBLE_EQ(scalar(transform::Interval(2.0, 5.0), u), std::log(3.0) - std::abs(u));
    EXPECT_DOUBLE_EQ(image(transform::Simplex(2), {u}).log_jacobian, -std::abs(u));
    EXPECT_DOUBLE_EQ(image(transform::CholeskyCorrelation(2), {u}).log_jacobian,
                     2 * std::log(2.0) - 2 * std::abs(u));
  }
}

TEST(Transform, IntervalNeverRoundsPastItsBounds) {
  std::mt19937 generator(4);
  std::normal_distribution<double> normal;
  int awkward = 0;  // bounds where lower + (upper - lower) would be above upper
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const double a = normal(generator), b = normal(generator) * 10;
    const double lower = std::min(a, b), upper = std::max(a, b);
    awkward += lower + (upper - lower) > upper;
    const transform::Interval interval(lower, upper);
    for (double u : {-800.0, -36.0, 36.0, 800.0}) {
      const double x = image(AsVector{interval}, {u}).x[0];
      EXPECT_GE(x, lower);
      EXPECT_LE(x, upper);
    }
  }
  EXPECT_GT(awkward, 10);  // else the test would show nothing
}

TEST(Transform, ZeroIsTheUniformSimplexAndTheUncorrelatedFactor) {
  for (double share : image(transform::Simplex(7), Numbers(6, 0.0)).x) EXPECT_NEAR(share, 1.0 / 7.0, 1e-15);
  const Numbers factor = image(transform::CholeskyCorrelation(3), Numbers(3, 0.0)).x;
  const Numbers identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(factor[k], identity[k], 1e-15);
}

// A law over x, carried to u with the Jacobian, must have total mass 1. The trapezoidal rule over a whole
// decaying analytic function is exact to nearly all digits.
struct Masses {
  double with_jacobian = 0;
  double without = 0;  ///< the broken twin
};

template <class Transform>
Masses integrate(const Transform& transform, const std::function<double(const Numbers&)>& log_law,
                 double from, double to, int points) {
  const std::size_t n = transform.unconstrained_size();
  const double h = (to - from) / (points - 1);
  Masses masses;
  std::vector<int> index(n, 0);
  Numbers u(n);
  for (bool done = false; !done;) {
    for (std::size_t k = 0; k < n; ++k) u[k] = from + h * index[k];
    const Image there = image(transform, u);
    const double log_density = log_law(there.x);
    masses.with_jacobian += std::exp(log_density + there.log_jacobian) * std::pow(h, static_cast<double>(n));
    masses.without += std::exp(log_density) * std::pow(h, static_cast<double>(n));
    std::size_t k = 0;
    while (k < n && ++index[k] == points) index[k++] = 0;
    done = k == n;
  }
  return masses;
}

void expect_mass_one(const Masses& masses) {
  EXPECT_NEAR(masses.with_jacobian, 1.0, 1e-9);
  EXPECT_GT(std::abs(masses.without - 1.0), 1e-2) << "this law cannot tell a missing Jacobian";
}

double log_normal(double x) { return -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi); }

TEST(TransformedLaw, GammaOverPositive) {
  expect_mass_one(integrate(
      AsVector{transform::Positive{}},
      [](const Numbers& x) { return 2 * std::log(x[0]) - x[0] - std::log(2.0); }, -20, 8, 400));
}

TEST(TransformedLaw, GammaOverLower) {
  expect_mass_one(integrate(
      AsVector{transform::Lower(3.0)},
      [](const Numbers& x) { return 2 * std::log(x[0] - 3) - (x[0] - 3) - std::log(2.0); }, -8, 8, 400));
}

TEST(TransformedLaw, GammaOverUpper) {
  expect_mass_one(integrate(
      AsVector{transform::Upper(-3.0)},
      [](const Numbers& x) { return 2 * std::log(-3 - x[0]) - (-3 - x[0]) - std::log(2.0); }, -8, 8, 400));
}

TEST(TransformedLaw, BetaOverInterval) {
  const auto log_law = [](const Numbers& x) {
    const double share = (x[0] - 2) / 3;
    return std::log(12.0) + std::log(share) + 2 * std::log1p(-share) - std::log(3.0);
  };
  expect_mass_one(integrate(AsVector{transform::Interval(2.0, 5.0)}, log_law, -16, 16, 400));
}

TEST(TransformedLaw, OrderStatisticsOverOrdered) {
  const auto log_law = [](const Numbers& x) { return std::log(2.0) + log_normal(x[0]) + log_normal(x[1]); };
  expect_mass_one(integrate(transform::Ordered(2), log_law, -26, 8, 400));
}

TEST(TransformedLaw, OrderStatisticsOverPositiveOrdered) {
  const auto log_law = [](const Numbers& x) { return std::log(2.0) - x[0] - x[1]; };
  expect_mass_one(integrate(transform::PositiveOrdered(2), log_law, -26, 8, 400));
}

TEST(TransformedLaw, DirichletOverSimplex) {
  const auto log_law = [](const Numbers& x) {
    return std::lgamma(9.0) - std::lgamma(2.0) - std::lgamma(3.0) - std::lgamma(4.0) + std::log(x[0]) +
           2 * std::log(x[1]) + 3 * std::log(x[2]);
  };
  expect_mass_one(integrate(transform::Simplex(3), log_law, -16, 16, 300));
}

TEST(TransformedLaw, UniformCorrelationsOverCholesky) {
  // The 3 x 3 correlation matrices have volume pi²/2, and L_22 is the Jacobian from L to L Lᵀ.
  const auto log_law = [](const Numbers& x) {
    return std::log(x[4]) - std::log(std::numbers::pi * std::numbers::pi / 2);
  };
  expect_mass_one(integrate(transform::CholeskyCorrelation(3), log_law, -12, 12, 76));
}

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

TEST(Transform, RefusesBounds) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT([&] { transform::Interval(3, 3, "p"); },
              ThrowsMessage<UsageError>(HasSubstr("p: lower bound 3")));
  EXPECT_THAT([&] { transform::Interval(4, 3, "p"); }, ThrowsMessage<UsageError>(HasSubstr("upper bound 3")));
  EXPECT_THAT([&] { transform::Interval(0, inf, "p"); }, ThrowsMessage<UsageError>(HasSubstr("bound inf")));
  EXPECT_THAT([&] { transform::Interval(-1e308, 1e308, "p"); },
              ThrowsMessage<UsageError>(HasSubstr("too far")));
  EXPECT_THAT([&] { transform::Lower(std::nan(""), "a"); },
              ThrowsMessage<UsageError>(HasSubstr("a: lower bound nan")));
  EXPECT_THAT([&] { transform::Upper(-inf, "b"); },
              ThrowsMessage<UsageError>(HasSubstr("b: upper bound -inf")));
}

/// What the way back says of x.
template <class Transform>
auto back(const Transform& transform, Numbers x) {
  return [=] {
    Numbers u(transform.unconstrained_size());
    transform.unconstrain(x, u, "x");
  };
}

TEST(Transform, WayBackRefusesValuesOutsideWithNameValueAndRange) {
  const double nan = std::nan("");
  const auto says = [](const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT(back(AsVector{transform::Real{}}, {nan}), says("x = nan: must be a finite number"));
  EXPECT_THAT(back(AsVector{transform::Positive{}}, {0}), says("x = 0: must be positive"));
  EXPECT_THAT(back(AsVector{transform::Positive{}}, {nan}), says("x = nan: must be positive"));
  EXPECT_THAT(back(AsVector{transform::Lower(2)}, {2}), says("x = 2: must be greater than 2"));
  EXPECT_THAT(back(AsVector{transform::Upper(2)}, {3}), says("x = 3: must be less than 2"));
  EXPECT_THAT(back(AsVector{transform::Interval(0, 1)}, {1.5}),
              says("x = 1.5: must be strictly between 0 and 1"));
  EXPECT_THAT(back(AsVector{transform::Interval(0, 1)}, {nan}), says("x = nan"));
  EXPECT_THAT(back(transform::Ordered(3), {1, 3, 3}), says("x.3 = 3: must be greater than x.2 = 3"));
  EXPECT_THAT(back(transform::Ordered(2), {nan, 3}), says("x.1 = nan"));
  EXPECT_THAT(back(transform::PositiveOrdered(2), {-1, 3}), says("x.1 = -1: must be positive"));
  EXPECT_THAT(back(transform::PositiveOrdered(2), {2, 1}),
              says("x.2 = 1: must be finite and greater than x.1 = 2"));
  EXPECT_THAT(back(transform::Simplex(3), {0.5, 0.5, 0}), says("x.3 = 0: must be positive"));
  EXPECT_THAT(back(transform::Simplex(3), {0.5, 0.5, 0.5}), says("x sums to 1.5"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {1, 0.6, 0.1, 0.8}), says("x.1.2 = 0.1: must be 0"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {1, 0.6, 0, -0.8}),
              says("x.2.2 = -0.8: must be positive"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {1, 0.6, 0, 1}), says("row 2 of x has length 1.16"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {nan, 0.6, 0, 1}), says("x.1.1 = nan"));
}

}  // namespace
}  // namespace onward
