#include "models.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "eight_schools.hpp"
#include "eight_schools_posterior.hpp"
#include "funnel.hpp"
#include "gaussian.hpp"
#include "logistic.hpp"
#include "mixture.hpp"
#include "onward/error.hpp"
#include "onward/target/callable.hpp"
#include "onward/util/suggest.hpp"
#include "reference_moments.hpp"
#include "rosenbrock.hpp"
#include "stochastic_volatility.hpp"
#include "student_t.hpp"

namespace onward::models {
namespace {

// Beyond this a run would need more memory than a machine has, several vectors a chain.
constexpr std::size_t largest_dimension = 100'000'000;

/// How large a model is to be, for those that come in sizes.
struct Size {
  std::size_t dimension;
  double condition;
};

/// Adds names and constrain() to a generic target.
class EightSchoolsTarget : public CallableTarget<EightSchoolsDensity> {
 public:
  EightSchoolsTarget() : CallableTarget(EightSchoolsDensity::schools + 2, {}) {}
  static std::vector<std::string> names() { return EightSchoolsDensity::names(); }
  static void constrain(VectorView theta, std::span<double> out) {
    EightSchoolsDensity::constrain(theta, out);
  }
};

std::vector<std::string> numbered(std::string_view name, std::size_t count) {
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}.{}", name, i));
  return names;
}

Model make_funnel(std::size_t count) {
  auto names = numbered("x", count);
  names.insert(names.begin(), "w");
  KnownMoments known{std::vector<double>(count + 1, 0.0), std::vector<double>(count + 1, std::exp(9.0 / 4))};
  known.sd[0] = 3;
  return {target(count + 1, FunnelDensity{}, std::move(names)), std::move(known)};
}

Model make_gaussian(std::size_t dimension, double condition) {
  if (!(condition >= 1) || !std::isfinite(condition))
    throw UsageError(fmt::format("condition number {} is not usable: it must be 1 or more", condition));
  GaussianDensity density(dimension, condition);
  KnownMoments known;
  known.mean.resize(dimension, 0.0);
  if (dimension <= 10'000) {
    known.sd = density.variances();
    for (double& s : known.sd) s = std::sqrt(s);
  }
  std::optional<KnownMoments> moments;
  if (!known.sd.empty()) moments = std::move(known);
  return {target(dimension, std::move(density), numbered("x", dimension)), std::move(moments)};
}

Model make_rosenbrock(std::size_t dimension) {
  if (dimension % 2 != 0)
    throw UsageError(
        fmt::format("rosenbrock comes in pairs: `dim` {} is odd; give an even number", dimension));
  KnownMoments known;
  for (std::size_t i = 0; i < dimension; i += 2) {
    // x ~ N(1, s² = 1/2): E x² = 3/2, var x² = 4 s² + 2 s⁴ = 5/2
    known.mean.insert(known.mean.end(), {1.0, 1.5});
    known.sd.insert(known.sd.end(), {std::sqrt(0.5), std::sqrt(2.5 + 1.0 / 200)});
  }
  return {target(dimension, RosenbrockDensity{}, numbered("x", dimension)), std::move(known)};
}

KnownMoments reference_moments(std::span<const ReferenceMoment> table) {
  KnownMoments known;
  for (const auto& [mean, sd, mean_error, sd_error] : table) {
    known.mean.push_back(mean);
    known.sd.push_back(sd);
    known.mean_error.push_back(mean_error);
    known.sd_error.push_back(sd_error);
  }
  return known;
}

Model make_logistic() {
  auto names = numbered("beta", logistic_predictors);
  names.insert(names.begin(), "alpha");
  return {target(logistic_predictors + 1, logistic_density(), std::move(names)),
          reference_moments(logistic_moments)};
}

Model make_mixture() {
  constexpr std::size_t dimension = MixtureDensity::dimension;
  KnownMoments known{std::vector<double>(dimension), std::vector<double>(dimension)};
  for (std::size_t i = 0; i < dimension; ++i) {
    double second = 0;
    for (const auto& [weight, width, centre] : MixtureDensity::components) {
      known.mean[i] += weight * centre[i];
      second += weight * (width * width + centre[i] * centre[i]);
    }
    known.sd[i] = std::sqrt(second - known.mean[i] * known.mean[i]);
  }
  return {target(dimension, MixtureDensity{}, numbered("x", dimension)), std::move(known)};
}

Model make_student_t(std::size_t dimension) {
  const StudentTDensity density;
  const double variance = density.degrees_of_freedom / (density.degrees_of_freedom - 2);
  KnownMoments known{std::vector<double>(dimension), std::vector<double>(dimension, std::sqrt(variance))};
  return {target(dimension, density, numbered("x", dimension)), std::move(known)};
}

Model make_stochastic_volatility() {
  return {StochasticVolatilityTarget(stochastic_volatility_steps),
          reference_moments(stochastic_volatility_moments)};
}

using Builder = Model (*)(const Size& size);

struct Entry {
  ModelInfo info;
  Builder make;
};

const std::array entries{
    Entry{{"eight-schools", "hierarchical model of eight schools, non-centred; D = 10", 10, false, false},
          [](const Size&) {
            return Model{EightSchoolsTarget{}, EightSchoolsPosterior{}.moments()};
          }},
    Entry{{"funnel", "Neal's funnel, w and dim x's; D = dim + 1", 10, true, false},
          [](const Size& size) { return make_funnel(size.dimension); }},
    Entry{{"gaussian", "normal, correlated; condition sets the ratio of its variances", 10, true, true},
          [](const Size& size) { return make_gaussian(size.dimension, size.condition); }},
    Entry{{"logistic", "logistic regression, 30 correlated predictors, 500 rows; D = 31", 31, false, false},
          [](const Size&) { return make_logistic(); }},
    Entry{{"mixture", "three normals of different weights and widths; D = 5", 5, false, false},
          [](const Size&) { return make_mixture(); }},
    Entry{{"rosenbrock", "Rosenbrock's banana, in pairs; dim even", 2, true, false},
          [](const Size& size) { return make_rosenbrock(size.dimension); }},
    Entry{{"stochastic-volatility", "200 returns whose hidden log variance wanders; D = 203", 203, false,
           false},
          [](const Size&) { return make_stochastic_volatility(); }},
    Entry{{"student-t", "multivariate Student-t with 3 degrees of freedom", 10, true, false},
          [](const Size& size) { return make_student_t(size.dimension); }},
};

}  // namespace

