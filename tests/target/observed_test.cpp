// Simulators with noisy data: slopes are those of the same density written out, curvatures are what they are
// said to be, the number of runs is what it must be, and newton-line leaves nonlinear targets invariant with
// all of them. A target whose curvature is not a function of place and direction fails the same test.

#include "onward/target/observed.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "onward/target/callable.hpp"
#include "sampler/invariance.hpp"

namespace onward::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
const std::vector<double> times{0.0, 0.7, 1.5, 2.5, 4.0};
const std::vector<double> counts{2.1, 1.3, 0.9, 0.35, 0.6};

/// y = a exp(-k t), over any scalar.
struct DecayCurve {
  template <class In, class Out>
  void operator()(In in, Out out) const {
    using std::exp;
    for (std::size_t j = 0; j < times.size(); ++j) out[j] = in[0] * exp(-in[1] * times[j]);
  }
};
auto decay() { return forward(2, times.size(), DecayCurve{}); }

auto rates() { return Parameters{}.positive("a").interval("k", 0.0, 3.0); }
struct RatesPrior {
  template <class A, class K>
  auto operator()(const A& a, const K& k) const {
    return normal_lpdf(a, 1.0, 2.0) + student_t_lpdf(k, 3.0, 0.5, 1.0);
  }
};

std::vector<double> normals(std::size_t size, std::uint64_t step) {
  std::vector<double> z(size);
  Stream(9, 0).normals(step, Purpose::noise, z);
  return z;
}

/// Value, slope and gradient are those of the same density as one callable; the prior's part of the curvature
/// is exact.
template <class Ours, class Plain>
void expect_same_density(Ours ours, Plain plain, const char* what) {
  SCOPED_TRACE(what);
  const std::size_t n = ours.dimension();
  for (std::uint64_t k = 0; k < 20; k += 2) {
    auto u = normals(n, k);
    for (double& entry : u) entry *= 0.5;
    const auto v = normals(n, k + 1);
    const Jet a = ours.jet(u, v, Order::curvature), b = plain.jet(u, v, Order::curvature);
    EXPECT_NEAR(a.value, b.value, 1e-12 * (1 + std::abs(b.value)));
    EXPECT_NEAR(a.slope, b.slope, 1e-10 * (1 + std::abs(b.slope)));
    EXPECT_EQ(ours.jet(u, {}, Order::value).value, a.value) << "the same bits at every order";
    EXPECT_EQ(ours.jet(u, v, Order::slope).slope, a.slope);
    EXPECT_EQ(ours.jet(u, v, Order::slope).curvature, 0);
    std::vector<double> gradient(n);
    EXPECT_NEAR(ours.gradient(u, gradient), b.value, 1e-12 * (1 + std::abs(b.value)));
    double along = 0;
    for (std::size_t i = 0; i < n; ++i) along += gradient[i] * v[i];
    EXPECT_NEAR(along, b.slope, 1e-10 * (1 + std::abs(b.slope)));
  }
}

TEST(Observed, HasTheValueSlopeAndGradientOfTheDensityWrittenOut) {
  const std::vector<double> sd{0.1, 0.2, 0.3, 0.4, 0.5};
  const auto written = [&](const auto& term) {
    return target(rates(), [&, term](auto a, auto k) {
      std::vector<decltype(a)> in{a, k}, out(times.size());
      DecayCurve{}(std::span<const decltype(a)>(in), std::span(out));
      auto f = RatesPrior{}(a, k);
      for (std::size_t j = 0; j < counts.size(); ++j) f += term(j, out[j]);
      return f;
    });
  };
  const auto ours = [&](Noise noise) {
    return observed(decay(), counts, std::move(noise), rates(), RatesPrior{});
  };
  expect_same_density(ours(normal_noise(0.2)),
                      written([](std::size_t j, auto m) { return normal_lpdf(counts[j], m, 0.2); }),
                      "one sd");
  expect_same_density(ours(normal_noise(sd)),
                      written([&](std::size_t j, auto m) { return normal_lpdf(counts[j], m, sd[j]); }),
                      "an sd for each");
  expect_same_density(ours(student_t_noise(4, 0.2)),
                      written([](std::size_t j, auto m) { return student_t_lpdf(counts[j], 4.0, m, 0.2); }),
                      "student-t");
  expect_same_density(ours(student_t_noise(2.5, sd)), written([&](std::size_t j, auto m) {
                        return student_t_lpdf(counts[j], 2.5, m, sd[j]);
                      }),
                      "student-t, a scale for each");
}

