#pragma once
// Random numbers one after the other, from a place in a stream: for draws from distributions, which take as
// many numbers as it happens.

#include <cstdint>

#include "onward/random/stream.hpp"

namespace onward {

/// Random numbers one after the other. Each takes a block of bits of its own.
class RandomSequence {
 public:
  RandomSequence(const Stream& stream, std::uint64_t step, Purpose purpose = Purpose::noise)
      : stream_(stream), step_(step), purpose_(purpose) {}

  double uniform() { return stream_.uniform(step_, purpose_, next()); }
  double normal() { return stream_.normal(step_, purpose_, next()); }
  /// Of scale 1. The shape is above 0.
  double gamma(double shape);
  /// Means above 1e8 are taken for those of a normal distribution, rounded.
  double poisson(double mean);
  /// Successes among `trials` with log odds eta; rounded normal numbers where the variance is above 1e8.
  double binomial(double trials, double eta);

 private:
  std::uint64_t next() { return next_ += 2; }  // two elements share a block

  Stream stream_;
  std::uint64_t step_, next_ = 0;
  Purpose purpose_;
};

}  // namespace onward
