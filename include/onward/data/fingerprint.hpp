#pragma once
// What tells a file from a changed one: its size and the MD5 of its contents. It shows damage and mistakes,
// not forgery.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace onward {

struct Fingerprint {
  std::string md5;
  std::uint64_t bytes = 0;
};

Fingerprint fingerprint(std::span<const std::byte> bytes);
/// Of a file's contents, gzip undone.
Fingerprint fingerprint(const std::filesystem::path& path);

/// The same, without reading a file again that this process has read and that has not changed since, by its
/// size and time.
Fingerprint known_fingerprint(const std::filesystem::path& path);

}  // namespace onward
