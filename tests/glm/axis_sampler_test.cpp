// The axis sampler draws from the posterior: against quadrature in one and two dimensions for every family,
// with a broken twin that the same test catches; and its bits do not depend on threads.

#include "onward/glm/axis_sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "onward/error.hpp"
#include "reference.hpp"

namespace onward::testing {
namespace {

/// Functions of a draw whose expectations are compared: first and second moments, products, and whether each
/// parameter is below a threshold near its mean.
std::vector<double> functions_of(const std::vector<double>& x, const std::vector<double>& centre,
                                 const std::vector<double>& thresholds) {
  std::vector<double> f;
  for (std::size_t i = 0; i < x.size(); ++i) {
    f.push_back(x[i] - centre[i]);
    f.push_back(x[i] < thresholds[i] ? 1 : 0);
    for (std::size_t j = 0; j <= i; ++j) f.push_back((x[i] - centre[i]) * (x[j] - centre[j]));
  }
  return f;
}

/// Expectations under the density of a Problem of 1 or 2 dimensions, by the midpoint rule around its mode.
struct Quadrature {
  std::vector<double> centre, thresholds, expectations;

  explicit Quadrature(const Problem& p) {
    auto density = target(p.dimension(), ReferenceDensity{p});
    const std::size_t n = p.dimension();
    std::vector<double> at(n, 0.0), width(n, 1.0);
    // Coordinate by coordinate to the mode, with the widths there.
    for (int round = 0; round < 200; ++round)
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> axis(n, 0.0);
        axis[i] = 1;
        const Jet jet = density.jet(at, axis, Order::curvature);
        const double h = std::max(std::abs(jet.curvature), 0.1 * std::abs(jet.slope));
        at[i] += std::clamp(jet.slope / h, -1.0, 1.0);
        width[i] = 1 / std::sqrt(h);
      }
    const double top = density.jet(at, {}, Order::value).value;
    constexpr int points = 500;
    constexpr double reach = 12;  // widths to either side
    const auto sweep = [&](const std::function<void(const std::vector<double>&, double)>& use) {
      std::vector<double> x(n);
      const int second = n == 2 ? points : 1;
      for (int a = 0; a < points; ++a)
        for (int b = 0; b < second; ++b) {
          x[0] = at[0] + width[0] * reach * (2 * (a + 0.5) / points - 1);
          if (n == 2) x[1] = at[1] + width[1] * reach * (2 * (b + 0.5) / points - 1);
          const double weight = std::exp(density.jet(x, {}, Order::value).value - top);
          if (weight > 1e-18) use(given(p, x), weight);
        }
    };
    double total = 0;
    centre.assign(n, 0.0);
    sweep([&](const std::vector<double>& x, double w) {
      total += w;
      for (std::size_t i = 0; i < n; ++i) centre[i] += w * x[i];
    });
    for (double& c : centre) c /= total;
    // Thresholds lie between cells, so that no cell counts by halves.
    thresholds.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      thresholds[i] = at[i] + width[i] * reach * (2.0 * (points / 2) / points - 1);
    thresholds = given(p, thresholds);
    sweep([&](const std::vector<double>& x, double w) {
      const auto f = functions_of(x, centre, thresholds);
      expectations.resize(f.size(), 0.0);
      for (std::size_t k = 0; k < f.size(); ++k) expectations[k] += w / total * f[k];
    });
  }

  /// The parameters as draws have them.
  static std::vector<double> given(const Problem& p, std::vector<double> x) { return p.reported(x); }
};

/// The largest |z| of the functions' means: chains are independent, so the spread of their means gives the
/// standard error.
class Comparison {
 public:
  Comparison(const Problem& p, std::size_t chains) : exact_(p), sums_(chains), counts_(chains, 0.0) {}
  void add(std::size_t chain, std::span<const double> draw) {
    const auto f = functions_of({draw.begin(), draw.end()}, exact_.centre, exact_.thresholds);
    sums_[chain].resize(f.size(), 0.0);
    for (std::size_t k = 0; k < f.size(); ++k) sums_[chain][k] += f[k];
    counts_[chain] += 1;
  }
  double worst_z() const {
    double worst = 0;
    const auto n = static_cast<double>(sums_.size());
    for (std::size_t k = 0; k < exact_.expectations.size(); ++k) {
      double mean = 0, square = 0;
      for (std::size_t c = 0; c < sums_.size(); ++c) {
        const double m = sums_[c][k] / counts_[c] - exact_.expectations[k];
        mean += m / n;
        square += m * m / n;
      }
      worst = std::max(worst, std::abs(mean) / std::sqrt((square - mean * mean) / (n - 1)));
    }
    return worst;
  }

