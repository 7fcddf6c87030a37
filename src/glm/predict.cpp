#include "onward/glm/predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/util/suggest.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward::glm {
namespace {

/// Draws of parameters by name, chain after chain.
class DrawsByName {
 public:
  explicit DrawsByName(const StoredDraws& stored) : stored_(stored) {
    for (std::size_t i = 0; i < stored.names.size(); ++i) places_.emplace(stored.names[i], i);
  }
  bool has(const std::string& name) const { return places_.contains(name); }
  std::vector<double> of(const std::string& name) const {
    const auto place = places_.find(name);
    if (place == places_.end())
      throw Error(fmt::format("the files of draws have no parameter {}: they are of another model.{}", name,
                              suggestion(name, stored_.names)));
    std::vector<double> all;
    for (const auto& chain : stored_.column(place->second))
      all.insert(all.end(), chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(stored_.draws));
    return all;
  }

 private:
  const StoredDraws& stored_;
  std::map<std::string_view, std::size_t> places_;
};

/// The Cholesky factor of a covariance, by standard deviations and a correlation matrix, in place of it.
void factorise(std::size_t q, std::span<const double> sds, std::span<double> matrix) {
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * q + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * q + k] * matrix[j * q + k];
      // Correlations that were rounded when they were written may be a little beyond what there can be.
      matrix[i * q + j] = i == j                  ? std::sqrt(std::max(sum, 0.0))
                          : matrix[j * q + j] > 0 ? sum / matrix[j * q + j]
                                                  : 0;
    }
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t j = 0; j < q; ++j) matrix[i * q + j] *= j <= i ? sds[i] : 0;
}

void add_product(double factor, std::span<const double> values, std::span<double> sum) {
  if (factor == 0) return;
  for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += factor * values[s];
}

PredictedRow summary_of(std::span<const double> draws, std::span<const double> probabilities) {
  PredictedRow row;
  for (const double x : draws) row.mean += x;
  row.mean /= static_cast<double>(draws.size());
  for (const double x : draws) row.sd += (x - row.mean) * (x - row.mean);
  row.sd = draws.size() > 1 ? std::sqrt(row.sd / static_cast<double>(draws.size() - 1)) : 0;
  for (const double p : probabilities) row.quantiles.push_back(quantile(draws, p));
  return row;
}

formula::FrameOptions frame_options(const FittedRegression& fitted, const PredictionOptions& options) {
  formula::FrameOptions frame;
  frame.state = fitted.state;
  frame.new_levels = options.draw_new_levels ? formula::NewLevels::number : formula::NewLevels::refuse;
  frame.response = options.response;
  frame.groups = options.groups;
  return frame;
}

}  // namespace

PredictionOptions::What parse_what(const std::string& word) {
  using enum PredictionOptions::What;
  const std::vector<std::string> words{"fitted", "predictive", "linear"};
  const auto found = std::ranges::find(words, word);
  if (found == words.end())
    throw UsageError(fmt::format("`what` {} is not known.{} It is one of {}", word, suggestion(word, words),
                                 joined(words)));
  return std::array{fitted, predictive, linear}[static_cast<std::size_t>(found - words.begin())];
}

Predictions::Predictions(const FittedRegression& fitted, const Table& data, const StoredDraws& draws,
                         PredictionOptions options)
    : options_(std::move(options)),
      family_(fitted.family),
      frame_(make_frame(formula::Formula(fitted.formula), data, frame_options(fitted, options_))),
      classes_(fitted.family == Family::categorical ? fitted.classes : std::vector<std::string>()),
      draws_(draws.chains * draws.draws) {
  for (const double p : options_.probabilities)
    if (!(p >= 0 && p <= 1))
      throw UsageError(fmt::format("`probabilities` has {}: a probability is between 0 and 1", p));
  for (std::size_t i = 0; i < frame_.trials.size(); ++i)
    if (const double n = frame_.trials[i]; !(n >= 0) || n != std::floor(n))
      throw Error(fmt::format("{}: the number of trials is {}, and must be a whole number of at least 0",
                              data.place_of_row(frame_.table_rows.empty() ? i : frame_.table_rows[i]), n));
  take_population(draws);
  if (family_ == Family::ordinal)
    take_thresholds(fitted, draws);
  else
    take_numbers(fitted, draws);
  take_groups(draws);
}

void Predictions::take_population(const StoredDraws& draws) {
  const DrawsByName by_name(draws);
  for (std::size_t k = 0; k < predictors_per_row(); ++k) {
    const std::string ending = classes_.empty() ? "" : fmt::format(".{}", k + 1);
    if (frame_.intercept && family_ != Family::ordinal)
      coefficients_.push_back(by_name.of("(Intercept)" + ending));
    for (const std::string& name : frame_.column_names) coefficients_.push_back(by_name.of(name + ending));
  }
}

