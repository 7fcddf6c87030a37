#include "autocorrelation.hpp"

#include <cmath>
#include <complex>
#include <unsupported/Eigen/FFT>

namespace onward::detail {

Moments moments(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  // Summed from the first value on: equal values then have exactly themselves as mean, and variance 0.
  const double origin = !values.empty() && std::isfinite(values[0]) ? values[0] : 0.0;
  double sum = 0;
  for (double x : values) sum += x - origin;
  const double mean = origin + sum / n;
  double squares = 0;
  for (double x : values) squares += (x - mean) * (x - mean);
  return {mean, squares / (n - 1)};
}

std::vector<double> chain_means(const Block& block) {
  std::vector<double> means(block.chains);
  for (std::size_t c = 0; c < block.chains; ++c) means[c] = moments({block.chain(c), block.length}).mean;
  return means;
}

/// The transform is linear and the power spectra of the chains only need to be added, so two chains go
/// through one complex transform, as its real and imaginary part, and one transform takes the sum back.
std::vector<double> mean_autocovariance(const Block& block, const std::vector<double>& means) {
  using Complex = std::complex<double>;
  std::size_t size = 1;
  while (size < 2 * block.length) size *= 2;  // zero padding: the transform's circle must not close
  std::vector<Complex> signal(size), spectrum(size);
  std::vector<double> power(size, 0.0);
  Eigen::FFT<double> fft;
  for (std::size_t c = 0; c < block.chains; c += 2) {
    const bool pair = c + 1 < block.chains;
    for (std::size_t t = 0; t < block.length; ++t)
      signal[t] = {block.chain(c)[t] - means[c], pair ? block.chain(c + 1)[t] - means[c + 1] : 0.0};
    fft.fwd(spectrum.data(), signal.data(), static_cast<Eigen::Index>(size));
    for (std::size_t k = 0; k < size; ++k) power[k] += std::norm(spectrum[k]);
  }
  // |X|^2 + |Y|^2 at k is the mean of |X + iY|^2 at k and at -k.
  for (std::size_t k = 0; k < size; ++k) signal[k] = 0.5 * (power[k] + power[(size - k) % size]);
  fft.fwd(spectrum.data(), signal.data(), static_cast<Eigen::Index>(size));
  const double scale = 1.0 / (static_cast<double>(size) * static_cast<double>(block.length) *
                              static_cast<double>(block.chains));
  std::vector<double> covariance(block.length);
  for (std::size_t t = 0; t < block.length; ++t) covariance[t] = spectrum[t].real() * scale;
  return covariance;
}

}  // namespace onward::detail
