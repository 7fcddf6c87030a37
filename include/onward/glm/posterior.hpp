#pragma once
// The posterior of a regression: observations, design and priors put together. As a target it knows its
// lines: along theta + alpha v the predictor is eta + alpha d, so jets at many places of one line, or along
// many lines from one place, share their products with X.
//
// Parameters: the coefficients (column after column; categorical: class after class), then log sigma or log
// phi where those are sampled.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onward/glm/design.hpp"
#include "onward/glm/family.hpp"
#include "onward/glm/prior.hpp"
#include "onward/target/direction.hpp"
#include "onward/target/jet.hpp"

namespace onward::glm {

struct PosteriorOptions {
  Prior coefficients = Prior::normal(0, 2.5);
  Prior intercept = Prior::normal(0, 10);
  std::vector<Prior> each = {};               ///< one for each column, in place of the two above
  Prior scale = Prior::student_t(3, 0, 2.5);  ///< of sigma or phi, cut at 0
  std::optional<double> known_scale = {};     ///< sigma or phi, if it is not to be sampled
  /// What the columns of X are called, the intercept left out; without them beta.1, beta.2, ...
  std::vector<std::string> column_names = {};
};

/// How the cached predictor fared: it is moved along lines, and computed afresh by refresh().
struct CacheReport {
  std::size_t products = 0;  ///< predictors computed afresh
  std::size_t moves = 0;     ///< predictors moved along a line
  double largest_drift = 0;  ///< the largest difference that refresh() found between the two
};

class Posterior {
 public:
  /// Throws Error where rows do not match or settings are out of range.
  Posterior(std::shared_ptr<const Design> x, std::shared_ptr<const Observations> y,
            PosteriorOptions options = {}, std::shared_ptr<ThreadPool> pool = nullptr);

  std::size_t dimension() const { return coefficients() + (samples_scale() ? 1 : 0); }
  std::size_t coefficients() const { return x_->columns() * y_->classes(); }
  bool samples_scale() const { return y_->has_scale() && !options_.known_scale; }
  const Design& design() const { return *x_; }
  const Observations& observations() const { return *y_; }
  const std::vector<Prior>& priors() const { return priors_; }  ///< one a column
  const PosteriorOptions& options() const { return options_; }
  ThreadPool& pool() const { return *pool_; }

  std::vector<std::string> names() const;
  /// The scale parameter is given as itself, not as its logarithm.
  void constrain(VectorView theta, std::span<double> out) const;

  Jet jet(VectorView theta, VectorView v, Order order);
  /// Jets along two lines through theta.
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order);
  /// Rows give slopes along two lines for the price of one; with a scale parameter they are asked twice.
  double jet_pair_price(Order) const { return samples_scale() ? 2 : 1; }
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
    friend class Posterior;
    explicit Line(Posterior& posterior) : posterior_(&posterior) {}
    Posterior* posterior_;
  };
  /// The line must not outlive other calls to this target. The direction must be in memory.
  Line line(VectorView theta, const Direction& v);
  /// The predictor is computed afresh, and what else is remembered is forgotten: rounding adds up from commit
  /// to commit.
  void refresh();

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
  double log_scale(VectorView theta) const;

  std::shared_ptr<const Design> x_;
  std::shared_ptr<const Observations> y_;
  PosteriorOptions options_;
  std::vector<Prior> priors_;
  std::shared_ptr<ThreadPool> pool_;

  Predictor here_, base_;
  Predictor directions_[2];
  std::size_t latest_ = 0;  // which of the directions was asked for last
  std::size_t line_ = 0;    // which of them is that of the line
  Floats scratch_, residuals_;
  CacheReport report_;
};

}  // namespace onward::glm
