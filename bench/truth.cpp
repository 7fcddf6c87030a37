#include "truth.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/independent_draws.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward::bench {
namespace {

// Another one than where proposals are fitted or starts are drawn.
constexpr std::uint64_t truth_seed = 1;
constexpr std::size_t piece = 1000;  // draws

/// Sums of w xᵏ and w² xᵏ of one parameter x, shifted so that nothing cancels.
struct Sums {
  double w[3] = {}, w2[5] = {};

  void add(double weight, double x) {
    double power = 1;
    for (std::size_t k = 0; k < 5; ++k, power *= x) {
      if (k < 3) w[k] += weight * power;
      w2[k] += weight * weight * power;
    }
  }
  void add(const Sums& other) {
    for (std::size_t k = 0; k < 3; ++k) w[k] += other.w[k];
    for (std::size_t k = 0; k < 5; ++k) w2[k] += other.w2[k];
  }

  struct Moments {
    double mean, sd, mean_error, sd_error;
  };
  /// The errors by the delta method: Σ w² (x - mean)² and Σ w² ((x - mean)² - variance)² over (Σ w)².
  Moments moments(double shift) const {
    const double m = w[1] / w[0], variance = w[2] / w[0] - m * m, sd = std::sqrt(variance);
    const double second = w2[2] - 2 * m * w2[1] + m * m * w2[0];
    const double fourth =
        w2[4] - 4 * m * w2[3] + 6 * m * m * w2[2] - 4 * m * m * m * w2[1] + m * m * m * m * w2[0];
    const double about_variance = fourth - 2 * variance * second + variance * variance * w2[0];
    return {m + shift, sd, std::sqrt(second) / w[0], std::sqrt(about_variance) / w[0] / (2 * sd)};
  }
};

/// The table of one model; empty if it was stopped.
std::string table(std::string_view name, std::string_view symbol, std::size_t draws,
                  const std::function<void()>& piece_done, const std::atomic<bool>& stop) {
  const models::DrawSource source = models::independent_draws(name);
  const AnyTarget target = models::make(name).target;
  const std::size_t size = target.names().size();

  // The first draw gives a scale of the weights, the first hundred a shift of the parameters.
  std::vector<double> place(target.dimension()), parameters(size), shift(size);
  double log_scale = 0;
  for (std::uint32_t n = 0; n < 100; ++n) {
    const double log_weight = source(Stream(truth_seed, n), place);
    if (n == 0) log_scale = log_weight;
    target.constrain(place, parameters);
    for (std::size_t i = 0; i < size; ++i) shift[i] += parameters[i] / 100;
  }

  const std::size_t pieces = draws / piece;
  std::vector<std::vector<Sums>> sums(pieces, std::vector<Sums>(size));
  ThreadPool(core_count()).for_each(pieces, [&](std::size_t k) {
    std::vector<double> theta(target.dimension()), x(size);
    for (std::size_t n = k * piece; n < (k + 1) * piece && !stop; ++n) {
      const double weight =
          std::exp(source(Stream(truth_seed, static_cast<std::uint32_t>(n)), theta) - log_scale);
      target.constrain(theta, x);
      for (std::size_t i = 0; i < size; ++i) sums[k][i].add(weight, x[i] - shift[i]);
    }
    piece_done();
  });
  if (stop) return {};
  for (std::size_t k = 1; k < pieces; ++k)
    for (std::size_t i = 0; i < size; ++i) sums[0][i].add(sums[k][i]);

  const Sums& any = sums[0][0];
  std::string text = fmt::format(
      "/// {} draws, worth {:.0f} unweighted ones.\ninline constexpr std::array<ReferenceMoment, {}> "
      "{}{{{{\n",
      draws, any.w[0] * any.w[0] / any.w2[0], size, symbol);
  for (std::size_t i = 0; i < size; ++i) {
    const auto m = sums[0][i].moments(shift[i]);
    text += fmt::format("    {{{:.6f}, {:.6f}, {:.6f}, {:.6f}}},\n", m.mean, m.sd, m.mean_error, m.sd_error);
  }
  return text + "}};\n";
}

}  // namespace

std::optional<std::string> make_truth(std::size_t draws,
                                      const std::function<void(std::size_t, std::size_t)>& progress,
                                      const std::atomic<bool>& stop) {
  std::mutex mutex;
  std::size_t done = 0;
  const std::size_t total = 2 * (draws / piece);
  const auto piece_done = [&] {
    const std::lock_guard lock(mutex);
    progress(++done, total);
  };
  const std::string logistic = table("logistic", "logistic_moments", draws, piece_done, stop);
  const std::string volatility =
      table("stochastic-volatility", "stochastic_volatility_moments", draws, piece_done, stop);
  if (stop) return std::nullopt;
  return "#pragma once\n"
         "// Moments of the posteriors that have no closed form, from independent draws by importance "
         "sampling. Made by\n// `onward bench posteriors --make-truth > models/reference_moments.hpp`; not "
         "to be edited.\n\n#include <array>\n\nnamespace onward::models {\n\nstruct ReferenceMoment {\n  "
         "double mean, sd;\n  double mean_error, sd_error;  ///< their standard errors\n};\n\n"
         "// clang-format off\n\n" +
         logistic + "\n" + volatility + "\n// clang-format on\n\n}  // namespace onward::models\n";
}

}  // namespace onward::bench
