// Regressions with groups as models: what files and tables need to know of them.

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "model_arrays.hpp"
#include "model_priors.hpp"
#include "onward/error.hpp"
#include "onward/glm/group_sampler.hpp"
#include "onward/glm/log_likelihood.hpp"
#include "onward/glm/mode.hpp"
#include "onward/glm/model.hpp"

namespace onward::glm {
namespace {

bool reports_all_effects(const MixedPosterior& posterior) {
  return posterior.reported_effects().size() == posterior.dimension() - posterior.layout().reported;
}

/// Coefficients as in a regression without groups; then numbers one by one; then effects by level.
ParameterShapes mixed_arrays(const MixedPosterior& posterior) {
  ParameterShapes arrays = coefficient_arrays(posterior.population());
  const MixedLayout& at = posterior.layout();
  const std::vector<std::string> names = posterior.names();
  for (std::size_t i = arrays.order.size(); i < at.reported; ++i) {
    arrays.variables.push_back({names[i], {}});
    arrays.order.push_back(i);
  }
  if (!reports_all_effects(posterior)) {
    for (std::size_t i = at.reported; i < names.size(); ++i) {
      arrays.variables.push_back({names[i], {}});
      arrays.order.push_back(i);
    }
    return arrays;
  }
  std::size_t first = at.reported;
  for (const GroupTerm& term : posterior.terms()) {
    for (std::size_t c = 0; c < term.width(); ++c) {
      arrays.variables.push_back({.name = fmt::format("r({}){}", term.factor, term.columns[c]),
                                  .shape = {term.count()},
                                  .dims = {term.factor},
                                  .coordinates = {term.levels},
                                  .entry_names = fmt::format("r({}){}[{{}}]", term.factor, term.columns[c])});
      for (std::size_t l = 0; l < term.count(); ++l) arrays.order.push_back(first + l * term.width() + c);
    }
    first += term.count() * term.width();
  }
  return arrays;
}

LogLikelihood mixed_log_likelihood(const MixedPosterior& given) {
  const auto posterior = std::make_shared<const MixedPosterior>(given);  // which shares its data
  if (!reports_all_effects(*posterior))
    throw Error(
        "the log likelihood of each row needs the effects of all groups, and the run does not keep them: set "
        "`keep_groups` to all");
  const auto rows = std::make_shared<const RowLogLikelihood>(posterior->population());
  const auto part = [rows, posterior](std::span<const double> parameters, std::size_t first,
                                      std::span<double> out) {
    const MixedLayout& at = posterior->layout();
    const std::size_t numbers = posterior->population().reported_numbers();
    const auto add_effects = [&](std::size_t begin, std::span<double> eta) {
      std::size_t next = at.reported;
      for (const GroupTerm& term : posterior->terms()) {
        const std::size_t q = term.width();
        for (std::size_t i = 0; i < eta.size(); ++i)
          for (std::size_t c = 0; c < q; ++c)
            eta[i] += static_cast<double>(term.value(c, begin + i)) *
                      parameters[next + term.level_of_row[begin + i] * q + c];
        next += term.count() * q;
      }
    };
    rows->part(parameters, parameters.subspan(at.reported - numbers, numbers), add_effects, first, out);
  };
  return {{.name = "y", .shape = {rows->rows()}, .dims = {"observation"}},
          [part](std::span<const double> parameters, std::span<double> out) { part(parameters, 0, out); },
          part};
}

}  // namespace

Model regression_model(MixedPosterior data) {
  const auto posterior = std::make_shared<MixedPosterior>(std::move(data));
  Model model{AnyTarget(*posterior)};
  model.name_indices = posterior->name_indices();
  model.arrays = mixed_arrays(*posterior);
  model.log_likelihood = [posterior] { return mixed_log_likelihood(*posterior); };
  model.derived["priors"] = priors_json(*posterior);
  model.words = {"priors: " + describe_priors(posterior->population()) + "; " +
                 describe_group_priors(*posterior)};
  model.check_data = [posterior] {
    return data_warnings(posterior->population(), posterior->population().pool());
  };
  model.own_sampler = {GroupChainMaker::sampler, [posterior](const RunSettings&) {
                         return std::make_unique<GroupChainMaker>(*posterior);
                       }};
  model.shown = posterior->layout().reported;
  return model;
}

}  // namespace onward::glm
