#include "onward/target/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <thread>
#include <vector>

#include "onward/error.hpp"

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Numbers = std::vector<double>;

auto every_kind() {
  return Parameters{}
      .real("mu")
      .positive("tau")
      .lower("a", 2)
      .upper("b", -1)
      .interval("p", 0, 1)
      .vector("theta", 3)
      .positive_vector("s", 2)
      .lower_vector("al", 2, 1)
      .upper_vector("bl", 2, 1)
      .interval_vector("pl", 2, -1, 1)
      .ordered("c", 3)
      .positive_ordered("d", 2)
      .simplex("w", 3)
      .cholesky_corr("L", 3);
}

TEST(Parameters, CountsAndNames) {
  const auto parameters = Parameters{}.real("mu").vector("theta", 2).simplex("w", 3).cholesky_corr("L", 2);
  EXPECT_EQ(parameters.dimension(), 1u + 2 + 2 + 1);
  EXPECT_EQ(parameters.constrained_size(), 1u + 2 + 3 + 4);
  EXPECT_THAT(parameters.names(), ElementsAre("mu", "theta.1", "theta.2", "w.1", "w.2", "w.3", "L.1.1",
                                              "L.2.1", "L.1.2", "L.2.2"));
  EXPECT_EQ(every_kind().names().size(), every_kind().constrained_size());
  EXPECT_EQ(Parameters{}.dimension(), 0u);
}

TEST(Parameters, DeclaringLeavesTheOldListAsItWas) {
  const auto one = Parameters{}.real("mu");
  const auto two = one.real("nu");
  EXPECT_THAT(one.names(), ElementsAre("mu"));
  EXPECT_THAT(two.names(), ElementsAre("mu", "nu"));
}

TEST(Parameters, ConstrainsEachKindInItsPlace) {
  const auto parameters = every_kind();
  Numbers u(parameters.dimension());
  for (std::size_t k = 0; k < u.size(); ++k) u[k] = 0.1 * static_cast<double>(k) - 1.1;
  Numbers x(parameters.constrained_size());
  parameters.constrain(u, x);
  EXPECT_EQ(x[0], u[0]);
  EXPECT_DOUBLE_EQ(x[1], std::exp(u[1]));
  EXPECT_DOUBLE_EQ(x[2], 2 + std::exp(u[2]));
  EXPECT_DOUBLE_EQ(x[3], -1 - std::exp(u[3]));
  EXPECT_DOUBLE_EQ(x[4], 1 / (1 + std::exp(-u[4])));
  for (std::size_t k = 5; k < 8; ++k) EXPECT_EQ(x[k], u[k]);
  for (std::size_t k = 8; k < 10; ++k) EXPECT_DOUBLE_EQ(x[k], std::exp(u[k]));
  for (std::size_t k = 10; k < 12; ++k) EXPECT_DOUBLE_EQ(x[k], 1 + std::exp(u[k]));
  for (std::size_t k = 12; k < 14; ++k) EXPECT_DOUBLE_EQ(x[k], 1 - std::exp(u[k]));
  for (std::size_t k = 14; k < 16; ++k) EXPECT_NEAR(x[k], std::tanh(u[k] / 2), 1e-15);
  EXPECT_EQ(x[16], u[16]);
  EXPECT_DOUBLE_EQ(x[18], u[16] + std::exp(u[17]) + std::exp(u[18]));
  EXPECT_DOUBLE_EQ(x[20], std::exp(u[19]) + std::exp(u[20]));
  EXPECT_NEAR(x[21] + x[22] + x[23], 1.0, 1e-15);
  EXPECT_DOUBLE_EQ(x[25], std::tanh(u[23]));  // L.2.1

  const Numbers back = parameters.unconstrain(x);
  for (std::size_t k = 0; k < u.size(); ++k) EXPECT_NEAR(back[k], u[k], 1e-13);
}

