#include "expression.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "functions.hpp"
#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"

namespace onward::formula::detail {
namespace {

using Operand = std::shared_ptr<const Expression>;

class Constant : public Expression {
 public:
  explicit Constant(double value, bool logical) : value_(value), logical_(logical) {}
  void evaluate(const Rows&, std::span<double> out) const override { std::ranges::fill(out, value_); }
  bool logical() const override { return logical_; }
  double value() const { return value_; }

 private:
  double value_;
  bool logical_;
};

class ColumnNumbers : public Expression {
 public:
  explicit ColumnNumbers(std::shared_ptr<const Column> column) : column_(std::move(column)) {}
  void evaluate(const Rows& rows, std::span<double> out) const override {
    if (rows.index.empty()) return column_->read(rows.first, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = column_->number(rows[i]);
  }
  bool logical() const override { return column_->kind() == ColumnKind::logical; }
  const Column& column() const { return *column_; }

 private:
  std::shared_ptr<const Column> column_;
};

class OfOne : public Expression {
 public:
  OfOne(Unary function, Operand x, bool logical) : function_(function), x_(std::move(x)), logical_(logical) {}
  void evaluate(const Rows& rows, std::span<double> out) const override {
    x_->evaluate(rows, out);
    for (double& value : out) value = function_(value);
  }
  bool logical() const override { return logical_; }

 private:
  Unary function_;
  Operand x_;
  bool logical_;
};

class OfTwo : public Expression {
 public:
  OfTwo(Binary function, Operand a, Operand b, bool logical)
      : function_(function), a_(std::move(a)), b_(std::move(b)), logical_(logical) {}
  void evaluate(const Rows& rows, std::span<double> out) const override {
    a_->evaluate(rows, out);
    std::vector<double> second(out.size());
    b_->evaluate(rows, second);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = function_(out[i], second[i]);
  }
  bool logical() const override { return logical_; }

 private:
  Binary function_;
  Operand a_, b_;
  bool logical_;
};

/// A column compared with a constant. Where the column has floats, the constant is rounded to one too, so
/// that 0.1 in a file equals 0.1 in a formula.
class ColumnComparison : public Expression {
 public:
  ColumnComparison(Binary compare, std::shared_ptr<const Expression> column, double constant)
      : compare_(compare),
        numbers_(std::move(column)),
        column_(dynamic_cast<const ColumnNumbers&>(*numbers_).column()),
        constant_(constant) {}
  void evaluate(const Rows& rows, std::span<double> out) const override {
    numbers_->evaluate(rows, out);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = compare_(
          out[i], column_.is_float(rows[i]) ? static_cast<double>(static_cast<float>(constant_)) : constant_);
  }
  bool logical() const override { return true; }

 private:
  Binary compare_;
  Operand numbers_;
  const Column& column_;
  double constant_;
};

/// Whether a factor has a given level.
class LevelTest : public Expression {
 public:
  LevelTest(std::shared_ptr<const Column> column, const std::string& level, bool equal)
      : column_(std::move(column)), equal_(equal) {
    const auto& levels = column_->levels();
    code_ = static_cast<std::uint32_t>(std::ranges::find(levels, level) - levels.begin());
  }
  void evaluate(const Rows& rows, std::span<double> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto code = column_->code(rows[i]);
      out[i] = code == Column::missing_code ? std::nan("") : (code == code_) == equal_ ? 1 : 0;
    }
  }
  bool logical() const override { return true; }

 private:
  std::shared_ptr<const Column> column_;
  std::uint32_t code_ = 0;
  bool equal_;
};

class Standardised : public Expression {
 public:
  Standardised(Operand x, double center, double scale) : x_(std::move(x)), center_(center), scale_(scale) {}
  void evaluate(const Rows& rows, std::span<double> out) const override {
    x_->evaluate(rows, out);
    for (double& value : out) value = (value - center_) / scale_;
  }

