#include "onward/io/stan_csv.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>  // NOLINT(modernize-deprecated-headers): POSIX newlocale
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "onward/error.hpp"
#include "onward/io/csv_names.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

constexpr std::string_view sampler_columns =
    "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__";
/// Comments that say what a column is called, whose head had to be made of plain characters.
constexpr std::string_view name_of = "name of ";
constexpr std::size_t buffer_limit = std::size_t{256} * 1024;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

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
  if (name.find_first_of(",\"\r\n") != std::string::npos) refuse("it has a comma, a quote or a line end");
  if (name.starts_with('#')) refuse("# starts a comment");
  if (is_sampler_column(name)) refuse("names that end in __ are the sampler's");
}

/// The number that the whole of `text` is.
std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {  // 0 or infinite; not by the program's own decimal mark
    static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return ::strtod_l(std::string(text).c_str(), nullptr, c_locale);
  }
  return value;
}

std::size_t parse_count(const std::optional<std::string>& text, std::size_t otherwise) {
  if (!text) return otherwise;
  std::size_t count = otherwise;
  std::from_chars(text->data(), text->data() + text->size(), count);
  return count;
}

/// Reads a file line by line into a StanCsv.
class Parser {
 public:
  explicit Parser(const std::filesystem::path& path) : path_(path) {}

  StanCsv parse(std::string_view text) {
    while (!text.empty()) {
      ++line_number_;
      const auto end = text.find('\n');
      const bool complete = end != std::string_view::npos;
      std::string_view line = text.substr(0, end);
      text.remove_prefix(complete ? end + 1 : text.size());
      line = trimmed(line);
      if (line.empty()) continue;
      if (line.front() == '#' && !complete)
        continue;  // half a comment would say something else
      else if (line.front() == '#')
        comment(trimmed(line.substr(1)));
      else if (!complete)
        incomplete();
      else if (csv_.columns.empty())
        header(line);
      else
        row(line);
    }
    if (csv_.columns.empty())
      throw Error(
          fmt::format("{}: no line with column names: empty, or not a CmdStan CSV file.", path_.string()));
    find_warmup();
    return std::move(csv_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", path_.string(), line_number_, what));
  }

  void incomplete() {
    if (csv_.columns.empty())
      fail("the file ends within the line of column names: it was cut short before its first draw.");
    csv_.incomplete_last_line = true;
  }

  void comment(std::string_view text) {
    constexpr std::string_view step_size = "Step size =";
    if (text.starts_with("Adaptation terminated")) {
      adaptation_row_ = csv_.rows();
    } else if (text.starts_with(step_size)) {
      csv_.step_size = parse_number(text.substr(step_size.size()));
      if (!csv_.step_size) fail(fmt::format("'{}' is not a number.", trimmed(text.substr(step_size.size()))));
    } else if (text.find("lements of inverse mass matrix") != std::string_view::npos) {
      in_metric_ = true;
      return;
    } else if (in_metric_ && metric_row(text)) {
      return;
    } else if (const auto equals = text.find('='); equals != std::string_view::npos) {
      setting(trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)));
    }
    in_metric_ = false;
  }

  void setting(std::string_view key, std::string_view value) {
    constexpr std::string_view marker = "(Default)";
    if (value.ends_with(marker) && !key.starts_with(name_of))
      value = trimmed(value.substr(0, value.size() - marker.size()));
    csv_.settings.emplace_back(key, value);
  }

  /// A comment that is a list of numbers; false if it is something else.
  bool metric_row(std::string_view text) {
    std::vector<double> numbers;
    while (true) {
      const auto comma = text.find(',');
      const auto number = parse_number(text.substr(0, comma));
      if (!number) return false;
      numbers.push_back(*number);
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    csv_.inverse_metric.insert(csv_.inverse_metric.end(), numbers.begin(), numbers.end());
    return true;
  }

  void header(std::string_view line) {
    for (bool more = true; more;) {
      const auto comma = line.find(',');
      more = comma != std::string_view::npos;
      const auto name = trimmed(line.substr(0, comma));
      if (name.empty()) fail(fmt::format("column {} has no name.", csv_.columns.size() + 1));
      if (parse_number(name))
        fail(fmt::format("'{}' where column names are expected: not a CmdStan CSV file.", name));
      csv_.columns.emplace_back(name);
      csv_.names.push_back(called(name));
      if (more) line.remove_prefix(comma + 1);
    }
  }

  /// The name of a column: what comes before its indices may be called otherwise.
  std::string called(std::string_view column) const {
    const std::string_view base = column.substr(0, column.find('.'));
    for (const auto& [key, value] : csv_.settings)
      if (key.size() == name_of.size() + base.size() && key.starts_with(name_of) && key.ends_with(base))
        return value + std::string(column.substr(base.size()));
    return std::string(column);
  }

  void row(std::string_view line) {
    in_metric_ = false;
    const std::size_t start = csv_.values.size();
    for (bool more = true; more;) {
      const auto comma = line.find(',');
      more = comma != std::string_view::npos;
      const std::size_t column = csv_.values.size() - start;
      const auto number = parse_number(line.substr(0, comma));
      if (!number) {
        const std::string name =
            column < csv_.columns.size() ? csv_.columns[column] : std::to_string(column + 1);
        fail(fmt::format("'{}' in column {} is not a number.", trimmed(line.substr(0, comma)), name));
      }
      csv_.values.push_back(*number);
      if (more) line.remove_prefix(comma + 1);
    }
    const std::size_t count = csv_.values.size() - start;
    if (count != csv_.columns.size())
      fail(fmt::format("{} numbers where the header names {} columns.", count, csv_.columns.size()));
  }

  void find_warmup() {
    const auto saved = csv_.setting("save_warmup");
    if (!saved || *saved == "0" || *saved == "false") return;
    const std::size_t thin = std::max<std::size_t>(parse_count(csv_.setting("thin"), 1), 1);
    const std::size_t planned = (parse_count(csv_.setting("num_warmup"), 0) + thin - 1) / thin;
    // CmdStan writes the adaptation block where warm-up ends; a run cut short before has nothing but warm-up.
    csv_.warmup_rows = adaptation_row_.value_or(std::min(planned, csv_.rows()));
  }

  std::filesystem::path path_;
  std::size_t line_number_ = 0;
  std::optional<std::size_t> adaptation_row_;
  bool in_metric_ = false;
  StanCsv csv_;
};

}  // namespace

