// Products of whole matrices with a design, made piece by piece from panels of its columns: X^T W X, and the
// columns that a matrix makes of it.

#include "onward/glm/design.hpp"
#include "onward/util/release.hpp"

#include <algorithm>
#include <utility>

namespace onward::glm {
namespace {

/// Up to here products of whole panels are in double; beyond, where they would take long, in float. They
/// serve whitening and Newton's method alone, which need not be exact.
constexpr std::size_t double_columns = 256;

}  // namespace

Eigen::MatrixXd Design::gram(const float* weights, ThreadPool& pool) const {
  if (!weights) return gram(PieceSource(), pool);
  return gram(
      [&](std::size_t piece, std::span<float> out) {
        std::copy_n(weights + piece * piece_rows, out.size(), out.begin());
      },
      pool);
}

Eigen::MatrixXd Design::gram(const PieceSource& weights, ThreadPool& pool) const {
  const auto width = static_cast<Eigen::Index>(columns());
  const std::size_t pieces = pieces_of(rows_);
  const std::size_t groups =
      std::min<std::size_t>(pieces, columns() > 1000 ? 2 : 8);  // fixed: they decide the order
  std::vector<Eigen::MatrixXd> sums(groups, Eigen::MatrixXd::Zero(width, width));
  pool.for_each(groups, [&](std::size_t g) {
    Floats values(columns() * piece_rows), of_rows(piece_rows);
    for (std::size_t p = g; p < pieces; p += groups) {
      panel(p, values.data());
      const std::size_t count = piece_size(p);
      if (weights) weights(p, std::span(of_rows).first(count));
      using Matrix = Eigen::Map<const Eigen::MatrixXf, Eigen::Unaligned, Eigen::OuterStride<>>;
      const Matrix x(values.data(), static_cast<Eigen::Index>(count), width,
                     Eigen::OuterStride<>(static_cast<Eigen::Index>(piece_rows)));
      const auto accumulate = [&](auto scaled) {
        using Scaled = decltype(scaled);
        if (weights) {
          const Eigen::Map<const Eigen::VectorXf> w(of_rows.data(), static_cast<Eigen::Index>(count));
          scaled = w.cast<typename Scaled::Scalar>().cwiseMax(0).cwiseSqrt().asDiagonal() * scaled;
        }
        Scaled product = Scaled::Zero(width, width);
        product.template selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
        sums[g] += product.template cast<double>();
      };
      if (columns() <= double_columns)
        accumulate(Eigen::MatrixXd(x.cast<double>()));
      else
        accumulate(Eigen::MatrixXf(x));
    }
  });
  Eigen::MatrixXd total = tree_sum<Eigen::MatrixXd>(sums);
  total.triangularView<Eigen::StrictlyUpper>() = total.transpose();
  return total;
}

PanelColumns::PanelColumns(const Design& x, const Eigen::MatrixXd& matrix, ThreadPool& pool)
    : rows_(x.rows()), columns_(x.columns()), values_(pieces_of(x.rows()) * x.columns() * piece_rows) {
  fill(x, matrix, pool);
}

PanelColumns::PanelColumns(Design&& x, const Eigen::MatrixXd& matrix, ThreadPool& pool)
    : rows_(x.rows()), columns_(x.columns()) {
  const std::size_t size = pieces_of(rows_) * columns_ * piece_rows;
  // A piece of blocks and a piece of columns take the same memory.
  if (x.storage() != Storage::floats || x.intercept_) {
    values_.resize(size);
    fill(x, matrix, pool);
    release(x.floats_);
    release(x.bytes_);
    return;
  }
  x.floats_.resize(size, 0.0f);
  fill(x, matrix, pool);  // reads and writes x.floats_ piece by piece
  values_ = std::move(x.floats_);
}

void PanelColumns::fill(const Design& x, const Eigen::MatrixXd& matrix, ThreadPool& pool) {
  const auto width = static_cast<Eigen::Index>(columns_);
  const auto height = static_cast<Eigen::Index>(piece_rows);
  // The design itself, when its memory is to be used; safe, as each piece is copied out before it is written.
  float* to = values_.empty() ? const_cast<float*>(x.floats_.data()) : values_.data();
  const Eigen::MatrixXf matrix_float = matrix.cast<float>();
  pool.for_each(pieces_of(rows_), [&](std::size_t p) {
    Floats values(columns_ * piece_rows);
    x.panel(p, values.data());
    const Eigen::Map<const Eigen::MatrixXf> in(values.data(), height, width);
    Eigen::Map<Eigen::MatrixXf> out(to + p * stride(), height, width);
    if (columns_ <= double_columns)
      out = (in.cast<double>() * matrix.triangularView<Eigen::Upper>()).cast<float>();
    else
      out.noalias() = in * matrix_float.triangularView<Eigen::Upper>();
  });
}

void PanelColumns::multiply(std::span<const double> v, const float* base, float* out,
                            ThreadPool& pool) const {
  pool.for_each(pieces_of(rows_), [&](std::size_t p) {
    const std::size_t begin = p * piece_rows, end = std::min(begin + piece_rows, padded_rows(rows_));
    std::vector<double> sums(piece_rows, 0.0);
    for (std::size_t j = 0; j < columns_; ++j) {
      const float* x = column(j) + p * stride();
      for (std::size_t i = 0; i < piece_rows; ++i) sums[i] += v[j] * static_cast<double>(x[i]);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const double start = base ? static_cast<double>(base[i]) : 0.0;
      out[i] = i < rows_ ? static_cast<float>(start + sums[i - begin]) : 0.0f;
    }
  });
}

}  // namespace onward::glm
