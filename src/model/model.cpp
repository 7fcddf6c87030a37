#include "onward/model/model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/vector_file.hpp"
#include "onward/model/registry.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/util/suggest.hpp"
#include "settle.hpp"

namespace onward {

using nlohmann::ordered_json;

ordered_json ModelSpec::to_json() const {
  ordered_json json{{"name", kind}};
  if (options.is_object()) json.update(options);
  if (files.is_object() && !files.empty()) json["files"] = files;
  return json;
}

ModelSpec ModelSpec::from_json(const ordered_json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string())
    throw UsageError("a model is specified by an object with its kind as `name`, and its options");
  ModelSpec spec;
  for (const auto& [field, value] : json.items()) {
    if (field == "name")
      spec.kind = value.get<std::string>();
    else if (field == "files" && value.is_object())
      spec.files = value;
    else if (field != "derived")
      spec.options[field] = value;
  }
  return spec;
}

void Model::set_observations(const ObservationLikelihood* observations) {
  if (observations == nullptr) return;
  log_likelihood = [of = *observations] {
    const auto part = [of](std::span<const double> parameters, std::size_t first, std::span<double> out) {
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = of.at(first + k, parameters);
    };
    return LogLikelihood{
        .shape = {of.name, {of.count}},
        .at = [part](std::span<const double> parameters, std::span<double> out) { part(parameters, 0, out); },
        .part = part};
  };
}

bool Model::samples_itself(const RunSettings& settings) const {
  return own_sampler && (settings.sampler == choose_sampler_word || settings.sampler == own_sampler->name);
}

ParameterShapes Model::free_parameters() const {
  const std::vector<ParameterBlock> blocks = target.blocks();
  // No constraint gives a parameter fewer numbers than it has freely, so as many are the same ones.
  if (blocks.empty() && names.size() == dimension()) return parameters();
  ParameterShapes shapes;
  for (const ParameterBlock& block : blocks) shapes.variables.push_back({block.name, {block.size}});
  if (blocks.empty()) shapes.variables.push_back({"position", {dimension()}});
  shapes.order.resize(dimension());
  std::iota(shapes.order.begin(), shapes.order.end(), std::size_t{0});
  return shapes;
}

ordered_json Model::to_json() const {
  ordered_json json = spec.to_json();
  if (!derived.is_null()) json["derived"] = derived;
  return json;
}

const Table* BuildFor::table(const OptionValues& options, const std::string& field) const {
  const std::string word = options.text(field);
  const auto name = name_in_memory(word);
  if (!name) return nullptr;
  if (const auto found = tables.find(*name); found != tables.end()) return &found->second;
  throw Error(
      fmt::format("`{}` {} is a table in memory, and it was not handed over: hand it over under that name, "
                  "or save it to a "
                  "CSV file and name that",
                  field, word));
}

ArraySource BuildFor::array(const OptionValues& options, const std::string& field) const {
  const std::string word = options.text(field);
  const auto name = name_in_memory(word);
  if (!name) return {word};
  const auto found = arrays.find(*name);
  if (found != arrays.end()) return {word, found->second};
  std::vector<std::string> names;
  for (const auto& [given, array] : arrays) names.push_back(given);
  throw Error(fmt::format(
      "`{}` {} is an array in memory, and {}: hand the array over under that name, or save it to a .npy file "
      "and name that",
      field, word,
      names.empty() ? "none was handed over"
                    : fmt::format("those that were handed over are called {}", joined(names))));
}

Model build(const ModelSpec& spec, const BuildFor& what_for) {
  return model_registry().build(spec, what_for);
}

std::vector<double> read_place(const std::string& file, const std::string& model, std::size_t dimension) {
  // Somewhat more than fits is read, to say how many there are.
  const std::size_t most = std::max<std::size_t>(4 * dimension, 100'000);
  auto place = file.starts_with('[') ? parse_vector("the start", file) : read_vector(file, most);
  if (place.size() != dimension)
    throw UsageError(
        fmt::format("{} has {} entries, but {} has {} parameters to sample: give one entry for each", file,
                    place.size(), model, dimension));
  return place;
}

void check_start_word(const std::string& word, std::span<const std::string> known) {
  const std::string stem = word.substr(0, word.find(':'));  // of random:0.5
  if (word.starts_with('[') || std::ranges::find(known, stem) != known.end() || std::filesystem::exists(word))
    return;
  if (const std::string near = suggestion(stem, known); !near.empty())
    throw UsageError(fmt::format("there is no file {} to start from.{}", word, near));
}

Start parse_start(const std::string& words, const std::string& model, std::size_t dimension) {
  Start start;
  if (words == "zeros") {
    start.kind = Start::Kind::zeros;
  } else if (words == "random") {
    start.kind = Start::Kind::random;
  } else if (words.starts_with("random:")) {
    start.kind = Start::Kind::random;
    const char* const end = words.data() + words.size();
    const auto [at, error] = std::from_chars(words.data() + 7, end, start.scale);
    if (error != std::errc{} || at != end || !(start.scale >= 0) || !std::isfinite(start.scale))
      throw UsageError(fmt::format(
          "the start {} is not usable: the scale must be 0 or a positive number, as in random:0.5", words));
  } else {
    check_start_word(words, std::array<std::string, 2>{"zeros", "random"});
    start.kind = Start::Kind::given;
    start.position = read_place(words, model, dimension);
  }
  return start;
}

std::unique_ptr<ChainMaker> make_chains(Model& model, const RunSettings& settings) {
  if (!model.samples_itself(settings)) return std::make_unique<KernelChainMaker>(model.target);
  // The sampler may use the data's memory for its own purposes, if nobody else holds it.
  { const AnyTarget gone = std::move(model.target); }
  return model.own_sampler->make(settings);
}

void detail::settle(const Model& model, RunSettings& settings, const Hooks& hooks) {
  const bool own = model.samples_itself(settings);
  const Start usual;
  if (settings.start.kind == usual.kind && settings.start.scale == usual.scale && !own)
    settings.start = model.start;
  if (model.set_defaults) model.set_defaults(settings);
  auto notes = model.notes;
  if (!own && model.check_data) std::ranges::copy(model.check_data(), std::back_inserter(notes));
  if (hooks.notes && !notes.empty()) hooks.notes(notes);
}

Run sample(Model model, RunSettings settings, const Hooks& hooks) {
  detail::settle(model, settings, hooks);
  if (!model.samples_itself(settings)) return sample(model.target, std::move(settings), hooks);
  const auto maker = make_chains(model, settings);
  return run_chains(*maker, maker->resolve(std::move(settings)), hooks);
}

}  // namespace onward
