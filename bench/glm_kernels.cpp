// The heart of the regression engine: products with a matrix of bytes against a BLAS on the same floats, what
// a row costs in a jet, and effective draws a second of a logistic regression.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <Eigen/Core>

#include "bench.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/glm/design.hpp"
#include "onward/glm/family.hpp"
#include "onward/glm/model.hpp"
#include "onward/random/stream.hpp"
#include "onward/util/clock.hpp"
#include "regression_data.hpp"

namespace onward::bench {
namespace {

using namespace glm;

/// Images of the size and sparsity of handwritten digits: a margin without ink, a third of the rest inked.
std::vector<std::uint8_t> made_up_images(std::size_t count, std::size_t side) {
  std::vector<std::uint8_t> pixels(count * side * side);
  std::vector<double> u(side * side);
  for (std::size_t i = 0; i < count; ++i) {
    Stream(1, 0).uniforms(i, Purpose::noise, u);
    for (std::size_t j = 0; j < u.size(); ++j) {
      const std::size_t row = j / side, column = j % side;
      const bool inside = std::min({row, column, side - 1 - row, side - 1 - column}) >= 4;
      pixels[i * u.size() + j] = static_cast<std::uint8_t>(inside && u[j] < 0.37 ? 600 * u[j] : 0);
    }
  }
  return pixels;
}

/// cblas_sgemm of OpenBLAS where that is installed. Loaded when asked for: linked, it would start its threads
/// in every run of the program.
using Sgemm = void (*)(int order, int a, int b, int m, int n, int k, float alpha, const float*, int,
                       const float*, int, float beta, float*, int);
Sgemm find_sgemm() {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm")) : nullptr;
}

Row product_row(std::size_t threads) {
  constexpr std::size_t rows = 60'000, side = 28, columns = side * side, classes = 10;
  const auto pixels = made_up_images(rows, side);
  const Design x = Design::bytes(pixels, rows, columns, 1 / 255.0f, 0, false);
  std::vector<double> v(columns * classes);
  Stream(2, 0).normals(0, Purpose::noise, v);
  Floats out(padded_rows(rows) * classes);
  ThreadPool pool(threads);

  std::vector<float> floats(pixels.begin(), pixels.end()), factors(v.begin(), v.end()),
      product(rows * classes);
  const Sgemm sgemm = find_sgemm();
  const auto theirs = [&] {
    using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    constexpr int row_major = 101, plain = 111, transposed = 112;
    if (sgemm)
      sgemm(row_major, plain, transposed, rows, classes, columns, 1, floats.data(), columns, factors.data(),
            columns, 0, product.data(), classes);
    else
      Eigen::Map<Matrix>(product.data(), rows, classes).noalias() =
          Eigen::Map<const Matrix>(floats.data(), rows, columns) *
          Eigen::Map<const Matrix>(factors.data(), classes, columns).transpose();
    keep(static_cast<double>(product[0]));
  };
  const std::string peer = sgemm ? "OpenBLAS sgemm on floats" : "Eigen on floats, 1 thread";
  const Pair time = time_pair(
      [&] {
        x.multiply(v, classes, out.data(), pool);
        keep(static_cast<double>(out[0]));
      },
      theirs);
  return {fmt::format("60000 x 784 bytes times 784 x 10, {} threads", threads),
          time.first * 1e3,
          "ms",
          peer,
          time.second * 1e3,
          time.second / time.first};
}

Row jet_row(const RegressionData& data) {
  const std::size_t n = data.rows;
  const Observations y(Family::bernoulli, data.y);
  ThreadPool pool(1);
  Floats eta(padded_rows(n), 0.0f), d(eta.size(), 0.0f), next(eta.size(), 0.0f), moved(eta.size(), 0.0f);
  for (std::size_t i = 0; i < n; ++i) {
    eta[i] = static_cast<float>(2 * data.x[i * data.predictors]);
    d[i] = static_cast<float>(data.x[i * data.predictors + 1]);
    next[i] = static_cast<float>(data.x[i * data.predictors + 2]);
  }
  const Pair time = time_pair(
      [&] {
        const LineSums sums = y.sums(
            {.eta = eta.data(), .d = d.data(), .alpha = 0.01f, .next = next.data(), .moved = moved.data()},
            pool);
        keep(sums.value + sums.next_slope);
      },
      [&] {
        double value = 0, slope = 0, curvature = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double v = static_cast<double>(d[i]), t = static_cast<double>(eta[i]) + 0.01 * v;
          const double e = std::exp(-std::abs(t)), q = 1 / (1 + e), p = t > 0 ? q : e * q;
          value += data.y[i] * t - std::max(t, 0.0) - std::log1p(e);
          slope += (data.y[i] - p) * v;
          curvature -= e * q * q * v * v;
        }
        keep(value + slope + curvature);
      });
  const auto per_row = 1e9 / static_cast<double>(n);
  return {"a row of a logistic jet, with slope and curvature along the next axis",
          time.first * per_row,
          "ns",
          "double and the C library, next axis left out",
          time.second * per_row,
          time.second / time.first};
}

struct Effective {
  double seconds, least;  // the least bulk ESS of a parameter
};

Effective effective_draws(const RegressionData& data, std::size_t threads) {
  constexpr std::size_t chains = 4, draws = 1000;
  auto x = std::make_shared<Design>(
      Design::dense(std::span<const double>(data.x), data.rows, data.predictors, true));
  RegressionPosterior posterior(
      std::move(x), std::make_shared<Observations>(Family::bernoulli, data.y),
      {.coefficients = Prior::normal(0, 2.5), .intercept = Prior::normal(0, 10), .centre = false});
  const auto begin = Clock::now();
  const Run run = sample(regression_model(std::move(posterior)),
                         {.draws = draws, .chains = chains, .threads = threads, .seed = 1});
  const double seconds = seconds_since(begin);
  return {seconds, run.least_ess()};
}

Row ess_row(const RegressionData& data, std::size_t threads) {
  const Effective effective = effective_draws(data, threads);
  Row row{fmt::format("logistic regression {} x {}, least bulk ESS, {} threads", data.rows,
                      data.predictors + 1, threads),
          effective.least / effective.seconds, "/s"};
  if (threads == 2) {
    row.bar = ">= 2700 (6 times NUTS on whitened parameters)";
    row.met = row.value >= 2700;
  }
  return row;
}

}  // namespace

std::vector<Row> glm_kernels() {
  const std::size_t cores = core_count();
  const RegressionData data(10'000, 30);
  std::vector<Row> rows{product_row(cores), jet_row(data), ess_row(data, 1)};
  if (cores > 1) rows.push_back(ess_row(data, 2));
  return rows;
}

}  // namespace onward::bench
