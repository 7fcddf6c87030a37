#include "bench/posteriors/set.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include <fmt/format.h>

#include "bench/posteriors/others.hpp"
#include "models/one_dimensional.hpp"
#include "models/student_t.hpp"
#include "onward/error.hpp"
#include "onward/target/callable.hpp"
#include "onward/util/suggest.hpp"

namespace onward::bench {
namespace {

constexpr double pi = std::numbers::pi;

struct Entry {
  std::string name, model;
  models::ModelOptions options = {};
};

std::vector<Entry> entries() {
  std::vector<Entry> list;
  for (const std::size_t dimension : {2, 10, 100, 1000})
    for (const double condition : {1, 100, 10'000})
      if (dimension < 1000 || condition <= 100)
        list.push_back(
            {fmt::format("gaussian-{}-{}", dimension, condition), "gaussian", {dimension, condition}});
  for (const char* name :
       {"funnel", "rosenbrock", "eight-schools", "logistic", "stochastic-volatility", "mixture", "student-t"})
    list.push_back({name, name});
  for (const char* name : {"logistic-1d", "log-gamma", "half-cauchy", "student-t-1d"})
    list.push_back({name, ""});
  return list;
}

Quantities parameters_themselves(const models::KnownMoments& known) {
  Quantities q;
  q.from = [](std::span<const double> parameters, std::span<double> out) {
    std::copy(parameters.begin(), parameters.end(), out.begin());
  };
  q.mean = known.mean;
  for (const double sd : known.sd) q.variance.push_back(sd * sd);
  return q;
}

/// w and log |x|: log x² is -w plus the logarithm of a chi-square variable of one degree of freedom.
Quantities of_funnel(std::size_t count) {
  Quantities q;
  q.words = "w and log |x|";
  q.from = [](std::span<const double> parameters, std::span<double> out) {
    out[0] = parameters[0];
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = std::log(std::abs(parameters[i]));
  };
  q.mean.assign(count, -(std::numbers::egamma + std::numbers::ln2) / 2);
  q.variance.assign(count, (9 + pi * pi / 2) / 4);
  q.mean[0] = 0;
  q.variance[0] = 9;
  return q;
}

/// The distribution function of a t variable with 3 degrees of freedom at each parameter: uniform.
Quantities of_student_t(std::size_t count) {
  Quantities q;
  q.words = "F(x), the probability below x";
  q.from = [](std::span<const double> parameters, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double t = parameters[i] / std::sqrt(3.0);
      out[i] = 0.5 + (std::atan(t) + t / (1 + t * t)) / pi;
    }
  };
  q.mean.assign(count, 0.5);
  q.variance.assign(count, 1.0 / 12);
  return q;
}

models::DrawSource from_uniform(double (*quantile)(double)) {
  return [quantile](const Stream& stream, std::span<double> out) {
    out[0] = quantile(stream.uniform(0, Purpose::start));
    return 0.0;
  };
}

template <class Density>
KnownPosterior one_dimensional(const std::string& name, Density density, models::DrawSource source,
                               double mean, double variance) {
  return {name,
          "",
          true,
          Kind::usual,
          60,
          target(1, density),
          [source] { return source; },
          parameters_themselves({{mean}, {std::sqrt(variance)}})};
}

}  // namespace

std::vector<std::string> posterior_names(const std::string& posteriordb) {
  std::vector<std::string> names;
  for (const auto& entry : entries()) names.push_back(entry.name);
  for (const auto& other : others())
    if (other.origin != Origin::posteriordb || !posteriordb.empty()) names.push_back(other.name);
  return names;
}

std::vector<std::string> chosen_posteriors(const std::vector<std::string>& list,
                                           const std::string& posteriordb) {
  const auto names = posterior_names(posteriordb);
  if (list.empty()) return names;
  std::vector<std::string> chosen;
  for (const auto& word : list) {
    const std::size_t before = chosen.size();
    for (const auto& entry : entries())
      if (entry.name == word || entry.model == word || word == "drawn") chosen.push_back(entry.name);
    for (const auto& other : others()) {
      if (other.name != word && to_string(other.origin) != word) continue;
      if (other.origin == Origin::posteriordb && posteriordb.empty())
        throw UsageError(fmt::format(
            "--only {}: its data are posteriordb's: give their folder with --posteriordb DIR", word));
      chosen.push_back(other.name);
    }
    if (chosen.size() == before)
      throw UsageError(fmt::format("--only: there is no posterior '{}'.{} Posteriors: {}", word,
                                   suggestion(word, names), joined(names)));
  }
  return chosen;
}

bool is_costly_to_draw(const std::string& name) { return find_other(name) != nullptr; }

nlohmann::json posterior_data(const std::string& name, const std::string& posteriordb) {
  const Other* other = find_other(name);
  return other == nullptr ? nlohmann::json() : other->data(posteriordb);
}

KnownPosterior make_posterior(const std::string& name, const std::string& posteriordb) {
  if (const Other* other = find_other(name)) return other->make(posteriordb);
  const auto list = entries();
  const auto entry = std::find_if(list.begin(), list.end(), [&](const Entry& e) { return e.name == name; });
  if (entry == list.end()) throw Error(fmt::format("there is no posterior '{}'", name));
  if (name == "logistic-1d")
    return one_dimensional(name, models::LogisticDistribution{},
                           from_uniform([](double u) { return std::log(u / (1 - u)); }), 0, pi * pi / 3);
  if (name == "log-gamma")
    return one_dimensional(name, models::LogGammaDistribution{},
                           from_uniform([](double u) { return std::log(-std::log(u)); }),
                           -std::numbers::egamma, pi * pi / 6);
  if (name == "half-cauchy")
    return one_dimensional(name, models::LogHalfCauchyDistribution{},
                           from_uniform([](double u) { return std::log(std::tan(pi / 2 * u)); }), 0,
                           pi * pi / 4);
  if (name == "student-t-1d") {
    const models::ModelOptions options{1, {}};
    return {name,
            "",
            true,
            Kind::usual,
            60,
            models::make("student-t", options).target,
            [options] { return models::independent_draws("student-t", options); },
            of_student_t(1)};
  }

  const auto& options = entry->options;
  models::Model model = models::make(entry->model, options);
  const std::size_t dimension = model.target.dimension();
  std::string command = entry->model;
  if (options.dimension) command += fmt::format(" --dim {}", *options.dimension);
  if (options.condition) command += fmt::format(" --condition {}", *options.condition);
  Quantities quantities = name == "funnel"      ? of_funnel(dimension)
                          : name == "student-t" ? of_student_t(dimension)
                                                : parameters_themselves(*model.known);
  const bool slow = name == "funnel" || name == "rosenbrock" || name == "stochastic-volatility";
  const Kind kind = name == "logistic" ? Kind::costly : slow ? Kind::slow : Kind::usual;
  // The funnel and a thousand dimensions are known to be hard: five minutes.
  const double allowed = name == "funnel" || dimension >= 1000 ? 300 : 60;
  return {name,
          command,
          false,
          kind,
          allowed,
          std::move(model.target),
          [model_name = entry->model, options] { return models::independent_draws(model_name, options); },
          std::move(quantities)};
}

}  // namespace onward::bench