TEST(Observed, HasThemWithAScaleThatIsAParameter) {
  const auto parameters = rates().positive_vector("sigma", 2).real("mu");  // mu is of the prior alone
  const auto prior = [](auto a, auto k, auto sigma, auto mu) {
    return RatesPrior{}(a, k) - sigma[0] - 2.0 * sigma[1] + normal_lpdf(mu, a, 1.0);
  };
  const std::vector<std::size_t> which{0, 0, 1, 1, 0};
  const auto written = [&](const auto& term) {
    return target(parameters, [&, term](auto a, auto k, auto sigma, auto mu) {
      std::vector<decltype(a)> in{a, k}, out(times.size());
      DecayCurve{}(std::span<const decltype(a)>(in), std::span(out));
      auto f = prior(a, k, sigma, mu);
      for (std::size_t j = 0; j < counts.size(); ++j) f += term(counts[j], out[j], sigma[which[j]]);
      return f;
    });
  };
  expect_same_density(observed(decay(), counts, normal_noise("sigma", which), parameters, prior),
                      written([](double y, auto m, auto s) { return normal_lpdf(y, m, s); }), "normal");
  expect_same_density(observed(decay(), counts, student_t_noise(5, "sigma", which), parameters, prior),
                      written([](double y, auto m, auto s) { return student_t_lpdf(y, 5.0, m, s); }),
                      "student-t");
  const auto one = rates().positive("sigma");
  expect_same_density(observed(decay(), counts, normal_noise("sigma"), one,
                               [](auto a, auto k, auto s) { return RatesPrior{}(a, k) - s; }),
                      target(one,
                             [](auto a, auto k, auto s) {
                               std::vector<decltype(a)> in{a, k}, out(times.size());
                               DecayCurve{}(std::span<const decltype(a)>(in), std::span(out));
                               auto f = RatesPrior{}(a, k) - s;
                               for (std::size_t j = 0; j < counts.size(); ++j)
                                 f += normal_lpdf(counts[j], out[j], s);
                               return f;
                             }),
                      "one number");
}

TEST(Observed, TakesParametersOfEveryKind) {
  const auto parameters = Parameters{}.simplex("p", 3).ordered("c", 2).cholesky_corr("L", 2).positive("s");
  // p has 3 numbers, c 2 and L 4, which come by columns.
  const auto simulate = [](auto in, auto out) {
    out[0] = in[0] * in[1] - in[2];
    out[1] = in[3] * in[4] + in[6];
    out[2] = in[8] * in[5] * in[3];
  };
  const std::vector<double> y{0.1, -0.4, 0.7};
  const auto prior = [](auto p, auto c, auto L, auto s) {
    using std::log;
    return log(p[0]) - 0.5 * (c[0] * c[0] + c[1] * c[1]) + log(L(1, 1)) - s;
  };
  auto ours = observed(forward(9, 3, simulate), y, normal_noise("s"), parameters, prior);
  expect_same_density(ours,
                      target(parameters,
                             [&](auto p, auto c, auto L, auto s) {
                               using T = decltype(s);
                               const std::vector<T> in{p[0],    p[1],    p[2],    c[0],   c[1],
                                                       L(0, 0), L(1, 0), L(0, 1), L(1, 1)};
                               std::vector<T> out(3);
                               simulate(std::span<const T>(in), std::span<T>(out));
                               T f = prior(p, c, L, s);
                               for (std::size_t j = 0; j < 3; ++j) f += normal_lpdf(y[j], out[j], s);
                               return f;
                             }),
                      "kinds");
  EXPECT_EQ(ours.names(), parameters.names());
  const auto u = normals(ours.dimension(), 3);
  std::vector<double> a(10), b(10);
  ours.constrain(u, a);
  parameters.constrain(u, b);
  EXPECT_EQ(a, b);
}

