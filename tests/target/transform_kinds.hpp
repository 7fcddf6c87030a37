#pragma once
// Every kind of transform in one shape, so that one check serves all.

#include <cstddef>
#include <random>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "onward/target/transform.hpp"

namespace onward {

/// A scalar kind in the shape of the others.
template <class Transform>
struct AsVector {
  Transform transform;
  std::size_t unconstrained_size() const { return 1; }
  std::size_t size() const { return 1; }
  template <class T>
  void constrain(std::span<const T> u, std::span<T> x, T& log_jacobian) const {
    x[0] = transform.constrain(u[0], log_jacobian);
  }
  void unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const {
    u[0] = transform.unconstrain(x[0], name);
  }
};
template <class Transform>
AsVector(Transform) -> AsVector<Transform>;

using Numbers = std::vector<double>;

struct Image {
  Numbers x;
  double log_jacobian = 0;
};

template <class Transform>
Image image(const Transform& transform, const Numbers& u) {
  Image result{Numbers(transform.size()), 0};
  transform.constrain(std::span<const double>(u), std::span<double>(result.x), result.log_jacobian);
  return result;
}

/// The coordinates of x in which its density is written: all, but for a simplex all but the last one, and for
/// a Cholesky factor those below the diagonal.
template <class Transform>
std::vector<std::size_t> coordinates(const Transform& transform) {
  std::vector<std::size_t> result;
  if constexpr (std::is_same_v<Transform, transform::CholeskyCorrelation>) {
    for (std::size_t i = 0; i < transform.rows(); ++i) {
      for (std::size_t j = 0; j < i; ++j) result.push_back(i + j * transform.rows());
    }
  } else {
    for (std::size_t k = 0; k < transform.unconstrained_size(); ++k) result.push_back(k);
  }
  return result;
}

/// Runs a check on every kind.
template <class Check>
void for_each_kind(Check check) {
  const auto named = [&](const char* name, const auto& transform) {
    SCOPED_TRACE(name);
    check(transform);
  };
  named("real", AsVector{transform::Real{}});
  named("positive", AsVector{transform::Positive{}});
  named("lower", AsVector{transform::Lower(-1.5)});
  named("upper", AsVector{transform::Upper(2.5)});
  named("interval", AsVector{transform::Interval(-0.3, 4.1)});
  named("ordered", transform::Ordered(4));
  named("positive ordered", transform::PositiveOrdered(4));
  named("simplex", transform::Simplex(5));
  named("simplex of 1", transform::Simplex(1));
  named("cholesky", transform::CholeskyCorrelation(4));
  named("cholesky of 1", transform::CholeskyCorrelation(1));
}

inline Numbers random_numbers(std::size_t size, double scale, std::mt19937& generator) {
  std::normal_distribution<double> normal(0.0, scale);
  Numbers result(size);
  for (double& number : result) number = normal(generator);
  return result;
}

}  // namespace onward
