#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "draw_files.hpp"
#include "netcdf_file.hpp"
#include "onward/error.hpp"
#include "onward/io/netcdf.hpp"
#include "system_file.hpp"

namespace onward {
namespace fs = std::filesystem;

namespace {

fs::path beside(const fs::path& path, const char* suffix) {
  fs::path result = path;
  result += suffix;
  return result;
}

std::size_t count_of(const std::vector<NamedShape>& variables) {
  std::size_t count = 0;
  for (const auto& variable : variables) count += variable.size();
  return count;
}

/// For each entry of an array, last index fastest, where it is in a list with the first index fastest.
std::vector<std::size_t> first_fastest_places(const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> places(1, 0);
  std::size_t stride = 1;
  std::vector<std::size_t> strides;
  for (const auto size : shape) strides.push_back(std::exchange(stride, stride * size));
  for (std::size_t k = 0; k < shape.size(); ++k) {
    std::vector<std::size_t> next;
    for (const auto place : places)
      for (std::size_t i = 0; i < shape[k]; ++i) next.push_back(place + i * strides[k]);
    places = std::move(next);
  }
  return places;
}

/// Puts values into a row: last index fastest, as floats or doubles.
class Packer {
 public:
  Packer(const std::vector<NamedShape>& variables, bool single_precision) : single_(single_precision) {
    if (std::ranges::none_of(variables, reordered)) return;
    for (const auto& variable : variables) {
      const std::size_t begin = order_.size();
      if (reordered(variable)) {
        for (const auto place : first_fastest_places(variable.shape)) order_.push_back(begin + place);
      } else {
        for (std::size_t k = 0; k < variable.size(); ++k) order_.push_back(begin + k);
      }
    }
  }

  std::byte* pack(std::span<const double> values, std::byte* out) const {
    return single_ ? pack_as<float>(values, out) : pack_as<double>(values, out);
  }

 private:
  static bool reordered(const NamedShape& variable) {
    return variable.first_index_fastest && variable.shape.size() > 1;
  }
  template <class T>
  std::byte* pack_as(std::span<const double> values, std::byte* out) const {
    for (std::size_t k = 0; k < values.size(); ++k, out += sizeof(T)) {
      const T value = static_cast<T>(values[order_.empty() ? k : order_[k]]);
      std::memcpy(out, &value, sizeof(T));
    }
    return out;
  }

  bool single_;
  std::vector<std::size_t> order_;  // empty: as they come
};

}  // namespace

struct NetcdfWriter::Impl {
  fs::path path;
  NetcdfLayout layout;
  NetcdfOptions options;
  detail::RowLayout rows;
  Packer posterior, unconstrained, likelihood;
  std::size_t posterior_count, unconstrained_count, likelihood_count;
  std::vector<std::unique_ptr<detail::DrawFile>> chains;
  std::vector<detail::Constant> constants;
  int constants_file = -1;
  std::uint64_t constants_bytes = 0;

  Impl(fs::path file, NetcdfLayout given, const NetcdfOptions& wanted)
      : path(std::move(file)),
        layout(std::move(given)),
        options(wanted),
        rows(layout, options.single_precision),
        posterior(layout.posterior, options.single_precision),
        unconstrained(layout.unconstrained_posterior, options.single_precision),
        likelihood(layout.log_likelihood, options.single_precision),
        posterior_count(count_of(layout.posterior)),
        unconstrained_count(count_of(layout.unconstrained_posterior)),
        likelihood_count(count_of(layout.log_likelihood)) {
    if (options.deflate < 0 || options.deflate > 9)
      throw UsageError(
          fmt::format("the level of compression is {}: from 0 (none) to 9 are possible", options.deflate));
    // What would go wrong in the end goes wrong now.
    make_file(std::vector<std::size_t>(layout.chains, 1), false);
  }
  ~Impl() {
    if (constants_file >= 0) ::close(constants_file);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// The netCDF file under a name for the time being, with draws or only to see whether it can be made.
  void make_file(std::vector<std::size_t> draws, bool fill) {
    const detail::NetcdfContent content{layout, options, rows, constants, constants_file, std::move(draws)};
    const fs::path part = beside(path, ".part");
    const std::scoped_lock lock(detail::netcdf_mutex());
    const std::string empty = detail::define_netcdf(part, content);
    if (!fill) return;
    try {
      detail::write_whole(part, empty);
      finish(part, content);
    } catch (...) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw;
    }
  }

