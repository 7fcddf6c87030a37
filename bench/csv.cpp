// How fast a CSV file becomes a table, on one core: 51 columns of numbers with few and with all digits, and
// text.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench.hpp"
#include "experiments/scratch_folder.hpp"
#include "onward/random/stream.hpp"
#include "onward/table/read_table.hpp"
#include "onward/util/clock.hpp"

namespace onward::bench {
namespace {

constexpr std::size_t columns = 51, different_rows = 4000;

/// Writes rows of normals in the given format, the same 4,000 rows over and over, and a column of 1,000 words
/// if `words`.
void write_rows(const std::filesystem::path& file, const char* format, std::size_t rows, bool words) {
  std::vector<double> numbers(columns * different_rows);
  Stream(1, 0).normals(0, Purpose::noise, numbers);
  std::string block, header;
  for (std::size_t j = 0; j < columns; ++j) header += fmt::format("{}x{}", j == 0 ? "" : ",", j + 1);
  for (std::size_t i = 0; i < different_rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (j > 0) block += ',';
      block += fmt::format(fmt::runtime(format), numbers[i * columns + j]);
    }
    block += words ? fmt::format(",level {}\n", i * 7919 % 1000) : "\n";
  }
  std::ofstream out(file, std::ios::binary);
  out << header << (words ? ",word\n" : "\n");
  for (std::size_t i = 0; i < rows; i += different_rows) out << block;
}

struct Speed {
  double wall = 0, processor = 0;  ///< MB of text in a second
};

/// The best of three readings.
Speed speed(const std::filesystem::path& file) {
  const double size = static_cast<double>(std::filesystem::file_size(file)) / 1e6;
  Speed best;
  for (int round = 0; round < 3; ++round) {
    const auto begin = Clock::now();
    const std::clock_t ticks = std::clock();
    keep(static_cast<double>(read_table(file).rows()));
    const double processor = static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC;
    best.wall = std::max(best.wall, size / seconds_since(begin));
    best.processor = std::max(best.processor, size / processor);
  }
  return best;
}

}  // namespace

std::vector<Row> csv() {
  const experiments::ScratchFolder scratch;
  const auto file = std::filesystem::path(scratch.path()) / "table.csv";
  constexpr double least = 100;
  std::vector<Row> rows;
  const auto measure = [&](const char* name, const char* format, std::size_t count, bool words) {
    write_rows(file, format, count, words);
    const Speed found = speed(file);
    rows.push_back({.name = name,
                    .value = found.wall,
                    .unit = "MB/s",
                    .bar = "value >= 100",
                    .met = found.wall >= least});
    rows.push_back({.name = "the same, by processor time", .value = found.processor, .unit = "MB/s"});
  };
  measure("51 columns of numbers, 6 digits, 200,000 rows", "{:.6g}", 200'000, false);
  measure("51 columns of numbers, 17 digits, 100,000 rows", "{:.17g}", 100'000, false);
  measure("51 columns of numbers and one of 1,000 words, 200,000 rows", "{:.6g}", 200'000, true);
  return rows;
}

}  // namespace onward::bench
