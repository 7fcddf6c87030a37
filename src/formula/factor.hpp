#pragma once
// Factors that a formula names or makes: text columns, factor(k), relevel(f, ref = "b"), and what groups are
// made of.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context.hpp"

namespace onward::formula::detail {

struct Factor {
  std::vector<std::string> levels;
  std::shared_ptr<const Column> column;  // the column whose codes these are; null: `own` has them
  std::vector<std::uint32_t> own;        // for each row of the table

  std::span<const std::uint32_t> codes() const { return column ? column->codes() : std::span(own); }
  /// Code k becomes map[k].
  void recode(const std::vector<std::uint32_t>& map, std::vector<std::string> new_levels);
};

/// Whether the node stands for a factor: a text column, or a call that makes one.
bool is_factor(const Context& context, NodeId id);

/// The factor that a node stands for; numbers become one as by factor().
Factor build_factor(Context& context, NodeId id);
Factor build_factor(Context& context, std::shared_ptr<const Column> column);

/// Levels that no row of `keep` has are dropped, with a note.
void drop_unused_levels(Context& context, const std::string& label, std::span<const std::uint8_t> keep,
                        Factor& factor);

/// Codes by the levels of a fitted model. A level that it does not have is an Error if a row of `keep` has
/// it, and else missing; with `unknown`, such levels get numbers after the others, and their names go there.
/// `remedy` is what the Error says can be done.
void adopt_levels(const Context& context, const std::string& label, std::vector<std::string> levels,
                  std::span<const std::uint8_t> keep, Factor& factor, std::vector<std::string>* unknown,
                  std::string_view remedy = {});

}  // namespace onward::formula::detail
