#include "onward/run/setting_fields.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

using nlohmann::ordered_json;
using enum Option::Type;

bool is_tuned(const SamplerInfo& sampler) { return sampler.tuned; }
bool is_directed(const SamplerInfo& sampler) { return sampler.directed; }
bool is_kernel(const SamplerInfo& sampler) { return sampler.kernel; }
bool regenerates(const SamplerInfo& sampler) { return sampler.regenerates; }

template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using type = T;
};
template <class T>
struct Unwrapped<Filled<T>> {
  using type = T;
};

/// A field that JSON holds as it is.
template <auto member>
SettingField plain(Option option, bool (*concerns)(const SamplerInfo&) = nullptr) {
  using Value = typename Unwrapped<std::remove_cvref_t<decltype(RunSettings{}.*member)>>::type;
  const auto get = [](const RunSettings& s) -> ordered_json {
    if constexpr (requires { (s.*member).has_value(); })
      return (s.*member).has_value() ? ordered_json(*(s.*member)) : ordered_json();
    else
      return s.*member;
  };
  const auto set = [](RunSettings& s, const ordered_json& value) { s.*member = value.get<Value>(); };
  SettingField field{std::move(option), get, set, concerns};
  // What is left open has no value to show: its description says what then holds.
  if (field.option.otherwise.empty()) field.option.usual = get(RunSettings{});
  return field;
}

ordered_json start_json(const RunSettings& s) {
  switch (s.start.kind) {
    case Start::Kind::zeros:
      return "zeros";
    case Start::Kind::random:
      return {{"random", s.start.scale}};
    case Start::Kind::given:
      break;
  }
  return s.start.word.empty() ? ordered_json(s.start.position) : ordered_json(s.start.word);
}

void set_start(RunSettings& s, const ordered_json& json) {
  if (json.is_array())
    s.start = {.kind = Start::Kind::given, .position = json.get<std::vector<double>>()};
  else if (json.is_object() && json.contains("random"))
    s.start = {.kind = Start::Kind::random, .scale = json.at("random").get<double>()};
  else if (json == "zeros")
    s.start = {.kind = Start::Kind::zeros};
  else
    s.start = {.kind = Start::Kind::given, .word = json.get<std::string>()};
}

/// What stands for a step size that warm-up finds.
constexpr const char* adapted = "adapted";

std::vector<SettingField> make_fields() {
  std::vector<SettingField> fields;
  fields.push_back(plain<&RunSettings::sampler>(
      {.name = "sampler",
       .help = "auto: short pilots choose; or a name of those that `onward samplers` lists"}));
  SettingField step_size = plain<&RunSettings::step_size>(
      {.name = "step_size", .type = number, .help = "fixed", .otherwise = "warm-up finds it"}, is_tuned);
  step_size.get = [](const RunSettings& s) {
    return s.step_size ? ordered_json(*s.step_size) : ordered_json(adapted);
  };
  fields.push_back(std::move(step_size));
  fields.push_back(plain<&RunSettings::adapt_in_warmup>(
      {.name = "adapt_in_warmup",
       .type = flag,
       .help = "with `step_size`: warm-up finds one of its own to learn the metric by"},
      is_tuned));
  fields.push_back(plain<&RunSettings::target_acceptance>({.name = "target_acceptance",
                                                           .type = number,
                                                           .help = "what warm-up steers to",
                                                           .otherwise = "the sampler's own",
                                                           .range = Range{.low = 0, .high = 1}},
                                                          is_tuned));
  fields.push_back(plain<&RunSettings::directions>(
      {.name = "directions",
       .help = "auto, sphere, frames, axes, blocks[:NAMES], units (of a network) or a mixture such as "
               "frames*3+axes"},
      is_directed));
  fields.push_back(
      {word_option<Vectors>({.name = "vectors",
                             .help = "held: directions and noise in memory; regenerated: read from their "
                                     "stream at each use, for large networks (sphere, no metric)",
                             .usual = "held"}),
       [](const RunSettings& s) { return ordered_json(to_string(s.vectors)); },
       [](RunSettings& s, const ordered_json& word) {
         s.vectors = from_word<Vectors>(word.get<std::string>());
       },
       regenerates});
  fields.push_back({{.name = "init",
                     .help = "start, in the space that is sampled: FILE (JSON array or .npy; net: also "
                             ".safetensors), zeros, random[:SCALE], or for net lecun",
                     .otherwise = "random; net: lecun"},
                    start_json,
                    set_start,
                    is_kernel});
  fields.push_back(
      {{.name = "metric",
        .type = word,
        .help = "what warm-up learns besides the step size: none, diag, dense or lowrank",
        .otherwise = "dense up to 100 parameters, lowrank above; none with `step_size`",
        .words = {"none", "diag", "dense", "lowrank"}},
       [](const RunSettings& s) { return s.metric ? ordered_json(to_string(*s.metric)) : ordered_json(); },
       [](RunSettings& s, const ordered_json& word) {
         s.metric = metric_from_string(word.get<std::string>());
       },
       is_kernel});
  fields.push_back(plain<&RunSettings::temperature>(
      {.name = "temperature", .type = number, .help = "samples density^(1/X)", .range = Range{}}, is_kernel));
  fields.push_back(
      plain<&RunSettings::warmup>({.name = "warmup",
                                   .type = count,
                                   .help = "steps of warm-up per chain",
                                   .otherwise = "1000, times D for line samplers; glm: 100 sweeps; net with "
                                                "more than 1000 parameters: 1000"}));
  fields.push_back(plain<&RunSettings::draws>(
      {.name = "draws", .type = count, .help = "draws kept per chain", .least = 1}));
  fields.push_back(plain<&RunSettings::thin>(
      {.name = "thin",
       .type = count,
       .help = "steps from one kept draw to the next",
       .otherwise = "by the pilots of the sampler auto; else 1, D for line samplers",
       .least = 1}));
  SettingField until_ess = plain<&RunSettings::until_ess>(
      {.name = "until_ess",
       .type = number,
       .help = "go on until every bulk and tail ESS is so large and R-hat < 1.01",
       .otherwise = "so many `draws` are made",
       .range = Range{}});
  until_ess.optional = true;
  fields.push_back(std::move(until_ess));
  SettingField min_draws = plain<&RunSettings::min_draws>(
      {.name = "min_draws",
       .type = count,
       .help =
           "`until_ess`: the draws of each chain after which it is first judged; then after twice as many, "
           "and so on",
       .least = 4});
  min_draws.get = [](const RunSettings& s) {
    return s.until_ess ? ordered_json(s.min_draws) : ordered_json();
  };
  min_draws.optional = true;
  fields.push_back(std::move(min_draws));
  fields.push_back(plain<&RunSettings::chains>(
      {.name = "chains", .type = count, .help = "independent chains", .least = 1}));
  SettingField threads = plain<&RunSettings::threads>(
      {.name = "threads",
       .type = count,
       .help = "0: as many as chains and cores allow; the draws do not depend on it"});
  threads.stored = false;
  fields.push_back(std::move(threads));
  fields.push_back(plain<&RunSettings::seed>({.name = "seed",
                                              .type = count,
                                              .help = "of the random numbers",
                                              .otherwise = "one is taken from the system and reported"}));
  fields.push_back(plain<&RunSettings::max_seconds>({.name = "max_seconds",
                                                     .type = number,
                                                     .help = "stop there and keep what there is; 0: no limit",
                                                     .range = Range{.low = 0, .from_low = true}}));
  return fields;
}

}  // namespace

