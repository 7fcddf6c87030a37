#include "draw_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward::detail {
namespace fs = std::filesystem;

RowLayout::RowLayout(const NetcdfLayout& layout, bool single_precision) {
  const auto add = [this](const std::string& group, const NamedShape& variable, std::size_t width,
                          NamedStatistic::Kind kind = NamedStatistic::Kind::number) {
    if (variable.size() == 0) return;
    places.push_back({group, variable, kind, bytes, width});
    bytes += variable.size() * width;
  };
  for (const char* name : {"lp", "acceptance_rate", "step_size"}) add("sample_stats", {name, {}}, 8);
  for (const auto& statistic : layout.statistics)
    add("sample_stats", {statistic.name, {}}, 8, statistic.kind);
  const std::size_t width = single_precision ? 4 : 8;
  for (const auto& variable : layout.posterior) add("posterior", variable, width);
  for (const auto& variable : layout.unconstrained_posterior) add("unconstrained_posterior", variable, width);
  for (const auto& variable : layout.log_likelihood) add("log_likelihood", variable, width);

  nlohmann::ordered_json description{{"onward draws", 1}, {"row bytes", bytes}};
  for (const auto& place : places)
    description["variables"].push_back({place.group, place.variable.name, place.variable.shape, place.width});
  header = description.dump() + "\n";
}

DrawFile::DrawFile(fs::path path, const RowLayout& rows, std::size_t buffer_bytes)
    : path_(std::move(path)),
      header_bytes_(rows.header.size()),
      row_bytes_(rows.bytes),
      buffer_(std::max<std::size_t>(buffer_bytes / rows.bytes, 1) * rows.bytes) {
  // Not by open_for_writing(): the rows are read back in the end.
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) throw_system_error("write", path_, errno);
  if (write_fully(file_, rows.header) == rows.header.size()) return;
  const int error = errno;
  ::close(file_);
  throw_system_error("write", path_, error);
}

DrawFile::DrawFile(fs::path path, const RowLayout& rows, std::size_t buffer_bytes, std::size_t draws)
    : path_(std::move(path)),
      header_bytes_(rows.header.size()),
      row_bytes_(rows.bytes),
      on_disk_(draws),
      buffer_(std::max<std::size_t>(buffer_bytes / rows.bytes, 1) * rows.bytes) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) throw_system_error("write", path_, errno);
  try {
    const auto size = static_cast<std::size_t>(std::max<off_t>(::lseek(file_, 0, SEEK_END), 0));
    std::string header(rows.header.size(), '\0');
    if (size >= header_bytes_) read_at(file_, path_, 0, std::as_writable_bytes(std::span(header)));
    if (header != rows.header)
      throw Error(
          fmt::format("{} was written for other parameters or statistics, or in another precision: a run "
                      "goes on with those it began with.",
                      path_.string()));
    const std::size_t end = header_bytes_ + draws * row_bytes_;
    if (size < end)
      throw Error(fmt::format("{} has {} draws where {} are needed to go on: it was cut short.",
                              path_.string(), (size - header_bytes_) / row_bytes_, draws));
    if (::ftruncate(file_, static_cast<off_t>(end)) != 0) throw_system_error("write", path_, errno);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

DrawFile::~DrawFile() {
  try {
    flush();
  } catch (const Error&) {  // whoever wants to hear of it has called flush()
  }
  ::close(file_);
}

std::span<std::byte> DrawFile::row() {
  if ((buffered_ + 1) * row_bytes_ > buffer_.size()) flush();
  return std::span(buffer_).subspan(buffered_ * row_bytes_, row_bytes_);
}

void DrawFile::append() { ++buffered_; }

void DrawFile::flush() {
  if (buffered_ == 0) return;
  const auto begin = static_cast<off_t>(header_bytes_ + on_disk_ * row_bytes_);
  const std::string_view bytes(reinterpret_cast<const char*>(buffer_.data()), buffered_ * row_bytes_);
  if (::lseek(file_, begin, SEEK_SET) != begin || write_fully(file_, bytes) != bytes.size()) {
    const int error = errno;
    [[maybe_unused]] const int cut = ::ftruncate(file_, begin);  // no half a row
    throw_system_error("write", path_, error);
  }
  on_disk_ += buffered_;
  buffered_ = 0;
}

void DrawFile::sync() {
  flush();
  if (::fsync(file_) != 0) throw_system_error("write", path_, errno);
}

void DrawFile::read(std::size_t first, std::size_t count, std::size_t offset, std::size_t bytes,
                    std::byte* out) const {
  const std::uint64_t begin = header_bytes_ + first * row_bytes_;
  if (bytes == row_bytes_) return read_at(file_, path_, begin, {out, count * bytes});
  for (std::size_t k = 0; k < count; ++k)
    read_at(file_, path_, begin + k * row_bytes_ + offset, {out + k * bytes, bytes});
}

fs::path draw_file_path(const fs::path& netcdf, std::size_t chain) {
  fs::path result = netcdf;
  result += fmt::format(".chain-{}", chain + 1);
  return result;
}

void read_at(int file, const fs::path& path, std::uint64_t place, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto count = ::pread(file, out.data() + done, out.size() - done, static_cast<off_t>(place + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path, errno);
    if (count == 0)
      throw Error(fmt::format("{} is shorter than it was written: its end is gone.", path.string()));
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace onward::detail
