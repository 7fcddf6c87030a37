#include "independent_draws.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "eight_schools_posterior.hpp"
#include "gaussian.hpp"
#include "logistic_posterior.hpp"
#include "mixture.hpp"
#include "onward/error.hpp"
#include "stochastic_volatility_posterior.hpp"
#include "student_t.hpp"

namespace onward::models {
namespace {

void funnel(const Stream& stream, std::span<double> out) {
  stream.normals(0, Purpose::start, out);
  out[0] *= 3;
  const double scale = std::exp(-out[0] / 2);
  for (double& x : out.subspan(1)) x *= scale;
}

void mixture(const Stream& stream, std::span<double> out) {
  stream.normals(0, Purpose::start, out);
  double u = stream.uniform(1, Purpose::start);
  const auto* component = MixtureDensity::components.begin();
  while (component + 1 != MixtureDensity::components.end() && u >= component->weight)
    u -= (component++)->weight;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = component->centre[i] + component->width * out[i];
}

void rosenbrock(const Stream& stream, std::span<double> out) {
  stream.normals(0, Purpose::start, out);
  for (std::size_t i = 0; i + 1 < out.size(); i += 2) {
    out[i] = 1 + std::sqrt(0.5) * out[i];
    out[i + 1] = out[i] * out[i] + std::sqrt(0.005) * out[i + 1];
  }
}

void student_t(const Stream& stream, std::span<double> out) {
  stream.normals(0, Purpose::start, out);
  const double degrees = StudentTDensity{}.degrees_of_freedom;
  std::vector<double> chi(static_cast<std::size_t>(degrees));
  stream.normals(1, Purpose::start, chi);
  double chi2 = 0;
  for (const double c : chi) chi2 += c * c;
  for (double& x : out) x *= std::sqrt(degrees / chi2);
}

/// A source whose draws are exact.
DrawSource exact(void (*draw)(const Stream&, std::span<double>)) {
  return [draw](const Stream& stream, std::span<double> out) {
    draw(stream, out);
    return 0.0;
  };
}

/// A source that a posterior object keeps.
template <class Posterior>
DrawSource kept() {
  return [posterior = std::make_shared<const Posterior>()](const Stream& stream, std::span<double> out) {
    return posterior->draw(stream, out);
  };
}

DrawSource gaussian(std::size_t dimension, double condition) {
  return [density = GaussianDensity(dimension, condition)](const Stream& stream, std::span<double> out) {
    std::vector<double> z(out.size());
    stream.normals(0, Purpose::start, z);
    density.draw(z);
    std::copy(z.begin(), z.end(), out.begin());
    return 0.0;
  };
}

}  // namespace

DrawSource independent_draws(std::string_view name, const ModelOptions& options) {
  const std::size_t dimension = make(name, options).target.dimension();  // refuses what it must
  if (name == "eight-schools") return kept<EightSchoolsPosterior>();
  if (name == "funnel") return exact(funnel);
  if (name == "gaussian") return gaussian(dimension, options.condition.value_or(1));
  if (name == "logistic") return kept<LogisticPosterior>();
  if (name == "mixture") return exact(mixture);
  if (name == "rosenbrock") return exact(rosenbrock);
  if (name == "stochastic-volatility") return kept<StochasticVolatilityPosterior>();
  if (name == "student-t") return exact(student_t);
  throw Error(fmt::format("model {} has no independent draws", name));
}

}  // namespace onward::models
