#pragma once
// Targets that can be drawn from directly, and whose draws can be turned back into variables of mean 0 and
// variance 1: what invariance is tested on.

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "models/funnel.hpp"
#include "models/rosenbrock.hpp"
#include "onward/ad/ad.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"

namespace onward::testing {

/// A target with a way to draw from it, from standard normals and uniforms.
struct Drawable {
  std::string name;
  AnyTarget target;
  std::function<void(const Stream&, std::vector<double>&)> draw;
  std::function<std::vector<double>(const std::vector<double>&)>
      normals;  // the draw turned back: standard normal if exact
};

/// Correlated normal in three dimensions: x = A z.
inline Drawable gaussian() {
  // A = [[1,0,0],[0.8,0.6,0],[-2,1,3]]; log density -½|A⁻¹x|²
  const auto back = [](const auto& x) {
    auto z0 = x[0];
    auto z1 = (x[1] - 0.8 * z0) / 0.6;
    auto z2 = (x[2] + 2.0 * z0 - z1) / 3.0;
    return std::array{z0, z1, z2};
  };
  return {"gaussian",
          target(3,
                 [back](const auto& x) {
                   const auto z = back(x);
                   return -0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
                 }),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(3);
            stream.normals(0, Purpose::start, z);
            x = {z[0], 0.8 * z[0] + 0.6 * z[1], -2 * z[0] + z[1] + 3 * z[2]};
          },
          [back](const std::vector<double>& x) {
            const auto z = back(x);
            return std::vector<double>{z[0], z[1], z[2]};
          }};
}

inline Drawable funnel() {
  return {"funnel", target(3, models::FunnelDensity{}),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(3);
            stream.normals(0, Purpose::start, z);
            const double w = 3 * z[0], scale = std::exp(-w / 2);
            x = {w, scale * z[1], scale * z[2]};
          },
          [](const std::vector<double>& x) {
            const double scale = std::exp(x[0] / 2);
            return std::vector<double>{x[0] / 3, scale * x[1], scale * x[2]};
          }};
}

inline Drawable rosenbrock() {
  return {"rosenbrock", target(2, models::RosenbrockDensity{}),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(2);
            stream.normals(0, Purpose::start, z);
            const double a = 1 + z[0] * std::sqrt(0.5);
            x = {a, a * a + z[1] * std::sqrt(0.005)};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{(x[0] - 1) / std::sqrt(0.5), (x[1] - x[0] * x[0]) / std::sqrt(0.005)};
          }};
}

/// Uniform on (0, 1), brought to mean 0 and variance 1.
inline double standardised(double u) { return std::sqrt(12.0) * (u - 0.5); }

/// The logistic distribution: nearly linear tails, where curvature vanishes and the floor acts.
inline Drawable logistic() {
  return {"logistic", target(1, [](const auto& x) { return x[0] - 2.0 * softplus(x[0]); }),
          [](const Stream& stream, std::vector<double>& x) {
            const double u = stream.uniform(0, Purpose::start);
            x = {std::log(u / (1 - u))};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{standardised(inv_logit(x[0]))};  // inv_logit(x) is uniform
          }};
}

/// Five dimensions, variances from 1 to 100, turned so that no axis is special.
inline Drawable conditioned_gaussian() {
  const auto scale = [](std::size_t i) { return std::pow(10.0, static_cast<double>(i) / 4); };
  // The reflection x - (2/5) (Σ x) 1 is its own inverse.
  const auto reflect = [](const auto& x) {
    auto y = std::array{x[0], x[1], x[2], x[3], x[4]};
    const auto shift = 0.4 * (x[0] + x[1] + x[2] + x[3] + x[4]);
    for (auto& entry : y) entry -= shift;
    return y;
  };
  return {"gaussian of condition 100",
          target(5,
                 [=](const auto& x) {
                   auto z = reflect(x);
                   for (std::size_t i = 0; i < 5; ++i) z[i] /= scale(i);
                   return -0.5 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2] + z[3] * z[3] + z[4] * z[4]);
                 }),
          [=](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(5);
            stream.normals(0, Purpose::start, z);
            for (std::size_t i = 0; i < 5; ++i) z[i] *= scale(i);
            const auto y = reflect(z);
            x.assign(y.begin(), y.end());
          },
          [=](const std::vector<double>& x) {
            const auto y = reflect(x);
            std::vector<double> z(y.begin(), y.end());
            for (std::size_t i = 0; i < 5; ++i) z[i] /= scale(i);
            return z;
          }};
}

