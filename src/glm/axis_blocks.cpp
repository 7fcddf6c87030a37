// Blocks of a regression's sampler: all coefficients, and the family's numbers, proposed at once from the
// normal at the mode, whatever the present place is. Proposals of the coming sweeps are known beforehand, so
// that many are weighed in one pass over the rows; the chain then walks over them.

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "axis_chain.hpp"
#include "block_values.hpp"

namespace onward::glm {
namespace {

/// Sweeps along the axes before the first block: a chain begins away from the mode, where blocks would hold
/// it.
constexpr std::uint64_t first_sweeps = 5;
/// Proposals weighed together at most.
constexpr std::uint64_t most_ahead = 32;

}  // namespace

FamilyNumbers AxisChainMaker::Shared::proposed_numbers(std::span<const double> noise) const {
  FamilyNumbers proposed = numbers;
  const auto& sampled = posterior.sampled_numbers();
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    double step = 0;
    for (std::size_t j = i; j < sampled.size(); ++j)
      step += number_spread(index(i), index(j)) * noise[width() + j];
    proposed.set_log(sampled[i], numbers.log(sampled[i]) + step);
  }
  return proposed;
}

void AxisChainMaker::Shared::weigh(std::span<const double> noise, std::span<double> densities,
                                   std::span<double> weights, ThreadPool& pool) const {
  const std::size_t size = block_width(), columns_count = width(), count = densities.size();
  std::vector<double> u(count * columns_count);
  std::vector<FamilyNumbers> of_family(count);
  for (std::size_t k = 0; k < count; ++k) {
    std::copy_n(noise.begin() + index(k * size), columns_count, u.begin() + index(k * columns_count));
    of_family[k] = proposed_numbers(noise.subspan(k * size, size));
    add_pull(of_family[k], -1, std::span(u).subspan(k * columns_count, columns_count));
  }
  log_likelihoods(*columns, posterior.observations(), base.data(), {u, of_family}, densities, pool);
  for (std::size_t k = 0; k < count; ++k) {
    const Eigen::Map<const Eigen::VectorXd> place(u.data() + k * columns_count, index(columns_count));
    const Eigen::VectorXd step = whitening.to_coefficients.triangularView<Eigen::Upper>() * place;
    for (std::size_t j = 0; j < columns_count; ++j)
      densities[k] += posterior.priors()[j].at(centre[j] + step[index(j)]).value;
    for (const std::size_t i : posterior.sampled_numbers())
      densities[k] += posterior.number_prior_at(i, std::log(of_family[k].values()[i])).value;
    double squares = 0;
    for (std::size_t j = 0; j < size; ++j) squares += noise[k * size + j] * noise[k * size + j];
    weights[k] = densities[k] + 0.5 * squares;
  }
}

void AxisChainMaker::Shared::add_pull(const FamilyNumbers& to, double sign, std::span<double> u) const {
  if (number_pull.size() == 0) return;
  const auto& sampled = posterior.sampled_numbers();
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const double step = sign * (to.log(sampled[i]) - numbers.log(sampled[i]));
    for (std::size_t j = 0; j < u.size(); ++j) u[j] += number_pull(index(j), index(i)) * step;
  }
}

/// The normal at the mode, in two steps: the numbers by themselves, then the coefficients given those.
bool AxisChainMaker::Shared::prepare_number_proposals(const Mode& mode, ThreadPool& pool) {
  const auto& sampled = posterior.sampled_numbers();
  if (sampled.empty()) return true;
  if (mode.number_precision.size() == 0) {
    const double log = numbers.log(0);
    const Jet rows = NumberJets(posterior.observations(), base.data(), pool, numbers, 0)(log);
    const double curvature = rows.curvature + posterior.number_prior_at(0, log).curvature;
    if (!(curvature < 0)) return false;
    number_spread = Eigen::MatrixXd::Constant(1, 1, 1 / std::sqrt(-curvature));
    return true;
  }
  number_pull = whitening.to_coefficients.transpose().triangularView<Eigen::Lower>() * mode.cross;
  const Eigen::MatrixXd alone = mode.number_precision - number_pull.transpose() * number_pull;
  const Eigen::LLT<Eigen::MatrixXd> factor(alone);
  if (!alone.allFinite() || factor.info() != Eigen::Success) return false;
  number_spread = factor.matrixU().solve(Eigen::MatrixXd::Identity(alone.rows(), alone.cols()));
  return true;
}

