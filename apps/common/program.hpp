#pragma once
// What every program of ours does around its commands: it parses, says in our words what is wrong with a
// command line, and turns problems into exit codes.

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace onward::app {

/// What a parsed command does; the result is the program's exit code.
using Action = std::function<int()>;

/// What to say of a word that was typed, or nothing.
using Hint = std::function<std::string(const std::string& word)>;
/// Other words in place of those that were typed; it can ask the app what it knows.
using Rewrite = std::function<std::vector<std::string>(const CLI::App& app, std::vector<std::string>)>;

enum ExitCode { done = 0, failed = 1, wrong_usage = 2, interrupted = 130 };

/// The heading over a program's commands in its help. Commands within a command have one of their own, such
/// as "Experiments"; messages take from it what the command is: "there is no experiment 'funel'".
inline constexpr const char* command_heading = "Commands";

/// A message of the library with `fields` as they are typed: `prior_intercept` becomes --prior-intercept
/// where the command has that option, or --no-prior-intercept where it has that one.
std::string in_option_words(const CLI::App& command, const std::string& text);

/// Runs the program from main() to its exit code. `add_commands` adds the commands to the app, each of which
/// sets the action when it is parsed; commands may be nested. Messages begin with `name`.
/// `about_command` is asked for a hint when a command is not known.
int run_program(int argc, char** argv, const std::string& name, const std::string& description,
                const std::function<void(CLI::App& app, Action& action)>& add_commands,
                const Rewrite& rewrite = {}, const Hint& about_command = {});

}  // namespace onward::app
