#include "onward/glm/model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "model_arrays.hpp"
#include "model_data.hpp"
#include "onward/error.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/glm/mode.hpp"
#include "onward/model/registry.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

/// normal:SCALE, student-t:DF:SCALE or flat.
Prior parse_prior(const std::string& field, const std::string& word) {
  const auto wrong = [&] {
    return UsageError(fmt::format(
        "`{0}` {1} is not known: it is normal:SCALE, student-t:DF:SCALE or flat, as in `{0}` normal:2.5",
        field, word));
  };
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find(':', begin), word.size());
    parts.push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto positive = [&](const std::string& part, const char* what) {
    double number = 0;
    const char* const end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc{} || at != end || !(number > 0) || !std::isfinite(number))
      throw UsageError(
          fmt::format("`{}` {}: {} is {}, and must be a number above 0", field, word, what, part));
    return number;
  };
  if (parts[0] == "flat" && parts.size() == 1) return Prior::flat();
  if (parts[0] == "normal" && parts.size() == 2) return Prior::normal(0, positive(parts[1], "the scale"));
  if (parts[0] == "student-t" && parts.size() == 3)
    return Prior::student_t(positive(parts[1], "the number of degrees of freedom"), 0,
                            positive(parts[2], "the scale"));
  throw wrong();
}

/// The family, taking the link into account: probit and cloglog are links of bernoulli.
Family parse_family_and_link(const std::string& name, const std::string& link) {
  const Family family = glm::parse_family(name);
  if (link.empty()) return family;
  std::vector<std::string> links;
  switch (family) {
    case Family::gaussian:
      links = {"identity"};
      break;
    case Family::bernoulli:
      links = {"logit", "probit", "cloglog"};
      break;
    case Family::probit:
    case Family::cloglog:
      links = {name};
      break;
    case Family::binomial:
    case Family::categorical:
      links = {"logit"};
      break;
    case Family::poisson:
    case Family::negative_binomial:
      links = {"log"};
      break;
  }
  if (std::find(links.begin(), links.end(), link) == links.end())
    throw UsageError(fmt::format("`link` {} is not one of family {}: {} {}", link, name,
                                 links.size() > 1 ? "they are" : "it is", joined(links)));
  if (link == "probit") return Family::probit;
  if (link == "cloglog") return Family::cloglog;
  return family;
}

/// What is wrong with options that are right one by one.
void check_together(const OptionValues& given, Family family) {
  const std::string name = given.text("family");
  if (given.has("sigma") && family != Family::gaussian)
    throw UsageError(fmt::format("`sigma` is for the gaussian family, not for {}", name));
  if (given.has("prior_scale") && family != Family::gaussian && family != Family::negative_binomial)
    throw UsageError(fmt::format("`prior_scale` is of sigma or phi, which {} has not", name));
  if (given.has("prior_intercept") && !given.flag("intercept"))
    throw UsageError(
        "`prior_intercept` is of the intercept, which `intercept` says to leave out: they do not go "
        "together");
  if (given.has("phi") && family != Family::negative_binomial)
    throw UsageError(fmt::format("`phi` is for the negative-binomial family, not for {}", name));
  for (const char* field : {"sigma", "phi"})
    if (const auto value = given.number(field); value && (!(*value > 0) || !std::isfinite(*value)))
      throw UsageError(fmt::format("`{}` is {}: it must be a finite number above 0", field, *value));
  if (family == Family::binomial && !given.has("trials"))
    throw UsageError("`trials` is missing: glm needs `trials` FILE for the binomial family");
}

/// Reads the data and checks everything.
RegressionPosterior make_posterior(const OptionValues& given, const BuildFor& what_for,
                                   std::shared_ptr<ThreadPool> pool) {
  const Family family = parse_family_and_link(given.text("family"), given.text("link"));
  PosteriorOptions options;
  if (given.has("prior")) options.coefficients = parse_prior("prior", given.text("prior"));
  if (given.has("prior_intercept"))
    options.intercept = parse_prior("prior_intercept", given.text("prior_intercept"));
  if (given.has("prior_scale")) options.scale = parse_prior("prior_scale", given.text("prior_scale"));
  check_together(given, family);
  options.known_scale = given.has("sigma") ? given.number("sigma") : given.number("phi");
  if (given.has("names")) options.column_names = read_names(given.text("names"));

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

/// The priors as numbers, and where the intercept's stands.
nlohmann::ordered_json priors_json(const RegressionPosterior& posterior) {
  const auto one = [](const Prior& prior) -> nlohmann::ordered_json {
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
    }
    return {};
  };
  const bool intercept = posterior.design().has_intercept();
  nlohmann::ordered_json json, coefficients = nlohmann::ordered_json::array();
  if (intercept) {
    json["intercept"] = one(posterior.priors()[0]);
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
  if (posterior.samples_scale()) json[posterior.names().back()] = one(posterior.scale_prior());
  return json;
}

Model build_regression(const OptionValues& given, const BuildFor& what_for) {
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
  return {
      {.name = "x",
       .type = array,
       .help = "the predictors, one row for each observation, in .npy",
       .required = true},
      {.name = "y", .type = array, .help = "the outcomes, in .npy", .required = true},
      {.name = "family", .help = "one of " + joined(family_names()), .required = true},
      {.name = "link", .help = "for bernoulli: logit, probit or cloglog", .otherwise = "logit"},
      {.name = "trials", .type = array, .help = "binomial: the number of trials of each row, in .npy"},
      {.name = "offset", .type = array, .help = "what is added to the predictor of each row, in .npy"},
      {.name = "weights", .type = array, .help = "how many times each row counts, in .npy"},
      {.name = "prior",
       .help = "of the coefficients: " + some_prior,
       .otherwise = "normal, 2.5 divided by the column's sd; gaussian: times the sd of y"},
      {.name = "prior_intercept",
       .help = "of the intercept at the means of the columns, in the same words",
       .otherwise = "normal:10; gaussian: 10 sds of y about its mean"},
      {.name = "prior_scale",
       .help = "of sigma or phi, cut at 0, in the same words",
       .otherwise = "student-t:3:2.5; gaussian: 2.5 sds of y"},
      {.name = "intercept",
       .type = flag,
       .help = "a column of ones before those of X",
       .on_by_default = true},
      {.name = "sigma", .type = number, .help = "gaussian: known", .otherwise = "sampled"},
      {.name = "phi", .type = number, .help = "negative-binomial: known", .otherwise = "sampled"},
      {.name = "names", .type = file, .help = "a name for each column of X, a line each"},
  };
}

}  // namespace

Model regression_model(RegressionPosterior data) {
  // The target and the sampler along axes share data, which a copy does not copy.
  const auto posterior = std::make_shared<RegressionPosterior>(std::move(data));
  Model model{AnyTarget(*posterior)};
  model.name_indices = posterior->name_indices();
  model.arrays = coefficient_arrays(*posterior);
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
  registry.add(
      {.name = "glm",
       .summary = fmt::format("a regression on plain arrays, of one of {} families", family_names().size()),
       .options = describe_options(),
       .own_sampler = AxisChainMaker::sampler,
       .build = build_regression});
}

}  // namespace onward::glm