/// 0.3 N(-2, 1) + 0.7 N(2, 0.5²): convex between the modes.
inline Drawable mixture() {
  return {"mixture",
          target(1,
                 [](const auto& x) {
                   const auto left = x[0] + 2.0, right = (x[0] - 2.0) / 0.5;
                   return log_sum_exp(std::log(0.3) - 0.5 * left * left,
                                      std::log(0.7 / 0.5) - 0.5 * right * right);
                 }),
          [](const Stream& stream, std::vector<double>& x) {
            const double z = stream.normal(0, Purpose::start);
            x = {stream.uniform(1, Purpose::start) < 0.3 ? z - 2 : 0.5 * z + 2};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{
                standardised(0.3 * normal_cdf(x[0] + 2) + 0.7 * normal_cdf((x[0] - 2) / 0.5))};
          }};
}

/// Heavy tails; convex beyond √3.
inline Drawable student_t3() {
  return {"student-t3", target(1, [](const auto& x) { return -2.0 * log1p(x[0] * x[0] / 3.0); }),
          [](const Stream& stream, std::vector<double>& x) {
            std::vector<double> z(4);
            stream.normals(0, Purpose::start, z);
            x = {z[0] / std::sqrt((z[1] * z[1] + z[2] * z[2] + z[3] * z[3]) / 3)};
          },
          [](const std::vector<double>& x) {
            const double t = x[0] / std::sqrt(3.0);
            return std::vector<double>{standardised(0.5 + (std::atan(t) + t / (1 + t * t)) / M_PI)};
          }};
}

/// The logarithm of a gamma variable of whole shape: one tail linear, the other double exponential.
inline Drawable log_gamma(int shape) {
  return {"log-gamma of shape " + std::to_string(shape),
          target(1, [shape](const auto& x) { return static_cast<double>(shape) * x[0] - exp(x[0]); }),
          [shape](const Stream& stream, std::vector<double>& x) {
            std::vector<double> u(static_cast<std::size_t>(shape));
            stream.uniforms(0, Purpose::start, u);
            double sum = 0;
            for (double entry : u) sum -= std::log(entry);
            x = {std::log(sum)};
          },
          [shape](const std::vector<double>& x) {
            const double g = std::exp(x[0]);
            double term = 1, below = 0;  // 1 - exp(-g) Σ gᵏ/k!
            for (int k = 0; k < shape; term *= g / ++k) below += term;
            return std::vector<double>{standardised(1 - below * std::exp(-g))};
          }};
}

/// The logarithm of a half-Cauchy variable, a common prior of scales: both tails linear.
inline Drawable log_half_cauchy() {
  return {"log-half-cauchy", target(1, [](const auto& x) { return x[0] - softplus(2.0 * x[0]); }),
          [](const Stream& stream, std::vector<double>& x) {
            x = {std::log(std::tan(M_PI / 2 * stream.uniform(0, Purpose::start)))};
          },
          [](const std::vector<double>& x) {
            return std::vector<double>{standardised(2 / M_PI * std::atan(std::exp(x[0])))};
          }};
}

/// A normal in any dimension with standard deviations from 1 to 3, turned so that no axis is special.
inline Drawable wide_gaussian(std::size_t dimension) {
  const auto scale = [dimension](std::size_t i) {
    return std::pow(3.0, static_cast<double>(i) / static_cast<double>(dimension - 1));
  };
  // x = z - (2/D) (Σ z) 1, a reflection, which is its own inverse
  const auto shift = [dimension](const auto& x) {
    auto sum = x[0] + 0.0;
    for (std::size_t i = 1; i < dimension; ++i) sum += x[i];
    return sum * (2.0 / static_cast<double>(dimension));
  };
  return {"gaussian in " + std::to_string(dimension) + " dimensions",
          target(dimension,
                 [=](const auto& x) {
                   const auto s = shift(x);
                   auto sum = 0.0 * s;
                   for (std::size_t i = 0; i < dimension; ++i) {
                     const auto z = (x[i] - s) / scale(i);
                     sum += z * z;
                   }
                   return -0.5 * sum;
                 }),
          [=](const Stream& stream, std::vector<double>& x) {
            stream.normals(0, Purpose::start, x);
            for (std::size_t i = 0; i < dimension; ++i) x[i] *= scale(i);
            const double s = shift(x);
            for (double& entry : x) entry -= s;
          },
          [=](const std::vector<double>& x) {
            std::vector<double> z = x;
            const double s = shift(x);
            for (std::size_t i = 0; i < dimension; ++i) z[i] = (z[i] - s) / scale(i);
            return z;
          }};
}

}  // namespace onward::testing
