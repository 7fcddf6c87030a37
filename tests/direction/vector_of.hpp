#pragma once
// The direction that a source has for a step, as a vector.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onward/direction/directions.hpp"

namespace onward {

template <class Source>
std::vector<double> vector_of(Source& source, const Stream& stream, std::uint64_t step, std::size_t size) {
  std::vector<double> v(size, 99.0);
  source.fill(stream, step, v);
  return v;
}

}  // namespace onward
