#pragma once
// The posterior of a regression: observations, design and priors put together. As a target it knows its
// lines: along theta + alpha v the predictor is eta + alpha d, so jets at many places of one line, or along
// many lines from one place, share their products with X.
//
// Parameters: the coefficients (column after column; categorical: class after class), then the logs of the
// family's numbers (family_numbers.hpp) that are sampled, such as log sigma. Columns are centred where there
// is an intercept, so that what is sampled, and has the intercept's prior, is the predictor at the means of
// the columns; constrain() gives the intercept for the columns as they were given. A prior at x = 0 would say
// something about years or incomes of 0, far from all data, and by way of the slopes something silly about
// the data.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onward/glm/default_priors.hpp"
#include "onward/glm/design.hpp"
#include "onward/glm/family.hpp"
#include "onward/glm/prior.hpp"
#include "onward/target/direction.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/parameter_block.hpp"

namespace onward::glm {

/// Priors that are not given are those of DefaultPriors, in the units of the data.
struct PosteriorOptions {
  std::optional<Prior> coefficients = {};  ///< of each, as it is: not divided by anything
  /// At the means of the columns, unless `centre` is false; ordinal: of the first threshold.
  std::optional<Prior> intercept = {};
  std::vector<Prior> each = {};             ///< one for each column, in place of the two above
  std::map<std::string, Prior> named = {};  ///< of columns by name, in place of `coefficients`
  std::optional<Prior> scale = {};          ///< of the family's first number, such as sigma; of all gaps
  std::optional<double> known_scale = {};   ///< that number, if it is not to be sampled
  std::optional<Prior> degrees = {};        ///< of the degrees of freedom nu of student-t
  std::optional<double> known_degrees = {};
  /// False: the intercept that is sampled, and has the prior, is the predictor where all columns are 0.
  /// Without an intercept nothing is centred. Means are weighted as the rows are.
  bool centre = true;
  /// What the columns of X are called, the intercept left out; without them beta.1, beta.2, ...
  std::vector<std::string> column_names = {};
  std::string intercept_name = "intercept";
};

/// How the cached predictor fared: it is moved along lines, and computed afresh by refresh().
struct CacheReport {
  std::size_t products = 0;  ///< predictors computed afresh
  std::size_t moves = 0;     ///< predictors moved along a line
  double largest_drift = 0;  ///< the largest difference that refresh() found between the two
};

class RegressionPosterior {
 public:
  /// Throws Error where rows do not match or settings are out of range. A design of floats that is to be
  /// centred and that somebody else holds too is copied.
  RegressionPosterior(std::shared_ptr<const Design> x, std::shared_ptr<const Observations> y,
                      PosteriorOptions options = {}, std::shared_ptr<ThreadPool> pool = nullptr);

  std::size_t dimension() const { return coefficients() + sampled_numbers_.size(); }
  std::size_t coefficients() const { return x_->columns() * y_->classes(); }
  /// Which of the family's numbers are sampled; the others are known.
  const std::vector<std::size_t>& sampled_numbers() const { return sampled_numbers_; }
  bool samples_numbers() const { return !sampled_numbers_.empty(); }
  const Design& design() const { return *x_; }
  const Observations& observations() const { return *y_; }
  const std::vector<Prior>& priors() const { return priors_; }  ///< one for each column
  /// That of the intercept as it is said in words: of an ordinal regression it is of the first threshold.
  Prior intercept_prior() const;
  std::string intercept_words() const;
  /// Of what is reported of one of the family's numbers, and as a log density of the number's log.
  const Prior& number_prior(std::size_t number) const { return number_priors_[number]; }
  Jet number_prior_at(std::size_t number, double log) const {
    return y_->numbers()[number].prior_at(number_priors_[number], log);
  }
  /// All numbers of the family, given the logs of those that are sampled.
  FamilyNumbers numbers_at(VectorView logs) const;
  /// Before anything is sampled: 1 where nothing is known.
  FamilyNumbers starting_numbers() const;
  /// What was subtracted from each column (the ones: 0); empty if nothing was.
  const std::vector<double>& means() const { return means_; }
  const PosteriorOptions& options() const { return options_; }
  ThreadPool& pool() const { return *pool_; }
  void use_pool(std::shared_ptr<ThreadPool> pool) { pool_ = std::move(pool); }

