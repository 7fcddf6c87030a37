#include "onward/model/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "../../models/kinds.hpp"
#include "../data/md5.hpp"
#include "../simulator/kinds.hpp"
#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/glm/model.hpp"
#include "onward/util/suggest.hpp"
#include "plugin.hpp"

namespace onward {
namespace {

using nlohmann::ordered_json;

ordered_json fingerprint_json(const std::string& file) {
  const Fingerprint print = known_fingerprint(file);
  return {{"bytes", print.bytes}, {"md5", print.md5}};
}

ordered_json fingerprint_json(const Array& array) {
  const Fingerprint print = fingerprint(array.bytes);
  ordered_json json{{"shape", array.shape}, {"dtype", array.dtype}};
  if (array.fortran_order) json["fortran_order"] = true;
  json["bytes"] = print.bytes;
  json["md5"] = print.md5;
  return json;
}

/// Of names, levels and values: two tables that models cannot tell apart have the same.
ordered_json fingerprint_json(const Table& table) {
  detail::Md5 md5;
  std::vector<double> rows(1 << 14);
  std::vector<std::string> names;
  for (std::size_t j = 0; j < table.columns(); ++j) {
    const Column& column = table.column(j);
    names.push_back(column.name());
    for (const auto& level : column.levels())
      md5.update(std::as_bytes(std::span(level.c_str(), level.size() + 1)));
    for (std::size_t i = 0; i < table.rows(); i += rows.size()) {
      const std::span part = std::span(rows).first(std::min(rows.size(), table.rows() - i));
      column.read(i, part);
      md5.update(std::as_bytes(part));
    }
  }
  return {{"rows", table.rows()}, {"columns", names}, {"md5", md5.hex()}};
}

ordered_json fingerprint_in_memory(const std::string& name, const BuildFor& what_for) {
  if (const auto table = what_for.tables.find(name); table != what_for.tables.end())
    return fingerprint_json(table->second);
  return fingerprint_json(what_for.arrays.at(name));
}

/// In whatever order their fields are: files that were read may have another.
bool same(const ordered_json& a, const ordered_json& b) { return nlohmann::json(a) == nlohmann::json(b); }

/// Throws UsageError for arrays that are not what they say, and Error for those that options name and nobody
/// handed over.
void check_arrays(const OptionValues& values, std::span<const Option> options, const BuildFor& what_for) {
  for (const auto& [name, array] : what_for.arrays) array.check("the array " + name);
  for (const auto& option : options) {
    if (option.type == Option::Type::array) what_for.array(values, option.name);
    if (option.type == Option::Type::table) what_for.table(values, option.name);
    if (option.type == Option::Type::file && name_in_memory(values.text(option.name)))
      throw UsageError(fmt::format("`{}` {} is in memory, but a file is needed: {}", option.name,
                                   values.text(option.name), option.help));
  }
}

/// With "plugin:FILE" taken apart into the kind and its subject.
ModelSpec plain(const ModelRegistry& registry, ModelSpec spec) {
  const ModelKind& kind = registry.find(spec.kind);
  if (kind.name == spec.kind) return spec;
  const auto colon = spec.kind.find(':');
  spec.options[kind.subject] = spec.kind.substr(colon + 1);
  spec.kind = kind.name;
  return spec;
}

}  // namespace

void check_files(const ModelSpec& spec, const BuildFor& what_for) {
  for (const auto& [file, print] : spec.files.items()) {
    if (const auto name = name_in_memory(file)) {
      const bool handed_over = what_for.arrays.contains(*name) || what_for.tables.contains(*name);
      if (handed_over && !same(fingerprint_in_memory(*name, what_for), print))
        throw Error(fmt::format(
            "what is handed over as {} is not the one that {} was specified with: hand over that one, or "
            "specify the model anew",
            *name, spec.kind));
      continue;
    }
    if (!std::filesystem::exists(file))
      throw Error(fmt::format("{} is gone, which {} was specified with: put it back", file, spec.kind));
    if (!same(fingerprint_json(file), print))
      throw Error(
          fmt::format("{} has changed since {} was specified with it: put the old file back, or specify the "
                      "model anew, as a new run does",
                      file, spec.kind));
  }
}

ModelRegistry::ModelRegistry() {
  models::register_models(*this);
  glm::register_models(*this);
  add(detail::plugin_kind());
  add(detail::umbridge_kind());
  add(detail::program_kind());
}

void ModelRegistry::add(ModelKind kind) {
  if (std::ranges::find(kinds_, kind.name, &ModelKind::name) != kinds_.end())
    throw std::logic_error(fmt::format("there is a kind of models called {} already", kind.name));
  kinds_.push_back(std::move(kind));
}

const ModelKind& ModelRegistry::find(std::string_view name) const {
  const auto found = std::ranges::find(kinds_, name, &ModelKind::name);
  if (found != kinds_.end()) return *found;
  // plugin:FILE is short for plugin with that file.
  const auto stem = std::ranges::find(kinds_, name.substr(0, name.find(':')), &ModelKind::name);
  if (stem != kinds_.end() && !stem->subject.empty()) return *stem;
  std::vector<std::string> names;
  for (const auto& kind : kinds_) names.push_back(kind.name);
  throw UsageError(
      fmt::format("there is no model '{}'.{} Models: {}", name, suggestion(name, names), joined(names)));
}

std::vector<std::string> ModelRegistry::kinds_with(std::string_view option) const {
  std::vector<std::string> names;
  for (const auto& kind : kinds_)
    if (std::ranges::find(kind.options, option, &Option::name) != kind.options.end())
      names.push_back(kind.name);
  return names;
}

Model ModelRegistry::build(const ModelSpec& given, const BuildFor& what_for) const {
  const ModelSpec spec = plain(*this, given);
  const ModelKind& kind = find(spec.kind);
  const OptionValues options(kind.name, kind.options, spec.options);
  check_arrays(options, kind.options, what_for);
  check_files(spec, what_for);
  Model model = kind.build(options, what_for);
  // What the kind has filled in, and what was given otherwise.
  const ordered_json filled_in = std::move(model.spec.options);
  model.spec = {kind.name};
  for (const auto& option : kind.options)
    for (const ordered_json* values : {&filled_in, &options.json()})
      if (values->contains(option.name) && !model.spec.options.contains(option.name))
        model.spec.options[option.name] = values->at(option.name);
  if (what_for.checksums)
    for (const auto& file : OptionValues(kind.name, kind.options, model.spec.options).files()) {
      const auto name = name_in_memory(file);
      model.spec.files[file] = name ? fingerprint_in_memory(*name, what_for) : fingerprint_json(file);
    }
  // A kind that knows the words of a start has set it.
  if (!what_for.start.empty() && model.start.word != what_for.start)
    model.start = parse_start(what_for.start, kind.name, model.dimension());
  return model;
}

ModelRegistry& model_registry() {
  static ModelRegistry registry;
  return registry;
}

}  // namespace onward