TEST(Parameters, DensityGetsConstrainedValuesAndTheJacobian) {
  const auto parameters = every_kind();
  Numbers u(parameters.dimension());
  for (std::size_t k = 0; k < u.size(); ++k) u[k] = 0.07 * static_cast<double>(k) - 0.8;
  Numbers x(parameters.constrained_size());
  parameters.constrain(u, x);

  Numbers seen;
  using V = Value<double>;  // the scalar of evaluations without derivatives
  const ParametrisedDensity density(
      parameters, [&](V mu, V tau, V a, V b, V p, std::span<const V> theta, auto s, auto al, auto bl, auto pl,
                      auto c, auto d, auto w, MatrixView<V> l) {
        seen = {mu.value, tau.value, a.value, b.value, p.value};
        for (const auto& vector : {theta, s, al, bl, pl, c, d, w}) {
          for (const V& number : vector) seen.push_back(number.value);
        }
        for (std::size_t j = 0; j < l.columns(); ++j) {
          for (std::size_t i = 0; i < l.rows(); ++i) seen.push_back(l(i, j).value);
        }
        return 100.0;
      });
  const std::vector<V> free(u.begin(), u.end());
  const double value = density(std::span<const V>(free)).value;
  EXPECT_EQ(seen, x);

  double log_jacobian = 0;
  const auto scalar = [&](const auto& transform, std::size_t k) { transform.constrain(u[k], log_jacobian); };
  for (std::size_t k : {1u, 2u, 3u, 8u, 9u, 10u, 11u, 12u, 13u, 17u, 18u, 19u, 20u})
    scalar(transform::Positive{}, k);
  scalar(transform::Interval(0, 1), 4);
  for (std::size_t k : {14u, 15u}) scalar(transform::Interval(-1, 1), k);
  Numbers room(9);
  const std::span<const double> all(u);
  transform::Simplex(3).constrain(all.subspan(21, 2), std::span<double>(room), log_jacobian);
  transform::CholeskyCorrelation(3).constrain(all.subspan(23, 3), std::span<double>(room), log_jacobian);
  EXPECT_NEAR(value, 100.0 + log_jacobian, 1e-12);
}

// mu ~ N(0, 1), tau ~ Exp(1), p ~ Beta(2, 2) on (0, 1): over (mu, log tau, logit p) the mass is 1.
double mass(const auto& density_over_u) {
  const int points = 61;
  const double h = 32.0 / (points - 1);
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      for (int k = 0; k < points; ++k) {
        const Numbers u{0.5 * (-16 + h * i), -24 + h * j, -16 + h * k};
        sum += std::exp(density_over_u(std::span<const double>(u))) * 0.5 * h * h * h;
      }
    }
  }
  return sum;
}

TEST(Parameters, TotalMassIsOneAndNotWithoutTheJacobian) {
  const auto law = [](auto mu, auto tau, auto p) {
    using std::log;
    return -0.5 * mu * mu - 0.5 * std::log(2 * std::numbers::pi) - tau + std::log(6.0) + log(p) +
           log(1.0 - p);
  };
  const auto parameters = Parameters{}.real("mu").positive("tau").interval("p", 0, 1);
  EXPECT_NEAR(mass(ParametrisedDensity(parameters, law)), 1.0, 1e-6);

  const auto broken = [&](std::span<const double> u) {
    Numbers x(3);
    parameters.constrain(u, x);
    return law(x[0], x[1], x[2]);
  };
  EXPECT_GT(std::abs(mass(broken) - 1.0), 0.1);
}

TEST(Parameters, UnboundedVectorsAreNotCopiedAndScratchIsKept) {
  const Numbers u{1, 2, 3, 4};
  const double* theta_at = nullptr;
  std::vector<const double*> s_at;
  const ParametrisedDensity density(Parameters{}.vector("theta", 2).positive_vector("s", 2),
                                    [&](auto theta, auto s) {
                                      theta_at = theta.data();
                                      s_at.push_back(s.data());
                                      return 0.0;
                                    });
  density(std::span<const double>(u));
  density(std::span<const double>(u));
  EXPECT_EQ(theta_at, u.data());
  EXPECT_EQ(s_at[0], s_at[1]);
}

TEST(Parameters, DensityInsideADensityHasItsOwnScratch) {
  const Numbers outer_u{0.1, 0.2}, inner_u{1.1, 1.2};
  const ParametrisedDensity inner(Parameters{}.positive_vector("s", 2), [](auto s) { return s[0] * s[1]; });
  const ParametrisedDensity outer(Parameters{}.positive_vector("s", 2), [&](auto s) {
    const double before = s[0];
    const double value = inner(std::span<const double>(inner_u));
    EXPECT_EQ(s[0], before);
    return value;
  });
  EXPECT_NEAR(outer(std::span<const double>(outer_u)), std::exp(2.3) + 2.3 + 0.3, 1e-12);
}

TEST(Parameters, ScratchSurvivesADensityThatThrows) {
  const Numbers u{0.1, 0.2};
  bool fail = true;
  const double* at = nullptr;
  const ParametrisedDensity density(Parameters{}.positive_vector("s", 2), [&](auto s) {
    if (at) {
      EXPECT_EQ(at, s.data());
    }
    at = s.data();
    if (fail) throw Error("no density here");
    return s[0];
  });
  EXPECT_THROW(density(std::span<const double>(u)), Error);
  fail = false;
  EXPECT_NEAR(density(std::span<const double>(u)), std::exp(0.1) + 0.3, 1e-14);
}

