#pragma once
// The built-in models by name, with what is known about their answers.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onward/target/target.hpp"

namespace onward::models {

/// What a user can say about a built-in model besides its name.
struct ModelOptions {
  std::optional<std::size_t> dimension;
  std::optional<double> condition;  ///< gaussian: ratio of the largest to the smallest variance
};

struct ModelInfo {
  std::string_view name;
  std::string_view summary;
  std::size_t default_dimension;
  bool has_dimension;  ///< takes a dimension
  bool has_condition;  ///< takes a condition
};

/// Mean and standard deviation of each reported parameter where they are known: exactly, or from independent
/// draws (independent_draws.hpp), then with the standard errors of both.
struct KnownMoments {
  std::vector<double> mean, sd;
  std::vector<double> mean_error = {}, sd_error = {};  ///< empty: exact
};

struct Model {
  AnyTarget target;
  std::optional<KnownMoments> known;
};

std::span<const ModelInfo> list();

/// Throws UsageError for an unknown name (with the nearest one), or an option the model does not have.
Model make(std::string_view name, const ModelOptions& options = {});

}  // namespace onward::models