 private:
  Operand x_;
  double center_, scale_;
};

double negative(double x) { return -x; }
double inverted(double x) { return std::isnan(x) ? x : x == 0 ? 1 : 0; }
double same(double x) { return x; }

/// The mean, and the root mean square about `center` with n - 1, of all numbers in the table.
double mean_of(const Expression& x, std::size_t rows) {
  double sum = 0, count = 0;
  for_all_rows(x, rows, [&](std::size_t, std::span<const double> part) {
    for (const double value : part)
      if (!std::isnan(value)) sum += value, ++count;
  });
  return sum / count;
}
double spread_of(const Expression& x, std::size_t rows, double center) {
  double sum = 0, count = 0;
  for_all_rows(x, rows, [&](std::size_t, std::span<const double> part) {
    for (const double value : part)
      if (!std::isnan(value)) sum += (value - center) * (value - center), ++count;
  });
  return std::sqrt(sum / std::max(1.0, count - 1));
}

/// An argument of scale(): TRUE for what the data say, FALSE for nothing, or a number.
template <class Estimate>
double scale_argument(const Context& context, const std::optional<NodeId>& argument, double without,
                      Estimate estimate) {
  if (!argument) return estimate();
  if (const auto wanted = constant_logical(context.syntax, *argument)) return *wanted ? estimate() : without;
  if (const auto value = constant_number(context.syntax, *argument)) return *value;
  context.syntax.fail_at(*argument, "this should be TRUE, FALSE or a number.");
}

Operand build_scale(Context& context, NodeId id) {
  const auto arguments = match_arguments(context.syntax, id, {"x", "center", "scale"});
  auto x = build_expression(context, *arguments[0]);
  const std::string label = deparse(context.syntax, id);
  double center = 0, scale = 1;
  if (context.has_old_state()) {
    const auto& old = context.old_state("scale", label);
    center = old.at("center").get<double>();
    scale = old.at("scale").get<double>();
  } else {
    const std::size_t rows = context.table.rows();
    center = scale_argument(context, arguments[1], 0, [&] { return mean_of(*x, rows); });
    scale = scale_argument(context, arguments[2], 1, [&] { return spread_of(*x, rows, center); });
    if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(center))
      context.syntax.fail_at(id, fmt::format("{} is not defined: what it scales has mean {} and spread {}.",
                                             label, center, scale));
  }
  context.state["scale"][label] = {{"center", center}, {"scale", scale}};
  return std::make_shared<Standardised>(std::move(x), center, scale);
}

Operand build_name(Context& context, NodeId id) {
  const std::string& name = context.syntax[id].word;
  const auto column = context.table.look_up(name);
  if (!column) {
    if (name == "TRUE" || name == "FALSE") return std::make_shared<Constant>(name == "TRUE" ? 1 : 0, true);
    if (name == "pi") return std::make_shared<Constant>(std::numbers::pi, false);
  }
  auto found = column ? column : context.column(id);
  if (found->kind() == ColumnKind::factor) {
    const auto& where = found->text_among_numbers();
    context.syntax.fail_at(
        id, where ? fmt::format(
                        "{} is used as a number, and {}:{} has \"{}\" in this column. Correct the entry, or "
                        "name it among the words for missing values.",
                        name, context.table.source(), where->line, printable(where->text))
                  : fmt::format("{} is used as a number and is text, as \"{}\".", name,
                                found->levels().empty() ? "" : printable(found->levels().front())));
  }
  return column_expression(std::move(found));
}

/// A factor beside a text in a comparison, such as f == "a".
Operand build_level_test(Context& context, NodeId id) {
  const Node& node = context.syntax[id];
  for (const std::size_t text : {0U, 1U}) {
    const Node& literal = context.syntax[node.arguments[text]];
    const NodeId other = node.arguments[1 - text];
    if (literal.kind != Node::Kind::text || context.syntax[other].kind != Node::Kind::name) continue;
    auto column = context.column(other);
    if (column->kind() == ColumnKind::number)
      context.syntax.fail_at(other, fmt::format("{} is a number and is compared with text.", column->name()));
    return std::make_shared<LevelTest>(std::move(column), literal.word, node.word == "==");
  }
  return nullptr;
}

Operand build_operator(Context& context, NodeId id, Binary function) {
  const Node& node = context.syntax[id];
  const bool logical = is_logical_operator(node.word);
  if (node.word == "==" || node.word == "!=")
    if (auto test = build_level_test(context, id)) return test;
  auto left = build_expression(context, node.arguments[0]);
  auto right = build_expression(context, node.arguments[1]);
  const auto* column = dynamic_cast<const ColumnNumbers*>(left.get());
  const auto* constant = dynamic_cast<const Constant*>(right.get());
  if (logical && node.word != "&" && node.word != "|" && column != nullptr && constant != nullptr)
    return std::make_shared<ColumnComparison>(function, std::move(left), constant->value());
  return std::make_shared<OfTwo>(function, std::move(left), std::move(right), logical);
}

Operand build_call(Context& context, NodeId id) {
  const Syntax& syntax = context.syntax;
  const Node& node = syntax[id];
  const auto only = [&] { return build_expression(context, *match_arguments(syntax, id, {"x"})[0]); };
  if (node.word == "(") return build_expression(context, node.arguments[0]);
  if (node.arguments.size() == 2)
    if (const Binary function = find_operator(node.word)) return build_operator(context, id, function);
  if (node.word == "-")
    return std::make_shared<OfOne>(negative, build_expression(context, node.arguments[0]), false);
  if (node.word == "+")
    return std::make_shared<OfOne>(same, build_expression(context, node.arguments[0]), false);
  if (node.word == "!")
    return std::make_shared<OfOne>(inverted, build_expression(context, node.arguments[0]), true);
  if (node.word == "I") return only();
  if (node.word == "scale") return build_scale(context, id);
  if ((node.word == "log" || node.word == "round") && node.arguments.size() == 2) {
    const auto arguments = match_arguments(syntax, id, {"x", node.word == "log" ? "base" : "digits"});
    return std::make_shared<OfTwo>(node.word == "log" ? log_to_base : round_to_digits,
                                   build_expression(context, *arguments[0]),
                                   build_expression(context, *arguments[1]), false);
  }
  if (const Unary function = find_unary(node.word)) return std::make_shared<OfOne>(function, only(), false);
  if (is_function(node.word))
    syntax.fail_at(id, fmt::format("{} cannot stand here, where a number is due.", node.word));
  const auto known = function_names();
  syntax.fail_at(id, fmt::format("{} is no function that formulas know.{} There are {}.", node.word,
                                 suggestion(node.word, known), joined(known)));
}

}  // namespace

std::shared_ptr<const Expression> column_expression(std::shared_ptr<const Column> column) {
  return std::make_shared<ColumnNumbers>(std::move(column));
}

std::shared_ptr<const Expression> build_expression(Context& context, NodeId id) {
  const Node& node = context.syntax[id];
  switch (node.kind) {
    case Node::Kind::number:
      return std::make_shared<Constant>(node.number, false);
    case Node::Kind::text:
      context.syntax.fail_at(id, "text stands where a number is due.");
    case Node::Kind::name:
      return build_name(context, id);
    case Node::Kind::call:
      break;
  }
  return build_call(context, id);
}

}  // namespace onward::formula::detail
