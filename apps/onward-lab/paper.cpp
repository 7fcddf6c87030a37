// `onward paper`: the paper's experiments, each with its published figures beside ours.

#include "paper.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/data/data_set.hpp"
#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "progress_bar.hpp"

namespace onward::app {

namespace fs = std::filesystem;

void add_paper_options(CLI::App& command, PaperOptions& o, const std::string& quick) {
  command.add_flag("--quick", o.quick, quick);
  command.add_option("--out", o.out, "folder for the table as text, Markdown and JSON, and for figures")
      ->type_name("DIR");
  command.add_flag("--force", o.force, "write into an existing folder, replacing the run that is there");
  command.add_flag("--resume", o.resume, "go on with a run into --out that was cut short");
  command.add_flag("--json", o.json, "one JSON object on stdout instead of the table");
  command.add_flag("--quiet", o.quiet, "no progress or notes");
}

void add_counts(CLI::App& command, const std::string& name, std::vector<std::size_t>& values,
                const std::string& description, const std::string& shown_default) {
  command
      .add_option_function<std::vector<std::string>>(
          name,
          [&values, name](const std::vector<std::string>& words) {
            values.clear();
            for (const auto& word : words) values.push_back(parse_count(name, word, 1));
          },
          description)
      ->delimiter(',')
      ->type_name("N,...")
      ->default_str(shown_default);
}

void add_step_sizes(CLI::App& command, std::map<std::string, double>& step_sizes,
                    const std::string& description) {
  command
      .add_option_function<std::vector<std::string>>(
          "--step-size",
          [&step_sizes](const std::vector<std::string>& words) {
            for (const auto& word : words) {
              const std::size_t equals = word.find('=');
              if (equals == std::string::npos)
                throw UsageError(fmt::format(
                    "--step-size {} lacks its sampler: write --step-size line-fmala=0.001", word));
              step_sizes[word.substr(0, equals)] = parse_number("--step-size", word.substr(equals + 1));
            }
          },
          description)
      ->delimiter(',')
      ->type_name("SAMPLER=X,...");
}

void unless_given(const CLI::App& command, const char* option, std::size_t& value, std::size_t quick) {
  if (command.count(option) == 0) value = quick;
}

void set_action(CLI::App& command, Action& action, const PaperOptions& options, std::function<int()> run) {
  command.callback([&action, &options, run = std::move(run)] {
    action = [&options, run] {
      try {
        return run();
      } catch (...) {
        // A folder made for nothing would be in the way of the next try.
        std::error_code none;
        if (!options.out.empty() && fs::is_empty(options.out, none)) fs::remove(options.out, none);
        throw;
      }
    };
  });
}

void prepare_folder(PaperOptions& o, const std::string& checkpoint) {
  if (o.out.empty()) {
    if (o.resume) throw UsageError("--resume needs the --out of the run to go on with");
    return;
  }
  const fs::path folder = o.out;
  if (o.resume) {
    if (!fs::exists(checkpoint.empty() ? folder : folder / checkpoint))
      throw Error(fmt::format("{} has no checkpoint to go on from; leave --resume out to begin", o.out));
    o.folder.emplace(RunFolder::reopen(folder));
    return;
  }
  o.folder.emplace(RunFolder::create(folder, o.force)).replace();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with("row-") && file.ends_with(".json")) fs::remove(entry.path());
  }
}

void note_other_contents(const PaperOptions& o, const std::string& data, const std::string& folder) {
  if (o.quiet || folder.empty()) return;
  const DataSet& set = data_set(data);
  const auto files = present_files(set, folder);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) continue;
    const Fingerprint found = known_fingerprint(files[i]);
    if (found.bytes == set.files[i].bytes && found.md5 != set.files[i].md5)
      say("note: {} is as large as the file of {} and has other contents (md5 {}, not {}): the table is of "
          "what it holds\n",
          files[i].string(), data, found.md5, set.files[i].md5);
  }
}

int interrupted_run(const PaperOptions& o) {
  if (!o.quiet)
    say("interrupted{}\n",
        o.out.empty() ? "" : fmt::format("; `--resume --out {}` goes on from there", o.out));
  return interrupted;
}

int show(const PaperOptions& o, const Shown& shown) {
  if (!o.out.empty()) {
    const fs::path folder = o.out;
    write_file_atomically(folder / "table.txt", shown.text);
    write_file_atomically(folder / "table.md", shown.markdown);
    if (!shown.csv.empty()) write_file_atomically(folder / "table.csv", shown.csv);
    write_file_atomically(folder / "table.json", json_text(shown.json, 1) + "\n");
    shown.figures(o.out);
  }
  if (o.json) {
    fmt::print("{}\n", json_text(shown.json));
    return done;
  }
  fmt::print("{}\n{}\n", shown.text, duration(shown.seconds));
  if (o.out.empty() && !o.quiet) say("note: --out DIR keeps the table in files and draws its figures\n");
  return done;
}

void add_paper(CLI::App& app, Action& action) {
  auto* paper = app.add_subcommand("paper", "the paper's experiments beside its published figures");
  add_funnel(*paper, action);
  add_logreg(*paper, action);
  add_bnn(*paper, action);
  add_cnn(*paper, action);
  for (auto* experiment : paper->get_subcommands({})) experiment->group("Experiments");
}

}  // namespace onward::app
