#include "factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "expression.hpp"
#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"

namespace onward::formula::detail {
namespace {

constexpr std::uint32_t missing = Column::missing_code;

bool makes_factor(const Node& node) {
  return node.kind == Node::Kind::call &&
         (node.word == "factor" || node.word == "as.factor" || node.word == "relevel");
}

/// Numbers as a factor: levels sorted by value and spelled as R does.
Factor factor_of_numbers(const Expression& numbers, std::size_t rows, const Column* column) {
  Factor factor;
  factor.own.resize(rows);
  std::unordered_map<double, std::uint32_t> seen;
  std::vector<std::pair<double, std::string>> values;  // with their spelling
  for_all_rows(numbers, rows, [&](std::size_t first, std::span<const double> part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (std::isnan(part[i])) {
        factor.own[first + i] = missing;
        continue;
      }
      const auto [place, fresh] = seen.try_emplace(part[i], static_cast<std::uint32_t>(values.size()));
      if (fresh) values.emplace_back(part[i], column ? column->spelling(first + i) : spelled_number(part[i]));
      factor.own[first + i] = place->second;
    }
  });
  std::vector<std::uint32_t> order(values.size()), map(values.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::sort(order, {}, [&](auto k) { return values[k].first; });
  std::vector<std::string> levels;
  for (const auto k : order) {
    // A number that is a double in one block and a float in another is one level.
    if (levels.empty() || levels.back() != values[k].second) levels.push_back(values[k].second);
    map[k] = static_cast<std::uint32_t>(levels.size() - 1);
  }
  factor.recode(map, std::move(levels));
  return factor;
}

/// The levels in the order that the user wants.
void reorder(const Context& context, const std::string& name, const std::vector<std::string>& wanted,
             Factor& factor) {
  std::vector<std::uint32_t> map(factor.levels.size(), missing);
  for (std::uint32_t k = 0; k < wanted.size(); ++k) {
    const auto place = std::ranges::find(factor.levels, wanted[k]);
    if (place == factor.levels.end())
      throw UsageError(fmt::format("`levels` of {}: no row has the level \"{}\".{} Leave it out.", name,
                                   printable(wanted[k]), suggestion(wanted[k], factor.levels)));
    auto& code = map[static_cast<std::size_t>(place - factor.levels.begin())];
    if (code != missing)
      throw UsageError(fmt::format("`levels` of {}: \"{}\" is there twice.", name, printable(wanted[k])));
    code = k;
  }
  const auto codes = factor.codes();
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] != missing && map[codes[i]] == missing)
      throw Error(fmt::format("{}: {} is \"{}\", which is not among its `levels`: {}.",
                              context.table.place_of_row(i), name, printable(factor.levels[codes[i]]),
                              joined(wanted)));
  factor.recode(map, wanted);
}

void apply_given_levels(const Context& context, const std::string& name, Factor& factor) {
  if (context.has_old_state()) return;
  const auto given = context.options.levels.find(name);
  if (given != context.options.levels.end()) reorder(context, name, given->second, factor);
}

/// New data must have this column as text.
void remember_text(Context& context, const std::string& name) {
  auto& text = context.state["text"];
  if (std::find(text.begin(), text.end(), name) == text.end()) text.push_back(name);
}

/// The texts or numbers of c("a", "b"), as levels are spelled.
std::vector<std::string> constant_words(const Syntax& syntax, NodeId id) {
  std::vector<std::string> words;
  const bool list = syntax[id].kind == Node::Kind::call && syntax[id].word == "c";
  for (const NodeId word : list ? syntax[id].arguments : std::vector<NodeId>{id}) {
    if (syntax[word].kind == Node::Kind::text)
      words.push_back(syntax[word].word);
    else if (const auto number = constant_number(syntax, word))
      words.push_back(spelled_number(*number));
    else
      syntax.fail_at(word, "levels are given as text or numbers, as in c(\"a\", \"b\").");
  }
  return words;
}

Factor build_relevel(Context& context, NodeId id) {
  const auto arguments = match_arguments(context.syntax, id, {"x", "ref"});
  Factor factor = build_factor(context, *arguments[0]);
  if (context.has_old_state()) return factor;  // the order is that of the fitted model
  if (!arguments[1]) context.syntax.fail_at(id, "relevel needs a reference, as in relevel(f, ref = \"b\").");
  const auto words = constant_words(context.syntax, *arguments[1]);
  const auto place = std::ranges::find(factor.levels, words.front());
  if (words.size() != 1 || place == factor.levels.end())
    context.syntax.fail_at(*arguments[1], fmt::format("the reference is one of the levels, which are {}.",
                                                      printable(joined(factor.levels))));
  std::vector<std::string> wanted{*place};
  for (const auto& level : factor.levels)
    if (level != words.front()) wanted.push_back(level);
  reorder(context, "relevel", wanted, factor);
  return factor;
}

}  // namespace

