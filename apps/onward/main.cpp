// The command line program: it parses, calls the library, prints, and turns problems into exit codes.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/util/suggest.hpp"
#include "onward/version.hpp"

namespace {

using onward::app::Action;

/// The command in use, or the program itself.
const CLI::App& used_command(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? app : *used.back();
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    words.push_back(command->get_name());
  return words;
}

/// In our words: what is wrong with a word that no command or option took.
std::string explain_extra(const CLI::App& app, const std::string& word) {
  const bool option = word.starts_with("-");
  const CLI::App& command = used_command(app);
  if (!option && &command == &app)
    return fmt::format("there is no command '{}'.{}", word, onward::suggestion(word, command_names(app)));
  if (!option) return fmt::format("'{}' is one word too many for {}.", word, command.get_name());
  const auto known = option_names(command);
  const std::string name = word.substr(0, word.find('='));
  if (std::ranges::find(known, name) != known.end())
    return fmt::format("{0} belongs after the command: onward {1} {0}", word, command.get_name());
  return fmt::format("there is no option '{}'.{}", word, onward::suggestion(name, known));
}

/// In our words: what CLI11 says. Its errors carry the option's name as the first word of their text alone.
std::string explain(const CLI::App& app, const CLI::ParseError& problem) {
  const std::string text = problem.what();
  std::string name = text.substr(0, text.find_first_of(": "));
  const CLI::Option* option = used_command(app).get_option_no_throw(name);
  if (option == nullptr) option = used_command(app).get_option_no_throw("--" + name);
  if (option == nullptr) return text;
  name = option->get_name();
  if (dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr)
    return fmt::format("{} is missing: {}", name, option->get_description());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr)
    return option->get_expected_max() == 0 ? fmt::format("{0} takes no value: write {0} alone", name)
                                           : fmt::format("{0} needs a value: {0} {1}, {2}", name,
                                                         option->get_type_name(), option->get_description());
  return text;
}

/// CLI11 would take `--out --json` for a folder of that name.
auto refuse_option_as_value(const CLI::Option* option) {
  return [option](const std::string& word) {
    if (word.starts_with("--"))
      throw onward::UsageError(fmt::format("{0} needs a value before {1}: {0} {2}, {3}", option->get_name(),
                                           word, option->get_type_name(), option->get_description()));
  };
}

int usage_problem(const CLI::App& app, const std::string& message) {
  std::string command = "onward";
  for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
  onward::app::say("onward: {}\nTry: {} --help\n", message, command);
  return onward::app::wrong_usage;
}

int run(int argc, char** argv) {
  CLI::App app("Gradient-based MCMC without the backward pass.", "onward");
  app.set_version_flag("--version", "onward " + std::string(onward::version));
  app.footer(
      "First steps: `onward sample eight-schools --out first`, then `onward summary first`; `onward models` "
      "and\n"
      "`onward samplers` list what there is.\n"
      "Results go to stdout, progress and notes to stderr. `onward COMMAND --help` tells more.\n"
      "Exit codes: 0 done, 1 could not do it, 2 wrong usage, 130 interrupted (what was sampled is kept).");
  app.allow_extras();
  Action action;
  onward::app::add_sample(app, action);
  onward::app::add_evaluate(app, action);
  onward::app::add_summary(app, action);
  onward::app::add_lists(app, action);
  onward::app::add_bench(app, action);
  onward::app::add_paper(app, action);
  onward::app::add_data(app, action);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    command->allow_extras();
    for (CLI::Option* option : command->get_options()) {
      if (option->get_expected_max() == 0) option->disable_flag_override();
      // The last one counts, so that a script's options can be followed by one's own.
      if (option->get_expected_max() != 1) continue;
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      if (!option->get_positional()) option->each(refuse_option_as_value(option));
    }
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& call) {
    return app.exit(call);
  } catch (const CLI::CallForVersion& call) {
    return app.exit(call);
  } catch (const CLI::ParseError& problem) {
    return usage_problem(app, explain(app, problem));
  } catch (const onward::UsageError& problem) {
    return usage_problem(app, problem.what());
  }
  auto extras = app.remaining(true);
  std::erase(extras, "--");  // CLI11 minds it and keeps it
  if (!extras.empty()) return usage_problem(app, explain_extra(app, extras.front()));
  if (!action) {
    fmt::print("{}", app.help());
    return onward::app::done;
  }
  try {
    return action();
  } catch (const onward::UsageError& problem) {
    return usage_problem(app, problem.what());
  } catch (const std::bad_alloc&) {
    onward::app::say("onward: out of memory; try fewer draws, more thinning or fewer chains\n");
  } catch (const std::exception& problem) {
    onward::app::say("onward: {}\n", problem.what());
  }
  return onward::app::failed;
}

/// A program may be started with stdin, stdout or stderr closed. The next file that it opens would take the
/// free number, and what is said to stderr would go into a file of draws.
bool open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // The lowest free number is what open() gives, and all below this one are taken.
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!open_standard_streams()) return onward::app::failed;  // there is nowhere to say why
  std::signal(SIGXFSZ,
              SIG_IGN);  // a file at its size limit is an error to be told, not a reason to be killed
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    onward::app::say("onward: cannot write the results to stdout: a full disk, or nobody reads it\n");
    return onward::app::failed;
  } catch (const std::exception& problem) {
    onward::app::say("onward: {}\n", problem.what());
    return onward::app::failed;
  }
}
