#pragma once
// Data in rows and columns, and what regressions make of them: X * beta and alpha + X * beta, predictors that
// the functions of vector_densities.hpp take whole.

#include <memory>
#include <utility>
#include <vector>

#include "onward/ad/vectors.hpp"

namespace onward {

/// Numbers that do not move, kept row after row. Copies share them, so that the copies of a model that chains
/// work with do.
class DataMatrix {
 public:
  /// Row after row; throws UsageError unless the rows are full.
  DataMatrix(std::vector<double> by_rows, std::size_t columns)
      : columns_(columns), rows_(columns == 0 ? 0 : by_rows.size() / columns) {
    if (rows_ * columns_ != by_rows.size() || columns == 0)
      throw UsageError("a DataMatrix of " + std::to_string(columns) + " columns was given " +
                       std::to_string(by_rows.size()) +
                       " numbers; it needs as many in each row as there are columns");
    numbers_ = std::make_shared<const std::vector<double>>(std::move(by_rows));
  }
  /// An Eigen matrix. It is copied: make a DataMatrix once, outside of the log density.
  template <class M>
  requires requires(const M& m) {
    m.rows();
    m.cols();
    m(m.rows(), m.cols());
  }
  explicit DataMatrix(const M& m)
      : DataMatrix(
            [&m] {
              std::vector<double> numbers;
              for (auto i = m.rows() * 0; i < m.rows(); ++i)
                for (auto j = m.cols() * 0; j < m.cols(); ++j) numbers.push_back(double(m(i, j)));
              return numbers;
            }(),
            static_cast<std::size_t>(m.cols())) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::span<const double> row(std::size_t i) const { return {numbers_->data() + i * columns_, columns_}; }
  std::span<const double> numbers() const { return *numbers_; }  ///< row after row
  double operator()(std::size_t i, std::size_t j) const { return (*numbers_)[i * columns_ + j]; }

 private:
  std::size_t columns_, rows_;
  std::shared_ptr<const std::vector<double>> numbers_;
};

namespace ad {

/// alpha + x_i·beta on the tape: all of them are computed at once.
template <class T, class Beta, class Alpha>
class TapePredictor {
 public:
  static constexpr bool moves = true;

  TapePredictor(const DataMatrix& x, const Beta& beta, const Alpha& alpha, std::size_t scratch)
      : x_(&x), beta_(beta), alpha_(alpha) {
    const std::span<T> eta = Tape<T>::active().scratch(scratch, x.rows());
    Tape<T>::active().read(x.rows() * x.columns());
    const T shift = alpha_.value(0);
    for (std::size_t i = 0; i < x.rows(); ++i) eta[i] = shift + row_dot(x.row(i));
    values_ = eta.data();
  }
  const T& value(std::size_t i) const { return values_[i]; }
  const T* values() const { return values_; }

  template <class W>
  void scatter(Tape<T>& tape, std::size_t n, const W& w) const {
    alpha_.scatter(tape, n, w);
    const std::size_t columns = x_->columns();
    const std::span<T> sums = tape.scratch(6, columns);
    std::fill(sums.begin(), sums.end(), T(0));
    T* __restrict sum = sums.data();
    for (std::size_t i = 0; i < n; ++i) {
      const double* __restrict row = x_->row(i).data();
      const T weight = w(i);
      for (std::size_t j = 0; j < columns; ++j) sum[j] = simd::mul_add(weight, constant<T>(row[j]), sum[j]);
    }
    beta_.scatter(tape, columns, [&](std::size_t j) { return sums[j]; });
  }

 private:
  T row_dot(std::span<const double> row) const {
    if constexpr (std::same_as<T, double> && requires { beta_.values(); })
      return simd::dot<double>(row, std::span<const double>(beta_.values(), row.size()));
    else
      return in_eights<T>(
          row.size(), [](auto& s, const auto& x, const auto& b) { s = plus_product(s, x, b); },
          FixedArray{row.data()}, values_of(beta_));
  }

  const DataMatrix* x_;
  Beta beta_;
  Alpha alpha_;
  const T* values_;
};

/// The parts of numbers of forward mode: value, slopes and curvatures, where they are doubles.
template <class R>
inline constexpr std::size_t parts = 0;
template <>
inline constexpr std::size_t parts<Value<double>> = 1;
template <>
inline constexpr std::size_t parts<Dual<double>> = 2;
template <>
inline constexpr std::size_t parts<Jet2<double>> = 3;
template <>
inline constexpr std::size_t parts<Dual<double, simd::Two>> = 3;
template <>
inline constexpr std::size_t parts<Jet2<double, simd::Two>> = 5;

template <class R>
inline std::array<double, parts<R>> split(const R& x) {
  if constexpr (parts<R> == 1)
    return {x.value};
  else if constexpr (std::same_as<R, Dual<double>>)
    return {x.value, x.slope};
  else if constexpr (std::same_as<R, Jet2<double>>)
    return {x.value, x.slope, x.curvature};
  else if constexpr (parts<R> == 3)
    return {x.value, x.slope.first(), x.slope.second()};
  else
    return {x.value, x.slope.first(), x.slope.second(), x.curvature.first(), x.curvature.second()};
}
template <class R>
inline R joined(const std::array<double, parts<R>>& p) {
  if constexpr (parts<R> == 1)
    return R(p[0]);
  else if constexpr (std::same_as<R, Dual<double>>)
    return {p[0], p[1]};
  else if constexpr (std::same_as<R, Jet2<double>>)
    return {p[0], p[1], p[2]};
  else if constexpr (parts<R> == 3)
    return {p[0], simd::Two(p[1], p[2])};
  else
    return {p[0], simd::Two(p[1], p[2]), simd::Two(p[3], p[4])};
}

/// The same in forward mode. Where values and derivatives are doubles, they are put into arrays of their own
/// first, for products many numbers at a time.
template <class R, class Beta, class Alpha>
class ForwardPredictor {
 public:
  static constexpr bool moves = true;

