#include "model_priors.hpp"

#include <fmt/format.h>

namespace onward::glm {
namespace {

/// One prior as numbers.
nlohmann::ordered_json one(const Prior& prior) {
  switch (prior.kind) {
    case Prior::Kind::flat:
      return {{"distribution", "flat"}};
    case Prior::Kind::normal:
      return {{"distribution", "normal"}, {"location", prior.location}, {"scale", prior.scale}};
    case Prior::Kind::student_t:
      return {{"distribution", "student-t"},
              {"degrees", prior.degrees},
              {"location", prior.location},
              {"scale", prior.scale}};
    case Prior::Kind::laplace:
      return {{"distribution", "laplace"}, {"location", prior.location}, {"scale", prior.scale}};
    case Prior::Kind::exponential:
      return {{"distribution", "exponential"}, {"rate", 1 / prior.scale}};
    case Prior::Kind::gamma:
      return {{"distribution", "gamma"}, {"shape", prior.degrees}, {"rate", 1 / prior.scale}};
    case Prior::Kind::beta:
      return {{"distribution", "beta"}, {"a", prior.degrees}, {"b", prior.scale}};
  }
  return {};
}

}  // namespace

/// And where the intercept's stands.
nlohmann::ordered_json priors_json(const RegressionPosterior& posterior) {
  const bool intercept = posterior.design().has_intercept();
  nlohmann::ordered_json json, coefficients = nlohmann::ordered_json::array();
  if (intercept) {
    json["intercept"] = one(posterior.intercept_prior());
    json["intercept"]["at"] = posterior.means().empty() ? "0" : "the means of the predictors";
  }
  const auto& names = posterior.options().column_names;
  for (std::size_t j = intercept ? 1 : 0; j < posterior.priors().size(); ++j) {
    const std::size_t column = j - (intercept ? 1 : 0);
    nlohmann::ordered_json entry{
        {"name", names.empty() ? fmt::format("beta.{}", column + 1) : names[column]}};
    entry.update(one(posterior.priors()[j]));
    if (!posterior.means().empty()) entry["mean_of_predictor"] = posterior.means()[j];
    coefficients.push_back(std::move(entry));
  }
  json["coefficients"] = std::move(coefficients);
  for (const std::size_t i : posterior.sampled_numbers())  // gaps are all alike, and have one entry
    json[posterior.observations().numbers()[i].name] = one(posterior.number_prior(i));
  return json;
}

nlohmann::ordered_json priors_json(const MixedPosterior& posterior) {
  nlohmann::ordered_json json = priors_json(posterior.population()), groups = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < posterior.terms().size(); ++t) {
    const GroupTerm& term = posterior.terms()[t];
    nlohmann::ordered_json entry{{"group", term.factor}};
    for (std::size_t c = 0; c < term.width(); ++c)
      entry["sd"][term.columns[c]] = one(posterior.priors()[t].sds[c]);
    if (term.width() > 1) entry["cor"] = {{"distribution", "lkj"}, {"shape", posterior.priors()[t].lkj}};
    groups.push_back(std::move(entry));
  }
  json["groups"] = std::move(groups);
  return json;
}

}  // namespace onward::glm
