#pragma once
// The number of a column in the type that Eigen counts with.

#include <cstddef>

#include <Eigen/Core>

namespace onward::glm {

inline Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace onward::glm
