// How fast draws get into a netCDF file, from the first draw until the file is complete and on disk, and how
// much memory that takes for a model of millions of parameters.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "bench.hpp"
#include "onward/error.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/random/stream.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"

namespace onward::bench {
namespace {

namespace fs = std::filesystem;

/// A folder that goes when it is done with.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("onward-bench-netcdf-{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

/// Of all threads of this process.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Speed {
  double wall, processor;  ///< MB/s of doubles
};

/// Normals for rows that follow each other, none equal to the one before.
class Rows {
 public:
  explicit Rows(std::size_t size) : size_(size), numbers_(size + extra) {
    Stream(1, 0).normals(0, Purpose::noise, numbers_);
  }
  std::span<const double> at(std::size_t draw) const {
    return std::span(numbers_).subspan(draw * 7919 % extra, size_);
  }

 private:
  static constexpr std::size_t extra = 100'003;
  std::size_t size_;
  std::vector<double> numbers_;
};

Speed write_file(const fs::path& file, std::size_t chains, std::size_t draws, std::size_t parameters,
                 bool single_precision) {
  const Rows rows(parameters);
  const double megabytes = 8e-6 * static_cast<double>(chains * draws * parameters);
  const auto begin = Clock::now();
  const double processor = processor_seconds();
  NetcdfWriter writer(
      file, {.chains = chains, .posterior = {{"theta", {parameters}}}},
      {.single_precision = single_precision, .threads = std::max(1u, std::thread::hardware_concurrency())});
  for (std::size_t draw = 0; draw < draws; ++draw)
    for (std::size_t chain = 0; chain < chains; ++chain)
      writer.draw(chain, {.lp = 0, .parameters = rows.at(draw * chains + chain)});
  writer.close();
  return {megabytes / seconds_since(begin), megabytes / (processor_seconds() - processor)};
}

/// MB/s of the same bytes written to a plain file and synced.
double write_plainly(const fs::path& file, std::size_t rows_written, std::size_t parameters) {
  const Rows rows(parameters);
  const auto begin = Clock::now();
  const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0) throw Error(fmt::format("{} cannot be written", file.string()));
  for (std::size_t row = 0; row < rows_written; ++row) {
    const auto bytes = std::as_bytes(rows.at(row));
    if (::write(out, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      throw Error(fmt::format("{} cannot be written: is the disk full?", file.string()));
  }
  ::fsync(out);
  ::close(out);
  return 8e-6 * static_cast<double>(rows_written * parameters) / seconds_since(begin);
}

}  // namespace

std::vector<Row> netcdf(const Hears& hears) {
  const Folder folder;
  std::vector<Row> rows;

  constexpr std::size_t large = 2'395'434, large_draws = 20;
  hears("20 draws of the CNN's parameters");
  forget_peak();
  const double before = resident_bytes();
  write_file(folder.path / "large.nc", 1, large_draws, large, false);
  const double grown = (peak_resident_bytes() - before) / 1e6;
  rows.push_back({.name = fmt::format("memory for {} draws x {} parameters", large_draws, large),
                  .value = grown,
                  .unit = "MB",
                  .peer = "the draws themselves",
                  .peer_value = 8e-6 * static_cast<double>(large * large_draws),
                  .ratio = grown / (8e-6 * static_cast<double>(large * large_draws)),
                  .bar = "<= 250 MB",
                  .met = grown <= 250});

  constexpr std::size_t chains = 4, draws = 1000, parameters = 10'000;
  hears("1,000 draws x 4 chains x 10,000 parameters");
  const double plain = write_plainly(folder.path / "plain", chains * draws, parameters);
  fs::remove(folder.path / "plain");
  for (const bool single : {false, true}) {
    // The best of three: other work on the machine only ever takes time.
    Speed best{0, 0};
    for (int round = 0; round < 3; ++round) {
      const fs::path file = folder.path / fmt::format("draws-{}.nc", round);
      const Speed speed = write_file(file, chains, draws, parameters, single);
      fs::remove(file);
      best = {std::max(best.wall, speed.wall), std::max(best.processor, speed.processor)};
    }
    const std::string what = fmt::format("{} draws x {} chains x {} parameters{}", draws, chains, parameters,
                                         single ? ", as floats" : "");
    Row wall{.name = what,
             .value = best.wall,
             .unit = "MB/s of doubles",
             .peer = "doubles to a plain file, synced",
             .peer_value = plain,
             .ratio = best.wall / plain};
    if (!single) {
      wall.bar = ">= 100 MB/s";
      wall.met = best.wall >= 100;
    }
    rows.push_back(std::move(wall));
    rows.push_back(
        {.name = what + ", by processor time", .value = best.processor, .unit = "MB/s of doubles"});
  }
  return rows;
}

}  // namespace onward::bench
