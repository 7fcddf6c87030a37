#include "onward/io/npy_rows.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "npy_format.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

constexpr std::size_t header_bytes = 128;  // room for any number of rows; a multiple of 64, as NumPy has it

}  // namespace

NpyRowWriter::NpyRowWriter(std::filesystem::path path, std::size_t columns)
    : path_(std::move(path)), file_(detail::open_for_writing(path_, true)), columns_(columns), row_(columns) {
  try {
    write_header();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

NpyRowWriter::NpyRowWriter(std::filesystem::path path, int file, std::size_t columns, std::size_t rows)
    : path_(std::move(path)), file_(file), columns_(columns), rows_(rows), row_(columns) {}

NpyRowWriter NpyRowWriter::resume(std::filesystem::path path, std::size_t columns, std::size_t rows) {
  const NpyHeader header = NpyReader(path).header();
  if (header.shape.size() != 2 || header.columns() != columns || header.dtype != "<f4" ||
      header.rows() < rows)
    throw Error(
        fmt::format("{} holds {} x {} numbers, and the checkpoint counts on {} rows of {}: it was "
                    "changed since. Begin the run again",
                    path.string(), header.rows(), header.columns(), rows, columns));
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) detail::throw_system_error("write", path, errno);
  NpyRowWriter writer(std::move(path), file, columns, rows);
  writer.write_header();
  if (::ftruncate(file, static_cast<off_t>(header_bytes + rows * columns * sizeof(float))) != 0)
    detail::throw_system_error("write", writer.path_, errno);
  return writer;
}

void NpyRowWriter::sync() const { detail::sync_file(file_, path_); }

NpyRowWriter::NpyRowWriter(NpyRowWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      columns_(other.columns_),
      rows_(other.rows_),
      row_(std::move(other.row_)) {}

NpyRowWriter::~NpyRowWriter() {
  if (file_ >= 0) ::close(file_);
}

void NpyRowWriter::write_header() {
  std::string header(detail::npy_magic);
  header += {'\x01', '\0', static_cast<char>(header_bytes - 10), '\0'};
  header += fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows_, columns_);
  header.append(header_bytes - 1 - header.size(), ' ');
  header += '\n';
  if (::pwrite(file_, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()))
    detail::throw_system_error("write", path_, errno);
}

void NpyRowWriter::append(std::span<const double> row) {
  if (row.size() != columns_)
    throw Error(fmt::format("{}: a row of {} entries where there are {} columns", path_.string(), row.size(),
                            columns_));
  for (std::size_t i = 0; i < columns_; ++i) row_[i] = static_cast<float>(row[i]);
  const std::size_t bytes = columns_ * sizeof(float);
  const auto begin = static_cast<off_t>(header_bytes + rows_ * bytes);
  const std::string_view data(reinterpret_cast<const char*>(row_.data()), bytes);
  if (::lseek(file_, begin, SEEK_SET) != begin || detail::write_fully(file_, data) != bytes) {
    const int error = errno;
    // Half a row would make the file longer than its header says.
    [[maybe_unused]] const int cut = ::ftruncate(file_, begin);
    detail::throw_system_error("write", path_, error);
  }
  ++rows_;
  write_header();
}

}  // namespace onward
