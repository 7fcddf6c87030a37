// The regression target against the same density written plainly and differentiated by the scalars of ad/.

#include "onward/glm/posterior.hpp"

#include <gtest/gtest.h>

#include "onward/error.hpp"
#include "onward/target/target.hpp"
#include "reference.hpp"

namespace onward::testing {
namespace {

static_assert(Target<glm::RegressionPosterior> && HasGradient<glm::RegressionPosterior> &&
              HasNames<glm::RegressionPosterior> && HasConstrain<glm::RegressionPosterior>);

std::vector<double> normals(std::size_t count, std::uint64_t step, double scale = 1) {
  std::vector<double> z(count);
  Stream(11, 0).normals(step, Purpose::noise, z);
  for (double& x : z) x *= scale;
  return z;
}

/// Rows are floats: their rounding, with the predictor's, is about 1e-7 of each row's terms.
void expect_near(const Jet& ours, const Jet& exact, double terms) {
  const double tolerance = 4e-7 * terms;
  EXPECT_NEAR(ours.value, exact.value, tolerance);
  EXPECT_NEAR(ours.slope, exact.slope, tolerance);
  EXPECT_NEAR(ours.curvature, exact.curvature, tolerance);
}

std::vector<Problem> variants(glm::Family family) {
  std::vector<Problem> all{
      problem(family), problem(family, {.weights = true, .offset = true}),
      problem(family, {.rows = 5000, .predictors = 3, .intercept = false, .offset = true})};
  all[1].priors.coefficients = glm::Prior::student_t(4, 0.3, 1.5);
  all[2].know_numbers(1.7);
  for (std::size_t i : {0, 1}) all.push_back(all[i].centred());
  return all;
}

TEST(Posterior, JetsAreThoseOfThePlainDensity) {
  for (const glm::Family family : all_families())
    for (const Problem& p : variants(family)) {
      SCOPED_TRACE(std::string(glm::to_string(family)) + ", rows " + std::to_string(p.rows));
      auto ours = p.posterior();
      auto exact = target(p.dimension(), ReferenceDensity{p});
      const auto terms = 10 * static_cast<double>(p.rows);
      for (std::uint64_t place = 0; place < 3; ++place) {
        const auto theta = normals(p.dimension(), 2 * place, 0.5),
                   v = normals(p.dimension(), 2 * place + 1, 0.5);
        expect_near(ours.jet(theta, v, Order::curvature), exact.jet(theta, v, Order::curvature), terms);
        expect_near(ours.jet(theta, v, Order::slope), exact.jet(theta, v, Order::slope), terms);
        expect_near(ours.jet(theta, {}, Order::value), exact.jet(theta, {}, Order::value), terms);
      }
    }
}

TEST(Posterior, PairsOfJetsAreTwoJets) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    const Problem p = problem(family);
    auto pair = p.posterior(), alone = p.posterior();
    const auto theta = normals(p.dimension(), 0, 0.3), v = normals(p.dimension(), 1),
               w = normals(p.dimension(), 2);
    const JetPair both = pair.jet_pair(theta, v, w, Order::curvature);
    const auto terms = 30 * static_cast<double>(p.rows);
    expect_near(both.first, alone.jet(theta, v, Order::curvature), terms);
    expect_near(both.second, alone.jet(theta, w, Order::curvature), terms);
  }
}

TEST(Posterior, GradientHasTheSlopesOfTheAxes) {
  for (const glm::Family family : all_families())
    for (const Problem& p : variants(family)) {
      SCOPED_TRACE(glm::to_string(family));
      auto ours = p.posterior();
      auto exact = target(p.dimension(), ReferenceDensity{p});
      const auto theta = normals(p.dimension(), 3, 0.4);
      std::vector<double> gradient(p.dimension());
      const double value = ours.gradient(theta, gradient);
      const double tolerance = 4e-6 * static_cast<double>(p.rows);
      EXPECT_NEAR(value, exact.jet(theta, {}, Order::value).value, tolerance);
      for (std::size_t i = 0; i < p.dimension(); ++i) {
        std::vector<double> axis(p.dimension(), 0.0);
        axis[i] = 1;
        const double slope = exact.jet(theta, axis, Order::slope).slope;
        EXPECT_NEAR(gradient[i], slope, tolerance + 4e-7 * std::abs(slope)) << i;
      }
    }
}

