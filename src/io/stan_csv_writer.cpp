#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>

#include "onward/error.hpp"
#include "onward/io/csv_names.hpp"
#include "onward/io/stan_csv.hpp"
#include "stan_csv_text.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

using detail::name_of;
using detail::trimmed;

constexpr std::string_view sampler_columns =
    "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__";
constexpr std::size_t buffer_limit = std::size_t{256} * 1024;

/// A comment is one line, whatever a name or value contains.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  return text;
}

void check_name(const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    throw Error(fmt::format("parameter name '{}' cannot head a CSV column: {}. Rename the parameter.",
                            one_line(name), why));
  };
  if (trimmed(name) != name || name.empty()) refuse("it is empty or begins or ends with a blank");
  if (name.starts_with('#')) refuse("# starts a comment");
  if (is_sampler_column(name)) refuse("names that end in __ are the sampler's");
}

CsvNames checked_names(const StanCsvHeader& header) {
  for (const auto& name : header.parameter_names) check_name(name);
  return csv_names(header.parameter_names, header.parameter_indices);
}

constexpr std::string_view count_key = "#   sample\n#     num_samples = ";

/// The steps from which the file's draws are, in the room that the header has for them: a run that ended
/// early wrote fewer rows than it set out to, and rstan refuses a file whose rows are not those of its
/// header.
std::string count_text(std::size_t steps, std::size_t width) { return fmt::format("{:<{}}", steps, width); }

/// Everything before the first draw: settings and column names.
std::string header_text(const StanCsvHeader& header, const CsvNames& names) {
  // The version is that of the format: CmdStan 2.32 writes its files so.
  std::string text = fmt::format(
      "# stan_version_major = 2\n"
      "# stan_version_minor = 32\n"
      "# stan_version_patch = 0\n"
      "# model = {}\n"
      "# method = sample\n"
      "{}{}\n"
      "#     num_warmup = {}\n"
      "#     save_warmup = 0\n"
      "#     thin = {}\n"
      "#     algorithm = {}\n"
      "# id = {}\n"
      "# random\n"
      "#   seed = {}\n",
      one_line(header.model), count_key, header.draws * header.thin, header.warmup, header.thin,
      one_line(header.sampler), header.chain_id, header.seed);
  for (const auto& [key, value] : header.extra)
    text += fmt::format("# {} = {}\n", one_line(key), one_line(value));
  for (const auto& [in_file, name] : names.changed)
    text += fmt::format("# {}{} = {}\n", name_of, in_file, one_line(name));
  text += sampler_columns;
  for (const auto& name : names.columns) {
    text += ',';
    text += name;
  }
  text += '\n';
  return text;
}

/// Where parts of a file end that a run is to go on with.
struct Places {
  std::size_t header = 0;  ///< the end of the column names
  std::size_t draws = 0;   ///< the end of the last draw that stays
};

Places find_places(const std::filesystem::path& path, std::size_t draws) {
  std::ifstream in(path, std::ios::binary);
  if (!in) detail::throw_system_error("read", path, errno);
  Places places;
  std::size_t at = 0, rows = 0;
  for (std::string line; std::getline(in, line);) {
    at += line.size() + 1;
    if (in.eof()) break;  // without its line end: not whole
    if (line.empty() || line.front() == '#') continue;
    if (places.header == 0)
      places.header = places.draws = at;
    else if (++rows == draws)
      places.draws = at;
    if (rows == draws && places.header > 0) return places;
  }
  throw Error(
      fmt::format("{} has {} draws, fewer than the {} that the checkpoint counts on: it was changed "
                  "since. Begin the run again",
                  path.string(), rows, draws));
}

}  // namespace

StanCsvWriter::StanCsvWriter(std::filesystem::path path, const StanCsvHeader& header, IfExists if_exists)
    : path_(std::move(path)), parameters_(header.parameter_names.size()), thin_(header.thin) {
  CsvNames names = checked_names(header);
  buffer_ = header_text(header, names);
  remember_count(buffer_, header.draws * header.thin);
  order_ = std::move(names.order);
  file_ = detail::open_for_writing(path_, if_exists == IfExists::fail);
  write_out();
}

