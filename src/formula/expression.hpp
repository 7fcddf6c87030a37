#pragma once
// Numbers that a formula computes from columns, such as log(x) or I(x^2), for any stretch of rows at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "context.hpp"

namespace onward::formula::detail {

/// Some rows of a table: those listed by `index`, or consecutive ones from `first` on.
struct Rows {
  std::size_t first = 0;
  std::span<const std::uint32_t> index = {};
  std::size_t count = 0;
  std::size_t operator[](std::size_t i) const { return index.empty() ? first + i : index[i]; }
};

/// As many rows as are computed at a time.
inline constexpr std::size_t stretch = 1024;

class Expression {
 public:
  virtual ~Expression() = default;
  /// One number for each row, at most `stretch` of them; NaN where it is missing or not defined.
  virtual void evaluate(const Rows& rows, std::span<double> out) const = 0;
  /// True of comparisons and logical columns, whose numbers are 0 and 1.
  virtual bool logical() const { return false; }
};

/// The numbers that a node stands for. Names must be columns of numbers or logical ones.
std::shared_ptr<const Expression> build_expression(Context& context, NodeId id);

/// A column of numbers or a logical one as an expression.
std::shared_ptr<const Expression> column_expression(std::shared_ptr<const Column> column);

/// Runs over all `count` rows of a table in stretches: `use(first, numbers)`.
template <class Use>
void for_all_rows(const Expression& expression, std::size_t count, Use&& use) {
  std::array<double, stretch> numbers;
  for (std::size_t first = 0; first < count; first += stretch) {
    const std::span part(numbers.data(), std::min(stretch, count - first));
    expression.evaluate({.first = first, .index = {}, .count = part.size()}, part);
    use(first, part);
  }
}

}  // namespace onward::formula::detail