TEST(Posterior, LinesMoveAndCommit) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    const Problem p = problem(family);
    auto ours = p.posterior();
    auto exact = target(p.dimension(), ReferenceDensity{p});
    auto theta = normals(p.dimension(), 0, 0.3);
    const auto terms = 10 * static_cast<double>(p.rows);
    for (std::uint64_t step = 1; step < 4; ++step) {
      const auto v = normals(p.dimension(), step, 0.4);
      auto line = ours.line(theta, Direction(v));
      auto there = theta;
      for (const double alpha : {-0.7, 0.0, 0.4}) {
        for (std::size_t i = 0; i < theta.size(); ++i) there[i] = theta[i] + alpha * v[i];
        expect_near(line.jet(alpha, Order::curvature), exact.jet(there, v, Order::curvature), terms);
      }
      line.commit(0.4);
      theta = there;
      expect_near(ours.jet(theta, v, Order::curvature), exact.jet(theta, v, Order::curvature), terms);
    }
  }
}

/// A step of a line kernel by hand: one product with X, that of its direction.
void travel(glm::RegressionPosterior& posterior, std::vector<double>& theta, std::size_t steps,
            std::uint64_t seed = 1) {
  for (std::size_t step = 0; step < steps; ++step) {
    const auto v = normals(theta.size(), seed + step);
    auto line = posterior.line(theta, Direction(v));
    line.jet(0, Order::curvature);
    const double alpha = step % 2 == 0 ? 0.05 : -0.04;
    line.jet(alpha, Order::curvature);
    if (step % 3 == 0) continue;  // rejected
    line.commit(alpha);
    for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = theta[i] + alpha * v[i];
  }
}

TEST(Posterior, AStepOnALineNeedsOneProduct) {
  const Problem p = problem(glm::Family::bernoulli, {.rows = 2000, .predictors = 6});
  auto ours = p.posterior();
  auto theta = normals(p.dimension(), 0, 0.3);
  constexpr std::size_t steps = 300;
  travel(ours, theta, steps);
  EXPECT_EQ(ours.cache().products, steps + 1);
  EXPECT_EQ(ours.cache().moves, steps * 2 / 3);
  EXPECT_EQ(ours.cache().largest_drift, 0) << "it is measured by refresh()";
  ours.refresh();
  EXPECT_EQ(ours.cache().products, steps + 2);
  EXPECT_GT(ours.cache().largest_drift, 0);
  EXPECT_LT(ours.cache().largest_drift, 2e-5);
  const auto v = normals(p.dimension(), 9999);
  expect_near(ours.jet(theta, v, Order::curvature),
              target(p.dimension(), ReferenceDensity{p}).jet(theta, v, Order::curvature), 1e5);
}

/// After refresh() nothing is left of the way: a target that has never been anywhere has the same bits.
TEST(Posterior, RefreshedItDependsOnThePlaceAlone) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    const Problem p = problem(family, {.rows = 500, .predictors = 9, .offset = true});
    auto travelled = p.posterior();
    auto theta = normals(p.dimension(), 0, 0.1);
    travel(travelled, theta, 50);
    auto unrefreshed = travelled;
    travelled.refresh();
    auto fresh = p.posterior();
    const auto v = normals(p.dimension(), 7), w = normals(p.dimension(), 8);
    bool drifted = false;
    const auto expect_same = [](const Jet& a, const Jet& b) {
      EXPECT_EQ(a.value, b.value);
      EXPECT_EQ(a.slope, b.slope);
      EXPECT_EQ(a.curvature, b.curvature);
    };
    for (const Support support : {Support{}, Support{3, 2}, Support{4, 1}}) {
      std::vector<double> direction = v;
      for (std::size_t i = 0; support.count > 0 && i < v.size(); ++i)
        if (i < support.first || i >= support.first + support.count) direction[i] = 0;
      auto one = travelled.line(theta, {direction, support}), other = fresh.line(theta, {direction, support});
      expect_same(one.jet(0, Order::curvature), other.jet(0, Order::curvature));
      expect_same(one.jet(0.2, Order::slope), other.jet(0.2, Order::slope));
      const JetPair a = one.jet_pair(0.1, Direction(w), Order::curvature),
                    b = other.jet_pair(0.1, Direction(w), Order::curvature);
      expect_same(a.first, b.first);
      expect_same(a.second, b.second);
      auto third = unrefreshed.line(theta, {direction, support});
      drifted = drifted || third.jet(0.2, Order::slope).slope != other.jet(0.2, Order::slope).slope;
    }
    EXPECT_TRUE(drifted) << "or this test would show nothing";
  }
}

