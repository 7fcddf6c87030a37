#include "formula_model.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "model_settings.hpp"
#include "onward/error.hpp"
#include "onward/formula/frame.hpp"
#include "onward/glm/model.hpp"
#include "onward/glm/predict.hpp"
#include "onward/glm/prior_words.hpp"
#include "onward/model/registry.hpp"
#include "onward/table/read_table.hpp"
#include "onward/util/decimal.hpp"
#include "onward/util/memory.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/release.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

void check_together(const OptionValues& given) {
  for (const char* field : {"data", "formula"})
    if (!given.has(field))
      throw UsageError(
          fmt::format("`{}` is missing: a regression from a table needs `data` and `formula`", field));
  for (const char* field : {"x", "y", "trials", "offset", "weights", "names"})
    if (given.has(field))
      throw UsageError(
          fmt::format("`{}` goes with plain arrays: a formula has it from the table instead", field));
  if (!given.flag("intercept"))
    throw UsageError("a formula says itself that there is no intercept: write y ~ 0 + x");
}

/// "a, b" by its commas, blanks taken off.
std::vector<std::string> listed(std::string_view text, char separator = ',') {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.emplace_back(part);
    begin = end + 1;
  }
  return parts;
}

/// `levels` "g=a,b,c; h=x,y"
std::map<std::string, std::vector<std::string>> levels_of(const std::string& text) {
  std::map<std::string, std::vector<std::string>> levels;
  for (const std::string& one : listed(text, ';')) {
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("`levels` {} cannot be read: write it as NAME=a,b,c", one));
    levels[listed(one.substr(0, equals)).front()] = listed(one.substr(equals + 1));
  }
  return levels;
}

ReadTableOptions table_options(const OptionValues& given) {
  ReadTableOptions options;
  if (given.has("separator")) {
    const std::string word = given.text("separator");
    options.separator = word == "tab" ? '\t' : word == "semicolon" ? ';' : ',';
  }
  if (given.has("na")) options.na = listed(given.text("na"));
  return options;
}

/// What the family makes of the response.
void check_response(const formula::Frame& frame, const Table& table, Family family) {
  if (frame.y.empty() && frame.rows > 0) throw UsageError("the formula has no response: write it as y ~ x");
  if (frame.response_levels.empty()) return;
  const bool two = family == Family::bernoulli || family == Family::probit || family == Family::cloglog;
  if (two && frame.response_levels.size() != 2)
    throw Error(fmt::format("the response {} has {} levels ({}): the {} family needs two of them",
                            frame.response_name, frame.response_levels.size(), joined(frame.response_levels),
                            to_string(family)));
  if (two || family == Family::categorical || family == Family::ordinal) return;
  const auto column = table.look_up(frame.response_name);
  const bool among_numbers = column && column->text_among_numbers();
  const std::string& text = among_numbers ? column->text_among_numbers()->text
                                          : frame.response_levels[static_cast<std::size_t>(frame.y.front())];
  const std::string place = among_numbers
                                ? fmt::format("{}:{}", table.source(), column->text_among_numbers()->line)
                                : table.place_of_row(frame.table_rows.empty() ? 0 : frame.table_rows.front());
  std::string remedy =
      fmt::format("the {} family needs numbers, and bernoulli, categorical and ordinal are for classes",
                  to_string(family));
  if (among_numbers) remedy = "correct the entry, or name it among the words for missing values";
  if (has_decimal_comma(text)) remedy = "write numbers with decimal points, not commas";
  throw Error(fmt::format("the response {} must be a number, and {} has \"{}\" in this column: {}",
                          printable(frame.response_name), place, printable(text), remedy));
}

std::shared_ptr<const Observations> observations_of(const formula::Frame& frame, const Table& table,
                                                    Family family) {
  if (family == Family::binomial && frame.trials.empty())
    throw UsageError(
        "the binomial family needs the number of trials of each row: write the response as `successes | "
        "trials(n)` or cbind(successes, failures), or take the family bernoulli for outcomes of 0 and 1");
  if (family != Family::binomial && !frame.trials.empty())
    throw UsageError(
        fmt::format("the response {} counts successes among trials: that is the family "
                    "binomial, not {}",
                    frame.response_name, to_string(family)));
  RowOptions options;
  options.weights = frame.weights;
  options.trials = frame.trials;
  options.offset = frame.offset;
  if (family == Family::categorical || family == Family::ordinal)
    options.classes = frame.response_levels.size();
  options.place = [&](std::size_t row) {
    return table.place_of_row(frame.table_rows.empty() ? row : frame.table_rows[row]);
  };
  if (family != Family::ordinal || frame.response_levels.empty())
    return std::make_shared<const Observations>(family, frame.y, options);
  std::vector<double> y = frame.y;  // levels are numbered from 0, and ordered classes from 1
  for (double& label : y) ++label;
  return std::make_shared<const Observations>(family, y, options);
}

