#include "onward/glm/effects.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

/// A column of the data: where it is held, and where it goes.
struct Predictor {
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> levels;  // of a factor or a logical column, in the order of the fit
  std::vector<double> values;       // of a number that the formula takes for a factor: those that occur
  double mean = 0, sd = 0, least = 0, most = 0;

  bool is_factor() const { return !levels.empty() || !values.empty(); }
  std::size_t count() const { return levels.empty() ? values.size() : levels.size(); }
  std::string level(std::size_t i) const { return levels.empty() ? spelled_number(values[i]) : levels[i]; }
};

Predictor describe(const Column& column, const formula::Frame& frame, const nlohmann::ordered_json& state) {
  Predictor result;
  result.kind = column.kind();
  const auto factors = state.value("factors", nlohmann::ordered_json::object());
  if (column.kind() != ColumnKind::number) {
    result.levels = factors.contains(column.name()) ? factors[column.name()].get<std::vector<std::string>>()
                                                    : column.levels();
    return result;
  }
  double sum = 0, squares = 0, count = 0;
  result.least = std::numeric_limits<double>::infinity();
  result.most = -result.least;
  const bool as_factor = factors.contains(fmt::format("factor({})", column.name())) ||
                         factors.contains(fmt::format("as.factor({})", column.name()));
  for (std::size_t i = 0; i < frame.rows; ++i) {
    const double x = column.number(frame.table_rows.empty() ? i : frame.table_rows[i]);
    if (!std::isfinite(x)) continue;  // the formula may do without it
    sum += x, squares += x * x, ++count;
    result.least = std::min(result.least, x);
    result.most = std::max(result.most, x);
    if (as_factor && std::ranges::find(result.values, x) == result.values.end()) result.values.push_back(x);
  }
  std::ranges::sort(result.values);
  result.mean = sum / count;
  result.sd = std::sqrt(std::max(squares / count - result.mean * result.mean, 0.0));
  return result;
}

/// What one predictor is in every row of a grid: levels by number, or numbers.
Column column_of(const std::string& name, const Predictor& predictor, const std::vector<double>& values) {
  if (predictor.kind == ColumnKind::number) return Column::numbers(name, std::span<const double>(values));
  std::vector<std::uint32_t> codes;
  for (const double value : values) codes.push_back(static_cast<std::uint32_t>(value));
  return predictor.kind == ColumnKind::logical ? Column::logical(name, std::move(codes))
                                               : Column::factor(name, std::move(codes), predictor.levels);
}

class Grids {
 public:
  Grids(const FittedRegression& fitted, const Table& data, const StoredDraws& draws,
        const EffectOptions& options)
      : fitted_(fitted), draws_(draws), options_(options), frame_(frame_of(fitted, data)) {
    auto names = formula::Formula(fitted.formula).variables(false);
    const auto dot = fitted.state.value("dot", std::vector<std::string>());
    names.insert(names.end(), dot.begin(), dot.end());
    for (const std::string& name : names)
      // What is no number and in no term can only be of groups.
      if (const auto column = data.look_up(name);
          column && !predictors_.contains(name) &&
          (column->kind() == ColumnKind::number || is_known(name) || is_in_offset(name))) {
        predictors_.emplace(name, describe(*column, frame_, fitted.state));
        order_.push_back(name);
      }
    if (frame_.term_variables.empty())
      throw Error(fmt::format(
          "the formula {} has no population-level predictors: there are no effects to show", fitted.formula));
  }

  /// Every predictor, and every pair of them that a term of the formula has: log(x):f has x and f.
  std::vector<std::string> usual_terms() const {
    std::vector<std::string> terms = frame_.term_variables;
    for (const auto& names : frame_.variables_of_term) {
      if (names.size() != 2) continue;
      const auto is_there = [&](const std::string& a, const std::string& b) {
        return std::ranges::find(terms, a + ":" + b) != terms.end();
      };
      if (!is_there(names[0], names[1]) && !is_there(names[1], names[0]))
        terms.push_back(names[0] + ":" + names[1]);
    }
    return terms;
  }

  Effect effect(const std::string& term) const {
    auto [first, second] = parts(term);
    require(first, term);
    if (!second.empty()) require(second, term);
    // A number goes along the axis, and a factor beside it.
    if (!second.empty() && predictor(first).is_factor() && !predictor(second).is_factor())
      std::swap(first, second);
    Effect effect;
    effect.term = term;
    effect.variable = first;
    effect.by = second;
    const std::vector<double> places = places_of(predictor(first), effect);
    std::vector<double> by{0};
    std::vector<std::string> by_words{""};
    if (!second.empty()) std::tie(by, by_words) = values_beside(predictor(second));
    predict(places, by, by_words, effect);
    effect.held = held_words(first, second);
    return effect;
  }

 private:
  static formula::Frame frame_of(const FittedRegression& fitted, const Table& data) {
    formula::FrameOptions options;
    options.state = fitted.state;
    options.response = false;
    options.groups = false;
    return make_frame(formula::Formula(fitted.formula), data, options);
  }

