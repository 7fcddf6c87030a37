#include "variable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::formula::detail {
namespace {

constexpr double highest_degree = 30;

/// The recurrence from the data: each degree takes a pass over the rows.
void estimate(Polynomial& polynomial, const Expression& x, std::size_t rows) {
  for (std::size_t k = 0; k <= polynomial.degree; ++k) {
    double norm = 0, moment = 0;
    for_all_rows(x, rows, [&](std::size_t, std::span<const double> part) {
      for (const double value : part) {
        if (std::isnan(value)) continue;
        double before = 0, now = 1;
        for (std::size_t i = 0; i < k; ++i) {
          const double ratio = i == 0 ? 0 : polynomial.norms[i] / polynomial.norms[i - 1];
          before = std::exchange(now, (value - polynomial.alpha[i]) * now - ratio * before);
        }
        norm += now * now;
        moment += value * now * now;
      }
    });
    polynomial.norms.push_back(norm);
    if (k < polynomial.degree) polynomial.alpha.push_back(moment / norm);
  }
}

Variable build_polynomial(Context& context, NodeId id, std::string label) {
  const Syntax& syntax = context.syntax;
  const auto arguments = match_arguments(syntax, id, {"x", "degree", "raw"});
  Variable variable;
  variable.kind = Variable::Kind::polynomial;
  variable.numbers = build_expression(context, *arguments[0]);
  Polynomial& polynomial = variable.polynomial;
  if (arguments[1]) {
    const auto degree = constant_number(syntax, *arguments[1]);
    if (!degree || !(*degree >= 1 && *degree <= highest_degree) || *degree != std::floor(*degree))
      syntax.fail_at(*arguments[1],
                     fmt::format("the degree is a whole number from 1 to {}.", highest_degree));
    polynomial.degree = static_cast<std::size_t>(*degree);
  }
  if (arguments[2]) {
    const auto raw = constant_logical(syntax, *arguments[2]);
    if (!raw) syntax.fail_at(*arguments[2], "raw is TRUE or FALSE.");
    polynomial.raw = *raw;
  }
  if (!polynomial.raw && context.has_old_state()) {
    const auto& old = context.old_state("poly", label);
    polynomial.alpha = old.at("alpha").get<std::vector<double>>();
    polynomial.norms = old.at("norms").get<std::vector<double>>();
    if (polynomial.alpha.size() != polynomial.degree || polynomial.norms.size() != polynomial.degree + 1)
      throw Error(fmt::format("the `state` of the fitted model has another degree for {}.", label));
  } else if (!polynomial.raw) {
    std::set<double> different;
    for_all_rows(*variable.numbers, context.table.rows(), [&](std::size_t, std::span<const double> part) {
      for (const double value : part)
        if (different.size() <= polynomial.degree && !std::isnan(value)) different.insert(value);
    });
    if (different.size() <= polynomial.degree)
      syntax.fail_at(id, fmt::format("the degree {} must be less than the number of different values, {}.",
                                     polynomial.degree, different.size()));
    estimate(polynomial, *variable.numbers, context.table.rows());
  }
  if (!polynomial.raw)
    context.state["poly"][label] = {{"alpha", polynomial.alpha}, {"norms", polynomial.norms}};
  variable.label = std::move(label);
  return variable;
}

/// A factor that a stray word has made of numbers is probably not meant.
void note_stray_text(Context& context, const Variable& variable, const Column& column) {
  if (!column.text_among_numbers() || context.has_old_state()) return;
  const auto& where = *column.text_among_numbers();
  context.notes.push_back(fmt::format(
      "{} is a factor of {} levels, as {}:{} has \"{}\" where numbers came before.", variable.label,
      variable.levels(), context.table.source(), where.line, printable(where.text)));
}

/// Whether an earlier frame had this variable as a factor.
bool was_factor(const Context& context, const std::string& label) {
  return context.options.state.contains("factors") && context.options.state["factors"].contains(label);
}

void require_number_before(const Context& context, const std::string& label, const Column* column) {
  if (!context.has_old_state() || was_factor(context, label)) return;
  std::string entry;
  if (column != nullptr && column->text_among_numbers()) {
    const auto& where = *column->text_among_numbers();
    entry = fmt::format(" {}:{} has \"{}\".", context.table.source(), where.line, printable(where.text));
  }
  throw Error(fmt::format("{} was a number when the model was fitted, and is text here.{}", label, entry));
}

}  // namespace

