#pragma once
// Rows of a table, each made in a process of its own, so that its peak memory is its own. A finished row is
// kept in the table's folder and found again when the same row is wanted.

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace onward::experiments {

/// The share of the way that is done.
using Share = std::function<void(double)>;

struct RowJob {
  std::string name;                 ///< row-NAME.json is its file
  nlohmann::ordered_json settings;  ///< what the row depends on
  std::function<nlohmann::ordered_json(const Share& progress)> work;
  bool replaces = false;  ///< a kept row that has other settings; otherwise it is refused
};

/// The row: from the folder (empty: there is none), or by work() in a child process, and then kept. Nothing
/// if it was stopped. What work() throws is thrown as Error. Must be called while the process has one thread:
/// it forks.
std::optional<nlohmann::ordered_json> make_row(const std::string& folder, const RowJob& job,
                                               const Share& progress, const std::atomic<bool>& stop);

/// How a row's settings name its data, a file or a folder of files: with sizes and checksums, so that a row
/// of changed data is not taken for one of these. "" if the path is empty.
nlohmann::ordered_json data_settings(const std::string& path);

/// Whether the row is in the folder.
bool has_row(const std::string& folder, const RowJob& job);

/// null stands for what is not finite.
double number_from_json(const nlohmann::ordered_json& value);

/// null stands for a number that there is not.
nlohmann::ordered_json optional_json(const std::optional<double>& value);
std::optional<double> optional_from_json(const nlohmann::ordered_json& value);

/// What every row of a sampler has, whatever it sampled.
struct SamplerRow {
  std::string sampler;
  std::size_t dimension = 0;
  std::optional<double> step_size;
  bool tuned = false;  ///< the step size was looked for in this run
  double acceptance = 0;
  std::size_t steps = 0, chains = 1, kept = 0;  ///< steps of each chain, and kept draws
  double ms_per_step = 0, seconds = 0;
  double peak_bytes = 0;  ///< of the process
};
/// These fields alone.
nlohmann::ordered_json shared_json(const SamplerRow& row);
void read_shared(const nlohmann::ordered_json& json, SamplerRow& row);

}  // namespace onward::experiments
