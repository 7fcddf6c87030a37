// A curve and the scale about it, both Gaussian processes of x, each written as a sum of sines whose weights
// fall off as the spectrum of a squared exponential does: y_n ~ N(m(x_n), exp(s(x_n))). D = 66, and length
// scales start far from where they belong.

#include <numbers>

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {
namespace {

constexpr double half_width = 0.625;  // sines stand on [-0.625, 0.625], x on [-0.5, 0.5]

/// sqrt(lambda_j), the frequency of the sine j = 0, 1, ...
double frequency(std::size_t j) { return static_cast<double>(j + 1) * std::numbers::pi / (2 * half_width); }

/// The prior of a length scale: inverse gamma.
template <class T>
T inverse_gamma(const T& x, double shape, double scale) {
  using std::log;
  return -(shape + 1) * log(x) - scale / x;
}

/// The weight of each sine: its number times the square root of the spectral density there.
template <class T>
void weigh(std::span<const T> z, const T& sd, const T& length, T* out) {
  using std::exp, std::sqrt;
  const T height = sd * sqrt(std::sqrt(2 * std::numbers::pi) * length);
  for (std::size_t j = 0; j < z.size(); ++j) {
    const double omega = frequency(j);
    out[j] = height * exp(-0.25 * (omega * omega) * (length * length)) * z[j];
  }
}

}  // namespace

AnyTarget motorcycle(const Data& data) {
  constexpr std::size_t of_mean = 40, of_scale = 20;
  struct Seen {
    Column y;
    std::vector<double> sines;  // a row of 40 a value
  } seen{column(data, "y"), {}};
  for (const double x : column(data, "x"))
    for (std::size_t j = 0; j < of_mean; ++j)
      seen.sines.push_back(std::sin(frequency(j) * (x + half_width)) / std::sqrt(half_width));
  auto parameters = Parameters{}
                        .real("mean")
                        .positive("sd")
                        .positive("length")
                        .vector("z", of_mean)
                        .real("log_scale")
                        .positive("scale_sd")
                        .positive("scale_length")
                        .vector("w", of_scale);
  return target(parameters,
                [d = shared(std::move(seen))](auto mean, auto sd, auto length, auto z, auto log_scale,
                                              auto scale_sd, auto scale_length, auto w) {
                  using T = decltype(mean);
                  using std::exp;
                  T f = student_t_lpdf(mean, 3.0, -13.0, 36.0) + student_t_lpdf(sd, 3.0, 0.0, 36.0) +
                        inverse_gamma(length, 1.125, 0.018) + student_t_lpdf(log_scale, 3.0, 0.0, 10.0) +
                        student_t_lpdf(scale_sd, 3.0, 0.0, 36.0) + inverse_gamma(scale_length, 1.125, 0.018);
                  for (const auto& x : z) f += normal_lpdf(x, 0.0, 1.0);
                  for (const auto& x : w) f += normal_lpdf(x, 0.0, 1.0);
                  std::array<T, of_mean> m;
                  std::array<T, of_scale> s;
                  weigh<T>(z, sd, length, m.data());
                  weigh<T>(w, scale_sd, scale_length, s.data());
                  const double* row = d->sines.data();
                  for (const double y : d->y) {
                    T at = mean, log_at = log_scale;
                    for (std::size_t j = 0; j < of_mean; ++j) at += row[j] * m[j];
                    for (std::size_t j = 0; j < of_scale; ++j) log_at += row[j] * s[j];
                    const T residual = (y - at) * exp(-log_at);
                    f -= 0.5 * (residual * residual) + log_at;
                    row += of_mean;
                  }
                  return f;
                });
}

}  // namespace onward::posteriors
