#pragma once
// Outcomes drawn from a family: what a model predicts, and the made-up data that its sampler is tried on.

#include <cstdint>
#include <span>

#include "onward/glm/family.hpp"
#include "onward/random/sequence.hpp"

namespace onward::glm {

/// What random numbers are for, apart from those of a run with the same seed: their streams have other keys.
/// The values are part of what a seed means.
enum class Apart : std::uint64_t {
  outcomes = 0x9e3779b97f4a7c15,    ///< that a model predicts, or data that are made up from it
  new_levels = 0xd1b54a32d192ed03,  ///< effects of levels that the data do not have
  parameters = 0x8cb92ba72f3d8dd7,  ///< from their priors
};
inline Stream stream_apart(std::uint64_t seed, Apart what, std::size_t number) {
  return {seed ^ static_cast<std::uint64_t>(what), static_cast<std::uint32_t>(number)};
}

using onward::RandomSequence;

/// What is expected at the predictor eta: a mean, a probability, a probability times the trials, or the mean
/// number of an ordered class. Not for categorical.
double expected_response(Family family, double eta, std::span<const double> numbers, double trials = 1);

/// An outcome at the predictor eta, `numbers` being those of the family. Not for categorical.
double random_response(Family family, double eta, std::span<const double> numbers, double trials,
                       RandomSequence& random);

/// The probabilities of ordered classes at the predictor eta, given the gaps between their thresholds: one
/// for each class, two more than there are gaps.
void ordered_probabilities(double eta, std::span<const double> gaps, std::span<double> out);

/// Turns the predictors of classes into their probabilities.
void softmax_of(std::span<double> eta);

/// The number of the class that comes, given their probabilities.
std::size_t random_class(std::span<const double> probabilities, RandomSequence& random);

}  // namespace onward::glm