TEST(Posterior, BlocksAndAxesAreLinesLikeOthers) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    const Problem p = problem(family, {.rows = 300, .predictors = 30, .offset = true});
    auto ours = p.posterior();
    auto exact = target(p.dimension(), ReferenceDensity{p});
    const auto theta = normals(p.dimension(), 0, 0.1), w = normals(p.dimension(), 2, 0.1);
    const double terms =
        30 * static_cast<double>(p.rows) + std::abs(exact.jet(theta, {}, Order::value).value);
    // Within a class, across two of them, single columns, the scale parameter or the last column.
    for (const Support support : {Support{0, 1}, Support{5, 3}, Support{2, 25},
                                  Support{20, p.dimension() - 20}, Support{p.dimension() - 1, 1}}) {
      std::vector<double> v(p.dimension(), 0.0), there = theta;
      for (std::size_t i = support.first; i < support.first + support.count; ++i)
        v[i] = 0.3 - 0.01 * static_cast<double>(i % 7);
      auto line = ours.line(theta, {v, support});
      expect_near(line.jet(0, Order::curvature), exact.jet(theta, v, Order::curvature), terms);
      for (std::size_t i = 0; i < v.size(); ++i) there[i] += 0.5 * v[i];
      expect_near(line.jet(0.5, Order::curvature), exact.jet(there, v, Order::curvature), terms);
      const JetPair pair = line.jet_pair(0.5, Direction(w), Order::curvature);
      expect_near(pair.first, exact.jet(there, v, Order::curvature), terms);
      expect_near(pair.second, exact.jet(there, w, Order::curvature), terms);
      expect_near(line.jet(0, Order::curvature), exact.jet(theta, v, Order::curvature), terms);
    }
  }
}

TEST(Posterior, SaysWhatPairsCost) {
  EXPECT_EQ(problem(glm::Family::bernoulli).posterior().jet_pair_price(Order::slope), 1);
  Problem p = problem(glm::Family::gaussian);
  EXPECT_EQ(p.posterior().jet_pair_price(Order::slope), 2) << "sigma is sampled: two jets";
  p.priors.known_scale = 1;
  EXPECT_EQ(p.posterior().jet_pair_price(Order::slope), 1);
}

TEST(Posterior, BitsDoNotDependOnThreads) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(glm::to_string(family));
    const Problem p = problem(family, {.rows = 20'000, .predictors = 3});
    auto one = p.posterior(1), two = p.posterior(2), three = p.posterior(3);
    const auto theta = normals(p.dimension(), 0, 0.3), v = normals(p.dimension(), 1);
    const Jet a = one.jet(theta, v, Order::curvature);
    std::vector<double> g1(p.dimension()), g2(p.dimension());
    one.gradient(theta, g1);
    for (glm::RegressionPosterior* many : {&two, &three}) {
      const Jet b = many->jet(theta, v, Order::curvature);
      EXPECT_EQ(a.value, b.value);
      EXPECT_EQ(a.slope, b.slope);
      EXPECT_EQ(a.curvature, b.curvature);
      many->gradient(theta, g2);
      EXPECT_EQ(g1, g2);
    }
  }
}