  /// "x" and "f" of "x:f". A column may have colons in its own name.
  std::pair<std::string, std::string> parts(const std::string& term) const {
    const std::size_t first = term.find(':');
    if (is_known(term) || first == std::string::npos) return {term, ""};
    const auto cut = [&](std::size_t at) { return std::pair(term.substr(0, at), term.substr(at + 1)); };
    for (std::size_t colon = first; colon != std::string::npos; colon = term.find(':', colon + 1))
      if (auto [left, right] = cut(colon); is_known(left) && is_known(right)) return {left, right};
    return cut(first);
  }
  bool is_known(const std::string& name) const {
    return std::ranges::find(frame_.term_variables, name) != frame_.term_variables.end();
  }
  bool is_in_offset(const std::string& name) const {
    return std::ranges::find(frame_.offset_variables, name) != frame_.offset_variables.end();
  }
  void require(const std::string& name, const std::string& term) const {
    if (!is_known(name))
      throw UsageError(fmt::format(
          "the term {} is not there: {} is no population-level predictor of {}.{} Its predictors are {}",
          term, name, fitted_.formula, suggestion(name, frame_.term_variables),
          joined(frame_.term_variables)));
  }
  const Predictor& predictor(const std::string& name) const { return predictors_.at(name); }

  std::vector<double> places_of(const Predictor& along, Effect& effect) const {
    std::vector<double> places;
    if (along.is_factor()) {
      for (std::size_t i = 0; i < along.count(); ++i) {
        places.push_back(along.levels.empty() ? along.values[i] : static_cast<double>(i));
        effect.levels.push_back(along.level(i));
      }
      return places;
    }
    const std::size_t count = along.least < along.most ? std::max<std::size_t>(options_.places, 2) : 1;
    for (std::size_t i = 0; i < count; ++i)
      places.push_back(count == 1 ? along.least
                                  : along.least + (along.most - along.least) * static_cast<double>(i) /
                                                      static_cast<double>(count - 1));
    effect.places = places;
    return places;
  }

  /// All levels of a factor; of a number its mean, and a standard deviation to either side.
  static std::pair<std::vector<double>, std::vector<std::string>> values_beside(const Predictor& beside) {
    std::vector<double> values;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < beside.count(); ++i) {
      values.push_back(beside.levels.empty() ? beside.values[i] : static_cast<double>(i));
      words.push_back(beside.level(i));
    }
    if (beside.count() == 0)
      for (const double shift : {-1.0, 0.0, 1.0}) {
        values.push_back(beside.mean + shift * beside.sd);
        words.push_back(fmt::format("{:.4g}", values.back()));
      }
    return {values, words};
  }

  static double held_value(const Predictor& predictor) {
    if (!predictor.levels.empty()) return 0;
    return predictor.values.empty() ? predictor.mean : predictor.values.front();
  }

  void predict(const std::vector<double>& places, const std::vector<double>& by,
               const std::vector<std::string>& by_words, Effect& effect) const {
    std::vector<Column> columns;
    for (const std::string& name : order_) {
      std::vector<double> values;
      for (const double beside : by)
        for (const double place : places)
          values.push_back(name == effect.variable ? place
                           : name == effect.by     ? beside
                                                   : held_value(predictor(name)));
      columns.push_back(column_of(name, predictor(name), values));
    }
    const Predictions predictions(
        fitted_, Table(std::move(columns), "the grid of " + effect.term), draws_,
        {.groups = false, .probabilities = options_.probabilities, .threads = options_.threads});
    const std::vector<PredictedRow> rows = predictions.all();
    const std::size_t each = predictions.numbers_per_row();
    if (rows.size() != each * by.size() * places.size())
      throw Error(fmt::format("the formula has no value somewhere along {}: its effect cannot be shown",
                              effect.term));
    for (std::size_t b = 0; b < by.size(); ++b)
      for (std::size_t k = 0; k < each; ++k) {
        EffectSeries& series = effect.series.emplace_back();
        series.by = by_words[b];
        if (!predictions.classes().empty()) series.class_name = predictions.classes()[k];
        for (std::size_t i = 0; i < places.size(); ++i)
          series.rows.push_back(rows[(b * places.size() + i) * each + k]);
      }
  }

  std::string held_words(const std::string& first, const std::string& second) const {
    std::vector<std::string> words;
    const auto hold = [&](const std::string& name, std::string_view why) {
      if (name == first || name == second) return;
      const Predictor& other = predictor(name);
      words.push_back(fmt::format(
          "{} = {}{}", name, other.is_factor() ? other.level(0) : fmt::format("{:.4g}", other.mean), why));
    };
    for (const std::string& name : frame_.term_variables) hold(name, "");
    for (const std::string& name : frame_.offset_variables)
      if (!is_known(name)) hold(name, " (offset)");
    return joined(words);
  }

  const FittedRegression& fitted_;
  const StoredDraws& draws_;
  const EffectOptions& options_;
  formula::Frame frame_;
  std::map<std::string, Predictor> predictors_;
  std::vector<std::string> order_;
};

}  // namespace

std::vector<Effect> conditional_effects(const FittedRegression& fitted, const Table& data,
                                        const StoredDraws& draws, const EffectOptions& options) {
  const Grids grids(fitted, data, draws, options);
  std::vector<Effect> effects;
  for (const std::string& term : options.terms.empty() ? grids.usual_terms() : options.terms)
    effects.push_back(grids.effect(term));
  return effects;
}

}  // namespace onward::glm
