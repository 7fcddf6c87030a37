#pragma once
// What is observed and how it depends on the linear predictor: the families, their data (checked once, row by
// row) and the sums over rows that a line needs.
//
// Along a line the predictor is eta + alpha d, both cached as floats. Sums go over pieces of a fixed number
// of rows: at most 8 terms a lane are added in float, everything above in double, the pieces by a fixed tree.
// So the bits depend neither on threads nor on the width of a register. Rows are computed in float; where
// counts, trials or weights are so large that float rounding could move the log likelihood by more than about
// 1e-3, in double (arithmetic() tells).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <xsimd/xsimd.hpp>

#include "onward/target/jet.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward::glm {

/// Floats that start at a cache line, as registers like them.
using Floats = std::vector<float, xsimd::aligned_allocator<float, 64>>;
using Bytes = std::vector<std::uint8_t, xsimd::aligned_allocator<std::uint8_t, 64>>;

/// Rows in a block of the design, and what row arrays are padded to.
inline constexpr std::size_t block_rows = 64;
/// Rows in a piece: the unit of work that threads share. Fixed, since it decides the order of sums.
inline constexpr std::size_t piece_rows = 4096;

constexpr std::size_t padded_rows(std::size_t rows) {
  return (rows + block_rows - 1) / block_rows * block_rows;
}
constexpr std::size_t pieces_of(std::size_t rows) { return (rows + piece_rows - 1) / piece_rows; }

enum class Family {
  gaussian,           ///< y ~ N(eta, sigma)
  bernoulli,          ///< y is 1 with log odds eta
  probit,             ///< y is 1 with probability Phi(eta)
  cloglog,            ///< y is 1 with probability 1 - exp(-e^eta)
  binomial,           ///< y of `trials`, log odds eta
  categorical,        ///< y is a class 0..K-1, softmax of K predictors
  poisson,            ///< counts of log mean eta
  negative_binomial,  ///< counts of log mean eta and variance mu + mu^2 / phi
  gamma,              ///< y > 0 of log mean eta and variance mu^2 / shape
};

std::string_view to_string(Family family);
/// Throws UsageError for an unknown name.
Family parse_family(std::string_view name);
std::vector<std::string> family_names();

/// The number that some families have besides the predictor is called their scale here: what it is called
/// where it is reported, or nothing if the family has none.
std::string_view scale_name(Family family);
inline bool has_scale(Family family) { return !scale_name(family).empty(); }

/// Whether rows are computed in float or double.
enum class Arithmetic { in_float, in_double };

/// Sums over rows of the log likelihood at eta + alpha d; slope and curvature along d, and along another
/// direction at the same place.
struct LineSums {
  double value = 0, slope = 0, curvature = 0, next_slope = 0, next_curvature = 0;
  LineSums& operator+=(const LineSums& other) {
    value += other.value;
    slope += other.slope;
    curvature += other.curvature;
    next_slope += other.next_slope;
    next_curvature += other.next_curvature;
    return *this;
  }
};

/// A place on a line through the rows. Arrays hold padded_rows(n) floats, 64-byte aligned.
struct RowLine {
  const float* eta;
  const float* d = nullptr;     ///< direction; null: stay at eta
  float alpha = 0;              ///< how far along d
  const float* next = nullptr;  ///< another direction to take slope and curvature along, at the same place
  float* moved = nullptr;       ///< where eta + alpha d goes, if wanted; may be eta
  double scale = 1;             ///< sigma, phi or shape: the scale of the family
  std::size_t stride = piece_rows;  ///< from a piece of d (and next) to the following one
};

/// A line whose arrays are made piece by piece, so that they need not be in memory all at once: sets those of
/// rows begin to end in `line`, where row `begin` comes first. Several threads ask at a time.
using LinePieces = std::function<void(std::size_t begin, std::size_t end, RowLine& line)>;

/// What the rows come with besides y; empty vectors mean none.
struct RowOptions {
  std::vector<double> weights = {};  ///< >= 0: the row counts so many times
  std::vector<double> trials = {};   ///< binomial only
  std::vector<double> offset = {};   ///< added to the predictor
  std::size_t classes = 0;           ///< categorical only: 0 means one more than the largest y
  /// What messages call a row (counted from 0); without it "row 1" and so on.
  std::function<std::string(std::size_t row)> place = {};
};

/// The observed rows of one family. Immutable, shared by chains.
class Observations {
 public:
  /// Checks every row; an Error names the first offending one.
  Observations(Family family, std::span<const double> y, const RowOptions& options = {});

  Family family() const { return family_; }
  std::size_t rows() const { return rows_; }
  std::size_t classes() const { return classes_; }  ///< 1 unless categorical
  Arithmetic arithmetic() const { return arithmetic_; }
  bool has_scale() const { return glm::has_scale(family_); }
  double total_weight() const { return total_weight_; }
  double weight(std::size_t row) const { return weights_.empty() ? 1.0 : weights_[row]; }
  double y(std::size_t row) const { return y_.empty() ? static_cast<double>(first_[row]) + 0.5 : y_[row]; }
  double trials(std::size_t row) const { return trials_.empty() ? 1.0 : trials_[row]; }
  const float* labels() const { return y_.data(); }  ///< categorical alone
  /// Added to the predictor; empty if there is none.
  const Floats& offset() const { return offset_; }
  /// Weights of the rows; empty if all are 1.
  const Floats& weights() const { return weights_; }

