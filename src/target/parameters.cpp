// Names, shapes and places of declared parameters.

#include "onward/target/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onward/error.hpp"

namespace onward {

namespace {

/// More numbers than this in one parameter is a slip (a negative size, say), not a model.
constexpr std::size_t most_numbers = 1'000'000'000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void ParameterLayout::check(std::string_view name, Shape shape, std::size_t size, std::size_t columns) const {
  if (name.empty()) {
    throw UsageError(fmt::format("parameter {} has an empty name; give it one", entries_.size() + 1));
  }
  const bool plain = is_letter(name.front()) && std::all_of(name.begin(), name.end(), [](char c) {
                       return is_letter(c) || is_digit(c) || c == '_';
                     });
  if (!plain) {
    throw UsageError(fmt::format(
        "parameter name '{}': use letters, digits and underscores, beginning with a letter", name));
  }
  if (name.ends_with("__")) {
    throw UsageError(fmt::format(
        "parameter name '{}': names that end in two underscores belong to the columns of a draws file",
        name));
  }
  if (has(name)) {
    throw UsageError(fmt::format("parameter '{}' is declared twice; choose another name for one", name));
  }
  if (size == 0 || columns == 0)
    throw UsageError(fmt::format("parameter '{}' has size 0; it must be at least 1", name));
  const std::size_t across = shape == Shape::square ? size : columns;
  if (size > most_numbers || across > most_numbers / size) {
    throw UsageError(
        fmt::format("parameter '{}' has size {}; at most {} numbers are possible", name, size, most_numbers));
  }
}

ParameterLayout::Place ParameterLayout::add(std::string_view name, Shape shape, std::size_t size,
                                            std::size_t free_numbers, std::size_t columns) {
  const Place place{dimension_, constrained_size_};
  entries_.push_back({std::string(name), shape, size, shape == Shape::square ? size : columns, free_numbers});
  dimension_ += free_numbers;
  constrained_size_ += entries_.back().numbers();
  return place;
}

void ParameterLayout::check_counts(std::size_t free_numbers, std::size_t constrained_numbers) const {
  if (free_numbers != dimension_) {
    throw Error(
        fmt::format("{} unconstrained numbers were given; the parameters have {}", free_numbers, dimension_));
  }
  if (constrained_numbers != constrained_size_) {
    throw Error(fmt::format("{} constrained numbers were given; the parameters have {}", constrained_numbers,
                            constrained_size_));
  }
}

std::vector<std::string> ParameterLayout::names() const {
  std::vector<std::string> result;
  result.reserve(constrained_size_);
  for (const Entry& e : entries_) {
    if (e.shape == Shape::scalar) {
      result.push_back(e.name);
    } else if (e.shape == Shape::vector) {
      for (std::size_t k = 1; k <= e.size; ++k) result.push_back(fmt::format("{}.{}", e.name, k));
    } else {
      for (std::size_t j = 1; j <= e.columns; ++j) {
        for (std::size_t i = 1; i <= e.size; ++i) result.push_back(fmt::format("{}.{}.{}", e.name, i, j));
      }
    }
  }
  return result;
}

std::vector<ParameterBlock> ParameterLayout::blocks() const {
  std::vector<ParameterBlock> blocks;
  for (const Entry& e : entries_)
    if (e.free > 0) blocks.push_back({e.name, e.free});
  return blocks;
}

ParameterLayout::Range ParameterLayout::range(std::string_view name) const {
  std::size_t first = 0;
  for (const Entry& e : entries_) {
    if (e.name == name) return {first, e.numbers()};
    first += e.numbers();
  }
  throw UsageError(
      fmt::format("there is no parameter '{}'; the parameters are {}", name, fmt::join(declared(), ", ")));
}

bool ParameterLayout::has(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
}

std::vector<std::string> ParameterLayout::declared() const {
  std::vector<std::string> names;
  for (const Entry& e : entries_) names.push_back(e.name);
  return names;
}

std::vector<double> ParameterLayout::flatten(const NamedValues& values) const {
  for (const auto& [name, numbers] : values)
    if (!has(name))
      throw Error(fmt::format("there is no parameter '{}'; the parameters are {}", name,
                              fmt::join(declared(), ", ")));
  std::vector<double> result;
  result.reserve(constrained_size_);
  for (const Entry& e : entries_) {
    const auto found = values.find(e.name);
    if (found == values.end()) {
      throw Error(fmt::format("parameter '{}' has no value; give every parameter one", e.name));
    }
    if (found->second.size() != e.numbers()) {
      throw Error(fmt::format("parameter '{}' was given {} numbers; it has {}", e.name, found->second.size(),
                              e.numbers()));
    }
    result.insert(result.end(), found->second.begin(), found->second.end());
  }
  return result;
}

}  // namespace onward
