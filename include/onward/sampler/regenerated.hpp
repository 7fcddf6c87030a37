#pragma once
// Steps without vectors. A direction is a function of (stream, step), and so is noise: in place of holding
// them, a kernel can read them again wherever they are needed, a stretch at a time. Then a chain holds its
// position and nothing else of that size. It costs random numbers, a few nanoseconds each; the draws are the
// same, bit for bit.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "onward/random/stream.hpp"
#include "onward/simd/reduce.hpp"
#include "onward/target/vector_source.hpp"

namespace onward {

/// Where a kernel has its directions and its noise.
enum class Vectors {
  held,        ///< in memory
  regenerated  ///< nowhere: read from the stream at each use. For targets with jet_from(), directions on the
               ///< sphere and no metric
};

/// Whether a step's random numbers can be read again: those of one chain, directions of the stream itself.
template <class Real, class Random>
constexpr bool can_regenerate = !simd::is_batch_v<Real> && requires(const Random& random) {
  random.sphere_stream();
};

/// Entries that are worked on at a time: 32 kB.
using Stretch = std::array<double, 4096>;

template <class Use>
void for_stretches(std::size_t size, const Use& use) {
  constexpr std::size_t most = std::tuple_size_v<Stretch>;
  for (std::size_t first = 0; first < size; first += most) use(first, std::min(most, size - first));
}

/// A direction that is uniform on the sphere, as Stream::direction() has it.
class UnitVector final : public VectorSource {
 public:
  /// Out of line: inlined, its stretch would make the frame of every step large.
  [[gnu::noinline]] UnitVector(const Stream& stream, std::uint64_t step, Purpose purpose, std::size_t size)
      : stream_(stream), step_(step), purpose_(purpose) {
    simd::SumOfSquares squares;
    for_stretches(size, [&](std::size_t first, std::size_t count) {
      Stretch normals;
      stream_.normals(step_, purpose_, first, std::span(normals).first(count));
      squares.add(std::span(normals).first(count));
    });
    // Normals that are all zero do not occur: one has 53 random bits.
    factor_ = 1 / std::sqrt(squares.sum());
  }
  VectorView read(std::size_t first, std::span<double> scratch) const override {
    stream_.normals(step_, purpose_, first, scratch);
    for (double& x : scratch) x *= factor_;
    return scratch;
  }

 private:
  Stream stream_;
  std::uint64_t step_;
  Purpose purpose_;
  double factor_;
};

/// The noise of a step.
class NoiseVector final : public VectorSource {
 public:
  NoiseVector(const Stream& stream, std::uint64_t step) : stream_(stream), step_(step) {}
  VectorView read(std::size_t first, std::span<double> scratch) const override {
    stream_.normals(step_, Purpose::noise, first, scratch);
    return scratch;
  }

 private:
  Stream stream_;
  std::uint64_t step_;
};

/// A vector that a function writes: write(first, out), no more than a Stretch at a time.
template <class Write>
class ComputedVector final : public VectorSource {
 public:
  explicit ComputedVector(Write write) : write_(std::move(write)) {}
  VectorView read(std::size_t first, std::span<double> scratch) const override {
    for_stretches(scratch.size(),
                  [&](std::size_t at, std::size_t count) { write_(first + at, scratch.subspan(at, count)); });
    return scratch;
  }
  /// All of it, also to a vector that it is computed from, entry by entry.
  void write_to(std::span<double> out) const {
    for_stretches(out.size(), [&](std::size_t first, std::size_t count) {
      Stretch stretch;
      write_(first, std::span(stretch).first(count));
      std::copy_n(stretch.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(first));
    });
  }

 private:
  Write write_;
};

}  // namespace onward
