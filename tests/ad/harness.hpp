#pragma once
// One harness for every function of the ad folder. A function is tabulated with every scalar type (Value,
// Dual, Jet2, Reverse over double, float and batches of both, and Dual with a batch of slopes); the table is
// then held against finite differences in long double, and its columns against each other. Complaints come
// back as text, so that a deliberately wrong rule can be seen to earn some.

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "onward/ad/ad.hpp"

namespace onward::ad_test {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A value with its slope and curvature: the arguments of a function as functions of t, and what comes out.
struct Triple {
  double value, slope, curvature;
};

/// Where a function is looked at: the arguments move along t as a + a' t + a'' t²/2 (a one-argument function
/// sees a).
struct Place {
  Triple a{0, 0, 0}, b{0, 0, 0};
  double step =
      0;  // first step of the finite differences; 0: a twentieth of the smaller argument, at most 1/8
};

inline std::ostream& operator<<(std::ostream& out, const Place& p) {
  return out << "a = " << p.a.value << " + " << p.a.slope << " t + " << p.a.curvature
             << " t²/2, b = " << p.b.value << " + " << p.b.slope << " t + " << p.b.curvature << " t²/2";
}

/// Places for a function of one argument, reached with a slope that is not 1 and a curvature that is not 0.
inline std::vector<Place> at(std::initializer_list<double> xs) {
  std::vector<Place> places;
  for (double x : xs) places.push_back({{x, 1.25, -0.75}});
  return places;
}

/// Places for a function of two arguments: both moving, and each alone.
inline std::vector<Place> at(std::initializer_list<std::pair<double, double>> pairs) {
  std::vector<Place> places;
  for (auto [x, y] : pairs) {
    places.push_back({{x, 1.25, -0.75}, {y, -0.5, 0.375}});
    places.push_back({{x, 1.25, -0.75}, {y, 0, 0}});
    places.push_back({{x, 0, 0}, {y, -0.5, 0.375}});
  }
  return places;
}

/// Calls f with as many of the arguments as it takes.
template <class F, class X>
auto call(const F& f, const X& a, const X& b) {
  if constexpr (std::invocable<F, X>) {
    return f(a);
  } else {
    return f(a, b);
  }
}

/// What the scalar types gave at one place.
struct Row {
  double value = 0;          // Value
  Triple dual{}, jet{};      // Dual and Jet2
  double reverse_value = 0;  // Reverse
  double reverse_slope = 0;  // its adjoints times the slopes of the arguments
  double chunk_slope = 0;    // Dual with a batch of slopes, second lane
  Triple chunk_jet{};        // Jet2 with batches of slopes and curvatures, second lane
};

template <class T>
T lanes_of(const std::vector<double>& xs) {
  using L = simd::scalar_t<T>;
  if constexpr (simd::is_batch_v<T>) {
    alignas(T) std::array<L, T::size> lanes;
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = static_cast<L>(xs[i % xs.size()]);
    return T::load_aligned(lanes.data());
  } else {
    return static_cast<L>(xs[0]);
  }
}

/// The arguments at places [begin, begin + lanes of T), wrapping around at the end.
template <class T>
struct Arguments {
  T a, a1, a2, b, b1, b2;

  Arguments(const std::vector<Place>& places, std::size_t begin) {
    const auto gather = [&](Triple Place::*argument, double Triple::*part) {
      std::vector<double> xs;
      for (std::size_t i = 0; i < simd::lanes_v<T>; ++i)
        xs.push_back(places[(begin + i) % places.size()].*argument.*part);
      return lanes_of<T>(xs);
    };
    a = gather(&Place::a, &Triple::value);
    a1 = gather(&Place::a, &Triple::slope);
    a2 = gather(&Place::a, &Triple::curvature);
    b = gather(&Place::b, &Triple::value);
    b1 = gather(&Place::b, &Triple::slope);
    b2 = gather(&Place::b, &Triple::curvature);
  }
};

/// What one call with each scalar type gave, for all lanes of T.
template <class T>
struct Results {
  Value<T> value;
  Dual<T> dual;
  Jet2<T> jet;
  T reverse_value, reverse_slope;
  double chunk_slope = 0;
  Triple chunk_jet{};

