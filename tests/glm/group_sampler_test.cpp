// Each move of the sampler with groups leaves the posterior invariant. Parameters come from the prior and
// data from the model given these, so parameters are a draw from the posterior of the data; after a move they
// must still be one. Replicates are independent, so the mean change of any function, over its standard error,
// is a plain z. Twins that believe in slightly other priors are caught by the same test.

#include "onward/glm/group_sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "onward/error.hpp"
#include "src/glm/covariance.hpp"
#include "src/glm/group_chain.hpp"

namespace onward::testing {
namespace {

using glm::Family;
using Move = glm::GroupChain::Move;

enum class Shape { crossed, nested, slopes, apart };

/// A small model with known priors: 2 predictors, one of them constant within levels, and groups.
struct Small {
  Family family;
  Shape shape;
  std::size_t rows = 30;
  std::vector<float> x;
  std::vector<glm::GroupTerm> terms;
  double sd_scale = 0.8, lkj = 2, beta_scale = 0.7;
  glm::Prior intercept = glm::Prior::normal(0.2, 0.7);
  double family_scale = 1;
  double log_sds_off = 0;  ///< what a chain believes the log sds to be more than they are

  Small(Family f, Shape s) : family(f), shape(s) {
    const auto term = [&](std::string factor, std::size_t levels, auto level_of) {
      glm::GroupTerm one;
      one.factor = std::move(factor);
      for (std::size_t l = 0; l < levels; ++l) one.levels.push_back(std::to_string(l));
      std::vector<std::uint32_t> codes;
      for (std::size_t i = 0; i < rows; ++i) codes.push_back(static_cast<std::uint32_t>(level_of(i)));
      one.level_of_row = codes;
      one.columns = {"Intercept"};
      one.values.resize(1);
      return one;
    };
    for (std::size_t i = 0; i < rows; ++i) {
      x.push_back(static_cast<float>(std::sin(1.7 * static_cast<double>(i)) + 0.5));
      x.push_back(i % 5 < 2 ? 1.0f : -0.5f);  // constant within the levels of g
    }
    terms.push_back(term("g", 5, [](std::size_t i) { return i % 5; }));
    if (shape == Shape::crossed) terms.push_back(term("h", 3, [](std::size_t i) { return (i / 4) % 3; }));
    if (shape == Shape::nested)
      terms.push_back(term("k:g", 15, [](std::size_t i) { return i % 5 * 3 + (i / 7) % 3; }));
    if (shape == Shape::apart) {  // slopes in a term of their own, and their column far from 0
      terms.push_back(term("g", 5, [](std::size_t i) { return i % 5; }));
      terms[1].columns = {"x"};
      terms[1].values[0].assign(glm::padded_rows(rows), 0.0f);
      for (std::size_t i = 0; i < rows; ++i) terms[1].values[0][i] = x[2 * i] + 4;
    }
    if (shape == Shape::slopes) {
      terms[0].columns.push_back("x");
      terms[0].values.emplace_back(glm::padded_rows(rows), 0.0f);
      for (std::size_t i = 0; i < rows; ++i) terms[0].values[1][i] = x[2 * i];
    }
  }

  glm::MixedPosterior posterior(std::span<const double> y) const {
    glm::RowOptions options;
    if (family == Family::binomial) options.trials.assign(rows, 4.0);
    if (family == Family::ordinal) options.classes = 4;
    auto observations = std::make_shared<glm::Observations>(family, y, options);
    auto design = std::make_shared<glm::Design>(glm::Design::dense(x, rows, 2, true));
    const glm::Prior slope = glm::Prior::normal(0, beta_scale);
    glm::PosteriorOptions priors{.each = {intercept, slope, slope},
                                 .scale = glm::Prior::normal(0, family_scale),
                                 .degrees = glm::Prior::normal(0, 4 * family_scale)};
    std::vector<glm::GroupPriors> group_priors;
    for (const auto& term : terms)
      group_priors.push_back({std::vector<glm::Prior>(term.width(), glm::Prior::normal(0, sd_scale)), lkj});
    return {glm::RegressionPosterior(design, observations, priors), terms, group_priors};
  }
};

/// What is sampled, from its prior.
std::vector<double> prior_draw(const Small& model, const glm::MixedPosterior& like, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const glm::MixedLayout& at = like.layout();
  std::vector<double> theta(at.dimension);
  theta[0] = model.intercept.location + model.intercept.scale * normal(random);
  for (std::size_t j = 1; j < at.coefficients; ++j) theta[j] = model.beta_scale * normal(random);
  for (std::size_t t = 0; t < model.terms.size(); ++t) {
    const std::size_t q = model.terms[t].width();
    std::vector<double> sds;
    for (std::size_t c = 0; c < q; ++c) {
      sds.push_back(std::abs(model.sd_scale * normal(random)));
      theta[at.sds[t] + c] = std::log(sds.back());
    }
    std::size_t next = at.correlations[t];
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        std::gamma_distribution<double> gamma(model.lkj + 0.5 * static_cast<double>(q - 2 - j));
        const double a = gamma(random), b = gamma(random);
        theta[next++] = 0.5 * std::log(a / b);  // atanh of 2 a / (a + b) - 1
      }
    const auto factor = glm::correlation_factor<double>(
        q, std::span<const double>(theta).subspan(at.correlations[t], model.terms[t].correlations()));
    for (std::size_t l = 0; l < model.terms[t].count(); ++l) {
      std::vector<double> u(q);
      for (double& one : u) one = normal(random);
      for (std::size_t i = 0; i < q; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k <= i; ++k) sum += factor[i * q + k] * u[k];
        theta[at.effects[t] + l * q + i] = sds[i] * sum;
      }
    }
  }
  std::size_t next = at.numbers;
  for (const std::size_t i : like.population().sampled_numbers()) {
    // As priors have them: of what is reported, cut to where there is such a number.
    const glm::NumberInfo& number = like.population().observations().numbers()[i];
    double drawn = 0;
    do drawn = (number.kind == glm::NumberInfo::Kind::above_one ? 4 : 1) * normal(random);
    while (!number.allows(drawn));
    theta[next++] = std::log(number.from_reported(drawn));
  }
  return theta;
}

