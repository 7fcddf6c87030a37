#pragma once
// What a model reports besides its parameters, declared by name and shape like these.

#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "onward/target/parameters.hpp"

namespace onward {

/// A number to be filled in: `total = a + b;`. Copies of it stand for the same number.
class RealOut {
 public:
  explicit RealOut(double& x) : x_(&x) {}
  RealOut(const RealOut&) = default;
  RealOut& operator=(const RealOut& other) { return *this = static_cast<double>(other); }
  RealOut& operator=(double value) {
    *x_ = value;
    return *this;
  }
  RealOut& operator+=(double value) {
    *x_ += value;
    return *this;
  }
  operator double() const { return *x_; }  // NOLINT: it is a number

 private:
  double* x_;
};

/// A matrix to be filled in, stored by columns; indices from 0.
class MatrixOut {
 public:
  MatrixOut(double* data, std::size_t rows, std::size_t columns)
      : data_(data), rows_(rows), columns_(columns) {}
  double& operator()(std::size_t row, std::size_t column) const { return data_[row + column * rows_]; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

 private:
  double* data_;
  std::size_t rows_;
  std::size_t columns_;
};

namespace detail {

struct RealQuantity {
  using Argument = RealOut;
  std::size_t at;
  Argument out(double* x) const { return RealOut(x[at]); }
};
struct VectorQuantity {
  using Argument = std::span<double>;
  std::size_t at, size;
  Argument out(double* x) const { return {x + at, size}; }
};
struct MatrixQuantity {
  using Argument = MatrixOut;
  std::size_t at, rows, columns;
  Argument out(double* x) const { return {x + at, rows, columns}; }
};

}  // namespace detail

/// A list of quantities. Start from `Quantities{}` and add one after the other, as with Parameters; what a
/// declaration refuses is the same.
template <class... Kinds>
class Quantities : public ParameterLayout {
 public:
  Quantities() requires(sizeof...(Kinds) == 0) = default;

  auto real(std::string_view name) const {
    return extended(name, Shape::scalar, 1, 1, [](std::size_t at) { return detail::RealQuantity{at}; });
  }
  auto vector(std::string_view name, std::size_t size) const {
    return extended(name, Shape::vector, size, 1, [size](std::size_t at) {
      return detail::VectorQuantity{at, size};
    });
  }
  auto matrix(std::string_view name, std::size_t rows, std::size_t columns) const {
    return extended(name, Shape::matrix, rows, columns, [=](std::size_t at) {
      return detail::MatrixQuantity{at, rows, columns};
    });
  }

  /// One argument for each quantity, to be filled in: a RealOut, a std::span<double> or a MatrixOut.
  std::tuple<typename Kinds::Argument...> arguments(std::span<double> values) const {
    return std::apply(
        [&](const Kinds&... kind) {
          return std::tuple<typename Kinds::Argument...>{kind.out(values.data())...};
        },
        kinds_);
  }

 private:
  template <class... Others>
  friend class Quantities;

  Quantities(ParameterLayout layout, std::tuple<Kinds...> kinds)
      : ParameterLayout(std::move(layout)), kinds_(std::move(kinds)) {}

  template <class Make>
  auto extended(std::string_view name, Shape shape, std::size_t size, std::size_t columns, Make make) const {
    check(name, shape, size, columns);
    Quantities layout = *this;
    using Kind = decltype(make(0));
    const Kind kind = make(layout.add(name, shape, size, 0, columns).constrained);
    return Quantities<Kinds..., Kind>(std::move(layout), std::tuple_cat(kinds_, std::tuple<Kind>(kind)));
  }

  std::tuple<Kinds...> kinds_;
};

}  // namespace onward
