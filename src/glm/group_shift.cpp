#include "group_shift.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace onward::glm {
namespace {

constexpr float unset = std::numeric_limits<float>::quiet_NaN();

/// The number that a column has in every row of each level; nothing if rows of a level differ.
std::optional<std::vector<float>> constant_within(const GroupTerm& term, const Floats& column) {
  std::vector<float> of_level(term.count(), unset);
  for (std::size_t i = 0; i < term.level_of_row.size(); ++i) {
    float& known = of_level[term.level_of_row[i]];
    if (std::isnan(known)) known = column[i];
    if (known != column[i]) return std::nullopt;
  }
  return of_level;
}

/// Whether x, which had `mean` taken away, is the column z up to the rounding of floats.
bool same_column(const Floats& x, double mean, const Floats& z, std::size_t rows) {
  double largest = 0;
  for (std::size_t i = 0; i < rows; ++i) largest = std::max(largest, std::abs(static_cast<double>(z[i])));
  for (std::size_t i = 0; i < rows; ++i)
    if (std::abs(static_cast<double>(x[i]) + mean - static_cast<double>(z[i])) > 1e-6 * largest) return false;
  return true;
}

}  // namespace

std::vector<Shift> find_shifts(const MixedPosterior& posterior) {
  const RegressionPosterior& population = posterior.population();
  const Design& x = population.design();
  const std::size_t rows = x.rows();
  Floats column(padded_rows(rows));
  std::vector<Shift> shifts;
  for (std::size_t t = 0; t < posterior.terms().size(); ++t) {
    const GroupTerm& term = posterior.terms()[t];
    Shift shift{t, {}, {}};
    for (std::size_t j = 0; j < x.columns(); ++j) {
      x.column(j, column.data());
      const double mean = population.means().empty() ? 0.0 : population.means()[j];
      for (std::size_t c = 0; c < term.width(); ++c) {
        if (term.values[c].empty()) {
          if (auto of_level = constant_within(term, column)) {
            if (x.has_intercept() && j == 0) of_level->clear();
            shift.columns.push_back({j, c, std::move(*of_level), 0});
            break;
          }
        } else if (same_column(column, mean, term.values[c], rows) && (mean == 0 || x.has_intercept())) {
          shift.columns.push_back({j, c, {}, mean});
          break;
        }
      }
    }
    const auto n = static_cast<Eigen::Index>(shift.columns.size());
    if (n == 0) continue;
    shift.products.resize(n, n);
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index k = 0; k < n; ++k) {
        double sum = 0;
        for (std::size_t l = 0; l < term.count(); ++l)
          sum += shift.columns[static_cast<std::size_t>(j)].at(l) *
                 shift.columns[static_cast<std::size_t>(k)].at(l);
        shift.products(j, k) = sum;
      }
    shifts.push_back(std::move(shift));
  }
  return shifts;
}

std::vector<NestedShift> find_nested_shifts(const MixedPosterior& posterior) {
  constexpr std::uint32_t nobody = 0xffffffff;
  std::vector<NestedShift> shifts;
  const auto& terms = posterior.terms();
  for (std::size_t inner = 0; inner < terms.size(); ++inner)
    for (std::size_t outer = 0; outer < terms.size(); ++outer) {
      if (inner == outer || terms[inner].count() < terms[outer].count()) continue;
      // Terms of one factor lie within each other: one way is enough.
      if (terms[inner].count() == terms[outer].count() && inner < outer) continue;
      std::vector<std::uint32_t> parent(terms[inner].count(), nobody);
      bool nested = true;
      for (std::size_t i = 0; nested && i < terms[inner].level_of_row.size(); ++i) {
        std::uint32_t& known = parent[terms[inner].level_of_row[i]];
        if (known == nobody) known = terms[outer].level_of_row[i];
        nested = known == terms[outer].level_of_row[i];
      }
      if (!nested) continue;
      for (std::size_t a = 0; a < terms[outer].width(); ++a)
        for (std::size_t b = 0; b < terms[inner].width(); ++b)
          if (terms[outer].values[a] == terms[inner].values[b])
            shifts.push_back({outer, inner, a, b, parent});
    }
  return shifts;
}

}  // namespace onward::glm
