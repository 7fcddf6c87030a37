#include "onward/formula/formula.hpp"

#include <algorithm>

#include "groups.hpp"
#include "response.hpp"
#include "syntax.hpp"
#include "terms.hpp"

namespace onward::formula {
Formula::Formula(std::string_view text, const FormulaOptions& options)
    : syntax_(std::make_shared<const detail::Syntax>(detail::parse(text))) {
  if (options.response_required && !syntax_->left)
    syntax_->fail(0, "a response should stand before `~`, as in y ~ x.");
  // What is wrong with a formula is said here, before any data are read.
  if (syntax_->left) detail::response_nodes(*syntax_, *syntax_->left);
  detail::expand_terms(*syntax_, syntax_->right, {});
  detail::plan_groups(*syntax_, syntax_->right, {});
}

const std::string& Formula::text() const { return syntax_->text; }
bool Formula::has_response() const { return syntax_->left.has_value(); }
bool Formula::has_dot() const { return detail::has_dot(*syntax_, syntax_->right); }
bool Formula::has_groups() const { return !detail::find_bars(*syntax_, syntax_->right).empty(); }

std::vector<std::string> Formula::variables(bool response) const {
  std::vector<std::string> names;
  if (response && syntax_->left) names = detail::names_in(*syntax_, *syntax_->left);
  for (auto& name : detail::names_in(*syntax_, syntax_->right))
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  return names;
}

}  // namespace onward::formula
