#pragma once
// Log densities of vectors and matrices, by the names and in the parameters that Stan gives them. A vector is
// whatever has size() and [i]; a matrix whatever has rows() and (i, j), indices from 0: what a model gets of
// its parameters (std::span, MatrixView), a std::vector, an Eigen matrix.

#include "onward/ad/density_tools.hpp"
#include "onward/ad/scratch.hpp"

namespace onward {

namespace ad {
/// What a matrix holds.
template <class L>
using matrix_entry_t = std::remove_cvref_t<decltype(std::declval<const L&>()(0, 0))>;
}  // namespace ad

/// Dirichlet: theta are numbers >= 0 of sum 1, up to 1e-8 for double.
template <class R, class A>
constexpr auto dirichlet_lpdf(const R& theta, const A& alpha) {
  using std::lgamma, std::log;
  using D = ad::density_t<ad::entry_t<R>, ad::entry_t<A>>;
  using T = scalar_t<D>;
  D density = T(0), sum = T(0);
  T total = T(0);
  ad::mask_of<D> valid = T(0) == T(0), outside = T(0) > T(0);
  for (std::size_t k = 0; k < theta.size(); ++k) {
    const auto& a = alpha[k];
    const auto& x = theta[k];
    sum += a;
    density += ad::times_log<D>(a - 1.0, x, log(ad::real(x))) - D(lgamma(ad::real(a)));
    valid = valid && ad::plain<D>(a) > T(0);
    outside = outside || ad::plain<D>(x) < T(0);
    total += ad::plain<D>(x);
  }
  const bool coarse = std::is_same_v<simd::scalar_t<T>, float>;
  outside = outside || simd::abs(T(total - T(1))) > ad::num<T>(coarse ? 1e-4 : 1e-8);
  return ad::settled<D>(density + D(lgamma(sum)), valid, outside);
}

/// Normal vectors with mean mu and covariance L Lᵀ; L is lower triangular, and what is above its diagonal is
/// not read.
template <class Y, class M, class L>
constexpr auto multi_normal_cholesky_lpdf(const Y& y, const M& mu, const L& cholesky) {
  using std::log;
  using D = ad::density_t<ad::entry_t<Y>, ad::entry_t<M>, ad::matrix_entry_t<L>>;
  using T = scalar_t<D>;
  struct Use {};
  const std::size_t size = y.size();
  ad::Scratch<D, Use> scratch(size);
  D* z = scratch.data();
  D squares = T(0), logs = T(0);
  ad::mask_of<D> valid = T(0) == T(0);
  for (std::size_t i = 0; i < size; ++i) {
    D rest = D(y[i] - mu[i]);
    for (std::size_t j = 0; j < i; ++j) rest -= D(cholesky(i, j) * z[j]);
    const auto diagonal = cholesky(i, i);
    z[i] = rest / D(diagonal);
    squares += z[i] * z[i];
    logs += D(log(ad::real(diagonal)));
    valid = valid && ad::plain<D>(diagonal) > T(0);
  }
  const D density = -0.5 * squares - logs - ad::rule::half_log_two_pi * static_cast<double>(size);
  return ad::settled<D>(density, valid);
}

/// The matrix diag(sigma) L, entry by entry: with L the Cholesky factor of a correlation matrix, that of the
/// covariance matrix. It refers to both.
template <class S, class L>
class DiagPreMultiplied {
 public:
  DiagPreMultiplied(const S& sigma, const L& matrix) : sigma_(&sigma), matrix_(&matrix) {}
  auto operator()(std::size_t i, std::size_t j) const { return (*sigma_)[i] * (*matrix_)(i, j); }
  std::size_t rows() const { return sigma_->size(); }

 private:
  const S* sigma_;
  const L* matrix_;
};
template <class S, class L>
DiagPreMultiplied<S, L> diag_pre_multiply(const S& sigma, const L& matrix) {
  return {sigma, matrix};
}

/// Lewandowski, Kurowicka and Joe's density of correlation matrices with shape eta > 0 (1: uniform), as one
/// of the Cholesky factor's entries below the diagonal.
template <class L, class E>
constexpr auto lkj_corr_cholesky_lpdf(const L& cholesky, const E& eta) {
  using std::lgamma, std::log;
  using D = ad::density_t<ad::matrix_entry_t<L>, E>;
  using T = scalar_t<D>;
  const auto size = static_cast<std::size_t>(cholesky.rows());
  const auto n = static_cast<double>(size);
  D density = D((n - 1) * lgamma(eta + 0.5 * (n - 1)));
  for (std::size_t k = 1; k < size; ++k) {
    const auto j = static_cast<double>(k);
    density -= D(lgamma(eta + 0.5 * (n - 1 - j))) + 0.5 * j * ad::rule::log_pi;
    density += D((n - j - 3.0 + 2.0 * eta) * log(ad::real(cholesky(k, k))));
  }
  return ad::settled<D>(density, ad::plain<D>(eta) > T(0));
}

}  // namespace onward
