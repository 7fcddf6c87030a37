#pragma once
// A .npy matrix of floats that grows row by row, for draws of many parameters. After each row the file is
// whole and says how many rows it has, so that a run that is cut short leaves a file that NumPy reads.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace onward {

class NpyRowWriter {
 public:
  /// Makes the file; throws Error if it exists or cannot be made.
  NpyRowWriter(std::filesystem::path path, std::size_t columns);
  NpyRowWriter(NpyRowWriter&& other) noexcept;
  NpyRowWriter& operator=(NpyRowWriter&&) = delete;
  ~NpyRowWriter();

  /// A row of as many entries as there are columns, as floats. Throws Error that names the file, the reason
  /// and the remedy; rows that were written before stay readable.
  void append(std::span<const double> row);
  std::size_t rows() const { return rows_; }

 private:
  void write_header();

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t columns_, rows_ = 0;
  std::vector<float> row_;
};

}  // namespace onward