void Factor::recode(const std::vector<std::uint32_t>& map, std::vector<std::string> new_levels) {
  if (column) {
    own.assign(column->codes().begin(), column->codes().end());
    column = nullptr;
  }
  for (auto& code : own)
    if (code != missing) code = map[code];
  levels = std::move(new_levels);
}

bool is_factor(const Context& context, NodeId id) {
  id = without_parentheses(context.syntax, id);
  const Node& node = context.syntax[id];
  if (node.kind == Node::Kind::name) {
    const auto column = context.table.look_up(node.word);
    return column && column->kind() == ColumnKind::factor;
  }
  if (context.syntax.is_call(id, "I", 1)) return is_factor(context, node.arguments[0]);
  return makes_factor(node);
}

Factor build_factor(Context& context, std::shared_ptr<const Column> column) {
  Factor factor;
  if (column->kind() == ColumnKind::number) {
    factor = factor_of_numbers(*column_expression(column), context.table.rows(), column.get());
  } else {
    factor.levels = column->levels();
    factor.column = column;
    if (column->kind() == ColumnKind::factor) remember_text(context, column->name());
  }
  apply_given_levels(context, column->name(), factor);
  return factor;
}

Factor build_factor(Context& context, NodeId id) {
  id = without_parentheses(context.syntax, id);
  const Node& node = context.syntax[id];
  if (node.kind == Node::Kind::name) return build_factor(context, context.column(id));
  if (context.syntax.is_call(id, "I", 1) && is_factor(context, id))
    return build_factor(context, node.arguments[0]);
  if (!makes_factor(node)) {
    const auto numbers = build_expression(context, id);
    if (!numbers->logical()) return factor_of_numbers(*numbers, context.table.rows(), nullptr);
    Factor factor = factor_of_numbers(*numbers, context.table.rows(), nullptr);
    for (auto& level : factor.levels) level = level == "0" ? "FALSE" : "TRUE";
    return factor;
  }
  if (node.word == "relevel") return build_relevel(context, id);
  const auto arguments = match_arguments(
      context.syntax, id,
      node.word == "factor" ? std::vector<std::string>{"x", "levels"} : std::vector<std::string>{"x"});
  Factor factor = build_factor(context, *arguments[0]);
  if (arguments.size() > 1 && arguments[1] && !context.has_old_state())
    reorder(context, deparse(context.syntax, id), constant_words(context.syntax, *arguments[1]), factor);
  return factor;
}

void drop_unused_levels(Context& context, const std::string& label, std::span<const std::uint8_t> keep,
                        Factor& factor) {
  const auto codes = factor.codes();
  std::vector<std::uint8_t> used(factor.levels.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (keep[i] != 0) used[codes[i]] = 1;
  std::vector<std::uint32_t> map(used.size(), missing);
  std::vector<std::string> kept, lost;
  for (std::size_t k = 0; k < used.size(); ++k) {
    if (used[k] != 0) map[k] = static_cast<std::uint32_t>(kept.size());
    (used[k] != 0 ? kept : lost).push_back(factor.levels[k]);
  }
  if (lost.empty()) return;
  factor.recode(map, std::move(kept));
  constexpr std::size_t few = 5;
  const std::size_t count = lost.size();
  if (count > few) lost.resize(few);
  const auto names = printable(joined(lost)) + (count > few ? ", ..." : "");
  context.notes.push_back(
      count == 1 ? fmt::format("Level {} of {} has no rows and is left out.", names, label)
                 : fmt::format("{} levels of {} have no rows and are left out: {}.", count, label, names));
}

void adopt_levels(const Context& context, const std::string& label, std::vector<std::string> levels,
                  std::span<const std::uint8_t> keep, Factor& factor, std::vector<std::string>* unknown,
                  std::string_view remedy) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (const auto& level : levels) numbers.emplace(level, static_cast<std::uint32_t>(numbers.size()));
  std::vector<std::uint32_t> map;
  for (const auto& level : factor.levels) {
    const auto place = numbers.find(level);
    map.push_back(place == numbers.end() ? missing : place->second);
  }
  std::vector<std::uint8_t> strange(map.size());
  const auto codes = factor.codes();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (keep[i] == 0 || map[codes[i]] != missing) continue;
    if (unknown == nullptr)
      throw Error(fmt::format("{}: {} is \"{}\", a level that the fitted model does not have.{}{}",
                              context.table.place_of_row(i), label, printable(factor.levels[codes[i]]),
                              suggestion(factor.levels[codes[i]], levels), remedy));
    strange[codes[i]] = 1;
  }
  for (std::size_t k = 0; k < strange.size(); ++k) {
    if (strange[k] == 0) continue;
    map[k] = static_cast<std::uint32_t>(levels.size() + unknown->size());
    unknown->push_back(factor.levels[k]);
  }
  factor.recode(map, std::move(levels));
}

}  // namespace onward::formula::detail
