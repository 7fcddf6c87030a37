#include "onward/random/sequence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/simd/special.hpp"

namespace onward {
namespace {

// Beyond this variance a count is a rounded normal number: its skewness is then below 1e-4, which no number
// of draws that fits on a disk can tell.
constexpr double largest_variance = 1e8;

/// Where a distribution over whole numbers has its mode, and how its masses go on from there.
template <class Up, class Down>
struct Masses {
  double mode, log_mass;  // of the mode
  Up up;                  // p(k + 1) / p(k)
  Down down;              // p(k - 1) / p(k)
  double highest = std::numeric_limits<double>::infinity();
};

/// The number whose mass holds u, when masses are laid end to end from the mode outward. As exact as the
/// masses are, and takes a few standard deviations of steps.
template <class Up, class Down>
double count_at(double u, const Masses<Up, Down>& masses) {
  double low = masses.mode, high = masses.mode;
  double below = std::exp(masses.log_mass), above = below;
  u -= below;
  // What is left when masses have vanished is rounding, and goes to the mode.
  while (u >= 0 && below + above > 1e-18) {
    above = high < masses.highest ? above * masses.up(high) : 0;
    ++high;
    if ((u -= above) < 0) return high;
    below = low > 0 ? below * masses.down(low) : 0;
    --low;
    if ((u -= below) < 0) return low;
  }
  return masses.mode;
}

double logistic(double eta) { return 1 / (1 + std::exp(-eta)); }

}  // namespace

/// Marsaglia and Tsang's way: a cubed normal number, accepted nearly always.
double RandomSequence::gamma(double shape) {
  double factor = 1;
  if (shape < 1) {
    factor = std::pow(uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return factor * d * v;
  }
}

double RandomSequence::poisson(double mean) {
  if (!(mean > 0) || !std::isfinite(mean)) return mean;
  if (mean > largest_variance) return std::round(mean + std::sqrt(mean) * normal());
  const double mode = std::floor(mean);
  return count_at(uniform(),
                  Masses{mode, mode * std::log(mean) - mean - simd::lgamma(mode + 1),
                         [=](double k) { return mean / (k + 1); }, [=](double k) { return k / mean; }});
}

double RandomSequence::binomial(double trials, double eta) {
  const double yes = logistic(eta), no = logistic(-eta);
  if (trials == 1) return uniform() < yes ? 1 : 0;
  if (yes * trials == 0) return 0;
  if (no * trials == 0) return trials;
  if (const double variance = trials * yes * no; variance > largest_variance)
    return std::clamp(std::round(trials * yes + std::sqrt(variance) * normal()), 0.0, trials);
  const double mode = std::min(std::floor((trials + 1) * yes), trials);
  const double log_mass = simd::lgamma(trials + 1) - simd::lgamma(mode + 1) -
                          simd::lgamma(trials - mode + 1) + mode * std::log(yes) +
                          (trials - mode) * std::log(no);
  return count_at(uniform(),
                  Masses{mode, log_mass, [=](double k) { return (trials - k) / (k + 1) * (yes / no); },
                         [=](double k) { return k / (trials - k + 1) * (no / yes); }, trials});
}

}  // namespace onward
