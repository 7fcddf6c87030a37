#include "onward/net/description_json.hpp"
#include "onward/io/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "../io/system_file.hpp"
#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/util/suggest.hpp"

namespace onward::net {
namespace {

using nlohmann::ordered_json;

// More than any machine holds, and little enough that sizes can be multiplied.
constexpr std::uint64_t most_of_a_size = 1'000'000;

/// What a message shows of a value: a whole subtree would hide the point.
std::string shown(const ordered_json& value) {
  constexpr std::size_t most = 60;
  const std::string text = json_text(value);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

/// An object's entries, each asked for by name; what was not asked for is an error.
class Fields {
 public:
  Fields(const ordered_json& object, std::string where) : object_(object), where_(std::move(where)) {}

  const ordered_json* find(const std::string& key) {
    asked_.push_back(key);
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }

  std::size_t size(const std::string& key, std::optional<std::size_t> otherwise, std::uint64_t least) {
    const auto* value = find(key);
    if (value == nullptr) {
      if (!otherwise) fail(fmt::format("has no \"{}\": give a whole number{}", key, instead_of(key)));
      return *otherwise;
    }
    return size_of(key, *value, least);
  }
  std::size_t size_of(const std::string& key, const ordered_json& value, std::uint64_t least) const {
    // What was parsed is unsigned; what a program writes as 3 is signed.
    const bool whole =
        value.is_number_integer() && (value.is_number_unsigned() || value.get<std::int64_t>() >= 0);
    if (!whole || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most_of_a_size)
      fail(fmt::format("\"{}\" is {}: it must be a whole number from {} to {}", key, shown(value), least,
                       most_of_a_size));
    return value.get<std::size_t>();
  }
  bool flag(const std::string& key, bool otherwise) {
    const auto* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(fmt::format("\"{}\" is {}: it must be true or false", key, shown(*value)));
    return value->get<bool>();
  }
  double positive(const std::string& key, double otherwise) {
    const auto* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() > 0) || !std::isfinite(value->get<double>()))
      fail(fmt::format("\"{}\" is {}: it must be a number above 0", key, shown(*value)));
    return value->get<double>();
  }

  /// Throws for a key that nobody asked for.
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
        fail(fmt::format("\"{}\" is not known here.{} Known: {}", key, suggestion(key, asked_),
                         joined(asked_)));
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }

 private:
  /// What may have been meant to be `key`.
  std::string instead_of(const std::string& key) const {
    for (const auto& [other, value] : object_.items())
      if (std::ranges::find(asked_, other) == asked_.end() &&
          !suggestion(other, std::vector<std::string>{key}).empty())
        return fmt::format(" (it has \"{}\", which is not known)", other);
    return "";
  }

  const ordered_json& object_;
  std::string where_;
  std::vector<std::string> asked_;
};

/// A layer's numbers from its entries, by its word.
struct LayerKind {
  std::string word;
  Layer (*read)(Fields& fields);
};

Layer read_conv2d(Fields& fields) {
  Conv2d layer{.channels = fields.size("channels", std::nullopt, 1)};
  if (const auto* kernel = fields.find("kernel")) {
    if (kernel->is_array() && kernel->size() == 2) {
      layer.kernel_height = fields.size_of("kernel", kernel->at(0), 1);
      layer.kernel_width = fields.size_of("kernel", kernel->at(1), 1);
    } else {
      layer.kernel_height = layer.kernel_width = fields.size_of("kernel", *kernel, 1);
    }
  }
  layer.stride = fields.size("stride", layer.stride, 1);
  layer.padding = fields.size("padding", layer.padding, 0);
  layer.bias = fields.flag("bias", layer.bias);
  return layer;
}

Layer read_linear(Fields& fields) {
  const std::size_t outputs = fields.size("outputs", std::nullopt, 1);
  return Linear{outputs, fields.flag("bias", true)};
}

template <ActivationKind kind>
Layer read_activation(Fields&) {
  return Activation{kind};
}

template <PoolKind kind>
Layer read_pool(Fields& fields) {
  const std::size_t size = fields.size("size", 2, 1);
  return Pool{kind, size, fields.size("stride", size, 1)};
}

const std::array layer_kinds{
    LayerKind{"linear", read_linear},
    LayerKind{"conv2d", read_conv2d},
    LayerKind{"relu", read_activation<ActivationKind::relu>},
    LayerKind{"tanh", read_activation<ActivationKind::tanh>},
    LayerKind{"gelu", read_activation<ActivationKind::gelu>},
    LayerKind{"softplus", read_activation<ActivationKind::softplus>},
    LayerKind{"max-pool", read_pool<PoolKind::max>},
    LayerKind{"average-pool", read_pool<PoolKind::average>},
    LayerKind{"flatten", [](Fields&) -> Layer { return Flatten{}; }},
    LayerKind{
        "batch-norm",
        [](Fields& fields) -> Layer { return BatchNorm{fields.positive("epsilon", BatchNorm{}.epsilon)}; }},
    LayerKind{"residual",
              [](Fields& fields) -> Layer { return Residual{fields.size("layers", std::nullopt, 1)}; }},
};

