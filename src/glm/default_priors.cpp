#include "onward/glm/default_priors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace onward::glm {

namespace {

/// Of numbers that count so many times, the one that half of them are below of.
double median(std::vector<std::pair<double, double>> weighted) {
  std::ranges::sort(weighted);
  double total = 0, below = 0;
  for (const auto& [x, weight] : weighted) total += weight;
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    below += weighted[i].second;
    if (2 * below > total) return weighted[i].first;
    // Half of them exactly: between this one and the next that counts.
    if (2 * below == total)
      for (std::size_t k = i + 1; k < weighted.size(); ++k)
        if (weighted[k].second > 0) return 0.5 * (weighted[i].first + weighted[k].first);
  }
  return weighted.back().first;
}

}  // namespace

DefaultPriors::DefaultPriors(const Observations& y, std::vector<Spread> columns)
    : columns_(std::move(columns)), family_(y.family()) {
  const bool logs = family_ == Family::gamma;
  if (family_ != Family::gaussian && family_ != Family::student_t && !logs) return;
  const auto response = [&](std::size_t i) {
    return (logs ? std::log(y.y(i)) : y.y(i)) -
           (y.offset().empty() ? 0.0 : static_cast<double>(y.offset()[i]));
  };
  const auto [mean, sd] = spread_of(y.rows(), response, [&](std::size_t i) { return y.weight(i); });
  if (logs) {
    centre_ = mean;
    return;
  }
  if (!(sd > 0) || !std::isfinite(sd)) return;  // what is wrong with such a y is said elsewhere
  centre_ = mean;
  unit_ = sd;
  if (family_ == Family::gaussian) return;
  // Rows far out would make the mean and the sd anything.
  std::vector<std::pair<double, double>> all;
  for (std::size_t i = 0; i < y.rows(); ++i) all.emplace_back(response(i), y.weight(i));
  centre_ = median(all);
  for (auto& [x, weight] : all) x = std::abs(x - centre_);
  constexpr double of_a_normal = 1.4826;  // its sd over the median of distances
  if (const double distance = of_a_normal * median(std::move(all)); distance > 0) unit_ = distance;
}

Prior DefaultPriors::coefficient(std::size_t column) const {
  constexpr double rounding = 1e-6;  // of floats: less spread than that is none
  double sd = 1;
  if (column < columns_.size() && columns_[column].sd > rounding * std::abs(columns_[column].mean))
    sd = columns_[column].sd;
  return Prior::normal(0, 2.5 * unit_ / sd);
}

Prior DefaultPriors::intercept() const {
  if (family_ == Family::ordinal) return Prior::student_t(3, 0, 2.5);
  return Prior::normal(centre_, 10 * unit_);
}

Prior DefaultPriors::scale() const {
  if (family_ == Family::gamma) return Prior::student_t(1, 0, 10);
  if (family_ == Family::zero_inflated_poisson) return Prior::beta(1, 1);
  return Prior::student_t(3, 0, 2.5 * unit_);
}

std::string to_string(const Prior& prior) {
  switch (prior.kind) {
    case Prior::Kind::flat:
      return "flat";
    case Prior::Kind::normal:
      return fmt::format("normal({:.4g}, {:.4g})", prior.location, prior.scale);
    case Prior::Kind::student_t:
      return fmt::format("student-t({:.4g}, {:.4g}, {:.4g})", prior.degrees, prior.location, prior.scale);
    case Prior::Kind::laplace:
      return fmt::format("laplace({:.4g}, {:.4g})", prior.location, prior.scale);
    case Prior::Kind::exponential:
      return fmt::format("exponential({:.4g})", 1 / prior.scale);
    case Prior::Kind::gamma:
      return fmt::format("gamma({:.4g}, {:.4g})", prior.degrees, 1 / prior.scale);
    case Prior::Kind::beta:
      return fmt::format("beta({:.4g}, {:.4g})", prior.degrees, prior.scale);
  }
  return "";
}

}  // namespace onward::glm
