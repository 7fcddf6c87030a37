#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "netcdf_library.hpp"
#include "onward/error.hpp"
#include "onward/io/netcdf.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t panel_numbers = std::size_t{8} << 20;  // 64 MB of doubles

}  // namespace

struct NetcdfReader::Impl {
  fs::path path;
  detail::NetcdfCalls call;
  int file = -1, group = -1;
  std::size_t chains = 0, draws = 0;
  std::vector<std::size_t> draws_of;
  std::vector<NamedShape> variables;
  std::vector<int> ids;

  // The entries that were read last: those of a box of one variable, for every chain and draw.
  std::size_t held_variable = 0;
  detail::Cut::Box held{};
  std::vector<double> numbers;

  explicit Impl(fs::path name) : path(std::move(name)), call("read", path) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    const std::scoped_lock lock(detail::netcdf_mutex());
    if (file >= 0) nc_close(file);
  }

  void open(const std::string& group_name);
  void add_variable(int id, int chain, int draw);
  void read_draw_counts();
  std::vector<std::string> coordinates(const std::string& dim, int dim_id, std::size_t size) const;
  void read_box(std::size_t variable, std::size_t chain, std::size_t draw, std::array<std::size_t, 2> count,
                const detail::Cut::Box& box, double* out) const;

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: {}.", path.string(), what));
  }
};

void NetcdfReader::Impl::open(const std::string& group_name) {
  // The libraries have no words for a file that is not there or not theirs.
  const std::string begin = [&] {
    const int input = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (input < 0) detail::throw_system_error("read", path, errno);
    std::string bytes(8, '\0');
    const auto count = ::read(input, bytes.data(), bytes.size());
    const int error = errno;
    ::close(input);
    if (count < 0) detail::throw_system_error("read", path, error);
    return bytes;
  }();
  if (begin != "\x89HDF\r\n\x1a\n") refuse("not a netCDF-4 file");
  errno = 0;
  if (const int status = nc_open(path.c_str(), NC_NOWRITE, &file); status != NC_NOERR) {
    file = -1;
    refuse(fmt::format("cannot be read ({}): it was cut short or damaged", nc_strerror(status)));
  }
  if (nc_inq_grp_ncid(file, group_name.c_str(), &group) != NC_NOERR)
    refuse(fmt::format("there is no group '{}', in which ArviZ's layout has draws", group_name));
  int chain = -1, draw = -1;
  if (nc_inq_dimid(group, "chain", &chain) != NC_NOERR || nc_inq_dimid(group, "draw", &draw) != NC_NOERR)
    refuse(fmt::format("the group '{}' lacks the dimension 'chain' or 'draw'", group_name));
  call(nc_inq_dimlen(group, chain, &chains));
  call(nc_inq_dimlen(group, draw, &draws));
  read_draw_counts();

  int count = 0;
  call(nc_inq_varids(group, &count, nullptr));
  std::vector<int> all(static_cast<std::size_t>(count));
  call(nc_inq_varids(group, &count, all.data()));
  for (const int id : all) add_variable(id, chain, draw);
  if (variables.empty()) refuse(fmt::format("the group '{}' has no variables with draws", group_name));
}

void NetcdfReader::Impl::add_variable(int id, int chain, int draw) {
  std::string name(NC_MAX_NAME + 1, '\0');
  int rank = 0;
  nc_type type = NC_NAT;
  std::vector<int> dims(NC_MAX_VAR_DIMS);
  call(nc_inq_var(group, id, name.data(), &type, &rank, dims.data(), nullptr));
  name.resize(name.find('\0'));
  dims.resize(static_cast<std::size_t>(rank));
  NamedShape variable{name, {}};
  std::vector<int> dim_ids;
  for (const int dim : dims) {
    std::string dim_name(NC_MAX_NAME + 1, '\0');
    std::size_t size = 0;
    call(nc_inq_dim(group, dim, dim_name.data(), &size));
    dim_name.resize(dim_name.find('\0'));
    if (dim_name == name) return;  // the coordinates of a dimension
    variable.dims.push_back(dim_name);
    variable.shape.push_back(size);
  }
  if (type == NC_CHAR || type >= NC_STRING) {
    if (rank < 2 || dims[0] != chain) return;  // other coordinates
    refuse(fmt::format("the variable '{}' is not numeric", name));
  }
  if (rank < 2 || dims[0] != chain || dims[1] != draw)
    refuse(fmt::format("the variable '{}' has dimensions ({}), which should begin with chain, draw", name,
                       fmt::join(variable.dims, ", ")));
  variable.dims.erase(variable.dims.begin(), variable.dims.begin() + 2);
  variable.shape.erase(variable.shape.begin(), variable.shape.begin() + 2);
  for (std::size_t k = 0; k < variable.shape.size(); ++k)
    variable.coordinates.push_back(coordinates(variable.dims[k], dims[k + 2], variable.shape[k]));
  std::size_t length = 0;
  if (nc_type text = NC_NAT;
      nc_inq_att(group, id, "entry_names", &text, &length) == NC_NOERR && text == NC_CHAR) {
    variable.entry_names.resize(length);
    call(nc_get_att_text(group, id, "entry_names", variable.entry_names.data()));
  }
  variables.push_back(std::move(variable));
  ids.push_back(id);
}

