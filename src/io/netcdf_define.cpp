// The definitions of a netCDF file of draws: groups, dimensions with their coordinates, variables,
// attributes.

#include <netcdf.h>
#include <netcdf_mem.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "netcdf_file.hpp"
#include "onward/error.hpp"
#include "onward/version.hpp"

namespace onward::detail {
namespace {

/// The clock's, unless SOURCE_DATE_EPOCH has another: then files of equal draws are equal to the byte.
std::time_t time_of_writing() {
  const char* const given = std::getenv("SOURCE_DATE_EPOCH");
  return given != nullptr ? static_cast<std::time_t>(std::atoll(given)) : std::time(nullptr);
}

namespace fs = std::filesystem;

/// Entries of a chunk: 1 MB of doubles.
constexpr std::size_t chunk_entries = std::size_t{1} << 17;

nc_type type_of(NumberType type) {
  switch (type) {
    case NumberType::float64:
      return NC_DOUBLE;
    case NumberType::float32:
      return NC_FLOAT;
    case NumberType::uint8:
      return NC_UBYTE;
  }
  return NC_NAT;
}

class Definition {
 public:
  Definition(const fs::path& path, const NetcdfContent& content)
      : path_(path), content_(content), call_("write", path_) {
    errno = 0;
    call_(nc_create_mem(path.c_str(), NC_NETCDF4, 0, &file_));
  }
  Definition(const Definition&) = delete;
  Definition& operator=(const Definition&) = delete;
  ~Definition() {
    if (open_) nc_abort(file_);
  }

  /// The file's bytes.
  std::string made() {
    const auto& draws = content_.draws;
    draws_ = draws.empty() ? 0 : *std::ranges::max_element(draws);
    equal_ = std::ranges::all_of(draws, [&](std::size_t n) { return n == draws_; });
    for (const auto& place : content_.rows.places) sampled(place);
    for (const auto& constant : content_.constants) {
      Group& group = groups_[constant.group];
      begin(group, constant.group);
      define(group, constant.variable, type_of(constant.type), dims_of(group, constant.variable), 0, false);
    }
    for (auto& [name, group] : groups_) define_coordinates(group);
    for (const auto& [name, group] : groups_) write_coordinates(group);
    open_ = false;
    NC_memio memory{};
    call_(nc_close_memio(file_, &memory));
    std::string bytes(static_cast<const char*>(memory.memory), memory.size);
    std::free(memory.memory);
    return bytes;
  }

 private:
  struct Dimension {
    int id = -1, variable = -1;
    std::size_t size = 0;
    std::vector<std::string> names;  // empty: 0, 1, ...
    std::string owner;               // the first variable that has it
  };
  struct Group {
    int id = -1;
    std::map<std::string, Dimension> dims;
    std::map<std::string, std::string> variables;  // by netCDF's name
  };