  void append_to(std::vector<Row>& rows) const {
    for (std::size_t i = 0; i < simd::lanes_v<T>; ++i) {
      const auto lane = [i](const T& x) { return static_cast<double>(simd::lane(x, i)); };
      rows.push_back({lane(value.value),
                      {lane(dual.value), lane(dual.slope), 0},
                      {lane(jet.value), lane(jet.slope), lane(jet.curvature)},
                      lane(reverse_value),
                      lane(reverse_slope),
                      chunk_slope,
                      chunk_jet});
    }
  }
};

template <class T, class F>
Results<T> evaluate(const F& f, const Arguments<T>& x) {
  Results<T> r;
  r.value = call(f, Value<T>(x.a), Value<T>(x.b));
  r.dual = call(f, Dual<T>(x.a, x.a1), Dual<T>(x.b, x.b1));
  r.jet = call(f, Jet2<T>(x.a, x.a1, x.a2), Jet2<T>(x.b, x.b1, x.b2));

  Tape<T> tape;
  const typename Tape<T>::Active active(tape);
  const Reverse<T> a = tape.variable(x.a), b = tape.variable(x.b);
  const Reverse<T> reverse = call(f, a, b);
  tape.sweep(reverse);
  r.reverse_value = reverse.value;
  r.reverse_slope = ad::times<void>(tape.adjoint(a), x.a1) + ad::times<void>(tape.adjoint(b), x.b1);

  if constexpr (std::same_as<T, double>) {
    using B = simd::Batch<double>;
    const auto chunk = [](double v, double s) { return Dual<double, B>(v, lanes_of<B>({0, s})); };
    r.chunk_slope = simd::lane(call(f, chunk(x.a, x.a1), chunk(x.b, x.b1)).slope, 1);
    const auto two_lines = [](double v, double s, double c) {
      return Jet2<double, B>(v, lanes_of<B>({0, s}), lanes_of<B>({0, c}));
    };
    const Jet2<double, B> jet = call(f, two_lines(x.a, x.a1, x.a2), two_lines(x.b, x.b1, x.b2));
    r.chunk_jet = {jet.value, simd::lane(jet.slope, 1), simd::lane(jet.curvature, 1)};
  }
  return r;
}

template <class T, class F>
std::vector<Row> tabulate(const F& f, const std::vector<Place>& places) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < places.size(); i += simd::lanes_v<T>) {
    evaluate(f, Arguments<T>(places, i)).append_to(rows);
  }
  rows.resize(places.size());
  return rows;
}

/// All that is known of one function: tables over the four number types, and the truth.
struct Tables {
  std::string name;
  std::vector<Place> places;
  std::vector<Row> single, lanes, single_float, lanes_float;
  std::function<long double(long double, long double)> truth;
};

template <class F, class Truth>
Tables tables(const std::string& name, const F& f, const Truth& truth, const std::vector<Place>& places) {
  return {name,
          places,
          tabulate<double>(f, places),
          tabulate<simd::Batch<double>>(f, places),
          tabulate<float>(f, places),
          tabulate<simd::Batch<float>>(f, places),
          [truth](long double a, long double b) { return static_cast<long double>(call(truth, a, b)); }};
}

using Complaints = std::vector<std::string>;

/// Same bits, where any NaN equals any other.
inline bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) ||
         std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

/// Within a relative bound plus an absolute one; infinities and NaN must agree.
inline bool close(double x, long double truth, double relative, double absolute = 0) {
  const double t = static_cast<double>(truth);
  if (std::isnan(t) || std::isinf(t) || !std::isfinite(x)) return (std::isnan(x) && std::isnan(t)) || x == t;
  return std::abs(x - truth) <= relative * std::abs(truth) + absolute;
}

/// First or second derivative of g at 0: central differences, extrapolated as the step shrinks, best one
/// kept.
inline long double finite_difference(const std::function<long double(long double)>& g, int order,
                                     long double h) {
  constexpr int levels = 12;
  std::array<std::array<long double, levels>, levels> table{};
  long double best = nan, error = inf;
  const long double middle = g(0);
  for (int i = 0; i < levels; ++i, h /= 1.4L) {
    auto& row = table[static_cast<std::size_t>(i)];
    const long double up = g(h), down = g(-h);
    row[0] = order == 1 ? (up - down) / (2 * h) : ((up - middle) + (down - middle)) / (h * h);
    long double factor = 1.96L;
    for (int j = 1; j <= i; ++j, factor *= 1.96L) {
      const auto k = static_cast<std::size_t>(j);
      const auto& above = table[static_cast<std::size_t>(i - 1)];
      row[k] = row[k - 1] + (row[k - 1] - above[k - 1]) / (factor - 1);
      const long double spread = std::max(std::abs(row[k] - row[k - 1]), std::abs(row[k] - above[k - 1]));
      if (spread < error) {
        error = spread;
        best = row[k];
      }
    }
  }
  return best;
}