  std::vector<std::string> names() const;
  /// How many of the numbers that each name ends in are indices: a column may be called edu.12 by itself.
  std::vector<std::size_t> name_indices() const;
  /// What is sampled of an ordinal regression, which is not called as what is reported; else empty.
  std::vector<ParameterBlock> blocks() const;
  /// What to call a column in a sentence: "the intercept", "column 2", "column 'age'".
  std::string column_name(std::size_t j) const;
  /// The same in two parts: coefficients, and what is reported of the family's numbers after them.
  std::vector<std::string> coefficient_names() const;
  std::size_t reported_coefficients() const { return coefficients() + thresholds_after_first(); }
  std::vector<std::string> number_names() const;
  std::size_t reported_numbers() const { return dimension() - reported_coefficients(); }
  /// The intercept is given for the columns as they were given, the family's numbers as they are reported,
  /// not as logarithms. `out` may be theta's own memory.
  void constrain(VectorView theta, std::span<double> out) const;
  /// The two parts of that, from the coefficients and the logs of the numbers that are sampled.
  void constrain_coefficients(VectorView coefficients, VectorView logs, std::span<double> out) const;
  void constrain_numbers(VectorView logs, std::span<double> out) const;
  /// From what is reported back to the coefficients, the intercept still for the columns as they were given,
  /// and to all numbers of the family.
  struct Reported {
    std::vector<double> coefficients, numbers;
  };
  Reported from_reported(std::span<const double> coefficients, std::span<const double> numbers) const;

  Jet jet(VectorView theta, VectorView v, Order order);
  /// Jets along two lines through theta.
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order);
  /// Rows give slopes along two lines for the price of one; with numbers of the family they are asked twice.
  double jet_pair_price(Order) const { return samples_numbers() ? 2 : 1; }
  double gradient(VectorView theta, std::span<double> out);

  /// A line through a place: jets anywhere on it need no product with X but that of its direction, which is
  /// of a block's columns alone if it is a block's. commit() moves the predictor along.
  class Line {
   public:
    Jet jet(double alpha, Order order) { return posterior_->jet_on_line(alpha, order); }
    JetPair jet_pair(double alpha, const Direction& next, Order order) {
      return posterior_->pair_on_line(alpha, next, order);
    }
    void commit(double alpha) { posterior_->commit(alpha); }

   private:
    friend class RegressionPosterior;
    explicit Line(RegressionPosterior& posterior) : posterior_(&posterior) {}
    RegressionPosterior* posterior_;
  };
  /// The line must not outlive other calls to this target. The direction must be in memory.
  Line line(VectorView theta, const Direction& v);
  /// The predictor is computed afresh, and what else is remembered is forgotten: rounding adds up from commit
  /// to commit.
  double refresh();

  /// The columns of X times an upper triangular matrix, in the memory of X if nobody else holds it: this
  /// target is then good for its settings only.
  PanelColumns give_design(const Eigen::MatrixXd& matrix, ThreadPool& pool);

  const CacheReport& cache() const { return report_; }

 private:
  struct Predictor {
    std::vector<double> at;  // theta, or a direction
    Support support;         // of a direction
    Floats values;           // X at, class after class
    bool known = false;
    bool moved = false;  // along lines since it was computed afresh
  };
  void check_names() const;
  void centre();
  void set_priors(const DefaultPriors& defaults);
  void set_numbers(const DefaultPriors& defaults);
  void place(VectorView theta);                      // here_ becomes the predictor at theta
  const Predictor& along(const Direction& v);        // X v, remembered for the last two v
  void afresh(const Direction& at, Predictor& out);  // X at
  void add_offset(Predictor& out) const;
  Jet rows_jet(const Predictor& d, VectorView v, double alpha, Order order);
  Jet prior_jet(VectorView theta, VectorView v, double alpha) const;
  Jet jet_on_line(double alpha, Order order);
  JetPair pair_on_line(double alpha, const Direction& next, Order order);
  JetPair pair_of_rows(const Predictor& first, const Predictor& second, double alpha, VectorView theta,
                       Order order);
  void commit(double alpha);
  FamilyNumbers numbers_of(VectorView theta) const { return numbers_at(theta.subspan(coefficients())); }
  std::vector<double> turns_of(VectorView v) const;  // of all numbers, along a direction
  std::optional<double> known(std::size_t number) const;
  // Of an ordinal regression all thresholds are reported in place of the intercept, and no gaps.
  std::size_t thresholds_after_first() const {
    return y_->family() == Family::ordinal ? y_->numbers().size() : 0;
  }

  std::shared_ptr<const Design> x_;
  std::shared_ptr<const Observations> y_;
  PosteriorOptions options_;
  std::vector<Prior> priors_;
  std::vector<Prior> number_priors_;          // of all numbers of the family
  std::vector<std::size_t> sampled_numbers_;  // those that are not known
  std::vector<double> means_;
  std::shared_ptr<ThreadPool> pool_;

  Predictor here_, base_;
  Predictor directions_[2];
  std::size_t latest_ = 0;  // which of the directions was asked for last
  std::size_t line_ = 0;    // which of them is that of the line
  Floats scratch_, residuals_;
  CacheReport report_;
};

/// The priors in a line: "intercept (at the means of the predictors) ~ normal(0, 10); beta.1 ~ ...".
std::string describe_priors(const RegressionPosterior& posterior);

}  // namespace onward::glm
