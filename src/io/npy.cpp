#include "onward/io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "input_file.hpp"
#include "npy_format.hpp"
#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

using detail::InputFile;

static_assert(std::endian::native == std::endian::little, "arrays are stored and used as little-endian");

/// A number of elements from untrusted sizes; nothing if it does not fit.
std::optional<std::size_t> product(const std::vector<std::size_t>& sizes) {
  std::size_t total = 1;
  for (std::size_t size : sizes)
    if (__builtin_mul_overflow(total, size, &total)) return std::nullopt;
  return total;
}

/// What follows a key of the header, which is a Python dictionary such as
/// {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }.
std::string_view value_after(const InputFile& file, std::string_view header, std::string_view key) {
  auto at = header.find(fmt::format("'{}'", key));
  if (at != std::string_view::npos) at = header.find(':', at);
  if (at != std::string_view::npos) at = header.find_first_not_of(" \t", at + 1);
  if (at == std::string_view::npos) file.fail(fmt::format("its header has no '{}'", key));
  return header.substr(at);
}

std::vector<std::size_t> parse_shape(const InputFile& file, std::string_view text) {
  const auto close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) file.fail("its shape is not a tuple");
  text = text.substr(1, close - 1);
  std::vector<std::size_t> shape;
  while (true) {
    const auto first = text.find_first_not_of(" \t,");
    if (first == std::string_view::npos) return shape;
    std::size_t size = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + first, end, size);
    if (error != std::errc{} || (stop != end && *stop != ',' && *stop != ' '))
      file.fail(fmt::format("'{}' is not a shape", text));
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
}

bool parse_order(const InputFile& file, std::string_view text) {
  if (text.starts_with("True")) return true;
  if (!text.starts_with("False")) file.fail("its fortran_order is neither True nor False");
  return false;
}

/// The dictionary: everything before the elements.
std::string read_dictionary(InputFile& file) {
  std::array<std::byte, 12> prefix{};
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(prefix[i]); };
  if (file.read(std::span(prefix).first(6)) < 6 ||
      std::memcmp(prefix.data(), detail::npy_magic.data(), detail::npy_magic.size()) != 0)
    file.fail("it does not begin as one");
  file.read_fully(std::span(prefix).subspan(6, 4), "its header");
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    file.fail(fmt::format("its format version is {}, known are 1 to 3", version));
  if (version > 1) file.read_fully(std::span(prefix).subspan(10, 2), "its header");
  const std::size_t length = byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  // NumPy itself refuses more by default; without a bound a lying length would be believed.
  constexpr std::size_t most = 1 << 20;
  if (length > most) file.fail(fmt::format("its header has {} bytes, at most {} are read", length, most));
  std::string text(length, '\0');
  file.read_fully(std::as_writable_bytes(std::span(text)), "its header");
  return text;
}

NpyHeader parse_dictionary(const InputFile& file, std::string_view text) {
  NpyHeader header;
  const std::string_view descr = value_after(file, text, "descr");
  const auto quote = descr.find('\'', 1);
  if (!descr.starts_with('\'') || quote == std::string_view::npos)
    file.fail("its elements are records, not plain numbers");
  header.dtype = descr.substr(1, quote - 1);
  header.shape = parse_shape(file, value_after(file, text, "shape"));
  header.fortran_order = parse_order(file, value_after(file, text, "fortran_order"));
  if (element_bytes(header.dtype) == 0)
    throw Error(
        fmt::format("{}: elements of type '{}' cannot be read. Store little-endian numbers, such as "
                    "numpy.save(file, array.astype('<f8')).",
                    file.path().string(), header.dtype));
  if (!product(header.shape))
    file.fail(fmt::format("its header promises ({}) elements, more than any file has",
                          fmt::join(header.shape, ", ")));
  return header;
}

}  // namespace

std::size_t element_bytes(std::string_view dtype) {
  std::size_t bytes = 0;
  detail::with_npy_type(dtype, [&]<class T>(T) { bytes = sizeof(T); });
  return bytes;
}

std::size_t NpyHeader::size() const {
  const auto total = product(shape);
  if (!total) throw Error("an array's shape is too large");
  return *total;
}

std::size_t NpyHeader::rows() const {
  if (shape.empty() || shape.size() > 2)
    throw Error(fmt::format("an array of shape ({}) where a matrix is needed: store it with two dimensions.",
                            fmt::join(shape, ", ")));
  return shape[0];
}

std::size_t NpyHeader::columns() const {
  rows();
  return shape.size() == 2 ? shape[1] : 1;
}

void detail::require_dtype(const NpyHeader& header, const std::string& wanted) {
  if (header.dtype != wanted)
    throw Error(fmt::format("an array of '{}' where '{}' is needed: convert it with array.astype('{}').",
                            header.dtype, wanted, wanted));
}

std::vector<double> detail::to_doubles(std::string_view dtype, std::span<const std::byte> bytes) {
  std::vector<double> out;
  visit_elements(dtype, bytes, [&](auto values) {
    out.resize(values.size());
    std::ranges::transform(values, out.begin(), [](auto value) { return static_cast<double>(value); });
  });
  return out;
}

NpyReader::NpyReader(const std::filesystem::path& path)
    : NpyReader(std::make_unique<InputFile>(path, detail::npy_kind)) {}

NpyReader::NpyReader(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
  header_ = parse_dictionary(*file_, read_dictionary(*file_));
  file_->require_promised(header_.size(), element_bytes(header_.dtype), promise());
}

NpyReader::~NpyReader() = default;
NpyReader::NpyReader(NpyReader&&) noexcept = default;
NpyReader& NpyReader::operator=(NpyReader&&) noexcept = default;

std::string NpyReader::promise() const {
  return fmt::format("promises ({}) elements of {} bytes", fmt::join(header_.shape, ", "),
                     element_bytes(header_.dtype));
}

template <class To>
void NpyReader::next(std::span<To> out) {
  detail::with_npy_type(header_.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, To>) {
      file_->read_fully(std::as_writable_bytes(out), "its elements");
    } else {
      std::array<T, 4096> piece;
      for (std::size_t done = 0; done < out.size();) {
        const auto now = std::span(piece).first(std::min(piece.size(), out.size() - done));
        file_->read_fully(std::as_writable_bytes(now), "its elements");
        for (const T value : now) out[done++] = static_cast<To>(value);
      }
    }
  });
}
template void NpyReader::next(std::span<float>);
template void NpyReader::next(std::span<double>);

NpyArray NpyReader::read_all() && {
  const auto bytes = header_.size() * element_bytes(header_.dtype);
  auto data = file_->read_promised<std::byte>(bytes, promise());
  return {std::move(header_), std::move(data)};
}

void NpyReader::finish() { file_->finish(promise(), header_.size() * element_bytes(header_.dtype)); }

NpyArray read_npy(const std::filesystem::path& path) { return NpyReader(path).read_all(); }

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  if (array.data.size() != array.size() * element_bytes(array.dtype))
    throw Error(fmt::format("{}: {} bytes of data do not fill the shape ({})", path.string(),
                            array.data.size(), fmt::join(array.shape, ", ")));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", array.dtype,
                                   array.fortran_order ? "True" : "False", fmt::join(array.shape, ", "),
                                   array.shape.size() == 1 ? "," : "");
  // NumPy's own alignment: the data begin at a multiple of 64, after a line end.
  constexpr std::size_t prefix = 10;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string file(detail::npy_magic);
  file += {'\x01', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  detail::write_whole(path, file);
}

}  // namespace onward
