#pragma once
// Groups such as (1 + x | g), as lme4 reads them: `a/b` is `a` and `b:a`, `||` makes a block of each term.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "context.hpp"
#include "design.hpp"
#include "factor.hpp"
#include "terms.hpp"

namespace onward::formula::detail {

/// A block before it is known which rows are used.
struct GroupPlan {
  std::string label;               // of the grouping factor
  std::vector<NodeId> components;  // the factors that it combines, the slowest first
  Terms terms;
  NodeId bar = 0;
};

std::vector<GroupPlan> plan_groups(const Syntax& syntax, NodeId right, const std::vector<std::string>& dot);

/// The grouping factors of all plans by their components' labels.
using GroupFactors = std::map<std::string, Factor>;
GroupFactors build_group_factors(Context& context, const std::vector<GroupPlan>& plans);

/// The finished blocks, in lme4's order. `table_rows` may be empty for all rows.
std::vector<GroupTerm> finish_groups(Context& context, const std::vector<GroupPlan>& plans,
                                     GroupFactors factors, const Variables& variables,
                                     std::span<const std::uint8_t> keep,
                                     std::span<const std::uint32_t> table_rows, std::size_t rows);

}  // namespace onward::formula::detail