/// With a linear simulator and normal noise nothing is left out.
TEST(Observed, HasTheExactCurvatureWhereTheSimulatorIsLinear) {
  const auto simulate = [](auto in, auto out) {
    out[0] = 2.0 * in[0] - in[1];
    out[1] = in[0] + 3.0 * in[1];
    out[2] = in[1];
  };
  const std::vector<double> y{1, 2, 3};
  const auto prior = [](const auto& t) { return cauchy_lpdf(t[0], 0.0, 1.0) - 0.5 * t[1] * t[1]; };
  auto ours = observed(forward(2, 3, simulate), y, normal_noise({0.5, 1.0, 2.0}), prior);
  auto plain = target(2, [&](const auto& t) {
    using T = scalar_of<decltype(t)>;
    const std::vector<T> in{t[0], t[1]};
    std::vector<T> out(3);
    simulate(std::span<const T>(in), std::span<T>(out));
    return prior(in) + normal_lpdf(y[0], out[0], 0.5) + normal_lpdf(y[1], out[1], 1.0) +
           normal_lpdf(y[2], out[2], 2.0);
  });
  for (std::uint64_t k = 0; k < 10; k += 2) {
    const auto u = normals(2, k), v = normals(2, k + 1);
    const double exact = plain.jet(u, v, Order::curvature).curvature;
    EXPECT_NEAR(ours.jet(u, v, Order::curvature).curvature, exact, 1e-10 * (1 + std::abs(exact)));
  }
}

/// The curvature is -E[slope²] over a datum that the model itself makes: by quadrature.
TEST(Observed, HasTheCurvatureOfFisher) {
  const auto slope = [](double degrees, double y, Order order) {
    const NoisyData one({y}, {.degrees = degrees, .parameter = "s"}, {"x", "s"}, 1, 1);
    const std::vector<double> output{0.4}, tangent{0.7}, x{0, 1.3}, dx{0, -0.5};
    return one.jet(output, tangent, x, dx, order);
  };
  for (const double degrees : {2.5, 6.0, inf}) {
    double mass = 0, fisher = 0;
    constexpr double step = 1e-3;
    for (double t = -12; t < 12; t += step) {  // y = sinh(t): tails are reached
      const Jet jet = slope(degrees, std::sinh(t), Order::slope);
      const double p = std::exp(jet.value) * std::cosh(t) * step;
      mass += p;
      fisher += p * jet.slope * jet.slope;
    }
    EXPECT_NEAR(mass, 1, 1e-6) << degrees;
    EXPECT_NEAR(slope(degrees, 0.9, Order::curvature).curvature, -fisher, 1e-5 * fisher) << degrees;
  }
}

TEST(Observed, SumsTheLikelihoodOfEachDatum) {
  auto model = observed(decay(), counts, student_t_noise(4, 0.2));
  const std::vector<double> u{1.7, 0.6};
  std::vector<double> each(counts.size());
  model.log_likelihood(u, each);
  double sum = 0;
  for (double l : each) sum += l;
  EXPECT_NEAR(sum, model.jet(u, {}, Order::value).value, 1e-12);
  EXPECT_NEAR(each[1], student_t_lpdf(counts[1], 4.0, 1.7 * std::exp(-0.6 * times[1]), 0.2), 1e-12);
}

/// The same curve by hand; what is called is counted.
struct Calls {
  int outputs = 0, both = 0, tangents = 0;
};
struct ByHand {
  Calls* calls;
  double from = -inf;  ///< there is nothing to simulate below this a
  static std::size_t inputs() { return 2; }
  static std::size_t outputs() { return times.size(); }
  void curve(VectorView x, VectorView v, std::span<double> out, std::span<double> tangent) const {
    if (x[0] < from) throw std::domain_error("too small");
    for (std::size_t j = 0; j < times.size(); ++j) {
      const double e = std::exp(-x[1] * times[j]);
      if (!out.empty()) out[j] = x[0] * e;
      if (!tangent.empty()) tangent[j] = e * (v[0] - x[0] * times[j] * v[1]);
    }
  }
  void apply(VectorView x, std::span<double> out) const {
    ++calls->outputs;
    curve(x, {}, out, {});
  }
};
struct WithTangent : ByHand {
  void apply_jacobian(VectorView x, VectorView v, std::span<double> out, std::span<double> tangent) const {
    ++calls->both;
    curve(x, v, out, tangent);
  }
};
struct WithTangentAlone : ByHand {
  void apply_jacobian(VectorView x, VectorView v, std::span<double> tangent) const {
    ++calls->tangents;
    curve(x, v, {}, tangent);
  }
};

