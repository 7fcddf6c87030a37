#pragma once
// Simulators outside this process as kinds of models: `onward sample umbridge:URL` and `program:./simulate`.

#include "onward/model/registry.hpp"

namespace onward::detail {

ModelKind umbridge_kind();
ModelKind program_kind();

}  // namespace onward::detail
