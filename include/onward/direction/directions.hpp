#pragma once
// Where directions come from. Each source is a function of (stream, step) that ignores the state; what it
// keeps is a cache. It writes a whole vector and says where it has entries that are not zero. The metric
// scales what comes out of here.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "onward/direction/law.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/direction.hpp"
#include "onward/target/parameter_block.hpp"

namespace onward {

/// Independent and uniform on the sphere.
class SphereDirections {
 public:
  static constexpr DirectionLaw law = DirectionLaw::independent;
  Support fill(const Stream& stream, std::uint64_t step, std::span<double> v) {
    stream.direction(step, Purpose::direction, v);
    return {0, v.size()};
  }
  void fill_reverse(const Stream& stream, std::uint64_t step, std::span<double> v) {
    stream.direction(step, Purpose::reverse_direction, v);
  }
};

/// For FMALA: v uniform on the sphere and v* uniform on what is orthogonal to it, two vectors of one random
/// frame.
class OrthogonalPairs {
 public:
  static constexpr DirectionLaw law = DirectionLaw::exchangeable;
  Support fill(const Stream& stream, std::uint64_t step, std::span<double> v) {
    stream.direction(step, Purpose::direction, v);
    return {0, v.size()};
  }
  void fill_reverse(const Stream& stream, std::uint64_t step, std::span<double> v);

 private:
  std::vector<double> forward_;
};

/// The D vectors of a random orthonormal frame in turn, then those of a new frame: a whitened normal is
/// renewed in about 7D/6 steps instead of 2D. Up to `haar_limit` dimensions frames are uniform over all
/// rotations, by Gram and Schmidt, in D² operations a vector. Above it a frame is the Hartley matrix
/// cas(2πij/D)/√D, which is orthonormal for every D, with random signs for its rows: D operations a vector
/// and no memory to speak of.
class FrameDirections {
 public:
  static constexpr DirectionLaw law = DirectionLaw::any;
  static constexpr std::size_t haar_limit = 16;
  explicit FrameDirections(std::size_t dimension);
  Support fill(const Stream& stream, std::uint64_t step, std::span<double> v);

 private:
  void new_frame(const Stream& stream, std::uint64_t frame);

  std::size_t dimension_;
  std::uint64_t frame_ = ~std::uint64_t{0};  // which one is in the cache, and of which stream
  std::uint64_t seed_ = 0;
  std::uint32_t chain_ = 0;
  std::vector<double> vectors_;      // Haar: one after the other
  std::vector<double> signs_, cas_;  // Hartley; the factor 1/√D is in the table
};

/// Axis after axis.
class AxisDirections {
 public:
  static constexpr DirectionLaw law = DirectionLaw::any;
  Support fill(const Stream& stream, std::uint64_t step, std::span<double> v);
};

/// Block after block of parameters, each with the directions of frames within it. A sweep of D steps gives a
/// block of k parameters k of them; of more than `longest_sweep` parameters a sweep is of about `short_sweep`
/// steps, and gives each block its share and at least one, so that no part of a large model waits for the end
/// of the run. The next sweep goes on with the frame of each block.
class BlockDirections {
 public:
  static constexpr DirectionLaw law = DirectionLaw::any;
  static constexpr std::size_t longest_sweep = 1000, short_sweep = 100;
  using Blocks = std::vector<std::vector<std::size_t>>;
  /// Together the blocks must hold every parameter once.
  BlockDirections(std::size_t dimension, Blocks blocks);
  Support fill(const Stream& stream, std::uint64_t step, std::span<double> v);

 private:
  Blocks blocks_;
  std::vector<Support> supports_;                  // the stretch of parameters that each lies in
  std::map<std::size_t, FrameDirections> frames_;  // by size: blocks of one size share theirs
  std::vector<std::size_t> begin_;  // first step of each block within a sweep; then the sweep's length
  std::vector<double> inside_;
};

/// For each sweep of D steps one source, by weight; of more than BlockDirections::longest_sweep parameters
/// for each `short_stretch` steps.
class MixedDirections {
 public:
  static constexpr DirectionLaw law = DirectionLaw::any;
  static constexpr std::size_t short_stretch = 10;
  using Source = std::variant<SphereDirections, FrameDirections, AxisDirections, BlockDirections>;
  struct Part {
    double weight;
    Source source;
  };
  MixedDirections(std::size_t dimension, std::vector<Part> parts);
  Support fill(const Stream& stream, std::uint64_t step, std::span<double> v);

 private:
  std::size_t stretch_;  // steps with one source
  std::vector<Part> parts_;
};

/// Any source.
using Directions = std::variant<SphereDirections, OrthogonalPairs, FrameDirections, AxisDirections,
                                BlockDirections, MixedDirections>;

/// A source by its name for a kernel that needs that law of its directions. Names: auto, sphere, frames,
/// axes, blocks (parameters of one name are a block: theta.1 and theta.2), blocks:mu+tau,theta (as listed),
/// units (of a network: what one unit takes in, its weights and its bias, is a block), and mixtures with
/// weights such as frames*3+axes. auto is frames for line kernels and sphere for the others. A model that has
/// blocks of its own is cut into these, and they are listed by their names. Throws UsageError for an unknown
/// name or one that the kernel cannot use.
Directions make_directions(const std::string& name, DirectionLaw needed, std::size_t dimension,
                           const std::vector<std::string>& parameter_names,
                           const std::vector<ParameterBlock>& blocks = {});

/// auto resolved: what make_directions() takes it for.
std::string resolve_directions(const std::string& name, DirectionLaw needed);

/// The random numbers of one step with directions from a source. The source outlives it.
template <class Source>
class SourcedRandom {
 public:
  static constexpr DirectionLaw law = Source::law;
  SourcedRandom(const Stream& stream, std::uint64_t step, Source& source)
      : stream_(&stream), step_(step), source_(&source) {}

  std::uint64_t number() const { return step_; }  ///< of the step
  void noise(std::span<double> z) const { stream_->normals(step_, Purpose::noise, z); }
  double noise(std::uint64_t index = 0) const { return stream_->normal(step_, Purpose::noise, index); }
  Support direction(std::span<double> v) const { return source_->fill(*stream_, step_, v); }
  Support next_direction(std::span<double> v) const { return source_->fill(*stream_, step_ + 1, v); }
  void reverse_direction(std::span<double> v) const requires(law >= DirectionLaw::exchangeable) {
    source_->fill_reverse(*stream_, step_, v);
  }
  /// The stream that directions are read from again, if it is they and not the source's memory that give
  /// them.
  const Stream& sphere_stream() const requires std::same_as<Source, SphereDirections> { return *stream_; }
  double uniform(std::uint64_t index = 0) const { return stream_->uniform(step_, Purpose::accept, index); }
  double choice(std::uint64_t index = 0) const { return stream_->uniform(step_, Purpose::shuffle, index); }

 private:
  const Stream* stream_;
  std::uint64_t step_;
  Source* source_;
};

}  // namespace onward