  /// Throws now what one more constant would make go wrong in the end; the draws, in other groups, are left
  /// out.
  void check_constant(const detail::Constant& one_more) const {
    std::vector<detail::Constant> all = constants;
    if (one_more.variable.size() > 0) all.push_back(one_more);
    const detail::RowLayout none(NetcdfLayout{}, false);
    const std::scoped_lock lock(detail::netcdf_mutex());
    detail::define_netcdf(path, {layout, options, none, all, -1, std::vector<std::size_t>(layout.chains, 1)});
  }

  void open_constants() {
    if (constants_file >= 0) return;
    const fs::path file = beside(path, ".constants");
    constants_file = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (constants_file < 0) detail::throw_system_error("write", file, errno);
    ::unlink(file.c_str());  // it lasts as long as it is open
  }

  void append_constants(std::span<const double> values, NumberType type) {
    std::vector<std::byte> bytes(values.size() * detail::width_of(type));
    if (type == NumberType::uint8)
      std::ranges::transform(values, bytes.begin(), [](double value) {
        return static_cast<std::byte>(static_cast<unsigned char>(value));
      });
    else
      Packer({}, type == NumberType::float32).pack(values, bytes.data());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto end = static_cast<off_t>(constants_bytes);
    if (::lseek(constants_file, end, SEEK_SET) != end ||
        detail::write_fully(constants_file, text) != text.size())
      detail::throw_system_error("write", beside(path, ".constants"), errno);
    constants_bytes += text.size();
  }

  void finish(const fs::path& part, const detail::NetcdfContent& content) {
    detail::fill_netcdf(part, content, chains);
    const int file = ::open(part.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || ::fsync(file) != 0) detail::throw_system_error("write", part, errno);
    ::close(file);
    if (std::rename(part.c_str(), path.c_str()) != 0) detail::throw_system_error("write", path, errno);
  }