/// The names of a dimension's entries; empty for 0, 1, ...
std::vector<std::string> NetcdfReader::Impl::coordinates(const std::string& dim, int dim_id,
                                                         std::size_t size) const {
  int id = -1, rank = 0, only = -1;
  nc_type type = NC_NAT;
  if (size == 0 || nc_inq_varid(group, dim.c_str(), &id) != NC_NOERR) return {};
  call(nc_inq_vartype(group, id, &type));
  call(nc_inq_varndims(group, id, &rank));
  if (rank != 1) return {};
  call(nc_inq_vardimid(group, id, &only));
  if (only != dim_id) return {};
  std::vector<std::string> names;
  if (type == NC_STRING) {
    std::vector<char*> texts(size, nullptr);
    call(nc_get_var_string(group, id, texts.data()));
    for (const char* text : texts) names.emplace_back(text == nullptr ? "" : text);
    nc_free_string(size, texts.data());
  } else if (type != NC_CHAR && type < NC_STRING) {
    std::vector<double> numbers_of(size);
    call(nc_get_var_double(group, id, numbers_of.data()));
    bool counted = true;
    for (std::size_t k = 0; k < size; ++k) counted = counted && numbers_of[k] == static_cast<double>(k);
    if (!counted)
      for (const double number : numbers_of) names.push_back(fmt::format("{}", number));
  }
  return names;
}

void NetcdfReader::Impl::read_draw_counts() {
  draws_of.assign(chains, draws);
  std::size_t count = 0;
  if (nc_inq_attlen(group, NC_GLOBAL, "draws_per_chain", &count) != NC_NOERR || count != chains) return;
  std::vector<long long> counts(count);
  call(nc_get_att_longlong(group, NC_GLOBAL, "draws_per_chain", counts.data()));
  for (std::size_t k = 0; k < chains; ++k) {
    if (counts[k] < 0 || static_cast<std::size_t>(counts[k]) > draws)
      refuse(fmt::format("chain {} is said to have {} draws, but there are {}", k + 1, counts[k], draws));
    draws_of[k] = static_cast<std::size_t>(counts[k]);
  }
}

void NetcdfReader::Impl::read_box(std::size_t variable, std::size_t chain, std::size_t draw,
                                  std::array<std::size_t, 2> count, const detail::Cut::Box& box,
                                  double* out) const {
  std::vector<std::size_t> starts{chain, draw}, counts{count[0], count[1]};
  starts.insert(starts.end(), box.start.begin(), box.start.end());
  counts.insert(counts.end(), box.count.begin(), box.count.end());
  const std::scoped_lock lock(detail::netcdf_mutex());
  errno = 0;
  if (const int status = nc_get_vara_double(group, ids[variable], starts.data(), counts.data(), out);
      status != NC_NOERR)
    refuse(fmt::format("'{}' cannot be read ({}): the file was cut short or damaged",
                       variables[variable].name, nc_strerror(status)));
}

NetcdfReader::NetcdfReader(fs::path path, const std::string& group)
    : impl_(std::make_unique<Impl>(std::move(path))) {
  std::unique_lock lock(detail::netcdf_mutex());
  try {
    impl_->open(group);
  } catch (...) {
    lock.unlock();  // which the destructor of Impl takes
    throw;
  }
}
NetcdfReader::NetcdfReader(NetcdfReader&&) noexcept = default;
NetcdfReader& NetcdfReader::operator=(NetcdfReader&&) noexcept = default;
NetcdfReader::~NetcdfReader() = default;

