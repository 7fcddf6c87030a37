#pragma once
// A regression from a table and a formula.

#include "onward/formula/frame.hpp"
#include "onward/glm/group_term.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/glm/prior_words.hpp"
#include "onward/model/model.hpp"
#include "onward/util/option.hpp"

namespace onward::glm {

/// What a formula and a table come to, before there is a posterior.
struct FormulaParts {
  Family family = Family::gaussian;
  formula::Frame frame;  ///< without its groups, which are `terms`, and its response, which is `y`
  std::vector<std::string> notes;
  std::shared_ptr<const Observations> y;
  std::shared_ptr<Design> design;
  PosteriorOptions options;
  std::vector<GroupTerm> terms;
  std::vector<PriorStatement> statements;
};

/// `given` has the options `data` and `formula`.
FormulaParts read_formula(const OptionValues& given, const BuildFor& what_for, ThreadPool& pool);

/// The default priors of the terms, and what is said of them in words. Throws UsageError for words about
/// groups that are not there.
std::vector<GroupPriors> group_priors(const FormulaParts& parts, const RegressionPosterior& population);

/// `given` has the options `data` and `formula`.
Model build_from_formula(const OptionValues& given, const BuildFor& what_for);

/// The options that belong to tables and formulas.
std::vector<Option> formula_options();

}  // namespace onward::glm
