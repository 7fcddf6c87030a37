#pragma once
// Tensors by name in .safetensors files: 8 bytes with the length of a JSON header, the header, and the raw
// numbers. Nothing in such a file is a program, and nothing in it is believed before it was checked.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace onward {

/// What a header says of one tensor. Row-major, little-endian.
struct SafeTensor {
  std::string name;
  std::string dtype;  ///< the format's word: "F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", ...
  std::vector<std::size_t> shape;
  std::size_t begin = 0, end = 0;  ///< its bytes among all

  std::size_t size() const;  ///< number of entries
};

/// A whole file in memory.
class SafeTensors {
 public:
  /// Reads a file, plain or gzipped. Throws Error that names the file and what is wrong with it: it ends too
  /// soon, its header is not JSON, offsets overlap, leave gaps or do not agree with shape and type.
  static SafeTensors read(const std::filesystem::path& file);

  const std::vector<SafeTensor>& tensors() const { return tensors_; }  ///< in the order of their bytes
  const SafeTensor* find(const std::string& name) const;               ///< null: there is none
  /// The file's notes about itself.
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  /// A tensor's entries. Throws Error for whole numbers and the rarer kinds of floats: F64, F32, F16 and BF16
  /// can be read.
  std::vector<double> values(const SafeTensor& tensor) const;

 private:
  std::string file_;
  std::vector<SafeTensor> tensors_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<std::byte> data_;
};

/// A tensor to be written, as F32.
struct NamedFloats {
  std::string name;
  std::vector<std::size_t> shape;
  std::span<const float> values;
};

/// Makes or replaces a file, as a whole or not at all.
void write_safetensors(const std::filesystem::path& file, std::span<const NamedFloats> tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata = {});

}  // namespace onward