 private:
  Quadrature exact_;
  std::vector<std::vector<double>> sums_;
  std::vector<double> counts_;
};

/// With 400 chains a z beyond 5.5 has probability 1e-7 or less; a dozen functions and some forty problems
/// leave a false alarm below 1e-4 for a fresh seed, and the seed is fixed.
constexpr double bound = 5.5;
constexpr std::size_t chains = 400;

double sampler_z(const Problem& p, std::size_t draws, double relaxation = 1.3, bool blocks = true) {
  Comparison comparison(p, chains);
  DrawFunction add([&](std::size_t chain, const Draw& draw) { comparison.add(chain, draw.parameters); });
  Hooks hooks;
  hooks.sinks = {&add};
  hooks.keep_draws = false;
  glm::sample_axes(p.posterior(),
                   {.warmup = 60 * p.dimension(), .draws = draws, .chains = chains, .threads = 1, .seed = 1},
                   hooks, {.relaxation = relaxation, .blocks = blocks});
  return comparison.worst_z();
}

/// Few rows, so that posteriors are far from normal.
Problem small(glm::Family family, std::size_t predictors, bool intercept) {
  Problem p = problem(family, {.rows = 9, .predictors = predictors, .intercept = intercept, .offset = true});
  p.priors.coefficients = p.priors.intercept = glm::Prior::normal(0.2, 1.5);
  p.priors.scale = glm::Prior::normal(0, 3);
  return p;
}

TEST(AxisSampler, AgreesWithQuadratureInOneDimension) {
  for (const glm::Family family : all_families()) {
    if (family == glm::Family::categorical) continue;
    SCOPED_TRACE(glm::to_string(family));
    Problem p = small(family, family == glm::Family::ordinal ? 0 : 1, false);
    p.know_numbers(0.8);
    EXPECT_LT(sampler_z(p, 200), bound);
    p.priors.coefficients = glm::Prior::student_t(2, 1, 0.5);
    EXPECT_LT(sampler_z(p, 200), bound);
  }
}

/// Problems of two dimensions, one of which is a number of the family; none for families without such.
std::vector<Problem> with_one_number(glm::Family family) {
  if (family == glm::Family::ordinal) {
    Problem p = small(family, 0, true);
    p.options.classes = 3;
    for (double& label : p.y) label = std::min(label, 3.0);
    return {p};
  }
  std::vector<Problem> all(small(family, 1, false).numbers().size(), small(family, 1, false));
  if (family == glm::Family::student_t) {
    all[0].priors.known_degrees = 4;
    all[1].priors.known_scale = 0.8;
  }
  return all;
}

TEST(AxisSampler, AgreesWithQuadratureInTwoDimensions) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    // Intercept and slope, or slope and scale, or one coefficient for each of two classes.
    Problem p = small(family, 1, family != glm::Family::categorical);
    if (family == glm::Family::categorical) {
      p.options.classes = 2;
      for (double& y : p.y) y = std::min(y, 1.0);
    }
    for (const Problem& one : with_one_number(family)) EXPECT_LT(sampler_z(one, 300), bound);
    p.know_numbers(0.8);
    EXPECT_LT(sampler_z(p, 200), bound);
    EXPECT_LT(sampler_z(p, 200, 0.6), bound);
    EXPECT_LT(sampler_z(p, 200, 1.3, false), bound);  // along axes alone
  }
}

