#pragma once
// Arrays in NumPy's .npy files (plain or gzipped), in the type that the file has: pixels stay bytes, floats
// stay floats.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace onward {

namespace detail {
class InputFile;

/// NumPy's word for T, such as "<f8" or "|u1".
template <class T>
std::string npy_dtype() {
  static_assert(std::is_arithmetic_v<T>);
  const char kind = std::is_same_v<T, bool>       ? 'b'
                    : std::is_floating_point_v<T> ? 'f'
                    : std::is_signed_v<T>         ? 'i'
                                                  : 'u';
  return {sizeof(T) == 1 ? '|' : '<', kind, static_cast<char>('0' + sizeof(T))};
}

/// Calls `f` with a value of the type that the word names ("|b1" is taken as a byte); nothing for other
/// words.
template <class F>
void with_npy_type(std::string_view dtype, F&& f) {
  const auto try_type = [&]<class T>(T zero) {
    if (dtype == npy_dtype<T>()) f(zero);
  };
  try_type(double{});
  try_type(float{});
  try_type(std::int8_t{});
  try_type(std::int16_t{});
  try_type(std::int32_t{});
  try_type(std::int64_t{});
  try_type(std::uint8_t{});
  try_type(std::uint16_t{});
  try_type(std::uint32_t{});
  try_type(std::uint64_t{});
  if (dtype == "|b1") f(std::uint8_t{});
}
}  // namespace detail

/// What a .npy file says of its array.
struct NpyHeader {
  std::vector<std::size_t> shape;  ///< empty: one number
  std::string dtype;           ///< NumPy's word: "<f8" "<f4" "|i1" "<i2" "<i4" "<i8" "|u1" "<u2" ... "|b1"
  bool fortran_order = false;  ///< the first index runs fastest, instead of the last

  std::size_t size() const;  ///< number of elements: the product of the shape

  /// As a matrix: 2-D, or 1-D as one column. Error if it has more dimensions. Element (i, j) is at
  /// i * row_stride() + j * column_stride().
  std::size_t rows() const;
  std::size_t columns() const;
  std::size_t row_stride() const { return fortran_order ? 1 : columns(); }
  std::size_t column_stride() const { return fortran_order ? rows() : 1; }
};

namespace detail {
/// Throws Error unless the elements are of that type.
void require_dtype(const NpyHeader& header, const std::string& wanted);

template <class T>
std::span<const T> elements(const NpyHeader& header, std::span<const std::byte> bytes) {
  require_dtype(header, npy_dtype<T>());
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class F>
void visit_elements(std::string_view dtype, std::span<const std::byte> bytes, F&& f) {
  with_npy_type(dtype, [&]<class T>(T) {
    f(std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)));
  });
}

std::vector<double> to_doubles(std::string_view dtype, std::span<const std::byte> bytes);
}  // namespace detail

/// Bytes of an element of a type that NumPy calls so; 0 if the word is not known.
std::size_t element_bytes(std::string_view dtype);

/// A .npy array as stored, little-endian.
struct NpyArray : NpyHeader {
  std::vector<std::byte> data;

  /// The elements without a copy; T must be what dtype says (double, float, std::int64_t, std::uint8_t, ...).
  template <class T>
  std::span<const T> as() const {
    return detail::elements<T>(*this, data);
  }

  /// Calls `f` with the elements as a std::span<const T>, T being what dtype says; true and false are bytes.
  template <class F>
  void visit(F&& f) const {
    detail::visit_elements(dtype, data, std::forward<F>(f));
  }

  /// The elements of any dtype as doubles, in the order of the file (64-bit integers beyond 2^53 are
  /// rounded).
  std::vector<double> to_doubles() const { return detail::to_doubles(dtype, data); }
};

/// A .npy file read piece by piece, for arrays that are to be stored in another form: memory for the array
/// itself is the caller's.
class NpyReader {
 public:
  /// Reads the header (versions 1 to 3). Throws Error if it does not agree with the size of the file.
  explicit NpyReader(const std::filesystem::path& path);
  /// For a file that was opened already.
  explicit NpyReader(std::unique_ptr<detail::InputFile> file);
  ~NpyReader();
  NpyReader(NpyReader&&) noexcept;
  NpyReader& operator=(NpyReader&&) noexcept;

  const NpyHeader& header() const { return header_; }

  /// The next elements, converted to To: float or double.
  template <class To>
  void next(std::span<To> out);

  /// The whole array, when nothing was taken before.
  NpyArray read_all() &&;

  /// To be called after the last element: throws Error if more bytes follow, or if the file changed or was
  /// replaced while it was being read.
  void finish();

 private:
  std::string promise() const;

  std::unique_ptr<detail::InputFile> file_;
  NpyHeader header_;
};
extern template void NpyReader::next(std::span<float>);
extern template void NpyReader::next(std::span<double>);

NpyArray read_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace onward
