// Draws from the plain files into a defined netCDF file. The file is written a panel at a time: so many bytes
// of so many successive rows. HDF5 gets each chunk compressed already, which netCDF's own functions cannot be
// given.

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "deflate_planes.hpp"
#include "netcdf_file.hpp"
#include "netcdf_library.hpp"
#include "onward/io/netcdf_sink.hpp"
#include "onward/util/thread_pool.hpp"
#include "system_file.hpp"

namespace onward::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t panel_bytes = std::size_t{32} << 20;

/// A handle of HDF5's that is closed with its scope.
class Handle {
 public:
  Handle(hid_t id, herr_t (*closing)(hid_t)) : id_(id), close_(closing) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  /// Closes now and tells whether it could.
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Keeps room on the disk ahead of HDF5, which may crash when its own records cannot be written: a full disk
/// is found here, before HDF5 meets it.
class Reserve {
 public:
  explicit Reserve(const fs::path& path) : path_(path), file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0) throw_system_error("write", path, errno);
  }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { ::close(file_); }

  void ensure(std::uint64_t bytes) {
    if (bytes <= reserved_) return;
    const std::uint64_t wanted = bytes + bytes / 16;
    // Gives back the error instead of setting errno.
    if (const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(wanted)); error != 0)
      throw_system_error("write", path_, error);
    reserved_ = wanted;
  }
  void cut(std::uint64_t bytes) {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) throw_system_error("write", path_, errno);
  }

 private:
  const fs::path& path_;
  int file_;
  std::uint64_t reserved_ = 0;
};

/// The entries of one variable that share chunks, and where a panel's rows have them.
struct Piece {
  const RowPlace* place;
  Cut::Box box;
  std::size_t chunk_entries;  ///< of a full box
  std::size_t draws;          ///< of a chunk
  std::size_t begin() const { return place->offset + box.first * place->width; }
  std::size_t bytes() const { return box.size * place->width; }
};

/// A chunk ready for HDF5.
struct Chunk {
  const Piece* piece;
  std::size_t variable;  // of the panel's open ones
  std::size_t first;     // draw
  std::vector<std::byte> bytes;
};

class Filler {
 public:
  Filler(const fs::path& path, const NetcdfContent& content)
      : path_(path),
        content_(content),
        pool_(std::max<std::size_t>(content.options.threads, 1)),
        reserve_(path),
        file_((errno = 0, H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), H5Fclose) {
    require(file_.get() >= 0);
    make_room(0);
    draws_ = *std::ranges::max_element(content.draws);
    equal_ = std::ranges::all_of(content.draws, [&](std::size_t n) { return n == draws_; });
  }

  void draws(const std::vector<std::unique_ptr<DrawFile>>& chains) {
    if (draws_ == 0) return;
    std::vector<Piece> panel;
    for (const auto& place : content_.rows.places) {
      const std::size_t together = chunk_draws(place.variable.size(), draws_);
      const Cut cut = chunk_cut(place.variable.shape, together);
      for (std::size_t first = 0; first < place.variable.size();) {
        panel.push_back({&place, cut.box(first), cut.most(), together});
        first += panel.back().box.size;
        if (bytes_of(panel) <= panel_bytes || panel.size() == 1) continue;
        const Piece next = panel.back();
        panel.pop_back();
        write_panel(panel, chains);
        panel = {next};
      }
    }
    write_panel(panel, chains);
  }

  void constant(const Constant& constant) {
    const auto dataset = open(constant.group, constant.variable.name);
    const Cut cut = chunk_cut(constant.variable.shape, 1);
    const std::size_t width = width_of(constant.type);
    for (std::size_t first = 0; first < constant.variable.size();) {
      const auto box = cut.box(first);
      std::vector<std::byte> values(cut.most() * width);
      read_at(content_.constants_file, path_, constant.place + first * width,
              std::span(values).first(box.size * width));
      if (constant.variable.shape.empty()) {
        errno = 0;
        require(H5Dwrite(dataset.get(), native(constant.type), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         values.data()) >= 0);
      } else {
        write_chunk(dataset, {box.start.begin(), box.start.end()}, packed(values, width, 1));
      }
      first += box.size;
    }
  }

  void close() {
    make_room(0);
    errno = 0;
    require(H5Fflush(file_.get(), H5F_SCOPE_LOCAL) >= 0);
    const auto bytes = file_bytes();
    require(file_.close());
    reserve_.cut(bytes);
  }

 private:
  static hid_t native(NumberType type) {
    switch (type) {
      case NumberType::float64:
        return H5T_NATIVE_DOUBLE;
      case NumberType::float32:
        return H5T_NATIVE_FLOAT;
      case NumberType::uint8:
        return H5T_NATIVE_UINT8;
    }
    return -1;
  }

  void require(bool good) const {
    if (!good) throw_netcdf_error("write", path_, "HDF5 gives no reason");
  }

  std::uint64_t file_bytes() const {
    hsize_t bytes = 0;
    require(H5Fget_filesize(file_.get(), &bytes) >= 0);
    return bytes;
  }

  /// For so many bytes of a chunk and for the records that HDF5 has not written yet: of a chunk some 100
  /// bytes, and a few pages for each variable.
  void make_room(std::size_t bytes) {
    ++chunks_;
    reserve_.ensure(file_bytes() + bytes + 200 * chunks_ + 8192 * (content_.rows.places.size() + 8));
  }

