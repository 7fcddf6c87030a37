#pragma once
// The matrix of predictors in the storage that suits it, never copied to double: floats, bytes with one scale
// and shift (images), or the nonzeros of sparse columns. Dense rows lie in blocks of 64, transposed, so that
// a register holds one column of 16 rows and products need no shuffles; blocks of bytes that are all zero are
// skipped.
//
// Results are floats, one for each row; sums over rows are double, taken over pieces of fixed size and added
// by a fixed tree, so that the number of threads does not show.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "onward/glm/family.hpp"
#include "onward/glm/spread.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward::glm {

enum class Storage { floats, bytes, sparse };

/// A sparse matrix by columns: the nonzeros of column j are those from starts[j] to starts[j + 1].
struct SparseColumns {
  std::vector<std::size_t> starts;
  std::vector<std::uint32_t> rows;
  std::vector<float> values;
};

class Design {
 public:
  /// Writes row i (counted from 0) into the span, a number for each column.
  using RowSource = std::function<void(std::size_t i, std::span<double> row)>;
  /// Rows as a source gives them, so that they need not be in memory all at once. Throws Error naming a
  /// column that lies so far from 0, beside its spread, that floats would keep little of it. `names`: what
  /// errors call the columns; empty, or one for each.
  static Design from_rows(std::size_t rows, std::size_t columns, bool intercept, const RowSource& source,
                          std::span<const std::string> names = {});
  /// Writes column j from row `first` on, as many rows as the span has room for.
  using ColumnSource = std::function<void(std::size_t j, std::size_t first, std::span<double> out)>;
  /// The same by columns; several threads ask for different columns at a time. The ones of an intercept are
  /// stored like any column, so that the memory can be used for transformed columns, unless `store_ones` is
  /// false.
  static Design from_columns(std::size_t rows, std::size_t columns, bool intercept,
                             const ColumnSource& source, std::span<const std::string> names, ThreadPool& pool,
                             bool store_ones = true);
  /// Rows one after the other. With an intercept, a column of ones comes before the first. Throws Error
  /// naming the first row and column that is not finite.
  static Design dense(std::span<const float> values, std::size_t rows, std::size_t columns, bool intercept);
  static Design dense(std::span<const double> values, std::size_t rows, std::size_t columns, bool intercept);
  /// x = scale * byte + shift.
  static Design bytes(std::span<const std::uint8_t> values, std::size_t rows, std::size_t columns,
                      float scale, float shift, bool intercept);
  static Design sparse(const SparseColumns& columns, std::size_t rows, bool intercept);

  std::size_t rows() const { return rows_; }
  /// The column of ones included.
  std::size_t columns() const { return columns_ + (intercept_ ? 1 : 0); }
  bool has_intercept() const { return ones_; }
  Storage storage() const { return storage_; }
  std::size_t memory() const;  ///< bytes held
  /// Of every column, the rows counted `weights` times (empty: once).
  std::vector<Spread> spreads(std::span<const float> weights, ThreadPool& pool) const;
  /// Subtracts from every column its entry of `from_columns` (the column of ones keeps its place in it, and
  /// its ones). Floats are changed; bytes and nonzeros stay as they are, and products make up for it.
  void subtract(const std::vector<double>& from_columns, ThreadPool& pool);

