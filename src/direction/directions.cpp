#include "onward/direction/directions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Takes out of v what lies along the unit vector u.
void remove(std::span<double> v, std::span<const double> u) {
  const double along = dot(v, u);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] -= along * u[i];
}

void normalise(std::span<double> v) {
  const double length = std::sqrt(dot(v, v));
  for (double& x : v) x /= length;
}

}  // namespace

void OrthogonalPairs::fill_reverse(const Stream& stream, std::uint64_t step, std::span<double> v) {
  stream.direction(step, Purpose::reverse_direction, v);
  if (v.size() == 1) return;  // nothing is orthogonal to a line in one dimension: an independent draw
  forward_.resize(v.size());
  stream.direction(step, Purpose::direction, forward_);
  // Twice: what rounding left of the first time.
  for (int repeat = 0; repeat < 2; ++repeat) remove(v, forward_);
  normalise(v);
}

FrameDirections::FrameDirections(std::size_t dimension) : dimension_(dimension) {
  if (dimension <= haar_limit) {
    vectors_.resize(dimension * dimension);
    return;
  }
  signs_.resize(dimension);
  cas_.resize(dimension);
  const auto d = static_cast<double>(dimension);
  for (std::size_t k = 0; k < dimension; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / d;
    cas_[k] = (std::cos(angle) + std::sin(angle)) / std::sqrt(d);
  }
}

void FrameDirections::new_frame(const Stream& stream, std::uint64_t frame) {
  frame_ = frame;
  seed_ = stream.seed();
  chain_ = stream.chain();
  if (dimension_ > haar_limit) {
    stream.uniforms(frame, Purpose::frame, signs_);
    for (double& sign : signs_) sign = sign < 0.5 ? -1 : 1;
    return;
  }
  stream.normals(frame, Purpose::frame, vectors_);
  const auto vector = [&](std::size_t i) {
    return std::span<double>(vectors_).subspan(i * dimension_, dimension_);
  };
  for (std::size_t i = 0; i < dimension_; ++i) {
    for (int repeat = 0; repeat < 2; ++repeat)
      for (std::size_t j = 0; j < i; ++j) remove(vector(i), vector(j));
    normalise(vector(i));
  }
}

Support FrameDirections::fill(const Stream& stream, std::uint64_t step, std::span<double> v) {
  const std::uint64_t frame = step / dimension_;
  const auto index = static_cast<std::size_t>(step % dimension_);
  if (frame != frame_ || stream.seed() != seed_ || stream.chain() != chain_) new_frame(stream, frame);
  if (dimension_ <= haar_limit) {
    std::copy_n(vectors_.begin() + static_cast<std::ptrdiff_t>(index * dimension_), dimension_, v.begin());
    return {0, dimension_};
  }
  std::size_t place = 0;  // i * index mod D
  for (std::size_t i = 0; i < dimension_; ++i) {
    v[i] = signs_[i] * cas_[place];
    place += index;
    if (place >= dimension_) place -= dimension_;
  }
  return {0, dimension_};
}

Support AxisDirections::fill(const Stream&, std::uint64_t step, std::span<double> v) {
  const auto index = static_cast<std::size_t>(step % v.size());
  std::fill(v.begin(), v.end(), 0.0);
  v[index] = 1;
  return {index, 1};
}

BlockDirections::BlockDirections(std::size_t dimension, Blocks blocks) : blocks_(std::move(blocks)) {
  std::vector<bool> seen(dimension, false);
  std::size_t total = 0;
  begin_.push_back(0);
  for (const auto& block : blocks_) {
    if (block.empty()) throw UsageError("a block of directions has no parameters");
    const std::size_t share =
        dimension <= longest_sweep ? block.size() : block.size() * short_sweep / dimension;
    begin_.push_back(begin_.back() + std::max<std::size_t>(1, share));
    total += block.size();
    frames_.try_emplace(block.size(), block.size());
    const auto [first, last] = std::ranges::minmax(block);
    supports_.push_back({first, last - first + 1});
    for (std::size_t i : block) {
      if (i >= dimension || seen[i])
        throw UsageError(fmt::format("parameter {} is in two blocks of directions, or is none", i + 1));
      seen[i] = true;
    }
  }
  if (total != dimension)
    throw UsageError(fmt::format(
        "the blocks of directions hold {} of {} parameters: the others would never move", total, dimension));
}

