#pragma once
// A model's parameters, declared once by name, kind and shape; the log density is then written over the
// constrained values themselves, one argument a parameter:
//
//     auto parameters = onward::Parameters{}.real("mu").positive("tau").vector("theta", 8);
//     auto density = onward::ParametrisedDensity(parameters, [](auto mu, auto tau, auto theta) { ... });
//
// The list of kinds is part of the type of Parameters, so that no name is looked up and nothing is allocated
// when the density is evaluated: a scalar arrives by value, a vector as a span, a matrix as a MatrixView.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "onward/ad/scratch.hpp"
#include "onward/target/parameter_block.hpp"
#include "onward/target/transform.hpp"

namespace onward {

/// A matrix stored by columns that belongs to somebody else; indices from 0.
template <class T>
class MatrixView {
 public:
  MatrixView(const T* data, std::size_t rows, std::size_t columns)
      : data_(data), rows_(rows), columns_(columns) {}
  const T& operator()(std::size_t row, std::size_t column) const { return data_[row + column * rows_]; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  const T* data() const { return data_; }

 private:
  const T* data_;
  std::size_t rows_;
  std::size_t columns_;
};

/// Constrained values by parameter name; a scalar has one number, a matrix is given by columns.
using NamedValues = std::map<std::string, std::vector<double>>;

/// Names, shapes and places of declared parameters: what can be known without their kinds.
class ParameterLayout {
 public:
  /// How many free numbers a sampler moves.
  std::size_t dimension() const { return dimension_; }

  /// How many constrained numbers the parameters have in all.
  std::size_t constrained_size() const { return constrained_size_; }

  /// Names of the constrained numbers as Stan writes them: mu, theta.1, L.2.1; of two indices the first is
  /// faster.
  std::vector<std::string> names() const;

  /// The parameters, with how many free numbers each has.
  std::vector<ParameterBlock> blocks() const;

  /// A parameter's constrained numbers in the order of names().
  struct Range {
    std::size_t first, count;
  };
  /// Throws UsageError, with the names that there are, for one that is not declared.
  Range range(std::string_view name) const;
  bool has(std::string_view name) const;
  /// What is declared, in its order.
  std::vector<std::string> declared() const;

  /// All constrained numbers in the order of names(); throws Error for a name that is unknown or missing and
  /// for a wrong count of numbers.
  std::vector<double> flatten(const NamedValues& values) const;

 protected:
  enum class Shape { scalar, vector, square, matrix };

  /// Where a parameter's numbers lie: free ones in u, constrained ones in the flat vector.
  struct Place {
    std::size_t free;
    std::size_t constrained;
  };

  /// Throws UsageError when a name is not fit for a new parameter, or a size (of a vector, or a matrix's
  /// rows; `columns` is of matrices that are not square).
  void check(std::string_view name, Shape shape, std::size_t size, std::size_t columns = 1) const;
  Place add(std::string_view name, Shape shape, std::size_t size, std::size_t free_numbers,
            std::size_t columns = 1);
  const std::string& name(std::size_t index) const { return entries_[index].name; }
  void check_counts(std::size_t free_numbers, std::size_t constrained_numbers) const;

 private:
  struct Entry {
    std::string name;
    Shape shape;
    std::size_t size;  ///< of a vector; the rows of a matrix
    std::size_t columns;
    std::size_t free;
    std::size_t numbers() const { return size * columns; }
  };
  std::vector<Entry> entries_;
  std::size_t dimension_ = 0;
  std::size_t constrained_size_ = 0;
};

namespace detail {

/// One parameter that is a number.
template <class Transform>
struct ScalarParameter {
  template <class T>
  using Argument = T;
  static constexpr bool needs_scratch = false;

  Transform transform;
  std::size_t free;
  std::size_t constrained;