std::vector<GroupTerm> terms_of(std::vector<formula::GroupTerm> groups) {
  std::vector<GroupTerm> terms;
  for (formula::GroupTerm& group : groups) {
    GroupTerm& term = terms.emplace_back();
    term.factor = std::move(group.factor);
    term.levels = std::move(group.levels);
    term.level_of_row = group.level_of_row;
    release(group.level_of_row);
    term.columns = std::move(group.columns);
    for (auto& values : group.values) {
      Floats padded;
      if (!values.empty()) {
        padded.assign(padded_rows(values.size()), 0.0f);
        std::copy(values.begin(), values.end(), padded.begin());
      }
      term.values.push_back(std::move(padded));
      release(values);
    }
  }
  return terms;
}

/// Which effects are reported: all of them, none, or so many from all over.
std::vector<std::size_t> effects_to_keep(const MixedPosterior& posterior, const std::string& word,
                                         std::vector<std::string>& notes) {
  const std::size_t first = posterior.layout().reported, all = posterior.dimension() - first;
  constexpr std::size_t usual_most = 5000;
  std::size_t count = all;
  if (word == "none") {
    count = 0;
  } else if (word.empty()) {
    if (all > usual_most) {
      count = 0;
      notes.push_back(fmt::format(
          "The {} effects of groups are sampled but not kept, since they are more than {}: set `keep_groups` "
          "to all, or to a number of them, to keep them.",
          all, usual_most));
    }
  } else if (word != "all") {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc{} || end != word.data() + word.size())
      throw UsageError(fmt::format("`keep_groups` {}: it is all, none or a number of effects", word));
  }
  count = std::min(count, all);
  std::vector<std::size_t> places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = first + i * all / count;
  return places;
}

/// The response, and what else says what was observed: trials and weights.
std::vector<DataArray> outcomes(const std::shared_ptr<const Observations>& y) {
  std::vector<DataArray> arrays;
  const auto add = [&](const char* name, DataArray::Role role,
                       double (Observations::*number)(std::size_t) const) {
    arrays.push_back({role,
                      {.name = name, .shape = {y->rows()}, .dims = {"observation"}},
                      NumberType::float64,
                      [y, number](const auto& take) {
                        std::vector<double> values(y->rows());
                        for (std::size_t i = 0; i < values.size(); ++i) values[i] = ((*y).*number)(i);
                        take(values);
                      }});
  };
  add("y", DataArray::Role::observed, &Observations::y);
  if (y->family() == Family::binomial) add("trials", DataArray::Role::constant, &Observations::trials);
  if (!y->weights().empty()) add("weights", DataArray::Role::constant, &Observations::weight);
  return arrays;
}

nlohmann::ordered_json groups_json(const std::vector<GroupTerm>& terms) {
  auto list = nlohmann::ordered_json::array();
  for (const GroupTerm& term : terms)
    list.push_back({{"group", term.factor}, {"levels", term.count()}, {"columns", term.columns}});
  return list;
}

bool has_intercepts(const GroupTerm& term) {
  return std::ranges::find(term.columns, "Intercept") != term.columns.end();
}

/// Whether a grouping factor is a population-level term too, with a coefficient for each level. A number that
/// is a term has one slope, which goes well with its levels as groups.
bool is_coefficient_factor(const formula::Frame& frame, const std::string& name) {
  const auto factors = frame.state.value("factors", nlohmann::ordered_json::object());
  for (std::size_t t = 0; t < frame.term_labels.size(); ++t) {
    const std::string& label = frame.term_labels[t];
    const auto& columns = frame.variables_of_term[t];
    if (columns.size() == 1 && columns[0] == name && factors.contains(label)) return true;
  }
  return false;
}