std::vector<double> data_draw(const Small& model, const glm::MixedPosterior& like,
                              const std::vector<double>& theta, std::mt19937_64& random) {
  std::vector<double> y;
  const glm::MixedLayout& at = like.layout();
  const auto& means = like.population().means();
  std::vector<double> numbers;
  for (std::size_t i = at.numbers; i < at.reported; ++i) numbers.push_back(std::exp(theta[i]));
  const double scale = numbers.empty() ? 1 : numbers[0];
  for (std::size_t i = 0; i < model.rows; ++i) {
    double eta = theta[0];
    for (std::size_t j = 0; j < 2; ++j)
      eta += (static_cast<double>(model.x[2 * i + j]) - means[j + 1]) * theta[j + 1];
    for (std::size_t t = 0; t < model.terms.size(); ++t)
      for (std::size_t c = 0; c < model.terms[t].width(); ++c)
        eta += static_cast<double>(model.terms[t].value(c, i)) *
               theta[at.effects[t] + model.terms[t].level_of_row[i] * model.terms[t].width() + c];
    switch (model.family) {
      case Family::gaussian:
        y.push_back(std::normal_distribution<double>(eta, scale)(random));
        break;
      case Family::bernoulli:
        y.push_back(std::bernoulli_distribution(1 / (1 + std::exp(-eta)))(random) ? 1 : 0);
        break;
      case Family::poisson:
        y.push_back(std::poisson_distribution<int>(std::exp(std::min(eta, 12.0)))(random));
        break;
      case Family::negative_binomial: {
        const double mean =
            std::gamma_distribution<double>(scale, std::exp(std::min(eta, 12.0)) / scale)(random);
        y.push_back(std::poisson_distribution<int>(mean)(random));
        break;
      }
      case Family::gamma:
        y.push_back(std::max(std::gamma_distribution<double>(scale, std::exp(eta) / scale)(random), 1e-30));
        break;
      case Family::student_t:
        y.push_back(eta + scale * std::student_t_distribution<double>(1 + numbers[1])(random));
        break;
      case Family::ordinal: {
        const double u = std::uniform_real_distribution<double>()(random);
        const double latent = eta + std::log(u / (1 - u));
        double threshold = 0, label = latent > 0 ? 2 : 1;
        for (const double gap : numbers) label += latent > (threshold += gap) ? 1 : 0;
        y.push_back(label);
        break;
      }
      case Family::zero_inflated_poisson:
        y.push_back(std::bernoulli_distribution(scale / (1 + scale))(random)
                        ? 0
                        : std::poisson_distribution<int>(std::exp(std::min(eta, 12.0)))(random));
        break;
      default:
        throw std::logic_error("not a family of this test");
    }
  }
  return y;
}

/// Changes what the chain believes, without changing the model: a twin.
using Twin = std::function<void(Small&)>;

