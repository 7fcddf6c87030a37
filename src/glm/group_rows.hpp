#pragma once
// Passes over the rows that speak to every level of a group term at once: the sums of a level are over its
// rows alone, so one pass gives value, slope and curvature for all levels, however many there are.

#include <span>
#include <vector>

#include "onward/glm/family.hpp"
#include "onward/glm/group_term.hpp"

namespace onward::glm {

/// A term as the passes see it. Sums go over parts of the rows whose number depends on the data alone, and
/// the parts are added in order: bits do not depend on threads.
class GroupRows {
 public:
  GroupRows(const Observations& y, const GroupTerm& term);

  const GroupTerm& term() const { return term_; }
  /// Numbers for each level: the value, q slopes, and q (q + 1) / 2 weights (the lower triangle of minus the
  /// Hessian, row after row).
  std::size_t numbers() const { return 1 + term_.width() + term_.width() * (term_.width() + 1) / 2; }
  /// The sums of every level at eta, moved by `delta` (q for each level) if it is not null.
  void sums(const float* eta, const float* delta, std::span<const double> of_family, std::span<double> out,
            ThreadPool& pool) const;
  /// eta += Z delta
  void move(float* eta, const float* delta, ThreadPool& pool) const;
  /// The same for rows begin to end, with which `eta` begins.
  void move(std::size_t begin, std::size_t end, float* eta, const float* delta) const;
  /// out = the part of Z effects that is due to one column, whose effects these are, for rows begin to end.
  void direction(std::size_t column, std::span<const float> effects, std::size_t begin, std::size_t end,
                 float* out) const;

 private:
  template <class Code>
  void sums_of_part(std::size_t begin, std::size_t end, const Code* level, const float* eta,
                    const float* delta, std::span<const double> of_family, double* out) const;
  const Observations& y_;
  const GroupTerm& term_;
  std::size_t parts_, part_rows_;
};

}  // namespace onward::glm
