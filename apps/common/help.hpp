#pragma once
// Help that fits the terminal: descriptions stand beside the options and are broken between words.

#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace onward::app {

/// The heading over a command's own options.
std::string own_group(const std::string& command);

/// Columns of the terminal that stdout is; 80 if it is none.
std::size_t help_width();

/// An option and what it does, side by side.
std::string help_row(const std::string& option, const std::string& description, std::size_t width);

class HelpFormatter : public CLI::Formatter {
 public:
  /// A command's help where that depends on the words before --help; without it, or if it gives nothing, the
  /// usual one.
  using Own = std::function<std::optional<std::string>(std::size_t width)>;
  explicit HelpFormatter(Own own = {}) : own_(std::move(own)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  std::string all_options(const CLI::App* app) const;

  Own own_;
};

}  // namespace onward::app