Support BlockDirections::fill(const Stream& stream, std::uint64_t step, std::span<double> v) {
  const std::uint64_t sweep = step / begin_.back();
  const auto within = static_cast<std::size_t>(step % begin_.back());
  const auto block =
      static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), within) - begin_.begin()) - 1;
  const auto& parameters = blocks_[block];
  inside_.resize(parameters.size());
  const std::size_t share = begin_[block + 1] - begin_[block];
  frames_.at(parameters.size()).fill(stream, sweep * share + (within - begin_[block]), inside_);
  std::fill(v.begin(), v.end(), 0.0);
  for (std::size_t i = 0; i < parameters.size(); ++i) v[parameters[i]] = inside_[i];
  return supports_[block];
}

MixedDirections::MixedDirections(std::size_t dimension, std::vector<Part> parts)
    : stretch_(dimension <= BlockDirections::longest_sweep ? dimension : short_stretch),
      parts_(std::move(parts)) {
  double total = 0;
  for (const auto& part : parts_) total += part.weight;
  for (auto& part : parts_) part.weight /= total;
}

Support MixedDirections::fill(const Stream& stream, std::uint64_t step, std::span<double> v) {
  double left = stream.uniform(step / stretch_, Purpose::shuffle, 1);
  std::size_t chosen = 0;
  while (chosen + 1 < parts_.size() && left >= parts_[chosen].weight) left -= parts_[chosen++].weight;
  return std::visit([&](auto& source) { return source.fill(stream, step, v); }, parts_[chosen].source);
}

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// theta of theta.1.
std::string stem(const std::string& name) { return name.substr(0, name.find('.')); }

/// The model's own blocks: all of them, or as listed.
BlockDirections::Blocks blocks_of(const std::string& list, const std::vector<ParameterBlock>& own) {
  std::vector<std::string> names;
  std::vector<std::size_t> first{0};
  for (const auto& block : own) {
    names.push_back(block.name);
    first.push_back(first.back() + block.size);
  }
  BlockDirections::Blocks blocks;
  std::vector<bool> taken(own.size(), false);
  const auto add = [&](std::size_t b) {
    const std::size_t begin = blocks.back().size();
    blocks.back().resize(begin + own[b].size);
    std::iota(blocks.back().begin() + static_cast<std::ptrdiff_t>(begin), blocks.back().end(), first[b]);
    taken[b] = true;
  };
  if (!list.empty())
    for (const auto& block : split(list, ',')) {
      blocks.emplace_back();
      for (const auto& word : split(block, '+')) {
        const auto found = std::ranges::find(names, word);
        if (found == names.end())
          throw UsageError(fmt::format("`directions` blocks: there is no block '{}'.{} Blocks: {}", word,
                                       suggestion(word, names), joined(names)));
        const auto b = static_cast<std::size_t>(found - names.begin());
        if (taken[b])
          throw UsageError(fmt::format("`directions` blocks: '{}' is listed twice; once is enough", word));
        add(b);
      }
    }
  // Without a list each is a block; what is not listed is the last one.
  if (!list.empty() && std::ranges::find(taken, false) != taken.end()) blocks.emplace_back();
  for (std::size_t b = 0; b < own.size(); ++b) {
    if (taken[b]) continue;
    if (list.empty()) blocks.emplace_back();
    add(b);
  }
  return blocks;
}

/// Indices of the parameters of each block: by stem, or as listed ("mu+tau,theta"; what is not listed is the
/// last block).
BlockDirections::Blocks blocks_of(const std::string& list, std::size_t dimension,
                                  const std::vector<std::string>& names) {
  if (names.size() != dimension)
    throw UsageError(fmt::format(
        "`directions` blocks needs one name for each of the {} sampled parameters, but the model reports {} "
        "(a constrained vector has more entries than it is sampled with); try frames",
        dimension, names.size()));
  std::vector<std::vector<std::string>> stems;
  if (list.empty()) {
    for (const auto& name : names)
      if (stems.empty() || stems.back().front() != stem(name)) stems.push_back({stem(name)});
  } else {
    for (const auto& block : split(list, ',')) stems.push_back(split(block, '+'));
  }
  BlockDirections::Blocks blocks(stems.size());
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < dimension; ++i) {
    const auto in = std::ranges::find_if(stems, [&](const auto& block) {
      return std::ranges::any_of(
          block, [&](const auto& word) { return word == names[i] || word == stem(names[i]); });
    });
    (in == stems.end() ? rest : blocks[static_cast<std::size_t>(in - stems.begin())]).push_back(i);
  }
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (const auto& word : stems[b])
      if (std::ranges::none_of(names, [&](const auto& name) { return name == word || stem(name) == word; }))
        throw UsageError(fmt::format("`directions` blocks: the model has no parameter '{}'.{}", word,
                                     suggestion(word, names)));
  if (!rest.empty()) blocks.push_back(rest);
  std::erase_if(blocks, [](const auto& block) { return block.empty(); });
  return blocks;
}

