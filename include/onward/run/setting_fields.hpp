#pragma once
// The fields of RunSettings as options: how each is described, read and written, and for which samplers it
// changes anything. Command lines, run.json and other languages go through this one list; what samplers
// describe as options of their own (sampler/samplers.hpp) comes besides.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onward/run/settings.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward {

struct SettingField {
  Option option;
  nlohmann::ordered_json (*get)(const RunSettings&);  ///< null: it is left open
  void (*set)(RunSettings&, const nlohmann::ordered_json&);
  bool (*concerns)(const SamplerInfo&) = nullptr;  ///< nothing here: it concerns all samplers
  bool stored = true;                              ///< in run.json: the number of threads decides nothing
  bool optional = false;                           ///< some runs have none of it
};
std::span<const SettingField> setting_fields();

/// Whether a field, or an option of some sampler, changes anything for this one.
bool concerns(std::string_view field, const SamplerInfo& sampler);

/// What decides the draws, one flat object; fields that do not concern the sampler are left out.
nlohmann::ordered_json settings_json(const RunSettings& resolved);

/// From such an object, so that the same draws come again. A start that is told by a word, such as the name
/// of a file, is left for whoever builds the model: `start.word` has it. Throws UsageError for fields that
/// are not known and values that cannot be.
RunSettings settings_from_json(const nlohmann::ordered_json& json);

/// What such an object does not say, though every run of its sampler has it: whoever reads it takes defaults.
std::vector<std::string> missing_settings(const nlohmann::ordered_json& json);

}  // namespace onward
