#pragma once
// MD5 as a fingerprint: it tells a right copy from a damaged one, not from a forged one.

#include <boost/uuid/detail/md5.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace onward::detail {

class Md5 {
 public:
  void update(std::span<const std::byte> bytes) {
    hash_.process_bytes(bytes.data(), bytes.size());
    bytes_ += bytes.size();
  }
  std::uint64_t bytes() const { return bytes_; }  ///< so far
  std::string hex();                              ///< ends the sum

 private:
  boost::uuids::detail::md5 hash_;
  std::uint64_t bytes_ = 0;
};

}  // namespace onward::detail