  void restore(std::size_t chain, std::size_t draws) const;
};

/// Makes a chain's plain file from the netCDF file of a run that had ended.
void NetcdfWriter::Impl::restore(std::size_t chain, std::size_t draws) const {
  const fs::path file = detail::draw_file_path(path, chain);
  const fs::path part = beside(file, ".part");
  {
    detail::DrawFile out(part, rows, options.buffer_bytes);
    const std::size_t block = std::max<std::size_t>((std::size_t{64} << 20) / (2 * rows.bytes), 1);
    std::vector<std::pair<const detail::RowPlace*, std::size_t>> sources;
    std::vector<NetcdfReader> groups;
    std::string group;
    for (const auto& place : rows.places) {
      if (place.group != group) groups.emplace_back(path, group = place.group);
      const auto& variables = groups.back().variables();
      const auto name = detail::netcdf_name(place.variable.name);
      const auto at = std::ranges::find(variables, name, &NamedShape::name);
      if (at == variables.end() || at->shape != place.variable.shape ||
          groups.back().chains() != layout.chains)
        throw Error(
            fmt::format("{} was written for other parameters, statistics or chains: a run goes on with those "
                        "it began with.",
                        path.string()));
      if (groups.back().draws(chain) < draws)
        throw Error(fmt::format("{} has {} draws of chain {} where {} are needed to go on.", path.string(),
                                groups.back().draws(chain), chain + 1, draws));
      sources.emplace_back(&place, static_cast<std::size_t>(at - variables.begin()));
    }
    std::vector<std::byte> buffer(std::min(block, std::max<std::size_t>(draws, 1)) * rows.bytes);
    std::vector<double> values;
    for (std::size_t first = 0; first < draws; first += block) {
      const std::size_t count = std::min(block, draws - first);
      auto reader = groups.begin();
      for (std::size_t k = 0; k < sources.size(); ++k) {
        const auto& [place, variable] = sources[k];
        if (k > 0 && place->group != sources[k - 1].first->group) ++reader;
        const std::size_t size = place->variable.size();
        values.resize(count * size);
        reader->read_rows(variable, chain, first, count, values);
        const Packer packer({}, place->width == 4);
        for (std::size_t row = 0; row < count; ++row)
          packer.pack(std::span(values).subspan(row * size, size), &buffer[row * rows.bytes + place->offset]);
      }
      for (std::size_t row = 0; row < count; ++row) {
        std::memcpy(out.row().data(), &buffer[row * rows.bytes], rows.bytes);
        out.append();
      }
    }
    out.sync();
  }
  if (std::rename(part.c_str(), file.c_str()) != 0) detail::throw_system_error("write", file, errno);
}

NetcdfWriter::NetcdfWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NetcdfWriter::NetcdfWriter(NetcdfWriter&&) noexcept = default;
NetcdfWriter& NetcdfWriter::operator=(NetcdfWriter&&) noexcept = default;
NetcdfWriter::~NetcdfWriter() = default;

NetcdfWriter::NetcdfWriter(fs::path path, NetcdfLayout layout, const NetcdfOptions& options,
                           IfExists if_exists) {
  if (if_exists == IfExists::fail)
    for (const auto& file : {path, detail::draw_file_path(path, 0)})
      if (fs::exists(file)) detail::throw_system_error("write", file, EEXIST);
  impl_ = std::make_unique<Impl>(std::move(path), std::move(layout), options);
  // An old file must not be taken for this run's while there is none yet.
  std::error_code ignored;
  fs::remove(impl_->path, ignored);
  for (std::size_t chain = 0; chain < impl_->layout.chains; ++chain)
    impl_->chains.push_back(std::make_unique<detail::DrawFile>(detail::draw_file_path(impl_->path, chain),
                                                               impl_->rows, options.buffer_bytes));
}

NetcdfWriter NetcdfWriter::reopen(fs::path path, NetcdfLayout layout, const NetcdfOptions& options,
                                  std::span<const std::size_t> draws) {
  auto impl = std::make_unique<Impl>(std::move(path), std::move(layout), options);
  if (draws.size() != impl->layout.chains)
    throw Error(fmt::format("{}: draws of {} chains are to be kept, but there are {} chains.",
                            impl->path.string(), draws.size(), impl->layout.chains));
  for (std::size_t chain = 0; chain < draws.size(); ++chain) {
    const fs::path file = detail::draw_file_path(impl->path, chain);
    // The plain file is the newer one: after close() there is none.
    if (!fs::exists(file) && fs::exists(impl->path)) impl->restore(chain, draws[chain]);
    impl->chains.push_back(
        std::make_unique<detail::DrawFile>(file, impl->rows, options.buffer_bytes, draws[chain]));
  }
  return NetcdfWriter(std::move(impl));
}

void NetcdfWriter::draw(std::size_t chain, const NetcdfDraw& draw) {
  Impl& impl = *impl_;
  if (chain >= impl.chains.size() || draw.parameters.size() != impl.posterior_count ||
      draw.unconstrained.size() != impl.unconstrained_count ||
      draw.log_likelihood.size() != impl.likelihood_count ||
      draw.statistics.size() != impl.layout.statistics.size())
    throw Error(fmt::format(
        "{}: a draw of chain {} with {} parameters, {} unconstrained ones, {} log likelihoods and "
        "{} statistics, where {} chains have {}, {}, {} and {}",
        impl.path.string(), chain + 1, draw.parameters.size(), draw.unconstrained.size(),
        draw.log_likelihood.size(), draw.statistics.size(), impl.chains.size(), impl.posterior_count,
        impl.unconstrained_count, impl.likelihood_count, impl.layout.statistics.size()));
  detail::DrawFile& file = *impl.chains[chain];
  const std::scoped_lock lock(file.mutex);
  std::byte* out = file.row().data();
  const Packer doubles({}, false);
  const double first[] = {draw.lp, draw.acceptance_rate, draw.step_size};
  out = doubles.pack(first, out);
  out = doubles.pack(draw.statistics, out);
  out = impl.posterior.pack(draw.parameters, out);
  out = impl.unconstrained.pack(draw.unconstrained, out);
  impl.likelihood.pack(draw.log_likelihood, out);
  file.append();
}

double NetcdfWriter::read(std::size_t chain, std::size_t draw, std::span<double> parameters,
                          std::span<double> statistics) const {
  std::vector<std::byte> row(impl_->rows.bytes);
  impl_->chains.at(chain)->read(draw, 1, 0, row.size(), row.data());
  double lp = 0;
  std::memcpy(&lp, row.data(), sizeof lp);
  constexpr std::size_t before = 3;  // lp, acceptance_rate and step_size
  if (!statistics.empty())
    std::memcpy(statistics.data(), row.data() + before * sizeof(double), statistics.size_bytes());
  std::size_t k = 0;
  for (const detail::RowPlace& place : impl_->rows.places) {
    if (place.group != "posterior") continue;
    for (std::size_t i = 0; i < place.variable.size(); ++i, ++k) {
      const std::byte* at = row.data() + place.offset + i * place.width;
      float narrow = 0;
      if (place.width == sizeof narrow) {
        std::memcpy(&narrow, at, sizeof narrow);
        parameters[k] = static_cast<double>(narrow);
      } else {
        std::memcpy(&parameters[k], at, sizeof(double));
      }
    }
  }
  return lp;
}

void NetcdfWriter::constant(const std::string& group, const NamedShape& variable,
                            std::span<const double> values) {
  std::vector<double> in_order(values.size());
  if (values.size() == variable.size())
    Packer({variable}, false).pack(values, reinterpret_cast<std::byte*>(in_order.data()));
  constant(group, variable, NumberType::float64, [&](const auto& take) { take(in_order); });
}

void NetcdfWriter::constant(const std::string& group, const NamedShape& variable, NumberType type,
                            const ValueSource& values) {
  Impl& impl = *impl_;
  for (const char* draws : {"posterior", "sample_stats", "unconstrained_posterior", "log_likelihood"})
    if (group == draws)
      throw Error(
          fmt::format("{}: '{}' is no draw, so the group '{}' is not for it: choose another, such as "
                      "constant_data.",
                      impl.path.string(), variable.name, group));
  impl.check_constant({group, variable, type, impl.constants_bytes});
  impl.open_constants();
  const std::uint64_t begin = impl.constants_bytes;
  std::size_t count = 0;
  values([&](std::span<const double> part) {
    count += part.size();
    impl.append_constants(part, type);
  });
  if (count != variable.size()) {
    impl.constants_bytes = begin;
    throw Error(fmt::format("{}: {} values for '{}', which has {}", impl.path.string(), count, variable.name,
                            variable.size()));
  }
  if (count > 0) impl.constants.push_back({group, variable, type, begin});
}

void NetcdfWriter::flush() {
  for (const auto& file : impl_->chains) {
    const std::scoped_lock lock(file->mutex);
    file->flush();
  }
}

void NetcdfWriter::sync() {
  for (const auto& file : impl_->chains) {
    const std::scoped_lock lock(file->mutex);
    file->sync();
  }
}

void NetcdfWriter::close() {
  Impl& impl = *impl_;
  if (impl.chains.empty()) return;
  flush();
  std::vector<std::size_t> counts;
  for (const auto& file : impl.chains) counts.push_back(file->draws());
  impl.make_file(counts, true);
  impl.chains.clear();
  for (std::size_t chain = 0; chain < counts.size(); ++chain) {
    std::error_code ignored;
    fs::remove(detail::draw_file_path(impl.path, chain), ignored);
  }
}

std::size_t NetcdfWriter::draws(std::size_t chain) const { return impl_->chains.at(chain)->draws(); }

}  // namespace onward
