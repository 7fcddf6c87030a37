#include "deflate_planes.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace onward::detail {
namespace {

/// From this many bits of entropy in a byte on, storing it costs less than 4% more than coding it.
constexpr double noise_bits = 7.7;

/// Of a byte, judged by some 16,000 of them.
double entropy_bits(std::span<const std::byte> bytes) {
  std::array<std::size_t, 256> counts{};
  const std::size_t stride = std::max<std::size_t>(bytes.size() / 16384, 1);
  std::size_t all = 0;
  for (std::size_t k = 0; k < bytes.size(); k += stride, ++all)
    ++counts[std::to_integer<std::size_t>(bytes[k])];
  double bits = 0;
  for (const auto count : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(all);
    if (count > 0) bits -= share * std::log2(share);
  }
  return bits;
}

/// Whether an eighth of the numbers equal those a row before. A sample of them tells.
bool repeats(std::span<const std::byte> numbers, std::size_t width, std::size_t row) {
  const std::size_t count = numbers.size() / width;
  std::size_t looked = 0, equal = 0;
  for (std::size_t k = row; k < count; k += 7, ++looked)
    equal += std::memcmp(&numbers[k * width], &numbers[(k - row) * width], width) == 0;
  return 8 * equal > looked;
}

/// The width is a constant for the compiler.
template <std::size_t width>
void shuffle(std::span<const std::byte> numbers, std::span<std::byte> planes) {
  const std::size_t count = numbers.size() / width;
  for (std::size_t plane = 0; plane < width; ++plane)
    for (std::size_t k = 0; k < count; ++k) planes[plane * count + k] = numbers[k * width + plane];
}

struct Deflater {
  z_stream stream{};

  Deflater(std::vector<std::byte>& out, int level) {
    if (::deflateInit(&stream, level) != Z_OK) throw std::bad_alloc();
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { ::deflateEnd(&stream); }

  void parameters(int level, int strategy) { check(::deflateParams(&stream, level, strategy)); }
  void add(std::span<const std::byte> bytes, int flush) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    check(::deflate(&stream, flush));
  }

 private:
  void check(int status) const {
    if ((status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) || stream.avail_out == 0)
      throw std::logic_error("zlib could not compress draws");
  }
};

}  // namespace

std::vector<std::byte> shuffle_and_deflate(std::span<const std::byte> numbers, std::size_t width,
                                           std::size_t row, int level) {
  const std::size_t count = numbers.size() / width;
  std::vector<std::byte> planes(numbers.size());
  switch (width) {
    case 8:
      shuffle<8>(numbers, planes);
      break;
    case 4:
      shuffle<4>(numbers, planes);
      break;
    default:  // numbers of one byte are shuffled already
      std::ranges::copy(numbers, planes.begin());
  }

  // Room for the worst case, in which zlib stores everything, and for the ends of the planes' blocks.
  std::vector<std::byte> out(::compressBound(static_cast<uLong>(numbers.size())) + numbers.size() / 1000 +
                             4096);
  const bool search = repeats(numbers, width, row);
  Deflater deflater(out, level);
  for (std::size_t plane = 0; plane < width; ++plane) {
    const auto bytes = std::span(planes).subspan(plane * count, count);
    if (!search) {
      if (entropy_bits(bytes) > noise_bits)
        deflater.parameters(0, Z_DEFAULT_STRATEGY);
      else
        deflater.parameters(level, Z_HUFFMAN_ONLY);
    }
    deflater.add(bytes, plane + 1 == width ? Z_FINISH : Z_NO_FLUSH);
  }
  out.resize(deflater.stream.total_out);
  return out;
}

}  // namespace onward::detail
