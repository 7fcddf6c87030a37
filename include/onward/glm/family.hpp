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

#include "onward/glm/family_numbers.hpp"
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
  gaussian,               ///< y ~ N(eta, sigma)
  bernoulli,              ///< y is 1 with log odds eta
  probit,                 ///< y is 1 with probability Phi(eta)
  cloglog,                ///< y is 1 with probability 1 - exp(-e^eta)
  binomial,               ///< y of `trials`, log odds eta
  categorical,            ///< y is a class 0..K-1, softmax of K predictors
  poisson,                ///< counts of log mean eta
  negative_binomial,      ///< counts of log mean eta and variance mu + mu^2 / phi
  gamma,                  ///< y > 0 of log mean eta and variance mu^2 / shape
  student_t,              ///< y = eta + sigma t, t of nu degrees of freedom
  ordinal,                ///< y is one of the ordered classes 1..K, P(y <= k) = logistic(threshold k - eta)
  zero_inflated_poisson,  ///< 0 with probability zi, else a count of log mean eta
};

std::string_view to_string(Family family);
/// Throws UsageError for an unknown name.
Family parse_family(std::string_view name);
std::vector<std::string> family_names();

/// The numbers that the family has besides the predictor; none for most. An ordinal one of K `categories` has
/// the K - 2 gaps between its thresholds: the first is 0, since the intercept moves all of them.
std::vector<NumberInfo> family_numbers(Family family, std::size_t categories = 2);

/// The curvature of a row's log likelihood by its predictor, or a negative one in its place where that may be
/// positive: such as proposals are made of. Any function of the place will do for them.
enum class Curvature { exact, touching };

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
  std::span<const double> numbers = {};  ///< of the family; none: 1 where they are a factor
  Curvature curvature = Curvature::exact;
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
  std::size_t classes = 0;  ///< categorical and ordinal only: 0 means as many as the largest y calls for
  /// What messages call a row (counted from 0); without it "row 1" and so on.
  std::function<std::string(std::size_t row)> place = {};
};

struct NumberSums;

/// The observed rows of one family. Immutable, shared by chains.
class Observations {
 public:
  /// Checks every row; an Error names the first offending one.
  Observations(Family family, std::span<const double> y, const RowOptions& options = {});

  Family family() const { return family_; }
  std::size_t rows() const { return rows_; }
  std::size_t classes() const { return classes_; }        ///< 1 unless categorical
  std::size_t categories() const { return categories_; }  ///< of an ordinal y; 2 for other families
  Arithmetic arithmetic() const { return arithmetic_; }
  /// The numbers that the family has besides the predictor.
  const std::vector<NumberInfo>& numbers() const { return numbers_; }
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
  double constant(std::span<const double> numbers = {}) const;
  /// The sums at a place on a line, without constant(). Not for categorical.
  LineSums sums(const RowLine& line, ThreadPool& pool) const;
  LineSums sums(const LinePieces& pieces, std::span<const double> numbers, ThreadPool& pool) const;
  /// Per row: the derivative by eta to `slope` and minus the second one, or what touches, to `weight` (either
  /// may be null); returns the sum of values, without constant(). Not for categorical.
  double row_slopes(const float* eta, std::span<const double> numbers, float* slope, float* weight,
                    ThreadPool& pool, Curvature curvature = Curvature::touching) const;
  /// The same of rows begin to end (begin a multiple of block_rows), which come first in the arrays.
  double row_slopes(std::size_t begin, std::size_t end, const float* eta, std::span<const double> numbers,
                    float* slope, float* weight, Curvature curvature = Curvature::touching) const;

  /// Of rows begin to end (begin a multiple of block_rows), whose predictors are at eta[0] and on: value,
  /// derivative by eta and minus the curvature that touches, one for each row, without constant(). Not for
  /// categorical.
  void jets(std::size_t begin, std::size_t end, const float* eta, std::span<const double> numbers,
            float* value, float* slope, float* weight) const;

  /// The sum of values alone of such rows.
  double value(std::size_t begin, std::size_t end, const float* eta, std::span<const double> numbers) const;

