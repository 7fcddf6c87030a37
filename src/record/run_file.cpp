#include "run_file.hpp"

#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "onward/io/csv_names.hpp"
#include "onward/io/json.hpp"
#include "onward/version.hpp"

namespace onward::detail {

using nlohmann::ordered_json;

ordered_json run_json(const RunDescription& run) {
  ordered_json json{{"onward", version},          {"status", ""},
                    {"dimension", run.dimension}, {"model", run.model},
                    {"settings", run.settings},   {"files", run.files}};
  json.update(run.recording);
  for (const auto& [in_file, name] : csv_names(run.names, run.name_indices).changed)
    json["names_in_csv"][in_file] = name;
  if (run.found.is_object()) json.update(run.found);
  return json;
}

void write_warmup(const RunFolder& folder, const Run& run) {
  std::string text = "chain,steps,step_size,acceptance\n";
  bool any = false;
  for (std::size_t c = 0; c < run.chains.size(); ++c) {
    const WarmUpRecord& record = run.chains[c].warmup;
    any = any || !record.steps.empty();
    for (std::size_t i = 0; i < record.steps.size(); ++i)
      text += fmt::format("{},{},{:.6g},{:.4f}\n", c + 1, record.steps[i], record.step_size[i],
                          record.acceptance[i]);
  }
  if (any) write_file_atomically(folder.path() / "warmup.csv", text);
}

void write_run_json(const RunFolder& folder, ordered_json json, const std::string& status) {
  json["status"] = status;
  write_file_atomically(folder.run_json(), json_text(json, 1) + "\n");
}

bool overwrite_status(const RunFolder& folder, const std::string& status) {
  std::fstream file(folder.run_json(), std::ios::in | std::ios::out | std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view key = "\"status\": \"";
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return false;
  const std::size_t word = begin + key.size(), quote = text.find('"', word);
  if (quote == std::string::npos || status.size() > quote - word) return false;
  // Spaces before the comma make up for what is shorter.
  const std::string now = status + '"' + std::string(quote - word - status.size(), ' ');
  file.clear();
  file.seekp(static_cast<std::streamoff>(word));
  file.write(now.data(), static_cast<std::streamsize>(now.size()));
  return static_cast<bool>(file.flush());
}

const char* status_word(Ending ending) {
  switch (ending) {
    case Ending::complete:
      return "complete";
    case Ending::interrupted:
      return "interrupted";
    case Ending::time_limit:
      return "stopped at the time limit";
  }
  return "";
}

}  // namespace onward::detail