/// Groups whose standard deviation the data cannot tell from what the family has itself for single rows (for
/// counts such groups are a way to let them vary more), and slopes whose intercepts are far from all data.
std::vector<std::string> notes_on_groups(const FormulaParts& parts) {
  const bool counts = parts.family == Family::binomial || parts.family == Family::poisson ||
                      parts.family == Family::negative_binomial ||
                      parts.family == Family::zero_inflated_poisson;
  std::vector<std::string> notes;
  for (const GroupTerm& term : parts.terms)
    if (!counts && term.count() == parts.frame.rows)
      notes.push_back(fmt::format(
          "every level of {} has one row: its effects cannot be told from what varies from row to "
          "row anyway, so that the priors decide and chains mix slowly. Leave the term out.",
          term.factor));
  for (const GroupTerm& term : parts.terms)
    if (has_intercepts(term) && is_coefficient_factor(parts.frame, term.factor))
      notes.push_back(fmt::format(
          "the factor {0} has coefficients of its own and intercepts as a group: the data cannot tell them "
          "apart, so that the priors decide. Leave {0} out of one of the two.",
          printable(term.factor)));
  for (const GroupTerm& term : parts.terms)
    if (has_intercepts(term))
      for (const std::string& column : far_columns(*parts.y, parts.terms, term.factor))
        notes.push_back(
            fmt::format("{0} is far from 0 in all rows, and has slopes by {1}: the intercepts of {1}, and "
                        "how they go with "
                        "the slopes, are where {0} is 0. Subtract its mean first, or write scale({0}), to "
                        "have them where "
                        "the data are.",
                        column, term.factor));
  return notes;
}

}  // namespace

FormulaParts read_formula(const OptionValues& given, const BuildFor& what_for, ThreadPool& pool) {
  check_together(given);
  FormulaParts parts;
  parts.family = family_of(given);
  const formula::Formula formula(given.text("formula"));
  ReadTableOptions reading = table_options(given);
  if (!formula.has_dot()) reading.keep = formula.variables();
  const Table* const in_memory = what_for.table(given, "data");
  Table table = in_memory != nullptr ? *in_memory : read_table(given.text("data"), reading);
  formula::FrameOptions frame_options;
  if (given.text("contrasts") == "sum") frame_options.contrasts = formula::Contrasts::sum;
  if (given.text("missing") == "refuse") frame_options.missing = formula::Missing::refuse;
  if (given.has("levels")) frame_options.levels = levels_of(given.text("levels"));
  formula::Frame& frame = parts.frame;
  frame = make_frame(formula, table, frame_options);
  check_response(frame, table, parts.family);
  table.give_back_columns();  // the frame keeps those that predictors are made of
  parts.terms = terms_of(std::move(frame.groups));
  give_back_memory();  // what columns and codes have left, before copies of y come on top
  parts.notes = table.notes();
  parts.notes.insert(parts.notes.end(), frame.notes.begin(), frame.notes.end());
  parts.y = observations_of(frame, table, parts.family);
  release(frame.y);
  parts.options = posterior_options(given, parts.family, frame.intercept, frame.column_names);
  parts.options.intercept_name = "(Intercept)";
  parts.design = std::make_shared<Design>(Design::from_columns(
      frame.rows, frame.column_names.size(), frame.intercept,
      [&](std::size_t j, std::size_t first, std::span<double> out) { frame.column(j, first, out); },
      frame.column_names, pool, parts.terms.empty()));  // with groups nobody transforms the columns
  std::ranges::move(notes_on_groups(parts), std::back_inserter(parts.notes));
  parts.statements = parse_priors(given.text("prior"));
  return parts;
}

std::vector<GroupPriors> group_priors(const FormulaParts& parts, const RegressionPosterior& population) {
  std::vector<GroupPriors> priors;
  if (!parts.terms.empty()) priors = default_group_priors(population.observations(), parts.terms);
  apply_priors(parts.statements, parts.terms, priors);
  return priors;
}

