#include "help.hpp"

#include <unistd.h>

#include <algorithm>

#include "onward/util/printable.hpp"
#include "terminal.hpp"

namespace onward::app {
namespace {

constexpr std::size_t column = 26;  // where descriptions begin

}  // namespace

std::string own_group(const std::string& command) { return "Options of " + command; }

std::size_t help_width() {
  if (::isatty(STDOUT_FILENO) == 0) return 80;
  return std::clamp<std::size_t>(columns_of(STDOUT_FILENO), 50, 120);
}

std::string help_row(const std::string& option, const std::string& description, std::size_t width) {
  std::string row = "  " + option;
  if (description.empty()) return row + "\n";
  if (columns_in(row) + 2 > column)
    row += "\n" + std::string(column, ' ');
  else
    row += std::string(column - columns_in(row), ' ');
  return row + wrapped_at(description, width, column) + "\n";
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (own_)
    if (const auto text = own_(help_width())) return *text + "\n" + make_footer(app);
  // CLI11's parts in its order; what it has of the options cannot be put in another one.
  if (mode == CLI::AppFormatMode::Sub) return Formatter::make_help(app, std::move(name), mode);
  return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) + all_options(app) +
         make_subcommands(app, mode) + "\n" + make_footer(app);
}

/// As CLI11 has them, but a command's own before those that it shares with others.
std::string HelpFormatter::all_options(const CLI::App* app) const {
  auto groups = app->get_groups();
  std::ranges::stable_partition(groups,
                                [&](const auto& group) { return group == own_group(app->get_name()); });
  std::string text;
  for (const std::string& group : groups) {
    const auto options = app->get_options(
        [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    if (!group.empty() && !options.empty())
      text += (text.empty() ? "" : "\n") + make_group(group, false, options);
  }
  return text;
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped_at(Formatter::make_description(app), help_width(), 0) + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return help_row(make_option_name(option, is_positional) + make_option_opts(option),
                  make_option_desc(option), help_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return help_row(command->get_display_name(true), command->get_description(), help_width());
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string footer = app->get_footer();
  return footer.empty() ? footer : wrapped_at(footer, help_width(), 0) + "\n";
}

}  // namespace onward::app
