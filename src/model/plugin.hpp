#pragma once
// Models in shared objects, by the C interface: `onward sample plugin:FILE.so`.

#include "onward/model/registry.hpp"
#include "onward/target/density.hpp"

namespace onward::detail {

ModelKind plugin_kind();
/// A model whose density is these functions.
Model density_model(DensityTarget target);

}  // namespace onward::detail
