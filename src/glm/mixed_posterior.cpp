#include "onward/glm/mixed_posterior.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "covariance.hpp"
#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "row_loop.hpp"
#include "rows_jet.hpp"

namespace onward::glm {
namespace {

void check_term(const GroupTerm& term, std::size_t rows) {
  if (term.width() == 0) throw UsageError(fmt::format("the group {} has no columns", term.factor));
  constexpr std::size_t most = 32;
  if (term.width() > most)
    throw UsageError(
        fmt::format("the group {} has {} columns: it may have at most {}", term.factor, term.width(), most));
  if (term.values.size() != term.width())
    throw UsageError(fmt::format("the group {} has {} columns and values for {}", term.factor, term.width(),
                                 term.values.size()));
  if (term.level_of_row.size() != rows)
    throw Error(fmt::format("there are {} rows of y but {} of the group {}: give a level for each row", rows,
                            term.level_of_row.size(), term.factor));
  std::vector<bool> seen(term.count());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t level = term.level_of_row[i];
    if (level >= term.count())
      throw UsageError(fmt::format("the group {} has {} levels, and a row has level number {}", term.factor,
                                   term.count(), level));
    seen[level] = true;
  }
  const auto empty = std::ranges::find(seen, false);
  if (empty != seen.end())
    throw Error(fmt::format("level '{}' of the group {} has no rows: leave it out",
                            term.levels[static_cast<std::size_t>(empty - seen.begin())], term.factor));
  if (term.count() < 2)
    throw Error(fmt::format(
        "the group {} has one level, '{}': its effect cannot be told from the intercept. Leave it out",
        term.factor, term.levels[0]));
}

/// A prior of s, at log s, along a line.
void add_along(const Jet& prior, double d, Jet& sum) {
  sum.value += prior.value;
  sum.slope += prior.slope * d;
  sum.curvature += prior.curvature * d * d;
}

}  // namespace

MixedPosterior::MixedPosterior(RegressionPosterior population, std::vector<GroupTerm> terms,
                               std::vector<GroupPriors> priors)
    : population_(std::make_shared<RegressionPosterior>(std::move(population))),
      terms_(std::make_shared<const std::vector<GroupTerm>>(std::move(terms))),
      priors_(std::move(priors)) {
  const Observations& y = population_->observations();
  if (y.classes() > 1) throw UsageError("the categorical family has no group-level effects yet");
  for (const GroupTerm& term : *terms_) check_term(term, y.rows());
  if (priors_.empty()) priors_ = default_group_priors(y, *terms_);
  if (priors_.size() != terms_->size())
    throw UsageError(fmt::format("there are priors for {} of {} groups", priors_.size(), terms_->size()));
  MixedLayout& at = layout_;
  at.coefficients = population_->coefficients();
  std::size_t next = at.coefficients;
  const auto place = [&](std::vector<std::size_t>& where, auto size) {
    for (const GroupTerm& term : *terms_) where.push_back(next), next += size(term);
  };
  place(at.sds, [](const GroupTerm& term) { return term.width(); });
  place(at.correlations, [](const GroupTerm& term) { return term.correlations(); });
  at.numbers = next;
  next += population_->sampled_numbers().size();
  at.reported = next;
  place(at.effects, [](const GroupTerm& term) { return term.width() * term.count(); });
  at.dimension = next;
  std::vector<std::string> all = names();
  std::ranges::sort(all);
  if (const auto twice = std::ranges::adjacent_find(all); twice != all.end())
    throw UsageError(fmt::format(
        "two parameters would be called {}: a group must have every column once, and predictors names of "
        "their own",
        *twice));
}

namespace {

/// Where a column of a term lies; that of an intercept is empty, and lies at 1.
Spread spread_of_column(const Observations& y, const Floats& values) {
  if (values.empty()) return {1, 0};
  return spread_of(
      y.rows(), [&](std::size_t i) { return static_cast<double>(values[i]); },
      [&](std::size_t i) { return y.weight(i); });
}

}  // namespace

