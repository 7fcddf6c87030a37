#pragma once
// What is wrong with a callable, said in one line before anything is made from it: a compiler would otherwise
// complain of the insides of Onward, once for each scalar type.

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "onward/ad/ad.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/line_view.hpp"
#include "onward/target/parameters.hpp"

namespace onward::detail {

/// The scalar that callables are looked at with: what is wrong with it is wrong with all.
using Looked = Value<double>;

/// In place of a target where there is something wrong, so that nothing else is complained of.
struct NoTarget {
  std::size_t dimension() const { return 0; }
  Jet jet(VectorView, VectorView, Order) const { return {}; }
};

enum class Fault { none, no_number, nothing, not_taken, wrong_count };

template <class Result>
consteval Fault fault_of_result() {
  if (std::is_void_v<Result>) return Fault::nothing;
  return std::is_convertible_v<Result, Looked> ? Fault::none : Fault::no_number;
}

/// Of a callable of all parameters at once.
template <class F>
consteval Fault fault_of_one() {
  using View = LineView<Looked>;
  if constexpr (std::is_invocable_v<F&, const View&>)
    return fault_of_result<std::invoke_result_t<F&, const View&>>();
  else if constexpr (std::is_invocable_v<F&, std::span<const Looked>>)
    return fault_of_result<std::invoke_result_t<F&, std::span<const Looked>>>();
  else
    return Fault::not_taken;
}

template <class F, class Arguments, class Indices>
struct Takes;
/// So many of the arguments, filled up with numbers.
template <class F, class... A, std::size_t... k>
struct Takes<F, std::tuple<A...>, std::index_sequence<k...>>
    : std::is_invocable<const F&, std::tuple_element_t<(k < sizeof...(A) ? k : sizeof...(A)),
                                                       std::tuple<A..., Looked>>...> {};

/// How many arguments a callable takes, if they are numbers beyond those that were declared; `most` + 1 if
/// that cannot be told.
template <class F, class Arguments, std::size_t most, std::size_t count = 0>
consteval std::size_t arguments_taken() {
  if constexpr (count > most)
    return count;
  else if constexpr (Takes<F, Arguments, std::make_index_sequence<count>>::value)
    return count;
  else
    return arguments_taken<F, Arguments, most, count + 1>();
}

/// Of a callable with an argument for each parameter.
template <class F, class P>
struct OfParameters;
template <class F, class... Kinds>
struct OfParameters<F, Parameters<Kinds...>> {
  using Arguments = std::tuple<typename Kinds::template Argument<Looked>...>;
  static constexpr std::size_t declared = sizeof...(Kinds), most = declared + 4;
  static consteval std::size_t taken() {
    if constexpr (std::is_invocable_v<const F&, typename Kinds::template Argument<Looked>...>)
      return declared;
    else
      return arguments_taken<F, Arguments, most>();
  }
  static consteval Fault fault() {
    if constexpr (std::is_invocable_v<const F&, typename Kinds::template Argument<Looked>...>)
      return fault_of_result<std::invoke_result_t<const F&, typename Kinds::template Argument<Looked>...>>();
    else
      return taken() > most ? Fault::not_taken : Fault::wrong_count;
  }
};

/// Where compilation ends, with the one line that matters.
template <Fault fault>
constexpr void complain_of_result() {
  static_assert(fault != Fault::nothing,
                "the log density returns nothing: end it with `return` and the log density");
  static_assert(fault != Fault::no_number,
                "the log density must return a number: the sum of its terms, of the type that arithmetic "
                "with its arguments gives");
}

// Words must be literals, so the numbers are spelt out.
#define ONWARD_TOOK(taken, declared)                                                        \
  static_assert(took != taken || were != declared,                                          \
                "arguments of the log density: " #taken ", declared parameters: " #declared \
                ". It must take one argument for each parameter, in the order of declaration");
#define ONWARD_TOOK_FOR_EACH(taken) \
  ONWARD_TOOK(taken, 1)             \
  ONWARD_TOOK(taken, 2)             \
  ONWARD_TOOK(taken, 3)             \
  ONWARD_TOOK(taken, 4)             \
  ONWARD_TOOK(taken, 5) ONWARD_TOOK(taken, 6) ONWARD_TOOK(taken, 7) ONWARD_TOOK(taken, 8)
template <std::size_t took, std::size_t were>
constexpr void complain_of_count() {
  ONWARD_TOOK_FOR_EACH(0)
  ONWARD_TOOK_FOR_EACH(1)
  ONWARD_TOOK_FOR_EACH(2)
  ONWARD_TOOK_FOR_EACH(3)
  ONWARD_TOOK_FOR_EACH(4)
  ONWARD_TOOK_FOR_EACH(5)
  ONWARD_TOOK_FOR_EACH(6)
  ONWARD_TOOK_FOR_EACH(7)
  ONWARD_TOOK_FOR_EACH(8)
  static_assert(took <= 8 && were >= 1 && were <= 8,
                "the log density must take one argument for each declared parameter, in the order of "
                "declaration: it takes another number");
}
#undef ONWARD_TOOK_FOR_EACH
#undef ONWARD_TOOK

/// Whether a target can be made from a callable of all parameters at once; what is wrong is said.
template <class F>
constexpr bool good_callable() {
  constexpr Fault fault = fault_of_one<F>();
  if constexpr (fault == Fault::not_taken)
    static_assert(ad::never<F>,
                  "the log density takes one argument, `const auto& t`, and reads its parameters as t[0], "
                  "t[1], ...: write auto, not double, since they carry derivatives. For one argument for "
                  "each parameter declare them: onward::Parameters");
  else if constexpr (fault != Fault::none)
    complain_of_result<fault>();
  return fault == Fault::none;
}

/// The same, of a callable with an argument for each parameter.
template <class F, class P>
constexpr bool good_density() {
  using Look = OfParameters<F, P>;
  constexpr Fault fault = Look::fault();
  if constexpr (fault == Fault::not_taken)
    static_assert(ad::never<F>,
                  "the log density does not take what was declared: write auto, not double, for each "
                  "argument, since it carries derivatives; there is one for each parameter, in the order of "
                  "declaration: a number, a std::span or an onward::MatrixView");
  else if constexpr (fault == Fault::wrong_count)
    complain_of_count<Look::taken(), Look::declared>();
  else if constexpr (fault != Fault::none)
    complain_of_result<fault>();
  return fault == Fault::none;
}

}  // namespace onward::detail
