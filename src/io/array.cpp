#include "onward/io/array.hpp"

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {

Array::Array(NpyArray array) : NpyHeader(std::move(static_cast<NpyHeader&>(array))) {
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(array.data));
  bytes = *kept;
  owner = std::move(kept);
}

void Array::check(const std::string& what) const {
  const std::size_t each = element_bytes(dtype);
  if (each == 0)
    throw UsageError(
        fmt::format("{} has elements of type '{}', which are not read: give little-endian numbers, such as "
                    "array.astype('<f8')",
                    what, dtype));
  if (bytes.size() != size() * each)
    throw UsageError(fmt::format("{} has {} bytes, but the shape ({}) of '{}' takes {}", what, bytes.size(),
                                 fmt::join(shape, ", "), dtype, size() * each));
}

NpyHeader ArraySource::header() const { return held ? NpyHeader(*held) : NpyReader(word).header(); }

Array ArraySource::read() const { return held ? *held : Array(read_npy(word)); }

}  // namespace onward