StanCsvWriter StanCsvWriter::resume(std::filesystem::path path, const StanCsvHeader& header,
                                    std::size_t draws) {
  CsvNames names = checked_names(header);
  const std::string text = header_text(header, names);
  const Places places = find_places(path, draws);
  std::ifstream in(path, std::ios::binary);
  std::string old(places.header, '\0');
  in.read(old.data(), static_cast<std::streamsize>(old.size()));
  StanCsvWriter writer;
  writer.path_ = std::move(path);
  writer.parameters_ = header.parameter_names.size();
  writer.thin_ = header.thin;
  writer.draws_ = draws;
  writer.remember_count(text, header.draws * header.thin);
  // What finish() wrote there of an earlier end.
  if (old.size() == text.size())
    old.replace(writer.count_at_, writer.count_width_, text, writer.count_at_, writer.count_width_);
  writer.order_ = std::move(names.order);
  writer.bytes_on_disk_ = places.draws - places.header + text.size();
  if (old != text) {
    // A neighbour takes its place, so that a machine that stops now leaves one or the other.
    const std::filesystem::path neighbour = writer.path_.string() + ".tmp";
    // Gone again if something goes wrong, such as a full disk.
    struct Remover {
      const std::filesystem::path& file;
      ~Remover() { ::unlink(file.c_str()); }
    } remover{neighbour};
    StanCsvWriter copy;
    copy.path_ = neighbour;
    copy.file_ = detail::open_for_writing(neighbour, false);
    copy.buffer_ = text;
    std::string block(buffer_limit, '\0');
    for (std::size_t left = places.draws - places.header; left > 0;) {
      in.read(block.data(), static_cast<std::streamsize>(std::min(left, block.size())));
      const auto got = static_cast<std::size_t>(in.gcount());
      if (got == 0) detail::throw_system_error("read", writer.path_, EIO);
      copy.buffer_.append(block, 0, got);
      copy.write_out();
      left -= got;
    }
    copy.write_out();
    copy.sync();
    if (::rename(neighbour.c_str(), writer.path_.c_str()) != 0)
      detail::throw_system_error("write", writer.path_, errno);
  }
  writer.file_ = ::open(writer.path_.c_str(), O_WRONLY | O_CLOEXEC);
  const auto end = static_cast<off_t>(writer.bytes_on_disk_);
  if (writer.file_ < 0 || ::ftruncate(writer.file_, end) != 0 || ::lseek(writer.file_, end, SEEK_SET) != end)
    detail::throw_system_error("write", writer.path_, errno);
  writer.write_count(header.draws * header.thin);
  return writer;
}

void StanCsvWriter::remember_count(std::string_view header, std::size_t steps) {
  count_at_ = header.find(count_key) + count_key.size();
  count_width_ = fmt::formatted_size("{}", steps);
  planned_ = steps;
}

void StanCsvWriter::write_count(std::size_t steps) {
  const std::string text = count_text(steps, count_width_);
  if (::pwrite(file_, text.data(), text.size(), static_cast<off_t>(count_at_)) !=
      static_cast<ssize_t>(text.size()))
    detail::throw_system_error("write", path_, errno);
}

StanCsvWriter::StanCsvWriter(StanCsvWriter&& other) noexcept { *this = std::move(other); }

StanCsvWriter& StanCsvWriter::operator=(StanCsvWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(buffer_, other.buffer_);
  std::swap(bytes_on_disk_, other.bytes_on_disk_);
  std::swap(parameters_, other.parameters_);
  std::swap(order_, other.order_);
  std::swap(thin_, other.thin_);
  std::swap(draws_, other.draws_);
  std::swap(count_at_, other.count_at_);
  std::swap(count_width_, other.count_width_);
  std::swap(planned_, other.planned_);
  return *this;
}

