#pragma once
// Draws of the built-in models that owe nothing to a Markov chain: made directly from normals and uniforms,
// or by importance sampling where that cannot be. Samplers are measured against what these say.

#include <functional>
#include <span>
#include <string_view>

#include "models.hpp"
#include "onward/random/stream.hpp"

namespace onward::models {

/// Writes one draw, in the space that is sampled, to `out` and returns the logarithm of its weight, up to a
/// constant of the source: always 0 where draws are exact. All randomness is the stream's: another chain
/// number gives another, independent draw. May be called from several threads at once.
using DrawSource = std::function<double(const Stream& stream, std::span<double> out)>;

/// The source of a model, by the names and options of models::make(). Making it may take some seconds, which
/// importance sampling needs to find its proposal.
DrawSource independent_draws(std::string_view name, const ModelOptions& options = {});

}  // namespace onward::models
