#include "onward/io/safetensors.hpp"
#include "onward/io/json.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "input_file.hpp"
#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"

namespace onward {
namespace {

using detail::InputFile;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "numbers are stored and used as little-endian");

constexpr detail::FileKind safetensors_kind{".safetensors file",
                                            "Write it anew with safetensors.torch.save_file"};
constexpr std::size_t most_header = 100'000'000;  // the format's own bound
constexpr std::string_view metadata_key = "__metadata__";

/// Bytes of an entry; 0 if the word is not known.
std::size_t entry_bytes(std::string_view dtype) {
  for (const char* word : {"F64", "I64", "U64"})
    if (dtype == word) return 8;
  for (const char* word : {"F32", "I32", "U32"})
    if (dtype == word) return 4;
  for (const char* word : {"F16", "BF16", "I16", "U16"})
    if (dtype == word) return 2;
  for (const char* word : {"I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2"})
    if (dtype == word) return 1;
  return 0;
}

/// The product of sizes that nobody vouches for; nothing if it does not fit.
std::optional<std::size_t> product(const std::vector<std::size_t>& sizes, std::size_t first = 1) {
  // A 0 among them makes it 0, however large the others are.
  if (std::find(sizes.begin(), sizes.end(), 0u) != sizes.end()) return 0;
  for (std::size_t size : sizes)
    if (__builtin_mul_overflow(first, size, &first)) return std::nullopt;
  return first;
}

std::string shown(const std::vector<std::size_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Memory follows what comes: the length may be a lie.
std::string read_header(InputFile& file, std::size_t length) {
  constexpr std::size_t step = 1 << 16;
  std::string text;
  while (text.size() < length) {
    const std::size_t done = text.size(), now = std::min(length - done, std::max(step, done));
    text.resize(done + now);
    const std::size_t came = file.read(std::as_writable_bytes(std::span(text).subspan(done)));
    if (came < now) file.fail(fmt::format("its header has {} bytes and {} follow", length, done + came));
  }
  return text;
}

/// JSON that has no key twice in an object: which of the two would count is anybody's guess.
ordered_json parse_header(const InputFile& file, const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::optional<std::string> twice;
  const auto watch = [&](int, ordered_json::parse_event_t event, ordered_json& value) {
    if (event == ordered_json::parse_event_t::object_start) keys.emplace_back();
    if (event == ordered_json::parse_event_t::object_end) keys.pop_back();
    if (event == ordered_json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  if (const auto depth = json_depth(text); depth > most_json_depth)
    file.fail(fmt::format("its header is JSON that is nested {} deep", depth));
  const ordered_json json = ordered_json::parse(text, watch, false);
  if (json.is_discarded() || !json.is_object()) file.fail("its header is not a JSON object");
  if (twice) file.fail(fmt::format("its header has '{}' twice", *twice));
  return json;
}

std::vector<std::size_t> whole_numbers(const InputFile& file, const std::string& name,
                                       const ordered_json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_array())
    file.fail(fmt::format("tensor '{}' has no list \"{}\"", name, key));
  std::vector<std::size_t> numbers;
  for (const auto& number : *it) {
    if (!number.is_number_unsigned())
      file.fail(fmt::format("\"{}\" of tensor '{}' has the entry {}, which is no whole number", key, name,
                            json_text(number)));
    numbers.push_back(number.get<std::size_t>());
  }
  return numbers;
}

SafeTensor parse_tensor(const InputFile& file, const std::string& name, const ordered_json& entry) {
  if (!entry.is_object()) file.fail(fmt::format("tensor '{}' is no object", name));
  SafeTensor tensor;
  tensor.name = name;
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string())
    file.fail(fmt::format("tensor '{}' has no \"dtype\"", name));
  tensor.dtype = dtype->get<std::string>();
  const std::size_t each = entry_bytes(tensor.dtype);
  if (each == 0) file.fail(fmt::format("tensor '{}' has the unknown dtype '{}'", name, tensor.dtype));
  tensor.shape = whole_numbers(file, name, entry, "shape");
  const auto offsets = whole_numbers(file, name, entry, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    file.fail(fmt::format("tensor '{}' has the data_offsets {}: they must be its begin and its end", name,
                          shown(offsets)));
  tensor.begin = offsets[0];
  tensor.end = offsets[1];
  const auto bytes = product(tensor.shape, each);
  if (bytes != tensor.end - tensor.begin)
    file.fail(fmt::format("tensor '{}' of {} {} entries takes {} bytes, but its offsets have {}", name,
                          shown(tensor.shape), tensor.dtype, bytes ? std::to_string(*bytes) : "too many",
                          tensor.end - tensor.begin));
  return tensor;
}

/// Tensors must follow each other without gaps or overlaps.
void check_offsets(const InputFile& file, std::vector<SafeTensor>& tensors) {
  std::ranges::stable_sort(tensors, {}, [](const SafeTensor& t) { return std::pair(t.begin, t.end); });
  std::size_t end = 0;
  for (const auto& tensor : tensors) {
    if (tensor.begin != end)
      file.fail(
          fmt::format("tensor '{}' begins at byte {}, where {} was expected: tensors overlap or leave a gap",
                      tensor.name, tensor.begin, end));
    end = tensor.end;
  }
}

double from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const auto fraction = static_cast<double>(bits & 0x3ff);
  double value = 0;
  if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else if (exponent == 31)
    value = fraction == 0 ? HUGE_VAL : NAN;
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double from_bfloat(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

template <class Stored, class Convert>
std::vector<double> converted(std::span<const std::byte> bytes, const Convert& convert) {
  std::vector<double> values(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;  // tensors need not be aligned
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

}  // namespace

std::size_t SafeTensor::size() const { return product(shape).value_or(0); }

SafeTensors SafeTensors::read(const std::filesystem::path& path) {
  InputFile file(path, safetensors_kind);
  std::uint64_t length = 0;
  file.read_fully(std::as_writable_bytes(std::span(&length, 1)), "the length of its header");
  if (length > most_header)
    file.fail(fmt::format("its header has {} bytes, at most {} are read", length, most_header));
  const ordered_json header = parse_header(file, read_header(file, static_cast<std::size_t>(length)));

  SafeTensors result;
  result.file_ = path.string();
  for (const auto& [name, entry] : header.items()) {
    if (name != metadata_key) {
      result.tensors_.push_back(parse_tensor(file, name, entry));
      continue;
    }
    if (!entry.is_object()) file.fail(fmt::format("{} is no object", metadata_key));
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) file.fail(fmt::format("'{}' of {} is no string", key, metadata_key));
      result.metadata_.emplace_back(key, value.get<std::string>());
    }
  }
  check_offsets(file, result.tensors_);
  const std::size_t bytes = result.tensors_.empty() ? 0 : result.tensors_.back().end;
  result.data_ = file.read_promised<std::byte>(bytes, fmt::format("promises {} bytes of tensors", bytes));
  return result;
}

const SafeTensor* SafeTensors::find(const std::string& name) const {
  const auto it = std::ranges::find(tensors_, name, &SafeTensor::name);
  return it == tensors_.end() ? nullptr : &*it;
}

std::vector<double> SafeTensors::values(const SafeTensor& tensor) const {
  const auto bytes = std::span(data_).subspan(tensor.begin, tensor.end - tensor.begin);
  if (tensor.dtype == "F64") return converted<double>(bytes, [](double x) { return x; });
  if (tensor.dtype == "F32") return converted<float>(bytes, [](float x) { return static_cast<double>(x); });
  if (tensor.dtype == "F16") return converted<std::uint16_t>(bytes, from_half);
  if (tensor.dtype == "BF16") return converted<std::uint16_t>(bytes, from_bfloat);
  throw Error(fmt::format("{}: tensor '{}' holds {}: F32, F64, F16 and BF16 can be read", file_, tensor.name,
                          tensor.dtype));
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedFloats> tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata) {
  ordered_json header;
  for (const auto& [key, value] : metadata) header[metadata_key][key] = value;
  std::size_t end = 0;
  for (const auto& tensor : tensors) {
    if (product(tensor.shape) != tensor.values.size())
      throw Error(fmt::format("tensor '{}' has {} entries, which do not fill the shape {}", tensor.name,
                              tensor.values.size(), shown(tensor.shape)));
    if (header.contains(tensor.name) || tensor.name == metadata_key)
      throw Error(fmt::format("two tensors would be called '{}' in {}", tensor.name, path.string()));
    const std::size_t begin = end;
    end += tensor.values.size_bytes();
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.is_null() ? "{}" : json_text(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // the numbers begin at a multiple of their size
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file.reserve(file.size() + text.size() + end);
  file += text;
  for (const auto& tensor : tensors)
    file.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
  write_file_atomically(path, file);
}

}  // namespace onward
