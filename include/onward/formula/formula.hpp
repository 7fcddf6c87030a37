#pragma once
// Model formulas as users of R, lme4 and brms write them: `y ~ x1 * f + log(x2) + (1 + x1 | g)`. A Formula is
// the parsed text and knows nothing of data; onward/formula/frame.hpp puts the two together. docs/formulas.md
// says what is understood.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace onward::formula {

namespace detail {
struct Syntax;
}

struct FormulaOptions {
  bool response_required = true;  ///< false: `~ x` is a formula too
};

class Formula {
 public:
  /// Parses the text. A malformed formula is a UsageError that shows the text with a caret under the place.
  explicit Formula(std::string_view text, const FormulaOptions& options = {});

  const std::string& text() const;
  bool has_response() const;
  /// Whether the right-hand side has a `.`, which stands for all columns that the response does not use.
  bool has_dot() const;
  bool has_groups() const;
  /// The columns that the formula names, on either side and in groups, in order of appearance. With `.`,
  /// others are used as well. With `response` false, those of the right-hand side alone.
  std::vector<std::string> variables(bool response = true) const;

  const detail::Syntax& syntax() const { return *syntax_; }

 private:
  std::shared_ptr<const detail::Syntax> syntax_;
};

/// The functions that formulas may call.
std::vector<std::string> function_names();

}  // namespace onward::formula
