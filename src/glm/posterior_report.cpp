// What a regression's posterior is called and reported as: names, constrained parameters, priors in words.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onward/glm/default_priors.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/util/printable.hpp"

namespace onward::glm {

std::string RegressionPosterior::column_name(std::size_t j) const {
  const std::size_t first = x_->has_intercept() ? 1 : 0;
  if (j < first) return "the intercept";
  return options_.column_names.empty() ? fmt::format("column {}", j - first + 1)
                                       : fmt::format("column '{}'", options_.column_names[j - first]);
}

std::vector<std::string> RegressionPosterior::names() const {
  std::vector<std::string> names = coefficient_names();
  const std::vector<std::string> more = number_names();
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

Prior RegressionPosterior::intercept_prior() const {
  Prior prior = priors_[0];
  if (y_->family() == Family::ordinal) prior.location = prior.location == 0 ? 0 : -prior.location;
  return prior;
}

std::string RegressionPosterior::intercept_words() const {
  return y_->family() == Family::ordinal ? "first threshold" : "intercept";
}

std::vector<std::string> RegressionPosterior::coefficient_names() const {
  std::vector<std::string> names;
  const bool ordinal = y_->family() == Family::ordinal;
  for (std::size_t k = 1; ordinal && k < y_->categories(); ++k)
    names.push_back(options_.column_names.empty() && options_.intercept_name == "intercept"
                        ? fmt::format("intercept.{}", k)
                        : fmt::format("Intercept[{}]", k));
  for (std::size_t k = 0; k < y_->classes(); ++k)
    for (std::size_t j = ordinal ? 1 : 0; j < x_->columns(); ++j) {
      const bool ones = x_->has_intercept() && j == 0;
      const std::size_t column = j - (x_->has_intercept() ? 1 : 0);
      std::string name = ones                            ? options_.intercept_name
                         : options_.column_names.empty() ? fmt::format("beta.{}", column + 1)
                                                         : options_.column_names[column];
      if (y_->classes() > 1) name += fmt::format(".{}", k + 1);
      names.push_back(std::move(name));
    }
  return names;
}

std::vector<std::string> RegressionPosterior::number_names() const {
  std::vector<std::string> names;
  if (y_->family() == Family::ordinal) return names;
  for (const std::size_t i : sampled_numbers_) names.push_back(y_->numbers()[i].name);
  return names;
}

std::vector<std::size_t> RegressionPosterior::name_indices() const {
  const std::size_t of_class = y_->classes() > 1 ? 1 : 0, of_column = options_.column_names.empty() ? 1 : 0;
  std::vector<std::size_t> indices;
  for (std::size_t k = 0; k < y_->classes(); ++k)
    for (std::size_t j = 0; j < x_->columns(); ++j)
      indices.push_back(of_class + (x_->has_intercept() && j == 0 ? 0 : of_column));
  // Thresholds take the place of the intercept.
  const std::size_t of_threshold = options_.intercept_name == "intercept" && of_column > 0 ? 1 : 0;
  if (y_->family() == Family::ordinal) {
    indices[0] = of_threshold;
    indices.insert(indices.begin(), thresholds_after_first(), of_threshold);
  }
  indices.resize(dimension(), 0);
  return indices;
}

std::vector<ParameterBlock> RegressionPosterior::blocks() const {
  if (y_->family() != Family::ordinal) return {};
  std::vector<ParameterBlock> blocks{{"coefficients", coefficients()}};
  if (samples_numbers()) blocks.push_back({"log_gaps", sampled_numbers_.size()});
  return blocks;
}

void RegressionPosterior::constrain(VectorView theta, std::span<double> out) const {
  const std::vector<double> at(theta.begin(), theta.end());  // out may be theta's own memory
  const VectorView all(at), logs = all.subspan(coefficients());
  constrain_coefficients(all.first(coefficients()), logs, out);
  constrain_numbers(logs, out.subspan(reported_coefficients()));
}

void RegressionPosterior::constrain_coefficients(VectorView coefficients, VectorView logs,
                                                 std::span<double> out) const {
  if (y_->family() == Family::ordinal) {
    const std::size_t more = thresholds_after_first();
    double threshold = -coefficients[0];
    for (std::size_t j = 1; j < means_.size(); ++j) threshold += means_[j] * coefficients[j];
    out[0] = threshold;
    for (std::size_t i = 0; i < more; ++i) out[i + 1] = threshold += std::exp(logs[i]);
    std::copy(coefficients.begin() + 1, coefficients.end(),
              out.begin() + static_cast<std::ptrdiff_t>(more + 1));
    return;
  }
  std::copy(coefficients.begin(), coefficients.end(), out.begin());
  const std::size_t width = x_->columns();
  for (std::size_t k = 0; k < y_->classes(); ++k)
    for (std::size_t j = 1; j < means_.size(); ++j) out[k * width] -= means_[j] * coefficients[k * width + j];
}

void RegressionPosterior::constrain_numbers(VectorView logs, std::span<double> out) const {
  if (y_->family() == Family::ordinal) return;
  for (std::size_t i = 0; i < sampled_numbers_.size(); ++i)
    out[i] = y_->numbers()[sampled_numbers_[i]].reported(std::exp(logs[i]));
}

RegressionPosterior::Reported RegressionPosterior::from_reported(std::span<const double> coefficients,
                                                                 std::span<const double> numbers) const {
  if (y_->family() == Family::ordinal) {
    const std::size_t more = thresholds_after_first();
    Reported result{{-coefficients[0]}, {}};
    for (std::size_t i = 0; i < more; ++i) result.numbers.push_back(coefficients[i + 1] - coefficients[i]);
    const auto rest = coefficients.subspan(more + 1);
    result.coefficients.insert(result.coefficients.end(), rest.begin(), rest.end());
    return result;
  }
  Reported result{{coefficients.begin(), coefficients.end()}, starting_numbers().values()};
  for (std::size_t i = 0; i < sampled_numbers_.size(); ++i)
    result.numbers[sampled_numbers_[i]] = y_->numbers()[sampled_numbers_[i]].from_reported(numbers[i]);
  return result;
}

std::string describe_priors(const RegressionPosterior& posterior) {
  const std::size_t width = posterior.design().columns(), first = posterior.design().has_intercept() ? 1 : 0;
  const auto& names = posterior.options().column_names;
  std::vector<std::string> parts;
  if (first > 0)
    parts.push_back(fmt::format("{}{} ~ {}", posterior.intercept_words(),
                                posterior.means().empty() ? "" : " (at the means of the predictors)",
                                to_string(posterior.intercept_prior())));
  // Neighbours with one prior share an entry, and of many only the first are shown.
  constexpr std::size_t most = 6;
  const auto name = [&](std::size_t j) {
    return names.empty() ? fmt::format("beta.{}", j - first + 1) : printable(names[j - first]);
  };
  std::size_t shown = 0, j = first;
  for (std::size_t end = j; j < width && shown < most; j = end, ++shown) {
    const std::string prior = to_string(posterior.priors()[j]);
    for (end = j + 1; end < width && to_string(posterior.priors()[end]) == prior;) ++end;
    parts.push_back(fmt::format("{}{} ~ {}", name(j), end - j > 1 ? " to " + name(end - 1) : "", prior));
  }
  if (j < width) parts.push_back(fmt::format("{} more alike", width - j));
  const bool ordinal = posterior.observations().family() == Family::ordinal;
  if (ordinal && posterior.samples_numbers())
    parts.push_back(
        fmt::format("gaps between thresholds ~ {}, above 0", to_string(posterior.number_prior(0))));
  for (const std::size_t i : posterior.sampled_numbers()) {
    if (ordinal) break;
    const NumberInfo& number = posterior.observations().numbers()[i];
    parts.push_back(
        fmt::format("{} ~ {}, {}", number.name, to_string(posterior.number_prior(i)), number.range()));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace onward::glm
