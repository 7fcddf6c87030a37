#pragma once
// The commands of the program. Each adds itself to the command line and sets what is to be run.

#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace onward::app {

void add_sample(CLI::App& app, Action& action);
void add_glm(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_summary(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_loo(CLI::App& app, Action& action);
void add_hypothesis(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_effects(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_sbc(CLI::App& app, Action& action);
/// What was typed, with hypotheses such as "-age < 0" put where they are not taken for options.
std::vector<std::string> with_hypotheses_apart(std::vector<std::string> typed);
void add_serve(CLI::App& app, Action& action);
void add_lists(CLI::App& app, Action& action);
/// What to type instead, if a model's name was given as a command.
std::string hint_for_model(const std::string& word);
void add_data(CLI::App& app, Action& action);

/// Lists the commands that the second program, onward-lab, has.
void add_lab(CLI::App& app, Action& action);
/// Whether onward-lab has this command.
bool belongs_to_lab(std::string_view command);
/// Becomes onward-lab, with the same words; gives an exit code only if there is no such program.
int start_lab(char** argv);

}  // namespace onward::app