void Polynomial::evaluate(std::size_t k, std::span<double> x) const {
  if (raw) {
    for (double& value : x) value = std::pow(value, static_cast<double>(k));
    return;
  }
  const double scale = 1 / std::sqrt(norms[k]);
  for (double& value : x) {
    double before = 0, now = 1;
    for (std::size_t i = 0; i < k; ++i) {
      const double ratio = i == 0 ? 0 : norms[i] / norms[i - 1];
      before = std::exchange(now, (value - alpha[i]) * now - ratio * before);
    }
    value = now * scale;
  }
}

std::string Variable::level(std::size_t k) const {
  if (kind == Kind::logical) return k == 0 ? "FALSE" : "TRUE";
  return factor.levels[k];
}

std::size_t Variable::columns(Coding coding) const {
  if (kind == Kind::number) return 1;
  if (kind == Kind::polynomial) return polynomial.degree;
  return coding == Coding::full ? levels() : levels() - 1;
}

std::string Variable::column_name(std::size_t k, Coding coding) const {
  if (kind == Kind::number) return label;
  if (kind == Kind::polynomial) return polynomial.degree == 1 ? label : fmt::format("{}{}", label, k + 1);
  if (coding == Coding::sum) return fmt::format("{}{}", label, k + 1);
  return label + level(coding == Coding::treatment ? k + 1 : k);
}

void Variable::evaluate(std::size_t k, Coding coding, const Rows& rows, std::span<double> out) const {
  if (kind != Kind::factor) numbers->evaluate(rows, out);
  if (kind == Kind::polynomial) polynomial.evaluate(k + 1, out);
  if (!is_categorical()) return;
  const double wanted = static_cast<double>(coding == Coding::treatment ? k + 1 : k);
  const double last = static_cast<double>(levels() - 1);
  const auto coded = [&](double code) {
    return code == wanted ? 1.0 : coding == Coding::sum && code == last ? -1.0 : 0.0;
  };
  if (kind == Kind::logical) {
    for (double& value : out) value = coded(value);
    return;
  }
  const auto codes = factor.codes();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = coded(codes[rows[i]]);
}

void Variable::mark_missing(std::span<std::uint8_t> keep) const {
  if (kind == Kind::factor) {
    const auto codes = factor.codes();
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (codes[i] == Column::missing_code) keep[i] = 0;
    return;
  }
  for_all_rows(*numbers, keep.size(), [&](std::size_t first, std::span<const double> part) {
    for (std::size_t i = 0; i < part.size(); ++i)
      if (std::isnan(part[i])) keep[first + i] = 0;
  });
}

std::optional<std::size_t> Variable::first_infinite(std::span<const std::uint8_t> keep) const {
  std::optional<std::size_t> row;
  if (kind == Kind::factor) return row;
  for_all_rows(*numbers, keep.size(), [&](std::size_t first, std::span<const double> part) {
    for (std::size_t i = 0; i < part.size(); ++i)
      if (!row && keep[first + i] != 0 && std::isinf(part[i])) row = first + i;
  });
  return row;
}

Variable build_variable(Context& context, const Terms::Variable& variable) {
  const auto& [label, node, name] = variable;
  if (node && context.syntax[*node].kind == Node::Kind::call && context.syntax[*node].word == "poly")
    return build_polynomial(context, *node, label);
  auto column = !node                                            ? context.table.find(name)
                : context.syntax[*node].kind == Node::Kind::name ? context.column(*node)
                                                                 : nullptr;
  Variable out;
  out.label = label;
  const bool factor = column ? column->kind() == ColumnKind::factor : is_factor(context, *node);
  if (factor || was_factor(context, label)) {
    require_number_before(context, label, column.get());
    out.kind = Variable::Kind::factor;
    out.factor = column ? build_factor(context, column) : build_factor(context, *node);
    if (column) note_stray_text(context, out, *column);
    return out;
  }
  out.numbers = column ? column_expression(column) : build_expression(context, *node);
  out.kind = out.numbers->logical() ? Variable::Kind::logical : Variable::Kind::number;
  return out;
}

void settle_levels(Context& context, std::span<const std::uint8_t> keep, Variable& variable) {
  if (variable.kind != Variable::Kind::factor) return;
  if (context.has_old_state()) {
    auto levels = context.old_state("factors", variable.label).get<std::vector<std::string>>();
    adopt_levels(context, variable.label, std::move(levels), keep, variable.factor, nullptr,
                 " There is no coefficient for it: correct it, leave such rows out, or fit the model to data "
                 "that have the level.");
  } else {
    drop_unused_levels(context, variable.label, keep, variable.factor);
  }
  context.state["factors"][variable.label] = variable.factor.levels;
}

}  // namespace onward::formula::detail
