#include "onward/glm/model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "formula_model.hpp"
#include "model_arrays.hpp"
#include "model_data.hpp"
#include "model_priors.hpp"
#include "model_settings.hpp"
#include "onward/error.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/glm/mode.hpp"
#include "onward/glm/prior_words.hpp"
#include "onward/model/registry.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

/// What is wrong with options that are right one by one.
void check_together(const OptionValues& given, Family family) {
  for (const char* field : {"x", "y"})
    if (!given.has(field))
      throw UsageError(fmt::format(
          "`{}` is missing: glm needs `data` FILE.csv and a `formula`, or `x` FILE.npy and `y` FILE.npy",
          field));
  for (const Option& option : formula_options())
    if (given.has(option.name))
      throw UsageError(fmt::format("`{}` goes with a `formula`, not with `x` and `y`", option.name));
  if (given.has("prior_intercept") && !given.flag("intercept"))
    throw UsageError(
        "`prior_intercept` is of the intercept, which `intercept` says to leave out: they do not go "
        "together");
  if (family == Family::binomial && !given.has("trials"))
    throw UsageError("`trials` is missing: glm needs `trials` FILE for the binomial family");
}

/// Reads the data and checks everything.
RegressionPosterior make_posterior(const OptionValues& given, const BuildFor& what_for,
                                   std::shared_ptr<ThreadPool> pool) {
  const Family family = family_of(given);
  check_together(given, family);
  std::vector<std::string> names;
  if (given.has("names")) names = read_names(given.text("names"));
  PosteriorOptions options = posterior_options(given, family, given.flag("intercept"), std::move(names));
  std::vector<GroupPriors> none;
  apply_priors(parse_priors(given.text("prior")), {}, none);  // which refuses those of groups

  RowOptions rows;
  const auto numbers = [&](const char* field) { return read_rows(field, what_for.array(given, field)); };
  const auto y = numbers("y");
  if (given.has("trials")) rows.trials = numbers("trials");
  if (given.has("offset")) rows.offset = numbers("offset");
  if (given.has("weights")) rows.weights = numbers("weights");
  auto observations = std::make_shared<Observations>(family, y, rows);
  auto design = std::make_shared<Design>(
      read_design(what_for.array(given, "x"), given.flag("intercept"), options.column_names));
  return {std::move(design), std::move(observations), std::move(options), std::move(pool)};
}

Model build_regression(const OptionValues& given, const BuildFor& what_for) {
  if (given.has("formula") || given.has("data")) return build_from_formula(given, what_for);
  std::shared_ptr<ThreadPool> pool;
  if (what_for.run != nullptr) pool = std::make_shared<ThreadPool>(threads_or_all(what_for.run->threads));
  RegressionPosterior posterior = make_posterior(given, what_for, std::move(pool));
  auto data = data_arrays(given, what_for, posterior);
  Model model = regression_model(std::move(posterior));
  model.data = std::move(data);
  return model;
}

std::vector<Option> describe_options() {
  using enum Option::Type;
  const std::string some_prior = "normal:SCALE, student-t:DF:SCALE or flat";
  std::vector<Option> options = formula_options();
  const std::vector<Option> others{
      {.name = "x",
       .type = array,
       .help = "instead of a table: the predictors, one row for each observation, in .npy"},
      {.name = "y", .type = array, .help = "the outcomes, in .npy"},
      {.name = "family", .help = "one of " + joined(family_names()), .required = true},
      {.name = "link", .help = "for bernoulli: logit, probit or cloglog", .otherwise = "logit"},
      {.name = "trials", .type = array, .help = "binomial: the number of trials of each row, in .npy"},
      {.name = "offset", .type = array, .help = "what is added to the predictor of each row, in .npy"},
      {.name = "weights", .type = array, .help = "how many times each row counts, in .npy"},
      {.name = "prior",
       .help = "in words, any number of times: \"b ~ normal(0, 2.5)\", \"b[age] ~ student_t(3, 0, 1)\", "
               "\"sd(g) ~ exponential(1)\", \"cor ~ lkj(2)\"; of all coefficients also " +
               some_prior,
       .otherwise = "normal, 2.5 divided by the column's sd; gaussian: times the sd of y",
       .repeatable = true},
      {.name = "prior_intercept",
       .help = "of the intercept at the means of the columns, in the same words",
       .otherwise = "normal:10; gaussian: 10 sds of y about its mean; ordinal: student-t:3:2.5"},
      {.name = "prior_scale",
       .help = "of sigma, phi, shape, zi or the gaps between thresholds, cut at 0, in the same words",
       .otherwise = "student-t:3:2.5; gaussian and student-t: 2.5 sds of y; gamma: student-t:1:10; "
                    "zero-inflated-poisson: uniform"},
      {.name = "intercept",
       .type = flag,
       .help = "a column of ones before those of X",
       .on_by_default = true},
      {.name = "sigma", .type = number, .help = "gaussian and student-t: known", .otherwise = "sampled"},
      {.name = "nu",
       .type = number,
       .help = "student-t: known degrees of freedom, above 1",
       .otherwise = "sampled"},
      {.name = "phi", .type = number, .help = "negative-binomial: known", .otherwise = "sampled"},
      {.name = "shape", .type = number, .help = "gamma: known", .otherwise = "sampled"},
      {.name = "zi",
       .type = number,
       .help = "zero-inflated-poisson: known probability of a certain 0",
       .otherwise = "sampled"},
      {.name = "names", .type = file, .help = "a name for each column of X, a line each"},
  };
  options.insert(options.end(), others.begin(), others.end());
  // Help begins with what nearly every regression is given.
  for (const char* name : {"show", "prior", "family", "formula", "data"}) {
    const auto at = std::ranges::find(options, name, &Option::name);
    std::rotate(options.begin(), at, at + 1);
  }
  return options;
}

}  // namespace

Model regression_model(RegressionPosterior data) {
  // The target and the sampler along axes share data, which a copy does not copy.
  const auto posterior = std::make_shared<RegressionPosterior>(std::move(data));
  Model model{AnyTarget(*posterior)};
  model.name_indices = posterior->name_indices();
  model.arrays = parameter_arrays(*posterior);
  model.log_likelihood = [posterior] { return log_likelihood(*posterior); };
  model.derived["priors"] = priors_json(*posterior);
  model.words = {"priors: " + describe_priors(*posterior)};
  model.check_data = [posterior] { return data_warnings(*posterior, posterior->pool()); };
  model.own_sampler = {AxisChainMaker::sampler, [posterior](const RunSettings&) {
                         return std::make_unique<AxisChainMaker>(std::move(*posterior));
                       }};
  return model;
}

void register_models(ModelRegistry& registry) {
  registry.add({.name = "glm",
                .summary = fmt::format(
                    "a regression, from a table and a formula or from arrays, of one of {} families",
                    family_names().size()),
                .options = describe_options(),
                .own_sampler = AxisChainMaker::sampler,
                .build = build_regression});
}

}  // namespace onward::glm
