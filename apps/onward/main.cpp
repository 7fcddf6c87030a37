// The command line program: it parses, calls the library, prints, and turns problems into exit codes.

#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "onward/error.hpp"
#include "onward/util/suggest.hpp"
#include "onward/version.hpp"

namespace {

using onward::app::Action;

/// Names that could have been meant: options of the command in use, or commands.
std::vector<std::string> known_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  const CLI::App* command = &app;
  for (const CLI::App* used : app.get_subcommands()) command = used;
  if (options) {
    for (const CLI::Option* option : command->get_options())
      for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  } else {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      words.push_back(sub->get_name());
  }
  return words;
}

int usage_problem(const CLI::App& app, const std::string& message) {
  std::string command = "onward";
  for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
  fmt::print(stderr, "onward: {}\nTry: {} --help\n", message, command);
  return onward::app::wrong_usage;
}

int run(int argc, char** argv) {
  CLI::App app("Gradient-based MCMC without the backward pass.", "onward");
  app.set_version_flag("--version", "onward " + std::string(onward::version));
  app.footer(
      "Results go to stdout, progress and notes to stderr. `onward COMMAND --help` tells more.\n"
      "Exit codes: 0 done, 1 could not do it, 2 wrong usage, 130 interrupted (what was sampled is kept).");
  app.allow_extras();
  Action action;
  onward::app::add_sample(app, action);
  onward::app::add_evaluate(app, action);
  onward::app::add_summary(app, action);
  onward::app::add_lists(app, action);
  onward::app::add_bench(app, action);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) command->allow_extras();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& call) {
    return app.exit(call);
  } catch (const CLI::CallForVersion& call) {
    return app.exit(call);
  } catch (const CLI::ParseError& problem) {
    return usage_problem(app, problem.what());
  }
  if (const auto extras = app.remaining(true); !extras.empty()) {
    const std::string& word = extras.front();
    const bool option = word.starts_with("-");
    return usage_problem(
        app, fmt::format("there is no {} '{}'.{}",
                         option ? "option" : (app.get_subcommands().empty() ? "command" : "argument"), word,
                         onward::suggestion(word, known_words(app, option))));
  }
  if (!action) {
    fmt::print("{}", app.help());
    return onward::app::done;
  }
  try {
    return action();
  } catch (const onward::UsageError& problem) {
    return usage_problem(app, problem.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "onward: out of memory; try fewer draws, more thinning or fewer chains\n");
  } catch (const std::exception& problem) {
    fmt::print(stderr, "onward: {}\n", problem.what());
  }
  return onward::app::failed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "onward: {}\n", problem.what());
    return onward::app::failed;
  }
}
