#include "terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace onward::formula::detail {
namespace {

constexpr std::size_t most_terms = 100'000;
constexpr std::size_t deepest = 1000;

Term united(const Term& a, const Term& b) {
  Term both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

Term all_of(const std::vector<Term>& terms) {
  Term all;
  for (const Term& term : terms) all = united(all, term);
  return all;
}

class Expansion {
 public:
  Expansion(const Syntax& syntax, const std::vector<std::string>& dot) : syntax_(syntax), dot_(dot) {}

  Terms run(NodeId id) {
    auto terms = expand(id);
    std::erase_if(terms, [&](const Term& term) {
      return std::ranges::any_of(term,
                                 [&](auto v) { return std::ranges::binary_search(result_.offsets, v); });
    });
    std::ranges::stable_sort(terms, {}, &Term::size);
    result_.terms = std::move(terms);
    return std::move(result_);
  }

 private:
  /// Without repetitions, in order.
  std::vector<Term> distinct(const std::vector<Term>& terms, NodeId id) const {
    std::set<Term> seen;
    std::vector<Term> out;
    for (const Term& term : terms)
      if (!term.empty() && seen.insert(term).second) out.push_back(term);
    require_few(out.size(), id);
    return out;
  }
  void require_few(std::size_t count, NodeId id) const {
    if (count > most_terms)
      syntax_.fail_at(id, fmt::format("this stands for more than {} terms.", most_terms));
  }

  std::vector<Term> expand(NodeId id) {
    // Sums go down on their left side, without limit; so this is a loop.
    std::vector<NodeId> sums;
    while (syntax_.is_call(id, "+", 2) || syntax_.is_call(id, "-", 2)) {
      sums.push_back(id);
      id = syntax_.argument(id, 0);
    }
    if (sums.empty()) return expand_one(id);
    std::vector<Term> terms = expand_one(id);
    std::set<Term> seen(terms.begin(), terms.end());
    for (; !sums.empty(); sums.pop_back()) {
      const NodeId sum = sums.back();
      const NodeId right = syntax_.argument(sum, 1);
      if (syntax_[sum].word == "-") {
        remove(terms, right);
        seen = {terms.begin(), terms.end()};
        continue;
      }
      for (Term& term : expand(right))
        if (!term.empty() && seen.insert(term).second) terms.push_back(std::move(term));
      require_few(terms.size(), sum);
    }
    return terms;
  }

  void remove(std::vector<Term>& terms, NodeId id) {
    if (group_bar(syntax_, id)) syntax_.fail_at(id, "a group cannot be subtracted; leave it out.");
    adding_ = !adding_;
    const std::size_t offsets = result_.offsets.size();
    const auto gone = expand(id);
    adding_ = !adding_;
    if (result_.offsets.size() > offsets)
      syntax_.fail_at(id, "an offset cannot be subtracted; write offset(-x) for one of the other sign.");
    std::erase_if(terms, [&](const Term& term) { return std::ranges::find(gone, term) != gone.end(); });
  }

  std::vector<Term> expand_one(NodeId id) {
    const Node& node = syntax_[id];
    if (node.height > deepest)
      syntax_.fail_at(id, fmt::format("an expression here is more than {} operators deep.", deepest));
    if (node.kind == Node::Kind::number) {
      if (node.number != 0 && node.number != 1)
        syntax_.fail_at(id, "as a term, a number can be 1 (an intercept) or 0 (none).");
      result_.intercept = (node.number == 1) == adding_;
      return {};
    }
    if (node.kind == Node::Kind::text)
      syntax_.fail_at(id, "text is no variable; write names without quotes.");
    if (syntax_.is_name(id, ".")) return expand_dot();
    if (node.kind == Node::Kind::name) return {{variable(id)}};
    return expand_call(id);
  }

  std::vector<Term> expand_dot() {
    std::vector<Term> terms;
    for (const auto& name : dot_) {
      const bool plain = is_syntactic(name);
      terms.push_back({variable({.label = plain ? name : "`" + name + "`", .node = {}, .column = name})});
    }
    return terms;
  }

  std::vector<Term> expand_call(NodeId id) {
    const Node& node = syntax_[id];
    const bool two = node.arguments.size() == 2;
    if (group_bar(syntax_, id)) return {};
    if (node.word == "(") return expand(node.arguments[0]);
    if (node.word == "+") return expand(node.arguments.back());
    if (node.word == "-") {
      std::vector<Term> none;
      remove(none, node.arguments[0]);
      return {};
    }
    if (node.word == "|" || node.word == "||")
      syntax_.fail_at(id, "a group stands in parentheses and is added to the rest, as in y ~ x + (1 | g).");
    if (two && (node.word == "*" || node.word == ":" || node.word == "/" || node.word == "%in%"))
      return combined(id);
    if (two && node.word == "^") return power(id);
    if (node.word == "offset") {
      const auto v = variable(id);
      const auto place = std::ranges::lower_bound(result_.offsets, v);
      if (place == result_.offsets.end() || *place != v) result_.offsets.insert(place, v);
      return {{v}};
    }
    return {{variable(id)}};
  }

  std::vector<Term> operand_terms(NodeId id) {
    if (group_bar(syntax_, id))
      syntax_.fail_at(id, "a group is added to the rest by +, and cannot be part of a product.");
    return expand(id);
  }

  std::vector<Term> combined(NodeId id) {
    const Node& node = syntax_[id];
    const auto left = operand_terms(node.arguments[0]);
    const auto right = operand_terms(node.arguments[1]);
    std::vector<Term> out;
    if (node.word == "*" || node.word == "/") out = left;
    if (node.word == "*") out.insert(out.end(), right.begin(), right.end());
    if (node.word == "*" || node.word == ":") {
      require_few(left.size() * right.size(), id);
      for (const Term& l : left)
        for (const Term& r : right) out.push_back(united(l, r));
    } else if (node.word == "/") {
      const Term all = all_of(left);
      for (const Term& r : right) out.push_back(united(all, r));
    } else {
      const Term all = all_of(right);
      for (const Term& l : left) out.push_back(united(l, all));
    }
    return distinct(out, id);
  }

  std::vector<Term> power(NodeId id) {
    const Node& exponent = syntax_[syntax_.argument(id, 1)];
    if (exponent.kind != Node::Kind::number || exponent.number < 1 ||
        exponent.number != std::floor(exponent.number))
      syntax_.fail_at(syntax_.argument(id, 1),
                      "a power of terms is a whole number of at least 1; powers of numbers stand in I(...).");
    const auto left = operand_terms(syntax_.argument(id, 0));
    auto right = left;
    for (double i = 1; i < exponent.number; ++i) {
      std::vector<Term> products;
      require_few(left.size() * right.size(), id);
      for (const Term& l : left)
        for (const Term& r : right) products.push_back(united(l, r));
      const std::size_t before = right.size();
      right = distinct(products, id);
      if (right.size() == before) break;  // nothing new will come
    }
    return right;
  }

  std::uint32_t variable(Terms::Variable variable) {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    const auto [place, fresh] = numbers_.try_emplace(variable.label, next);
    if (fresh) result_.variables.push_back(std::move(variable));
    return place->second;
  }
  std::uint32_t variable(NodeId id) { return variable({.label = deparse(syntax_, id), .node = id}); }

  const Syntax& syntax_;
  const std::vector<std::string>& dot_;
  Terms result_;
  std::map<std::string, std::uint32_t> numbers_;
  bool adding_ = true;
};

}  // namespace

std::string Terms::label(const Term& term) const {
  std::string out;
  for (const auto v : term) {
    if (!out.empty()) out += ':';
    out += variables[v].label;
  }
  return out;
}

bool Terms::by_contrasts(std::size_t term, std::uint32_t variable) const {
  Term rest = terms[term];
  std::erase(rest, variable);
  if (rest.empty()) return true;
  return std::any_of(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(term),
                     [&](const Term& before) { return std::ranges::includes(before, rest); });
}

Terms expand_terms(const Syntax& syntax, NodeId id, const std::vector<std::string>& dot) {
  return Expansion(syntax, dot).run(id);
}

std::vector<NodeId> find_bars(const Syntax& syntax, NodeId id) {
  std::vector<NodeId> bars, open{id};
  while (!open.empty()) {
    id = open.back();
    open.pop_back();
    if (const auto bar = group_bar(syntax, id)) {
      bars.push_back(*bar);
    } else if (syntax.is_call(id, "+", 2) || syntax.is_call(id, "(", 1) || syntax.is_call(id, "+", 1)) {
      const auto& parts = syntax[id].arguments;
      open.insert(open.end(), parts.rbegin(), parts.rend());
    } else if (syntax.is_call(id, "-", 2)) {
      open.push_back(syntax.argument(id, 0));
    }
  }
  return bars;
}

bool has_dot(const Syntax& syntax, NodeId id) {
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    id = open.back();
    open.pop_back();
    if (syntax.is_name(id, ".")) return true;
    const auto& parts = syntax[id].arguments;
    open.insert(open.end(), parts.begin(), parts.end());
  }
  return false;
}

}  // namespace onward::formula::detail