Layer layer_from_json(const ordered_json& json, const std::string& where) {
  static const ordered_json empty = ordered_json::object();
  if (!json.is_string() && !json.is_object())
    throw Error(
        fmt::format("{} is {}: a layer is a word such as \"relu\" or an object such as "
                    "{{\"kind\": \"linear\", \"outputs\": 10}}",
                    where, shown(json)));
  Fields fields(json.is_object() ? json : empty, where);
  const ordered_json* kind = json.is_object() ? fields.find("kind") : &json;
  if (kind == nullptr) fields.fail("has no \"kind\", such as \"linear\"");
  std::vector<std::string> words;
  for (const auto& known : layer_kinds) {
    if (*kind == known.word) {
      Fields inside(json.is_object() ? json : empty, fmt::format("{} ({})", where, known.word));
      inside.find("kind");
      Layer layer = known.read(inside);
      inside.finish();
      return layer;
    }
    words.push_back(known.word);
  }
  fields.fail(fmt::format("there is no kind {}.{} Kinds: {}", shown(*kind),
                          kind->is_string() ? suggestion(kind->get<std::string>(), words) : "",
                          joined(words)));
}

Shape input_from_json(const Fields& fields, const ordered_json& json) {
  if (json.is_number()) return {fields.size_of("input", json, 1), 1, 1};
  if (json.is_array() && json.size() == 1) return {fields.size_of("input", json[0], 1), 1, 1};
  if (json.is_array() && json.size() == 3)
    return {fields.size_of("input", json[0], 1), fields.size_of("input", json[1], 1),
            fields.size_of("input", json[2], 1)};
  fields.fail(fmt::format("\"input\" is {}: it must be a number of entries, or [channels, height, width]",
                          shown(json)));
}

ordered_json numbers_of(const Linear& layer) { return {{"outputs", layer.outputs}, {"bias", layer.bias}}; }
ordered_json numbers_of(const Conv2d& layer) {
  return {{"channels", layer.channels},
          {"kernel", {layer.kernel_height, layer.kernel_width}},
          {"stride", layer.stride},
          {"padding", layer.padding},
          {"bias", layer.bias}};
}
ordered_json numbers_of(const Activation&) { return ordered_json::object(); }
ordered_json numbers_of(const Pool& layer) { return {{"size", layer.size}, {"stride", layer.stride}}; }
ordered_json numbers_of(const Flatten&) { return ordered_json::object(); }
ordered_json numbers_of(const BatchNorm& layer) { return {{"epsilon", layer.epsilon}}; }
ordered_json numbers_of(const Residual& layer) { return {{"layers", layer.layers}}; }

}  // namespace

ordered_json to_json(const Description& description) {
  const Shape& in = description.input;
  ordered_json input = in.channels;
  if (in.height != 1 || in.width != 1) input = {in.channels, in.height, in.width};
  auto layers = ordered_json::array();
  for (const Layer& layer : description.layers) {
    const ordered_json numbers = std::visit([](const auto& kind) { return numbers_of(kind); }, layer);
    if (numbers.empty()) {
      layers.push_back(kind_of(layer));
      continue;
    }
    ordered_json json{{"kind", kind_of(layer)}};
    json.update(numbers);
    layers.push_back(std::move(json));
  }
  return {{"input", input}, {"layers", layers}};
}

Description description_from_json(const ordered_json& json, const std::string& where) {
  if (!json.is_object())
    throw Error(
        fmt::format("{} holds {}: a network is an object with \"input\" and \"layers\"", where, shown(json)));
  Fields fields(json, where);
  const ordered_json* input = fields.find("input");
  const ordered_json* layers = fields.find("layers");
  fields.finish();
  if (input == nullptr)
    fields.fail("has no \"input\": give a number of entries, or [channels, height, width]");
  if (layers == nullptr) fields.fail("has no \"layers\": give a list of them");
  Description description{input_from_json(fields, *input), {}};
  if (!layers->is_array() || layers->empty())
    fields.fail(fmt::format("\"layers\" is {}: it must be a list of at least one layer", shown(*layers)));
  for (std::size_t i = 0; i < layers->size(); ++i)
    description.layers.push_back(layer_from_json(layers->at(i), fmt::format("{}: layer {}", where, i)));
  return description;
}

namespace {

ordered_json read_json(const std::filesystem::path& file) {
  return parse_json<ordered_json>(detail::read_whole(file), file.string());
}

}  // namespace

Description read_description(const std::filesystem::path& file) {
  return description_from_json(read_json(file), file.string());
}

Layout layout_from_json(const ordered_json& json, const std::string& where) {
  Description description = description_from_json(json, where);
  try {
    return Layout(std::move(description));
  } catch (const UsageError& problem) {
    throw Error(fmt::format("{}: {}", where, problem.what()));
  }
}

Layout read_layout(const std::filesystem::path& file) {
  return layout_from_json(read_json(file), file.string());
}

void write_description(const std::filesystem::path& file, const Description& description) {
  // A layer a line: indented by JSON's own rules a network would not fit a screen.
  const ordered_json json = to_json(description);
  std::string text = fmt::format("{{\n \"input\": {},\n \"layers\": [\n", json_text(json.at("input")));
  const auto& layers = json.at("layers");
  for (std::size_t i = 0; i < layers.size(); ++i)
    text += fmt::format("  {}{}\n", json_text(layers[i]), i + 1 < layers.size() ? "," : "");
  write_file_atomically(file, text + " ]\n}\n");
}

}  // namespace onward::net