TEST(Posterior, StoragesOfXGiveOneDensity) {
  constexpr std::size_t rows = 700, columns = 5;
  std::vector<std::uint8_t> bytes(rows * columns);
  std::vector<double> u(bytes.size()), y(rows), x(bytes.size());
  Stream(4, 0).uniforms(0, Purpose::noise, u);
  for (std::size_t i = 0; i < u.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(u[i] < 0.6 ? 0 : 255 * u[i]);
  for (std::size_t i = 0; i < rows; ++i) y[i] = std::floor(3 * u[i]);
  glm::SparseColumns nonzeros;
  for (std::size_t j = 0; j < columns; ++j) {
    nonzeros.starts.push_back(nonzeros.rows.size());
    for (std::size_t i = 0; i < rows; ++i) {
      x[i * columns + j] = static_cast<float>(bytes[i * columns + j]) / 256.0f;
      if (bytes[i * columns + j] == 0) continue;
      nonzeros.rows.push_back(static_cast<std::uint32_t>(i));
      nonzeros.values.push_back(static_cast<float>(x[i * columns + j]));
    }
  }
  nonzeros.starts.push_back(nonzeros.rows.size());
  const auto observed = std::make_shared<glm::Observations>(glm::Family::categorical, y);
  const auto posterior = [&](glm::Design design) {
    return glm::RegressionPosterior(std::make_shared<glm::Design>(std::move(design)), observed);
  };
  auto dense = posterior(glm::Design::dense(std::span<const double>(x), rows, columns, true));
  auto images = posterior(glm::Design::bytes(bytes, rows, columns, 1 / 256.0f, 0, true));
  auto sparse = posterior(glm::Design::sparse(nonzeros, rows, true));
  const auto theta = normals(dense.dimension(), 0), v = normals(dense.dimension(), 1);
  const Jet wanted = dense.jet(theta, v, Order::curvature);
  expect_near(images.jet(theta, v, Order::curvature), wanted, 10 * rows);
  expect_near(sparse.jet(theta, v, Order::curvature), wanted, 10 * rows);
  std::vector<double> gradient(theta.size()), other(theta.size());
  dense.gradient(theta, gradient);
  for (glm::RegressionPosterior* same : {&images, &sparse}) {
    same->gradient(theta, other);
    for (std::size_t i = 0; i < theta.size(); ++i) EXPECT_NEAR(other[i], gradient[i], 4e-6 * rows) << i;
    for (std::size_t j = 1; j <= columns; ++j) EXPECT_NEAR(same->means()[j], dense.means()[j], 1e-7);
    ThreadPool pool(1);
    const auto difference = same->design().gram(nullptr, pool) - dense.design().gram(nullptr, pool);
    EXPECT_LT(difference.norm(), 1e-5 * rows);
  }
}

/// Years, micrometres in metres, dollars, and a column that is constant.
Problem awkward(glm::Family family, bool weights) {
  Problem p = problem(family, {.rows = 400, .predictors = 4, .weights = weights, .offset = true});
  for (std::size_t i = 0; i < p.rows; ++i) {
    double* row = &p.x[4 * i];
    row[0] = std::round(2005 + 9 * row[0]);
    row[1] = static_cast<float>(40e-6 + 8e-6 * row[1]);
    row[2] = std::round(5e4 + 1e5 * std::abs(row[2]));
    row[3] = 12;
  }
  return p;
}

/// Mean and standard deviation, every number counted as often as its weight says.
std::pair<double, double> moments(const std::vector<double>& values, const Problem& p) {
  double total = 0, mean = 0, variance = 0;
  for (std::size_t i = 0; i < p.rows; ++i) total += p.weight(i);
  for (std::size_t i = 0; i < p.rows; ++i) mean += p.weight(i) * values[i] / total;
  for (std::size_t i = 0; i < p.rows; ++i)
    variance += p.weight(i) * (values[i] - mean) * (values[i] - mean) / total;
  return {mean, std::sqrt(variance)};
}

/// The number with half of the weight below it, by trying all of them.
double weighted_median(const std::vector<double>& values, const Problem& p) {
  double best = 0, least = INFINITY;
  for (const double candidate : values) {
    double loss = 0;  // the sum of distances is least at the median
    for (std::size_t i = 0; i < p.rows; ++i) loss += p.weight(i) * std::abs(values[i] - candidate);
    if (loss < least) best = candidate, least = loss;
  }
  if (!p.options.weights.empty()) return best;
  std::vector<double> sorted = values;  // an even number of equal weights: between the two in the middle
  std::sort(sorted.begin(), sorted.end());
  return 0.5 * (sorted[p.rows / 2 - 1] + sorted[p.rows / 2]);
}

/// The default priors once more, in plain words: in sds of the columns and, for gaussian, of y.
std::vector<double> use_plain_defaults(Problem& p) {
  std::vector<double> y(p.rows), units{1};
  for (std::size_t i = 0; i < p.rows; ++i) y[i] = p.y[i] - p.offset(i);
  const bool gamma = p.family == glm::Family::gamma;
  if (gamma)
    for (std::size_t i = 0; i < p.rows; ++i) y[i] = std::log(p.y[i]) - p.offset(i);
  double mean = gamma || p.family == glm::Family::gaussian ? moments(y, p).first : 0;
  double sd = p.family == glm::Family::gaussian ? moments(y, p).second : 1;
  if (p.family == glm::Family::student_t) {
    mean = weighted_median(y, p);
    std::vector<double> distances;
    for (const double one : y) distances.push_back(std::abs(one - mean));
    sd = 1.4826 * weighted_median(distances, p);
  }
  p.priors.each = {glm::Prior::normal(mean, 10 * sd)};
  for (std::size_t j = 1; j < p.columns; ++j) {
    std::vector<double> column(p.rows);
    for (std::size_t i = 0; i < p.rows; ++i) column[i] = p.given(i, j);
    const double spread = moments(column, p).second;
    units.push_back(spread > 1e-9 * std::abs(column[0]) ? spread : 1);
    p.priors.each.push_back(glm::Prior::normal(0, 2.5 * sd / units.back()));
  }
  p.priors.scale = gamma ? glm::Prior::student_t(1, 0, 10) : glm::Prior::student_t(3, 0, 2.5 * sd);
  if (p.family == glm::Family::zero_inflated_poisson) p.priors.scale = glm::Prior::beta(1, 1);
  if (p.ordinal()) p.priors.each[0] = glm::Prior::student_t(3, 0, 2.5);
  p.priors.degrees = glm::Prior::gamma(2, 0.1);
  return units;
}

TEST(Posterior, DefaultPriorsAreInUnitsOfTheData) {
  for (const glm::Family family : all_families())
    for (const bool weights : {false, true}) {
      SCOPED_TRACE(glm::to_string(family));
      Problem given = awkward(family, weights), p = given.centred();
      const auto units = use_plain_defaults(p);
      given.priors = {};
      auto ours = given.posterior();
      auto exact = target(p.dimension(), ReferenceDensity{p});
      auto theta = normals(p.dimension(), 0, 0.5), v = normals(p.dimension(), 1, 0.5);
      for (std::size_t i = 0; i < p.columns * p.classes(); ++i) {
        theta[i] /= units[i % p.columns];
        v[i] /= units[i % p.columns];
      }
      const auto terms = 20 * static_cast<double>(p.rows);
      expect_near(ours.jet(theta, v, Order::curvature), exact.jet(theta, v, Order::curvature), terms);
      std::vector<double> gradient(p.dimension());
      ours.gradient(theta, gradient);
      for (std::size_t i = 0; i < p.dimension(); ++i) {
        const double unit = i < p.columns * p.classes() ? units[i % p.columns] : 1;
        std::vector<double> axis(p.dimension(), 0.0);
        axis[i] = 1 / unit;
        EXPECT_NEAR(gradient[i] / unit, exact.jet(theta, axis, Order::slope).slope, 4e-7 * terms) << i;
      }
      // The predictor of a row is the same from what is reported and the columns as they are.
      std::vector<double> reported(p.dimension());
      ours.constrain(theta, reported);
      const std::size_t coefficients = ours.reported_coefficients();
      const auto back = ours.from_reported(std::span(reported).first(coefficients),
                                           std::span(reported).subspan(coefficients));
      for (std::size_t k = 0; k < p.classes(); ++k) {
        double sampled = 0, as_given = back.coefficients[k * p.columns];
        for (std::size_t j = 0; j < p.columns; ++j) {
          sampled += p.entry(7, j) * theta[k * p.columns + j];
          if (j > 0) as_given += p.given(7, j) * back.coefficients[k * p.columns + j];
        }
        EXPECT_NEAR(sampled, as_given, 1e-3);
      }
    }
}

TEST(Posterior, PriorsThatAreGivenAreTakenAsTheyAre) {
  Problem p = awkward(glm::Family::gaussian, false);
  p.priors = {.coefficients = glm::Prior::normal(0, 3), .intercept = glm::Prior::student_t(4, 1, 2)};
  const auto ours = p.posterior();
  EXPECT_EQ(ours.priors()[0].location, 1);
  EXPECT_EQ(ours.priors()[0].scale, 2);
  for (std::size_t j = 1; j < p.columns; ++j) EXPECT_EQ(ours.priors()[j].scale, 3);
  EXPECT_EQ(
      glm::describe_priors(ours).find("intercept (at the means of the predictors) ~ student-t(4, 1, 2); "
                                      "beta.1 to beta.4 ~ normal(0, 3); sigma ~ student-t(3, 0, "),
      0u);
  // Without an intercept, or where it is not wanted, nothing is centred.
  p.priors.centre = false;
  EXPECT_TRUE(p.posterior().means().empty());
  EXPECT_TRUE(problem(glm::Family::poisson, {.intercept = false}).posterior().means().empty());
}

/// A design that others hold is not changed under their hands.
TEST(Posterior, CentringLeavesASharedDesignAlone) {
  const std::vector<double> x{1990, 2000, 2010, 2020};
  const auto shared = std::make_shared<glm::Design>(glm::Design::dense(std::span(x), 4, 1, true));
  const auto y = std::make_shared<glm::Observations>(glm::Family::bernoulli, std::vector<double>{0, 0, 1, 1});
  const glm::RegressionPosterior first(shared, y), second(shared, y);
  glm::Floats column(glm::padded_rows(4));
  shared->column(1, column.data());
  EXPECT_EQ(column[0], 1990);
  for (const glm::RegressionPosterior* posterior : {&first, &second}) {
    EXPECT_EQ(posterior->means()[1], 2005);
    posterior->design().column(1, column.data());
    EXPECT_EQ(column[0], -15);
  }
}

TEST(Posterior, NamesAndScales) {
  const Problem p = problem(glm::Family::negative_binomial, {.predictors = 2});
  const auto ours = p.posterior();
  EXPECT_EQ(ours.names(), (std::vector<std::string>{"intercept", "beta.1", "beta.2", "phi"}));
  std::vector<double> out(4);
  ours.constrain(std::vector<double>{1, 2, 3, std::log(4.0)}, out);
  EXPECT_DOUBLE_EQ(out[3], 4.0);
  const Problem c = problem(glm::Family::categorical, {.predictors = 1, .intercept = false});
  EXPECT_EQ(c.posterior().names(), (std::vector<std::string>{"beta.1.1", "beta.1.2", "beta.1.3"}));
}

TEST(Posterior, RefusesWhatDoesNotFit) {
  const auto x = std::make_shared<glm::Design>(glm::Design::dense(std::vector<double>{1, 2, 3}, 3, 1, true));
  const auto y = std::make_shared<glm::Observations>(glm::Family::poisson, std::vector<double>{1, 2});
  EXPECT_THROW(glm::RegressionPosterior(x, y), Error);
  const auto y3 = std::make_shared<glm::Observations>(glm::Family::gaussian, std::vector<double>{1, 2, 3});
  EXPECT_THROW(glm::RegressionPosterior(x, y3, {.coefficients = glm::Prior::normal(0, 0)}), UsageError);
  EXPECT_THROW(glm::RegressionPosterior(x, y3, {.each = {glm::Prior::flat()}}), UsageError);
  EXPECT_THROW(glm::RegressionPosterior(x, y3, {.known_scale = -1.0}), UsageError);
}

}  // namespace
}  // namespace onward::testing