/// The largest |z| of the mean changes of parameters, their squares and products with the data.
double worst_z(const Small& model, std::span<const Move> moves, std::size_t replicates,
               const Twin& twin = {}) {
  std::mt19937_64 random(20);
  Small believed = model;
  if (twin) twin(believed);
  std::vector<double> sums, squares;
  for (std::size_t r = 0; r < replicates; ++r) {
    const glm::MixedPosterior like = model.posterior(std::vector<double>(model.rows, 1.0));
    const std::vector<double> theta = prior_draw(model, like, random);
    const std::vector<double> y = data_draw(model, like, theta, random);
    glm::GroupChainMaker maker(believed.posterior(y));
    ThreadPool pool(1);
    RunSettings settings = maker.resolve({.seed = r});
    maker.prepare(settings, pool, false);
    const auto chain = maker.make(0, std::make_shared<ThreadPool>(1));
    auto& groups = static_cast<glm::GroupChain&>(*chain);
    groups.freeze();
    std::vector<double> place = theta;
    const auto misplace = [&](std::vector<double>& x, double off) {
      for (std::size_t i = like.layout().sds[0]; i < like.layout().correlations[0]; ++i) x[i] += off;
    };
    misplace(place, believed.log_sds_off);
    groups.set_place(place);
    for (int round = 0; round < 2; ++round)
      for (const Move move : moves) groups.apply(move);
    std::vector<double> after = groups.place();
    misplace(after, -believed.log_sds_off);
    std::vector<double> f;
    const auto functions = [&](const std::vector<double>& x, double sign) {
      std::size_t k = 0;
      const auto add = [&](double value) {
        if (k == f.size()) f.push_back(0);
        f[k++] += sign * value;
      };
      double mean_y = 0;
      for (const double one : y) mean_y += one / static_cast<double>(y.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        add(std::tanh(x[i]));  // of heavy tails, what is bounded
        add(std::tanh(x[i]) * std::tanh(x[i]));
        add(std::tanh(x[i]) * std::tanh(mean_y - 0.5));
        if (i > 0) add(std::tanh(x[i]) * std::tanh(x[0]));
      }
    };
    functions(after, 1), functions(theta, -1);
    sums.resize(f.size()), squares.resize(f.size());
    for (std::size_t k = 0; k < f.size(); ++k) sums[k] += f[k], squares[k] += f[k] * f[k];
  }
  double worst = 0;
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (squares[k] > 0) worst = std::max(worst, std::abs(sums[k]) / std::sqrt(squares[k]));
  return worst;
}

