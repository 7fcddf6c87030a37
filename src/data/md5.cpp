#include "md5.hpp"

#include <fmt/format.h>

#include <vector>

#include "../io/input_file.hpp"

namespace onward::detail {

std::string Md5::hex() {
  boost::uuids::detail::md5::digest_type digest;
  hash_.get_digest(digest);
  // Four words whose first digit is the most significant; bytes in later versions of Boost.
  std::string text;
  for (const auto word : digest) text += fmt::format("{:0{}x}", word, 2 * sizeof word);
  return text;
}

Fingerprint fingerprint(const std::filesystem::path& path) {
  InputFile file(path, {"data file", "Get it anew"});
  Md5 sum;
  std::vector<std::byte> piece(1 << 18);
  for (std::size_t came = piece.size(); came == piece.size();) {
    came = file.read(piece);
    sum.update(std::span(piece).first(came));
  }
  file.require_unchanged();
  const std::uint64_t bytes = sum.bytes();
  return {sum.hex(), bytes};
}

}  // namespace onward::detail