TEST(Parameters, OneDensityServesSeveralThreads) {
  const ParametrisedDensity density(Parameters{}.simplex("w", 3), [](auto w) {
    double sum = 0;
    for (int repeat = 0; repeat < 1000; ++repeat) sum += w[0];
    return sum;
  });
  const auto work = [&](double start, bool& same) {
    const Numbers u{start, -start};
    const double first = density(std::span<const double>(u));
    same = true;
    for (int repeat = 0; repeat < 200; ++repeat) same = same && density(std::span<const double>(u)) == first;
  };
  bool same_a = false, same_b = false;
  std::thread a(work, 0.3, std::ref(same_a)), b(work, -1.7, std::ref(same_b));
  a.join();
  b.join();
  EXPECT_TRUE(same_a);
  EXPECT_TRUE(same_b);
}

TEST(Parameters, StartsByName) {
  const auto parameters = Parameters{}.real("mu").positive("tau").vector("theta", 2);
  EXPECT_EQ(parameters.unconstrain({{"theta", {3, 4}}, {"mu", {1}}, {"tau", {1}}}), (Numbers{1, 0, 3, 4}));
  EXPECT_THAT(
      [&] {
        parameters.unconstrain({{"theta", {3, 4}}, {"mu", {1}}});
      },
      ThrowsMessage<Error>(HasSubstr("parameter 'tau' has no value")));
  EXPECT_THAT(
      [&] {
        parameters.unconstrain({{"theta", {3, 4}}, {"mu", {1}}, {"tau", {1}}, {"tua", {1}}});
      },
      ThrowsMessage<Error>(HasSubstr("no parameter 'tua'; the parameters are mu, tau, theta")));
  EXPECT_THAT(
      [&] {
        parameters.unconstrain({{"theta", {3}}, {"mu", {1}}, {"tau", {1}}});
      },
      ThrowsMessage<Error>(HasSubstr("parameter 'theta' was given 1 numbers; it has 2")));
}

TEST(Parameters, StartsOutsideAreRefusedByName) {
  const auto parameters = Parameters{}.positive("tau").interval_vector("p", 2, 0, 1).simplex("w", 2);
  EXPECT_THAT(
      [&] {
        parameters.unconstrain(Numbers{-1, 0.5, 0.5, 0.5, 0.5});
      },
      ThrowsMessage<Error>(HasSubstr("tau = -1: must be positive")));
  EXPECT_THAT(
      [&] {
        parameters.unconstrain(Numbers{1, 0.5, 1.5, 0.5, 0.5});
      },
      ThrowsMessage<Error>(HasSubstr("p.2 = 1.5: must be strictly between 0 and 1")));
  EXPECT_THAT(
      [&] {
        parameters.unconstrain(Numbers{1, 0.5, 0.5, 0.5, 0.6});
      },
      ThrowsMessage<Error>(HasSubstr("w sums to 1.1")));
  EXPECT_THAT(
      [&] {
        parameters.unconstrain(Numbers{1, 0.5});
      },
      ThrowsMessage<Error>(HasSubstr("2 constrained numbers were given; the parameters have 5")));
  Numbers out(5);
  EXPECT_THAT(
      [&] {
        parameters.constrain(Numbers{1, 0.5}, out);
      },
      ThrowsMessage<Error>(HasSubstr("2 unconstrained numbers were given; the parameters have 4")));
}

TEST(Parameters, RefusesBadDeclarations) {
  const auto says = [](const std::string& text) { return ThrowsMessage<UsageError>(HasSubstr(text)); };
  EXPECT_THAT([] { Parameters{}.real(""); }, says("parameter 1 has an empty name"));
  EXPECT_THAT([] { Parameters{}.real("mu").positive("mu"); }, says("parameter 'mu' is declared twice"));
  EXPECT_THAT([] { Parameters{}.real("a,b"); }, says("parameter name 'a,b'"));
  EXPECT_THAT([] { Parameters{}.real("1st"); }, says("parameter name '1st'"));
  EXPECT_THAT([] { Parameters{}.real("lp__"); }, says("parameter name 'lp__'"));
  EXPECT_THAT([] { Parameters{}.interval("p", 1, 0); }, says("p: lower bound 1 is not below upper bound 0"));
  EXPECT_THAT([] { Parameters{}.interval_vector("q", 2, 1, 1); }, says("q: lower bound 1"));
  EXPECT_THAT([] { Parameters{}.lower("a", std::nan("")); }, says("a: lower bound nan"));
  EXPECT_THAT([] { Parameters{}.vector("theta", 0); }, says("parameter 'theta' has size 0"));
  EXPECT_THAT([] { Parameters{}.simplex("w", 0); }, says("parameter 'w' has size 0"));
  EXPECT_THAT([] { Parameters{}.cholesky_corr("L", 0); }, says("parameter 'L' has size 0"));
  EXPECT_THAT([] { Parameters{}.vector("theta", static_cast<std::size_t>(-1)); },
              says("parameter 'theta' has size 18"));
  EXPECT_THAT([] { Parameters{}.cholesky_corr("L", 40'000); }, says("parameter 'L' has size 40000"));
}

}  // namespace
}  // namespace onward
