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
  /// Opens a file that is there and goes on after its first `rows` rows. Throws Error if it has fewer, or
  /// is of another shape.
  static NpyRowWriter resume(std::filesystem::path path, std::size_t columns, std::size_t rows);
  NpyRowWriter(NpyRowWriter&& other) noexcept;
  NpyRowWriter& operator=(NpyRowWriter&&) = delete;
  ~NpyRowWriter();

  /// A row of as many entries as there are columns, as floats. Throws Error that names the file, the reason
  /// and the remedy; rows that were written before stay readable.
  void append(std::span<const double> row);
  /// What was appended is on disk afterwards. May be called while another thread appends.
  void sync() const;
  std::size_t rows() const { return rows_; }

 private:
  NpyRowWriter(std::filesystem::path path, int file, std::size_t columns, std::size_t rows);
  void write_header();

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t columns_, rows_ = 0;
  std::vector<float> row_;
};

}  // namespace onward