  /// The part of the log likelihood that does not depend on the predictor.
  double constant(double scale) const;
  /// The sums at a place on a line, without constant(). Not for categorical.
  LineSums sums(const RowLine& line, ThreadPool& pool) const;
  LineSums sums(const LinePieces& pieces, double scale, ThreadPool& pool) const;
  /// Per row: the derivative by eta to `slope` and minus the second one to `weight` (either may be null);
  /// returns the sum of values, without constant(). Not for categorical.
  double row_slopes(const float* eta, double scale, float* slope, float* weight, ThreadPool& pool) const;
  /// The same of rows begin to end (begin a multiple of block_rows), which come first in the arrays.
  double row_slopes(std::size_t begin, std::size_t end, const float* eta, double scale, float* slope,
                    float* weight) const;

  /// Of rows begin to end (begin a multiple of block_rows), whose predictors are at eta[0] and on: value,
  /// derivative by eta and minus the second one, one for each row, without constant(). Not for categorical.
  void jets(std::size_t begin, std::size_t end, const float* eta, double scale, float* value, float* slope,
            float* weight) const;

  /// The sum of values alone of such rows.
  double value(std::size_t begin, std::size_t end, const float* eta, double scale) const;

  /// True if the scale only multiplies the rows, so that their sum at scale 1 says all of it: gaussian rows
  /// by 1 / sigma^2, gamma ones by the shape.
  bool scale_is_factor() const { return family_ == Family::gaussian || family_ == Family::gamma; }
  /// What the rows' sum at some scale would be at scale 1, for such families.
  double sum_at_unit_scale(double sum, double scale) const {
    return family_ == Family::gaussian ? sum * scale * scale : sum / scale;
  }
  /// Value and derivatives by the log of the scale of the whole log likelihood, constant() included. With a
  /// direction d of the predictor, *mixed gets the second derivative by the log scale and along d.
  Jet scale_jet(const float* eta, double log_scale, ThreadPool& pool, const float* d = nullptr,
                double* mixed = nullptr) const;
  /// The same for families whose scale is a factor, from the rows' sum at scale 1.
  Jet scale_jet(double unit_sum, double log_scale) const;

  /// The observations of one class against all others (categorical): y is 1 where the label is k.
  Observations one_against_rest(std::size_t k) const;

 private:
  Observations() = default;
  void check_y(std::span<const double> y, const RowOptions& options);
  void prepare_rows();
  Jet rising(double phi) const;
  double row_factor(double scale) const;
  struct ScaleSums;
  template <class Row>
  ScaleSums scale_sums(ThreadPool& pool, const Row& row) const;
  ScaleSums dispersion_sums(const float* eta, double log_phi, ThreadPool& pool, const float* d) const;
  template <class Use>
  auto with_rows(double scale, const Use& use) const;
  template <class LineOf>
  LineSums sums_of(const LineOf& line_of, double scale, ThreadPool& pool) const;
  static constexpr std::size_t most_steps = 65536;  // of a rising factorial, taken one by one

  Family family_ = Family::gaussian;
  std::size_t rows_ = 0, classes_ = 1;
  Arithmetic arithmetic_ = Arithmetic::in_float;
  Floats y_, weights_, trials_, offset_;  // y_ is empty where first_ says as much: bernoulli, no weights
  // What the row functions read, by family: y - n/2 and n; y, m and log m; 2 y - 1; log y.
  Floats first_, second_, third_;
  double total_weight_ = 0, constant_ = 0;
  // Negative binomial: the weight of rows with y > k, by k, and the counts too large for that.
  std::vector<double> tail_weights_;
  std::vector<std::pair<double, double>> large_counts_;
};

/// The log likelihood as a function of the log scale alone, at a predictor that stays as it is.
class ScaleJets {
 public:
  ScaleJets(const Observations& y, const float* eta, ThreadPool& pool) : y_(y), eta_(eta), pool_(pool) {
    if (y.scale_is_factor()) unit_sum_ = y.sums({.eta = eta}, pool).value;
  }
  /// With the rows' sum at scale 1, for families whose scale is a factor; for others it counts for nothing.
  ScaleJets(const Observations& y, const float* eta, ThreadPool& pool, double unit_sum)
      : y_(y), eta_(eta), pool_(pool), unit_sum_(unit_sum) {}
  Jet operator()(double log_scale) const {
    return y_.scale_is_factor() ? y_.scale_jet(unit_sum_, log_scale) : y_.scale_jet(eta_, log_scale, pool_);
  }

 private:
  const Observations& y_;
  const float* eta_;
  ThreadPool& pool_;
  double unit_sum_ = 0;
};

}  // namespace onward::glm