  void begin(Group& group, const std::string& name) {
    if (group.id >= 0) return;
    call_(nc_def_grp(file_, name.c_str(), &group.id));
    std::map<std::string, std::string> attributes(content_.layout.attributes.begin(),
                                                  content_.layout.attributes.end());
    attributes["created_at"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", fmt::gmtime(time_of_writing()));
    for (const char* kind : {"creation", "inference"}) {
      attributes[fmt::format("{}_library", kind)] = "onward";
      attributes[fmt::format("{}_library_version", kind)] = version;
    }
    for (const auto& [key, text] : attributes)
      call_(nc_put_att_text(group.id, NC_GLOBAL, key.c_str(), text.size(), text.c_str()));
  }

  void sampled(const RowPlace& place) {
    Group& group = groups_[place.group];
    if (group.id < 0) {
      begin(group, place.group);
      const std::vector<long long> draws(content_.draws.begin(), content_.draws.end());
      call_(
          nc_put_att_longlong(group.id, NC_GLOBAL, "draws_per_chain", NC_INT64, draws.size(), draws.data()));
      dimension(group, "chain", content_.layout.chains, {}, "");
      dimension(group, "draw", draws_, {}, "");
    }
    std::vector<int> dims{group.dims.at("chain").id, group.dims.at("draw").id};
    for (const int dim : dims_of(group, place.variable)) dims.push_back(dim);
    // Integers have no NaN for what was not drawn.
    nc_type type = place.width == 4 ? NC_FLOAT : NC_DOUBLE;
    if (equal_ && place.kind == NamedStatistic::Kind::count) type = NC_INT64;
    if (equal_ && place.kind == NamedStatistic::Kind::flag) type = NC_BYTE;
    const int variable =
        define(group, place.variable, type, dims, chunk_draws(place.variable.size(), draws_), true);
    if (type == NC_BYTE) call_(nc_put_att_text(group.id, variable, "dtype", 4, "bool"));  // xarray's way
  }

  int define(Group& group, const NamedShape& shape, nc_type type, const std::vector<int>& dims,
             std::size_t draws_together, bool sampled) {
    const std::string name = netcdf_name(shape.name);
    if (const auto [at, is_new] = group.variables.emplace(name, shape.name); !is_new)
      throw Error(fmt::format("the parameters '{}' and '{}' have the same name in a netCDF file: rename one.",
                              at->second, shape.name));
    int id = -1;
    call_(nc_def_var(group.id, name.c_str(), type, static_cast<int>(dims.size()), dims.data(), &id));
    if (name != shape.name)
      call_(nc_put_att_text(group.id, id, "long_name", shape.name.size(), shape.name.c_str()));
    if (!shape.entry_names.empty())
      call_(
          nc_put_att_text(group.id, id, "entry_names", shape.entry_names.size(), shape.entry_names.c_str()));
    const double none = std::numeric_limits<double>::quiet_NaN();
    const float none_single = std::numeric_limits<float>::quiet_NaN();
    if (sampled && type == NC_DOUBLE) call_(nc_def_var_fill(group.id, id, NC_FILL, &none));
    if (sampled && type == NC_FLOAT) call_(nc_def_var_fill(group.id, id, NC_FILL, &none_single));
    if (dims.empty()) return id;
    std::vector<std::size_t> chunk;
    if (sampled) chunk = {1, draws_together};
    const auto entries = chunk_cut(shape.shape, std::max<std::size_t>(draws_together, 1)).chunk();
    chunk.insert(chunk.end(), entries.begin(), entries.end());
    call_(nc_def_var_chunking(group.id, id, NC_CHUNKED, chunk.data()));
    if (content_.options.deflate > 0) call_(nc_def_var_deflate(group.id, id, 1, 1, content_.options.deflate));
    return id;
  }

  std::vector<int> dims_of(Group& group, const NamedShape& variable) {
    std::vector<int> ids;
    for (std::size_t k = 0; k < variable.shape.size(); ++k) {
      const std::string name = variable.dims.empty() ? fmt::format("{}_dim_{}", netcdf_name(variable.name), k)
                                                     : netcdf_name(variable.dims[k]);
      ids.push_back(
          dimension(group, name, variable.shape[k],
                    variable.coordinates.empty() ? std::vector<std::string>{} : variable.coordinates[k],
                    variable.name));
    }
    return ids;
  }

  int dimension(Group& group, const std::string& name, std::size_t size,
                const std::vector<std::string>& names, const std::string& owner) {
    auto [at, is_new] = group.dims.try_emplace(name);
    Dimension& dim = at->second;
    if (is_new) {
      call_(nc_def_dim(group.id, name.c_str(), size, &dim.id));  // a size of 0, of no draws, means unlimited
      dim.size = size;
      dim.owner = owner;
    } else if (owner.empty() != dim.owner.empty() || dim.size != size ||
               (!names.empty() && !dim.names.empty() && names != dim.names)) {
      throw Error(
          fmt::format("the dimension '{}' of '{}' has {} entries, but there is another one of that name with "
                      "{} or with other entries: rename one.",
                      name, owner, size, dim.size));
    }
    if (!names.empty()) dim.names = names;
    return dim.id;
  }

  // All are defined before the first is written: netCDF stores a dimension anew that gets its variable later.
  void define_coordinates(Group& group) {
    for (auto& [name, dim] : group.dims) {
      if (group.variables.contains(name))
        throw Error(fmt::format("'{}' is the name of a parameter and of a dimension: rename one.", name));
      const nc_type type = dim.names.empty() ? NC_INT64 : NC_STRING;
      call_(nc_def_var(group.id, name.c_str(), type, 1, &dim.id, &dim.variable));
      if (dim.size <= 1000) continue;
      const std::size_t chunk = std::min(dim.size, chunk_entries);
      call_(nc_def_var_chunking(group.id, dim.variable, NC_CHUNKED, &chunk));
      if (type == NC_INT64) call_(nc_def_var_deflate(group.id, dim.variable, 1, 1, 1));
    }
  }

  void write_coordinates(const Group& group) {
    for (const auto& [name, dim] : group.dims) {
      std::vector<long long> numbers;
      std::vector<const char*> texts;
      for (std::size_t first = 0; first < dim.size; first += chunk_entries) {
        const std::size_t count = std::min(chunk_entries, dim.size - first);
        if (dim.names.empty()) {
          numbers.resize(count);
          std::iota(numbers.begin(), numbers.end(), static_cast<long long>(first));
          call_(nc_put_vara_longlong(group.id, dim.variable, &first, &count, numbers.data()));
        } else {
          texts.clear();
          for (std::size_t k = 0; k < count; ++k) texts.push_back(dim.names[first + k].c_str());
          call_(nc_put_vara_string(group.id, dim.variable, &first, &count, texts.data()));
        }
      }
    }
  }

  const fs::path& path_;
  const NetcdfContent& content_;
  NetcdfCalls call_;
  int file_ = -1;
  bool open_ = true, equal_ = true;
  std::size_t draws_ = 0;
  std::map<std::string, Group> groups_;
};

void check(const NamedShape& variable) {
  const std::size_t rank = variable.shape.size();
  if (!variable.dims.empty() && variable.dims.size() != rank)
    throw Error(fmt::format("'{}' has {} dimensions and names for {}: give each one a name, or none.",
                            variable.name, rank, variable.dims.size()));
  if (variable.coordinates.empty()) return;
  if (variable.coordinates.size() != rank)
    throw Error(fmt::format("'{}' has {} dimensions and coordinates for {}: give some for each, or none.",
                            variable.name, rank, variable.coordinates.size()));
  for (std::size_t k = 0; k < rank; ++k)
    if (!variable.coordinates[k].empty() && variable.coordinates[k].size() != variable.shape[k])
      throw Error(
          fmt::format("dimension {} of '{}' has {} entries and {} names for them: give one for each, or "
                      "none.",
                      k, variable.name, variable.shape[k], variable.coordinates[k].size()));
}

}  // namespace

std::string define_netcdf(const fs::path& path, const NetcdfContent& content) {
  for (const auto& place : content.rows.places) check(place.variable);
  for (const auto& constant : content.constants) check(constant.variable);
  if (content.layout.chains == 0)
    throw Error(fmt::format("{}: a file of draws needs a chain.", path.string()));
  return Definition(path, content).made();
}

std::size_t width_of(NumberType type) {
  switch (type) {
    case NumberType::float64:
      return sizeof(double);
    case NumberType::float32:
      return sizeof(float);
    case NumberType::uint8:
      return 1;
  }
  return 0;
}

std::string netcdf_name(const std::string& name) {
  std::string result = name;
  std::ranges::replace_if(
      result, [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '|');
  while (result.ends_with(' ')) result.back() = '_';
  const auto first = result.empty() ? '\0' : result.front();
  const bool fit = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
                   (first >= '0' && first <= '9') || first == '_' ||
                   static_cast<unsigned char>(first) >= 0x80;
  return fit ? result : "_" + result;
}

// Both one entry's draws and one draw's entries should be had without reading everything: few entries share
// chunks of many draws, many entries chunks of 256 draws and a part of the entries. A chunk has at most 1 MB.
std::size_t chunk_draws(std::size_t entries, std::size_t draws) {
  const std::size_t fitting = std::bit_floor(std::max<std::size_t>(chunk_entries / entries, 1));
  return std::max<std::size_t>(std::min(draws, std::clamp<std::size_t>(fitting, 256, 16384)), 1);
}

Cut chunk_cut(const std::vector<std::size_t>& shape, std::size_t draws_together) {
  return {shape, std::max<std::size_t>(chunk_entries / draws_together, 1)};
}

}  // namespace onward::detail
