#pragma once
// The posterior of a regression with group-level effects: population-level coefficients as in
// RegressionPosterior, and for every term effects of each level from a normal distribution whose standard
// deviations and correlations are sampled too.
//
// What is sampled, in this order: the coefficients; the log standard deviations of all terms; what the
// correlations are made of (covariance.hpp has it); the logs of the family's numbers; and the effects
// themselves, term after term, level after level. Reported are the coefficients, sd(g)x, cor(g)x.y, sigma or
// what else the family has, and as many of the effects as are wanted: r(g)x[level].

#include <memory>
#include <string>
#include <vector>

#include "onward/glm/group_term.hpp"
#include "onward/glm/posterior.hpp"

namespace onward::glm {

/// Where the parts of what is sampled begin.
struct MixedLayout {
  std::size_t coefficients = 0;
  std::vector<std::size_t> sds, correlations, effects;  ///< of each term
  std::size_t numbers = 0;                              ///< of the logs of the family's numbers
  std::size_t reported = 0;                             ///< parameters before the effects
  std::size_t dimension = 0;
};

class MixedPosterior {
 public:
  /// `priors` has one entry for each term, or none for default ones. Throws Error where rows do not match,
  /// levels have no rows, or two parameters would have one name. Not for the categorical family.
  MixedPosterior(RegressionPosterior population, std::vector<GroupTerm> terms,
                 std::vector<GroupPriors> priors = {});

  const RegressionPosterior& population() const { return *population_; }
  RegressionPosterior& population() { return *population_; }
  const std::vector<GroupTerm>& terms() const { return *terms_; }
  const std::vector<GroupPriors>& priors() const { return priors_; }
  const MixedLayout& layout() const { return layout_; }
  std::size_t dimension() const { return layout_.dimension; }
  /// Which effects are reported, by their place in what is sampled.
  const std::vector<std::size_t>& reported_effects() const { return reported_effects_; }
  void report_effects(std::vector<std::size_t> places) { reported_effects_ = std::move(places); }

  std::vector<std::string> names() const;  ///< of what is reported
  std::string effect_name(std::size_t place) const;
  /// How many of the numbers at the end of each name are indices: none.
  std::vector<std::size_t> name_indices() const;
  /// As of RegressionPosterior.
  std::vector<ParameterBlock> blocks() const;
  void constrain(VectorView theta, std::span<double> out) const;

  Jet jet(VectorView theta, VectorView v, Order order);
  double gradient(VectorView theta, std::span<double> out);
  /// The log density of everything but the rows: priors, and the effects given their covariances.
  double log_prior(VectorView theta) const { return effects_jet(theta, {}).value; }

 private:
  void predictor(VectorView at, bool with_offset, Floats& out) const;
  Jet effects_jet(VectorView theta, VectorView v) const;

  std::shared_ptr<RegressionPosterior> population_;
  std::shared_ptr<const std::vector<GroupTerm>> terms_;
  std::vector<GroupPriors> priors_;
  MixedLayout layout_;
  std::vector<std::size_t> reported_effects_;
  Floats eta_, direction_, scratch_;
};

/// The priors that terms have if none are given: in the units of the data.
std::vector<GroupPriors> default_group_priors(const Observations& y, const std::vector<GroupTerm>& terms);

/// More sds than this from its mean to 0, and a column's intercept is far from all data.
inline constexpr double far_from_0 = 3;
/// The columns of a factor's terms that are so far from 0. Adds to *sum the squares of how many sds they are.
std::vector<std::string> far_columns(const Observations& y, const std::vector<GroupTerm>& terms,
                                     const std::string& factor, double* sum = nullptr);

/// The priors of the terms in a line: "sd(g) ~ ...; cor(g) ~ lkj(1)".
std::string describe_group_priors(const MixedPosterior& posterior);

}  // namespace onward::glm
