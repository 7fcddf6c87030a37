#pragma once
// Vectors and arrays in files that others make too: a JSON array, or NumPy's .npy.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace onward {

/// A .npy array as stored: little-endian, C order (a Fortran-order file is read only if that is the same).
struct NpyArray {
  std::vector<std::size_t> shape;  ///< empty: one number
  std::string dtype;               ///< NumPy's word: "<f8" "<f4" "<i8" "<i4" "<i2" "|i1" "|u1" "<u2" "|b1"
  std::vector<std::byte> data;

  std::size_t size() const;  ///< number of elements: the product of the shape

  /// The elements without a copy; T must be what dtype says (double, float, std::int64_t, std::uint8_t, ...).
  template <class T>
  std::span<const T> as() const {
    require_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

  /// The elements of any dtype as doubles (64-bit integers beyond 2^53 are rounded).
  std::vector<double> to_doubles() const;

  /// NumPy's word for T.
  template <class T>
  static std::string dtype_of() {
    static_assert(std::is_arithmetic_v<T>);
    const char kind = std::is_same_v<T, bool>       ? 'b'
                      : std::is_floating_point_v<T> ? 'f'
                      : std::is_signed_v<T>         ? 'i'
                                                    : 'u';
    return {sizeof(T) == 1 ? '|' : '<', kind, static_cast<char>('0' + sizeof(T))};
  }

 private:
  void require_dtype(const std::string& wanted) const;
};

/// Reads a .npy file, header versions 1 to 3. Throws Error if the header and the data do not agree.
NpyArray read_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const NpyArray& array);

/// Reads a vector of finite numbers: .npy (1-D, or 2-D with one row or column), else a JSON
/// array. Throws Error naming the index of an entry that is NaN or infinite. The caller checks the length.
std::vector<double> read_vector(const std::filesystem::path& path);

/// Writes a vector so that reading gives the same bits: .npy ("<f8") by its name, else a JSON array.
void write_vector(const std::filesystem::path& path, std::span<const double> values);

}  // namespace onward
