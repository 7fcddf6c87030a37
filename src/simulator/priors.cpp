#include "onward/simulator/priors.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"
#include "words.hpp"

namespace onward {
namespace {

using Kind = InputPrior::Kind;

constexpr std::size_t most_numbers = std::size_t{1} << 24;

struct Distribution {
  std::string_view name, arguments;
  Kind kind;
  std::vector<bool> positive = {};  ///< which of its numbers must be above 0
};
const Distribution distributions[] = {
    {"normal", "location, scale", Kind::normal, {false, true}},
    {"student_t", "degrees of freedom, location, scale", Kind::student_t, {true, false, true}},
    {"cauchy", "location, scale", Kind::student_t, {false, true}},
    {"laplace", "location, scale", Kind::laplace, {false, true}},
    {"double_exponential", "location, scale", Kind::laplace, {false, true}},
    {"lognormal", "location and scale of the logarithm", Kind::lognormal, {false, true}},
    {"exponential", "rate", Kind::exponential, {true}},
    {"gamma", "shape, rate", Kind::gamma, {true, true}},
    {"inv_gamma", "shape, scale", Kind::inv_gamma, {true, true}},
    {"half_normal", "scale", Kind::half_normal, {true}},
    {"half_t", "degrees of freedom, scale", Kind::half_t, {true, true}},
    {"half_student_t", "degrees of freedom, scale", Kind::half_t, {true, true}},
    {"half_cauchy", "scale", Kind::half_t, {true}},
    {"uniform", "from, to", Kind::uniform, {false, false}},
    {"beta", "a, b", Kind::beta, {true, true}},
    {"flat", "", Kind::flat, {}},
};

[[noreturn]] void refuse(std::string_view sentence, const std::string& why) {
  throw UsageError(
      fmt::format("the prior '{}' cannot be read: {}. Write it as \"growth ~ lognormal(0, 1)\", or \"k[100] "
                  "~ normal(0, 1)\" for "
                  "100 inputs that are alike",
                  printable(detail::trimmed(sentence)), why));
}

double number(std::string_view text, std::string_view sentence) {
  const auto value = detail::number_in(text);
  if (!value) refuse(sentence, fmt::format("'{}' is not a number", printable(text)));
  return *value;
}

InputPrior read_distribution(std::string_view text, std::string_view sentence) {
  const auto call = detail::read_call(text);
  if (!call) refuse(sentence, "its parentheses do not match");
  std::string name = call->name;
  std::ranges::replace(name, '-', '_');
  const auto which = std::ranges::find(distributions, name, &Distribution::name);
  if (which == std::end(distributions)) {
    std::vector<std::string> known;
    for (const auto& one : distributions) known.emplace_back(one.name);
    refuse(sentence, fmt::format("there is no distribution '{}'.{} Distributions: {}", printable(name),
                                 suggestion(name, known), joined(known)));
  }
  if (call->arguments.size() != which->positive.size())
    refuse(sentence,
           fmt::format("{} takes {}({}), and {} {} given", name, name, which->arguments,
                       call->arguments.size(), call->arguments.size() == 1 ? "number was" : "numbers were"));
  std::vector<double> v;
  for (std::size_t i = 0; i < call->arguments.size(); ++i) {
    v.push_back(number(call->arguments[i], sentence));
    if (which->positive[i] && !(v[i] > 0)) refuse(sentence, fmt::format("{} is not above 0", v[i]));
  }
  if (name == "uniform" && !(v[0] < v[1]))
    refuse(sentence,
           fmt::format("uniform goes from a number to a larger one, not from {} to {}", v[0], v[1]));
  if (name == "cauchy") return {Kind::student_t, 1, v[0], v[1]};
  if (name == "half_cauchy") return {Kind::half_t, 1, v[0], 1};
  v.resize(3, 1);
  return {which->kind, v[0], v[1], v[2]};
}

InputPriors::Entry read_sentence(std::string_view sentence, std::size_t inputs) {
  const auto tilde = sentence.find('~');
  InputPriors::Entry entry{.name = "theta", .text = std::string(detail::trimmed(sentence))};
  if (tilde == std::string_view::npos) {
    entry.size = inputs;
    entry.is_vector = true;
    entry.prior = read_distribution(sentence, sentence);
    return entry;
  }
  std::string_view name = detail::trimmed(sentence.substr(0, tilde));
  if (name.ends_with(']')) {
    const auto open = name.find('[');
    const auto count = open == std::string_view::npos
                           ? std::nullopt
                           : detail::number_in(name.substr(open + 1, name.size() - open - 2));
    if (!count || *count < 1 || *count != std::floor(*count) || *count > static_cast<double>(most_numbers))
      refuse(sentence, "between [ and ] stands how many numbers there are");
    entry.size = static_cast<std::size_t>(*count);
    entry.is_vector = true;
    name = detail::trimmed(name.substr(0, open));
  }
  entry.name = name;
  entry.prior = read_distribution(sentence.substr(tilde + 1), sentence);
  return entry;
}

}  // namespace

bool InputPrior::is_positive() const {
  return kind == Kind::lognormal || kind == Kind::exponential || kind == Kind::gamma ||
         kind == Kind::inv_gamma || kind == Kind::half_normal || kind == Kind::half_t || kind == Kind::beta ||
         (kind == Kind::uniform && a >= 0);
}

InputPriors::InputPriors(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::set<std::string> seen;
  for (const Entry& one : entries_) {
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (one.name.empty() || !std::ranges::all_of(one.name, fits))
      throw UsageError(fmt::format("'{}' is no name for an input: use letters, digits and underscores",
                                   printable(one.name)));
    if (!seen.insert(one.name).second)
      throw UsageError(fmt::format("there are two priors of {}: leave one out", one.name));
    each_.insert(each_.end(), one.size, one.prior);
  }
}

std::vector<std::string> InputPriors::names() const {
  std::vector<std::string> names;
  for (const Entry& one : entries_)
    for (std::size_t i = 0; i < one.size; ++i)
      names.push_back(one.is_vector ? fmt::format("{}.{}", one.name, i + 1) : one.name);
  return names;
}

std::vector<std::size_t> InputPriors::name_indices() const {
  std::vector<std::size_t> indices;
  for (const Entry& one : entries_) indices.insert(indices.end(), one.size, one.is_vector ? 1 : 0);
  return indices;
}

InputPriors parse_input_priors(std::string_view text, std::size_t inputs) {
  std::vector<InputPriors::Entry> entries;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find_first_of(";\n"), rest.size());
    if (!detail::trimmed(rest.substr(0, end)).empty())
      entries.push_back(read_sentence(rest.substr(0, end), inputs));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return InputPriors(std::move(entries));
}

}  // namespace onward