struct OutputsAlone : ByHand {};

template <class Map>
auto by_hand(Calls& calls, double from = -inf) {
  return observed(Map{{&calls, from}}, counts, normal_noise("sigma"), rates().positive("sigma"),
                  [](auto a, auto k, auto sigma) { return RatesPrior{}(a, k) - sigma; });
}

TEST(Observed, TakesWhatASimulatorOffers) {
  Calls a, b, c;
  auto both = by_hand<WithTangent>(a);
  auto alone = by_hand<WithTangentAlone>(b);
  auto differences = by_hand<OutputsAlone>(c);
  const std::vector<double> u{0.6, -0.4, -1.0}, v{0.5, 0.7, -0.2};
  const Jet exact = both.jet(u, v, Order::curvature);
  const Jet same = alone.jet(u, v, Order::curvature);
  EXPECT_NEAR(same.slope, exact.slope, 1e-12 * std::abs(exact.slope));
  EXPECT_NEAR(same.curvature, exact.curvature, 1e-12 * std::abs(exact.curvature));
  const Jet near = differences.jet(u, v, Order::curvature);
  EXPECT_EQ(near.value, exact.value);
  EXPECT_NEAR(near.slope, exact.slope, 1e-6 * std::abs(exact.slope));
  EXPECT_NEAR(near.curvature, exact.curvature, 1e-6 * std::abs(exact.curvature));
  static_assert(!HasGradient<decltype(both)>);
  static_assert(HasGradient<decltype(observed(decay(), counts, normal_noise(1.0)))>);
}

TEST(Observed, RunsTheSimulatorNoMoreThanItMust) {
  Calls a, b, c;
  auto both = by_hand<WithTangent>(a);
  auto alone = by_hand<WithTangentAlone>(b);
  auto differences = by_hand<OutputsAlone>(c);
  const std::vector<double> u{0.6, -0.4, -1.0}, u2{0.5, -0.3, -1.0}, v{0.5, 0.7, -0.2}, w{0.1, 0.1, 0.3};
  const std::vector<double> noise_alone{0, 0, 1};
  const auto ask = [&](auto& model) {
    model.jet(u, v, Order::curvature);
    model.jet(u2, v, Order::curvature);
    model.jet(u, w, Order::curvature);  // rejected: another line from the same place
  };
  ask(both);
  EXPECT_EQ(a.both, 3);
  EXPECT_EQ(a.outputs, 0);
  ask(alone);
  EXPECT_EQ(b.tangents, 3);
  EXPECT_EQ(b.outputs, 2);
  ask(differences);
  EXPECT_EQ(c.outputs, 2 + 3 * 2);
  // Along the noise alone the simulator need not run, nor where it has been.
  differences.jet(u, noise_alone, Order::curvature);
  EXPECT_EQ(c.outputs, 8);
}

TEST(Observed, DifferencesAreTheSameBothWays) {
  for (const double from : {-inf, std::exp(0.6) - 1e-9, std::exp(0.6)}) {  // the last two fail behind
    Calls calls;
    auto model = by_hand<OutputsAlone>(calls, from);
    const std::vector<double> u{0.6, -0.4, -1.0}, v{0.5, 0.7, -0.2}, back{-0.5, -0.7, 0.2};
    const Jet ahead = model.jet(u, v, Order::curvature), behind = model.jet(u, back, Order::curvature);
    EXPECT_EQ(ahead.value, behind.value);
    EXPECT_EQ(ahead.slope, -behind.slope);
    EXPECT_EQ(ahead.curvature, behind.curvature);
    EXPECT_TRUE(is_finite(ahead));
    EXPECT_EQ(model.jet(u, {}, Order::value).value, ahead.value);
    Calls exact;
    EXPECT_NEAR(ahead.slope, by_hand<WithTangent>(exact).jet(u, v, Order::slope).slope, 0.01);
  }
  Calls calls;
  EXPECT_THROW(by_hand<OutputsAlone>(calls).difference_step(0), UsageError);
}

