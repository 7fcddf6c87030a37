#pragma once
// How well a model predicts, as JSON has it.

#include <nlohmann/json.hpp>

#include "onward/diagnostics/loo.hpp"

namespace onward {

/// The totals.
nlohmann::ordered_json loo_json(const Loo& result);
nlohmann::ordered_json loo_json(const Waic& result);

/// One list for each figure, with an entry for each observation.
nlohmann::ordered_json pointwise_json(const Loo& result);
nlohmann::ordered_json pointwise_json(const Waic& result);

}  // namespace onward
