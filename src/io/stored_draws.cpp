#include "onward/io/stored_draws.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/util/decimal.hpp"
#include "onward/util/suggest.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

bool is_netcdf(const fs::path& path) { return path.extension() == ".nc"; }

[[noreturn]] void refuse_empty(const fs::path& path) {
  throw Error(fmt::format("{} has no draws: the run ended in warm-up, or has just begun", path.string()));
}

void count_draws(StoredDraws& stored, const std::vector<std::size_t>& lengths) {
  stored.all_chains = lengths.size();
  for (const std::size_t length : lengths) {
    if (length == 0) continue;
    stored.draws = ++stored.chains == 1 ? length : std::min(stored.draws, length);
    stored.longest = std::max(stored.longest, length);
  }
}

/// A few parameters are in memory at a time.
StoredDraws read_netcdf(const fs::path& file) {
  struct Source {
    explicit Source(const fs::path& path) : reader(path) {}
    NetcdfReader reader;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // variable and entry
    std::mutex one_at_a_time;                                 // the netCDF library is not for several threads
  };
  const auto source = std::make_shared<Source>(file);
  NetcdfReader& reader = source->reader;
  StoredDraws stored;
  std::vector<std::size_t> lengths;
  for (std::size_t chain = 0; chain < reader.chains(); ++chain) lengths.push_back(reader.draws(chain));
  count_draws(stored, lengths);
  if (stored.chains == 0) refuse_empty(file);
  for (std::size_t k = 0; k < reader.variables().size(); ++k)
    for (std::size_t entry = 0; entry < reader.variables()[k].size(); ++entry) {
      stored.names.push_back(reader.entry_name(k, entry));
      source->places.emplace_back(k, entry);
    }
  stored.column = [source](std::size_t i) {
    const std::lock_guard lock(source->one_at_a_time);
    Chains values = source->reader.column(source->places[i].first, source->places[i].second);
    std::erase_if(values, [](const auto& chain) { return chain.empty(); });
    return values;
  };
  stored.statistic = [file](std::string_view name) -> Chains {
    try {
      NetcdfReader statistics(file, "sample_stats");
      for (std::size_t k = 0; k < statistics.variables().size(); ++k)
        if (statistics.variables()[k].name == name && statistics.variables()[k].size() == 1) {
          Chains values = statistics.column(k, 0);
          std::erase_if(values, [](const auto& chain) { return chain.empty(); });
          return values;
        }
    } catch (const Error&) {  // files of other programs need not have the group
    }
    return {};
  };
  stored.setting = [source](std::string_view key) { return source->reader.attribute(std::string(key)); };
  return stored;
}

/// The files of chains, several at a time.
std::vector<StanCsv> read_chains(const std::vector<fs::path>& files,
                                 const std::function<void(std::size_t)>& progress) {
  std::vector<StanCsv> chains(files.size());
  ThreadPool pool(std::min(files.size(), core_count()));
  const auto caller = std::this_thread::get_id();
  std::atomic<std::size_t> done{0};
  pool.for_each(files.size(), [&](std::size_t i) {
    chains[i] = read_stan_csv(files[i]);
    const std::size_t so_far = ++done;
    if (progress && std::this_thread::get_id() == caller) progress(so_far);
  });
  return chains;
}

StoredDraws read_csv(const std::vector<fs::path>& files, const std::function<void(std::size_t)>& progress) {
  const auto chains = std::make_shared<std::vector<StanCsv>>(read_chains(files, progress));
  StoredDraws stored;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const StanCsv& chain = (*chains)[i];
    if (chain.columns != chains->front().columns)
      throw Error(fmt::format("{} and {} have different columns: they are not chains of one run",
                              files.front().string(), files[i].string()));
    if (chain.incomplete_last_line)
      stored.notes.push_back(fmt::format("{} ends within a line, which is left out", files[i].string()));
    lengths.push_back(chain.draws());
  }
  count_draws(stored, lengths);
  if (stored.chains == 0) refuse_empty(files.size() == 1 ? files.front() : files.front().parent_path());
  std::erase_if(*chains, [](const StanCsv& chain) { return chain.draws() == 0; });
  const auto columns = chains->front().parameter_columns();
  for (const std::size_t column : columns) stored.names.push_back(chains->front().names[column]);
  stored.column = [chains, columns](std::size_t i) {
    Chains values;
    for (const StanCsv& chain : *chains) values.push_back(chain.column(columns[i]));
    return values;
  };
  stored.statistic = [chains](std::string_view name) -> Chains {
    static const std::map<std::string_view, std::string_view> columns_of_cmdstan{
        {"lp", "lp__"},
        {"acceptance_rate", "accept_stat__"},
        {"tree_depth", "treedepth__"},
        {"n_steps", "n_leapfrog__"},
        {"diverging", "divergent__"},
        {"energy", "energy__"}};
    const auto known = columns_of_cmdstan.find(name);
    const auto column =
        known == columns_of_cmdstan.end() ? std::nullopt : chains->front().find_column(known->second);
    Chains values;
    if (column)
      for (const StanCsv& chain : *chains) values.push_back(chain.column(*column));
    return values;
  };
  stored.setting = [chains](std::string_view key) { return chains->front().setting(key); };
  return stored;
}

}  // namespace

std::vector<double> StoredDraws::rows(std::span<const std::string> wanted) const {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < names.size(); ++i) places[names[i]] = i;
  std::vector<double> values(chains * draws * wanted.size());
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    const auto place = places.find(wanted[j]);
    if (place == places.end())
      throw Error(fmt::format("the files of draws have no parameter {}: they are of another model.{}",
                              wanted[j], suggestion(wanted[j], names)));
    const Chains values_of = column(place->second);
    for (std::size_t c = 0; c < chains; ++c)
      for (std::size_t d = 0; d < draws; ++d) values[(c * draws + d) * wanted.size() + j] = values_of[c][d];
  }
  return values;
}

std::vector<ChainTrajectories> trajectories_in(const StoredDraws& stored) {
  const Chains depth = stored.statistic("tree_depth");
  if (depth.empty()) return {};
  double most = std::numeric_limits<double>::infinity();
  if (const auto text = stored.setting("max_depth")) most = parse_decimal(*text).value_or(most);
  // ArviZ's files flag them.
  const Chains reached = stored.statistic("reached_max_treedepth");
  for (std::size_t c = 0; c < reached.size(); ++c)
    for (std::size_t d = 0; d < reached[c].size(); ++d)
      if (reached[c][d] > 0) most = std::min(most, depth.at(c).at(d));
  return count_trajectories(stored.statistic("diverging"), depth, stored.statistic("n_steps"),
                            stored.statistic("energy"), most);
}

std::vector<fs::path> files_of_draws(const fs::path& folder) {
  const RunFolder run = RunFolder::open(folder);
  if (fs::exists(run.chain_csv(1))) return find_chains(folder);
  if (fs::exists(run.netcdf())) return {run.netcdf()};
  if (fs::exists(folder / "draws.nc.chain-1"))
    throw Error(
        fmt::format("{} has no draws.nc yet: it is made when a run ends, so let the run go on, or resume it",
                    folder.string()));
  return find_chains(folder);
}

StoredDraws read_stored_draws(const std::vector<fs::path>& files,
                              const std::function<void(std::size_t)>& progress) {
  if (std::ranges::none_of(files, is_netcdf)) return read_csv(files, progress);
  if (files.size() > 1)
    throw UsageError(fmt::format(
        "{} files, among them a netCDF file, which has all chains of a run: give it alone", files.size()));
  return read_netcdf(files.front());
}

}  // namespace onward
