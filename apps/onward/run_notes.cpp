#include "run_notes.hpp"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "notes.hpp"
#include "onward/io/run_folder.hpp"

namespace onward::app {

void print_status(const RunStatus& status, std::size_t draws) {
  if (status.complete()) return;
  say("note: the run {}{}\n", status.words(),
      status.draws ? fmt::format(", after {} of {} draws a chain", draws, *status.draws) : "");
}

void print_doubts(const std::filesystem::path& folder, const StoredDraws& stored) {
  print_notes_of_files(stored);
  if (const auto status = read_run_status(folder)) print_status(*status, stored.draws);
  // A summary that is missing or cannot be read is nobody's concern here.
  std::ifstream file(RunFolder::open(folder).summary_json());
  const auto summary = nlohmann::json::parse(file, nullptr, false);
  if (!summary.is_object()) return;
  // As after the run itself: effects of levels do not speak for it.
  const auto shown = summary.find("shown");
  const auto& judged = shown != summary.end() && shown->is_object() ? *shown : summary;
  const auto rhat = judged.find("max_rhat");
  if (rhat != judged.end() && rhat->is_number() && rhat->get<double>() > rhat_limit)
    say("warning: the chains of the run in {} have not mixed (R-hat {:.3f}), so that their draws may not "
        "tell "
        "of the posterior; see `onward summary {}`\n",
        folder.string(), rhat->get<double>(), folder.string());
}

}  // namespace onward::app
