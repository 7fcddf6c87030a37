#pragma once
// What the paper's experiments have in common as commands: options, the folder of --out, and how a table is
// shown. Each experiment has a file of its own.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "number_options.hpp"
#include "onward/io/run_folder.hpp"
#include "program.hpp"

namespace onward::app {

void add_funnel(CLI::App& paper, Action& action);
void add_logreg(CLI::App& paper, Action& action);
void add_bnn(CLI::App& paper, Action& action);
void add_cnn(CLI::App& paper, Action& action);

struct PaperOptions {
  std::string out;
  bool quick = false, json = false, quiet = false, force = false, resume = false;
  std::optional<RunFolder> folder = {};  ///< of --out, locked while the table is made
};

/// What the settings of every experiment have, whatever their type.
template <class Settings>
void add_common_settings(CLI::App& command, Settings& settings) {
  command.add_option("--samplers", settings.samplers, "those of the table that are wanted [all]")
      ->delimiter(',');
  add_count(command, "--seed", settings.seed, 0, "of all random numbers");
  add_count(command, "--threads", settings.threads, 0, "0: all cores; the draws do not depend on it");
}

/// --quick, --out and the like; `quick` says what --quick makes smaller, and how long it then takes.
void add_paper_options(CLI::App& command, PaperOptions& options, const std::string& quick);

/// `--name N,N,...`
void add_counts(CLI::App& command, const std::string& name, std::vector<std::size_t>& values,
                const std::string& description, const std::string& shown_default);
/// `--step-size line-fmala=0.001,...`
void add_step_sizes(CLI::App& command, std::map<std::string, double>& step_sizes,
                    const std::string& description);

/// What experiments with long chains have; `burned` says how many steps are not kept unless --burn does.
template <class Settings>
void add_steps(CLI::App& command, Settings& settings, const std::string& burned) {
  add_count(command, "--steps", settings.steps, 2, "of each chain");
  command
      .add_option_function<std::string>(
          "--burn",
          [&burn = settings.burn](const std::string& word) { burn = parse_count("--burn", word, 0); },
          "steps that are not kept [" + burned + "]")
      ->type_name("N");
  add_count(command, "--thin", settings.thin, 1, "steps from one kept draw to the next");
}
/// What experiments with stored step sizes have.
template <class Settings>
void add_stored_step_sizes(CLI::App& command, Settings& settings) {
  add_step_sizes(command, settings.step_sizes, "in place of the stored ones");
  command.add_flag("--tune", settings.tune, "look for step sizes first, by short runs from the start");
}

/// --quick's value, unless the option was given.
void unless_given(const CLI::App& command, const char* option, std::size_t& value, std::size_t quick);

/// Has the command run `run`; a folder that was made for nothing is removed.
void set_action(CLI::App& command, Action& action, const PaperOptions& options, std::function<int()> run);

/// The folder of --out: a new one, or with --resume the one of a run that was cut short, which must have
/// `checkpoint` if that is not empty, or with --force cleared.
/// Nobody else writes to it until the program ends.
void prepare_folder(PaperOptions& options, const std::string& checkpoint = "");

/// Of a folder of images that the user named: which files are as large as those of the data set `data` and
/// hold something else. They may be another data set's; they may also be damaged, which no table would tell.
void note_other_contents(const PaperOptions& options, const std::string& data, const std::string& folder);

/// Says that a run was cut short and how it goes on; the exit code.
int interrupted_run(const PaperOptions& options);

/// A table in the forms that are printed or kept; forms that an experiment does not have are empty.
struct Shown {
  std::string text, markdown, csv;
  nlohmann::ordered_json json;
  double seconds;
  std::function<void(const std::string& folder)> figures;
};
int show(const PaperOptions& options, const Shown& shown);

}  // namespace onward::app