  ForwardPredictor(const DataMatrix& x, const Beta& beta, const Alpha& alpha)
      : x_(&x), beta_(beta), alpha_(alpha) {
    if constexpr (parts<R> != 0) {
      const std::size_t columns = x.columns();
      std::vector<double>& numbers = memory();
      if (numbers.size() < parts<R> * columns) numbers.resize(parts<R> * columns);
      for (std::size_t j = 0; j < columns; ++j) {
        const auto split_up = split<R>(R(beta.number(j)));
        for (std::size_t p = 0; p < parts<R>; ++p) {
          numbers[p * columns + j] = split_up[p];
          used_[p] = used_[p] || split_up[p] != 0;
        }
      }
    }
  }
  [[gnu::noinline]] R number(std::size_t i) const {
    const std::span<const double> row = x_->row(i);
    if constexpr (parts<R> != 0) {
      std::array<double, parts<R>> sums{};
      for (std::size_t p = 0; p < parts<R>; ++p)
        if (used_[p]) sums[p] = simd::dot(row, {memory().data() + p * row.size(), row.size()});
      return R(alpha_.number(i) + joined<R>(sums));
    } else {
      return R(alpha_.number(i) +
               in_eights<R>(
                   row.size(), [](auto& s, const auto& x, const auto& b) { s = plus_product(s, x, b); },
                   FixedArray{row.data()}, beta_));
    }
  }
  auto value(std::size_t i) const { return number(i).value; }

 private:
  static std::vector<double>& memory() {
    static thread_local std::vector<double> numbers;
    return numbers;
  }
  const DataMatrix* x_;
  Beta beta_;
  Alpha alpha_;
  std::array<bool, parts<R> == 0 ? 1 : parts<R>> used_{};
};

/// alpha + X * beta, not computed yet: a vector for the functions of vectors, which know how to save work.
template <class Beta, class Alpha>
class LinearPredictor {
 public:
  LinearPredictor(const DataMatrix& x, const Beta& beta, const Alpha& alpha)
      : x_(&x), beta_(kept(beta)), alpha_(alpha) {
    if (size_of(beta) != x.columns())
      throw UsageError("X * beta: X has " + std::to_string(x.columns()) + " columns, and beta " +
                       std::to_string(size_of(beta)) + " entries");
  }
  std::size_t size() const { return x_->rows(); }
  /// One of them, by itself.
  NumberOf<Beta, Alpha> operator[](std::size_t i) const { return alpha_ + dot(x_->row(i), beta()); }

  template <SomeNumber C>
  friend auto operator+(const C& c, const LinearPredictor& x) {
    return LinearPredictor<Beta, std::remove_cvref_t<decltype(c + x.alpha_)>>(*x.x_, x.beta(), c + x.alpha_);
  }
  template <SomeNumber C>
  friend auto operator+(const LinearPredictor& x, const C& c) {
    return c + x;
  }

  template <class R, std::size_t argument>
  auto source_for(std::size_t) const {
    const auto coefficients = source<R, argument + 3>(beta(), x_->columns());
    const auto intercept = source<R, argument>(alpha_, 0);
    using B = std::remove_const_t<decltype(coefficients)>;
    using A = std::remove_const_t<decltype(intercept)>;
    if constexpr (is_reverse<R>)
      return TapePredictor<scalar_t<R>, B, A>(*x_, coefficients, intercept, argument);
    else
      return ForwardPredictor<R, B, A>(*x_, coefficients, intercept);
  }

 private:
  // Views are kept themselves: X * t.subspan(1) may outlive what subspan() gave.
  static constexpr bool is_view = std::is_trivially_copyable_v<Beta>;
  using Kept = std::conditional_t<is_view, Beta, const Beta*>;
  static Kept kept(const Beta& beta) {
    if constexpr (is_view)
      return beta;
    else
      return &beta;
  }
  const Beta& beta() const {
    if constexpr (is_view)
      return beta_;
    else
      return *beta_;
  }
  const DataMatrix* x_;
  Kept beta_;
  Alpha alpha_;
};

}  // namespace ad

/// The predictors x_i·beta of all rows, and alpha + X * beta with an intercept. X and beta must outlive them.
template <ad::NumberVector Beta>
ad::LinearPredictor<Beta, double> operator*(const DataMatrix& x, const Beta& beta) {
  return {x, beta, 0.0};
}

}  // namespace onward
