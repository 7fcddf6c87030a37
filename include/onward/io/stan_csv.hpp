#pragma once
// Draws in the CSV format of CmdStan, which rstan, posterior, ArviZ and others read: one file a chain.
// A run with the same seed must give the same bytes, so nothing of the clock goes into a file unless asked
// for.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onward {

/// What the comment lines at the top of a file say.
struct StanCsvHeader {
  std::string model;
  std::string sampler;
  std::uint64_t seed = 0;
  std::size_t chain_id = 1;  ///< counted from 1
  std::size_t draws = 0;     ///< draws to be kept (CmdStan's num_samples is draws * thin)
  std::size_t warmup = 0;    ///< steps of warm-up; their draws are not in the file
  std::size_t thin = 1;      ///< steps from one kept draw to the next
  std::vector<std::pair<std::string, std::string>> extra;  ///< further `key = value` lines
  std::vector<std::string> parameter_names;  ///< "mu", "theta.1", "eta.1.2": no comma, no line end
  /// How many of the numbers that each name ends in are indices; empty: all (see csv_names).
  std::vector<std::size_t> parameter_indices = {};
};

/// What led to a draw of a sampler that follows trajectories, as CmdStan has it.
struct StanCsvTrajectory {
  std::size_t depth = 0, leapfrogs = 0;
  bool divergent = false;
  double energy = 0;
};

/// Writes one chain's file as the draws come. Lines reach the disk whole: after a failed write (a full disk)
/// what is there ends with the last complete line. Every failure throws Error with file, reason and remedy.
class StanCsvWriter {
 public:
  enum class IfExists { fail, overwrite };

  StanCsvWriter(std::filesystem::path path, const StanCsvHeader& header, IfExists if_exists = IfExists::fail);
  /// Opens the file of a run that goes on. What follows its first `draws` draws is cut off; without draws
  /// all but the column names goes, and adaptation() is told again. A header that says something else now,
  /// such as more draws, is replaced. Throws Error if the file has fewer draws.
  static StanCsvWriter resume(std::filesystem::path path, const StanCsvHeader& header, std::size_t draws);
  StanCsvWriter(StanCsvWriter&& other) noexcept;
  StanCsvWriter& operator=(StanCsvWriter&& other) noexcept;
  /// Writes what is still buffered, silently; call flush() or finish() to hear of errors.
  ~StanCsvWriter();

  /// The block between warm-up and draws. `terminated`: an adaptation took place and ended here.
  /// An empty metric means none was used and is written as ones.
  void adaptation(double step_size, std::span<const double> inverse_metric_diagonal, bool terminated = true);

  /// One kept draw, in the order of the header's names; the file has Stan's (see csv_names). Without a
  /// trajectory the columns that only Hamiltonian samplers have are filled so that readers make sense of
  /// them: treedepth__ 0, n_leapfrog__ the steps since the last draw (thin), divergent__ 0, energy__ -lp.
  void draw(double lp, double accept_stat, double step_size, std::span<const double> parameters,
            const std::optional<StanCsvTrajectory>& trajectory = {});

  /// Hands everything so far to the operating system.
  void flush();
  /// What was flushed is on disk afterwards. May be called while another thread writes.
  void sync() const;

  /// Ends the file with the elapsed-time block and closes it; the header counts the draws that came. Without
  /// times the block says 0 seconds: rstan wants the block, and two runs with one seed are to be equal to the
  /// byte.
  void finish(double warmup_seconds = 0, double sampling_seconds = 0);

  const std::filesystem::path& path() const { return path_; }
  /// Draws written so far.
  std::size_t draws() const { return draws_; }

 private:
  StanCsvWriter() = default;
  void append_number(double value);
  void write_out();
  void require_open() const;
  void remember_count(std::string_view header, std::size_t steps);
  void write_count(std::size_t steps);

  std::filesystem::path path_;
  int file_ = -1;
  std::string buffer_;  // whole lines only, between calls
  std::uint64_t bytes_on_disk_ = 0;
  std::size_t parameters_ = 0;
  std::vector<std::size_t> order_;  // which parameter each column is of
  std::size_t thin_ = 1;
  std::size_t draws_ = 0;
  // Where the header says how many steps the draws are of, and how many it said at first.
  std::size_t count_at_ = 0, count_width_ = 0, planned_ = 0;
};

/// A file in memory: ours or CmdStan's.
struct StanCsv {
  /// The `key = value` comments in order, without nesting and without CmdStan's "(Default)".
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> columns;  ///< as written
  std::vector<std::string> names;    ///< what the columns are called: as written, unless a comment says more
  std::vector<double> values;        ///< row-major, columns.size() a row
  std::size_t warmup_rows = 0;       ///< rows at the start that belong to warm-up (save_warmup = 1)
  std::optional<double> step_size;   ///< of the adaptation block
  std::vector<double> inverse_metric;  ///< diagonal; row-major if the file has a dense one
  bool incomplete_last_line = false;   ///< the file ends within a row, which was dropped

  std::size_t rows() const { return columns.empty() ? 0 : values.size() / columns.size(); }
  /// Rows after warm-up.
  std::size_t draws() const { return rows() - warmup_rows; }
  /// One column's draws, warm-up left out.
  std::vector<double> column(std::size_t index) const;
  std::optional<std::size_t> find_column(std::string_view name) const;
  /// Indices of the columns that are not the sampler's.
  std::vector<std::size_t> parameter_columns() const;
  /// The value of the first setting of that name.
  std::optional<std::string> setting(std::string_view key) const;
};

/// True for lp__, accept_stat__ and the like: columns of the sampler, not of the model.
bool is_sampler_column(std::string_view name);

/// Reads a file of ours or of CmdStan's. Throws Error with file and line for anything that is not one;
/// only a last row without its line end is forgiven, dropped and reported.
StanCsv read_stan_csv(const std::filesystem::path& path);

}  // namespace onward