  template <class T>
  T argument(std::span<const T> u, T* /*scratch*/, T& log_jacobian) const {
    return transform.constrain(u[free], log_jacobian);
  }
  template <class T>
  T view(const T* x) const {
    return x[constrained];
  }
  template <class T>
  void constrain(std::span<const T> u, T* x, T& log_jacobian) const {
    x[constrained] = transform.constrain(u[free], log_jacobian);
  }
  void unconstrain(std::span<const double> x, std::span<double> u, const std::string& name) const {
    u[free] = transform.unconstrain(x[constrained], name);
  }
};

/// Numbers of one scalar kind, side by side.
template <class Transform>
struct RepeatedParameter {
  template <class T>
  using Argument = std::span<const T>;
  static constexpr bool needs_scratch = !std::is_same_v<Transform, transform::Real>;

  Transform transform;
  std::size_t size;
  std::size_t free;
  std::size_t constrained;

  template <class T>
  std::span<const T> argument(std::span<const T> u, T* scratch, T& log_jacobian) const {
    if constexpr (!needs_scratch) return u.subspan(free, size);
    constrain(u, scratch, log_jacobian);
    return {scratch + constrained, size};
  }
  template <class T>
  std::span<const T> view(const T* x) const {
    return {x + constrained, size};
  }
  template <class T>
  void constrain(std::span<const T> u, T* x, T& log_jacobian) const {
    for (std::size_t k = 0; k < size; ++k) {
      x[constrained + k] = transform.constrain(u[free + k], log_jacobian);
    }
  }
  void unconstrain(std::span<const double> x, std::span<double> u, const std::string& name) const {
    for (std::size_t k = 0; k < size; ++k) {
      u[free + k] = transform.unconstrain(x[constrained + k], name + "." + std::to_string(k + 1));
    }
  }
};

/// Numbers that are constrained together: a vector, or the entries of a matrix.
template <class Transform>
struct JointParameter {
  static constexpr bool is_matrix = requires(const Transform& transform) { transform.rows(); };
  template <class T>
  using Argument = std::conditional_t<is_matrix, MatrixView<T>, std::span<const T>>;
  static constexpr bool needs_scratch = true;

  Transform transform;
  std::size_t free;
  std::size_t constrained;

  template <class T>
  Argument<T> argument(std::span<const T> u, T* scratch, T& log_jacobian) const {
    constrain(u, scratch, log_jacobian);
    return view<T>(scratch);
  }
  template <class T>
  Argument<T> view(const T* x) const {
    if constexpr (is_matrix) {
      return {x + constrained, transform.rows(), transform.rows()};
    } else {
      return {x + constrained, transform.size()};
    }
  }
  template <class T>
  void constrain(std::span<const T> u, T* x, T& log_jacobian) const {
    transform.constrain(u.subspan(free, transform.unconstrained_size()),
                        std::span<T>(x + constrained, transform.size()), log_jacobian);
  }
  void unconstrain(std::span<const double> x, std::span<double> u, const std::string& name) const {
    transform.unconstrain(x.subspan(constrained, transform.size()),
                          u.subspan(free, transform.unconstrained_size()), name);
  }
};

}  // namespace detail

/// A list of declared parameters, mapping free vectors to named, shaped, constrained values and back. Start
/// from `Parameters{}` and add one parameter after the other; each call gives a new list and leaves the old
/// one as it was.
///
/// A declaration throws UsageError when the name is empty, taken or not made of letters, digits and
/// underscores, when a size is 0, or when bounds are not finite and in rising order. The kinds and their
/// formulas: docs/parameters.md.
template <class... Kinds>
class Parameters : public ParameterLayout {
 public:
  Parameters() requires(sizeof...(Kinds) == 0) = default;

  /// Any number.
  auto real(std::string_view name) const {
    return scalar(name, [] { return transform::Real{}; });
  }
  /// A number > 0.
  auto positive(std::string_view name) const {
    return scalar(name, [] { return transform::Positive{}; });
  }
  /// A number > bound.
  auto lower(std::string_view name, double bound) const {
    return scalar(name, [&] { return transform::Lower(bound, name); });
  }
  /// A number < bound.
  auto upper(std::string_view name, double bound) const {
    return scalar(name, [&] { return transform::Upper(bound, name); });
  }
  /// A number between two bounds.
  auto interval(std::string_view name, double lower, double upper) const {
    return scalar(name, [&] { return transform::Interval(lower, upper, name); });
  }

