#pragma once
// A data file as its reader wants it: gzip undone on the way, never more memory than the file can fill, and
// no silence about a file that is cut short or changes under the reader.

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onward::detail {

/// What a file should be, for messages: "FILE: not a valid <name>: <why>. <remedy>."
struct FileKind {
  std::string_view name, remedy;
};

class InputFile {
 public:
  InputFile(std::filesystem::path path, FileKind kind);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Whether the bytes that come next are these (a few).
  bool starts_with(std::string_view bytes);

  /// Fills `out`; returns how many bytes came, fewer than asked for only at the end of the file.
  std::size_t read(std::span<std::byte> out);

  /// Fills `out`, or throws; `part` says of what ("its header").
  void read_fully(std::span<std::byte> out, std::string_view part);

  /// The rest of the file, which a header says are `count` elements: `promise` tells it in words, such as
  /// "promises 60000 x 28 x 28 bytes". A header that lies costs no memory.
  template <class T>
  std::vector<T> read_promised(std::uint64_t count, std::string_view promise) {
    const std::uint64_t bytes = require_promised(count, sizeof(T), promise);
    std::vector<T> out;
    // The size of a pipe is not known: then memory follows what comes.
    const std::uint64_t step = sized() ? count : (1u << 20);
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t now = std::min(count - done, std::max(step, done));
      out.resize(static_cast<std::size_t>(done + now));
      const auto room = std::as_writable_bytes(std::span(out).subspan(static_cast<std::size_t>(done)));
      const std::size_t came = read(room);
      if (came < room.size()) fail_promised(promise, done * sizeof(T) + came);
      done += now;
    }
    finish(promise, bytes);
    return out;
  }

  /// Throws if `count` elements of `size` bytes cannot be what is left; returns their bytes.
  std::uint64_t require_promised(std::uint64_t count, std::size_t size, std::string_view promise);

  /// Everything that is left. What is compressed may not unfold to more than `most` bytes.
  std::string read_rest(std::size_t most = std::numeric_limits<std::size_t>::max());

  /// To be called when all was read: throws if more follows than the `bytes` that were promised, or if the
  /// file changed.
  void finish(std::string_view promise, std::uint64_t bytes);

  /// Throws if the file changed or was replaced since it was opened.
  void require_unchanged() const;

  /// Throws "not a valid ..."; if the file has changed meanwhile, that is what it says instead.
  [[noreturn]] void fail(std::string_view why) const;
  [[noreturn]] void fail_promised(std::string_view promise, std::uint64_t found) const;

 private:
  bool sized() const { return S_ISREG(opened_.st_mode); }
  bool refill();
  std::size_t read_stored(std::span<std::byte> out);
  std::size_t read_inflated(std::span<std::byte> out);
  /// The bytes that are left: known of a plain file.
  std::optional<std::uint64_t> left() const;

  std::filesystem::path path_;
  FileKind kind_;
  int file_ = -1;
  struct stat opened_ {};
  std::vector<std::byte> buffer_;
  std::size_t next_ = 0, end_ = 0;  // the part of the buffer that is still to be used
  std::uint64_t taken_ = 0;         // bytes handed out, after decompression
  bool gzip_ = false;
  bool member_open_ = false;  // within a gzip stream; a file may hold several
  z_stream stream_{};
};

}  // namespace onward::detail
