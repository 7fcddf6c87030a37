#pragma once
// HDF5's filters "shuffle" and "deflate" for arrays of draws, several times faster than HDF5 applies them.
//
// Of a double that was drawn, the lower bytes are noise, and zlib spends nearly all its time looking for
// repeats in it. After the shuffle they lie together: bytes 0 of all numbers, then bytes 1, and so on. What
// is noise is stored as it is, and of the rest only the frequencies of bytes are used, not repeats. Where
// many numbers equal those of the draw before (rejections, constants), zlib does all it can. The result is a
// zlib stream like any other.

#include <cstddef>
#include <span>
#include <vector>

namespace onward::detail {

/// `row`: how many numbers before one the same parameter's last draw is; `width`: bytes of a number.
std::vector<std::byte> shuffle_and_deflate(std::span<const std::byte> numbers, std::size_t width,
                                           std::size_t row, int level);

}  // namespace onward::detail