void AxisChainMaker::Shared::choose_blocks(const Mode& mode, ThreadPool& pool) {
  if (!prepare_number_proposals(mode, pool)) return;
  constexpr std::size_t proposals = 64;
  constexpr std::uint32_t no_chain = 0xfffffffe;  // a stream that no chain has
  std::vector<double> noise(proposals * block_width()), densities(proposals), weights(proposals);
  Stream(seed, no_chain).normals(0, Purpose::noise, noise);
  weigh(noise, densities, weights, pool);
  if (!std::ranges::all_of(weights, [](double w) { return std::isfinite(w); })) return;
  // The share of proposals that a chain at its posterior would accept.
  const double most = *std::ranges::max_element(weights);
  double total = 0, accepted = 0;
  for (const double from : weights) {
    total += std::exp(from - most) * static_cast<double>(proposals);
    for (const double to : weights) accepted += std::exp(std::min(from, to) - most);
  }
  const double acceptance = accepted / total;
  constexpr double very_good = 0.8, good = 0.6, fair = 0.25;
  axes_every = acceptance > very_good ? 128 : acceptance > good ? 32 : acceptance > fair ? 8 : 1;
}

bool AxisChain::along_axes(std::uint64_t number) const {
  return number <= first_sweeps || number % s_.axes_every == 0;
}

/// Weighs the proposals of this sweep and of those that follow until one goes along the axes.
void AxisChain::look_ahead() {
  const std::size_t size = s_.block_width();
  std::uint64_t count = 1;
  while (count < most_ahead && !along_axes(number_ + count)) ++count;
  first_ahead_ = number_;
  ahead_noise_.resize(count * size);
  ahead_densities_.resize(count);
  ahead_weights_.resize(count);
  for (std::uint64_t k = 0; k < count; ++k)
    stream_.normals(number_ + k, Purpose::noise, std::span(ahead_noise_).subspan(k * size, size));
  s_.weigh(ahead_noise_, ahead_densities_, ahead_weights_, pool_);
}

void AxisChain::sweep_block() {
  const std::size_t width = s_.width(), size = s_.block_width();
  const Eigen::Map<const Vector> centre(s_.centre.data(), index(width));
  if (!weight_known_) {
    density_ = density_from_rows();
    Vector u = s_.whitening.from_coefficients.triangularView<Eigen::Upper>() * (beta_[0] - centre);
    s_.add_pull(numbers_, 1, {u.data(), width});
    weight_ = density_ + 0.5 * u.squaredNorm();
    const auto& sampled = s_.posterior.sampled_numbers();
    std::vector<double> z(sampled.size());  // number_spread z are the steps of the logs
    for (std::size_t i = z.size(); i-- > 0;) {
      z[i] = numbers_.log(sampled[i]) - s_.numbers.log(sampled[i]);
      for (std::size_t j = i + 1; j < z.size(); ++j) z[i] -= s_.number_spread(index(i), index(j)) * z[j];
      z[i] /= s_.number_spread(index(i), index(i));
      weight_ += 0.5 * z[i] * z[i];
    }
    weight_known_ = true;
  }
  if (number_ < first_ahead_ || number_ >= first_ahead_ + ahead_weights_.size()) look_ahead();
  const std::size_t k = number_ - first_ahead_;
  const double log_ratio = ahead_weights_[k] - weight_;
  ++done_.updates;
  ++done_.blocks;
  if (!std::isfinite(log_ratio)) {
    ++done_.nonfinite;
    return;
  }
  if (!(std::log(stream_.uniform(number_, Purpose::accept)) < log_ratio)) return;
  ++done_.accepted;
  Vector u = Eigen::Map<const Vector>(ahead_noise_.data() + k * size, index(width));
  numbers_ = s_.proposed_numbers(std::span<const double>(ahead_noise_).subspan(k * size, size));
  s_.add_pull(numbers_, -1, {u.data(), width});
  beta_[0] = centre + s_.whitening.to_coefficients.triangularView<Eigen::Upper>() * u;
  density_ = ahead_densities_[k];
  weight_ = ahead_weights_[k];
  eta_stale_ = true;
}

}  // namespace onward::glm