std::vector<std::string> far_columns(const Observations& y, const std::vector<GroupTerm>& terms,
                                     const std::string& factor, double* sum) {
  std::vector<std::string> names;
  for (const GroupTerm& term : terms)
    for (std::size_t c = 0; term.factor == factor && c < term.width(); ++c) {
      const Spread spread = spread_of_column(y, term.values[c]);
      const double away = std::abs(spread.mean) / spread.sd;
      if (!(away > far_from_0) || spread.sd <= 1e-6 * std::abs(spread.mean)) continue;
      names.push_back(term.columns[c]);
      if (sum != nullptr) *sum += away * away;
    }
  return names;
}

/// Half student-t of 3 degrees of freedom: 2.5 for an intercept and 2.5 over the sd of its column for a
/// slope, for a gaussian y in sds of y. An intercept is where the columns are 0: if that is far from all
/// data, slopes that differ make intercepts differ the more.
std::vector<GroupPriors> default_group_priors(const Observations& y, const std::vector<GroupTerm>& terms) {
  const DefaultPriors defaults(y, {});
  const double unit = defaults.unit();
  std::vector<GroupPriors> priors;
  for (const GroupTerm& term : terms) {
    GroupPriors one;
    for (const Floats& values : term.values) {
      const Spread spread = spread_of_column(y, values);
      double sd = 1;
      // A column may be one of zeros and ones as well as a measurement; a constant one counts as an
      // intercept.
      if (spread.sd > 1e-6 * std::abs(spread.mean)) sd = spread.sd;
      double away = 1;
      if (values.empty()) far_columns(y, terms, term.factor, &away);
      one.sds.push_back(Prior::student_t(3, 0, 2.5 * unit / sd * std::sqrt(away)));
    }
    priors.push_back(std::move(one));
  }
  return priors;
}

std::string MixedPosterior::effect_name(std::size_t place) const {
  for (std::size_t t = terms_->size(); t-- > 0;)
    if (place >= layout_.effects[t]) {
      const GroupTerm& term = (*terms_)[t];
      const std::size_t i = place - layout_.effects[t];
      return fmt::format("r({}){}[{}]", term.factor, term.columns[i % term.width()],
                         term.levels[i / term.width()]);
    }
  return "";
}

std::vector<std::string> MixedPosterior::names() const {
  std::vector<std::string> names = population_->coefficient_names();
  for (const GroupTerm& term : *terms_)
    for (const std::string& column : term.columns)
      names.push_back(fmt::format("sd({}){}", term.factor, column));
  for (const GroupTerm& term : *terms_)
    for (std::size_t i = 0; i < term.width(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        names.push_back(fmt::format("cor({}){}.{}", term.factor, term.columns[j], term.columns[i]));
  const std::vector<std::string> numbers = population_->number_names();
  names.insert(names.end(), numbers.begin(), numbers.end());
  for (const std::size_t place : reported_effects_) names.push_back(effect_name(place));
  return names;
}

std::vector<std::size_t> MixedPosterior::name_indices() const {
  return std::vector<std::size_t>(layout_.reported + reported_effects_.size(), 0);
}

std::vector<ParameterBlock> MixedPosterior::blocks() const {
  if (population_->blocks().empty()) return {};
  std::vector<ParameterBlock> all;
  const auto add = [&](std::string name, std::size_t first, std::size_t end) {
    if (end > first) all.push_back({std::move(name), end - first});
  };
  add("coefficients", 0, layout_.coefficients);
  add("log_sds", layout_.coefficients, layout_.correlations.front());
  add("correlations", layout_.correlations.front(), layout_.numbers);
  add("log_gaps", layout_.numbers, layout_.reported);
  add("effects", layout_.reported, layout_.dimension);
  return all;
}

void MixedPosterior::constrain(VectorView theta, std::span<double> out) const {
  const std::vector<double> at(theta.begin(), theta.end());  // out may be theta's own memory
  const VectorView all(at), logs = all.subspan(layout_.numbers, population_->sampled_numbers().size());
  population_->constrain_coefficients(all.first(layout_.coefficients), logs, out);
  std::size_t next = population_->reported_coefficients();
  for (std::size_t i = layout_.coefficients; i < layout_.correlations.at(0); ++i)
    out[next++] = std::exp(at[i]);
  for (std::size_t t = 0; t < terms_->size(); ++t) {
    const std::size_t q = (*terms_)[t].width();
    const std::vector<double> factor =
        correlation_factor<double>(q, all.subspan(layout_.correlations[t], (*terms_)[t].correlations()));
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k <= j; ++k) sum += factor[i * q + k] * factor[j * q + k];
        out[next++] = sum;
      }
  }
  population_->constrain_numbers(logs, out.subspan(next));
  for (std::size_t i = 0; i < reported_effects_.size(); ++i)
    out[layout_.reported + i] = at[reported_effects_[i]];
}