struct Case {
  std::string name;
  Family family;
  Shape shape;
  std::vector<Move> moves;
  Twin twin;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class GroupMoves : public ::testing::TestWithParam<Case> {};

constexpr double bound = 4.5;
constexpr std::size_t replicates = 4000;

TEST_P(GroupMoves, LeaveThePosteriorInvariant) {
  const Case& one = GetParam();
  const Small model(one.family, one.shape);
  EXPECT_LT(worst_z(model, one.moves, replicates), bound);
  if (one.twin) {
    EXPECT_GT(worst_z(model, one.moves, replicates, one.twin), bound);
  }
}

const Twin wider_sds = [](Small& m) { m.sd_scale *= 2; };
const Twin other_lkj = [](Small& m) { m.lkj *= 3; };
const Twin other_coefficients = [](Small& m) { m.beta_scale *= 1.5; };
const Twin other_family_scale = [](Small& m) { m.family_scale *= 2; };
const Twin misplaced = [](Small& m) { m.log_sds_off = 0.5; };
const Twin other_intercept = [](Small& m) { m.intercept.location += 0.5; };

std::vector<Case> cases() {
  using enum Move;
  return {
      {"LevelsBernoulli", Family::bernoulli, Shape::crossed, {levels}, misplaced},
      {"LevelsPoissonSlopes", Family::poisson, Shape::slopes, {levels}, misplaced},
      {"LevelsGaussianSlopes", Family::gaussian, Shape::slopes, {levels}, misplaced},
      {"CoefficientsBernoulli", Family::bernoulli, Shape::crossed, {coefficients}, other_coefficients},
      {"CoefficientsGaussian", Family::gaussian, Shape::crossed, {coefficients}, other_coefficients},
      {"ShiftsBernoulli", Family::bernoulli, Shape::crossed, {shifts}, other_intercept},
      {"ShiftsSlopes", Family::poisson, Shape::slopes, {shifts}, other_intercept},
      {"Nested", Family::bernoulli, Shape::nested, {nested}, misplaced},
      {"Scales", Family::bernoulli, Shape::crossed, {scales}, wider_sds},
      {"ScalesSlopes", Family::bernoulli, Shape::slopes, {scales}, other_lkj},
      {"TiltsGaussian", Family::gaussian, Shape::apart, {tilts}, misplaced},
      {"TiltsBernoulli", Family::bernoulli, Shape::apart, {tilts}, misplaced},
      {"CovariancesLkj", Family::bernoulli, Shape::slopes, {covariances}, other_lkj},
      {"CovariancesSds", Family::gaussian, Shape::slopes, {covariances}, wider_sds},
      {"StretchesBernoulli", Family::bernoulli, Shape::slopes, {stretches}, wider_sds},
      {"StretchesGaussian", Family::gaussian, Shape::slopes, {stretches}, wider_sds},
      {"CorrelationsPoisson", Family::poisson, Shape::slopes, {correlations}, other_lkj},
      {"FamilyScaleGaussian", Family::gaussian, Shape::crossed, {family_numbers}, other_family_scale},
      {"FamilyScaleNegativeBinomial",
       Family::negative_binomial,
       Shape::crossed,
       {family_numbers},
       other_family_scale},
      {"FamilyScaleGamma", Family::gamma, Shape::crossed, {family_numbers}, other_family_scale},
      {"AllGamma",
       Family::gamma,
       Shape::slopes,
       {levels, coefficients, shifts, scales, stretches, correlations, family_numbers},
       wider_sds},
      {"AllNegativeBinomial",
       Family::negative_binomial,
       Shape::nested,
       {levels, coefficients, shifts, nested, scales, stretches, family_numbers},
       wider_sds},
      {"LevelsStudent", Family::student_t, Shape::crossed, {levels}, misplaced},
      {"LevelsOrdinalSlopes", Family::ordinal, Shape::slopes, {levels}, misplaced},
      {"LevelsInflated", Family::zero_inflated_poisson, Shape::crossed, {levels}, misplaced},
      {"CoefficientsStudent", Family::student_t, Shape::crossed, {coefficients}, other_coefficients},
      {"CoefficientsOrdinal", Family::ordinal, Shape::crossed, {coefficients}, other_coefficients},
      {"CoefficientsInflated",
       Family::zero_inflated_poisson,
       Shape::crossed,
       {coefficients},
       other_coefficients},
      {"FamilyNumbersStudent", Family::student_t, Shape::crossed, {family_numbers}, other_family_scale},
      {"FamilyNumbersOrdinal", Family::ordinal, Shape::crossed, {family_numbers}, other_family_scale},
      {"FamilyNumbersInflated",
       Family::zero_inflated_poisson,
       Shape::crossed,
       {family_numbers},
       [](Small& m) { m.family_scale *= 0.3; }},
      {"AllStudent",
       Family::student_t,
       Shape::slopes,
       {levels, coefficients, shifts, scales, stretches, correlations, family_numbers},
       wider_sds},
      {"AllOrdinal",
       Family::ordinal,
       Shape::nested,
       {levels, coefficients, shifts, nested, scales, stretches, family_numbers},
       wider_sds},
      {"AllInflated",
       Family::zero_inflated_poisson,
       Shape::slopes,
       {levels, coefficients, shifts, scales, stretches, correlations, family_numbers},
       wider_sds},
      {"AllGaussianSlopes",
       Family::gaussian,
       Shape::slopes,
       {levels, coefficients, shifts, scales, stretches, correlations, family_numbers},
       wider_sds},
  };
}

INSTANTIATE_TEST_SUITE_P(Each, GroupMoves, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(MixedPosterior, JetsAndGradientAgreeWithDifferences) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const Family family :
       {Family::gaussian, Family::bernoulli, Family::poisson, Family::negative_binomial, Family::gamma,
        Family::student_t, Family::ordinal, Family::zero_inflated_poisson}) {
    const Small model(family, Shape::slopes);
    const glm::MixedPosterior like = model.posterior(std::vector<double>(model.rows, 1.0));
    std::vector<double> theta = prior_draw(model, like, random);
    glm::MixedPosterior posterior = model.posterior(data_draw(model, like, theta, random));
    std::vector<double> v(theta.size()), gradient(theta.size());
    for (double& one : v) one = 0.3 * normal(random);
    const Jet jet = posterior.jet(theta, v, Order::curvature);
    const double value = posterior.gradient(theta, gradient);
    EXPECT_NEAR(value, jet.value, 1e-4 * (1 + std::abs(value)));
    double slope = 0;
    for (std::size_t i = 0; i < v.size(); ++i) slope += gradient[i] * v[i];
    EXPECT_NEAR(slope, jet.slope, 1e-4 * (1 + std::abs(slope)));
    constexpr double h = 1e-2;
    const auto at = [&](double alpha, Order order) {
      std::vector<double> place = theta;
      for (std::size_t i = 0; i < v.size(); ++i) place[i] += alpha * v[i];
      return posterior.jet(place, v, order);
    };
    EXPECT_NEAR((at(h, Order::value).value - at(-h, Order::value).value) / (2 * h), jet.slope,
                2e-3 * (1 + std::abs(jet.slope)) + 1e-2);
    EXPECT_NEAR((at(h, Order::slope).slope - at(-h, Order::slope).slope) / (2 * h), jet.curvature,
                2e-3 * (1 + std::abs(jet.curvature)) + 1e-2);
  }
}

}  // namespace
}  // namespace onward::testing
