#include "onward/io/vector_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are stored and used as little-endian");

constexpr std::string_view magic = "\x93NUMPY";

struct Dtype {
  std::string_view word;
  std::size_t bytes;
};
constexpr std::array<Dtype, 9> dtypes{{{"<f8", 8},
                                       {"<f4", 4},
                                       {"<i8", 8},
                                       {"<i4", 4},
                                       {"<i2", 2},
                                       {"|i1", 1},
                                       {"|u1", 1},
                                       {"<u2", 2},
                                       {"|b1", 1}}};

std::size_t bytes_of(const std::filesystem::path& path, std::string_view word) {
  for (const Dtype& dtype : dtypes)
    if (dtype.word == word) return dtype.bytes;
  throw Error(
      fmt::format("{}: elements of type '{}' cannot be read. Store little-endian numbers, such as "
                  "numpy.save(file, array.astype('<f8')).",
                  path.string(), word));
}

[[noreturn]] void bad_npy(const std::filesystem::path& path, std::string_view why) {
  throw Error(
      fmt::format("{}: not a valid .npy file: {}. Write it anew with numpy.save.", path.string(), why));
}

/// A number of elements from untrusted sizes; nothing if it does not fit.
std::optional<std::size_t> product(const std::vector<std::size_t>& sizes, std::size_t start) {
  std::size_t total = start;
  for (std::size_t size : sizes)
    if (__builtin_mul_overflow(total, size, &total)) return std::nullopt;
  return total;
}

/// What follows a key of the header, which is a Python dictionary such as
/// {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }.
std::string_view value_after(const std::filesystem::path& path, std::string_view header,
                             std::string_view key) {
  auto at = header.find(fmt::format("'{}'", key));
  if (at != std::string_view::npos) at = header.find(':', at);
  if (at != std::string_view::npos) at = header.find_first_not_of(" \t", at + 1);
  if (at == std::string_view::npos) bad_npy(path, fmt::format("its header has no '{}'", key));
  return header.substr(at);
}

std::vector<std::size_t> parse_shape(const std::filesystem::path& path, std::string_view text) {
  const auto close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) bad_npy(path, "its shape is not a tuple");
  text = text.substr(1, close - 1);
  std::vector<std::size_t> shape;
  while (true) {
    const auto first = text.find_first_not_of(" \t,");
    if (first == std::string_view::npos) return shape;
    std::size_t size = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + first, end, size);
    if (error != std::errc{} || (stop != end && *stop != ',' && *stop != ' '))
      bad_npy(path, fmt::format("'{}' is not a shape", text));
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
}

NpyArray parse_npy(const std::filesystem::path& path, std::string_view bytes) {
  if (!bytes.starts_with(magic)) bad_npy(path, "it does not begin as one");
  if (bytes.size() < 10) bad_npy(path, "it ends within its header");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    bad_npy(path, fmt::format("its format version is {}, known are 1 to 3", version));
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) bad_npy(path, "it ends within its header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (bytes.size() - start < length) bad_npy(path, "it ends within its header");
  const std::string_view header = bytes.substr(start, length);
  const std::string_view data = bytes.substr(start + length);

  NpyArray array;
  const std::string_view descr = value_after(path, header, "descr");
  const auto quote = descr.find('\'', 1);
  if (!descr.starts_with('\'') || quote == std::string_view::npos)
    bad_npy(path, "its elements are records, not plain numbers");
  array.dtype = descr.substr(1, quote - 1);
  array.shape = parse_shape(path, value_after(path, header, "shape"));
  const std::size_t element = bytes_of(path, array.dtype);
  const auto promised = product(array.shape, element);
  if (!promised || *promised != data.size())
    bad_npy(path, fmt::format("its header promises ({}) elements of {} bytes and {} bytes follow",
                              fmt::join(array.shape, ", "), element, data.size()));
  const bool fortran = value_after(path, header, "fortran_order").starts_with("True");
  const auto long_axes = std::ranges::count_if(array.shape, [](std::size_t size) { return size > 1; });
  if (fortran && long_axes > 1)
    throw Error(
        fmt::format("{}: stored column by column (Fortran order). Store "
                    "numpy.ascontiguousarray(array).",
                    path.string()));
  const auto* first = reinterpret_cast<const std::byte*>(data.data());
  array.data.assign(first, first + data.size());
  return array;
}

template <class T>
void widen(const NpyArray& array, std::vector<double>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, array.data.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
}