StanCsvWriter::~StanCsvWriter() {
  if (file_ < 0) return;
  try {
    write_out();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to tell
  }
  if (file_ >= 0) ::close(file_);
}

void StanCsvWriter::require_open() const {
  if (file_ < 0) throw Error(fmt::format("{} is closed: nothing more can be written to it.", path_.string()));
}

void StanCsvWriter::write_out() {
  require_open();
  const std::size_t done = detail::write_fully(file_, buffer_);
  if (done == buffer_.size()) {
    bytes_on_disk_ += done;
    buffer_.clear();
    return;
  }
  const int error = errno;
  const auto line_end = std::string_view(buffer_).substr(0, done).rfind('\n');
  bytes_on_disk_ += line_end == std::string_view::npos ? 0 : line_end + 1;
  // Best effort: a reader drops an incomplete last line in any case.
  [[maybe_unused]] const int cut = ::ftruncate(file_, static_cast<off_t>(bytes_on_disk_));
  ::close(file_);
  file_ = -1;
  buffer_.clear();
  detail::throw_system_error("write", path_, error);
}

void StanCsvWriter::append_number(double value) {
  if (std::isnan(value)) {  // without to_chars' sign and payload
    buffer_ += "nan";
    return;
  }
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  buffer_.append(text.data(), end);
}

void StanCsvWriter::adaptation(double step_size, std::span<const double> inverse_metric_diagonal,
                               bool terminated) {
  // It belongs to the space that is sampled, which may have fewer numbers than the parameters (a simplex).
  const std::size_t entries = inverse_metric_diagonal.empty() ? parameters_ : inverse_metric_diagonal.size();
  if (terminated) buffer_ += "# Adaptation terminated\n";
  buffer_ += "# Step size = ";
  append_number(step_size);
  buffer_ += "\n# Diagonal elements of inverse mass matrix:\n# ";
  for (std::size_t i = 0; i < entries; ++i) {
    if (i > 0) buffer_ += ", ";
    append_number(inverse_metric_diagonal.empty() ? 1.0 : inverse_metric_diagonal[i]);
  }
  buffer_ += '\n';
  write_out();
}

void StanCsvWriter::draw(double lp, double accept_stat, double step_size, std::span<const double> parameters,
                         const std::optional<StanCsvTrajectory>& trajectory) {
  if (parameters.size() != parameters_)
    throw Error(fmt::format("{}: a draw of {} values for {} parameters.", path_.string(), parameters.size(),
                            parameters_));
  require_open();
  append_number(lp);
  buffer_ += ',';
  append_number(accept_stat);
  buffer_ += ',';
  append_number(step_size);
  const StanCsvTrajectory t = trajectory.value_or(StanCsvTrajectory{.leapfrogs = thin_, .energy = -lp});
  fmt::format_to(std::back_inserter(buffer_), ",{},{},{},", t.depth, t.leapfrogs, t.divergent ? 1 : 0);
  append_number(t.energy);
  for (const std::size_t i : order_) {
    buffer_ += ',';
    append_number(parameters[i]);
  }
  buffer_ += '\n';
  ++draws_;
  if (buffer_.size() >= buffer_limit) write_out();
}

void StanCsvWriter::flush() { write_out(); }

void StanCsvWriter::sync() const {
  if (file_ >= 0) detail::sync_file(file_, path_);
}

void StanCsvWriter::finish(double warmup_seconds, double sampling_seconds) {
  buffer_ += fmt::format(
      "# \n"
      "#  Elapsed Time: {:.6g} seconds (Warm-up)\n"
      "#                {:.6g} seconds (Sampling)\n"
      "#                {:.6g} seconds (Total)\n"
      "# \n",
      warmup_seconds, sampling_seconds, warmup_seconds + sampling_seconds);
  write_out();
  if (draws_ * thin_ < planned_) write_count(draws_ * thin_);
  // On disk before whatever says that the run is complete.
  detail::sync_file(file_, path_);
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) detail::throw_system_error("write", path_, errno);
  detail::sync_folder(path_.parent_path());
}

}  // namespace onward
