#include "groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "onward/error.hpp"

namespace onward::formula::detail {
namespace {

constexpr std::uint32_t missing = Column::missing_code;

struct Grouping {
  std::string label;
  std::vector<NodeId> components;
};

/// `a` or `a:b`, with calls such as factor(a) among them.
Grouping read_grouping(const Syntax& syntax, NodeId id) {
  Grouping grouping{.label = deparse(syntax, id), .components = {}};
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    id = without_parentheses(syntax, open.back());
    open.pop_back();
    if (syntax.is_call(id, ":", 2)) {
      open.push_back(syntax.argument(id, 1));
      open.push_back(syntax.argument(id, 0));
    } else if (syntax[id].kind == Node::Kind::number || syntax[id].kind == Node::Kind::text ||
               std::string_view("+-*^|&").find(syntax[id].word[0]) != std::string_view::npos ||
               syntax[id].word == "||" || syntax[id].word == "/") {
      syntax.fail_at(id, "the right side of a group is a factor, or factors joined by `:` or `/`.");
    } else {
      grouping.components.push_back(id);
    }
  }
  return grouping;
}

/// `a/b/c` is c:(b:a), b:a and a.
std::vector<Grouping> expand_nesting(const Syntax& syntax, NodeId id) {
  id = without_parentheses(syntax, id);
  if (!syntax.is_call(id, "/", 2)) return {read_grouping(syntax, id)};
  auto outer = expand_nesting(syntax, syntax.argument(id, 0));
  Grouping inner = read_grouping(syntax, syntax.argument(id, 1));
  const Grouping& first = outer.front();
  inner.label += first.components.size() > 1 ? ":(" + first.label + ")" : ":" + first.label;
  inner.components.insert(inner.components.end(), first.components.begin(), first.components.end());
  outer.insert(outer.begin(), std::move(inner));
  return outer;
}

/// The blocks of the left side: one, or with `||` one for the intercept and one for each term.
std::vector<Terms> expand_left(const Syntax& syntax, NodeId bar, const std::vector<std::string>& dot) {
  const NodeId left = syntax.argument(bar, 0);
  Terms all = expand_terms(syntax, left, dot);
  if (!all.offsets.empty()) syntax.fail_at(left, "an offset cannot stand in a group.");
  if (!all.intercept && all.terms.empty())
    syntax.fail_at(left, "the left side of a group has neither an intercept nor a variable.");
  if (syntax[bar].word == "|") return {std::move(all)};
  std::vector<Terms> split;
  if (all.intercept) split.push_back({.variables = {}, .terms = {}, .offsets = {}, .intercept = true});
  for (const Term& term : all.terms)
    split.push_back({.variables = all.variables, .terms = {term}, .offsets = {}, .intercept = false});
  return split;
}

/// Both factors at once: the levels that rows have, sorted by the first, then by the second.
Factor interaction(const Factor& a, const Factor& b, std::span<const std::uint8_t> keep) {
  const auto first = a.codes(), second = b.codes();
  const auto key = [&](std::size_t i) { return first[i] * std::uint64_t{b.levels.size()} + second[i]; };
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i] != 0) keys.push_back(key(i));
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  keys.shrink_to_fit();
  Factor both;
  for (const auto k : keys)
    both.levels.push_back(a.levels[k / b.levels.size()] + ":" + b.levels[k % b.levels.size()]);
  both.own.assign(keep.size(), missing);
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i] != 0)
      both.own[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(keys, key(i)) - keys.begin());
  return both;
}

