#include "onward/record/recording.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/model/registry.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

std::set<std::string> words_of(const std::string& format) {
  std::set<std::string> words;
  std::istringstream in(format + ",");
  for (std::string word; std::getline(in, word, ',');) words.insert(word);
  return words;
}

/// Kinds of models that this process does not know by name, such as a class of the user's own, have no
/// arrays.
bool has_arrays(const std::string& kind) {
  const auto& kinds = model_registry().kinds();
  const auto found = std::ranges::find(kinds, kind, &ModelKind::name);
  return found != kinds.end() && found->has_arrays;
}

[[noreturn]] void refuse_format(const std::string& word, bool arrays) {
  std::vector<std::string> others;
  for (const auto& kind : model_registry().kinds())
    if (kind.has_arrays) others.push_back(kind.name);
  throw UsageError(fmt::format("`format` {} is not known: it is csv or netcdf, or both as csv,netcdf{}", word,
                               arrays          ? ", and npy"
                               : word == "npy" ? "; npy is for the model " + joined(others)
                                               : ""));
}

}  // namespace

bool Recording::has_format(const std::string& word) const {
  const auto words = words_of(format);
  // Arrays have the parameters alone: what is shown goes to the CSV files.
  return words.contains(word) || (word == "csv" && words.contains("npy"));
}

nlohmann::ordered_json Recording::to_json() const {
  nlohmann::ordered_json json{{"format", format}, {"keep", keep}};
  if (single_precision) json["single_precision"] = true;
  if (unconstrained) json["unconstrained"] = true;
  if (log_likelihood) json["log_likelihood"] = true;
  if (no_data) json["no_data"] = true;
  return json;
}

void Recording::check(const std::string& kind) const {
  const bool arrays = has_arrays(kind);
  for (const auto& word : words_of(format))
    if (word != "csv" && word != "netcdf" && !(word == "npy" && arrays)) refuse_format(word, arrays);
  constexpr std::array kept{"draws", "predictions", "moments", "trace"};
  if (std::ranges::find(kept, keep) == kept.end())
    throw UsageError(fmt::format("`keep` {} is not known: it is draws, predictions, moments or trace", keep));
  if (keep == "trace" && folder.empty())
    throw UsageError("`keep` trace needs a folder to keep it in: name one");
  const bool in_netcdf = has_format("netcdf") && keep == "draws" && !folder.empty();
  for (const auto& [field, given] :
       {std::pair{"unconstrained", unconstrained}, {"log_likelihood", log_likelihood}})
    if (given && !in_netcdf)
      throw UsageError(
          fmt::format("`{}` is kept in a netCDF file: it needs `format` netcdf, `keep` draws and a "
                      "folder",
                      field));
}

}  // namespace onward
