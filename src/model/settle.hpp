#pragma once
// What a model has to say of a run before it begins.

#include "onward/model/model.hpp"

namespace onward::detail {

/// Fills in what settings leave to the model, such as where chains begin, and tells its notes. Throws Error
/// if the data cannot be sampled so.
void settle(const Model& model, RunSettings& settings, const Hooks& hooks);

}  // namespace onward::detail
