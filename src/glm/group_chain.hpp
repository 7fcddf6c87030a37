#pragma once
// One chain of a regression with groups, and what all of them share.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "eigen_index.hpp"
#include "group_rows.hpp"
#include "group_shift.hpp"
#include "newton_rule.hpp"
#include "onward/glm/group_sampler.hpp"
#include "onward/random/stream.hpp"

namespace onward::glm {

/// The slope and the intercept of a factor in two terms, and the slope's column less its mean.
struct Tilt {
  std::size_t slope_term, slope, intercept_term, intercept;
  double mean;
  std::unique_ptr<GroupTerm> term = {};
  std::unique_ptr<GroupRows> rows = {};
};
/// Of columns that are far from 0.
std::vector<Tilt> find_tilts(const MixedPosterior& posterior);

struct GroupChainMaker::Shared {
  MixedPosterior posterior;
  GroupOptions settings;
  std::uint64_t seed = 1;
  std::vector<std::string> names, warnings;
  std::vector<GroupRows> rows = {};      // of each term
  std::vector<Shift> shifts = {};        // between coefficients and the effects of a term
  std::vector<NestedShift> nested = {};  // between the effects of two terms
  bool far = false;                      // some column of a term is far from 0
  std::vector<Tilt> tilts = {};
  std::vector<double> start = {};                     // coefficients
  Eigen::MatrixXd precision = {};                     // of the coefficients at the start, effects left out
  Eigen::MatrixXd gram = {};                          // X^T W X, gaussian alone
  std::vector<double> number_logs = {};               // of the family, there
  std::vector<std::vector<double>> typical_sds = {};  // of each term: where chains start, roughly

  const Observations& y() const { return posterior.population().observations(); }
  const Design& x() const { return posterior.population().design(); }
};

/// The effects of a term and their covariance, in the forms that moves need.
struct TermState {
  std::vector<double> effects;                // level after level
  std::vector<double> log_sds, correlations;  // what is sampled of the covariance
  // Derived from these:
  std::vector<double> factor;     // of the correlation matrix
  std::vector<double> precision;  // q by q
  double log_step = -1;           // of moves of the correlations together with the effects
  std::uint64_t steps_adapted = 0;

  void derive(std::size_t q);
};

class GroupChain final : public Chain {
 public:
  using Shared = GroupChainMaker::Shared;
  using Vector = Eigen::VectorXd;
  GroupChain(const Shared& shared, std::uint32_t chain, std::shared_ptr<ThreadPool> pool);

  std::size_t stride() const override { return s_.posterior.dimension(); }
  std::uint64_t saved_every() const override { return s_.settings.refresh_every * stride(); }
  void start() override;
  std::uint64_t advance(std::uint64_t steps, Monitor& monitor) override;
  void freeze() override { frozen_ = true; }
  double take_acceptance() override { return std::exchange(acceptance_, 0.0); }
  double draw(std::span<double> out) override;
  VectorView position() const override { return position_; }
  ChainReport report() const override;
  void transfer(Archive& archive) override;

  /// The kinds of moves of a sweep, so that tests can ask for them one by one.
  enum class Move {
    levels,
    coefficients,
    shifts,
    nested,
    scales,
    stretches,
    correlations,
    family_numbers,
    covariances,
    tilts
  };
  void apply(Move move);
  void sweep();
  /// What is sampled, as the posterior has it, and the same put in place.
  const std::vector<double>& place();
  void set_place(VectorView theta);

 private:
  void update_levels(std::size_t t);
  void move_levels(const GroupRows& rows, std::vector<double>& effects, const std::vector<double>& precision);
  void tilt(const Tilt& tilt);
  void update_coefficients();
  void shift(const Shift& shift);
  void shift_nested(const NestedShift& shift);
  void update_outer_scale(const NestedShift& shift);
  void update_scales(std::size_t t);
  void stretch(std::size_t t, std::size_t column);
  void turn_correlations(std::size_t t);
  void redraw_covariance(std::size_t t);
  void update_family_numbers();
  void learn_precision();
  void refresh(bool check);
  /// The number of the next set of random numbers of this sweep.
  std::uint64_t next() { return (number_ << 12) + drawn_++; }
  double normal() { return stream_.normal(next(), Purpose::noise); }
  double uniform() { return stream_.uniform(next(), Purpose::accept); }
  void count(bool accepted) { ++done_.updates, done_.accepted += accepted ? 1 : 0; }

  const Shared& s_;
  std::shared_ptr<ThreadPool> own_pool_;
  ThreadPool& pool_;
  Stream stream_;
  std::uint64_t number_ = 0;  // of the sweep
  std::uint64_t drawn_ = 0;   // sets of random numbers in it
  bool frozen_ = false;
  double acceptance_ = 0;
  struct {
    std::uint64_t updates = 0, accepted = 0, passes = 0, nonfinite = 0;
    double largest_drift = 0;
  } done_;
  Rule rule_;
  Vector beta_;
  std::vector<TermState> terms_;
  FamilyNumbers numbers_;
  Eigen::MatrixXd precision_;  // of the coefficients given the effects, as learned in warm-up
  Eigen::LLT<Eigen::MatrixXd> coefficients_;
  Floats eta_;
  std::vector<double> position_;
};

}  // namespace onward::glm
