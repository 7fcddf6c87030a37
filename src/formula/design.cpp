#include "design.hpp"

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::formula::detail {
namespace {

constexpr std::size_t most_columns = 100'000;

void require_two_levels(const Variable& variable) {
  if (!variable.is_categorical() || variable.levels() >= 2) return;
  throw Error(fmt::format("{} has one level, \"{}\", and contrasts need two. Leave it out of the formula.",
                          variable.label, variable.levels() == 1 ? printable(variable.level(0)) : ""));
}

}  // namespace

Design::Design(const Terms& terms, const Variables& variables, Contrasts contrasts)
    : intercept_(terms.intercept) {
  const Coding contrast = contrasts == Contrasts::sum ? Coding::sum : Coding::treatment;
  bool full_first =
      !terms.intercept;  // without an intercept the first factor of all has a column for each level
  for (std::size_t t = 0; t < terms.terms.size(); ++t) {
    std::vector<Part> parts;
    for (const auto v : terms.terms[t]) {
      Part part{.variable = variables.at(terms.variables[v].label)};
      require_two_levels(*part.variable);
      if (part.variable->is_categorical()) {
        part.coding = terms.by_contrasts(t, v) && !full_first ? contrast : Coding::full;
        full_first = false;
      }
      parts.push_back(std::move(part));
    }
    term_labels_.push_back(terms.label(terms.terms[t]));
    add_term(t, std::move(parts));
  }
}

void Design::add_term(std::size_t number, std::vector<Part> parts) {
  double count = 1;
  for (const Part& part : parts) count *= static_cast<double>(part.variable->columns(part.coding));
  if (count + static_cast<double>(columns_.size()) > most_columns)
    throw Error(fmt::format(
        "{} stands for {:.0f} columns; there may be {}. A factor of many levels belongs in a group, "
        "as in (1 | g).",
        term_labels_.back(), count, most_columns));
  // The first variable of a term runs fastest.
  for (std::size_t c = 0; c < static_cast<std::size_t>(count); ++c) {
    std::size_t rest = c;
    std::string name;
    for (Part& part : parts) {
      const std::size_t width = part.variable->columns(part.coding);
      part.column = rest % width;
      rest /= width;
      if (!name.empty()) name += ':';
      name += part.variable->column_name(part.column, part.coding);
    }
    names_.push_back(std::move(name));
    term_of_column_.push_back(static_cast<std::uint32_t>(number));
    columns_.push_back(parts);
  }
}

void Design::evaluate(std::size_t j, const Rows& rows, std::span<double> out) const {
  const auto& parts = columns_[j];
  parts[0].variable->evaluate(parts[0].column, parts[0].coding, rows, out);
  std::vector<double> factor(parts.size() > 1 ? out.size() : 0);
  for (std::size_t p = 1; p < parts.size(); ++p) {
    parts[p].variable->evaluate(parts[p].column, parts[p].coding, rows, factor);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= factor[i];
  }
}

}  // namespace onward::formula::detail
