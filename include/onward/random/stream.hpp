#pragma once
// Random numbers as a function of where they are used: (seed, chain, step, purpose, index). No state.
//
// Philox turns a counter into a block of 128 random bits. The key is the 64-bit seed; the counter's words are
//   c0   number of the block
//   c1   lower 32 bits of the step
//   c2   upper 16 bits of the step, plus 2^16 times the purpose
//   c3   chain
// Different (chain, step, purpose, block) are different counters, and Philox maps counters one to one under a
// key: no two uses share a block.
//
// Element i of a sequence comes from block i/2, words w0 w1 w2 w3, by way of two fractions of 53 bits:
//   u = (2^32 floor(w1 / 2^11) + w0) / 2^53   and   u' = (2^32 floor(w3 / 2^11) + w2) / 2^53.
// Uniforms: u for even i and u' for odd i, with 2^-54 in place of 0.
// Normals (Box-Muller): radius r = sqrt(-2 log(1 - u)), angle a = pi/2 (u' - 1/2) in the quarter circle
// around 0, and the point (r cos a, r sin a). If bit 0 of w3 is set the first coordinate changes sign; then,
// if bit 1 is, the coordinates change places. Even i gets the first, odd i the second. So an element does not
// depend on the length of its sequence, and can be had alone.
//
// The arithmetic is the same for every element, so the bits do not depend on the width of a register. They do
// depend on whether the machine fuses a*b + c (simd::has_fused_mul_add).

#include <array>
#include <cstdint>
#include <onward/simd/batch.hpp>
#include <span>

namespace onward {

/// What a random number is for; numbers of different purposes are independent. The values are part of what a
/// seed means: add at the end, never renumber.
enum class Purpose : std::uint16_t {
  direction = 0,          ///< the direction of a step
  reverse_direction = 1,  ///< the direction of the reverse move, where it is another one
  noise = 2,              ///< the noise of a proposal
  accept = 3,             ///< the acceptance test
  start = 4,              ///< starting points
  shuffle = 5,            ///< orders, permutations and choices between kinds of moves
  frame = 6,              ///< orthonormal frames of directions
  generated = 7,          ///< quantities that are generated from a draw
};

/// The random numbers of one chain. A small value; every method is a pure function of its arguments.
class Stream {
 public:
  /// The stream of a chain (counted from 0) under a seed.
  Stream(std::uint64_t seed, std::uint32_t chain) : seed_(seed), chain_(chain) {}

  std::uint64_t seed() const { return seed_; }
  std::uint32_t chain() const { return chain_; }

  /// The 128 random bits of a block, lowest word first. Steps count up to 2^48.
  std::array<std::uint32_t, 4> block(std::uint64_t step, Purpose purpose, std::uint32_t index) const;

  /// Uniform numbers in (0, 1), of 53 bits, never 0 or 1.
  void uniforms(std::uint64_t step, Purpose purpose, std::span<double> out) const;
  /// Standard normal numbers.
  void normals(std::uint64_t step, Purpose purpose, std::span<double> out) const;
  /// Its entries from `first`, which is even, on.
  void normals(std::uint64_t step, Purpose purpose, std::size_t first, std::span<double> out) const;
  /// A vector uniform on the unit sphere: normals divided by their norm.
  void direction(std::uint64_t step, Purpose purpose, std::span<double> out) const;

  /// Element `index` of what uniforms() writes.
  double uniform(std::uint64_t step, Purpose purpose, std::uint64_t index = 0) const;
  /// Element `index` of what normals() writes.
  double normal(std::uint64_t step, Purpose purpose, std::uint64_t index = 0) const;

 private:
  std::uint64_t seed_;
  std::uint32_t chain_;
};

/// The streams of as many consecutive chains as a register has lanes: lane j is Stream(seed, first_chain +
/// j), bit for bit.
class StreamBatch {
 public:
  using Real = simd::Batch<double>;

  /// The streams of the chains from first_chain on.
  StreamBatch(std::uint64_t seed, std::uint32_t first_chain) : seed_(seed), first_chain_(first_chain) {}

  std::uint64_t seed() const { return seed_; }
  std::uint32_t first_chain() const { return first_chain_; }

  /// As Stream::uniforms, for every lane.
  void uniforms(std::uint64_t step, Purpose purpose, std::span<Real> out) const;
  /// As Stream::normals, for every lane.
  void normals(std::uint64_t step, Purpose purpose, std::span<Real> out) const;
  /// As Stream::direction, for every lane.
  void direction(std::uint64_t step, Purpose purpose, std::span<Real> out) const;

  /// As Stream::uniform, for every lane.
  Real uniform(std::uint64_t step, Purpose purpose, std::uint64_t index = 0) const;
  /// As Stream::normal, for every lane.
  Real normal(std::uint64_t step, Purpose purpose, std::uint64_t index = 0) const;

 private:
  std::uint64_t seed_;
  std::uint32_t first_chain_;
};

}  // namespace onward