/// X beta + Z effects of what is sampled, or of a direction.
void MixedPosterior::predictor(VectorView at, bool with_offset, Floats& out) const {
  const Observations& y = population_->observations();
  out.assign(padded_rows(y.rows()), 0.0f);
  population_->design().multiply(at.first(layout_.coefficients), out.data(), population_->pool());
  for (std::size_t t = 0; t < terms_->size(); ++t) {
    const GroupTerm& term = (*terms_)[t];
    const double* effects = at.data() + layout_.effects[t];
    for_each_piece(y.rows(), population_->pool(), [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        double sum = 0;
        for (std::size_t c = 0; c < term.width(); ++c)
          sum += static_cast<double>(term.value(c, i)) * effects[term.level_of_row[i] * term.width() + c];
        out[i] += static_cast<float>(sum);
      }
    });
  }
  if (with_offset)
    for (std::size_t i = 0; i < y.offset().size(); ++i) out[i] += y.offset()[i];
}

/// The log density of everything but the rows.
Jet MixedPosterior::effects_jet(VectorView theta, VectorView v) const {
  Jet sum;
  const auto along = [&](std::size_t i) { return v.empty() ? 0.0 : v[i]; };
  for (std::size_t j = 0; j < layout_.coefficients; ++j)
    add_along(population_->priors()[j].at(theta[j]), along(j), sum);
  for (std::size_t i = 0; i < population_->sampled_numbers().size(); ++i) {
    const std::size_t at = layout_.numbers + i;
    add_along(population_->number_prior_at(population_->sampled_numbers()[i], theta[at]), along(at), sum);
  }
  using T = Jet2<double>;
  const auto jet = [&](std::size_t i) { return T(theta[i], along(i)); };
  for (std::size_t t = 0; t < terms_->size(); ++t) {
    const GroupTerm& term = (*terms_)[t];
    const std::size_t q = term.width();
    std::vector<T> log_sds, sds, y, effects(q), u(q);
    for (std::size_t c = 0; c < q; ++c) {
      const std::size_t i = layout_.sds[t] + c;
      add_along(priors_[t].sds[c].at_log(theta[i]), along(i), sum);
      log_sds.push_back(jet(i));
      sds.push_back(exp(log_sds.back()));
    }
    std::size_t next = layout_.correlations[t];
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t j = 0; j < i; ++j, ++next) {
        add_along(correlation_prior(theta[next], j, q, priors_[t].lkj), along(next), sum);
        y.push_back(jet(next));
      }
    const std::vector<T> factor = correlation_factor<T>(q, y);
    T total = -static_cast<double>(term.count()) *
              (log_volume<T>(log_sds, factor) + 0.5 * std::log(2 * M_PI) * static_cast<double>(q));
    for (std::size_t l = 0; l < term.count(); ++l) {
      for (std::size_t c = 0; c < q; ++c) effects[c] = jet(layout_.effects[t] + l * q + c);
      standardise<T>(sds, factor, effects, u);
      for (std::size_t c = 0; c < q; ++c) total -= 0.5 * u[c] * u[c];
    }
    sum.value += total.value, sum.slope += total.slope, sum.curvature += total.curvature;
  }
  return sum;
}

