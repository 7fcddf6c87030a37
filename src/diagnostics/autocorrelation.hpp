#pragma once
// How long draws remember: autocovariances of chains, and the integrated autocorrelation time by Geyer's
// initial sequence. Effective sample sizes of every kind rest on these.

#include <cstddef>
#include <span>
#include <vector>

namespace onward::detail {

/// Chains of equal length in one array, one after the other.
struct Block {
  std::size_t chains = 0;
  std::size_t length = 0;
  std::vector<double> values;

  const double* chain(std::size_t c) const { return values.data() + c * length; }
};

struct Moments {
  double mean, variance;  // variance with divisor n - 1
};
Moments moments(std::span<const double> values);

std::vector<double> chain_means(const Block& block);

/// The autocovariances (divisor: the length) of all lags, averaged over the chains.
std::vector<double> mean_autocovariance(const Block& block, const std::vector<double>& means);

/// The integrated autocorrelation time, from the correlation of each lag, which is asked for in ascending
/// order and only as far as needed. `unseen`: programs differ in how many lags at the end of the chain they
/// leave out, which matters to chains that never meet.
template <class Correlation>
double autocorrelation_time(std::size_t length, std::size_t unseen, const Correlation& correlation) {
  // Geyer's initial positive sequence: the correlations of an even lag and the next odd one, while their sum
  // is positive. `t` is the odd lag that was looked at last.
  std::vector<double> rho(length, 0.0);
  double even = 1.0;
  double odd = correlation(1);
  rho[0] = even;
  rho[1] = odd;
  std::size_t t = 1;
  while (t + unseen < length && even + odd > 0) {
    even = correlation(t + 1);
    odd = correlation(t + 2);
    if (even + odd >= 0) {
      rho[t + 1] = even;
      rho[t + 2] = odd;
    }
    t += 2;
  }
  const std::size_t last = t - 1;  // the even lag that closes the sum, counted once
  if (even > 0) rho[last] = even;

  // Initial monotone sequence: no pair exceeds the one before.
  for (std::size_t s = 1; s + 3 <= last; s += 2) {
    const double before = rho[s - 1] + rho[s];
    if (rho[s + 1] + rho[s + 2] > before) rho[s + 1] = rho[s + 2] = before / 2;
  }

  double sum = 0;
  for (std::size_t s = 0; s < last; ++s) sum += rho[s];
  return -1 + 2 * sum + rho[last];
}

}  // namespace onward::detail
