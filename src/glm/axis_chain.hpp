#pragma once
// One chain of a regression along its whitened axes, and what all of them share.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "eigen_index.hpp"
#include "newton_rule.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/random/stream.hpp"

namespace onward::glm {

/// What chains share and never change.
struct AxisChainMaker::Shared {
  RegressionPosterior posterior;
  AxisOptions settings;
  std::uint64_t seed = 1;
  std::vector<std::string> names, warnings;
  std::vector<double> centre;  // coefficients, class after class
  FamilyNumbers numbers;       // of the family, at the mode
  std::optional<PanelColumns> columns;
  Whitening whitening;
  Floats base;                             // the predictor at the centre, class after class, offset included
  std::vector<Observations> against_rest;  // categorical: one for each class
  bool normal_priors = true;
  Eigen::VectorXd precisions;          // of the priors
  std::vector<double> axis_curvature;  // of the normal priors along each axis
  std::uint64_t axes_every = 1;        // one sweep in so many goes along the axes, the others are blocks
  // How a block proposes the logs of the numbers that are sampled: those of the mode plus an upper triangular
  // matrix times normal numbers.
  Eigen::MatrixXd number_spread;
  // How far the coefficients, in whitened coordinates, are proposed to go with those logs: minus this matrix
  // times their steps. Empty where they have nothing to do with each other.
  Eigen::MatrixXd number_pull;

  std::size_t width() const { return posterior.design().columns(); }
  std::size_t classes() const { return posterior.observations().classes(); }
  std::size_t stride() const { return padded_rows(posterior.observations().rows()); }

  void prepare_priors();
  void use(const Whitening& w, std::span<const double> at, ThreadPool& pool, bool last);
  /// How often blocks are worth their while: by the weights of a fixed number of proposals.
  void choose_blocks(const Mode& mode, ThreadPool& pool);
  /// Log density less that of the proposal, at places in whitened coordinates; `noise` has for each place
  /// those, and one number for each that is sampled of the family. Densities themselves go to `densities`.
  void weigh(std::span<const double> noise, std::span<double> densities, std::span<double> weights,
             ThreadPool& pool) const;
  std::size_t block_width() const { return width() + posterior.sampled_numbers().size(); }
  /// The family's numbers at such a place, which has these normal numbers.
  FamilyNumbers proposed_numbers(std::span<const double> noise) const;
  /// Adds what such steps to these numbers bring to whitened coordinates, times `sign`.
  void add_pull(const FamilyNumbers& to, double sign, std::span<double> u) const;
  /// From the curvatures at the mode; false if there are none to propose from.
  bool prepare_number_proposals(const Mode& mode, ThreadPool& pool);
};

/// One chain: its coefficients, its cached predictor and its random numbers.
class AxisChain final : public Chain {
 public:
  using Shared = AxisChainMaker::Shared;
  using Vector = Eigen::VectorXd;
  AxisChain(const Shared& shared, std::uint32_t chain, std::shared_ptr<ThreadPool> pool);

  std::size_t stride() const override { return s_.posterior.dimension(); }
  std::uint64_t saved_every() const override { return s_.settings.refresh_every * stride(); }
  void start() override { start(s_.settings.start_spread); }
  std::uint64_t advance(std::uint64_t steps, Monitor& monitor) override;
  void freeze() override { frozen_ = true; }
  double take_acceptance() override { return std::exchange(acceptance_, 0.0); }
  double draw(std::span<double> out) override;
  VectorView position() const override { return position_; }
  ChainReport report() const override;
  void transfer(Archive& archive) override;

  void start(double spread);
  /// One update along every axis; `is_warmup`: by the careful rule.
  void sweep(bool is_warmup);
  void refresh(bool check);
  double log_density();
  const Vector& coefficients(std::size_t k) const { return beta_[k]; }
  const float* predictor() const { return eta_.data(); }

 private:
  const Shared& s_;
  std::shared_ptr<ThreadPool> own_pool_;
  ThreadPool& pool_;
  Stream stream_;
  std::uint64_t number_ = 0;  // of the sweep
  bool frozen_ = false;       // warm-up is over
  double acceptance_ = 0;     // since it was taken, counted in steps
  struct {
    std::uint64_t updates = 0, blocks = 0, again = 0, accepted = 0, floored = 0, nonfinite = 0;
    double largest_drift = 0;
  } done_;
  std::vector<Vector> beta_;
  std::vector<Vector> prior_slopes_;  // derivative of the log prior by each coefficient (normal priors)
  Rule rule_;                         // of this sweep
  FamilyNumbers numbers_;
  std::vector<double> position_;      // of the last draw
  double value_ = 0;                  // sum over rows at the present place
  std::size_t first_of_numbers_ = 0;  // among the random numbers of a sweep
  std::size_t first_of_joint_ = 0;    // likewise, of moves of sigma and coefficients
  bool coupled_ = false;              // sigma and the coefficients
  Floats eta_, odds_, moved_, others_;
  std::vector<double> noise_, uniforms_;

  // Blocks: proposals of the coming sweeps and their weights, and those of the present place.
  std::uint64_t first_ahead_ = 0;
  std::vector<double> ahead_noise_, ahead_densities_, ahead_weights_;
  bool weight_known_ = false, eta_stale_ = false;
  double density_ = 0, weight_ = 0;

  bool along_axes(std::uint64_t number) const;
  void sweep_block();
  void look_ahead();
  double density_from_rows();
  void set_prior_slopes();
  Jet prior_along(std::size_t k, std::size_t j, double alpha) const;
  void sweep_axes(const Observations& y, std::size_t k, Floats& eta);
  void sweep_classes();
  void move_classes_together();
  void move_scale_and_coefficients();
  void update_numbers();
  bool accepts(double log_ratio, std::size_t draw) const { return std::log(uniforms_[draw]) < log_ratio; }
};

}  // namespace onward::glm
