#include "onward/io/npy_rows.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "npy_format.hpp"
#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

constexpr std::size_t header_bytes = 128;  // room for any number of rows; a multiple of 64, as NumPy has it
constexpr std::string_view before_rows = "'shape': (";

std::string header_text(std::size_t rows, std::size_t columns) {
  std::string header(detail::npy_magic);
  header += {'\x01', '\0', static_cast<char>(header_bytes - 10), '\0'};
  header +=
      fmt::format("{{'descr': '<f4', 'fortran_order': False, {}{}, {}), }}", before_rows, rows, columns);
  header.append(header_bytes - 1 - header.size(), ' ');
  header += '\n';
  return header;
}

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
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) detail::throw_system_error("write", path, errno);
  NpyRowWriter writer(std::move(path), file, columns, rows);
  // Not by a reader of such files: a run that is killed between a row and its header leaves a file that is
  // longer than its header says.
  std::string old(header_bytes, '\0');
  const bool whole = ::pread(file, old.data(), old.size(), 0) == static_cast<ssize_t>(old.size());
  std::size_t said = 0;
  const auto number = old.find(before_rows);
  if (number != std::string::npos)
    std::from_chars(old.data() + number + before_rows.size(), old.data() + old.size(), said);
  const auto end = static_cast<off_t>(header_bytes + rows * columns * sizeof(float));
  if (!whole || old != header_text(said, columns) || ::lseek(file, 0, SEEK_END) < end)
    throw Error(
        fmt::format("{} does not hold the {} rows of {} numbers that the checkpoint counts on: it was "
                    "changed since. Begin the run again",
                    writer.path_.string(), rows, columns));
  writer.write_header();
  if (::ftruncate(file, end) != 0) detail::throw_system_error("write", writer.path_, errno);
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
  const std::string header = header_text(rows_, columns_);
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