std::span<const SettingField> setting_fields() {
  static const std::vector<SettingField> fields = make_fields();
  return fields;
}

bool concerns(std::string_view name, const SamplerInfo& sampler) {
  for (const auto& field : setting_fields())
    if (field.option.name == name) return field.concerns == nullptr || field.concerns(sampler);
  return sampler.has_option(name);
}

ordered_json settings_json(const RunSettings& s) {
  const SamplerInfo& sampler = find_sampler(s.sampler);
  ordered_json json;
  for (const auto& field : setting_fields()) {
    const std::string& name = field.option.name;
    if (!field.stored || !concerns(name, sampler)) continue;
    ordered_json value = field.get(s);
    if (!value.is_null()) json[name] = std::move(value);
    if (name == "sampler") json.update(s.sampler_options);
  }
  return json;
}

RunSettings settings_from_json(const ordered_json& json) {
  if (!json.is_object()) throw UsageError("settings are an object of fields and values");
  RunSettings s;
  const auto options = sampler_options();
  std::vector<std::string> known;
  for (const auto& field : setting_fields()) known.push_back(field.option.name);
  for (const auto& option : options) known.push_back(option.name);
  for (const auto& [name, value] : json.items()) {
    if (value.is_null() || (name == "step_size" && value == adapted)) continue;
    const auto field =
        std::ranges::find_if(setting_fields(), [&](const auto& f) { return f.option.name == name; });
    if (field != setting_fields().end()) {
      if (field->set != set_start) check_value(field->option, value);
      field->set(s, value);
    } else if (std::ranges::find(options, name, &Option::name) != options.end()) {
      s.sampler_options[name] = value;  // checked with the sampler, which may come later
    } else {
      throw UsageError(fmt::format("there is no setting `{}`.{}", name, suggestion(name, known)));
    }
  }
  if (s.sampler != choose_sampler_word) settle_options(find_sampler(s.sampler), s.sampler_options);
  return s;
}

std::vector<std::string> missing_settings(const ordered_json& json) {
  std::vector<std::string> missing;
  const auto look_for = [&](const std::string& name) {
    if (!json.contains(name) || json.at(name).is_null()) missing.push_back(name);
  };
  const std::string name = json.value("sampler", ordered_json()).is_string() ? json.at("sampler") : "";
  const SamplerInfo& sampler = find_sampler(name.empty() ? usual_sampler : name);
  for (const auto& field : setting_fields())
    if (field.stored && !field.optional && concerns(field.option.name, sampler)) look_for(field.option.name);
  if (name.empty()) return missing;  // whose options it might have is not known
  for (const auto& option : sampler.options) look_for(option.name);
  return missing;
}

}  // namespace onward
