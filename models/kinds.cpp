#include "kinds.hpp"

#include <fmt/format.h>

#include "autoregression.hpp"
#include "models.hpp"
#include "onward/model/registry.hpp"

namespace onward::models {

void register_models(ModelRegistry& registry) {
  for (const ModelInfo& info : list()) {
    ModelKind kind{.name = std::string(info.name), .summary = std::string(info.summary)};
    if (info.has_dimension)
      kind.options.push_back({.name = "dim",
                              .type = Option::Type::count,
                              .help = "size of the model",
                              .otherwise = fmt::format("{}", info.default_dimension),
                              .least = 1});
    if (info.has_condition)
      kind.options.push_back({.name = "condition",
                              .type = Option::Type::number,
                              .help = "ratio of its largest to its smallest variance",
                              .otherwise = "1"});
    kind.build = [info](const OptionValues& options, const BuildFor&) {
      ModelOptions given;
      if (info.has_dimension) given.dimension = options.count("dim");
      if (info.has_condition) given.condition = options.number("condition");
      return onward::Model(make(info.name, given).target);
    };
    registry.add(std::move(kind));
  }
  registry.add(autoregression_kind());
}

}  // namespace onward::models
