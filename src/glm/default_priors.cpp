#include "onward/glm/default_priors.hpp"

#include <cmath>

#include <fmt/format.h>

namespace onward::glm {

DefaultPriors::DefaultPriors(const Observations& y, std::vector<Spread> columns)
    : columns_(std::move(columns)), family_(y.family()) {
  const bool logs = family_ == Family::gamma;
  if (family_ != Family::gaussian && !logs) return;
  const auto [mean, sd] = spread_of(
      y.rows(),
      [&](std::size_t i) {
        return (logs ? std::log(y.y(i)) : y.y(i)) -
               (y.offset().empty() ? 0.0 : static_cast<double>(y.offset()[i]));
      },
      [&](std::size_t i) { return y.weight(i); });
  if (logs) {
    centre_ = mean;
    return;
  }
  if (!(sd > 0) || !std::isfinite(sd)) return;  // what is wrong with such a y is said elsewhere
  centre_ = mean;
  unit_ = sd;
}

Prior DefaultPriors::coefficient(std::size_t column) const {
  constexpr double rounding = 1e-6;  // of floats: less spread than that is none
  double sd = 1;
  if (column < columns_.size() && columns_[column].sd > rounding * std::abs(columns_[column].mean))
    sd = columns_[column].sd;
  return Prior::normal(0, 2.5 * unit_ / sd);
}

Prior DefaultPriors::intercept() const { return Prior::normal(centre_, 10 * unit_); }

Prior DefaultPriors::scale() const {
  if (family_ == Family::gamma) return Prior::student_t(1, 0, 10);
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
  }
  return "";
}

}  // namespace onward::glm
