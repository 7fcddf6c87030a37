#include "onward/target/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/random/stream.hpp"

namespace onward {
namespace {

/// A derivative as the target has it, and as differences have it.
struct Compared {
  double said, found;
  bool agree;
  double distance() const {
    return std::abs(said - found) / std::max({std::abs(said), std::abs(found), 1e-300});
  }
};

class Check {
 public:
  Check(AnyTarget target, VectorView place, const DerivativeCheck& options)
      : target_(std::move(target)), place_(place.begin(), place.end()), moved_(place_), options_(options) {
    for (const double x : place_) scale_ = std::max(scale_, std::abs(x));
  }

  std::vector<std::string> run() {
    const std::size_t dimension = place_.size();
    std::vector<std::string> problems;
    value_ = target_.value(place_);
    if (!std::isfinite(value_)) return problems;
    std::vector<double> v(dimension);
    Stream(options_.seed, 0).direction(0, Purpose::direction, v);
    const auto slope = [&](VectorView along) { return target_.jet(place_, along, Order::slope).slope; };
    judge("slope", v, slope, problems);
    if (target_.has_gradient()) {
      gradient_.resize(dimension);
      target_.gradient(place_, gradient_);
      judge(
          "gradient", v,
          [&](VectorView along) {
            double product = 0;
            for (std::size_t i = 0; i < along.size(); ++i) product += gradient_[i] * along[i];
            return product;
          },
          problems);
    }
    if (options_.curvature && problems.empty()) {
      of_slopes_ = true;
      judge(
          "curvature", v,
          [&](VectorView along) { return target_.jet(place_, along, Order::curvature).curvature; }, problems);
    }
    return problems;
  }

 private:
  using Said = std::function<double(VectorView along)>;

  void judge(const char* what, VectorView v, const Said& said, std::vector<std::string>& problems) {
    const auto whole = compare(said(v), v);
    if (!whole || whole->agree) return;
    const char* const differences = of_slopes_ ? "slopes" : "values";
    // Along which parameter it is worst.
    std::optional<Compared> worst;
    std::size_t worst_axis = 0;
    std::vector<double> axis(place_.size(), 0.0);
    for (std::size_t i = 0; i < std::min(place_.size(), options_.most_axes); ++i) {
      axis[i] = 1;
      const auto one = compare(said(axis), axis);
      axis[i] = 0;
      if (!one || one->agree || (worst && worst->distance() >= one->distance())) continue;
      worst = one;
      worst_axis = i;
    }
    const std::string where = worst ? "along " + name(worst_axis) : "along a random direction";
    const Compared shown = worst.value_or(*whole);
    problems.push_back(fmt::format(
        "the model's {} {} is {:.6g}, but differences of its {} give {:.6g}: one of the two is wrong", what,
        where, shown.said, differences, shown.found));
  }

  std::string name(std::size_t i) const {
    const std::vector<std::string> names = target_.names();
    return names.size() == place_.size() ? names[i] : fmt::format("parameter {}", i + 1);
  }

  /// The value, or the slope along v, at a step from the place.
  double at(VectorView v, double step) {
    for (std::size_t i = 0; i < place_.size(); ++i) moved_[i] = place_[i] + step * v[i];
    return of_slopes_ ? target_.jet(moved_, v, Order::slope).slope : target_.value(moved_);
  }

  /// Beside central differences, of which each step is a tenth of the one before: what two of them agree on
  /// is known to within a few times what they differ by.
  std::optional<Compared> compare(double said, VectorView v) {
    constexpr std::array<double, 4> steps{1e-3, 1e-4, 1e-5, 1e-6};
    constexpr double tolerance = 1e-3, spreads = 10;
    const double rounding = 1e-8 * (1 + std::abs(said));
    std::optional<double> before;
    std::optional<Compared> best;
    double least = 0;
    for (const double relative : steps) {
      const double step = relative * scale_, ahead = at(v, step), behind = at(v, -step);
      if (!std::isfinite(ahead) || !std::isfinite(behind)) continue;
      const double found = (ahead - behind) / (2 * step);
      if (before) {
        const double spread = std::abs(found - *before);
        const double allowed =
            spreads * spread + tolerance * std::max(std::abs(said), std::abs(found)) + rounding;
        const Compared now{said, found, std::abs(said - found) <= allowed};
        if (now.agree) return now;
        if (!best || spread < least) {
          best = now;
          least = spread;
        }
      }
      before = found;
    }
    return best;
  }

  AnyTarget target_;
  std::vector<double> place_, moved_, gradient_;
  DerivativeCheck options_;
  double scale_ = 1, value_ = 0;
  bool of_slopes_ = false;
};

}  // namespace

std::vector<std::string> check_derivatives(AnyTarget target, VectorView place,
                                           const DerivativeCheck& options) {
  if (place.size() != target.dimension())
    throw UsageError(
        fmt::format("the `place` has {} numbers, and the target has {} parameters: give one for each",
                    place.size(), target.dimension()));
  return Check(std::move(target), place, options).run();
}

}  // namespace onward
