#pragma once
// What functions of whole vectors are written with: what counts as a vector, and how its entries are read
// and, on the tape, given their adjoints.

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>

#include "onward/ad/dual.hpp"
#include "onward/ad/jet2.hpp"
#include "onward/ad/reverse.hpp"
#include "onward/ad/rule_tools.hpp"
#include "onward/ad/value.hpp"
#include "onward/error.hpp"
#include "onward/simd/reduce.hpp"

namespace onward::ad {

template <class X>
concept SomeNumber = std::is_arithmetic_v<std::remove_cvref_t<X>> || AnyNumber<std::remove_cvref_t<X>>;

/// A vector of numbers: data or parameters.
template <class V>
concept NumberVector = !SomeNumber<V> && requires(const V& v) {
  v.size();
  requires SomeNumber<decltype(v[0])>;
};
template <class V>
using Entry = std::remove_cvref_t<decltype(std::declval<const V&>()[0])>;

/// Entries that lie side by side in memory.
template <class V>
concept SideBySide = requires(const V& v) {
  { v.data() } -> std::convertible_to<const Entry<V>*>;
  requires std::contiguous_iterator<decltype(std::begin(v))>;
};

template <class X>
inline constexpr bool is_reverse = false;
template <class T>
inline constexpr bool is_reverse<Reverse<T>> = true;

/// What a sum over all of the arguments is made of: a scalar of this folder if one of them has it, else a
/// batch, else double.
template <class A>
struct NumberIn {
  using type = std::conditional_t<std::is_arithmetic_v<A>, double, A>;
};
template <NumberVector A>
struct NumberIn<A> : NumberIn<Entry<A>> {};
template <class A, class B>
struct Wider {
  using type = std::conditional_t<std::same_as<B, double> || (AdScalar<A> && !AdScalar<B>), A, B>;
};
template <class A, class... Others>
struct NumberOfAll : NumberIn<A> {};
template <class A, class B, class... Others>
struct NumberOfAll<A, B, Others...>
    : Wider<typename NumberIn<A>::type, typename NumberOfAll<B, Others...>::type> {};
template <class... Args>
using NumberOf = typename NumberOfAll<std::remove_cvref_t<Args>...>::type;

template <class R>
struct PlainIn {
  using type = R;
};
template <AdScalar R>
struct PlainIn<R> {
  using type = scalar_t<R>;
};
/// The plain number inside.
template <class R>
using PlainOf = typename PlainIn<R>::type;

template <class V>
std::size_t size_of(const V& v) {
  return static_cast<std::size_t>(v.size());
}

/// The length of those arguments that are vectors.
template <class A, class... Others>
std::size_t common_size(const char* function, const A& a, const Others&... others) {
  if constexpr (sizeof...(Others) == 0) {
    return size_of(a);
  } else if constexpr (!NumberVector<A>) {
    return common_size(function, others...);
  } else {
    const auto check = [&](const auto& other) {
      if constexpr (NumberVector<std::remove_cvref_t<decltype(other)>>)
        if (size_of(other) != size_of(a))
          throw UsageError(std::string(function) + "(): a vector of " + std::to_string(size_of(a)) +
                           " numbers stands beside one of " + std::to_string(size_of(other)) +
                           "; they must be of the same length");
    };
    (check(others), ...);
    return size_of(a);
  }
}

/// x as a plain T.
template <class T, class X>
ONWARD_ALWAYS_INLINE constexpr T as_plain(const X& x) {
  if constexpr (AdScalar<X>)
    return x.value;
  else
    return constant<T>(x);
}

/// s + a b, where a and b are of the kind of s or plain; the value is rounded once.
template <simd::Real T, class A, class B>
ONWARD_ALWAYS_INLINE inline T plus_product(const T& s, const A& a, const B& b) {
  return simd::mul_add(as_plain<T>(a), as_plain<T>(b), s);
}
template <class T, class A, class B>
ONWARD_ALWAYS_INLINE inline Value<T> plus_product(const Value<T>& s, const A& a, const B& b) {
  return {simd::mul_add(as_plain<T>(a), as_plain<T>(b), s.value)};
}
template <class T, class S, class A, class B>
ONWARD_ALWAYS_INLINE inline Dual<T, S> plus_product(const Dual<T, S>& s, const A& a, const B& b) {
  const T x = as_plain<T>(a), y = as_plain<T>(b);
  S slope = s.slope;
  if constexpr (AdScalar<A>) slope = simd::mul_add(a.slope, S(y), slope);
  if constexpr (AdScalar<B>) slope = simd::mul_add(S(x), b.slope, slope);
  return {simd::mul_add(x, y, s.value), slope};
}
template <class T, class S, class A, class B>
ONWARD_ALWAYS_INLINE inline Jet2<T, S> plus_product(const Jet2<T, S>& s, const A& a, const B& b) {
  const T x = as_plain<T>(a), y = as_plain<T>(b);
  S slope = s.slope, curvature = s.curvature;
  if constexpr (AdScalar<A>) {
    slope = simd::mul_add(a.slope, S(y), slope);
    curvature = simd::mul_add(a.curvature, S(y), curvature);
  }
  if constexpr (AdScalar<B>) {
    slope = simd::mul_add(S(x), b.slope, slope);
    curvature = simd::mul_add(S(x), b.curvature, curvature);
  }
  if constexpr (AdScalar<A> && AdScalar<B>)
    curvature = simd::mul_add(S(a.slope + a.slope), b.slope, curvature);
  return {simd::mul_add(x, y, s.value), slope, curvature};
}

/// Eight partial sums, added by halves.
template <class R>
R fold(const std::array<R, 8>& s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// A number of forward mode whose tangents fill a register.
template <class R>
inline constexpr bool is_chunk = false;
template <class S>
requires simd::is_batch_v<S>
inline constexpr bool is_chunk<Dual<double, S>> = true;

/// Eight, or as many as a register has lanes, numbers of kind R side by side.
template <class R>
struct WideOf {
  using type = void;
};
template <>
struct WideOf<double> {
  using type = simd::Batch<double>;
};
template <>
struct WideOf<Value<double>> {
  using type = Value<simd::Batch<double>>;
};
template <>
struct WideOf<Dual<double>> {
  using type = Dual<simd::Batch<double>>;
};
template <>
struct WideOf<Jet2<double>> {
  using type = Jet2<simd::Batch<double>>;
};
template <class R>
using Wide = typename WideOf<R>::type;

/// Sums in the lanes of registers, one by one.
template <class R>
std::array<R, 8> lane_by_lane(const std::array<Wide<R>, 8 / simd::lanes_v<simd::Batch<double>>>& sums) {
  using B = simd::Batch<double>;
  constexpr std::size_t width = simd::lanes_v<B>;
  const auto stored = [&](auto part) {
    alignas(B) std::array<double, 8> numbers;
    for (std::size_t p = 0; p < sums.size(); ++p) part(sums[p]).store_aligned(&numbers[p * width]);
    return numbers;
  };
  std::array<R, 8> s;
  const auto values = stored([](const auto& x) { return as_plain<B>(x); });
  if constexpr (requires { s[0].curvature; }) {
    const auto slopes = stored([](const auto& x) { return x.slope; });
    const auto curvatures = stored([](const auto& x) { return x.curvature; });
    for (std::size_t j = 0; j < 8; ++j) s[j] = {values[j], slopes[j], curvatures[j]};
  } else if constexpr (requires { s[0].slope; }) {
    const auto slopes = stored([](const auto& x) { return x.slope; });
    for (std::size_t j = 0; j < 8; ++j) s[j] = {values[j], slopes[j]};
  } else {
    for (std::size_t j = 0; j < 8; ++j) s[j] = R(values[j]);
  }
  return s;
}

/// step(s, numbers...) adds an entry of each of the sources to a partial sum s.
template <class R, class Step, class... Sources>
R in_eights(std::size_t n, const Step& step, const Sources&... sources) {
  std::size_t i = 0;
  if constexpr (is_chunk<R>) {
    // Registers are dear, and the bits of tangents hardly depend on the order: most of them are 0.
    std::array<double, 8> values{};
    std::array<R, 4> s;
    const auto add = [&](std::size_t j, std::size_t at) {
      R& part = s[j % 4];
      part.value = values[j];
      step(part, sources.number(at)...);
      values[j] = part.value;
    };
    for (; i + 8 <= n; i += 8)
      for (std::size_t j = 0; j < 8; ++j) add(j, i + j);
    for (; i < n; ++i) add(i % 8, i);
    return {fold(values), (s[0].slope + s[2].slope) + (s[1].slope + s[3].slope)};
  } else {
    std::array<R, 8> s;
    s.fill(constant<R>(0.0));
    if constexpr ((requires { sources.wide(i); } && ...)) {
      if (n >= 8) {
        using B = simd::Batch<double>;
        constexpr std::size_t width = simd::lanes_v<B>;
        std::array<Wide<R>, 8 / width> sums;
        sums.fill(constant<Wide<R>>(0.0));
        for (; i + 8 <= n; i += 8)
          for (std::size_t p = 0; p < sums.size(); ++p) step(sums[p], sources.wide(i + p * width)...);
        s = lane_by_lane<R>(sums);
      }
    } else {
      for (; i + 8 <= n; i += 8)
        for (std::size_t j = 0; j < 8; ++j) step(s[j], sources.number(i + j)...);
    }
    for (; i < n; ++i) step(s[i % 8], sources.number(i)...);
    return fold(s);
  }
}
/// The same of what entry(i) gives.
template <class F>
struct Entries {
  F entry;
  auto number(std::size_t i) const { return entry(i); }
};
template <class F>
Entries(F) -> Entries<F>;

// Sources. value(i) is an entry's plain number and number(i) what forward mode reckons with. On the tape,
// scatter() makes parents of the entries, with weights w(i) for the sum over all.

/// A number that does not move: the same for all i.
template <class T>
struct FixedNumber {
  static constexpr bool moves = false;
  T x;
  T value(std::size_t) const { return x; }
  T number(std::size_t) const { return x; }
  simd::Batch<double> wide(std::size_t) const requires std::same_as<T, double> { return x; }
  template <class W>
  static void scatter(Tape<T>&, std::size_t, const W&) {}
};

/// Data.
template <class T, class V>
struct FixedVector {
  static constexpr bool moves = false;
  const V* v;
  ONWARD_ALWAYS_INLINE T value(std::size_t i) const { return constant<T>((*v)[Index(i)]); }
  ONWARD_ALWAYS_INLINE T number(std::size_t i) const { return value(i); }
  template <class W>
  static void scatter(Tape<T>&, std::size_t, const W&) {}

 private:
  using Index = std::remove_cvref_t<decltype(std::declval<const V&>().size())>;
};
/// Data that lie side by side.
struct FixedArray {
  static constexpr bool moves = false;
  const double* v;
  double value(std::size_t i) const { return v[i]; }
  double number(std::size_t i) const { return v[i]; }
  simd::Batch<double> wide(std::size_t i) const { return simd::Batch<double>::load_unaligned(v + i); }
  const double* values() const { return v; }
  template <class W>
  static void scatter(Tape<double>&, std::size_t, const W&) {}
};

/// A number that moves, the same for all i.
template <class R>
struct MovingNumber {
  using T = scalar_t<R>;
  static constexpr bool moves = true;
  R x;
  T value(std::size_t) const { return x.value; }
  const R& number(std::size_t) const { return x; }
  Wide<R> wide(std::size_t) const requires(!std::is_void_v<Wide<R>>) {
    using B = simd::Batch<double>;
    if constexpr (requires { x.curvature; })
      return {B(x.value), B(x.slope), B(x.curvature)};
    else if constexpr (requires { x.slope; })
      return {B(x.value), B(x.slope)};
    else
      return {B(x.value)};
  }
  template <class W>
  void scatter(Tape<T>& tape, std::size_t n, const W& w) const {
    if (x.index == 0) return;
    const T total = in_eights<T>(
        n, [](T& s, const T& weight) { s += weight; }, Entries{w});
    const auto list = tape.add_list(1);
    list.weights[0] = product(x.scale, total);
    list.parents[0] = x.index;
  }
};

struct Ones {
  double operator()(std::size_t) const { return 1; }
};

/// Parameters, in forward mode.
template <class R, class V>
struct MovingVector {
  static constexpr bool moves = true;
  const V* v;
  ONWARD_ALWAYS_INLINE auto number(std::size_t i) const { return R((*v)[Index(i)]); }
  ONWARD_ALWAYS_INLINE auto value(std::size_t i) const {
    if constexpr (requires { values(); })
      return values()[i];
    else
      return number(i).value;
  }
  template <class W>
  auto spread(const W& w) const requires requires(const V& view) {
    view.spread(w);
  }
  { return v->spread(w); }
  auto spread_values() const requires requires(const V& view) { view.spread_values(); }
  { return v->spread_values(); }
  const double* values() const requires requires(const V& view) { view.spread(Ones{}); }
  { return v->values().data(); }
  Wide<R> wide(std::size_t i) const requires requires(const V& view) { view.wide(i); }
  { return v->wide(i); }

 private:
  using Index = std::remove_cvref_t<decltype(std::declval<const V&>().size())>;
};

/// Parameters on the tape. Independent variables that lie side by side are one run of parents; of other
/// numbers the values are copied into an array first.
template <class T, class V>
class TapeVector {
 public:
  static constexpr bool moves = true;

  TapeVector(const V& v, std::size_t n, std::size_t scratch) : v_(&v) {
    Tape<T>& tape = Tape<T>::active();
    tape.read(n);
    if constexpr (requires { v.values(); }) {  // a LineView
      values_ = v.values().data();
      first_ = n == 0 ? 0 : v[0].index;
    } else {
      if constexpr (SideBySide<V>) {
        const std::size_t place = tape.place_of(v.data());
        if (place + n <= tape.theta().size()) {
          values_ = tape.theta().data() + place;
          first_ = static_cast<Index>(place + 1);
          return;
        }
      }
      const std::span<T> copy = tape.scratch(scratch, n);
      for (std::size_t i = 0; i < n; ++i) copy[i] = v[Position(i)].value;
      values_ = copy.data();
    }
  }
  ONWARD_ALWAYS_INLINE const T& value(std::size_t i) const { return values_[i]; }
  const T* values() const { return values_; }
  /// The values alone are a source too.
  const T& number(std::size_t i) const { return values_[i]; }

  template <class W>
  void scatter(Tape<T>& tape, std::size_t n, const W& w) const {
    if (first_ != 0) {
      T* __restrict weights = tape.add_run(first_, n).data();
      for (std::size_t i = 0; i < n; ++i) weights[i] = w(i);
    } else {
      const auto list = tape.add_list(n);
      for (std::size_t i = 0; i < n; ++i) {
        const Reverse<T> x = (*v_)[Position(i)];
        list.weights[i] = product(x.scale, T(w(i)));
        list.parents[i] = x.index;
      }
    }
  }

 private:
  using Index = typename Tape<T>::Index;
  using Position = std::remove_cvref_t<decltype(std::declval<const V&>().size())>;
  const V* v_;
  const T* values_ = nullptr;
  Index first_ = 0;
};

/// The source of an argument of a function whose sums are R; arguments of one function have different
/// numbers.
template <class R, std::size_t argument, class A>
auto source(const A& a, [[maybe_unused]] std::size_t n) {
  using T = PlainOf<R>;
  if constexpr (requires { a.template source_for<R, argument>(n); }) {
    return a.template source_for<R, argument>(n);
  } else if constexpr (NumberVector<A>) {
    if constexpr (AdScalar<Entry<A>>) {
      static_assert(std::same_as<Entry<A>, R>, "all moving numbers of one function are of one type");
      if constexpr (is_reverse<R>)
        return TapeVector<T, A>(a, n, argument);
      else
        return MovingVector<R, A>{&a};
    } else if constexpr (std::same_as<T, double> && SideBySide<A> && std::same_as<Entry<A>, double>) {
      return FixedArray{a.data()};
    } else {
      return FixedVector<T, A>{&a};
    }
  } else if constexpr (AdScalar<A>) {
    static_assert(std::same_as<A, R>, "all moving numbers of one function are of one type");
    return MovingNumber<R>{a};
  } else {
    return FixedNumber<T>{constant<T>(a)};
  }
}

/// The plain numbers of a source.
template <class X>
auto values_of(const X& x) {
  if constexpr (requires {
                  { x.values() } -> std::same_as<const double*>;
                })
    return FixedArray{x.values()};
  else
    return Entries{[&x](std::size_t i) { return x.value(i); }};
}

/// Sources whose numbers move along axes alone, one of a gradient's passes, or not at all. A sum over them
/// has tangents that can be written down.
template <class R, class... Sources>
inline constexpr bool along_axes = is_chunk<R> &&
                                   ((!Sources::moves || requires(const Sources& x) { x.spread(Ones{}); }) &&
                                    ...);
/// Those of one of them, with derivatives w(i).
template <class R, class X, class W>
auto spread(const X& x, const W& w) {
  if constexpr (X::moves)
    return x.spread(w);
  else
    return decltype(R{}.slope)(0.0);
}

/// The sum of x_i y_i.
template <class T, class X, class Y>
T dot_of_values(const X& x, const Y& y, std::size_t n) {
  if constexpr (std::same_as<T, double> && requires { x.values(), y.values(); })
    return simd::dot<double>(std::span<const double>(x.values(), n), std::span<const double>(y.values(), n));
  else
    return in_eights<T>(
        n, [&](T& s, const T& a, const T& b) { s = plus_product(s, a, b); }, values_of(x), values_of(y));
}

}  // namespace onward::ad