/// The first threshold becomes an intercept, and the others gaps.
void Predictions::take_thresholds(const FittedRegression& fitted, const StoredDraws& draws) {
  const DrawsByName by_name(draws);
  std::vector<double> last = by_name.of("Intercept[1]");
  std::vector<double> intercept(draws_);
  const bool linear = options_.what == PredictionOptions::What::linear;
  for (std::size_t s = 0; s < draws_; ++s) intercept[s] = linear ? 0 : -last[s];
  coefficients_.insert(coefficients_.begin(), std::move(intercept));
  numbers_.resize(draws_);
  std::size_t count = 2;
  for (; by_name.has(fmt::format("Intercept[{}]", count)); ++count) {
    std::vector<double> next = by_name.of(fmt::format("Intercept[{}]", count));
    for (std::size_t s = 0; s < draws_; ++s) numbers_[s].push_back(next[s] - last[s]);
    last = std::move(next);
  }
  if (linear) return;
  classes_ = fitted.classes;
  if (classes_.empty())
    for (std::size_t k = 1; k <= count; ++k) classes_.push_back(std::to_string(k));
}

void Predictions::take_numbers(const FittedRegression& fitted, const StoredDraws& draws) {
  const DrawsByName by_name(draws);
  numbers_.resize(draws_);
  const std::vector<NumberInfo> numbers = family_numbers(family_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool known = i < fitted.known.size() && fitted.known[i];
    const std::vector<double> values =
        known ? std::vector<double>(draws_, *fitted.known[i]) : by_name.of(numbers[i].name);
    for (std::size_t s = 0; s < draws_; ++s) numbers_[s].push_back(numbers[i].from_reported(values[s]));
  }
}

void Predictions::take_groups(const StoredDraws& draws) {
  const DrawsByName by_name(draws);
  for (const formula::GroupTerm& term : frame_.groups) {
    const std::size_t q = term.columns.size(), old = term.levels.size();
    Group& group = groups_.emplace_back();
    group.effects.resize(old * q);
    for (const std::uint32_t level : term.level_of_row) {
      if (level >= old || !group.effects[level * q].empty()) continue;
      for (std::size_t c = 0; c < q; ++c) {
        const std::string name = fmt::format("r({}){}[{}]", term.factor, term.columns[c], term.levels[level]);
        if (!by_name.has(name))
          throw Error(fmt::format(
              "the run did not keep {}, which these rows need: sample again with `keep_groups` all", name));
        group.effects[level * q + c] = by_name.of(name);
      }
    }
    if (term.new_levels.empty()) continue;
    std::vector<std::vector<double>> sds, correlations;
    for (const std::string& column : term.columns)
      sds.push_back(by_name.of(fmt::format("sd({}){}", term.factor, column)));
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t j = 0; j < i; ++j)
        correlations.push_back(
            by_name.of(fmt::format("cor({}){}.{}", term.factor, term.columns[j], term.columns[i])));
    group.factor.assign(q * q, std::vector<double>(draws_));
    std::vector<double> matrix(q * q), sd(q);
    for (std::size_t s = 0; s < draws_; ++s) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < q; ++i) {
        sd[i] = sds[i][s];
        for (std::size_t j = 0; j < i; ++j) matrix[i * q + j] = correlations[next++][s];
        matrix[i * q + i] = 1;
      }
      factorise(q, sd, matrix);
      for (std::size_t i = 0; i < q * q; ++i) group.factor[i][s] = matrix[i];
    }
  }
}

std::vector<std::string> Predictions::notes() const {
  std::vector<std::string> notes = frame_.notes;
  for (const formula::GroupTerm& term : frame_.groups)
    if (!term.new_levels.empty())
      notes.push_back(fmt::format(
          "{} has {} that the fitted data do not have ({}{}): {} effects are drawn from the distribution of "
          "the groups.",
          term.factor,
          term.new_levels.size() == 1 ? "a level" : fmt::format("{} levels", term.new_levels.size()),
          term.new_levels.front(), term.new_levels.size() > 1 ? ", ..." : "",
          term.new_levels.size() == 1 ? "its" : "their"));
  if (family_ == Family::binomial && options_.what != PredictionOptions::What::linear)
    notes.emplace_back(
        frame_.trials.empty()
            ? "The data do not say how many trials there are: predictions are for one trial each."
            : "The data say how many trials each row has: predictions are numbers of successes among them.");
  return notes;
}

/// Effects of a level that the fitted data do not have: the same in all of its rows.
void Predictions::add_new_level(std::size_t t, std::size_t row, std::span<double> eta) const {
  const formula::GroupTerm& term = frame_.groups[t];
  const std::size_t q = term.columns.size();
  const std::uint64_t step = (std::uint64_t{t} << 32) + (term.level_of_row[row] - term.levels.size());
  for (std::size_t s = 0; s < draws_; ++s) {
    const Stream stream = stream_apart(options_.seed, Apart::new_levels, s);
    for (std::size_t j = 0; j < q; ++j) {
      double weight = 0;
      for (std::size_t i = j; i < q; ++i)
        weight += (term.values[i].empty() ? 1.0 : static_cast<double>(term.values[i][row])) *
                  groups_[t].factor[i * q + j][s];
      eta[s] += weight * stream.normal(step, Purpose::noise, j);
    }
  }
}