/// Value, slope and curvature along t, by finite differences of the long double function.
struct Truth {
  long double value, slope, curvature;
};
inline Truth truth_at(const Tables& t, const Place& p) {
  const auto g = [&](long double u) {
    return t.truth(p.a.value + u * p.a.slope + u * u * p.a.curvature / 2,
                   p.b.value + u * p.b.slope + u * u * p.b.curvature / 2);
  };
  double small = std::abs(p.a.value);
  if (p.b.value != 0) small = small == 0 ? std::abs(p.b.value) : std::min(small, std::abs(p.b.value));
  const double h = p.step > 0 ? p.step : small == 0 ? 0.125 : std::min(small / 20, 0.125);
  return {g(0), finite_difference(g, 1, h), finite_difference(g, 2, h)};
}

inline void complain(Complaints& list, const Tables& t, const Place& p, const std::string& what, double got,
                     long double expected) {
  std::ostringstream text;
  text.precision(17);
  text << t.name << " at " << p << ": " << what << " is " << got << ", expected " << expected;
  list.push_back(text.str());
}

/// Columns against each other: values have the same bits at every order, batches the bits of single numbers,
/// slopes of Dual, Jet2, a batch of slopes and Reverse agree, and jets along several lines with Jet2.
inline Complaints compare_columns(const Tables& t) {
  Complaints list;
  const auto match = [&](const Place& p, const std::string& what, double got, double expected) {
    if (!same(got, expected)) complain(list, t, p, what, got, expected);
  };
  for (std::size_t i = 0; i < t.places.size(); ++i) {
    const Place& p = t.places[i];
    for (const auto* rows : {&t.single, &t.single_float}) {
      const Row& r = (*rows)[i];
      const std::string of = rows == &t.single ? " (double)" : " (float)";
      match(p, "value of Value" + of, r.value, r.jet.value);
      match(p, "value of Dual" + of, r.dual.value, r.jet.value);
      match(p, "slope of Dual" + of, r.dual.slope, r.jet.slope);
      match(p, "value of Reverse" + of, r.reverse_value, r.jet.value);
    }
    const auto lanes = [&](const Row& one, const Row& many, const std::string& of) {
      match(p, "value in a batch" + of, many.value, one.value);
      match(p, "value of Dual in a batch" + of, many.dual.value, one.dual.value);
      match(p, "slope of Dual in a batch" + of, many.dual.slope, one.dual.slope);
      match(p, "value of Jet2 in a batch" + of, many.jet.value, one.jet.value);
      match(p, "slope of Jet2 in a batch" + of, many.jet.slope, one.jet.slope);
      match(p, "curvature in a batch" + of, many.jet.curvature, one.jet.curvature);
      match(p, "value of Reverse in a batch" + of, many.reverse_value, one.reverse_value);
      match(p, "adjoints in a batch" + of, many.reverse_slope, one.reverse_slope);
    };
    lanes(t.single[i], t.lanes[i], " (double)");
    lanes(t.single_float[i], t.lanes_float[i], " (float)");
    match(p, "slope in a batch of slopes", t.single[i].chunk_slope, t.single[i].dual.slope);
    match(p, "value of a jet along several lines", t.single[i].chunk_jet.value, t.single[i].jet.value);
    match(p, "slope of a jet along several lines", t.single[i].chunk_jet.slope, t.single[i].jet.slope);
    match(p, "curvature of a jet along several lines", t.single[i].chunk_jet.curvature,
          t.single[i].jet.curvature);
  }
  return list;
}