/// Collects a flat array of numbers; anything else is refused with the index where it stands.
class VectorReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<double> values;
  std::string problem;

  bool number_integer(number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool string(string_t&) override { return refuse("a string"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override { return refuse("an object"); }
  bool key(string_t&) override { return false; }
  bool end_object() override { return false; }
  bool start_array(std::size_t) override {
    if (inside_) return refuse("an array");
    return inside_ = true;
  }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string& last_token, const nlohmann::json::exception& e) override {
    // NaN and Infinity are not JSON, but Python writes them.
    if (inside_ && (last_token.ends_with('N') || last_token.ends_with('I'))) return refuse("NaN or infinite");
    std::string_view text = e.what();
    if (const auto end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
    problem = text;
    return false;
  }

 private:
  bool add(double value) {
    if (!inside_) return refuse("a lone number");
    values.push_back(value);
    return true;
  }
  bool refuse(std::string_view what) {
    problem = inside_ ? fmt::format("entry {} (counted from 0) is {}; every entry must be a finite number",
                                    values.size(), what)
                      : fmt::format("it holds {}", what);
    return false;
  }

  bool inside_ = false;
};

std::vector<double> parse_json_vector(const std::filesystem::path& path, std::string_view text) {
  VectorReader reader;
  if (!nlohmann::json::sax_parse(text, &reader))
    throw Error(fmt::format("{}: not a JSON array of numbers such as [0.5, -1, 2e-3]: {}.", path.string(),
                            reader.problem));
  return std::move(reader.values);
}

void require_finite(const std::filesystem::path& path, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw Error(fmt::format("{}: entry {} (counted from 0) is {}; every entry must be a finite number.",
                              path.string(), i, values[i]));
}

}  // namespace

void NpyArray::require_dtype(const std::string& wanted) const {
  if (dtype != wanted)
    throw Error(fmt::format("an array of '{}' where '{}' is needed: convert it with array.astype('{}').",
                            dtype, wanted, wanted));
}

std::size_t NpyArray::size() const {
  const auto total = product(shape, 1);
  if (!total) throw Error("an array's shape is too large");
  return *total;
}

std::vector<double> NpyArray::to_doubles() const {
  std::vector<double> out(data.size() / bytes_of("array", dtype));
  if (dtype == "<f8") widen<double>(*this, out);
  if (dtype == "<f4") widen<float>(*this, out);
  if (dtype == "<i8") widen<std::int64_t>(*this, out);
  if (dtype == "<i4") widen<std::int32_t>(*this, out);
  if (dtype == "<i2") widen<std::int16_t>(*this, out);
  if (dtype == "|i1") widen<std::int8_t>(*this, out);
  if (dtype == "|u1" || dtype == "|b1") widen<std::uint8_t>(*this, out);
  if (dtype == "<u2") widen<std::uint16_t>(*this, out);
  return out;
}

NpyArray read_npy(const std::filesystem::path& path) { return parse_npy(path, detail::read_whole(path)); }

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  const auto bytes = product(array.shape, bytes_of(path, array.dtype));
  if (!bytes || *bytes != array.data.size())
    throw Error(fmt::format("{}: {} bytes of data do not fill the shape ({})", path.string(),
                            array.data.size(), fmt::join(array.shape, ", ")));
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", array.dtype,
                  fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  // NumPy's own alignment: the data begin at a multiple of 64, after a line end.
  constexpr std::size_t prefix = 10;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string file(magic);
  file += {'\x01', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  detail::write_whole(path, file);
}

std::vector<double> read_vector(const std::filesystem::path& path) {
  const std::string bytes = detail::read_whole(path);
  if (path.extension() != ".npy" && !bytes.starts_with(magic)) {
    auto values = parse_json_vector(path, bytes);
    require_finite(path, values);
    return values;
  }
  const NpyArray array = parse_npy(path, bytes);
  const bool row_or_column = array.shape.size() == 2 && (array.shape[0] == 1 || array.shape[1] == 1);
  if (array.shape.size() != 1 && !row_or_column)
    throw Error(
        fmt::format("{}: an array of shape ({}) where a vector is needed: store it with one dimension.",
                    path.string(), fmt::join(array.shape, ", ")));
  auto values = array.to_doubles();
  require_finite(path, values);
  return values;
}

void write_vector(const std::filesystem::path& path, std::span<const double> values) {
  if (path.extension() == ".npy") {
    const auto bytes = std::as_bytes(values);
    write_npy(path, {{values.size()}, "<f8", {bytes.begin(), bytes.end()}});
    return;
  }
  require_finite(path, values);
  detail::write_whole(path, nlohmann::json(std::vector<double>(values.begin(), values.end())).dump() + "\n");
}

}  // namespace onward
