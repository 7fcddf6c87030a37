#pragma once
// How a kernel describes itself. Its header says once what the kernel is called, what it asks of a model and
// which options it has; command lines, JSON, help, notes and memory estimates all read that description. A
// kernel K offers
//
//     static constexpr KernelFacts facts{...};
//     static auto options() { return std::tuple{described(&K::inner, {...}), ...}; }
//
// Members that kernels have in common are recognised by their names: `step_size` is found by warm-up, and
// `vectors` says that directions and noise can be regenerated.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "onward/sampler/kernel.hpp"
#include "onward/sampler/regenerated.hpp"
#include "onward/util/option.hpp"

namespace onward {

/// What is worth knowing of a kernel before choosing it.
struct KernelFacts {
  std::string_view name;
  std::string_view summary;
  bool line = false;            ///< one step moves along one direction: D steps make a sweep
  bool needs_gradient = false;  ///< asks for full gradients, not jets
  bool piloted = false;         ///< the sampler auto may take it
  /// A step is a whole trajectory; its acceptance is a mean along it.
  bool follows_trajectories = false;
  /// What warm-up steers the step size to; docs/decisions/acceptance.md has the figures.
  double target_acceptance = 0.75;
  /// Vectors with an entry for each parameter that a chain holds without a metric, its position included;
  /// two more where a line kernel takes jets along two lines at once.
  std::size_t held_vectors = 2;
};

/// The words for the values of an enumeration, in its order.
constexpr std::array<std::string_view, 3> words_of(BiasCorrection) { return {"none", "coupled", "drift"}; }
constexpr std::array<std::string_view, 2> words_of(Tangent) { return {"kept", "fresh"}; }
constexpr std::array<std::string_view, 2> words_of(Vectors) { return {"held", "regenerated"}; }

template <class Enum>
std::string_view to_string(Enum value) requires requires {
  words_of(value);
}
{ return words_of(value)[static_cast<std::size_t>(value)]; }

/// The value of a word that is one of them, as an option of that type has checked.
template <class Enum>
Enum from_word(std::string_view word) {
  const auto words = words_of(Enum{});
  return static_cast<Enum>(std::ranges::find(words, word) - words.begin());
}

/// An option whose words are those of an enumeration.
template <class Enum>
Option word_option(Option option) {
  option.type = Option::Type::word;
  for (const auto word : words_of(Enum{})) option.words.emplace_back(word);
  return option;
}

/// An option of the kernel K and the member that it sets.
template <class K, class Value>
struct MemberOption {
  Option option;
  Value K::*member;

  void set(K& kernel, const nlohmann::ordered_json& value) const {
    if constexpr (std::is_enum_v<Value>)
      kernel.*member = from_word<Value>(value.get<std::string>());
    else
      kernel.*member = value.get<Value>();
  }
  nlohmann::ordered_json get(const K& kernel) const {
    if constexpr (std::is_enum_v<Value>)
      return to_string(kernel.*member);
    else
      return kernel.*member;
  }
};

/// The option that sets a member: its type and default follow from the member.
template <class K, class Value>
MemberOption<K, Value> described(Value K::*member, Option option) {
  if constexpr (std::is_enum_v<Value>) {
    option = word_option<Value>(std::move(option));
  } else if constexpr (std::same_as<Value, bool>) {
    option.type = Option::Type::flag;
  } else {
    option.type = std::integral<Value> ? Option::Type::count : Option::Type::number;
  }
  MemberOption<K, Value> result{std::move(option), member};
  result.option.usual = result.get(K{});
  return result;
}

/// Options that several kernels have.
namespace shared_options {

template <class K>
auto bias_correction() {
  return described(&K::bias_correction,
                   {.name = "bias_correction", .help = "none, coupled or drift: the paper's appendix B.1"});
}

template <class K>
auto curvature_floor() {
  return described(&K::curvature_floor, {.name = "curvature_floor",
                                         .help = "curvature is at least this times slope²; 0 is the paper's",
                                         .range = Range{.low = 0, .from_low = true}});
}

/// Within a step a chain hears of nothing, not even of an interrupt: hence the bound.
template <class K>
auto inner() {
  return described(&K::inner, {.name = "inner", .help = "moves along each line", .least = 1, .most = 10'000});
}

constexpr const char* tangent_help =
    "kept: what is known of the next step's jet is used; fresh: as in the paper, two jets a step";

template <class K>
auto tangent() {
  return described(&K::tangent, {.name = "tangent", .help = tangent_help});
}

}  // namespace shared_options

}  // namespace onward
