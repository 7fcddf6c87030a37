#pragma once
// What a kernel may ask of its directions, and what a source of directions promises, as types: a kernel with
// a source that does not serve it does not compile.

namespace onward {

/// How directions are distributed, from the weakest promise to the strongest. All of them ignore the state.
/// - none: a kernel that takes no directions.
/// - any: a sequence that ignores the state and nothing more. Enough for line kernels, which go forth and
///   back along the same line.
/// - exchangeable: given the past, the direction v of a step and the direction v* of its way back can change
///   places: two independent draws of one law, or two vectors of one random frame. What FMALA and PC-FMALA
///   need; axes in a fixed order would bias them.
/// - independent: every direction is drawn by itself from one law. What the one-jet forms of those kernels
///   need, which keep v* as the next step's v.
enum class DirectionLaw { none, any, exchangeable, independent };

/// The law of the directions that come with a step's random numbers.
template <class Random>
constexpr DirectionLaw direction_law() {
  if constexpr (requires { Random::law; })
    return Random::law;
  else
    return DirectionLaw::independent;
}

/// Whether a source of directions, or the random numbers of a step, are good enough for a kernel.
template <class Random, class Kernel>
concept Serves = direction_law<Random>()
>= Kernel::needs;

}  // namespace onward
