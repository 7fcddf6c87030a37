#include "md5.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "../io/input_file.hpp"
#include "onward/data/fingerprint.hpp"

namespace onward::detail {

std::string Md5::hex() {
  boost::uuids::detail::md5::digest_type digest;
  hash_.get_digest(digest);
  // Four words whose first digit is the most significant; bytes in later versions of Boost.
  std::string text;
  for (const auto word : digest) text += fmt::format("{:0{}x}", word, 2 * sizeof word);
  return text;
}

}  // namespace onward::detail

namespace onward {

Fingerprint fingerprint(std::span<const std::byte> bytes) {
  detail::Md5 md5;
  md5.update(bytes);
  return {md5.hex(), bytes.size()};
}

Fingerprint fingerprint(const std::filesystem::path& path) {
  detail::InputFile file(path, {"data file", "Get it anew"});
  detail::Md5 sum;
  std::vector<std::byte> piece(1 << 18);
  for (std::size_t came = piece.size(); came == piece.size();) {
    came = file.read(piece);
    sum.update(std::span(piece).first(came));
  }
  file.require_unchanged();
  const std::uint64_t bytes = sum.bytes();
  return {sum.hex(), bytes};
}

Fingerprint known_fingerprint(const std::filesystem::path& path) {
  using Key = std::tuple<dev_t, ino_t, off_t, std::time_t, long>;
  static std::mutex mutex;
  static std::map<Key, Fingerprint> known;
  struct stat status {};
  // A file that changed a moment ago may change again within the grain of its time.
  constexpr std::time_t settled = 2;
  if (::stat(path.c_str(), &status) != 0 || std::time(nullptr) - status.st_mtim.tv_sec < settled)
    return fingerprint(path);
  const Key key{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(key); it != known.end()) return it->second;
  }
  auto found = fingerprint(path);
  const std::lock_guard lock(mutex);
  return known[key] = std::move(found);
}

}  // namespace onward