/// What one unit of a layer takes in: its weights and its bias. A block that has no units is one.
BlockDirections::Blocks units_of(const std::vector<ParameterBlock>& own) {
  if (std::ranges::all_of(own, [](const auto& block) { return block.units == 0; }))
    throw UsageError("`directions` units: the model has none; they are for networks");
  BlockDirections::Blocks blocks;
  std::size_t begin = 0;
  for (const auto& block : own) {
    const std::size_t units = std::max<std::size_t>(1, block.units);
    const std::size_t weights = block.size / units - (block.has_biases ? 1 : 0);
    for (std::size_t unit = 0; unit < units; ++unit) {
      blocks.emplace_back(weights);
      std::iota(blocks.back().begin(), blocks.back().end(), begin + unit * weights);
      if (block.has_biases) blocks.back().push_back(begin + units * weights + unit);
    }
    begin += block.size;
  }
  return blocks;
}

const std::vector<std::string> direction_names{"auto", "sphere", "frames", "axes", "blocks", "units"};

[[noreturn]] void refuse(const std::string& name) {
  throw UsageError(
      fmt::format("`directions` '{}' is not known.{} It is one of {}, blocks:NAMES, or a mixture such "
                  "as frames*3+axes",
                  name, suggestion(name, direction_names), joined(direction_names)));
}

/// What the parameters are called, one by one or in blocks.
struct Names {
  const std::vector<std::string>& parameters;
  const std::vector<ParameterBlock>& blocks;
};

MixedDirections::Source one_source(const std::string& name, std::size_t dimension, const Names& names) {
  if (name == "sphere") return SphereDirections{};
  if (name == "frames") return FrameDirections(dimension);
  if (name == "axes") return AxisDirections{};
  if (name == "units") return BlockDirections(dimension, units_of(names.blocks));
  if (name != "blocks" && !name.starts_with("blocks:")) refuse(name);
  const std::string list = name == "blocks" ? "" : name.substr(7);
  return BlockDirections(dimension, names.blocks.empty() ? blocks_of(list, dimension, names.parameters)
                                                         : blocks_of(list, names.blocks));
}

/// frames*3+axes, but not blocks:mu+tau.
bool is_mixture(const std::string& name) {
  return !name.starts_with("blocks:") && name.find_first_of("+*") != std::string::npos;
}

MixedDirections mixture(const std::string& name, std::size_t dimension, const Names& names) {
  std::vector<MixedDirections::Part> parts;
  for (const auto& word : split(name, '+')) {
    const auto star = word.find('*');
    double weight = 1;
    if (star != std::string::npos) {
      char* end = nullptr;
      const std::string digits = word.substr(star + 1);
      weight = std::strtod(digits.c_str(), &end);
      if (digits.empty() || *end != '\0' || !(weight > 0) || !std::isfinite(weight))
        throw UsageError(
            fmt::format("`directions` {}: '{}' is no weight; write frames*3+axes, say", name, digits));
    }
    parts.push_back({weight, one_source(word.substr(0, star), dimension, names)});
  }
  return MixedDirections(dimension, std::move(parts));
}

}  // namespace

std::string resolve_directions(const std::string& name, DirectionLaw needed) {
  if (name != "auto") return name;
  return needed == DirectionLaw::any ? "frames" : "sphere";
}

Directions make_directions(const std::string& name, DirectionLaw needed, std::size_t dimension,
                           const std::vector<std::string>& parameter_names,
                           const std::vector<ParameterBlock>& blocks) {
  const std::string source = resolve_directions(name, needed);
  const Names names{parameter_names, blocks};
  if (source == "frames" && needed == DirectionLaw::exchangeable) return OrthogonalPairs{};
  Directions result = is_mixture(source) ? Directions(mixture(source, dimension, names))
                                         : std::visit([](auto one) { return Directions(std::move(one)); },
                                                      one_source(source, dimension, names));
  const bool serves = std::visit([&](const auto& s) { return s.law >= needed; }, result);
  if (!serves)
    throw UsageError(fmt::format(
        "`directions` {} is not exact for this sampler, whose {}; use sphere{}, or a line sampler", source,
        needed == DirectionLaw::independent ? "kept tangent must be drawn independently each time"
                                            : "forward and reverse directions must be exchangeable",
        needed == DirectionLaw::independent ? " (or `tangent` fresh with frames)" : " or frames"));
  return result;
}

}  // namespace onward