std::vector<float> column_values(const Design& design, std::size_t j,
                                 std::span<const std::uint32_t> table_rows, std::size_t rows) {
  std::vector<float> values(rows);
  std::array<double, stretch> part;
  for (std::size_t first = 0; first < rows; first += stretch) {
    const std::size_t count = std::min(stretch, rows - first);
    const auto index = table_rows.empty() ? table_rows : table_rows.subspan(first, count);
    design.evaluate(j, {.first = first, .index = index, .count = count}, std::span(part).first(count));
    std::copy_n(part.begin(), count, values.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return values;
}

/// lme4 sorts blocks by falling numbers of levels if they are not so already; its way reverses equal ones.
void order_as_lme4(std::vector<GroupTerm>& groups) {
  const auto fewer = [](const GroupTerm& a, const GroupTerm& b) { return a.levels.size() < b.levels.size(); };
  if (std::ranges::adjacent_find(groups, fewer) == groups.end()) return;
  std::ranges::stable_sort(groups, fewer);
  std::ranges::reverse(groups);
}

}  // namespace

std::vector<GroupPlan> plan_groups(const Syntax& syntax, NodeId right, const std::vector<std::string>& dot) {
  std::vector<GroupPlan> plans;
  // lme4 splits `||` before it expands `/`.
  for (const NodeId bar : find_bars(syntax, right))
    for (const Terms& terms : expand_left(syntax, bar, dot))
      for (Grouping& grouping : expand_nesting(syntax, syntax.argument(bar, 1)))
        plans.push_back({.label = std::move(grouping.label),
                         .components = std::move(grouping.components),
                         .terms = terms,
                         .bar = bar});
  return plans;
}

GroupFactors build_group_factors(Context& context, const std::vector<GroupPlan>& plans) {
  GroupFactors factors;
  for (const auto& plan : plans)
    for (const NodeId id : plan.components) {
      const std::string label = deparse(context.syntax, id);
      if (!factors.contains(label)) factors.emplace(label, build_factor(context, id));
    }
  return factors;
}

std::vector<GroupTerm> finish_groups(Context& context, const std::vector<GroupPlan>& plans,
                                     GroupFactors factors, const Variables& variables,
                                     std::span<const std::uint8_t> keep,
                                     std::span<const std::uint32_t> table_rows, std::size_t rows) {
  std::vector<GroupTerm> groups;
  std::map<std::string, Factor> finished;
  std::map<std::string, std::vector<std::string>> strangers;
  // How often factors are still to come: the last to take one has its codes, which are as long as the table.
  std::map<std::string, std::size_t> uses, turns;
  for (const auto& plan : plans)
    if (++turns[plan.label] == 1)
      for (const NodeId id : plan.components) ++uses[deparse(context.syntax, id)];
  for (const auto& plan : plans) {
    if (!finished.contains(plan.label)) {
      const auto component = [&](std::size_t i) -> Factor {
        const std::string label = deparse(context.syntax, plan.components[i]);
        return --uses[label] == 0 ? std::move(factors.at(label)) : factors.at(label);
      };
      Factor factor = component(0);
      for (std::size_t i = 1; i < plan.components.size(); ++i)
        factor = interaction(factor, component(i), keep);
      if (context.has_old_state()) {
        auto levels = context.old_state("groups", plan.label).get<std::vector<std::string>>();
        const bool number = context.options.new_levels == NewLevels::number;
        adopt_levels(context, plan.label, std::move(levels), keep, factor,
                     number ? &strangers[plan.label] : nullptr,
                     " Correct it, or take `new_levels` draw: its effects then come from the distribution of "
                     "the groups.");
      } else {
        drop_unused_levels(context, plan.label, keep, factor);
        if (factor.levels.size() < 2)
          context.syntax.fail_at(
              plan.bar,
              fmt::format("{} has one level, and a group needs two. Leave the term out.", plan.label));
      }
      context.state["groups"][plan.label] = factor.levels;
      finished.emplace(plan.label, std::move(factor));
    }
    Factor& factor = finished.at(plan.label);
    const Design design(plan.terms, variables, context.options.contrasts);
    GroupTerm group;
    group.factor = plan.label;
    group.levels = factor.levels;
    group.new_levels = strangers[plan.label];
    if (--turns[plan.label] == 0 && table_rows.empty() && !factor.column) {
      group.level_of_row = std::move(factor.own);
    } else {
      group.level_of_row.resize(rows);
      const auto codes = factor.codes();
      for (std::size_t i = 0; i < rows; ++i)
        group.level_of_row[i] = codes[table_rows.empty() ? i : table_rows[i]];
    }
    if (design.intercept()) {
      group.columns.emplace_back("Intercept");
      group.values.emplace_back();
    }
    for (std::size_t j = 0; j < design.names().size(); ++j) {
      group.columns.push_back(design.names()[j]);
      group.values.push_back(column_values(design, j, table_rows, rows));
    }
    groups.push_back(std::move(group));
  }
  order_as_lme4(groups);
  return groups;
}

}  // namespace onward::formula::detail