TEST(Observed, APlaceThatCannotBeSimulatedHasNoDensity) {
  Calls calls;
  AnyTarget model(by_hand<OutputsAlone>(calls, 2.0));
  const std::vector<double> u{0.6, -0.4, -1.0}, v{0.5, 0.7, -0.2};
  EXPECT_EQ(model.jet(u, v, Order::curvature).value, -inf);
  EXPECT_EQ(model.counts().threw, 1u);
  EXPECT_EQ(model.counts().first_message, "too small");
  AnyTarget negative_scale(observed(decay(), counts, normal_noise("s"),
                                    Parameters{}.vector("theta", 2).real("s"),
                                    [](const auto& t, auto s) { return t[0] + s; }));
  EXPECT_EQ(negative_scale.value(std::vector<double>{1, 1, -1}), -inf);
}

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Observed, RefusesWhatDoesNotFit) {
  const auto with = [](std::vector<double> data, Noise noise) {
    return refusal([&] { observed(decay(), std::move(data), std::move(noise), rates(), RatesPrior{}); });
  };
  EXPECT_THAT(with({1, 2}, normal_noise(1.0)), AllOf(HasSubstr("`data` has 2"), HasSubstr("5 outputs")));
  EXPECT_THAT(with({1, 2, std::nan(""), 4, 5}, normal_noise(1.0)), HasSubstr("datum 3 is nan"));
  EXPECT_THAT(with(counts, normal_noise(0.0)), HasSubstr("`scale` 0"));
  EXPECT_THAT(with(counts, normal_noise({1.0, 2.0})), HasSubstr("2 numbers as its `scale`"));
  EXPECT_THAT(with(counts, student_t_noise(-1, 1.0)), HasSubstr("`degrees`"));
  EXPECT_THAT(with(counts, normal_noise("sigma")), AllOf(HasSubstr("'sigma'"), HasSubstr("positive")));
  EXPECT_THAT(with(counts, normal_noise("k")), HasSubstr("one of the 2 inputs"));
  const auto parameters = rates().positive_vector("s", 2);
  const auto which = [&](std::vector<std::size_t> w) {
    return refusal([&] {
      observed(decay(), counts, normal_noise("s", std::move(w)), parameters,
               [](auto a, auto k, auto) { return RatesPrior{}(a, k); });
    });
  };
  EXPECT_THAT(which({}), HasSubstr("2 entries and there are 5 data"));
  EXPECT_THAT(which({0, 1}), HasSubstr("2 numbers in `which`"));
  EXPECT_THAT(which({0, 1, 2, 0, 0}), HasSubstr("has 2 in `which`"));
  EXPECT_THAT(refusal([] {
                observed(decay(), counts, normal_noise(1.0), Parameters{}.real("a"),
                         [](auto a) { return -a * a; });
              }),
              AllOf(HasSubstr("2 inputs"), HasSubstr("1 numbers")));
}

// Invariance. The simulator bends the plane, (a, b) to (a, b + 0.8 (a² - 1)), without stretching it: with a
// flat prior its outputs are the noise, and are drawn at once.

struct Bend {
  template <class In, class Out>
  void operator()(In in, Out out) const {
    out[0] = in[0];
    out[1] = in[1] + 0.8 * (in[0] * in[0] - 1.0);
  }
};
void unbend(std::vector<double>& x) { x[1] -= 0.8 * (x[0] * x[0] - 1); }
std::vector<double> bent(const std::vector<double>& x) { return {x[0], x[1] + 0.8 * (x[0] * x[0] - 1)}; }

/// The same, by outputs alone.
struct PlainBend {
  static std::size_t inputs() { return 2; }
  static std::size_t outputs() { return 2; }
  static void apply(VectorView x, std::span<double> out) { Bend{}(x, out); }
};

const std::vector<double> nothing{0, 0};
const std::vector<double> widths{1, 0.3};

