#include "onward/record/earlier.hpp"

#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/io/csv_names.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/option.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// What does not decide the bits of the draws that are there already.
const std::set<std::string> free_fields{"draws",     "max_seconds",      "until_ess",
                                        "min_draws", "keep_activations", "max_memory"};

void require_same(const ordered_json& now, const ordered_json& then, const std::string& what,
                  const fs::path& folder) {
  // In the order in which they are written: the sampler before its options.
  std::vector<std::string> fields;
  for (const ordered_json* side : {&now, &then})
    for (const auto& [field, value] : side->items())
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
  for (const auto& field : fields) {
    if (what != "files" && free_fields.contains(field)) continue;
    const ordered_json a = now.contains(field) ? now.at(field) : ordered_json(),
                       b = then.contains(field) ? then.at(field) : ordered_json();
    if (nlohmann::json(a) == nlohmann::json(b)) continue;  // in whatever order their fields are
    if (what == "files")
      throw Error(fmt::format(
          "{} has changed since the run in {} began: {}, or begin a new run", field, folder.string(),
          name_in_memory(field) ? "hand over the array that it had" : "put the old file back"));
    throw Error(fmt::format(
        "the run in {} has the {} {} {}, not {}: a run that is resumed stays the same; leave that out, or "
        "begin a new one",
        folder.string(), what == "model" ? "model's" : "setting", field, word_of(b), word_of(a)));
  }
}

/// The draws of one chain that its CSV file has up to the checkpoint.
ChainRecord read_draws(const fs::path& file, std::size_t draws, const CsvNames& names, bool trajectories) {
  const StanCsv csv = read_stan_csv(file);
  if (csv.draws() < draws)
    throw Error(fmt::format("{} has {} draws, fewer than the {} of its checkpoint: begin the run again",
                            file.string(), csv.draws(), draws));
  const auto columns = csv.parameter_columns();
  if (columns.size() != names.order.size())
    throw Error(fmt::format("{} has {} parameters where the run has {}: it was changed since", file.string(),
                            columns.size(), names.order.size()));
  ChainRecord record;
  record.values.resize(draws * columns.size());
  const std::size_t width = csv.columns.size(), lp = csv.find_column("lp__").value_or(0);
  const auto depth = csv.find_column("treedepth__"), leapfrogs = csv.find_column("n_leapfrog__"),
             divergent = csv.find_column("divergent__"), energy = csv.find_column("energy__");
  const bool follows = trajectories && depth && leapfrogs && divergent && energy;
  for (std::size_t d = 0; d < draws; ++d) {
    const double* row = csv.values.data() + (csv.warmup_rows + d) * width;
    for (std::size_t k = 0; k < columns.size(); ++k)
      record.values[d * columns.size() + names.order[k]] = row[columns[k]];
    record.log_density.push_back(row[lp]);
    if (follows)
      record.followed.push_back({.depth = static_cast<std::uint32_t>(row[*depth]),
                                 .leapfrogs = static_cast<std::uint32_t>(row[*leapfrogs]),
                                 .divergent = row[*divergent] > 0,
                                 .energy = row[*energy]});
  }
  record.draws = draws;
  return record;
}

}  // namespace

void require_same(const fs::path& folder, const ordered_json& now, const ordered_json& then) {
  const auto part = [](const ordered_json& json, const char* what) {
    return json.value(what, ordered_json::object());
  };
  require_same(part(now, "files"), part(then, "files"), "files", folder);
  require_same(part(part(now, "model"), "files"), part(part(then, "model"), "files"), "files", folder);
  for (const char* what : {"model", "settings", "recording"})
    require_same(part(now, what), part(then, what), what, folder);
}

std::vector<std::string> changed_files(const ordered_json& now, const ordered_json& then) {
  std::vector<std::string> changed;
  for (const auto& [file, print] : then.items())
    if (now.contains(file) && nlohmann::json(now.at(file)) != nlohmann::json(print)) changed.push_back(file);
  return changed;
}

ordered_json read_run_json(const fs::path& folder) {
  const fs::path file = RunFolder::open(folder).run_json();
  std::ifstream in(file);
  if (!in)
    throw Error(
        fmt::format("{} is not there: {} is not the folder of a run", file.string(), folder.string()));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto json = parse_json(text, file.string());
  if (!json.is_object() || !json.contains("model") || !json.contains("settings") ||
      !json["model"].is_object() || !json["settings"].is_object() || !json["model"].contains("name") ||
      !json["model"]["name"].is_string())
    throw Error(
        fmt::format("{} is damaged, or of another version: it has no model and settings", file.string()));
  return json;
}

void require_posterior_draws(const fs::path& folder, const ordered_json& run) {
  if (const std::string kept = run.value("keep", "draws"); kept != "draws")
    throw Error(fmt::format("the run in {} kept its {} and no draws: sample again with `keep` draws",
                            folder.string(), kept));
  const ordered_json settings = run.value("settings", ordered_json::object());
  if (const double temperature = settings.value("temperature", 1.0); temperature != 1)
    throw Error(fmt::format(
        "the run in {} has the temperature {}: its draws are not of the posterior; sample at temperature 1",
        folder.string(), temperature));
}

ordered_json recording_in(const ordered_json& run_json) {
  ordered_json recording = ordered_json::object();
  for (const char* field :
       {"format", "keep", "single_precision", "unconstrained", "log_likelihood", "no_data"})
    if (run_json.contains(field)) recording[field] = run_json[field];
  return recording;
}

std::string word_of(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool ended_before_checkpoint(const fs::path& folder) {
  if (fs::exists(RunFolder::open(folder).checkpoint())) return false;
  const ordered_json status = read_run_json(folder).value("status", ordered_json());
  if (status == "unfinished" || status == "failed") return true;
  throw Error(
      fmt::format("{} has no checkpoint to go on from: it is gone, or an earlier version made the run. "
                  "Do it again `from` {}, in another folder",
                  folder.string(), folder.string()));
}

ordered_json fingerprints_of_start(const std::string& word) {
  ordered_json json = ordered_json::object();
  if (!fs::is_regular_file(word)) return json;
  const Fingerprint print = known_fingerprint(word);
  json[word] = {{"bytes", print.bytes}, {"md5", print.md5}};
  return json;
}

Resume read_resume(const fs::path& folder, const ordered_json& about, const std::vector<std::string>& names,
                   const std::vector<std::size_t>& name_indices, bool from_csv) {
  const RunFolder run = RunFolder::open(folder);
  StoredCheckpoint stored = read_checkpoint(run.checkpoint());
  require_same(folder, about, stored.about);
  for (const ChainCheckpoint& chain : stored.checkpoint.chains)
    if (const auto draws = about["settings"]["draws"].get<std::size_t>(); draws < chain.draws)
      throw Error(
          fmt::format("the run in {} has {} draws a chain already, more than `draws` {}: ask for "
                      "more than it has, or leave that out",
                      folder.string(), chain.draws, draws));
  Resume resume{std::move(stored.checkpoint), {}};
  const CsvNames in_file = csv_names(names, name_indices);
  const bool trajectories =
      find_sampler(about["settings"]["sampler"].get<std::string>()).follows_trajectories;
  for (std::size_t c = 0; c < resume.checkpoint.chains.size() && from_csv; ++c)
    resume.chains.push_back(
        read_draws(run.chain_csv(c + 1), resume.checkpoint.chains[c].draws, in_file, trajectories));
  return resume;
}

}  // namespace onward