  /// Any numbers.
  auto vector(std::string_view name, std::size_t size) const {
    return repeated(name, size, [] { return transform::Real{}; });
  }
  /// Numbers > 0.
  auto positive_vector(std::string_view name, std::size_t size) const {
    return repeated(name, size, [] { return transform::Positive{}; });
  }
  /// Numbers > bound.
  auto lower_vector(std::string_view name, std::size_t size, double bound) const {
    return repeated(name, size, [&] { return transform::Lower(bound, name); });
  }
  /// Numbers < bound.
  auto upper_vector(std::string_view name, std::size_t size, double bound) const {
    return repeated(name, size, [&] { return transform::Upper(bound, name); });
  }
  /// Numbers between two bounds.
  auto interval_vector(std::string_view name, std::size_t size, double lower, double upper) const {
    return repeated(name, size, [&] { return transform::Interval(lower, upper, name); });
  }

  /// Numbers in rising order.
  auto ordered(std::string_view name, std::size_t size) const {
    return joint<transform::Ordered>(name, Shape::vector, size);
  }
  /// Numbers > 0 in rising order.
  auto positive_ordered(std::string_view name, std::size_t size) const {
    return joint<transform::PositiveOrdered>(name, Shape::vector, size);
  }
  /// Numbers > 0 that sum to 1.
  auto simplex(std::string_view name, std::size_t size) const {
    return joint<transform::Simplex>(name, Shape::vector, size);
  }
  /// The Cholesky factor of a correlation matrix.
  auto cholesky_corr(std::string_view name, std::size_t rows) const {
    return joint<transform::CholeskyCorrelation>(name, Shape::square, rows);
  }

  /// Constrained values, in the order of names(), of a free vector.
  void constrain(std::span<const double> u, std::span<double> out) const {
    check_counts(u.size(), out.size());
    // Through Value, so that these are to the bit the values that the density gets.
    const std::vector<Value<double>> free(u.begin(), u.end());
    std::vector<Value<double>> x(out.size());
    Value<double> unused(0.0);
    std::apply(
        [&](const Kinds&... kind) {
          (kind.constrain(std::span<const Value<double>>(free), x.data(), unused), ...);
        },
        kinds_);
    for (std::size_t k = 0; k < x.size(); ++k) out[k] = x[k].value;
  }

  /// One argument for each parameter, as a log density has them, of constrained values in the order of
  /// names().
  auto arguments(std::span<const double> values) const {
    return std::apply(
        [&](const Kinds&... kind) {
          return std::tuple<typename Kinds::template Argument<double>...>{kind.view(values.data())...};
        },
        kinds_);
  }

  /// The free vector of constrained values given in the order of names(). Throws Error naming the parameter,
  /// its value and what is allowed.
  std::vector<double> unconstrain(std::span<const double> values) const {
    check_counts(dimension(), values.size());
    std::vector<double> u(dimension());
    std::size_t index = 0;
    std::apply([&](const Kinds&... kind) { (kind.unconstrain(values, u, name(index++)), ...); }, kinds_);
    return u;
  }
  /// The same from values by name.
  std::vector<double> unconstrain(const NamedValues& values) const { return unconstrain(flatten(values)); }

  /// Whether a log density returns a plain number, whatever its arguments.
  template <class F>
  static constexpr bool is_flat() {
    if constexpr (std::is_invocable_v<const F&, typename Kinds::template Argument<Value<double>>...>)
      return std::is_arithmetic_v<
          std::invoke_result_t<const F&, typename Kinds::template Argument<Value<double>>...>>;
    else
      return false;
  }
  /// The number that it returns there.
  template <class F>
  double flat_density(std::span<const Value<double>> u, const F& density) const {
    double value = 0;
    (void)log_density(u, [&](const auto&... arguments) { return value = density(arguments...); });
    return value;
  }

