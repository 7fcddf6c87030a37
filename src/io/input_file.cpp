#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward::detail {
namespace {

constexpr std::size_t buffer_bytes = 1 << 16;
constexpr int gzip_window = 15 + 16;            // zlib's word for: the largest window, in gzip's wrapping
constexpr std::uint64_t most_inflation = 1040;  // deflate makes at most 1032 bytes of one

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

InputFile::InputFile(std::filesystem::path path, FileKind kind)
    : path_(std::move(path)), kind_(kind), buffer_(buffer_bytes) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw_system_error("read", path_, errno);
  try {
    if (::fstat(file_, &opened_) != 0) throw_system_error("read", path_, errno);
    if (S_ISDIR(opened_.st_mode)) throw_system_error("read", path_, EISDIR);
    if (starts_with("\x1f\x8b")) {
      if (::inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
      gzip_ = member_open_ = true;
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

InputFile::~InputFile() {
  if (gzip_) ::inflateEnd(&stream_);
  ::close(file_);
}

/// More bytes into the buffer, behind those that are there; false at the end of the file.
bool InputFile::refill() {
  if (next_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + next_, end_ - next_);
    end_ -= next_;
    next_ = 0;
  }
  for (;;) {
    const auto count = ::read(file_, buffer_.data() + end_, buffer_.size() - end_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path_, errno);
    end_ += static_cast<std::size_t>(count);
    return count > 0;
  }
}

bool InputFile::starts_with(std::string_view bytes) {
  if (gzip_) return false;  // not asked of what is compressed
  while (end_ - next_ < bytes.size() && refill()) {
  }
  return end_ - next_ >= bytes.size() && std::memcmp(buffer_.data() + next_, bytes.data(), bytes.size()) == 0;
}

std::size_t InputFile::read(std::span<std::byte> out) {
  const std::size_t count = gzip_ ? read_inflated(out) : read_stored(out);
  taken_ += count;
  return count;
}

std::size_t InputFile::read_stored(std::span<std::byte> out) {
  std::size_t done = std::min(out.size(), end_ - next_);
  if (done > 0) std::memcpy(out.data(), buffer_.data() + next_, done);
  next_ += done;
  while (done < out.size()) {
    // What is large goes straight to its place.
    const auto count = ::read(file_, out.data() + done, std::min<std::size_t>(out.size() - done, 1 << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::size_t InputFile::read_inflated(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    if (next_ == end_ && !refill()) {
      if (member_open_) fail("it ends within its compressed data");
      break;
    }
    if (!member_open_) {
      if (buffer_[next_] != std::byte{0x1f}) fail("something else follows its compressed data");
      ::inflateReset(&stream_);
      member_open_ = true;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + next_);
    stream_.avail_in = static_cast<uInt>(end_ - next_);
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - done, 1 << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream_.avail_out = room;
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END)
      fail(fmt::format("its compressed data are damaged ({})",
                       stream_.msg != nullptr ? stream_.msg : "no gzip data"));
    next_ = end_ - stream_.avail_in;
    done += room - stream_.avail_out;
    if (status == Z_STREAM_END) member_open_ = false;
  }
  return done;
}

void InputFile::read_fully(std::span<std::byte> out, std::string_view part) {
  const std::size_t came = read(out);
  if (came < out.size())
    fail(fmt::format("it ends within {}: {} bytes of {} are there", part, came, out.size()));
}

std::optional<std::uint64_t> InputFile::left() const {
  if (!sized() || gzip_) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(opened_.st_size);
  return size - std::min(size, taken_);
}

std::uint64_t InputFile::require_promised(std::uint64_t count, std::size_t size, std::string_view promise) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, std::uint64_t{size}, &bytes))
    fail(fmt::format("its header {}, more than any file has", promise));
  if (const auto rest = left(); rest && *rest != bytes) fail_promised(promise, *rest);
  if (sized() && gzip_ && bytes / most_inflation > static_cast<std::uint64_t>(opened_.st_size))
    fail(fmt::format("its header {}, more than {} compressed bytes can hold", promise, opened_.st_size));
  return bytes;
}

std::string InputFile::read_rest(std::size_t most) {
  std::string text;
  for (std::size_t size = 0;;) {
    text.resize(std::max<std::size_t>(2 * size, left().value_or(4095) + 1));
    size += read(std::as_writable_bytes(std::span(text).subspan(size)));
    if (gzip_ && size > most)
      throw Error(
          fmt::format("{}: its compressed data unfold to more than {} bytes, the most that are of use here.",
                      path_.string(), most));
    if (size == text.size()) continue;
    text.resize(size);
    require_unchanged();
    return text;
  }
}

void InputFile::finish(std::string_view promise, std::uint64_t bytes) {
  std::byte more{};
  if (read({&more, 1}) > 0) fail(fmt::format("its header {} and more than {} bytes follow", promise, bytes));
  require_unchanged();
}

void InputFile::require_unchanged() const {
  if (!sized()) return;
  // By its name, so that a file renamed over it is noticed too: what was read is then not what is there.
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0 || !same_file(opened_, now))
    throw Error(fmt::format("{} changed or was replaced while it was being read. Try again when it is whole.",
                            path_.string()));
}

void InputFile::fail(std::string_view why) const {
  require_unchanged();
  throw Error(fmt::format("{}: not a valid {}: {}. {}.", path_.string(), kind_.name, why, kind_.remedy));
}

void InputFile::fail_promised(std::string_view promise, std::uint64_t found) const {
  fail(fmt::format("its header {} and {} bytes follow", promise, found));
}

}  // namespace onward::detail