namespace {

CsvNames checked_names(const StanCsvHeader& header) {
  for (const auto& name : header.parameter_names) check_name(name);
  return csv_names(header.parameter_names, header.parameter_indices);
}

/// Everything before the first draw: settings and column names.
std::string header_text(const StanCsvHeader& header, const CsvNames& names) {
  // The version is that of the format: CmdStan 2.32 writes its files so.
  std::string text = fmt::format(
      "# stan_version_major = 2\n"
      "# stan_version_minor = 32\n"
      "# stan_version_patch = 0\n"
      "# model = {}\n"
      "# method = sample\n"
      "#   sample\n"
      "#     num_samples = {}\n"
      "#     num_warmup = {}\n"
      "#     save_warmup = 0\n"
      "#     thin = {}\n"
      "#     algorithm = {}\n"
      "# id = {}\n"
      "# random\n"
      "#   seed = {}\n",
      one_line(header.model), header.draws * header.thin, header.warmup, header.thin,
      one_line(header.sampler), header.chain_id, header.seed);
  for (const auto& [key, value] : header.extra)
    text += fmt::format("# {} = {}\n", one_line(key), one_line(value));
  for (const auto& [in_file, name] : names.changed)
    text += fmt::format("# {}{} = {}\n", name_of, in_file, name);
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
  return writer;
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

void StanCsvWriter::draw(double lp, double accept_stat, double step_size, bool divergent,
                         std::span<const double> parameters) {
  if (parameters.size() != parameters_)
    throw Error(fmt::format("{}: a draw of {} values for {} parameters.", path_.string(), parameters.size(),
                            parameters_));
  require_open();
  append_number(lp);
  buffer_ += ',';
  append_number(accept_stat);
  buffer_ += ',';
  append_number(step_size);
  buffer_ += ",0,";
  fmt::format_to(std::back_inserter(buffer_), "{}", thin_);
  buffer_ += divergent ? ",1," : ",0,";
  append_number(-lp);
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
  // On disk before whatever says that the run is complete.
  detail::sync_file(file_, path_);
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) detail::throw_system_error("write", path_, errno);
  detail::sync_folder(path_.parent_path());
}

std::vector<double> StanCsv::column(std::size_t index) const {
  if (index >= columns.size())
    throw Error(fmt::format("column {} of a file with {} columns", index, columns.size()));
  std::vector<double> out;
  out.reserve(draws());
  for (std::size_t row = warmup_rows; row < rows(); ++row)
    out.push_back(values[row * columns.size() + index]);
  return out;
}

std::optional<std::size_t> StanCsv::find_column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::vector<std::size_t> StanCsv::parameter_columns() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!is_sampler_column(columns[i])) indices.push_back(i);
  return indices;
}

std::optional<std::string> StanCsv::setting(std::string_view key) const {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return std::nullopt;
}

bool is_sampler_column(std::string_view name) { return name.ends_with("__"); }

StanCsv read_stan_csv(const std::filesystem::path& path) {
  return Parser(path).parse(detail::read_whole(path));
}

}  // namespace onward
