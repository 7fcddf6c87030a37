#pragma once
// The columns of a design: each is a product of columns of variables, named and ordered as R's model.matrix
// has them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onward/formula/frame.hpp"
#include "terms.hpp"
#include "variable.hpp"

namespace onward::formula::detail {

using Variables = std::map<std::string, std::shared_ptr<const Variable>>;  // by label

class Design {
 public:
  Design(const Terms& terms, const Variables& variables, Contrasts contrasts);

  bool intercept() const { return intercept_; }
  const std::vector<std::string>& names() const { return names_; }  // without the intercept
  const std::vector<std::string>& term_labels() const { return term_labels_; }
  const std::vector<std::uint32_t>& term_of_column() const { return term_of_column_; }
  /// Column j for rows of the table.
  void evaluate(std::size_t j, const Rows& rows, std::span<double> out) const;

 private:
  struct Part {
    std::shared_ptr<const Variable> variable;
    Coding coding = Coding::plain;
    std::size_t column = 0;
  };
  void add_term(std::size_t number, std::vector<Part> parts);

  bool intercept_;
  std::vector<std::string> names_, term_labels_;
  std::vector<std::uint32_t> term_of_column_;
  std::vector<std::vector<Part>> columns_;
};

}  // namespace onward::formula::detail