/// Against the truth at ordinary places: slope to 1e-10, curvature to 1e-8; Reverse like Dual; float as far
/// as its digits go. The absolute part stands for slopes and curvatures that cancel to nearly nothing.
inline Complaints compare_truth(const Tables& t) {
  Complaints list;
  for (std::size_t i = 0; i < t.places.size(); ++i) {
    const Place& p = t.places[i];
    const Row& r = t.single[i];
    const Truth truth = truth_at(t, p);
    const auto near = [&](const std::string& what, double got, long double expected, double bound,
                          double floor) {
      if (!close(got, expected, bound, floor)) complain(list, t, p, what, got, expected);
    };
    const double size = 1e-5 + static_cast<double>(std::abs(truth.value) + std::abs(truth.slope));
    near("value", r.jet.value, truth.value, 2e-14, 1e-15);
    near("slope", r.jet.slope, truth.slope, 1e-10, 1e-14 * size);
    near("curvature", r.jet.curvature, truth.curvature, 1e-8, 1e-12 * size);
    near("slope by Reverse", r.reverse_slope, r.dual.slope, 1e-13, 1e-14 * size);

    const auto as_float = [](Triple x) {
      return Triple{static_cast<float>(x.value), static_cast<float>(x.slope),
                    static_cast<float>(x.curvature)};
    };
    const Truth rounded = truth_at(t, {as_float(p.a), as_float(p.b), p.step});
    const Row& f = t.single_float[i];
    const double size_float = size + static_cast<double>(std::abs(truth.curvature));
    near("value (float)", f.jet.value, rounded.value, 1e-5, 1e-6);
    near("slope (float)", f.jet.slope, rounded.slope, 2e-5, 2e-5 * size);
    near("curvature (float)", f.jet.curvature, rounded.curvature, 1e-4, 1e-4 * size_float);
    near("slope by Reverse (float)", f.reverse_slope, f.dual.slope, 1e-5, 1e-5 * size);
  }
  return list;
}

/// Awkward places, one- and two-argument functions alike.
inline std::vector<Place> awkward_places() {
  const std::array<double, 17> xs{0.0, -0.0, 1,   -1,   1e-8,  -1e-8, 1e-310, 1e-300, -1e-300,
                                  40,  -40,  1e4, -1e4, 1e300, inf,   -inf,   nan};
  std::vector<Place> places;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    for (std::size_t j :
         {std::size_t{0}, std::size_t{2}, std::size_t{9}, (i + 1) % xs.size(), (i + 6) % xs.size(), i}) {
      places.push_back({{xs[i], 1, 0}, {xs[j], 1, 0}});
    }
  }
  return places;
}

/// At awkward places: the value is that of the reference (also its infinities and NaN).
inline Complaints compare_values(const Tables& t) {
  Complaints list;
  for (std::size_t i = 0; i < t.places.size(); ++i) {
    const Place& p = t.places[i];
    const long double truth = t.truth(p.a.value, p.b.value);
    if (!close(t.single[i].value, truth, 2e-13, 1e-307))
      complain(list, t, p, "value", t.single[i].value, truth);
  }
  return list;
}

/// What does not move stays still, wherever it stands: no slope and no curvature come from 0 times infinity.
inline Complaints compare_constants(const Tables& t) {
  Complaints list;
  for (std::size_t i = 0; i < t.places.size(); ++i) {
    const Row& r = t.single[i];
    if (std::isnan(r.value)) continue;
    if (r.jet.slope != 0) complain(list, t, t.places[i], "slope of a constant", r.jet.slope, 0);
    if (r.jet.curvature != 0) complain(list, t, t.places[i], "curvature of a constant", r.jet.curvature, 0);
  }
  return list;
}

inline void append(Complaints& to, const Complaints& from) { to.insert(to.end(), from.begin(), from.end()); }

/// The whole examination of one function. The places are ordinary ones, inside the domain.
template <class F, class Truth>
Complaints examine(const std::string& name, const F& f, const Truth& truth,
                   const std::vector<Place>& places) {
  Complaints all;
  Tables ordinary = tables(name, f, truth, places);
  append(all, compare_columns(ordinary));
  append(all, compare_truth(ordinary));
  std::vector<Place> awkward = awkward_places();
  Tables edge = tables(name, f, truth, awkward);
  append(all, compare_columns(edge));
  append(all, compare_values(edge));
  for (Place& p : awkward) p.a.slope = p.b.slope = 0;
  append(all, compare_constants(tables(name, f, truth, awkward)));
  return all;
}

}  // namespace onward::ad_test

/// A function by name, as one generic callable: the standard library's for long double, ours for our scalars.
#define ONWARD_CALL(name) \
  [](const auto& x) {     \
    using std::name;      \
    return name(x);       \
  }
#define ONWARD_CALL2(name)           \
  [](const auto& x, const auto& y) { \
    using std::name;                 \
    return name(x, y);               \
  }
/// The same for a function that the standard library does not have.
#define ONWARD_OURS(name) [](const auto& x) { return onward::name(x); }
