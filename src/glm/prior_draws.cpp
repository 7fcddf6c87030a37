#include "prior_draws.hpp"

#include <cmath>

#include <fmt/format.h>

#include "covariance.hpp"
#include "onward/error.hpp"

namespace onward::glm {
namespace {

double draw(const Prior& prior, RandomSequence& random) {
  switch (prior.kind) {
    case Prior::Kind::normal:
      return prior.location + prior.scale * random.normal();
    case Prior::Kind::student_t: {
      const double z = random.normal(), half = 0.5 * prior.degrees;
      return prior.location + prior.scale * z / std::sqrt(random.gamma(half) / half);
    }
    case Prior::Kind::laplace: {
      const double u = random.uniform() - 0.5;
      return prior.location - prior.scale * std::copysign(std::log1p(-2 * std::abs(u)), u);
    }
    case Prior::Kind::exponential:
      return -prior.scale * std::log(random.uniform());
    case Prior::Kind::gamma:
      return prior.scale * random.gamma(prior.degrees);
    case Prior::Kind::beta: {
      const double one = random.gamma(prior.degrees), other = random.gamma(prior.scale);
      return one / (one + other);
    }
    case Prior::Kind::flat:
      break;
  }
  throw UsageError("a flat prior cannot be drawn from");
}

/// Of a prior that is cut to where there are such numbers.
double draw_number(const Prior& prior, const NumberInfo& number, RandomSequence& random) {
  constexpr int most_tries = 100'000;
  for (int i = 0; i < most_tries; ++i)
    if (const double x = draw(prior, random); number.allows(x)) return x;
  throw UsageError(fmt::format("the prior {} of {} has next to nothing {}: move it", to_string(prior),
                               number.name, number.range()));
}

double draw_positive(const Prior& prior, RandomSequence& random) {
  return draw_number(prior, {"a scale"}, random);
}

/// What the partial correlations are made of: (1 + tanh y) / 2 has a symmetric beta distribution.
double draw_correlation(std::size_t column, std::size_t q, double lkj, RandomSequence& random) {
  const double a = lkj + 0.5 * static_cast<double>(q - 2 - column);
  const double one = random.gamma(a), other = random.gamma(a);
  return 0.5 * (std::log(one) - std::log(other));
}

}  // namespace

void require_proper(const RegressionPosterior& population, const std::vector<GroupPriors>& priors) {
  const auto refuse = [](const std::string& what) {
    throw UsageError(
        fmt::format("the prior of {} is flat, and nothing can be drawn from it: give it one by `prior`, such "
                    "as normal(0, 1)",
                    what));
  };
  for (std::size_t j = 0; j < population.priors().size(); ++j)
    if (population.priors()[j].kind == Prior::Kind::flat) refuse(population.column_name(j));
  for (const std::size_t i : population.sampled_numbers())
    if (population.number_prior(i).kind == Prior::Kind::flat)
      refuse(population.observations().numbers()[i].name);
  for (const GroupPriors& group : priors)
    for (const Prior& sd : group.sds)
      if (sd.kind == Prior::Kind::flat) refuse("a group's sd");
}

DrawnParameters draw_parameters(const RegressionPosterior& population, const std::vector<GroupTerm>& terms,
                                const std::vector<GroupPriors>& priors, RandomSequence& random) {
  DrawnParameters drawn;
  drawn.numbers = population.starting_numbers().values();
  std::vector<double>& coefficients = drawn.coefficients;
  for (const Prior& prior : population.priors()) coefficients.push_back(draw(prior, random));
  std::vector<double> reported;  // what comes after the coefficients
  std::vector<std::vector<double>> sds;
  for (const GroupPriors& group : priors) {
    sds.emplace_back();
    for (const Prior& prior : group.sds) sds.back().push_back(draw_positive(prior, random));
    reported.insert(reported.end(), sds.back().begin(), sds.back().end());
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::size_t q = terms[t].width();
    std::vector<double> y;
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t j = 0; j < i; ++j) y.push_back(draw_correlation(j, q, priors[t].lkj, random));
    const std::vector<double> factor = correlation_factor<double>(q, y);
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k <= j; ++k) sum += factor[i * q + k] * factor[j * q + k];
        reported.push_back(sum);
      }
    std::vector<double>& effects = drawn.effects.emplace_back(terms[t].count() * q, 0.0);
    std::vector<double> u(q);
    for (std::size_t l = 0; l < terms[t].count(); ++l) {
      for (double& x : u) x = random.normal();
      for (std::size_t i = 0; i < q; ++i)
        for (std::size_t j = 0; j <= i; ++j) effects[l * q + i] += sds[t][i] * factor[i * q + j] * u[j];
    }
  }
  std::vector<double> logs;
  for (const std::size_t i : population.sampled_numbers()) {
    const NumberInfo& number = population.observations().numbers()[i];
    drawn.numbers[i] = number.from_reported(draw_number(population.number_prior(i), number, random));
    logs.push_back(std::log(drawn.numbers[i]));
  }
  // Priors are of coefficients for columns at their means.
  drawn.reported.resize(population.reported_coefficients());
  population.constrain_coefficients(coefficients, logs, drawn.reported);
  const std::vector<double>& means = population.means();
  for (std::size_t j = 1; j < means.size(); ++j) coefficients[0] -= means[j] * coefficients[j];
  drawn.reported.insert(drawn.reported.end(), reported.begin(), reported.end());
  const std::size_t so_far = drawn.reported.size();
  drawn.reported.resize(so_far + population.reported_numbers());
  population.constrain_numbers(logs, std::span(drawn.reported).subspan(so_far));
  return drawn;
}

}  // namespace onward::glm