std::span<const ModelInfo> list() {
  static const std::vector<ModelInfo> all = [] {
    std::vector<ModelInfo> infos;
    for (const auto& entry : entries) infos.push_back(entry.info);
    return infos;
  }();
  return all;
}

Model make(std::string_view name, const ModelOptions& options) {
  const auto entry =
      std::ranges::find_if(entries, [&](const Entry& candidate) { return candidate.info.name == name; });
  if (entry == entries.end()) {
    std::vector<std::string> names;
    for (const auto& info : list()) names.emplace_back(info.name);
    throw UsageError(
        fmt::format("there is no model '{}'.{} Models: {}", name, suggestion(name, names), joined(names)));
  }
  const ModelInfo& info = entry->info;
  if (options.dimension && !info.has_dimension)
    throw UsageError(fmt::format("{} has a fixed dimension: leave `dim` {} out", name, *options.dimension));
  if (options.condition && !info.has_condition)
    throw UsageError(
        fmt::format("{} has no condition number: leave `condition` {} out", name, *options.condition));
  const std::size_t dimension = options.dimension.value_or(info.default_dimension);
  if (dimension == 0) throw UsageError("dimension 0 makes no sense: give `dim` 1 or more");
  if (dimension > largest_dimension)
    throw UsageError(
        fmt::format("dimension {} is too large: {} takes at most {}", dimension, name, largest_dimension));
  return entry->make({dimension, options.condition.value_or(1)});
}

}  // namespace onward::models