void Predictions::add_groups(std::size_t row, std::span<double> eta) const {
  for (std::size_t t = 0; t < groups_.size(); ++t) {
    const formula::GroupTerm& term = frame_.groups[t];
    const std::size_t level = term.level_of_row[row], q = term.columns.size();
    if (level >= term.levels.size()) {
      add_new_level(t, row, eta);
      continue;
    }
    for (std::size_t c = 0; c < q; ++c)
      add_product(term.values[c].empty() ? 1.0 : static_cast<double>(term.values[c][row]),
                  groups_[t].effects[level * q + c], eta);
  }
}

RandomSequence Predictions::random_of(std::size_t row, std::size_t draw) const {
  return {stream_apart(options_.seed, Apart::outcomes, draw),
          frame_.table_rows.empty() ? row : frame_.table_rows[row]};
}

/// From one predictor to the probabilities of ordered classes.
void Predictions::respond_ordered(std::size_t row, std::span<double> out) const {
  std::vector<double> of_classes(classes_.size());
  for (std::size_t s = 0; s < draws_; ++s) {
    ordered_probabilities(out[s], numbers_[s], of_classes);
    if (options_.what == PredictionOptions::What::predictive) {
      RandomSequence sequence = random_of(row, s);
      const std::size_t came = random_class(of_classes, sequence);
      for (std::size_t k = 0; k < classes_.size(); ++k) of_classes[k] = k == came ? 1 : 0;
    }
    for (std::size_t k = 0; k < classes_.size(); ++k) out[k * draws_ + s] = of_classes[k];
  }
}

/// From predictors to what is asked for, class after class.
void Predictions::respond(std::size_t row, std::span<double> out) const {
  using enum PredictionOptions::What;
  if (options_.what == linear) return;
  const auto random = [&](std::size_t s) { return random_of(row, s); };
  if (family_ == Family::ordinal) return respond_ordered(row, out);
  if (classes_.empty()) {
    const double trials = frame_.trials.empty() ? 1 : frame_.trials[row];
    for (std::size_t s = 0; s < draws_; ++s) {
      if (options_.what == fitted) {
        out[s] = expected_response(family_, out[s], numbers_[s], trials);
      } else {
        RandomSequence sequence = random(s);
        out[s] = random_response(family_, out[s], numbers_[s], trials, sequence);
      }
    }
    return;
  }
  std::vector<double> of_classes(classes_.size());
  for (std::size_t s = 0; s < draws_; ++s) {
    for (std::size_t k = 0; k < classes_.size(); ++k) of_classes[k] = out[k * draws_ + s];
    softmax_of(of_classes);
    if (options_.what == predictive) {
      RandomSequence sequence = random(s);
      const std::size_t came = random_class(of_classes, sequence);
      for (std::size_t k = 0; k < classes_.size(); ++k) of_classes[k] = k == came ? 1 : 0;
    }
    for (std::size_t k = 0; k < classes_.size(); ++k) out[k * draws_ + s] = of_classes[k];
  }
}

/// `x` has the row's columns without the intercept.
void Predictions::predict_row(std::size_t row, std::span<const double> x, std::span<double> out) const {
  std::size_t next = 0;
  for (std::size_t k = 0; k < predictors_per_row(); ++k) {
    const auto eta = out.subspan(k * draws_, draws_);
    std::ranges::fill(eta, frame_.offset.empty() ? 0.0 : frame_.offset[row]);
    if (frame_.intercept) add_product(1, coefficients_[next++], eta);
    for (const double value : x) add_product(value, coefficients_[next++], eta);
    add_groups(row, eta);
  }
  respond(row, out);
}

void Predictions::each_block(const Take& take) const {
  ThreadPool pool(threads_or_all(options_.threads));
  const std::size_t columns = frame_.column_names.size(), each = numbers_per_row(), all = each * draws_;
  constexpr std::size_t numbers_in_memory = 1 << 22;
  const std::size_t block = std::clamp<std::size_t>(numbers_in_memory / (all + columns + 1), 1, 1024);
  std::vector<double> design(block * columns), column(block), values;
  std::vector<PredictedRow> summaries;
  for (std::size_t first = 0; first < rows(); first += block) {
    const std::size_t count = std::min(block, rows() - first);
    for (std::size_t j = 0; j < columns; ++j) {
      frame_.column(j, first, std::span(column).first(count));
      for (std::size_t i = 0; i < count; ++i) design[i * columns + j] = column[i];
    }
    values.resize(count * all);
    summaries.resize(count * each);
    pool.for_each(count, [&](std::size_t i) {
      const auto out = std::span(values).subspan(i * all, all);
      predict_row(first + i, std::span(design).subspan(i * columns, columns), out);
      for (std::size_t k = 0; k < each; ++k)
        summaries[i * each + k] = summary_of(out.subspan(k * draws_, draws_), options_.probabilities);
    });
    if (!take(first, summaries, values)) return;
  }
}

std::vector<PredictedRow> Predictions::all() const {
  std::vector<PredictedRow> rows;
  each_block([&](std::size_t, std::span<const PredictedRow> block, std::span<const double>) {
    rows.insert(rows.end(), block.begin(), block.end());
    return true;
  });
  return rows;
}

}  // namespace onward::glm
