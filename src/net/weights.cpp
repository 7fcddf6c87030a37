#include "onward/net/weights.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/io/safetensors.hpp"
#include "onward/random/stream.hpp"

namespace onward::net {
namespace {

std::string shown(const std::vector<std::size_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string listed(const SafeTensors& file) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, file.tensors().size()); ++i)
    text +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", file.tensors()[i].name, shown(file.tensors()[i].shape));
  if (file.tensors().size() > most) text += fmt::format(" and {} more", file.tensors().size() - most);
  return text.empty() ? "nothing" : text;
}

/// Puts the tensors of a file in their places in `out`.
template <class Number>
void take(const std::string& where, const SafeTensors& file, const std::vector<Tensor>& tensors,
          std::vector<Number>& out) {
  for (const Tensor& tensor : tensors) {
    const SafeTensor* found = file.find(tensor.name);
    if (found == nullptr)
      throw Error(
          fmt::format("{} has no tensor {} {}, which this network has: it holds {}. Give weights of the "
                      "same network",
                      where, tensor.name, shown(tensor.shape), listed(file)));
    if (found->shape != tensor.shape)
      throw Error(
          fmt::format("{}: tensor {} is {}, but this network's is {}. Give weights of the same network",
                      where, tensor.name, shown(found->shape), shown(tensor.shape)));
    const auto values = file.values(*found);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<Number>(values[i]);
      if (!std::isfinite(value))
        throw Error(
            fmt::format("{}: entry {} (counted from 0) of tensor {} is {}; every weight must be a finite "
                        "number",
                        where, i, tensor.name, values[i]));
      out[tensor.offset + i] = value;
    }
  }
}

bool is_known(const std::string& name, const Layout& layout) {
  const auto is = [&](const Tensor& tensor) { return tensor.name == name; };
  return std::ranges::any_of(layout.parameters(), is) || std::ranges::any_of(layout.statistics(), is);
}

StoredWeights from_safetensors(const std::filesystem::path& path, const Layout& layout) {
  const auto file = SafeTensors::read(path);
  const std::string where = path.string();
  StoredWeights weights;
  weights.parameters.resize(layout.parameter_count());
  weights.statistics.resize(layout.statistic_count());
  take(where, file, layout.parameters(), weights.parameters);
  take(where, file, layout.statistics(), weights.statistics);
  for (const auto& tensor : file.tensors())
    if (!tensor.name.ends_with(".num_batches_tracked") && !is_known(tensor.name, layout))
      throw Error(
          fmt::format("{} has a tensor {} {}, which this network has not. Give weights of the same network",
                      where, tensor.name, shown(tensor.shape)));
  return weights;
}

StoredWeights from_npy(const std::filesystem::path& path, const Layout& layout) {
  const NpyArray array = read_npy(path);
  const std::size_t parameters = layout.parameter_count(), statistics = layout.statistic_count();
  const bool row_or_column = array.shape.size() == 2 && (array.shape[0] == 1 || array.shape[1] == 1);
  if (array.shape.size() != 1 && !row_or_column)
    throw Error(fmt::format("{}: an array of shape ({}) where a vector of weights is needed", path.string(),
                            fmt::join(array.shape, ", ")));
  if (array.size() != parameters + statistics)
    throw Error(fmt::format(
        "{} has {} entries, but this network has {} parameters{}", path.string(), array.size(), parameters,
        statistics > 0 ? fmt::format(" and {} running statistics, which follow them", statistics) : ""));
  StoredWeights weights{array.to_doubles(), {}};
  for (std::size_t i = 0; i < weights.parameters.size(); ++i)
    if (!std::isfinite(static_cast<float>(weights.parameters[i])))
      throw Error(fmt::format("{}: entry {} (counted from 0) is {}; every weight must be a finite number",
                              path.string(), i, weights.parameters[i]));
  for (std::size_t i = parameters; i < parameters + statistics; ++i)
    weights.statistics.push_back(static_cast<float>(weights.parameters[i]));
  weights.parameters.resize(parameters);
  return weights;
}

}  // namespace

StoredWeights read_weights(const std::filesystem::path& file, const Layout& layout) {
  StoredWeights weights =
      file.extension() == ".npy" ? from_npy(file, layout) : from_safetensors(file, layout);
  try {
    const Network checked(layout, weights.statistics);
  } catch (const UsageError& problem) {
    throw Error(fmt::format("{}: {}", file.string(), problem.what()));
  }
  return weights;
}

void write_weights(const std::filesystem::path& file, const Network& network,
                   std::span<const double> parameters) {
  const Layout& layout = network.layout;
  if (parameters.size() < layout.parameter_count())
    throw Error(fmt::format("{} weights are too few for a network with {} parameters", parameters.size(),
                            layout.parameter_count()));
  std::vector<float> values;
  values.reserve(layout.parameter_count() + layout.statistic_count());
  for (std::size_t i = 0; i < layout.parameter_count(); ++i)
    values.push_back(static_cast<float>(parameters[i]));
  values.insert(values.end(), network.statistics.begin(), network.statistics.end());
  if (file.extension() == ".npy") {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(file, {{{values.size()}, "<f4"}, {bytes.begin(), bytes.end()}});
    return;
  }
  std::vector<NamedFloats> tensors;
  const auto add = [&](const std::vector<Tensor>& list, std::size_t first) {
    for (const Tensor& tensor : list)
      tensors.push_back({tensor.name, tensor.shape,
                         std::span<const float>(values).subspan(first + tensor.offset, tensor.size)});
  };
  add(layout.parameters(), 0);
  add(layout.statistics(), layout.parameter_count());
  write_safetensors(file, tensors, {{"format", "pt"}});
}

StartLaw lecun_law(const Layout& layout) {
  StartLaw law{std::vector<double>(layout.parameter_count()), std::vector<double>(layout.parameter_count())};
  for (const auto& step : layout.steps()) {
    const std::size_t bias = step.has_bias() ? step.out.channels : 0;
    const std::size_t weights = step.end - step.begin - bias;
    const auto inputs = static_cast<double>(weights / step.out.channels);
    for (std::size_t i = step.begin; i < step.begin + weights; ++i) {
      if (std::holds_alternative<BatchNorm>(step.layer))
        law.centre[i] = 1;
      else
        law.spread[i] = 1 / std::sqrt(inputs);
    }
  }
  return law;
}

std::vector<double> lecun_start(const Layout& layout, std::uint64_t seed, std::uint32_t chain) {
  const StartLaw law = lecun_law(layout);
  std::vector<double> theta(layout.parameter_count());
  Stream(seed, chain).normals(0, Purpose::start, theta);
  for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = law.centre[i] + law.spread[i] * theta[i];
  return theta;
}

}  // namespace onward::net
