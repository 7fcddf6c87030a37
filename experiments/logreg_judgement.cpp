// What the draws of a row of Table 2 are worth: predictions of the test images, effective draws, and a curve
// over time.

#include <algorithm>
#include <cmath>

#include "logreg_problem.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/random/stream.hpp"

namespace onward::experiments {
namespace {

constexpr std::size_t classes = logreg_classes;
constexpr std::size_t paper_keeps = 100;  // draws that the paper's figures rest on
constexpr std::size_t weights_with_ess = 50;

/// Adds up the predictive probabilities of draws.
class Predictor {
 public:
  Predictor(const glm::Design& test, ThreadPool& pool)
      : test_(test),
        pool_(pool),
        stride_(glm::padded_rows(test.rows())),
        logits_(stride_ * classes),
        sums_(test.rows() * classes, 0.0) {}

  void add(std::span<const float> theta) {
    const std::vector<double> wide(theta.begin(), theta.end());
    test_.multiply(wide, classes, logits_.data(), pool_);
    ++count_;
    for (std::size_t i = 0; i < test_.rows(); ++i) {
      float most = logits_[i];
      for (std::size_t k = 1; k < classes; ++k) most = std::max(most, logits_[k * stride_ + i]);
      double e[classes], total = 0;
      for (std::size_t k = 0; k < classes; ++k)
        total += e[k] = std::exp(static_cast<double>(logits_[k * stride_ + i] - most));
      for (std::size_t k = 0; k < classes; ++k) sums_[i * classes + k] += e[k] / total;
    }
  }
  std::vector<double> mean() const {
    std::vector<double> p = sums_;
    for (double& x : p) x /= static_cast<double>(count_);
    return p;
  }

 private:
  const glm::Design& test_;
  ThreadPool& pool_;
  std::size_t stride_;
  glm::Floats logits_;
  std::vector<double> sums_;
  std::size_t count_ = 0;
};

/// The prediction from draws [begin, end) of every chain, at most `most` of them, evenly spaced.
Prediction predict(const LogregProblem& problem, const std::vector<ChainDraws>& chains, std::size_t begin,
                   std::size_t end, std::size_t most, ThreadPool& pool) {
  Predictor predictor(problem.test, pool);
  const std::size_t each = std::max<std::size_t>(1, std::min(end - begin, most / chains.size()));
  for (const auto& chain : chains)
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t draw = end - 1 - i * (end - begin) / each;
      predictor.add(chain.draw(draw));
    }
  return judge_classes(predictor.mean(), problem.test_labels, classes);
}

}  // namespace

void judge_logreg(const LogregSettings& s, const LogregProblem& problem,
                  const std::vector<ChainDraws>& chains, LogregRow& row, ThreadPool& pool) {
  const std::size_t count = std::min_element(chains.begin(), chains.end(), [](const auto& a, const auto& b) {
                              return a.count() < b.count();
                            })->count();
  const bool axes = chains.size() > 1 || row.sampler == "newton-line-axis";
  const std::size_t burned = axes ? 0 : std::min(count - 1, s.burn / s.thin);  // or by its own warm-up
  const std::size_t last = std::min(count - burned, std::max<std::size_t>(1, paper_keeps / chains.size()));
  row.kept = (count - burned) * chains.size();
  row.last = predict(problem, chains, count - last, count, paper_keeps, pool);
  row.all = predict(problem, chains, burned, count, row.kept, pool);
  Chains log_density;
  for (const auto& chain : chains) {
    log_density.emplace_back(chain.log_density.begin() + static_cast<std::ptrdiff_t>(burned),
                             chain.log_density.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = count - last; i < count; ++i)
      row.log_density += chain.log_density[i] / static_cast<double>(last * chains.size());
  }
  row.ess_log_density = ess_bulk(log_density);
  if (chains.size() > 1) row.rhat_log_density = rhat(log_density);

  const std::size_t width = chains[0].width();
  std::vector<double> u(weights_with_ess), ess;
  Stream(s.seed, 0).uniforms(0, Purpose::shuffle, u);
  for (double x : u) {
    const auto weight = std::min(static_cast<std::size_t>(x * static_cast<double>(width)), width - 1);
    Chains values;
    for (const auto& chain : chains) {
      auto& one = values.emplace_back();
      for (std::size_t i = burned; i < count; ++i)
        one.push_back(static_cast<double>(chain.values[i * width + weight]));
    }
    ess.push_back(ess_bulk(values));
  }
  std::sort(ess.begin(), ess.end());
  row.ess_weights_least = ess.front();
  row.ess_weights_median = quantile(ess, 0.5);

  std::size_t before = 0;
  for (std::size_t i = 1; i <= s.curve_points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(s.curve_points);
    const auto end = static_cast<std::size_t>(std::lround(std::pow(static_cast<double>(count), share)));
    if (end == before) continue;
    before = end;
    const Prediction p = predict(problem, chains, end / 2, end, s.curve_draws, pool);
    double seconds = 0, mean = 0;
    for (const auto& chain : chains) {
      seconds = std::max(seconds, chain.seconds[end - 1]);
      mean += chain.log_density[end - 1] / static_cast<double>(chains.size());
    }
    row.curve.push_back({seconds, p.nll, p.accuracy, mean});
  }
}

}  // namespace onward::experiments
