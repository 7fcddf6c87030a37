#include "onward/io/csv_names.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_plain(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

/// Where the last ".number" of name[0, end) begins; npos if that does not end in one.
std::size_t last_index(std::string_view name, std::size_t end) {
  std::size_t digits = end;
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  return digits < end && digits > 1 && name[digits - 1] == '.' ? digits - 1 : std::string_view::npos;
}

/// Where the indices of a name begin.
std::size_t end_of_base(std::string_view name, std::size_t most) {
  std::size_t end = name.size();
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t at = last_index(name, end);
    if (at == std::string_view::npos) break;
    end = at;
  }
  return end;
}

/// The name in plain characters; one underscore for whatever is between them, and none at the end, where two
/// mark the sampler's own columns.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_plain(c))
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() || is_digit(out.front()) ? fmt::format("x{}", out) : out;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_plain);
}

/// The indices ".1.2" as numbers, the last one first: so compared they are in Stan's order.
std::vector<std::size_t> reversed_indices(std::string_view text) {
  std::vector<std::size_t> numbers;
  for (std::size_t begin = 1; begin < text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    std::size_t number = 0;
    std::from_chars(text.data() + begin, text.data() + end, number);
    numbers.insert(numbers.begin(), number);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

CsvNames csv_names(std::span<const std::string> names, std::span<const std::size_t> indices) {
  if (!indices.empty() && indices.size() != names.size())
    throw UsageError(
        fmt::format("there are {} numbers of indices for {} names", indices.size(), names.size()));
  // A name and the same with an index are two things to a reader.
  using Key = std::pair<std::string, std::size_t>;
  std::vector<Key> keys;
  std::map<Key, std::string> in_file;
  std::set<std::string, std::less<>> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const std::size_t end = end_of_base(name, indices.empty() ? name.size() : indices[i]);
    const auto count = static_cast<std::size_t>(
        std::count(name.begin() + static_cast<std::ptrdiff_t>(end), name.end(), '.'));
    keys.emplace_back(name.substr(0, end), count);
    // Names that can stay as they are have the first choice.
    if (is_plain_name(keys.back().first)) {
      in_file[keys.back()] = keys.back().first;
      taken.insert(keys.back().first);
    }
  }
  CsvNames result;
  std::map<Key, std::size_t> places;  // of each name, by its first appearance
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> ranks;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ranks.emplace_back(places.try_emplace(keys[i], places.size()).first->second,
                       reversed_indices(std::string_view(names[i]).substr(keys[i].first.size())));
  }
  result.order.resize(names.size());
  std::iota(result.order.begin(), result.order.end(), std::size_t{0});
  std::ranges::stable_sort(
      result.order, {}, [&](std::size_t i) -> const auto& { return ranks[i]; });
  for (const std::size_t i : result.order) {
    const std::string& base = keys[i].first;
    std::string& written = in_file[keys[i]];
    if (written.empty()) {
      const std::string wanted = plain(base);
      written = wanted;
      for (int number = 2; taken.contains(written); ++number) written = fmt::format("{}_{}", wanted, number);
      taken.insert(written);
      result.changed.emplace_back(written, base);
    }
    result.columns.push_back(written + names[i].substr(base.size()));
  }
  return result;
}

}  // namespace onward
