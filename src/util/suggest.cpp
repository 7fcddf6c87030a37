#include "onward/util/suggest.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace onward {
namespace {

/// Insertions, deletions, substitutions and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

/// An option's name without its dashes.
std::string_view letters_of(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

}  // namespace

std::string suggestion(std::string_view typed, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  const std::size_t letters = letters_of(typed).size();
  std::size_t best_distance = (letters <= 4 ? 1 : std::max<std::size_t>(2, letters / 3)) + 1;
  for (const auto& candidate : candidates) {
    // Words that begin alike stand for each other in either direction: --dimension is --dim.
    const std::string_view a = letters_of(typed), b = letters_of(candidate);
    const bool prefix = std::min(a.size(), b.size()) >= 3 && (a.starts_with(b) || b.starts_with(a));
    const std::size_t distance = prefix ? 1 : edit_distance(typed, candidate);
    if (distance < best_distance && distance < std::max(typed.size(), candidate.size())) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? fmt::format(" Did you mean {}?", *best) : std::string{};
}

std::string joined(std::span<const std::string> words) { return fmt::format("{}", fmt::join(words, ", ")); }

}  // namespace onward
