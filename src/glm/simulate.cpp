#include "onward/glm/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace onward::glm {
namespace {

double logistic(double eta) { return 1 / (1 + std::exp(-eta)); }

}  // namespace

void ordered_probabilities(double eta, std::span<const double> gaps, std::span<double> out) {
  // Differences of whichever tail is the smaller one, so that no digits are lost far out.
  double threshold = 0, below = 0, above = 1;
  for (std::size_t k = 0; k <= gaps.size(); ++k) {
    const double next_below = logistic(threshold - eta), next_above = logistic(eta - threshold);
    out[k] = std::max(next_below < 0.5 ? next_below - below : above - next_above, 0.0);
    below = next_below, above = next_above;
    if (k < gaps.size()) threshold += gaps[k];
  }
  out[gaps.size() + 1] = above;
}

double expected_response(Family family, double eta, std::span<const double> numbers, double trials) {
  switch (family) {
    case Family::gaussian:
    case Family::student_t:
    case Family::categorical:
      return eta;
    case Family::ordinal: {
      std::vector<double> probabilities(numbers.size() + 2);
      ordered_probabilities(eta, numbers, probabilities);
      double mean = 0;
      for (std::size_t k = 0; k < probabilities.size(); ++k)
        mean += static_cast<double>(k + 1) * probabilities[k];
      return mean;
    }
    case Family::zero_inflated_poisson:
      return std::exp(eta) / (1 + numbers[0]);
    case Family::bernoulli:
      return logistic(eta);
    case Family::binomial:
      return trials * logistic(eta);
    case Family::probit:
      return 0.5 * std::erfc(-eta / std::sqrt(2.0));
    case Family::cloglog:
      return -std::expm1(-std::exp(eta));
    case Family::poisson:
    case Family::negative_binomial:
    case Family::gamma:
      return std::exp(eta);
  }
  return eta;
}

double random_response(Family family, double eta, std::span<const double> numbers, double trials,
                       RandomSequence& random) {
  switch (family) {
    case Family::gaussian:
    case Family::categorical:
      return eta + numbers[0] * random.normal();
    case Family::student_t: {
      const double z = random.normal(), half = 0.5 * (1 + numbers[1]);
      return eta + numbers[0] * z / std::sqrt(random.gamma(half) / half);
    }
    case Family::ordinal: {
      std::vector<double> probabilities(numbers.size() + 2);
      ordered_probabilities(eta, numbers, probabilities);
      return static_cast<double>(random_class(probabilities, random) + 1);
    }
    case Family::zero_inflated_poisson: {
      const bool certain = random.uniform() < numbers[0] / (1 + numbers[0]);
      return certain ? 0 : random.poisson(std::exp(eta));
    }
    case Family::bernoulli:
    case Family::probit:
    case Family::cloglog:
      return random.uniform() < expected_response(family, eta, numbers) ? 1 : 0;
    case Family::binomial:
      return random.binomial(trials, eta);
    case Family::poisson:
      return random.poisson(std::exp(eta));
    case Family::negative_binomial:
      return random.poisson(std::exp(eta) * (random.gamma(numbers[0]) / numbers[0]));
    case Family::gamma:
      return std::exp(eta) * (random.gamma(numbers[0]) / numbers[0]);
  }
  return eta;
}

void softmax_of(std::span<double> eta) {
  const double most = *std::ranges::max_element(eta);
  double sum = 0;
  for (double& x : eta) sum += x = std::exp(x - most);
  for (double& x : eta) x /= sum;
}

std::size_t random_class(std::span<const double> probabilities, RandomSequence& random) {
  double u = random.uniform();
  for (std::size_t k = 0; k + 1 < probabilities.size(); ++k)
    if ((u -= probabilities[k]) < 0) return k;
  return probabilities.size() - 1;
}

}  // namespace onward::glm