  /// out[k][i] = sum_j X[i][j] v[k][j] for each of the classes k: v holds columns() numbers for each class,
  /// out padded_rows(rows()) for each (padding is set to 0).
  void multiply(std::span<const double> v, std::size_t classes, float* out, ThreadPool& pool) const;
  void multiply(std::span<const double> v, float* out, ThreadPool& pool) const { multiply(v, 1, out, pool); }
  /// A vector as products with it piece by piece take it.
  struct Factors {
    std::size_t classes = 1;
    std::vector<float> factors, constants;  ///< [column][class], and one for each class
  };
  Factors factors(std::span<const double> v, std::size_t classes = 1) const;
  /// The same product for one piece, which comes first in `out`; classes are `stride` apart.
  void multiply(const Factors& v, std::size_t piece, float* out, std::size_t stride = piece_rows) const;
  /// out[k][j] = sum_i X[i][j] r[k][i]; the layouts are those of multiply, and r is 0 in the padding.
  void multiply_transposed(const float* r, std::size_t classes, std::span<double> out,
                           ThreadPool& pool) const;
  /// Writes the numbers of a piece's rows, which begin at a cache line; there is room for whole blocks.
  /// Several threads ask for different pieces at a time.
  using PieceSource = std::function<void(std::size_t piece, std::span<float> out)>;
  /// The same for one class, r being made piece by piece.
  void multiply_transposed(const PieceSource& r, std::span<double> out, ThreadPool& pool) const;
  /// Column j (0: the ones, if there is an intercept), padding 0.
  void column(std::size_t j, float* out) const;
  /// out = sum over j in [first, first + v.size()) of X[.][j] v[j - first].
  void multiply_block(std::size_t first, std::span<const double> v, float* out, ThreadPool& pool) const;
  /// X^T W X; weights null: ones.
  Eigen::MatrixXd gram(const float* weights, ThreadPool& pool) const;
  Eigen::MatrixXd gram(const PieceSource& weights, ThreadPool& pool) const;
  /// The rows of a piece as columns of piece_rows floats each, rows that do not exist 0.
  void panel(std::size_t piece, float* out) const;

 private:
  friend class PanelColumns;
  Design(Storage storage, std::size_t rows, std::size_t columns, bool intercept)
      : storage_(storage), rows_(rows), columns_(columns), ones_(intercept), intercept_(intercept) {}
  void list_nonzero();
  void copy_stored(std::size_t piece, std::size_t j, float* out) const;
  std::size_t blocks() const { return padded_rows(rows_) / block_rows; }
  /// Blocks that are multiplied together with residuals, which then stay in the nearest cache.
  static constexpr std::size_t group_blocks = 16;
  /// out[k][j] = the sum over a piece of X[i][j] r[k][i], r beginning with the piece and 0 in the padding.
  void multiply_transposed_piece(std::size_t piece, const float* r, std::size_t classes, std::size_t stride,
                                 std::span<double> out) const;
  std::size_t piece_size(std::size_t piece) const { return std::min(piece_rows, rows_ - piece * piece_rows); }

  Storage storage_;
  std::size_t rows_, columns_;
  bool ones_;       // the first column is an intercept
  bool intercept_;  // and it is not stored
  float scale_ = 1, shift_ = 0;
  std::vector<double> subtracted_;  // from each column that is stored as bytes or nonzeros; empty: nothing
  Floats floats_;                   // [block][column][row in block]
  Bytes bytes_;                     // the same
  // Columns of each block of bytes that are not all 0, and the same as bits for groups of blocks.
  std::vector<std::uint32_t> nonzero_;
  std::vector<std::size_t> nonzero_starts_;
  std::vector<std::uint16_t> group_nonzero_;  // [group][column]
  // [piece][column]: where the nonzeros begin; rows are counted from the piece's first.
  std::vector<std::size_t> starts_;
  std::vector<std::uint16_t> sparse_rows_;
  std::vector<float> sparse_values_;
};

/// Columns of floats in pieces: [piece][column][row in piece]. A column is what an axis line moves along.
class PanelColumns {
 public:
  /// X times the (upper triangular) matrix, column for column.
  PanelColumns(const Design& x, const Eigen::MatrixXd& matrix, ThreadPool& pool);
  /// The same in the memory of a design of floats, which is used up.
  PanelColumns(Design&& x, const Eigen::MatrixXd& matrix, ThreadPool& pool);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t memory() const { return values_.size() * sizeof(float); }
  /// Where column j begins; the rows of piece p are at column(j) + p * stride().
  const float* column(std::size_t j) const { return values_.data() + j * piece_rows; }
  std::size_t stride() const { return columns_ * piece_rows; }
  /// out[i] = base[i] + sum_j column_j[i] v[j], in double before it is rounded; base may be null.
  void multiply(std::span<const double> v, const float* base, float* out, ThreadPool& pool) const;

 private:
  void fill(const Design& x, const Eigen::MatrixXd& matrix, ThreadPool& pool);
  std::size_t rows_, columns_;
  Floats values_;
};

}  // namespace onward::glm