Model build_from_formula(const OptionValues& given, const BuildFor& what_for) {
  auto pool =
      std::make_shared<ThreadPool>(what_for.run != nullptr ? threads_or_all(what_for.run->threads) : 1);
  FormulaParts parts = read_formula(given, what_for, *pool);
  formula::Frame& frame = parts.frame;
  frame.design.reset();  // and with it the columns of the table
  give_back_memory();
  std::vector<std::string>& notes = parts.notes;
  RegressionPosterior population(std::move(parts.design), parts.y, std::move(parts.options), pool);

  nlohmann::ordered_json about{{"rows", frame.rows}, {"dropped_rows", frame.dropped}};
  // Classes that are numbers in the table are called what they are there.
  if (parts.y->classes() > 1 && frame.response_levels.empty())
    for (std::size_t k = 0; k < parts.y->classes(); ++k)
      about["response_levels"].push_back(fmt::format("{}", k));
  if (!frame.response_levels.empty()) about["response_levels"] = frame.response_levels;
  if (!parts.terms.empty()) about["groups"] = groups_json(parts.terms);
  about["state"] = std::move(frame.state);
  std::vector<GroupPriors> priors = group_priors(parts, population);
  if (parts.terms.empty() && given.has("keep_groups"))
    throw UsageError("`keep_groups` is of groups, and the formula has none");
  Model model = [&] {
    if (parts.terms.empty()) return regression_model(std::move(population));
    MixedPosterior mixed(std::move(population), std::move(parts.terms), std::move(priors));
    mixed.report_effects(effects_to_keep(mixed, given.text("keep_groups"), notes));
    return regression_model(std::move(mixed));
  }();
  if (given.text("show") == "groups") {
    if (model.shown && model.names.size() == *model.shown)
      notes.emplace_back(
          "`show` groups has nothing to show, since no effects of groups are kept: set `keep_groups` to all, "
          "or "
          "to a number of them.");
    if (!model.shown) notes.emplace_back("`show` groups has nothing to show: the formula has no groups.");
    model.shown.reset();
  }
  model.notes.insert(model.notes.end(), notes.begin(), notes.end());
  model.derived["formula"] = std::move(about);
  model.data = outcomes(parts.y);
  if (!frame.table_rows.empty())
    model.log_likelihood = [make = std::move(model.log_likelihood), rows = std::move(frame.table_rows)] {
      LogLikelihood likelihood = make();
      likelihood.rows = rows;
      return likelihood;
    };
  return model;
}

FittedRegression FittedRegression::from_json(const nlohmann::ordered_json& model) {
  const ModelSpec spec = ModelSpec::from_json(model);
  if (spec.kind != "glm" || !spec.options.contains("formula"))
    throw Error(
        fmt::format("the run is of {}{}: only regressions from a table and a formula can predict new data",
                    spec.kind, spec.kind == "glm" ? " on plain arrays" : ""));
  const OptionValues given("glm", model_registry().find("glm").options, spec.options);
  FittedRegression fitted;
  fitted.family = family_of(given);
  fitted.data = given.text("data");
  fitted.formula = given.text("formula");
  fitted.table = table_options(given);
  for (const NumberInfo& number : family_numbers(fitted.family))
    fitted.known.push_back(given.number(number.name));
  const nlohmann::ordered_json about =
      model.value(nlohmann::ordered_json::json_pointer("/derived/formula"), nlohmann::ordered_json::object());
  if (!about.contains("state")) throw UsageError("the model has no `state` of its formula");
  fitted.state = about["state"];
  // A response of text need not be in new data, and a reader would ask for it.
  const auto predictors = formula::Formula(fitted.formula).variables(false);
  const auto dot = fitted.state.value("dot", std::vector<std::string>());
  for (const std::string& name : formula::text_columns(fitted.state))
    if (std::ranges::find(predictors, name) != predictors.end() || std::ranges::find(dot, name) != dot.end())
      fitted.table.text.push_back(name);
  fitted.classes = about.value("response_levels", std::vector<std::string>());
  return fitted;
}

std::vector<Option> formula_options() {
  using enum Option::Type;
  return {
      {.name = "data", .type = table, .help = "a table: CSV with a header line, plain or .gz"},
      {.name = "formula", .help = "what is explained by what, as in R and lme4: \"y ~ x1 + x2 + (1 | g)\""},
      {.name = "contrasts",
       .type = word,
       .help = "how factors become columns: treatment or sum",
       .usual = "treatment",
       .words = {"treatment", "sum"}},
      {.name = "levels",
       .help = "the levels of factors, in order: \"g=a,b,c; h=x,y\"",
       .otherwise = "sorted",
       .repeatable = true},
      {.name = "missing",
       .type = word,
       .help = "rows with missing values: drop or refuse",
       .usual = "drop",
       .words = {"drop", "refuse"}},
      {.name = "na", .help = "words for missing values, by commas", .otherwise = "NA and nothing at all"},
      {.name = "separator",
       .type = word,
       .help = "of the table's columns: comma, semicolon or tab",
       .otherwise = "what the header line has",
       .words = {"comma", "semicolon", "tab"}},
      {.name = "keep_groups",
       .help = "effects of groups that are kept: all, none or a number of them",
       .otherwise = "all up to 5000, else none"},
      {.name = "show", .help = "groups: the table has the effects of each level too", .for_runs = true},
  };
}

}  // namespace onward::glm