Drawable with_normal_noise(AnyTarget model) {
  return {"normal noise", std::move(model),
          [](const Stream& stream, std::vector<double>& x) {
            stream.normals(0, Purpose::start, x);
            x[1] *= widths[1];
            unbend(x);
          },
          [](const std::vector<double>& x) {
            const auto y = bent(x);
            return std::vector<double>{y[0], y[1] / widths[1]};
          }};
}
AnyTarget bend_target() { return observed(forward(2, 2, Bend{}), nothing, normal_noise(widths)); }

Drawable with_student_t_noise() {
  static const boost::math::students_t t(5);
  static const boost::math::normal n;
  return {"student-t noise", observed(forward(2, 2, Bend{}), nothing, student_t_noise(5, widths)),
          [](const Stream& stream, std::vector<double>& x) {
            stream.normals(0, Purpose::start, x);
            for (std::size_t i = 0; i < 2; ++i) x[i] = widths[i] * quantile(t, cdf(n, x[i]));
            unbend(x);
          },
          [](const std::vector<double>& x) {
            auto y = bent(x);
            for (std::size_t i = 0; i < 2; ++i) {
              const double p = cdf(t, -std::abs(y[i] / widths[i]));
              y[i] = std::copysign(quantile(n, std::max(p, 1e-300)), y[i]);
            }
            return y;
          }};
}

/// The logarithm of the scale is normal, with an sd of 0.6.
Drawable with_unknown_noise() {
  return {"noise of unknown scale",
          observed(forward(2, 2, Bend{}), nothing, normal_noise("sigma"),
                   Parameters{}.vector("theta", 2).positive("sigma"),
                   [](const auto&, auto sigma) {
                     using std::log;
                     return normal_lpdf(log(sigma), 0.0, 0.6) - log(sigma);
                   }),
          [](const Stream& stream, std::vector<double>& x) {
            stream.normals(0, Purpose::start, x);
            x[2] *= 0.6;
            for (std::size_t i = 0; i < 2; ++i) x[i] *= std::exp(x[2]);
            unbend(x);
          },
          [](const std::vector<double>& x) {
            const auto y = bent(x);
            return std::vector<double>{y[0] * std::exp(-x[2]), y[1] * std::exp(-x[2]), x[2] / 0.6};
          }};
}

TEST(Observed, NewtonLineLeavesItInvariant) {
  const std::vector<Drawable> drawables{
      with_normal_noise(bend_target()), with_student_t_noise(), with_unknown_noise(),
      with_normal_noise(observed(PlainBend{}, nothing, normal_noise(widths))),
      // A difference of runs half a unit apart is no derivative; the sampler is exact all the same.
      with_normal_noise(observed(PlainBend{}, nothing, normal_noise(widths)).difference_step(0.5))};
  for (const auto& model : drawables)
    for (const KernelSettings& kernel :
         {KernelSettings{.sampler = "newton-line"}, {.sampler = "pc-line-fmala", .step_size = 1.2}}) {
      SCOPED_TRACE(model.name + ", " + kernel.sampler);
      EXPECT_LT(worst_z(model, stepper(kernel), {}, 20'000, 10), bound);
    }
}

/// Saves runs by keeping J v for all of a line: the curvature there is that of where the line began.
struct KeepsTheTangent {
  AnyTarget model = bend_target();
  std::vector<double> line = {};
  double curvature = 0;
  static std::size_t dimension() { return 2; }
  Jet jet(VectorView u, VectorView v, Order order) {
    Jet jet = model.jet(u, v, order);
    if (order != Order::curvature) return jet;
    if (!std::ranges::equal(line, v)) {
      line.assign(v.begin(), v.end());
      curvature = jet.curvature;
    }
    jet.curvature = curvature;
    return jet;
  }
};

TEST(Observed, TheTestOfInvarianceCatchesACurvatureThatIsNotOfThePlace) {
  const auto model = with_normal_noise(KeepsTheTangent{});
  EXPECT_GT(worst_z(model, stepper({.sampler = "newton-line"}), {}, 20'000, 10), 1.5 * bound);
}

}  // namespace
}  // namespace onward::testing
