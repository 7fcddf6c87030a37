#include "onward/glm/posterior.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "newton_rule.hpp"
#include "onward/error.hpp"
#include "onward/glm/default_priors.hpp"
#include "onward/glm/softmax.hpp"
#include "rows_jet.hpp"

namespace onward::glm {
namespace {

/// `positive`: of a number above 0.
void check(const Prior& prior, std::string_view what, bool positive = false) {
  if (!(prior.scale > 0) || !std::isfinite(prior.scale) || !std::isfinite(prior.location))
    throw UsageError(
        fmt::format("the prior of {} has location {} and scale {}: the scale must be above 0, both finite",
                    what, prior.location, prior.scale));
  // Beyond these the squares of scales, which precisions are made of, are no numbers any more.
  constexpr double least = 1e-60, most = 1e60;
  if (prior.kind != Prior::Kind::flat && (prior.scale < least || prior.scale > most))
    throw UsageError(fmt::format("the prior of {} has the scale {}: it must be between {} and {}", what,
                                 prior.scale, least, most));
  if (prior.is_positive() && !positive)
    throw UsageError(
        fmt::format("the prior of {} is {}, which is for numbers above 0", what, to_string(prior)));
  if (prior.kind == Prior::Kind::student_t && !(prior.degrees > 0))
    throw UsageError(fmt::format("the student-t prior of {} has {} degrees of freedom: they must be above 0",
                                 what, prior.degrees));
}

bool same(VectorView a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

RegressionPosterior::RegressionPosterior(std::shared_ptr<const Design> x,
                                         std::shared_ptr<const Observations> y, PosteriorOptions options,
                                         std::shared_ptr<ThreadPool> pool)
    : x_(std::move(x)), y_(std::move(y)), options_(std::move(options)), pool_(std::move(pool)) {
  if (!pool_) pool_ = std::make_shared<ThreadPool>(1);
  if (x_->rows() != y_->rows())
    throw Error(fmt::format("X has {} rows and y has {}: they must have as many", x_->rows(), y_->rows()));
  const std::size_t named = x_->columns() - (x_->has_intercept() ? 1 : 0);
  if (!options_.column_names.empty() && options_.column_names.size() != named)
    throw UsageError(
        fmt::format("there are {} names for the {} columns of X", options_.column_names.size(), named));
  if (y_->family() == Family::ordinal && !x_->has_intercept())
    throw UsageError(
        "an ordinal regression has thresholds in place of an intercept, and cannot do without: leave the "
        "intercept in");
  centre();
  if (!options_.column_names.empty()) check_names();
  for (std::size_t j = 0; j < priors_.size(); ++j) check(priors_[j], column_name(j));
}

/// Priors and centring: both want to know where the columns lie and how far they spread.
void RegressionPosterior::centre() {
  const bool centres = options_.centre && x_->has_intercept();
  const bool scaled = options_.each.empty() && !options_.coefficients;
  std::vector<Spread> spreads;
  if (centres || scaled) spreads = x_->spreads(y_->weights(), *pool_);
  if (centres) {
    for (const Spread& spread : spreads) means_.push_back(spread.mean);
    means_[0] = 0;
    // A design that nobody else can see may be changed.
    const auto own =
        x_.use_count() == 1 ? std::const_pointer_cast<Design>(x_) : std::make_shared<Design>(*x_);
    own->subtract(means_, *pool_);
    x_ = own;
  }
  const DefaultPriors defaults(*y_, std::move(spreads));
  set_numbers(defaults);
  set_priors(defaults);
}

std::optional<double> RegressionPosterior::known(std::size_t number) const {
  if (y_->family() == Family::ordinal) return {};
  return number == 0 ? options_.known_scale : options_.known_degrees;
}

void RegressionPosterior::set_numbers(const DefaultPriors& defaults) {
  for (std::size_t i = 0; i < y_->numbers().size(); ++i) {
    const NumberInfo& number = y_->numbers()[i];
    const bool degrees = number.kind == NumberInfo::Kind::above_one;
    number_priors_.push_back(degrees ? options_.degrees.value_or(defaults.degrees())
                                     : options_.scale.value_or(defaults.scale()));
    check(number_priors_.back(), number.name, true);
    if (number_priors_.back().kind == Prior::Kind::beta && number.kind != NumberInfo::Kind::odds)
      throw UsageError(fmt::format("the prior of {} is a beta, which is for probabilities", number.name));
    if (const auto value = known(i); !value)
      sampled_numbers_.push_back(i);
    else if (!number.allows(*value))
      throw UsageError(fmt::format("the known {} is {}: it must be {}", number.name, *value, number.range()));
  }
  if (y_->family() == Family::negative_binomial && samples_numbers() &&
      number_priors_[0].kind == Prior::Kind::flat)
    throw UsageError(
        "under a flat prior of phi the posterior of a negative binomial regression cannot be normalised, "
        "since any large phi fits as a Poisson regression does: give it a normal or student-t prior");
}

void RegressionPosterior::set_priors(const DefaultPriors& defaults) {
  if (!options_.each.empty()) {
    if (options_.each.size() != x_->columns())
      throw UsageError(fmt::format("there are {} priors for {} columns (the intercept counts as one)",
                                   options_.each.size(), x_->columns()));
    priors_ = options_.each;
    return;
  }
  const std::size_t first = x_->has_intercept() ? 1 : 0;
  for (std::size_t j = 0; j < x_->columns(); ++j) {
    if (j < first) {
      priors_.push_back(options_.intercept.value_or(defaults.intercept()));
      // What is given is of the first threshold, which is minus the intercept.
      if (y_->family() == Family::ordinal) priors_.back().location *= -1;
      continue;
    }
    const auto named = options_.column_names.empty() ? options_.named.end()
                                                     : options_.named.find(options_.column_names[j - first]);
    priors_.push_back(named != options_.named.end()
                          ? named->second
                          : options_.coefficients.value_or(defaults.coefficient(j)));
  }
}

void RegressionPosterior::check_names() const {
  std::vector<std::string> all = names();
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end())
    throw UsageError(
        fmt::format("two parameters would be called {}: give every column a name of its own, other than "
                    "{}, sigma, nu, phi, shape and zi",
                    *twice, options_.intercept_name));
}

FamilyNumbers RegressionPosterior::starting_numbers() const {
  std::vector<double> values;
  for (std::size_t i = 0; i < y_->numbers().size(); ++i) {
    const auto value = known(i);
    values.push_back(value ? y_->numbers()[i].from_reported(*value) : 1.0);
  }
  return FamilyNumbers::of(values);
}

FamilyNumbers RegressionPosterior::numbers_at(VectorView logs) const {
  std::vector<double> all = starting_numbers().logs();
  for (std::size_t i = 0; i < sampled_numbers_.size(); ++i) all[sampled_numbers_[i]] = logs[i];
  return FamilyNumbers(std::move(all));
}

std::vector<double> RegressionPosterior::turns_of(VectorView v) const {
  std::vector<double> turns(y_->numbers().size(), 0.0);
  for (std::size_t i = 0; i < sampled_numbers_.size() && !v.empty(); ++i)
    turns[sampled_numbers_[i]] = v[coefficients() + i];
  return turns;
}

void RegressionPosterior::afresh(const Direction& at, Predictor& out) {
  const VectorView all = at.held();
  out.at.assign(all.begin(), all.end());
  out.support = at.support();
  const std::size_t stride = padded_rows(y_->rows()), width = x_->columns(), classes = y_->classes();
  out.values.resize(stride * classes);
  // Classes that a block leaves alone need no product, and of a narrow one within a class a few columns do.
  const std::size_t first = out.support.first, end = std::min(first + out.support.count, coefficients());
  const std::size_t from = first < end ? first / width : 0, to = first < end ? (end - 1) / width + 1 : 0;
  float* values = out.values.data();
  std::fill(values, values + from * stride, 0.0f);
  std::fill(values + to * stride, values + classes * stride, 0.0f);
  constexpr std::size_t narrow = 8;  // a column by itself takes longer than as one of all
  if (to == from + 1 && (end - first) * narrow <= width)
    x_->multiply_block(first - from * width, all.subspan(first, end - first), values + from * stride, *pool_);
  else if (to > from)
    x_->multiply(all.subspan(from * width, (to - from) * width), to - from, values + from * stride, *pool_);
  out.known = true;
  out.moved = false;
  ++report_.products;
}

void RegressionPosterior::add_offset(Predictor& out) const {
  if (y_->offset().empty()) return;
  const std::size_t stride = padded_rows(y_->rows());
  for (std::size_t k = 0; k < y_->classes(); ++k)
    for (std::size_t i = 0; i < stride; ++i) out.values[k * stride + i] += y_->offset()[i];
}

void RegressionPosterior::place(VectorView theta) {
  if (here_.known && same(theta, here_.at)) return;
  std::swap(base_, here_);
  if (here_.known && same(theta, here_.at)) return;
  afresh(theta, here_);
  add_offset(here_);
}

const RegressionPosterior::Predictor& RegressionPosterior::along(const Direction& v) {
  for (std::size_t i : {latest_, 1 - latest_})
    if (directions_[i].known && directions_[i].support == v.support() && same(v.held(), directions_[i].at)) {
      latest_ = i;
      return directions_[i];
    }
  latest_ = 1 - latest_;
  afresh(v, directions_[latest_]);
  return directions_[latest_];
}

Jet RegressionPosterior::prior_jet(VectorView theta, VectorView v, double alpha) const {
  Jet sum;
  for (std::size_t k = 0; k < y_->classes(); ++k)
    for (std::size_t j = 0; j < x_->columns(); ++j) {
      const std::size_t i = k * x_->columns() + j;
      const double d = v.empty() ? 0.0 : v[i];
      const Jet jet = priors_[j].at(theta[i] + alpha * d);
      sum.value += jet.value;
      sum.slope += jet.slope * d;
      sum.curvature += jet.curvature * d * d;
    }
  for (std::size_t i = 0; i < sampled_numbers_.size(); ++i) {
    const std::size_t at = coefficients() + i;
    const double d = v.empty() ? 0.0 : v[at];
    const Jet jet = number_prior_at(sampled_numbers_[i], theta[at] + alpha * d);
    sum.value += jet.value;
    sum.slope += jet.slope * d;
    sum.curvature += jet.curvature * d * d;
  }
  return sum;
}

/// The log likelihood alpha along d from here_, with derivatives; v is the direction in the parameters.
Jet RegressionPosterior::rows_jet(const Predictor& d, VectorView v, double alpha, Order order) {
  const std::vector<double> turns = turns_of(v);
  FamilyNumbers numbers = numbers_of(here_.at);
  for (std::size_t i = 0; i < turns.size(); ++i)
    if (turns[i] != 0) numbers.set_log(i, numbers.log(i) + alpha * turns[i]);
  RowLine line{.eta = here_.values.data()};
  if (order != Order::value || alpha != 0) {
    line.d = d.values.data();
    line.alpha = static_cast<float>(alpha);
  }
  return glm::rows_jet(*y_, line, numbers, turns, order, scratch_, *pool_);
}

namespace {

Jet cut(Jet jet, Order order) {
  if (order == Order::value) jet.slope = 0;
  if (order != Order::curvature) jet.curvature = 0;
  return jet;
}

}  // namespace

Jet RegressionPosterior::jet(VectorView theta, VectorView v, Order order) {
  place(theta);
  if (order == Order::value)
    return cut(sum_of(rows_jet(here_, {}, 0, order), prior_jet(theta, {}, 0)), order);
  return cut(sum_of(rows_jet(along(v), v, 0, order), prior_jet(theta, v, 0)), order);
}

JetPair RegressionPosterior::jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
  place(theta);
  if (samples_numbers()) return {jet(theta, v, order), jet(theta, w, order)};
  const Predictor& first = along(v);
  return pair_of_rows(first, along(w), 0, theta, order);
}

/// Jets along two lines, alpha along the first one, at theta; no number of the family is sampled.
JetPair RegressionPosterior::pair_of_rows(const Predictor& first, const Predictor& second, double alpha,
                                          VectorView theta, Order order) {
  const FamilyNumbers numbers = numbers_of(theta);
  const RowLine line{.eta = here_.values.data(),
                     .d = first.values.data(),
                     .alpha = static_cast<float>(alpha),
                     .next = second.values.data(),
                     .numbers = numbers};
  const LineSums sums = y_->classes() > 1 ? softmax_sums(*y_, line, *pool_) : y_->sums(line, *pool_);
  const double value = sums.value + y_->constant(numbers);
  return {cut(sum_of({value, sums.slope, sums.curvature}, prior_jet(theta, first.at, 0)), order),
          cut(sum_of({value, sums.next_slope, sums.next_curvature}, prior_jet(theta, second.at, 0)), order)};
}

double RegressionPosterior::gradient(VectorView theta, std::span<double> out) {
  place(theta);
  residuals_.resize(here_.values.size());
  const FamilyNumbers numbers = numbers_of(theta);
  const double rows = y_->classes() > 1
                          ? softmax_residuals(*y_, here_.values.data(), residuals_.data(), *pool_)
                          : y_->row_slopes(here_.values.data(), numbers, residuals_.data(), nullptr, *pool_);
  x_->multiply_transposed(residuals_.data(), y_->classes(), out.first(coefficients()), *pool_);
  double value = rows + y_->constant(numbers);
  for (std::size_t i = 0; i < coefficients(); ++i) {
    const Jet prior = priors_[i % x_->columns()].at(theta[i]);
    value += prior.value;
    out[i] += prior.slope;
  }
  for (std::size_t i = 0; i < sampled_numbers_.size(); ++i) {
    const std::size_t number = sampled_numbers_[i], at = coefficients() + i;
    const NumberJets jets(*y_, here_.values.data(), *pool_, numbers, number,
                          y_->sum_at_unit_scale(rows, numbers));
    const Jet prior = number_prior_at(number, theta[at]);
    value += prior.value;
    out[at] = jets(theta[at]).slope + prior.slope;
  }
  return value;
}

RegressionPosterior::Line RegressionPosterior::line(VectorView theta, const Direction& v) {
  place(theta);
  along(v);
  line_ = latest_;
  return Line(*this);
}

Jet RegressionPosterior::jet_on_line(double alpha, Order order) {
  const Predictor& d = directions_[line_];
  return cut(sum_of(rows_jet(d, d.at, alpha, order), prior_jet(here_.at, d.at, alpha)), order);
}

JetPair RegressionPosterior::pair_on_line(double alpha, const Direction& next, Order order) {
  latest_ = line_;  // so that the next direction takes the place of the other one
  const Predictor& second = along(next);
  const Predictor& first = directions_[line_];
  std::vector<double> there = here_.at;
  for (std::size_t i = 0; i < there.size(); ++i) there[i] += alpha * first.at[i];
  if (samples_numbers()) {
    const Jet on_line = jet_on_line(alpha, order);
    Predictor start = here_;
    commit(alpha);
    const Jet on_next =
        cut(sum_of(rows_jet(second, second.at, 0, order), prior_jet(there, second.at, 0)), order);
    here_ = std::move(start);
    --report_.moves;
    return {on_line, on_next};
  }
  return pair_of_rows(first, second, alpha, there, order);
}

void RegressionPosterior::commit(double alpha) {
  const Predictor& d = directions_[line_];
  const auto step = static_cast<float>(alpha);
  for (std::size_t i = 0; i < here_.at.size(); ++i) here_.at[i] += alpha * d.at[i];
  for (std::size_t i = 0; i < here_.values.size(); ++i) here_.values[i] += step * d.values[i];
  here_.moved = true;
  ++report_.moves;
}

double RegressionPosterior::refresh() {
  base_.known = directions_[0].known = directions_[1].known = false;
  if (!here_.known || !here_.moved) return 0;
  double drift = 0;
  std::swap(base_, here_);
  afresh(VectorView(base_.at), here_);
  add_offset(here_);
  for (std::size_t i = 0; i < here_.values.size(); ++i)
    drift = std::max(drift,
                     std::abs(static_cast<double>(here_.values[i]) - static_cast<double>(base_.values[i])));
  report_.largest_drift = std::max(report_.largest_drift, drift);
  return drift;
}

PanelColumns RegressionPosterior::give_design(const Eigen::MatrixXd& matrix, ThreadPool& pool) {
  if (x_.use_count() > 1) return PanelColumns(*x_, matrix, pool);
  // Nobody else can see the design, so its memory may be used.
  return PanelColumns(std::move(const_cast<Design&>(*x_)), matrix, pool);
}

}  // namespace onward::glm
