#pragma once
// What the settings of every experiment are checked for, in the same words.

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward::experiments {

inline void check_at_least(std::string_view what, std::size_t value, std::size_t least) {
  if (value < least)
    throw UsageError(fmt::format("{} {} is too few: it must be {} or more", what, value, least));
}

inline void check_positive(std::string_view what, double value) {
  if (!(value > 0) || !std::isfinite(value))
    throw UsageError(fmt::format("{} {} is not usable: it must be a positive number", what, value));
}

/// The one of a table's samplers that has this name.
template <class Samplers>
const auto& find_by_name(const Samplers& samplers, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& sampler : samplers) {
    if (sampler.name == name) return sampler;
    names.emplace_back(sampler.name);
  }
  throw UsageError(fmt::format("there is no sampler '{}' in this table.{} Samplers: {}", name,
                               suggestion(std::string(name), names), joined(names)));
}

}  // namespace onward::experiments
