#include "onward/target/reported.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace onward {

void Reporting::show_all() {
  shown_.resize(names_.size());
  for (std::size_t k = 0; k < shown_.size(); ++k) shown_[k] = k;
}

void Reporting::add(const ParameterLayout& quantities,
                    std::function<void(Random&, std::span<const double>, std::span<double>)> generate) {
  if (generate_) throw UsageError("quantities are generated already: declare all of them in one list");
  for (const std::string& name : quantities.declared())
    if (parameters_.has(name))
      throw UsageError(fmt::format("quantity '{}' has the name of a parameter; choose another", name));
  for (std::size_t k = 0; k < quantities.constrained_size(); ++k) shown_.push_back(names_.size() + k);
  for (std::string& name : quantities.names()) names_.push_back(std::move(name));
  quantities_ = quantities;
  generate_ = std::move(generate);
}

void Reporting::hide(std::string_view name) {
  const bool parameter = parameters_.has(name);
  if (!parameter && !quantities_.has(name)) {
    std::vector<std::string> all = parameters_.declared();
    for (std::string& one : quantities_.declared()) all.push_back(std::move(one));
    throw UsageError(
        fmt::format("'{}' cannot be hidden: what is reported is {}", name, fmt::join(all, ", ")));
  }
  ParameterLayout::Range range = (parameter ? parameters_ : quantities_).range(name);
  if (parameter)
    hidden_ = name;
  else
    range.first += size_;
  std::erase_if(shown_, [&](std::size_t k) { return k >= range.first && k < range.first + range.count; });
  if (shown_.empty()) throw UsageError(fmt::format("'{}' cannot be hidden: nothing would be left", name));
}

void Reporting::observe(ObservationLikelihood observations) {
  if (observations.count == 0)
    throw UsageError(
        fmt::format("the log likelihood of '{}' is of 0 observations: give their number", observations.name));
  observations_ = std::move(observations);
}

std::vector<std::string> Reporting::names() const {
  std::vector<std::string> names;
  names.reserve(shown_.size());
  for (const std::size_t k : shown_) names.push_back(names_[k]);
  return names;
}

void Reporting::report(std::span<const double> parameters, Random& random, std::span<double> out) const {
  std::vector<double> all(parameters.begin(), parameters.end());
  all.resize(names_.size(), std::numeric_limits<double>::quiet_NaN());
  if (generate_) generate_(random, parameters, std::span(all).subspan(size_));
  for (std::size_t k = 0; k < shown_.size(); ++k) out[k] = all[shown_[k]];
}

const ObservationLikelihood* Reporting::observations() const {
  if (!observations_.at) return nullptr;
  if (!hidden_.empty())
    throw UsageError(
        fmt::format("the log likelihood of '{}' is computed from the draws of all parameters, and '{}' is "
                    "hidden: do not hide it",
                    observations_.name, hidden_));
  return &observations_;
}

}  // namespace onward
