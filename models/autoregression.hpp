#pragma once
// An autoregression of order K on a series from a file: y_t ~ N(alpha + Σ_k beta_k y_(t-k), sigma) for t > K,
// with alpha and beta ~ N(0, 10) and sigma ~ half-Cauchy(0, 2.5).

#include <cstddef>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "onward/ad/densities.hpp"
#include "onward/error.hpp"
#include "onward/io/vector_file.hpp"
#include "onward/model/registry.hpp"
#include "onward/target/callable.hpp"
#include "onward/target/parameters.hpp"

namespace onward::models {

inline AnyTarget autoregression(std::vector<double> series, std::size_t order) {
  auto parameters = Parameters{}.real("alpha").vector("beta", order).positive("sigma");
  return target(parameters, [y = std::make_shared<const std::vector<double>>(std::move(series)), order](
                                auto alpha, auto beta, auto sigma) {
    auto f = normal_lpdf(alpha, 0.0, 10.0) + cauchy_lpdf(sigma, 0.0, 2.5);
    for (std::size_t k = 0; k < order; ++k) f += normal_lpdf(beta[k], 0.0, 10.0);
    for (std::size_t t = order; t < y->size(); ++t) {
      auto mean = alpha;
      for (std::size_t k = 0; k < order; ++k) mean += beta[k] * (*y)[t - 1 - k];
      f += normal_lpdf((*y)[t], mean, sigma);
    }
    return f;
  });
}

inline ModelKind autoregression_kind() {
  using enum Option::Type;
  static constexpr std::size_t usual_order = 1, longest = 10'000'000;
  return {.name = "autoregression",
          .summary = "a series from a file, each value explained by those before it",
          .options = {{.name = "series",
                       .type = file,
                       .help = "the values in their order: a JSON array or .npy",
                       .required = true},
                      {.name = "lags",
                       .type = count,
                       .help = "how many values before it explain each value",
                       .otherwise = fmt::format("{}", usual_order),
                       .least = 1}},
          .build = [](const OptionValues& options, const BuildFor&) {
            const std::size_t order = options.count("lags").value_or(usual_order);
            auto series = read_vector(options.text("series"), longest);
            if (series.size() <= order)
              throw Error(
                  fmt::format("{} has {} values, too few for an autoregression of order {}: give a "
                              "longer series, or fewer `lags`",
                              options.text("series"), series.size(), order));
            Model model(autoregression(std::move(series), order));
            model.spec.options["lags"] = order;
            return model;
          }};
}

}  // namespace onward::models