TEST(AxisSampler, AgreesWithQuadratureWhereSigmaAndCoefficientsAreCoupled) {
  Problem p =
      problem(glm::Family::gaussian, {.rows = 4, .predictors = 1, .intercept = false, .offset = true});
  // Narrow enough for the quadrature, which goes 12 widths of the mode.
  p.priors.coefficients = glm::Prior::normal(0.2, 0.4);
  p.priors.scale = glm::Prior::normal(0, 2);
  EXPECT_LT(sampler_z(p, 300), bound);
  p.priors.coefficients = glm::Prior::student_t(10, 1, 0.3);
  EXPECT_LT(sampler_z(p, 300), bound);
}

TEST(AxisSampler, AgreesWithQuadratureWithHeavyPriors) {
  for (const glm::Family family : {glm::Family::categorical, glm::Family::poisson}) {
    SCOPED_TRACE(glm::to_string(family));
    Problem p = small(family, 1, family != glm::Family::categorical);
    if (family == glm::Family::categorical) {
      p.options.classes = 2;
      for (double& y : p.y) y = std::min(y, 1.0);
    }
    p.priors.coefficients = p.priors.intercept = glm::Prior::student_t(5, 0.5, 0.7);
    EXPECT_LT(sampler_z(p, 300), bound);
  }
}

TEST(AxisSampler, CountsWeights) {
  for (const glm::Family family :
       {glm::Family::bernoulli, glm::Family::categorical, glm::Family::negative_binomial}) {
    SCOPED_TRACE(glm::to_string(family));
    Problem p = small(family, 1, false);
    for (std::size_t i = 0; i < p.rows; ++i) p.options.weights.push_back(i % 3 == 0 ? 2.5 : 0.5);
    if (family == glm::Family::categorical) {
      p.options.classes = 2;
      for (double& y : p.y) y = std::min(y, 1.0);
    }
    EXPECT_LT(sampler_z(p, 200), bound);
  }
}

/// A newton-line sweep along the axes written once more, on the lines of the target, right or with a fault.
enum class Fault { none, widths_left_out, stale_curvature };

double line_z(const Problem& p, Fault fault, std::size_t draws) {
  Comparison comparison(p, chains);
  const std::size_t n = p.dimension();
  glm::RegressionPosterior posterior = p.posterior();
  for (std::size_t chain = 0; chain < chains; ++chain) {
    const Stream stream(23, static_cast<std::uint32_t>(chain));
    std::vector<double> theta(n, 0.0), z(n), u(n);
    for (std::size_t number = 0; number < draws + 60; ++number) {
      stream.normals(number, Purpose::noise, z);
      stream.uniforms(number, Purpose::accept, u);
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> axis(n, 0.0);
        axis[i] = 1;
        auto line = posterior.line(theta, Direction(axis));
        const auto scale = [](const Jet& jet) {
          return std::max({std::abs(jet.curvature), 0.02 * jet.slope * jet.slope, 1e-12});
        };
        const Jet here = line.jet(0, Order::curvature);
        const double h = scale(here), alpha = here.slope / h + z[i] / std::sqrt(h);
        const Jet there = line.jet(alpha, Order::curvature);
        const double h_there = fault == Fault::stale_curvature ? h : scale(there);
        const double back = (alpha + there.slope / h_there) * std::sqrt(h_there);
        double log_ratio = there.value - here.value - 0.5 * back * back + 0.5 * z[i] * z[i];
        if (fault != Fault::widths_left_out) log_ratio += 0.5 * std::log(h_there / h);
        if (std::isfinite(log_ratio) && std::log(u[i]) < log_ratio) {
          line.commit(alpha);
          theta[i] += alpha;
        }
      }
      if (number >= 60) comparison.add(chain, Quadrature::given(p, theta));
    }
  }
  return comparison.worst_z();
}

