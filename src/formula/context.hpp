#pragma once
// What the parts of a frame are made from, and what they leave for new data.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onward/formula/frame.hpp"
#include "onward/table/table.hpp"
#include "syntax.hpp"

namespace onward::formula::detail {

struct Context {
  const Syntax& syntax;
  const Table& table;
  const FrameOptions& options;
  nlohmann::ordered_json& state;  // of this frame, being written
  std::vector<std::string>& notes;

  bool has_old_state() const { return !options.state.is_null(); }
  /// What an earlier frame stored under `kind` for this expression; an Error if it has none.
  const nlohmann::ordered_json& old_state(const char* kind, const std::string& label) const;
  /// The column that a name means; an error that points at the name if there is none.
  std::shared_ptr<const Column> column(NodeId name) const;
};

/// The arguments of a call by the names of its parameters: those given by name first, the others in order.
/// Absent ones are empty; too many, or unknown names, are errors.
std::vector<std::optional<NodeId>> match_arguments(const Syntax& syntax, NodeId call,
                                                   const std::vector<std::string>& parameters);

/// Constants as arguments: a number such as 2 or -1, TRUE or FALSE, text; nothing if it is something else.
std::optional<double> constant_number(const Syntax& syntax, NodeId id);
std::optional<bool> constant_logical(const Syntax& syntax, NodeId id);

}  // namespace onward::formula::detail