Jet MixedPosterior::jet(VectorView theta, VectorView v, Order order) {
  const Observations& y = population_->observations();
  predictor(theta, true, eta_);
  RowLine line{.eta = eta_.data()};
  if (order != Order::value) {
    predictor(v, false, direction_);
    line.d = direction_.data();
  }
  const auto& sampled = population_->sampled_numbers();
  std::vector<double> turns(y.numbers().size(), 0.0);
  for (std::size_t i = 0; i < sampled.size() && order != Order::value; ++i)
    turns[sampled[i]] = v[layout_.numbers + i];
  const FamilyNumbers numbers = population_->numbers_at(theta.subspan(layout_.numbers, sampled.size()));
  const Jet rows = rows_jet(y, line, numbers, turns, order, scratch_, population_->pool());
  const Jet rest = effects_jet(theta, order == Order::value ? VectorView{} : v);
  Jet jet{rows.value + rest.value, rows.slope + rest.slope, rows.curvature + rest.curvature};
  if (order == Order::value) jet.slope = 0;
  if (order != Order::curvature) jet.curvature = 0;
  return jet;
}

double MixedPosterior::gradient(VectorView theta, std::span<double> out) {
  const Observations& y = population_->observations();
  predictor(theta, true, eta_);
  direction_.resize(eta_.size());
  const auto& sampled = population_->sampled_numbers();
  const FamilyNumbers numbers = population_->numbers_at(theta.subspan(layout_.numbers, sampled.size()));
  const double rows = y.row_slopes(eta_.data(), numbers, direction_.data(), nullptr, population_->pool());
  std::fill(out.begin(), out.end(), 0.0);
  population_->design().multiply_transposed(direction_.data(), 1, out.first(layout_.coefficients),
                                            population_->pool());
  for (std::size_t j = 0; j < layout_.coefficients; ++j)
    out[j] += population_->priors()[j].at(theta[j]).slope;
  // The few numbers between coefficients and effects, one by one.
  std::vector<double> axis(theta.size(), 0.0);
  for (std::size_t i = layout_.coefficients; i < layout_.reported; ++i) {
    axis[i] = 1;
    out[i] = effects_jet(theta, axis).slope;
    axis[i] = 0;
  }
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const NumberJets jets(y, eta_.data(), population_->pool(), numbers, sampled[i],
                          y.sum_at_unit_scale(rows, numbers));
    out[layout_.numbers + i] += jets(theta[layout_.numbers + i]).slope;
  }
  for (std::size_t t = 0; t < terms_->size(); ++t) {
    const GroupTerm& term = (*terms_)[t];
    const std::size_t q = term.width(), first = layout_.effects[t];
    for (std::size_t i = 0; i < y.rows(); ++i)
      for (std::size_t c = 0; c < q; ++c)
        out[first + term.level_of_row[i] * q + c] +=
            static_cast<double>(term.value(c, i)) * static_cast<double>(direction_[i]);
    // -Sigma^-1 b, by way of u: the factor's transpose is solved backwards.
    std::vector<double> sds(q), u(q);
    for (std::size_t c = 0; c < q; ++c) sds[c] = std::exp(theta[layout_.sds[t] + c]);
    const std::vector<double> factor =
        correlation_factor<double>(q, theta.subspan(layout_.correlations[t], term.correlations()));
    for (std::size_t l = 0; l < term.count(); ++l) {
      standardise<double>(sds, factor, theta.subspan(first + l * q, q), u);
      for (std::size_t i = q; i-- > 0;) {
        u[i] /= factor[i * q + i];
        for (std::size_t j = 0; j < i; ++j) u[j] -= factor[i * q + j] * u[i];
        out[first + l * q + i] -= u[i] / sds[i];
      }
    }
  }
  return rows + y.constant(numbers) + effects_jet(theta, {}).value;
}

std::string describe_group_priors(const MixedPosterior& posterior) {
  std::string text;
  for (std::size_t t = 0; t < posterior.terms().size(); ++t) {
    const GroupTerm& term = posterior.terms()[t];
    for (std::size_t c = 0; c < term.width(); ++c)
      text += fmt::format("{}sd({}){} ~ {}", text.empty() ? "" : "; ", printable(term.factor),
                          printable(term.columns[c]), to_string(posterior.priors()[t].sds[c]));
    if (term.width() > 1)
      text += fmt::format("; cor({}) ~ lkj({:.4g})", printable(term.factor), posterior.priors()[t].lkj);
  }
  return text;
}

}  // namespace onward::glm