  Handle open(const std::string& group, const std::string& variable) const {
    errno = 0;
    Handle result(
        H5Dopen2(file_.get(), fmt::format("/{}/{}", group, netcdf_name(variable)).c_str(), H5P_DEFAULT),
        H5Dclose);
    require(result.get() >= 0);
    return result;
  }

  static std::size_t rows_of(const std::vector<Piece>& panel) {
    return std::ranges::max(panel, {}, &Piece::draws).draws;
  }
  static std::size_t bytes_of(const std::vector<Piece>& panel) {
    return (panel.back().begin() + panel.back().bytes() - panel.front().begin()) * rows_of(panel);
  }

  void write_panel(const std::vector<Piece>& panel, const std::vector<std::unique_ptr<DrawFile>>& chains) {
    std::vector<Handle> datasets;
    std::vector<std::size_t> dataset_of;
    for (std::size_t k = 0; k < panel.size(); ++k) {
      if (k == 0 || panel[k].place != panel[k - 1].place)
        datasets.push_back(open(panel[k].place->group, panel[k].place->variable.name));
      dataset_of.push_back(datasets.size() - 1);
    }
    const std::size_t rows = rows_of(panel), begin = panel.front().begin();
    const std::size_t bytes = panel.back().begin() + panel.back().bytes() - begin;
    std::vector<std::byte> buffer(rows * bytes);
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
      // Rows of a chunk are whole in a block: counts of draws are powers of two, or there is but one block.
      for (std::size_t first = 0; first < content_.draws[chain]; first += rows) {
        const std::size_t count = std::min(rows, content_.draws[chain] - first);
        chains[chain]->read(first, count, begin, bytes, buffer.data());
        std::vector<Chunk> chunks;
        for (std::size_t k = 0; k < panel.size(); ++k)
          for (std::size_t at = 0; at < count; at += panel[k].draws)
            chunks.push_back({&panel[k], dataset_of[k], first + at, {}});
        pool_.for_each(chunks.size(), [&](std::size_t k) {
          Chunk& chunk = chunks[k];
          const std::size_t at = chunk.first - first;
          chunk.bytes = gathered(*chunk.piece, buffer.data() + at * bytes + (chunk.piece->begin() - begin),
                                 bytes, std::min(chunk.piece->draws, count - at));
        });
        for (const auto& chunk : chunks) {
          std::vector<hsize_t> start{chain, chunk.first};
          start.insert(start.end(), chunk.piece->box.start.begin(), chunk.piece->box.start.end());
          write_chunk(datasets[chunk.variable], start, chunk.bytes);
        }
      }
    }
  }

  /// The values of some rows as a whole chunk of the variable's type, packed.
  std::vector<std::byte> gathered(const Piece& piece, const std::byte* rows, std::size_t stride,
                                  std::size_t count) const {
    const std::size_t width = piece.place->width;
    const std::size_t numbers = piece.chunk_entries * piece.draws;
    std::vector<std::byte> chunk(numbers * width);
    if (count < piece.draws || piece.box.size < piece.chunk_entries) {
      if (width == 4)
        std::fill_n(reinterpret_cast<float*>(chunk.data()), numbers, std::numeric_limits<float>::quiet_NaN());
      else
        std::fill_n(reinterpret_cast<double*>(chunk.data()), numbers,
                    std::numeric_limits<double>::quiet_NaN());
    }
    for (std::size_t k = 0; k < count; ++k)
      std::memcpy(&chunk[k * piece.chunk_entries * width], rows + k * stride, piece.bytes());
    using Kind = NamedStatistic::Kind;
    if (!equal_ || piece.place->kind == Kind::number) return packed(chunk, width, piece.chunk_entries);
    if (piece.place->kind == Kind::count) return packed_as<std::int64_t>(chunk);
    return packed_as<std::int8_t>(chunk);
  }

  template <class Integer>
  std::vector<std::byte> packed_as(std::span<const std::byte> doubles) const {
    std::vector<Integer> integers(doubles.size() / sizeof(double));
    for (std::size_t k = 0; k < integers.size(); ++k) {
      double value = 0;
      std::memcpy(&value, &doubles[k * sizeof(double)], sizeof(double));
      integers[k] = std::isfinite(value) ? static_cast<Integer>(value) : Integer{0};
    }
    return packed(std::as_bytes(std::span(integers)), sizeof(Integer), 1);
  }

  std::vector<std::byte> packed(std::span<const std::byte> numbers, std::size_t width,
                                std::size_t row) const {
    if (content_.options.deflate == 0) return {numbers.begin(), numbers.end()};
    return shuffle_and_deflate(numbers, width, row, content_.options.deflate);
  }

  void write_chunk(const Handle& dataset, const std::vector<hsize_t>& start,
                   const std::vector<std::byte>& bytes) {
    make_room(bytes.size());
    errno = 0;
    require(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, start.data(), bytes.size(), bytes.data()) >= 0);
  }

  const fs::path& path_;
  const NetcdfContent& content_;
  ThreadPool pool_;
  Reserve reserve_;
  Handle file_;
  std::uint64_t chunks_ = 0;
  std::size_t draws_ = 0;
  bool equal_ = true;
};

}  // namespace

void fill_netcdf(const fs::path& path, const NetcdfContent& content,
                 const std::vector<std::unique_ptr<DrawFile>>& chains) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are thrown, not printed
  Filler filler(path, content);
  filler.draws(chains);
  for (const auto& constant : content.constants) filler.constant(constant);
  filler.close();
}

}  // namespace onward::detail

void onward::silence_hdf5() {
  const std::lock_guard lock(detail::netcdf_mutex());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}