  /// True if the family has one number, its scale, which only multiplies the rows, so that their sum at scale
  /// 1 says all of it: gaussian rows by 1 / sigma^2, gamma ones by the shape.
  bool scale_is_factor() const { return family_ == Family::gaussian || family_ == Family::gamma; }
  /// What the rows' sum at some scale would be at scale 1, for such families; for others it counts for
  /// nothing.
  double sum_at_unit_scale(double sum, std::span<const double> numbers) const {
    if (!scale_is_factor()) return sum;
    return family_ == Family::gaussian ? sum * numbers[0] * numbers[0] : sum / numbers[0];
  }
  /// Value and derivatives of the whole log likelihood, constant() included, as the logs of the numbers move
  /// along `turns`. With a direction d of the predictor, *mixed gets the second derivative along both.
  Jet number_jet(const float* eta, const FamilyNumbers& numbers, std::span<const double> turns,
                 ThreadPool& pool, const float* d = nullptr, double* mixed = nullptr) const;
  /// The second derivative by each row's predictor and along `turns`, to `out`. For families whose numbers
  /// are neither a scale nor a dispersion.
  void mixed_rows(const float* eta, const FamilyNumbers& numbers, std::span<const double> turns, float* out,
                  ThreadPool& pool) const;
  /// True for those.
  bool has_shape_numbers() const {
    return family_ == Family::student_t || family_ == Family::ordinal ||
           family_ == Family::zero_inflated_poisson;
  }
  /// The same by the log of the only number, of families that have one.
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
  double row_factor(std::span<const double> numbers) const;
  NumberSums dispersion_sums(const float* eta, double log_phi, ThreadPool& pool, const float* d) const;
  Jet shape_jet(const float* eta, const FamilyNumbers& numbers, std::span<const double> turns,
                ThreadPool& pool, const float* d, double* mixed) const;
  template <class Use>
  auto with_rows(std::span<const double> numbers, Curvature curvature, const Use& use) const;
  template <class Use>
  auto with_turns(const FamilyNumbers& numbers, std::span<const double> turns, const Use& use) const;
  Jet constant_jet(const FamilyNumbers& numbers, std::span<const double> turns) const;
  template <class LineOf>
  LineSums sums_of(const LineOf& line_of, std::span<const double> numbers, Curvature curvature,
                   ThreadPool& pool) const;
  static constexpr std::size_t most_steps = 65536;  // of a rising factorial, taken one by one

  Family family_ = Family::gaussian;
  std::size_t rows_ = 0, classes_ = 1, categories_ = 2;
  std::vector<NumberInfo> numbers_;
  Arithmetic arithmetic_ = Arithmetic::in_float;
  Floats y_, weights_, trials_, offset_;  // y_ is empty where first_ says as much: bernoulli, no weights
  // What the row functions read, by family: y - n/2 and n; y, m and log m; 2 y - 1; log y.
  Floats first_, second_, third_;
  Bytes codes_;                        // ordinal: the class, from 0
  std::vector<double> class_weights_;  // ordinal: of the rows of each class
  double total_weight_ = 0, constant_ = 0;
  // Negative binomial: the weight of rows with y > k, by k, and the counts too large for that.
  std::vector<double> tail_weights_;
  std::vector<std::pair<double, double>> large_counts_;
};

/// The log likelihood as a function of the log of one number alone, at a predictor that stays as it is.
class NumberJets {
 public:
  NumberJets(const Observations& y, const float* eta, ThreadPool& pool, const FamilyNumbers& numbers,
             std::size_t which)
      : NumberJets(y, eta, pool, numbers, which,
                   y.scale_is_factor() ? y.sums({.eta = eta}, pool).value : 0.0) {}
  /// With the rows' sum at scale 1, for families whose scale is a factor; for others it counts for nothing.
  NumberJets(const Observations& y, const float* eta, ThreadPool& pool, const FamilyNumbers& numbers,
             std::size_t which, double unit_sum)
      : y_(y),
        eta_(eta),
        pool_(pool),
        numbers_(numbers),
        turns_(numbers.size(), 0.0),
        which_(which),
        unit_sum_(unit_sum) {
    turns_[which] = 1;
  }
  Jet operator()(double log) const {
    if (y_.scale_is_factor()) return y_.scale_jet(unit_sum_, log);
    FamilyNumbers there = numbers_;
    there.set_log(which_, log);
    return y_.number_jet(eta_, there, turns_, pool_);
  }

 private:
  const Observations& y_;
  const float* eta_;
  ThreadPool& pool_;
  FamilyNumbers numbers_;
  std::vector<double> turns_;
  std::size_t which_;
  double unit_sum_ = 0;
};

}  // namespace onward::glm