/// The intercept is reported for years as they are, though its prior stands at their mean.
TEST(AxisSampler, AgreesWithQuadratureForYears) {
  for (const glm::Family family : all_families()) {
    if (family == glm::Family::categorical) continue;
    SCOPED_TRACE(glm::to_string(family));
    Problem p = small(family, 1, true);
    for (double& x : p.x) x = std::round(2005 + 9 * x);
    p.priors.coefficients = glm::Prior::normal(0, 0.3);
    p.know_numbers(0.8);
    EXPECT_LT(sampler_z(p.centred(), 200), bound);
    for (std::size_t i = 0; i < p.rows; ++i) p.options.weights.push_back(i % 3 == 0 ? 2.5 : 0.5);
    EXPECT_LT(line_z(p.centred(), Fault::none, 200), bound);
  }
}

TEST(AxisSampler, TheSameTestCatchesBrokenTwins) {
  const Problem p = small(glm::Family::poisson, 1, true);
  EXPECT_LT(line_z(p, Fault::none, 200), bound);
  EXPECT_GT(line_z(p, Fault::widths_left_out, 200), 2 * bound);
  EXPECT_GT(line_z(p, Fault::stale_curvature, 200), 2 * bound);
}

/// Everything that chains give, one after the other.
std::vector<std::vector<double>> run(const Problem& p, std::size_t threads) {
  const onward::Run run = glm::sample_axes(
      p.posterior(), {.warmup = 2 * p.dimension(), .draws = 5, .chains = 2, .threads = threads, .seed = 1});
  std::vector<std::vector<double>> all;
  for (const ChainRecord& chain : run.chains) {
    all.push_back(chain.values);
    all.back().insert(all.back().end(), chain.log_density.begin(), chain.log_density.end());
  }
  return all;
}

TEST(AxisSampler, BitsDoNotDependOnThreads) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    const Problem p = problem(family, {.rows = 9000, .predictors = 3});
    const auto one = run(p, 1), a_chain_each = run(p, 2), threads_share_rows = run(p, 5);
    EXPECT_EQ(one, a_chain_each);
    EXPECT_EQ(one, threads_share_rows);
    EXPECT_NE(one[0], one[1]);
  }
}

TEST(AxisSampler, DriftStaysSmallAndLogDensityRight) {
  for (const glm::Family family : all_families())
    for (const bool blocks : {false, true}) {
      SCOPED_TRACE(glm::to_string(family));
      const Problem p = problem(family, {.rows = 3000, .predictors = 6});
      auto exact = target(p.dimension(), ReferenceDensity{p});
      std::size_t number = 0;
      std::vector<double> theta(p.dimension());
      DrawFunction compare([&](std::size_t, const Draw& d) {
        theta = p.sampled_from({d.parameters.begin(), d.parameters.end()});
        if (number++ % 20 == 0) {
          EXPECT_NEAR(d.log_density, exact.jet(theta, {}, Order::value).value, 2e-2);
        }
      });
      Hooks hooks;
      hooks.sinks = {&compare};
      const ChainRecord chain =
          glm::sample_axes(p.posterior(), {.warmup = 0, .draws = 120, .chains = 1, .seed = 1}, hooks,
                           {.refresh_every = 40, .blocks = blocks})
              .chains.front();
      if (!blocks) {
        EXPECT_GT(chain.largest_drift, 0);
      }
      EXPECT_LT(chain.largest_drift, 1e-4);
      // Steps by a curvature that only touches are not those of the normal that they would be exact for.
      const bool touching = family == glm::Family::student_t || family == glm::Family::zero_inflated_poisson;
      EXPECT_GT(chain.acceptance, blocks ? 0.7 : touching ? 0.8 : 0.9);
      EXPECT_EQ(chain.counts.nonfinite, 0u);
    }
}

TEST(AxisSampler, RefusesSettingsOutOfRange) {
  const Problem p = problem(glm::Family::poisson);
  EXPECT_THROW(glm::AxisChainMaker(p.posterior(), {.relaxation = 2}), UsageError);
  EXPECT_THROW(glm::AxisChainMaker(p.posterior(), {.refresh_every = 0}), UsageError);
  EXPECT_THROW(glm::sample_axes(p.posterior(), {.chains = 0}), UsageError);
}

}  // namespace
}  // namespace onward::testing
