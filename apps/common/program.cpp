#include "program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "help.hpp"
#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/util/suggest.hpp"
#include "onward/version.hpp"

namespace onward::app {
namespace {

std::vector<CLI::App*> all_commands(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}
std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// The command in use, the innermost one, or the program itself.
const CLI::App& used_command(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? app : used_command(*used.back());
}

/// As it is typed: "onward paper funnel".
std::string typed(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : typed(*parent) + " " + command.get_name();
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : all_commands(app)) words.push_back(command->get_name());
  return words;
}

/// What the commands within this one are: "experiment" for those under the heading "Experiments".
std::string kind_of_commands(const CLI::App& app) {
  std::string word = all_commands(app).front()->get_group();
  word.pop_back();
  word.front() = static_cast<char>(word.front() - 'A' + 'a');
  return word;
}

/// Commands beside this one that have the option, as they are typed; none if there are no such.
std::vector<std::string> siblings_with(const CLI::App& command, const std::string& option) {
  std::vector<std::string> found;
  if (command.get_parent() == nullptr || command.get_parent()->get_parent() == nullptr) return found;
  for (const CLI::App* sibling : all_commands(*command.get_parent()))
    if (has(option_names(*sibling), option)) found.push_back(typed(*sibling));
  return found;
}

/// What other programs call our options, by the names of ours.
const std::map<std::string, std::vector<std::string>> words_elsewhere{
    {"--draws", {"iter", "iters", "iterations", "samples", "n-samples", "num-samples", "niter"}},
    {"--warmup", {"burn", "burnin", "burn-in", "num-warmup", "adapt", "n-burn"}},
    {"--threads", {"cores", "jobs", "workers", "cpus", "num-threads", "nproc"}},
    {"--out", {"output", "output-dir", "outdir", "dir", "folder"}},
    {"--max-seconds", {"timeout", "time-limit", "max-time"}},
    {"--seed", {"random-seed", "rng"}},
    {"--quiet", {"silent"}},
    {"--force", {"overwrite"}}};

/// " Did you mean --draws?" for --iter, and for slips of the fingers.
std::string option_suggestion(const std::string& typed, const std::vector<std::string>& known) {
  std::string word = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  std::ranges::replace(word, '_', '-');
  for (const auto& [ours, theirs] : words_elsewhere)
    if (has(known, ours) && has(theirs, word)) return fmt::format(" Did you mean {}?", ours);
  return suggestion(typed, known);
}

/// In our words: what is wrong with a word that no command or option took.
std::string explain_extra(const CLI::App& app, const std::string& word, const Hint& about_command) {
  const bool option = word.starts_with("-");
  const CLI::App& command = used_command(app);
  if (!option && !all_commands(command).empty()) {
    const auto names = command_names(command);
    const std::string kind = kind_of_commands(command);
    const std::string hint = &command == &app && about_command ? about_command(word) : "";
    std::string text =
        fmt::format("there is no {} '{}'.{}", kind, word, hint.empty() ? suggestion(word, names) : hint);
    if (&command != &app)
      text += fmt::format(" {}: {}", all_commands(command).front()->get_group(), joined(names));
    return text;
  }
  if (!option) {
    const bool file = word.find('.') != std::string::npos && has(option_names(command), "--data");
    return fmt::format("'{}' is one word too many for {}.{}", word, command.get_name(),
                       file ? fmt::format(" If it is the data: --data {}", word) : "");
  }
  const auto known = option_names(command);
  const std::string name = word.substr(0, word.find('='));
  if (has(known, name)) return fmt::format("{0} belongs after the command: {1} {0}", word, typed(command));
  if (const auto others = siblings_with(command, name); !others.empty())
    return fmt::format("{} belongs to `{}`, not to {}", name, fmt::join(others, "` and `"),
                       command.get_name());
  return fmt::format("there is no option '{}'.{}", word, option_suggestion(name, known));
}

/// In our words: what CLI11 says. Its errors carry the option's name as the first word of their text alone.
std::string explain(const CLI::App& app, const CLI::ParseError& problem) {
  std::string text = problem.what();
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

/// CLI11 would take `--out --json` for a folder of that name, and an empty word for an option that is not
/// there.
auto refuse_no_value(const CLI::Option* option) {
  return [option](const std::string& word) {
    if (!word.empty() && !word.starts_with("--")) return;
    const std::string name = "--" + option->get_lnames().front();  // get_name() hides those of models
    if (word.empty())
      throw UsageError(fmt::format("{0} is empty: give it a value, {0} {1}, or leave it out", name,
                                   option->get_type_name()));
    throw UsageError(fmt::format("{0} needs a value before {1}: {0} {2}, {3}", name, word,
                                 option->get_type_name(), option->get_description()));
  };
}

/// The manners of all commands: words they do not know are explained by us, and of an option that is given
/// twice the last counts, so that a script's options can be followed by one's own.
void set_manners(CLI::App& app) {
  app.allow_extras();
  for (CLI::App* command : all_commands(app)) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_expected_max() == 0) option->disable_flag_override();
      if (option->get_expected_max() != 1) continue;
      // What may be given several times is joined; of other options the last word counts.
      if (option->get_multi_option_policy() != CLI::MultiOptionPolicy::Join)
        option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      if (!option->get_positional()) option->each(refuse_no_value(option));
    }
    if (command->get_group() == "Subcommands") command->group(command_heading);
    set_manners(*command);
  }
}

