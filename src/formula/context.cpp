#include "context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward::formula::detail {

const nlohmann::ordered_json& Context::old_state(const char* kind, const std::string& label) const {
  const auto group = options.state.find(kind);
  if (group == options.state.end() || !group->contains(label))
    throw Error(fmt::format("the `state` of the fitted model has no {} for {}; is it another formula's?",
                            kind, label));
  return (*group)[label];
}

std::shared_ptr<const Column> Context::column(NodeId name) const {
  const std::string& word = syntax[name].word;
  if (auto found = table.look_up(word)) return found;
  try {
    return table.find(word);
  } catch (const Error& error) {
    syntax.fail_at(name, error.what());
  }
}

std::vector<std::optional<NodeId>> match_arguments(const Syntax& syntax, NodeId call,
                                                   const std::vector<std::string>& parameters) {
  const Node& node = syntax[call];
  std::vector<std::optional<NodeId>> matched(parameters.size());
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const std::string& name = node.argument_names[i];
    if (name.empty()) continue;
    const auto place = std::ranges::find(parameters, name);
    if (place == parameters.end())
      syntax.fail_at(node.arguments[i], fmt::format("{} has no argument {} here; it has {}.{}", node.word,
                                                    name, joined(parameters), suggestion(name, parameters)));
    auto& slot = matched[static_cast<std::size_t>(place - parameters.begin())];
    if (slot) syntax.fail_at(node.arguments[i], fmt::format("{} is given twice.", name));
    slot = node.arguments[i];
  }
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    if (!node.argument_names[i].empty()) continue;
    const auto slot = std::ranges::find_if(matched, [](const auto& entry) { return !entry.has_value(); });
    if (slot == matched.end())
      syntax.fail_at(node.arguments[i],
                     fmt::format("{} has more arguments than it takes: {}.", node.word, joined(parameters)));
    *slot = node.arguments[i];
  }
  if (!matched.empty() && !matched[0]) syntax.fail_at(call, fmt::format("{} needs an argument.", node.word));
  return matched;
}

std::optional<double> constant_number(const Syntax& syntax, NodeId id) {
  id = without_parentheses(syntax, id);
  if (syntax[id].kind == Node::Kind::number) return syntax[id].number;
  if (syntax.is_call(id, "-", 1)) {
    const NodeId inner = without_parentheses(syntax, syntax.argument(id, 0));
    if (syntax[inner].kind == Node::Kind::number) return -syntax[inner].number;
  }
  return std::nullopt;
}

std::optional<bool> constant_logical(const Syntax& syntax, NodeId id) {
  if (syntax.is_name(id, "TRUE") || syntax.is_name(id, "T")) return true;
  if (syntax.is_name(id, "FALSE") || syntax.is_name(id, "F")) return false;
  return std::nullopt;
}

}  // namespace onward::formula::detail