  /// The log density over free vectors: density(arguments...) + log|dx/du|. The callable gets one argument
  /// for each declared parameter, in that order; what spans and views point to is gone after the call. No
  /// allocation after a thread's first call; calls from several threads are safe if the callable's are.
  template <class T, class F>
  T log_density(std::span<const T> u, const F& density) const {
    static_assert(
        std::is_invocable_v<const F&, typename Kinds::template Argument<T>...>,
        "the log density takes one argument for each declared parameter, in the order of declaration: "
        "a number, a std::span<const T> or a MatrixView<T>");
    return std::apply(
        [&](const Kinds&... kind) -> T {
          const auto evaluate = [&](T* scratch) -> T {
            T log_jacobian(0.0);
            // Braces evaluate from left to right: the Jacobian is summed in the order of declaration.
            std::tuple<typename Kinds::template Argument<T>...> arguments{
                kind.argument(u, scratch, log_jacobian)...};
            return T(std::apply(density, std::move(arguments))) + log_jacobian;
          };
          if constexpr ((Kinds::needs_scratch || ...)) {
            ad::Scratch<T> scratch(constrained_size());
            return evaluate(scratch.data());
          } else {
            return evaluate(nullptr);
          }
        },
        kinds_);
  }

 private:
  template <class... Others>
  friend class Parameters;

  Parameters(ParameterLayout layout, std::tuple<Kinds...> kinds)
      : ParameterLayout(std::move(layout)), kinds_(std::move(kinds)) {}

  template <class Kind>
  Parameters<Kinds..., Kind> extended(ParameterLayout layout, Kind kind) const {
    return {std::move(layout), std::tuple_cat(kinds_, std::tuple<Kind>(std::move(kind)))};
  }

  // The transform is made after the name is known to be good, so that the first thing wrong is the one
  // reported.
  template <class Make>
  auto scalar(std::string_view name, Make make) const {
    check(name, Shape::scalar, 1);
    const auto transform = make();
    Parameters layout = *this;
    const Place place = layout.add(name, Shape::scalar, 1, 1);
    using Kind = detail::ScalarParameter<std::remove_const_t<decltype(transform)>>;
    return extended(std::move(layout), Kind{transform, place.free, place.constrained});
  }
  template <class Make>
  auto repeated(std::string_view name, std::size_t size, Make make) const {
    check(name, Shape::vector, size);
    const auto transform = make();
    Parameters layout = *this;
    const Place place = layout.add(name, Shape::vector, size, size);
    using Kind = detail::RepeatedParameter<std::remove_const_t<decltype(transform)>>;
    return extended(std::move(layout), Kind{transform, size, place.free, place.constrained});
  }
  template <class Transform>
  auto joint(std::string_view name, Shape shape, std::size_t size) const {
    check(name, shape, size);
    const Transform transform(size);
    Parameters layout = *this;
    const Place place = layout.add(name, shape, size, transform.unconstrained_size());
    using Kind = detail::JointParameter<Transform>;
    return extended(std::move(layout), Kind{transform, place.free, place.constrained});
  }

  std::tuple<Kinds...> kinds_;
};

/// A log density over declared parameters as a callable over free vectors of any scalar type.
template <class P, class F>
class ParametrisedDensity {
 public:
  ParametrisedDensity(P parameters, F density)
      : parameters_(std::move(parameters)), density_(std::move(density)) {}

  const P& parameters() const { return parameters_; }

  template <class T>
  T operator()(std::span<const T> u) const {
    if constexpr (is_flat<T>())
      return flat(u);
    else
      return parameters_.log_density(u, density_);
  }

 private:
  // One that returns a plain number is flat: it need not be asked with numbers that carry derivatives, and if
  // that is a mistake (a branch that returns -infinity) the compiler says so once.
  template <class T>
  static constexpr bool is_flat() {
    if constexpr (std::is_same_v<scalar_t<T>, double> && AdScalar<T> && !std::is_same_v<T, Value<double>>)
      return P::template is_flat<F>();
    else
      return false;
  }
  template <class T>
  T flat(std::span<const T> u) const {
    ad::Scratch<Value<double>, F> scratch(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) scratch.data()[i] = Value<double>(value_of(u[i]));
    const std::span<const Value<double>> place(scratch.data(), u.size());
    const auto nothing = [](const auto&...) { return 0.0; };
    return parameters_.log_density(u, nothing) + parameters_.flat_density(place, density_);
  }

  P parameters_;
  F density_;
};

}  // namespace onward