int usage_problem(const CLI::App& app, const std::string& message) {
  const CLI::App& command = used_command(app);
  say("{}: {}\nTry: {} --help\n", app.get_name(), in_option_words(command, message), typed(command));
  return wrong_usage;
}

int parse_and_act(CLI::App& app, const Action& action, const Rewrite& rewrite, std::vector<std::string> words,
                  const Hint& about_command) {
  try {
    if (rewrite) words = rewrite(app, std::move(words));
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp& call) {
    try {
      return app.exit(call);
    } catch (const UsageError& problem) {  // of something that there is not
      return usage_problem(app, problem.what());
    }
  } catch (const CLI::CallForVersion& call) {
    return app.exit(call);
  } catch (const CLI::ParseError& problem) {
    return usage_problem(app, explain(app, problem));
  } catch (const UsageError& problem) {
    return usage_problem(app, problem.what());
  }
  auto extras = app.remaining(true);
  std::erase(extras, "--");  // CLI11 minds it and keeps it
  if (!extras.empty()) return usage_problem(app, explain_extra(app, extras.front(), about_command));
  const CLI::App& command = used_command(app);
  if (&command != &app && !all_commands(command).empty())
    return usage_problem(app, fmt::format("`{}` needs one of its {}s: {}", typed(command),
                                          kind_of_commands(command), joined(command_names(command))));
  if (!action) {
    fmt::print("{}", app.help());
    return done;
  }
  try {
    return action();
  } catch (const UsageError& problem) {
    return usage_problem(app, problem.what());
  } catch (const std::bad_alloc&) {
    say("{}: out of memory; try fewer draws, more thinning or fewer chains\n", app.get_name());
  } catch (const std::exception& problem) {
    say("{}: {}\n", app.get_name(), in_option_words(used_command(app), problem.what()));
  }
  return failed;
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

std::string in_option_words(const CLI::App& command, const std::string& text) {
  const auto is_field = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '`' ? text.find('`', at + 1) : std::string::npos;
    std::string field = end == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
    if (!field.empty() && std::ranges::all_of(field, is_field)) {
      std::ranges::replace(field, '_', '-');
      const auto typed_as = [&](const std::string& option) {
        return command.get_option_no_throw(option) != nullptr ? option : "";
      };
      std::string option = typed_as("--" + field);
      if (option.empty()) option = typed_as("--no-" + field);
      if (!option.empty()) {
        out += option;
        at = end + 1;
        continue;
      }
    }
    out += text[at++];
  }
  return out;
}

int run_program(int argc, char** argv, const std::string& name, const std::string& description,
                const std::function<void(CLI::App& app, Action& action)>& add_commands,
                const Rewrite& rewrite, const Hint& about_command) {
  if (!open_standard_streams()) return failed;  // there is nowhere to say why
  std::signal(SIGXFSZ,
              SIG_IGN);  // a file at its size limit is an error to be told, not a reason to be killed
  try {
    CLI::App app(description, name);
    app.formatter(std::make_shared<HelpFormatter>());
    app.set_version_flag("--version", name + " " + std::string(version));
    Action action;
    add_commands(app, action);
    set_manners(app);
    std::vector<std::string> words(argv + 1, argv + argc);
    const int code = parse_and_act(app, action, rewrite, std::move(words), about_command);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    say("{}: cannot write the results to stdout: a full disk, or nobody reads it\n", name);
  } catch (const std::exception& problem) {
    say("{}: {}\n", name, problem.what());
  }
  return failed;
}

}  // namespace onward::app