std::size_t NetcdfReader::chains() const { return impl_->chains; }
std::size_t NetcdfReader::draws() const { return impl_->draws; }
std::size_t NetcdfReader::draws(std::size_t chain) const { return impl_->draws_of.at(chain); }
const std::vector<NamedShape>& NetcdfReader::variables() const { return impl_->variables; }

std::string NetcdfReader::entry_name(std::size_t variable, std::size_t entry) const {
  const NamedShape& shape = impl_->variables.at(variable);
  const std::size_t rank = shape.shape.size();
  std::string name = shape.entry_names;
  const std::size_t counted_from = name.empty() ? 0 : 1;
  std::vector<std::string> labels(rank);
  for (std::size_t k = rank; k-- > 0; entry /= shape.shape[k]) {
    const std::size_t index = entry % shape.shape[k];
    labels[k] =
        shape.coordinates[k].empty() ? std::to_string(index + counted_from) : shape.coordinates[k][index];
  }
  if (name.empty())
    return rank == 0 ? shape.name : fmt::format("{}[{}]", shape.name, fmt::join(labels, ", "));
  // From the end: a name before the indices may have braces of its own.
  std::size_t end = name.size();
  for (std::size_t k = rank; k-- > 0;) {
    const std::size_t at = end < 2 ? std::string::npos : name.rfind("{}", end - 2);
    if (at == std::string::npos) break;
    name.replace(at, 2, labels[k]);
    end = at;
  }
  return name;
}

std::vector<std::vector<double>> NetcdfReader::column(std::size_t variable, std::size_t entry) {
  Impl& impl = *impl_;
  const NamedShape& shape = impl.variables.at(variable);
  if (entry >= shape.size())
    impl.refuse(fmt::format("'{}' has {} entries, so none with number {}", shape.name, shape.size(), entry));
  const std::size_t all = impl.chains * impl.draws;
  const bool holds = !impl.numbers.empty() && impl.held_variable == variable && entry >= impl.held.first &&
                     entry < impl.held.first + impl.held.size;
  if (!holds && all > 0) {
    const detail::Cut cut(shape.shape, std::max<std::size_t>(panel_numbers / all, 1));
    const auto box = cut.box(cut.begin_of(entry));
    impl.numbers.resize(all * box.size);
    impl.held = {};
    impl.held.size = 0;  // nothing, should reading fail
    impl.read_box(variable, 0, 0, {impl.chains, impl.draws}, box, impl.numbers.data());
    impl.held_variable = variable;
    impl.held = box;
  }
  std::vector<std::vector<double>> result(impl.chains);
  for (std::size_t chain = 0; chain < impl.chains; ++chain)
    for (std::size_t draw = 0; draw < impl.draws_of[chain]; ++draw)
      result[chain].push_back(
          impl.numbers[(chain * impl.draws + draw) * impl.held.size + (entry - impl.held.first)]);
  return result;
}

void NetcdfReader::read_rows(std::size_t variable, std::size_t chain, std::size_t first, std::size_t count,
                             std::span<double> out) {
  const NamedShape& shape = impl_->variables.at(variable);
  if (out.size() != count * shape.size()) impl_->refuse("room for another number of draws than asked for");
  const detail::Cut whole(shape.shape, shape.size());
  impl_->read_box(variable, chain, first, {1, count}, whole.box(0), out.data());
}

std::optional<std::string> NetcdfReader::attribute(const std::string& name) const {
  const std::scoped_lock lock(detail::netcdf_mutex());
  nc_type type = NC_NAT;
  std::size_t length = 0;
  if (nc_inq_att(impl_->group, NC_GLOBAL, name.c_str(), &type, &length) != NC_NOERR) return std::nullopt;
  if (type == NC_CHAR) {
    std::string text(length, '\0');
    impl_->call(nc_get_att_text(impl_->group, NC_GLOBAL, name.c_str(), text.data()));
    return text;
  }
  if (type != NC_STRING || length != 1) return std::nullopt;
  char* held = nullptr;
  impl_->call(nc_get_att_string(impl_->group, NC_GLOBAL, name.c_str(), &held));
  std::string text = held == nullptr ? "" : held;
  nc_free_string(1, &held);
  return text;
}

}  // namespace onward
