// The log likelihood of each row against the same written plainly.

#include "onward/glm/log_likelihood.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference.hpp"

namespace onward::testing {
namespace {

/// From the columns as they were given and parameters as they are reported.
std::vector<double> plainly(const Problem& p, std::span<const double> parameters) {
  // Coefficients with the intercept for the columns as they were given, and all numbers.
  Problem as_given = p;
  as_given.means.clear();
  const std::vector<double> theta = as_given.sampled_from({parameters.begin(), parameters.end()});
  std::vector<double> numbers;
  std::size_t next = p.columns * p.classes();
  for (std::size_t i = 0; i < p.numbers().size(); ++i)
    numbers.push_back(p.known(i) ? *p.known(i) : p.numbers()[i].reported(std::exp(theta[next++])));
  std::vector<double> rows;
  for (std::size_t i = 0; i < p.rows; ++i) {
    std::vector<double> eta(p.classes(), p.offset(i));
    for (std::size_t k = 0; k < p.classes(); ++k)
      for (std::size_t j = 0; j < p.columns; ++j)
        eta[k] += (p.intercept && j == 0 ? 1 : p.given(i, j)) * theta[k * p.columns + j];
    if (p.family == glm::Family::categorical) {
      double total = 0;
      for (const double e : eta) total += std::exp(e);
      rows.push_back(p.weight(i) * (eta[static_cast<std::size_t>(p.y[i])] - std::log(total)));
    } else {
      rows.push_back(p.weight(i) * log_row(p, i, eta[0], numbers));
    }
  }
  return rows;
}

void compare(const Problem& p, double tolerance) {
  const glm::RegressionPosterior posterior = p.posterior();
  const glm::RowLogLikelihood ours(posterior);
  for (std::uint64_t place = 0; place < 2; ++place) {
    std::vector<double> theta(p.dimension()), parameters(p.dimension()), rows(p.rows);
    Stream(11, 0).normals(place, Purpose::noise, theta);
    for (double& number : theta) number *= 0.5;
    posterior.constrain(theta, parameters);
    ours(parameters, rows);
    const auto exact = plainly(p, parameters);
    for (std::size_t i = 0; i < p.rows; ++i)
      ASSERT_NEAR(rows[i], exact[i], tolerance * (1 + std::abs(exact[i]))) << "row " << i;
    // Some of the rows alone have the same bits.
    for (const std::size_t first : {std::size_t{0}, std::size_t{7}, p.rows - 1}) {
      std::vector<double> some(std::min<std::size_t>(p.rows - first, 11));
      ours.part(parameters, first, some);
      for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(some[i], rows[first + i]);
    }
  }
}

TEST(RowLogLikelihood, IsThatOfThePlainDensity) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(std::string(glm::to_string(family)));
    // Data are floats, so that both sides see the same; columns that were centred are rounded once more.
    Problem plain = problem(family), other = problem(family, {.weights = true, .offset = true});
    compare(plain, 1e-10);
    compare(other, 1e-10);
    compare(other.centred(), 3e-6);
    Problem known = problem(family, {.rows = 5000, .predictors = 3, .intercept = false});
    known.know_numbers(1.7);
    compare(known, 1e-10);
  }
}

TEST(RowLogLikelihood, SumsUpToTheLikelihoodOfThePosterior) {
  for (const glm::Family family : all_families()) {
    SCOPED_TRACE(std::string(glm::to_string(family)));
    const Problem p = problem(family, {.weights = true, .offset = true});
    auto posterior = p.posterior();
    const glm::RowLogLikelihood ours(posterior);
    // What the prior adds is left out of a difference between places with the same prior density.
    std::vector<double> there(p.dimension(), 0.0), parameters(p.dimension()), rows(p.rows);
    Stream(12, 0).normals(0, Purpose::noise, there);
    for (std::size_t i = p.columns * p.classes(); i < there.size(); ++i) there[i] = 0.3;
    std::vector<double> back = there;
    for (std::size_t i = 0; i < p.columns * p.classes(); ++i) back[i] = -back[i];
    double ours_difference = 0;
    for (const auto& [place, sign] : {std::pair{&there, 1.0}, {&back, -1.0}}) {
      posterior.constrain(*place, parameters);
      ours(parameters, rows);
      for (const double row : rows) ours_difference += sign * row;
    }
    const double difference =
        posterior.jet(there, {}, Order::value).value - posterior.jet(back, {}, Order::value).value;
    EXPECT_NEAR(ours_difference, difference, 1e-3 + 1e-5 * std::abs(difference));
  }
}

}  // namespace
}  // namespace onward::testing
